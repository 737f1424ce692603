/*
 * The vector path. One vector of up to 256 packets from one port goes through three passes, each
 * over all packets, so that the loads of one pass overlap (ARCHITECTURE.md, invariant 5):
 *
 *     1. check    Ethernet and IPv4 header are those of a plain packet to be forwarded
 *                 (fast_ok); its destination goes to dst[]. Others go the slow way.
 *     2. look up  fib4_lookup_batch
 *     3. send     adjacency is resolved and the packet fits: TTL, checksum, Ethernet header,
 *                 into the out-going port's vector. Others go the slow way.
 *
 * Whoever goes the slow way is only looked at so far, not changed.
 */
#include "apps/router/router.h"
#include "control/plane.h"
#include "net/ip4.h"

struct router router;

static void data_start(void)
{
	router.view = view_get();
	router.used = &view_shared()->used;
	icmp_limit_init(&router.limit, router.view->icmp_rate, router.view->icmp_burst);
}

/*
 * True for a frame to our station address that holds a correct IPv4 packet without options and
 * with a TTL that lasts. mac: ours, in the byte order of the frame.
 */
static inline bool fast_ok(const struct pkt *p, uint64_t mac)
{
	const uint8_t *f = p->data;
	if (unlikely(p->len < ETH_HLEN + IP4_HLEN))
		return false;
	bool bad = (raw64_load(f) & 0xffffffffffff) != mac;
	bad |= raw16_load(f + 12) != BE16(ETH_TYPE_IP4).raw;
	bad |= f[ETH_HLEN + 8] <= 1;
	bad |= f[ETH_HLEN] != 0x45;
	return likely(!bad) && likely(ip4_check(f + ETH_HLEN, p->len - ETH_HLEN) == CNT_NONE);
}

/* Writes the new Ethernet header and takes the TTL down. */
static inline void rewrite(uint8_t *f, const struct adj *a)
{
	uint64_t first = raw64_load(a->header);
	uint64_t last = raw64_load(a->header + 6); /* overlaps: 14 bytes in two moves */
	raw64_store(f, first);
	raw64_store(f + 6, last);
	ip4_ttl_decrement(f + ETH_HLEN);
}

static void rx_vector(struct pkt *v, unsigned n, unsigned port)
{
	uint32_t dst[PKT_VECTOR_MAX], nh[PKT_VECTOR_MAX];
	const struct view *view = router.view;
	uint32_t second = (uint32_t)(core_now_ns() >> 30);
	uint32_t *used = router.used->second;
	unsigned m = 0, forwarded = 0, redirects = 0;
	uint64_t mac = raw64_load(view->port[port].mac) & 0xffffffffffff;
	bool enabled = view->port[port].enabled;

	/*
	 * Packets stay where they are: a local copy would be spilled and read back in another width,
	 * which stalls behind every store on its way to a line the device holds.
	 */
	core_hand_set(&v[0], n);
	for (unsigned i = 0; i < n; i++) {
		if (unlikely(!enabled || !fast_ok(&v[i], mac))) {
			router_slow(&v[i]);
			continue;
		}
		dst[m] = ip4_dst(v[i].data + ETH_HLEN);
		if (unlikely(m != i))
			v[m] = v[i]; /* the vector closes up */
		m++;
	}
	fib4_lookup_batch(view->fib, dst, nh, m);
	for (unsigned i = 0; i < m; i++) {
		struct pkt *p = &v[i];
		const struct adj *a = &view->adj[nh[i]];
		unsigned total = ip4_total_len(p->data + ETH_HLEN);
		/* acquire: the state says that the rest of the adjacency may be read (view.h) */
		uint8_t state = __atomic_load_n(&a->state, __ATOMIC_ACQUIRE);
		if (unlikely(state != ADJ_FORWARD || total > a->mtu)) {
			router_slow(p);
			continue;
		}
		/* Bytes after the packet are padding: keep what a short frame needs, no more. */
		if (unlikely(p->len > total + ETH_HLEN && p->len > ETH_FRAME_MIN)) {
			if (p->flags & PKT_CSUM_PARTIAL) { /* to be completed first */
				router_slow(p);
				continue;
			}
			p->len = (uint16_t)(total + ETH_HLEN > ETH_FRAME_MIN ? total + ETH_HLEN
			                                                    : ETH_FRAME_MIN);
		}
		rewrite(p->data, a);
		if (unlikely(used[nh[i]] != second))
			used[nh[i]] = second;
		redirects += a->port == port;
		forwarded++;
		core_tx(a->port, p);
	}
	core_hand.data = 0;
	router.forwarded += forwarded;
	if (router.forwarded)
		core_note_forwarded();
	count_n(CNT_forwarded, router.forwarded - core_tx_flush_all());
	count_n(CNT_redirect_needed, redirects);
	router.forwarded = 0;
}

const struct app router_app = {
	.control = &plane_hooks,
	.data_start = data_start,
	.rx_vector = rx_vector,
};
