/*
 * The vector path. One vector of up to 256 packets from one interface goes through three passes, each
 * over all packets, so that the loads of one pass overlap (ARCHITECTURE.md, invariant 5):
 *
 *     1. check    accepts frames whose Ethernet and IP headers are those of a plain packet to be
 *                 forwarded (fast_ok4, fast_ok6), and stores the destination in dst[]. Other frames
 *                 take the slow path.
 *        Then, where configured, the filter of the input interface (filter.c) and source
 *        verification (verify.c).
 *     2. look up  fib4_lookup_batch; fib6_lookup_batch, and hosts6 for destinations on our links.
 *                 A group becomes its member for the flow (net/ecmp.h).
 *        Then, where configured, the filters of the output interfaces, and redirects to the senders
 *        (redirect.c).
 *     3. send     if the adjacency is resolved and the packet fits: TTL and checksum, or hop limit;
 *                 Ethernet header; into the output port's vector. Other packets take the slow path.
 *
 * The packets of a port with VLANs are first sorted by interface, and lose their tags
 * (dataplane/vlan.h). The tag to send is part of the Ethernet header.
 *
 * IPv4 packets go first: pass 1 sets IPv6 packets aside, in their order. All packets of a flow are
 * of one version, so none overtakes another.
 *
 * The passes do not change a packet that takes the slow path.
 */
#include "apps/router/bundle.h"
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
 * True for a frame to our MAC address that holds a correct IPv4 packet without options and with a
 * TTL above 1. mac: our address, in the byte order of the frame.
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
 * The same for IPv6. A router ignores extension headers (RFC 8200 4) except hop-by-hop options: a
 * packet with these may be for every router on its path (RFC 2711), so it takes the slow path.
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

/* Pass 3 over m packets of one version that `interface` received. nh[i] is the next hop of v[i];
 * six is a constant in each call. */
static inline __attribute__((always_inline)) void send_all(struct pkt *v, const uint32_t *nh,
                                                           unsigned m, unsigned interface, bool six)
{
	const struct dp_state *dp = router.dp;
	uint32_t second = (uint32_t)(core_now_ns() >> 30);
	uint32_t *used = router.used->second;
	unsigned slow = 0, redirects = 0;
	if (unlikely(router_redirects(interface, six)))
		router_redirect_all(v, nh, m, interface, six);
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
		/* Bytes after the packet are padding: keep only what a short frame needs. */
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
		if (unlikely(a->interface == interface))
			redirects++;
		core_tx(a->port, p);
	}
	core_forwarded(interface, m - slow);
	count_n(CNT_redirect_needed, redirects);
}

/* Replaces each of n next hops that is a group by its member for the flow of the packet. All
 * packets are of one version. */
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

/* May a look-up return a group? */
static inline bool has_groups(void)
{
	return __atomic_load_n(&router.dp->groups, __ATOMIC_RELAXED);
}

/* Passes 2 and 3 over n IPv6 packets that fast_ok6 accepted. */
static __attribute__((noinline)) void forward6(struct pkt *v, unsigned n, unsigned interface)
{
	const struct dp_state *dp = router.dp;
	static const uint8_t *dst[PKT_VECTOR_MAX];
	uint32_t nh[PKT_VECTOR_MAX];
	const struct dp_filter_set *filters = router.filters;
	if (unlikely(filters->interface[interface].in[1].acl))
		n = router_filter_in(v, NULL, n, &filters->interface[interface].in[1]);
	unsigned verify = router_verifies(interface, true);
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
	send_all(v, nh, n, interface, true);
}

