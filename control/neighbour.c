/*
 * Neighbours: what the ARP table knows becomes adjacencies and host routes in the view.
 *
 * Neighbour n of the ARP table is next hop NH_NEIGHBOUR + n. While it exists, a /32 route leads to
 * it, so data cores find it without asking; when ARP forgets it, the route goes first, then the
 * data cores are waited for, then the number may be used again. Where the configuration has a route
 * for that very /32, it stays: a host that is sent elsewhere, or nowhere, does not undo that by
 * asking for us.
 */
#include "control/inside.h"

#include "lib/mem.h"
#include "net/ip4.h"

static void *arp_memory;
static size_t arp_memory_size;
static uint32_t used_seen[NH_MAX]; /* newest use we have told ARP of */

static struct adj *adj_of(unsigned index)
{
	return &view_get()->adj[NH_NEIGHBOUR + index];
}

/* A neighbour comes to life: its adjacency and its route. */
static void adopt(unsigned index)
{
	uint32_t ip = arp_neigh_ip(&plane.arp, index);
	unsigned port = arp_neigh_port(&plane.arp, index);
	struct adj *a = adj_of(index);
	a->port = (uint8_t)port;
	a->mtu = view_get()->port[port].mtu;
	__atomic_store_n(&a->state, ADJ_UNRESOLVED, __ATOMIC_RELEASE);
	/* Without room for the route its packets take the way over the control core. */
	if (fib4_get(&plane.fib, ip, 32) == FIB_NH_NONE)
		fib4_insert(&plane.fib, ip, 32, NH_NEIGHBOUR + index);
}

/*
 * Hands a complete frame to a data core. Each one that polls can send by any port. What came from
 * one goes back by its queue pair: a device without RSS sends the packets of a flow to the queue
 * that it last saw the flow's answers leave by (VIRTIO 1.2 5.1.6.5.6), and a TCP connection has to
 * stay with its core. For the rest (PAIR_ANY), a port keeps to one pair.
 */
static bool send(unsigned port, unsigned pair, const uint8_t *frame, unsigned len)
{
	unsigned n = core_data_count();
	if (pair >= n)
		pair = n ? port % n : 0;
	return n && core_inject(pair, port, frame, len, INJECT_TX, 0) == E_OK;
}

/* A packet that waited is larger than its link's MTU (and has no DF: the data core has looked). */
static bool send_fragments(const struct adj *a, unsigned pair, const uint8_t *frame)
{
	static uint8_t piece[BUF_STRIDE_JUMBO];
	struct ip4_frag it;
	bool sent = ip4_frag_init(&it, frame + ETH_HLEN, a->mtu) == E_OK;
	unsigned n;
	memcpy(piece, a->header, ETH_HLEN);
	while (sent && (n = ip4_frag_next(&it, piece + ETH_HLEN, sizeof piece - ETH_HLEN)) > 0) {
		sent = send(a->port, pair, piece, eth_pad(piece, n + ETH_HLEN));
		count_n(CNT_fragments_created, sent);
	}
	count_n(CNT_fragmented, sent);
	return sent;
}

/* --- what ARP asks of us (net/arp.h, struct arp_ops) --- */

static void op_tx(void *ctx, unsigned port, const uint8_t *frame, unsigned len)
{
	uint8_t padded[ETH_FRAME_MIN] = {0};
	(void)ctx;
	memcpy(padded, frame, len);
	if (!send(port, PAIR_ANY, padded, sizeof padded))
		count(CNT_originated_drop_tx);
}

static void op_up(void *ctx, unsigned index, const uint8_t *mac)
{
	struct adj *a = adj_of(index);
	(void)ctx;
	if (a->state == ADJ_SPECIAL)
		adopt(index); /* ARP has learnt it from the neighbour's own request */
	__atomic_store_n(&a->state, ADJ_UNRESOLVED, __ATOMIC_RELEASE);
	if (!core_quiesce()) /* view.h, rule 2 */
		return; /* the ports are restarted, and this neighbour asked for again */
	eth_header_build(a->header, mac, view_get()->port[a->port].mac, ETH_TYPE_IP4);
	/* else a static one: it is known while its link is down, see neighbour_link */
	if (plane.link_up[a->port])
		__atomic_store_n(&a->state, ADJ_FORWARD, __ATOMIC_RELEASE);
}

static void op_down(void *ctx, unsigned index)
{
	(void)ctx;
	__atomic_store_n(&adj_of(index)->state, ADJ_UNRESOLVED, __ATOMIC_RELEASE);
}

/* A frame that waits has no Ethernet header yet: its first bytes say where it came from. */
static enum frame_origin origin_of(const uint8_t *frame)
{
	return (enum frame_origin)frame[0];
}

static unsigned pair_of(const uint8_t *frame)
{
	return frame[1];
}

static void op_release(void *ctx, unsigned index, uint8_t *frame, unsigned len)
{
	const struct adj *a = adj_of(index);
	enum frame_origin origin = origin_of(frame);
	unsigned pair = pair_of(frame);
	(void)ctx;
	memcpy(frame, a->header, ETH_HLEN);
	bool sent = len - ETH_HLEN > a->mtu ? send_fragments(a, pair, frame)
	                                    : send(a->port, pair, frame, len);
	if (origin == FRAME_TRANSIT) {
		plane.waiting--;
		count(sent ? CNT_forwarded : CNT_drop_tx_full);
	} else if (!sent) {
		count(CNT_originated_drop_tx);
	}
}

static void op_unreachable(void *ctx, unsigned index, uint8_t *frame, unsigned len)
{
	(void)ctx;
	(void)index;
	if (origin_of(frame) != FRAME_TRANSIT)
		return;
	plane.waiting--;
	count(CNT_drop_neigh_unreachable);
	/* RFC 1812 5.2.7.1: host unreachable when the last hop does not answer */
	local_error(frame + ETH_HLEN, len - ETH_HLEN, ICMP4_UNREACH, ICMP4_UNREACH_HOST);
}

