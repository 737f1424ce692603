/*
 * The vector path. One vector of up to 256 packets from one interface goes through three passes, each
 * over all packets, so that the loads of one pass overlap (ARCHITECTURE.md, invariant 5):
 *
 *     1. check    Ethernet and IP header are those of a plain packet to be forwarded (fast_ok4,
 *                 fast_ok6); its destination goes to dst[]. Others go the slow way.
 *        Then the filter of the interface they came in by is asked, if there is one (filter.c), and
 *        whether their sources may be theirs, if that is to be verified (verify.c).
 *     2. look up  fib4_lookup_batch; fib6_lookup_batch, and hosts6 for those on a link of ours;
 *                 where there are several next hops, that of the flow (net/ecmp.h)
 *        Then those of the interfaces they leave by. Senders are told of a better way, if the
 *        interface they came in by is to (redirect.c).
 *     3. send     adjacency is resolved and the packet fits: TTL and checksum, or hop limit,
 *                 Ethernet header, into the out-going port's vector. Others go the slow way.
 *
 * Where a port has VLANs, what it received is sorted by interface before, and has lost its tags
 * (dataplane/vlan.h); a tag to leave with is part of the Ethernet header.
 *
 * IPv4 packets go first: the first pass sets those of IPv6 aside, in their order. Of one flow all
 * are of one version, so none overtakes another.
 *
 * Whoever goes the slow way is only looked at so far, not changed.
 */
#include "apps/router/filter.h"
#include "apps/router/redirect.h"
#include "apps/router/router.h"
#include "apps/router/send.h"
#include "apps/router/slow.h"
#include "apps/router/verify.h"
#include "control/control.h"
#include "dataplane/trace_note.h"
#include "net/ip4.h"
#include "net/ip6.h"

static void data_tables(void)
{
	router.dp = dp_get();
	router.filters = dp_filters(router.dp);
	dp_counted_start();
}

static void data_start(void)
{
	router = (struct router){0}; /* the limits: router_message sets them */
	data_tables();
	router.used = &dp_shared()->used;
	router.carried = dp_counted()->carried;
}

/*
 * True for a frame to our station address that holds a correct IPv4 packet without options and
 * with a TTL that lasts. mac: ours, in the byte order of the frame.
 */
static inline bool fast_ok4(const struct pkt *p, uint64_t mac)
{
	const uint8_t *f = p->data;
	if (unlikely(p->len < ETH_HLEN + IP4_HLEN || (raw64_load(f) & 0xffffffffffff) != mac ||
	             raw16_load(f + 12) != BE16(ETH_TYPE_IP4).raw || f[ETH_HLEN] != 0x45 ||
	             f[ETH_HLEN + 8] <= 1))
		return false;
	return likely(ip4_check(f + ETH_HLEN, p->len - ETH_HLEN) == CNT_NONE);
}

/*
 * The same for IPv6. Extension headers are no affair of a router's (RFC 8200 4), but hop-by-hop
 * options: a packet that has them may be for whoever it passes (RFC 2711), so it goes the slow way.
 */
static inline bool fast_ok6(const struct pkt *p, uint64_t mac)
{
	const uint8_t *f = p->data;
	if (unlikely(p->len < ETH_HLEN + IP6_HLEN))
		return false;
	bool bad = (raw64_load(f) & 0xffffffffffff) != mac;
	bad |= raw16_load(f + 12) != BE16(ETH_TYPE_IP6).raw;
	bad |= ip6_hop_limit(f + ETH_HLEN) <= 1;
	bad |= ip6_next(f + ETH_HLEN) == IP6_HOP_BY_HOP;
	return likely(!bad) && likely(ip6_check(f + ETH_HLEN, p->len - ETH_HLEN) == CNT_NONE) &&
	       likely(ip6_check_forward(f + ETH_HLEN) == CNT_NONE);
}

/* The third pass over m packets, all of the version that `six` says, a constant where it is called:
 * nh[i] is the next hop of v[i], which came in by interface `port`. */
static inline __attribute__((always_inline)) void send_all(struct pkt *v, const uint32_t *nh,
                                                           unsigned m, unsigned port, bool six)
{
	const struct dp_state *dp = router.dp;
	uint32_t second = (uint32_t)(core_now_ns() >> 30);
	uint32_t *used = router.used->second;
	unsigned slow = 0, redirects = 0;
	if (unlikely(router_redirects(port, six)))
		router_redirect_all(v, nh, m, port, six);
	for (unsigned i = 0; i < m; i++) {
		struct pkt *p = &v[i];
		uint8_t *ip = p->data + ETH_HLEN;
		uint32_t next = nh[i];
		const struct adj *a = &dp->adj[next];
		unsigned total = six ? ip6_total_len(ip) : ip4_total_len(ip);
		if (unlikely(!router_sendable(p, a, total))) {
			router_slow(p, true);
			slow++;
			continue;
		}
		/* Bytes after the packet are padding: keep what a short frame needs, no more. */
		if (unlikely(router_is_padded(p, total)))
			p->len = (uint16_t)(total + ETH_HLEN > ETH_FRAME_MIN ? total + ETH_HLEN
			                                                    : ETH_FRAME_MIN);
		vlan_header(p, a, router.carried);
		if (six)
			ip6_hop_limit_decrement(ip);
		else
			ip4_ttl_decrement(ip);
		if (unlikely(used[next] != second))
			used[next] = second;
		if (unlikely(a->interface == port))
			redirects++;
		core_tx(a->port, p);
	}
	core_forwarded(m - slow);
	count_n(CNT_redirect_needed, redirects);
}

