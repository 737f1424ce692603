/*
 * The vector path. One vector of up to 256 packets from one interface goes through three passes, each
 * over all packets, so that the loads of one pass overlap (ARCHITECTURE.md, invariant 5):
 *
 *     1. check    accepts frames whose Ethernet and IP headers are those of a plain packet to be
 *                 forwarded (check4, check6), and stores the destination in dst[]. Other frames
 *                 take the slow path.
 *        Then, where configured, the filter of the input interface (filter.c) and source
 *        verification (verify.c).
 *     2. look up  fib4_lookup_batch; fib6_lookup_frames, and hosts6 for destinations on our links.
 *                 A group becomes its member for the flow (net/ecmp.h).
 *        Then, where configured, the filters of the output interfaces, and redirects to the senders
 *        (redirect.c).
 *     3. send     if the adjacency is resolved and the packet fits: TTL and checksum, or hop limit;
 *                 Ethernet header; into the output port's vector. Other packets take the slow path.
 *
 * The packets of a port with VLANs are first sorted by interface, and lose their tags
 * (dataplane/vlan.h). The tag to send is part of the Ethernet header.
 *
 * IPv4 packets go first: pass 1 sets IPv6 packets aside, in their order, unless there is no other. All
 * packets of a flow are of one version, so none overtakes another.
 *
 * The passes do not change a packet that takes the slow path.
 */
#include "apps/router/bundle.h"
#include "apps/router/check.h"
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

/* Pass 3 of a vector of one version, by its packets so far. */
struct sending {
	unsigned interface;  /* that received the vector */
	uint16_t most;       /* as in struct lengths */
	bool padded;         /* the same */
	uint32_t second;     /* now, as in dp_used */
	unsigned slow, back; /* packets for the slow path; packets sent back by `interface` */
};

/* Marks a next hop as in use. */
static inline void use(uint32_t *used, uint32_t next, uint32_t second)
{
	if (unlikely(used[next] != second))
		used[next] = second;
}

static inline void decrement_ttl(uint8_t *ip, bool six)
{
	if (six)
		ip6_hop_limit_decrement(ip);
	else
		ip4_ttl_decrement(ip);
}

/* Sends any packet. */
static inline __attribute__((always_inline)) void send_one(struct sending *s, struct pkt *p,
                                                           uint32_t next, bool six)
{
	uint8_t *ip = p->data + ETH_HLEN;
	const struct adj *a = &router.dp->adj[next];
	unsigned total = six ? ip6_total_len(ip) : ip4_total_len(ip);
	if (unlikely(!router_sendable(p, a, total))) {
		router_slow(p, true);
		s->slow++;
		return;
	}
	/* Bytes after the packet are padding: keep only what a short frame needs. */
	if (unlikely(router_is_padded(p, total)))
		p->len = (uint16_t)(total + ETH_HLEN > ETH_FRAME_MIN ? total + ETH_HLEN : ETH_FRAME_MIN);
	vlan_header(p, a, router.carried);
	decrement_ttl(ip, six);
	use(router.used->second, next, s->second);
	s->back += unlikely(a->interface == s->interface);
	core_tx(a->port, p);
}

/*
 * send_run (below) for a VLAN, whose frames grow by the tag: their packets are written member by member, because a
 * wide load of a packet that was changed just before waits for all stores ahead of it. Ends before a frame
 * with a partial checksum, whose place would have to move.
 */