static void op_lost(void *ctx, unsigned index, uint8_t *frame, unsigned len)
{
	(void)ctx;
	(void)index;
	(void)len;
	if (origin_of(frame) != FRAME_TRANSIT)
		return;
	plane.waiting--;
	count(CNT_drop_neigh_queue);
}

static void op_count(void *ctx, enum counter counter, unsigned n)
{
	(void)ctx;
	count_n(counter, n);
}

static void op_removed(void *ctx, unsigned index)
{
	uint32_t ip = arp_neigh_ip(&plane.arp, index);
	(void)ctx;
	if (fib4_get(&plane.fib, ip, 32) == NH_NEIGHBOUR + index)
		fib4_remove(&plane.fib, ip, 32);
	/* If a data core does not come round the ports are restarted; until then nobody adopts an
	 * adjacency that does not say SPECIAL, so it stays as it is even when ARP reuses the index. */
	if (core_quiesce())
		adj_of(index)->state = ADJ_SPECIAL;
}

static const struct arp_ops arp_ops = {
	.tx = op_tx,
	.up = op_up,
	.down = op_down,
	.release = op_release,
	.unreachable = op_unreachable,
	.lost = op_lost,
	.count = op_count,
	.removed = op_removed,
};

/* --- for the plane --- */

/* Longest frame that any interface may carry. */
static unsigned frame_max(void)
{
	unsigned mtu = CONFIG_MTU_DEFAULT;
	for (unsigned p = 0; p < core_port_count(); p++)
		mtu = view_get()->port[p].mtu > mtu ? view_get()->port[p].mtu : mtu;
	return mtu + ETH_HLEN;
}

int neighbour_start(void)
{
	const struct config *c = &plane.config;
	struct view *v = view_get();
	struct arp_params params = ARP_PARAMS_DEFAULT;
	params.reachable_ns = c->arp_timeout_s * 1000000000ull;
	params.neighbours = VIEW_NEIGHBOURS;
	params.frame_max = frame_max();
	if (!arp_memory) {
		arp_memory_size = arp_memory_bytes(&params);
		arp_memory = core_private_alloc(arp_memory_size);
	}
	if (!arp_memory)
		return E_NOMEM;
	int e = arp_init(&plane.arp, &params, arp_memory, arp_memory_size, &arp_ops, NULL);
	for (unsigned p = 0; e == E_OK && p < core_port_count(); p++)
		for (unsigned a = 0; v->port[p].enabled && a < v->port[p].addresses; a++)
			e = arp_add_local(&plane.arp, p, v->port[p].addr[a], v->port[p].plen[a],
			                  v->port[p].mac);
	for (unsigned i = 0; e == E_OK && i < c->arp_count; i++) {
		int port = config_connected(c, c->arp[i].addr);
		if (port < 0 || !v->port[port].enabled)
			continue;
		neighbour_next_hop((unsigned)port, c->arp[i].addr);
		int n = arp_set_static(&plane.arp, (unsigned)port, c->arp[i].addr, c->arp[i].mac);
		e = n < 0 ? n : E_OK;
	}
	return e;
}

uint32_t neighbour_next_hop(unsigned port, uint32_t ip)
{
	int n = arp_neigh_get(&plane.arp, port, ip);
	if (n < 0)
		return NH_NULL0;
	if (adj_of((unsigned)n)->state == ADJ_SPECIAL)
		adopt((unsigned)n);
	return NH_NEIGHBOUR + (uint32_t)n;
}

void neighbour_link(unsigned port, bool up)
{
	struct arp_entry e;
	unsigned cursor = 0;
	while (arp_next(&plane.arp, &cursor, core_now_ns(), &e))
		if (e.port == port && (e.state == ARP_STATIC || e.state == ARP_REACHABLE ||
		                       e.state == ARP_PROBE))
			__atomic_store_n(&adj_of(e.index)->state, up ? ADJ_FORWARD : ADJ_UNRESOLVED,
			                 __ATOMIC_RELEASE);
}

void neighbour_output(uint32_t nh, uint32_t dst, uint8_t *frame, unsigned len,
                      enum frame_origin origin, unsigned pair)
{
	if (nh < NH_NEIGHBOUR)
		nh = neighbour_next_hop(nh - NH_CONNECTED, dst);
	if (nh == NH_NULL0) {
		if (origin == FRAME_TRANSIT)
			count(CNT_drop_neigh_table);
		return;
	}
	frame[0] = (uint8_t)origin;
	frame[1] = (uint8_t)pair;
	plane.waiting += origin == FRAME_TRANSIT;
	arp_output(&plane.arp, nh - NH_NEIGHBOUR, frame, len, core_now_ns());
}

/* Tells ARP which neighbours data cores have sent to since we last looked. */
static void tell_use(uint64_t now)
{
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const struct view_used *u = &view_shared_of(self.info->first_data_core + d)->used;
		for (unsigned n = NH_NEIGHBOUR; n < NH_MAX; n++) {
			uint32_t s = __atomic_load_n(&u->second[n], __ATOMIC_RELAXED);
			if ((int32_t)(s - used_seen[n]) <= 0)
				continue;
			used_seen[n] = s;
			if (adj_of(n - NH_NEIGHBOUR)->state != ADJ_SPECIAL)
				arp_used(&plane.arp, n - NH_NEIGHBOUR, now);
		}
	}
}

uint64_t neighbour_timer(void)
{
	uint64_t now = core_now_ns();
	if (now >= arp_deadline(&plane.arp))
		tell_use(now);
	return arp_tick(&plane.arp, now);
}