/* The three passes over n untagged frames that one interface received. */
static void forward(struct pkt *v, unsigned n, unsigned interface)
{
	static uint32_t dst[PKT_VECTOR_MAX];
	uint32_t nh[PKT_VECTOR_MAX];
	static struct pkt six[PKT_VECTOR_MAX];
	const struct dp_state *dp = router.dp;
	const struct dp_filter_set *filters = dp_filters(dp);
	unsigned m = 0, sixes = 0;
	uint64_t mac = raw64_load(dp->interface[interface].mac) & 0xffffffffffff;
	bool enabled = dp->interface[interface].enabled;
	bool enabled6 = dp->interface[interface].enabled6;

	/*
	 * Packets are used in place. The compiler would spill a local copy and read it back in
	 * another width, and that read stalls behind every pending store to a line that the device
	 * holds.
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
	if (unlikely(filters->interface[interface].in[0].acl))
		m = router_filter_in(v, dst, m, &filters->interface[interface].in[0]);
	unsigned verify = router_verifies(interface, false);
	if (unlikely(verify))
		m = router_verify(v, dst, m, verify, false);
	fib4_lookup_batch(dp->fib, dst, nh, m);
	if (unlikely(has_groups()))
		choose(v, nh, m, false);
	if (core_traces() && m)
		trace_way(nh[0], ip4_total_len(v[0].data + ETH_HLEN));
	if (unlikely(filters->out[0]))
		m = router_filter_out(v, nh, m, false);
	send_all(v, nh, m, interface, false);
	if (sixes)
		forward6(six, sixes, interface);
}

/* Sets interface[i] to that of v[i], or to VLAN_UNKNOWN, and counts each in many[]. Writes the interfaces
 * that occur to `found`, and returns their number. */
static unsigned sort_out(const struct pkt *v, unsigned n, uint8_t *interface, uint8_t *found,
                         uint16_t *many)
{
	unsigned interfaces = 0;
	for (unsigned i = 0; i < n; i++) {
		interface[i] = (uint8_t)(vlan_is_tagged(&v[i]) ? vlan_interface(&v[i], router.dp)
		                                               : v[i].interface);
		if (many[interface[i]]++ == 0)
			found[interfaces++] = interface[i];
	}
	return interfaces;
}

/* Counts n frames without tags that a VLAN has received. */
static void count_received(const struct pkt *v, unsigned n, unsigned interface)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < n; i++)
		bytes += v[i].len;
	router.carried[interface].rx_pkts += n;
	router.carried[interface].rx_bytes += bytes;
}

/* Forwards the frames of a port that has VLANs, or is in a bundle, one interface after the other, each
 * in their order. A flow is on one interface, so none of its packets overtakes another. */
static __attribute__((noinline)) void forward_trunk(struct pkt *v, unsigned n, unsigned port)
{
	static struct pkt sorted[PKT_VECTOR_MAX];
	static uint16_t many[VLAN_UNKNOWN + 1], place[VLAN_UNKNOWN + 1];
	static uint8_t interface[PKT_VECTOR_MAX], found[PKT_VECTOR_MAX];
	if (router.dp->bundled >> port & 1)
		n = router_bundle_in(v, n, port);
	const unsigned interfaces = sort_out(v, n, interface, found, many);
	for (unsigned k = 0, at = 0; k < interfaces; k++) {
		place[found[k]] = (uint16_t)at;
		at += many[found[k]];
	}
	/* Member by member: a wide load of a packet that was changed just before waits for all stores ahead
	 * of it, also for those to lines that the device holds. */
	for (unsigned i = 0; i < n; i++) {
		struct pkt *p = &sorted[place[interface[i]]++];
		p->data = v[i].data;
		p->buf = v[i].buf;
		p->len = v[i].len;
		p->flags = v[i].flags;
		p->interface = v[i].interface;
		if (likely(vlan_is_tagged(&v[i])) && likely(interface[i] != VLAN_UNKNOWN)) {
			vlan_pop(p);
			p->interface = interface[i];
		}
	}
	for (unsigned k = 0; k < interfaces; k++) {
		const unsigned those = many[found[k]];
		struct pkt *first = &sorted[place[found[k]] - those];
		many[found[k]] = 0;
		if (unlikely(found[k] == VLAN_UNKNOWN)) {
			for (unsigned i = 0; i < those; i++)
				core_drop(&first[i], CNT_drop_vlan_unknown);
			continue;
		}
		if (router.dp->interface[found[k]].vid)
			count_received(first, those, found[k]);
		forward(first, those, found[k]);
	}
}

static void rx_vector(struct pkt *v, unsigned n, unsigned port)
{
	if (unlikely(router.dp->tagged >> port & 1))
		forward_trunk(v, n, port);
	else
		forward(v, n, port);
	core_current.data = 0;
}

const struct app router_app = {
	.control = &control_plane_hooks,
	.data_start = data_start,
	.data_tables = data_tables,
	.rx_vector = rx_vector,
	.steers = true,
	.moves = true,
};