static __attribute__((noinline)) unsigned run_tagged(struct sending *s, const struct pkt *v,
                                                     const uint32_t *nh, unsigned n, bool six)
{
	const struct adj *adj = router.dp->adj, *a = &adj[nh[0]];
	const uint32_t way = adj_way(a);
	const unsigned port = adj_way_port(way);
	uint64_t bytes = 0;
	unsigned i = 0;
	if (unlikely(!adj_way_is_tagged(way) || s->padded))
		return 0;
	struct pkt *to = core_tx_begin(port, n);
	for (; i < n; i++, to++) {
		a = &adj[nh[i]];
		if (unlikely(adj_way(a) != way || a->mtu < s->most || v[i].flags & PKT_CSUM_PARTIAL))
			break;
		uint8_t *frame = v[i].data - ETH_TAG_LEN;
		vlan_header_copy(frame, a->header);
		decrement_ttl(frame + ETH_HLEN + ETH_TAG_LEN, six);
		use(router.used->second, nh[i], s->second);
		bytes += v[i].len;
		to->data = frame;
		to->buf = v[i].buf;
		to->len = (uint16_t)(v[i].len + ETH_TAG_LEN);
		to->flags = v[i].flags;
		to->interface = v[i].interface;
	}
	core_tx_end(port, to);
	struct dp_carried *carried = &router.carried[adj_way_interface(way)];
	carried->tx_pkts += i;
	carried->tx_bytes += bytes;
	s->back += adj_way_interface(way) == s->interface ? i : 0;
	return i;
}

/*
 * Sends packets from the start of v, at most n (one or more), as long as their adjacencies have one way and
 * the packets need nothing but a new header. Returns how many. A packet costs a third of send_one's
 * instructions, because what is the same for the whole run is asked once. In functions of its own
 * (run4, run6) the loop keeps its variables in registers.
 */
static inline __attribute__((always_inline)) unsigned
send_run(struct sending *s, const struct pkt *v, const uint32_t *nh, unsigned n, bool six)
{
	const struct adj *adj = router.dp->adj, *a = &adj[nh[0]];
	const uint32_t way = adj_way(a), second = s->second, *end = nh + n, *first = nh;
	const unsigned port = adj_way_port(way);
	const uint16_t most = s->most;
	uint32_t *used = router.used->second;
	if (unlikely(!adj_way_is_plain(way) || a->mtu < most || s->padded))
		return run_tagged(s, v, nh, n, six);
	struct pkt *to = core_tx_begin(port, n);
	for (uint32_t next = *nh;; a = &adj[next]) {
		if (unlikely(adj_way(a) != way) || unlikely(a->mtu < most))
			break;
		uint8_t *frame = v->data;
		eth_header_copy(frame, a->header);
		decrement_ttl(frame + ETH_HLEN, six);
		use(used, next, second);
		*to++ = *v++;
		if (++nh == end)
			break;
		next = *nh;
	}
	core_tx_end(port, to);
	n = (unsigned)(nh - first);
	s->back += adj_way_interface(way) == s->interface ? n : 0;
	return n;
}

static __attribute__((noinline)) unsigned run4(struct sending *s, const struct pkt *v,
                                               const uint32_t *nh, unsigned n)
{
	return send_run(s, v, nh, n, false);
}

static __attribute__((noinline)) unsigned run6(struct sending *s, const struct pkt *v,
                                               const uint32_t *nh, unsigned n)
{
	return send_run(s, v, nh, n, true);
}

/*
 * A vector whose ports alternate has short runs, and the processor predicts none of their ends: behind so
 * many runs the rest is sent one by one.
 */
#define RUNS_MAX 6

/* Pass 3 over m packets of one version that `interface` received. nh[i] is the next hop of v[i];
 * six is a constant in each call. */