/* The next hops of n packets of one version, where they are groups, become those of their flows. */
static __attribute__((noinline)) void choose(const struct pkt *v, uint32_t *nh, unsigned n, bool six)
{
	const struct dp_state *dp = router.dp;
	for (unsigned i = 0; i < n; i++) {
		if (!dp_is_group(nh[i]))
			continue;
		const uint8_t *ip = v[i].data + ETH_HLEN;
		uint32_t hash = six ? ecmp_hash6(dp->flow_seed, ip) : ecmp_hash4(dp->flow_seed, ip);
		nh[i] = dp_member(dp, nh[i], hash);
	}
}

/* Is any of them to be looked for? */
static inline bool has_groups(void)
{
	return __atomic_load_n(&router.dp->groups, __ATOMIC_RELAXED);
}

/* The second and third pass over n IPv6 packets that fast_ok6 let through. */
static __attribute__((noinline)) void forward6(struct pkt *v, unsigned n, unsigned port)
{
	const struct dp_state *dp = router.dp;
	static const uint8_t *dst[PKT_VECTOR_MAX];
	uint32_t nh[PKT_VECTOR_MAX];
	const struct dp_filter_set *filters = router.filters;
	if (unlikely(filters->interface[port].in[1].acl))
		n = router_filter_in(v, NULL, n, &filters->interface[port].in[1]);
	unsigned verify = router_verifies(port, true);
	if (unlikely(verify))
		n = router_verify(v, NULL, n, verify, true);
	for (unsigned i = 0; i < n; i++)
		dst[i] = v[i].data + ETH_HLEN + offsetof(struct ip6_header, dst);
	fib6_lookup_batch(dp->fib6, dst, nh, n);
	if (unlikely(has_groups()))
		choose(v, nh, n, true);
	for (unsigned i = 0; i < n; i++)
		nh[i] = dp_host6(dp, nh[i], dst[i]);
	if (core_traces() && n)
		trace_way(nh[0], ip6_total_len(v[0].data + ETH_HLEN));
	if (unlikely(filters->out[1]))
		n = router_filter_out(v, nh, n, true);
	send_all(v, nh, n, port, true);
}

/* The three passes over packets that came in by one interface, without tags. */
static void forward(struct pkt *v, unsigned n, unsigned port)
{
	static uint32_t dst[PKT_VECTOR_MAX];
	uint32_t nh[PKT_VECTOR_MAX];
	static struct pkt six[PKT_VECTOR_MAX];
	const struct dp_state *dp = router.dp;
	const struct dp_filter_set *filters = dp_filters(dp);
	unsigned m = 0, sixes = 0;
	uint64_t mac = raw64_load(dp->interface[port].mac) & 0xffffffffffff;
	bool enabled = dp->interface[port].enabled, enabled6 = dp->interface[port].enabled6;

	/*
	 * Packets stay where they are: a local copy would be spilled and read back in another width,
	 * which stalls behind every store on its way to a line the device holds.
	 */
	core_current_set(&v[0], n);
	router.filters = filters;
	for (unsigned i = 0; i < n; i++) {
		if (unlikely(!enabled || !fast_ok4(&v[i], mac))) {
			if (enabled6 && likely(fast_ok6(&v[i], mac)))
				six[sixes++] = v[i];
			else
				router_slow(&v[i], false);
			continue;
		}
		dst[m] = ip4_dst(v[i].data + ETH_HLEN);
		if (unlikely(m != i))
			v[m] = v[i]; /* the vector closes up */
		m++;
	}
	if (unlikely(filters->interface[port].in[0].acl))
		m = router_filter_in(v, dst, m, &filters->interface[port].in[0]);
	unsigned verify = router_verifies(port, false);
	if (unlikely(verify))
		m = router_verify(v, dst, m, verify, false);
	fib4_lookup_batch(dp->fib, dst, nh, m);
	if (unlikely(has_groups()))
		choose(v, nh, m, false);
	if (core_traces() && m)
		trace_way(nh[0], ip4_total_len(v[0].data + ETH_HLEN));
	if (unlikely(filters->out[0]))
		m = router_filter_out(v, nh, m, false);
	send_all(v, nh, m, port, false);
	if (sixes)
		forward6(six, sixes, port);
}

/* Frames of a port that has VLANs: those of one interface after those of another, each in their
 * order. A flow is on one interface, so none of its packets overtakes another. */
static COLD void forward_trunk(struct pkt *v, unsigned n)
{
	static struct pkt sorted[PKT_VECTOR_MAX];
	static uint16_t many[DP_INTERFACES_MAX], place[DP_INTERFACES_MAX];
	uint8_t interface[PKT_VECTOR_MAX]; /* those that there are */
	unsigned interfaces = 0, m = 0, at = 0;
	for (unsigned i = 0; i < n; i++)
		if (vlan_untag(&v[i], router.dp, router.carried)) {
			if (many[v[i].interface]++ == 0)
				interface[interfaces++] = v[i].interface;
			v[m++] = v[i];
		}
	for (unsigned k = 0; k < interfaces; k++) {
		place[interface[k]] = (uint16_t)at;
		at += many[interface[k]];
	}
	for (unsigned i = 0; i < m; i++)
		sorted[place[v[i].interface]++] = v[i];
	for (unsigned k = 0; k < interfaces; k++) {
		unsigned those = many[interface[k]];
		forward(&sorted[place[interface[k]] - those], those, interface[k]);
		many[interface[k]] = 0;
	}
}

static void rx_vector(struct pkt *v, unsigned n, unsigned port)
{
	if (unlikely(router.dp->tagged >> port & 1))
		forward_trunk(v, n);
	else
		forward(v, n, port);
	core_current.data = 0;
}

const struct app router_app = {
	.control = &control_plane_hooks,
	.data_start = data_start,
	.data_tables = data_tables,
	.rx_vector = rx_vector,
};