static inline __attribute__((always_inline)) void send_all(struct pkt *v, const uint32_t *nh,
                                                           unsigned m, unsigned interface, bool six,
                                                           const struct lengths *l)
{
	struct sending s = {.interface = interface,
	                    .most = (uint16_t)l->most, /* frames are at most that long */
	                    .padded = l->padded,
	                    .second = (uint32_t)(core_now_ns() >> 30)};
	if (unlikely(router_redirects(interface, six)))
		router_redirect_all(v, nh, m, interface, six);
	for (unsigned i = 0, runs = 0; i < m; runs++) {
		const bool one_by_one = runs == RUNS_MAX;
		const unsigned sent = one_by_one ? 0 : (six ? run6 : run4)(&s, &v[i], &nh[i], m - i);
		i += sent;
		for (unsigned end = one_by_one ? m : sent ? i : i + 1; i < end; i++)
			send_one(&s, &v[i], nh[i], six);
	}
	core_forwarded(interface, m - s.slow);
	count_n(CNT_redirect_needed, s.back);
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

#define IP6_DST_AT (ETH_HLEN + offsetof(struct ip6_header, dst))

/* The keys of packets i to n - 1. */
static void load_keys(struct fib6_keys *keys, const struct pkt *v, unsigned i, unsigned n)
{
	for (; i < n; i++) {
		keys->high[i] = be32_load(v[i].data + IP6_DST_AT);
		keys->low[i] = be32_load(v[i].data + IP6_DST_AT + 4);
	}
}

/* Passes 2 and 3 over n IPv6 packets that check6 accepted. */
static __attribute__((noinline)) void forward6(struct pkt *v, struct fib6_keys *keys, unsigned n,
                                               unsigned interface, const struct lengths *l)
{
	const struct dp_state *dp = router.dp;
	uint32_t nh[PKT_VECTOR_MAX];
	const struct dp_filter_set *filters = router.filters;
	const bool filtered = filters->interface[interface].in[1].acl;
	if (unlikely(filtered))
		n = router_filter_in(v, NULL, n, &filters->interface[interface].in[1]);
	unsigned verify = router_verifies(interface, true);
	if (unlikely(verify))
		n = router_verify(v, NULL, n, verify, true);
	if (unlikely(filtered || verify))
		load_keys(keys, v, 0, n);
	if (unlikely(n == 0))
		return;
	uint32_t least = fib6_lookup_frames(dp->fib6, v, IP6_DST_AT, keys, nh, n);
	if (unlikely(has_groups())) {
		choose(v, nh, n, true);
		least = 0; /* a member may be any next hop */
	}
	for (unsigned i = 0; least < NH_NEIGHBOUR && i < n; i++)
		nh[i] = dp_host6(dp, nh[i], v[i].data + IP6_DST_AT);
	if (core_traces())
		trace_way(nh[0], ip6_total_len(v[0].data + ETH_HLEN));
	if (unlikely(filters->out[1]))
		n = router_filter_out(v, nh, n, true);
	send_all(v, nh, n, interface, true, l);
}

/* The three passes over n untagged frames that one interface received. */
static void forward(struct pkt *v, unsigned n, unsigned interface)
{
	static uint32_t dst[PKT_VECTOR_MAX];
	uint32_t nh[PKT_VECTOR_MAX];
	static struct pkt six[PKT_VECTOR_MAX];
	static struct fib6_keys keys;
	const struct dp_state *dp = router.dp;
	const struct dp_filter_set *filters = dp_filters(dp);
	struct lengths lengths = {0}, lengths6 = {0};
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
	for (unsigned i = 0, end; i < n;) {
		const bool lanes = likely(dp->avx2) && n - i >= CHECK_LANES;
		unsigned plain = lanes && likely(enabled) ? check4_avx2(&v[i], n - i, mac, &dst[m], &lengths) : 0;
		if (unlikely(m != i)) /* the vector closes up */
			memmove(&v[m], &v[i], plain * sizeof v[0]);
		m += plain;
		i += plain;
		plain = lanes && enabled6 && n - i >= CHECK_LANES
		                ? check6_avx2(&v[i], n - i, mac, &keys.high[sixes], &keys.low[sixes], &lengths6) : 0;
		if (likely(plain == n)) {
			forward6(v, &keys, n, interface, &lengths6);
			return;
		}
		memcpy(&six[sixes], &v[i], plain * sizeof v[0]);
		sixes += plain;
		i += plain;
		for (end = lanes ? u32_min(i + CHECK_LANES, n) : n; i < end; i++) {
			if (unlikely(!enabled || !check4(&v[i], mac, &lengths))) {
				if (enabled6 && likely(check6(&v[i], mac, &lengths6))) {
					six[sixes++] = v[i];
					load_keys(&keys, six, sixes - 1, sixes);
				} else {
					router_slow(&v[i], false);
				}
				continue;
			}
			dst[m] = ip4_dst(v[i].data + ETH_HLEN);
			if (unlikely(m != i))
				v[m] = v[i];
			m++;
		}
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
	send_all(v, nh, m, interface, false, &lengths);
	if (sixes)
		forward6(six, &keys, sixes, interface, &lengths6);
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
