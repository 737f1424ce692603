/*
 * Neighbours: makes adjacencies and host routes in the data-plane state from the ARP table.
 *
 * Neighbour n of the ARP table is next hop NH_NEIGHBOUR + n. From its first answer on it has a /32
 * route (routes_host), so data cores find it themselves. Until then its packets take the connected
 * route to the control core. When ARP forgets the neighbour, the route is removed first, then the
 * data cores are waited for, then the number may be used again. IPv6 is in neighbour6.c.
 */
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/forwarding/fate.h"
#include "control/forwarding/subnets.h"
#include "control/forwarding/neighbour6.h"
#include "control/forwarding/tables.h"
#include "control/forwarding/adjacency.h"
#include "control/forwarding/routes.h"
#include "runtime/events.h"

#include "lib/fmt.h"
#include "lib/mem.h"
#include "net/ip4.h"

struct neighbours neighbours;

/* The table's memory, for `pending` waiting frames of up to frame_max bytes. */
static struct {
	void *at;
	size_t bytes;
	uint32_t pending, frame_max;
} memory;
static uint32_t used_seen[NH_MAX]; /* dp_used.second that tell_use has passed on */

/* Makes the adjacency of a new neighbour. Its route is added when it has answered. */
static void install(unsigned index)
{
	adjacency_new(NH_NEIGHBOUR + index, arp_neigh_interface(&neighbours.arp, index),
	                arp_neigh_ip(&neighbours.arp, index));
}

/* --- callbacks of ARP (net/arp.h, struct arp_ops) --- */

static void op_up(void *ctx, unsigned index, const uint8_t *mac)
{
	(void)ctx;
	if (adjacency_of(NH_NEIGHBOUR + index)->state == ADJ_SPECIAL)
		install(index); /* ARP has learnt it from the neighbour's own request */
	adjacency_up(NH_NEIGHBOUR + index, mac);
	routes_host(arp_neigh_ip(&neighbours.arp, index), NH_NEIGHBOUR + index);
	routes_resolved(NH_NEIGHBOUR + index);
}

static void op_unreachable(void *ctx, unsigned index, uint8_t *frame, unsigned len)
{
	(void)ctx;
	adjacency_unreachable(arp_neigh_interface(&neighbours.arp, index), frame, len);
}

static void op_removed(void *ctx, unsigned index)
{
	(void)ctx;
	routes_host(arp_neigh_ip(&neighbours.arp, index), NH_NONE);
	adjacency_free(NH_NEIGHBOUR + index);
	routes_neighbour_gone();
}

/* True if a data core has sent to the neighbour since the last tell_use. */
static bool op_in_use(void *ctx, unsigned index)
{
	const uint32_t n = NH_NEIGHBOUR + index;
	bool used = false;
	(void)ctx;
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const struct dp_used *u = &dp_shared_of(self.info->first_data_core + d)->used;
		used |= (int32_t)(__atomic_load_n(&u->second[n], __ATOMIC_RELAXED) - used_seen[n]) > 0;
	}
	return used;
}

static void op_conflict(void *ctx, unsigned interface, uint32_t ip, const uint8_t *mac)
{
	char text[FMT_IP4_MAX], by[FMT_MAC_MAX];
	(void)ctx;
	log_event(LOG_WARNING, "ARP-CONFLICT", "%s: %s is in use by %s too", dp_name(dp_get(), interface),
	          fmt_ip4(text, ip), fmt_mac(by, mac));
}

static uint32_t first = NH_NEIGHBOUR; /* ctx of adjacency_op_* */

static const struct arp_ops arp_ops = {
	.tx = adjacency_op_tx,
	.up = op_up,
	.down = adjacency_op_down,
	.release = adjacency_op_release,
	.unreachable = op_unreachable,
	.lost = adjacency_op_lost,
	.count = adjacency_op_count,
	.removed = op_removed,
	.in_use = op_in_use,
	.conflict = op_conflict,
};

/* --- parameters and memory --- */

uint32_t neighbour_frame_max(const struct config *c)
{
	bool longer = false;
	for (unsigned n = 0; n < c->interfaces; n++)
		longer |= c->interface[n].mtu > CONFIG_MTU_DEFAULT;
	return (longer ? CONFIG_MTU_MAX : CONFIG_MTU_DEFAULT) + ETH_HLEN;
}

static struct arp_params parameters(const struct config *c)
{
	struct arp_params params = ARP_PARAMS_DEFAULT;
	params.reachable_ns = c->arp_timeout_s * SECOND_NS;
	params.neighbours = DP_NEIGHBOURS;
	params.frame_max = neighbour_frame_max(c);
	return params;
}

/* Fewer frames may wait if the table would take more than half of the memory left. */
static bool take_memory(struct arp_params *params)
{
	if (!memory.at || params->frame_max > memory.frame_max) {
		while (params->pending > NEIGHBOUR_PENDING_MIN &&
		       arp_memory_bytes(params) > core_private_left() / 2)
			params->pending /= 2;
		const size_t bytes = arp_memory_bytes(params);
		void *at = core_private_alloc(bytes);
		if (!at)
			return false;
		memory.at = at;
		memory.bytes = bytes;
		memory.pending = params->pending;
		memory.frame_max = params->frame_max;
	}
	params->pending = memory.pending;
	return true;
}

bool neighbour_room(const struct config *c)
{
	struct arp_params params = parameters(c);
	return take_memory(&params);
}

static int connected(uint32_t ip)
{
	const struct net_addr addr = net_addr_ip4(ip);
	return subnet_interface(&addr);
}

/* Adds a configured neighbour if its interface takes part in IPv4. */
static int set_static(const struct config_arp *s)
{
	int interface = connected(s->addr);
	if (interface < 0 || !dp_get()->interface[interface].enabled)
		return E_OK;
	neighbour_next_hop((unsigned)interface, s->addr);
	int n = arp_set_static(&neighbours.arp, (unsigned)interface, s->addr, s->mac);
	return n < 0 ? n : E_OK;
}

/* --- struct routes_reach, for both tables --- */

static uint32_t reach_next_hop(unsigned interface, const struct net_addr *addr, bool six)
{
	if (net_addr_is_ip4(addr))
		return neighbour_next_hop(interface, net_addr_to_ip4(addr));
	return six ? neighbour6_next_hop(interface, addr) : neighbour46_next_hop(interface, addr);
}

static void reach_hold(uint32_t nh)
{
	if (nh >= NH_NEIGHBOUR6)
		nd_pin(&neighbours.nd, neighbour6_index(nh));
	else if (nh >= NH_NEIGHBOUR)
		arp_pin(&neighbours.arp, nh - NH_NEIGHBOUR);
}

static void reach_release(uint32_t nh)
{
	if (nh >= NH_NEIGHBOUR6)
		nd_unpin(&neighbours.nd, neighbour6_index(nh));
	else if (nh >= NH_NEIGHBOUR)
		arp_unpin(&neighbours.arp, nh - NH_NEIGHBOUR);
}

static void reach_resolve(uint32_t nh)
{
	if (nh >= NH_NEIGHBOUR6)
		nd_resolve(&neighbours.nd, neighbour6_index(nh), core_now_ns());
	else if (nh >= NH_NEIGHBOUR)
		arp_resolve(&neighbours.arp, nh - NH_NEIGHBOUR, core_now_ns());
}

static const struct routes_reach reach = {
	.next_hop = reach_next_hop,
	.hold = reach_hold,
	.release = reach_release,
	.resolve = reach_resolve,
};

/* --- start and changes --- */

int neighbour_start(void)
{
	routes_set_reach(&reach);
	const struct config *c = &running.config;
	struct dp_state *v = dp_get();
	struct arp_params params = parameters(c);
	if (!take_memory(&params))
		return E_NOMEM;
	int e = arp_init(&neighbours.arp, &params, memory.at, memory.bytes, &arp_ops, &first);
	for (unsigned interface = 0; e == E_OK && interface < v->ifs; interface++)
		for (unsigned a = 0; dp_has_link(v, interface) && v->interface[interface].enabled &&
		                     a < v->interface[interface].addresses; a++)
			e = arp_add_local(&neighbours.arp, interface,
			                  v->interface[interface].addr[a],
			                  v->interface[interface].plen[a],
			                  v->interface[interface].mac);
	for (unsigned i = 0; e == E_OK && i < c->arp_count; i++)
		e = set_static(&c->arp[i]);
	return e;
}

static const struct config_arp *find_static(const struct config *c, uint32_t addr)
{
	for (unsigned i = 0; i < c->arp_count; i++)
		if (c->arp[i].addr == addr)
			return &c->arp[i];
	return NULL;
}

void neighbour_change(const struct config *next)
{
	const struct config *c = &running.config;
	neighbours.arp.params.reachable_ns = next->arp_timeout_s * SECOND_NS;
	for (unsigned i = 0; i < c->arp_count; i++) {
		int interface = connected(c->arp[i].addr);
		if (interface >= 0 && !find_static(next, c->arp[i].addr))
			arp_forget(&neighbours.arp, (unsigned)interface, c->arp[i].addr);
	}
	for (unsigned i = 0; i < next->arp_count; i++) {
		const struct config_arp *s = &next->arp[i], *was = find_static(c, s->addr);
		if (!(was && eth_equal(was->mac, s->mac)) && set_static(s) != E_OK)
			log_event(LOG_ERR, "ARP", "no room for a static neighbour: the table is full");
	}
	neighbour6_change(next);
}

uint32_t neighbour_next_hop(unsigned interface, uint32_t ip)
{
	int n = arp_neigh_get(&neighbours.arp, interface, ip);
	if (n < 0)
		return NH_NULL0;
	if (adjacency_of(NH_NEIGHBOUR + (uint32_t)n)->state == ADJ_SPECIAL)
		install((unsigned)n);
	return NH_NEIGHBOUR + (uint32_t)n;
}

struct net_addr neighbour_addr(uint32_t nh)
{
	return nh < NH_NEIGHBOUR6 ? net_addr_ip4(arp_neigh_ip(&neighbours.arp, nh - NH_NEIGHBOUR))
	                          : nd_neigh_addr(&neighbours.nd, neighbour6_index(nh));
}

/* The same for the destination of a packet. arp_may_ask limits new neighbours, so that a scan of a
 * subnet does not make us ask for every address. NH_NULL0: over the limit, or the table is full. */
static uint32_t neighbour_on_link(unsigned interface, uint32_t ip)
{
	if (arp_neigh_find(&neighbours.arp, interface, ip) < 0 &&
	    !arp_may_ask(&neighbours.arp, core_now_ns()))
		return NH_NULL0;
	return neighbour_next_hop(interface, ip);
}

void neighbour_link(unsigned interface, bool up)
{
	struct arp_entry e;
	unsigned cursor = 0;
	while (arp_next(&neighbours.arp, &cursor, core_now_ns(), &e))
		if (e.interface == interface &&
		    (e.state == ARP_STATIC || e.state == ARP_REACHABLE || e.state == ARP_PROBE))
			adjacency_link(NH_NEIGHBOUR + e.index, up);
	neighbour6_link(interface, up);
}

void neighbour_output(uint32_t nh, uint32_t dst, uint8_t *frame, unsigned len,
                      enum frame_origin origin, unsigned pair)
{
	if (nh < NH_NEIGHBOUR)
		nh = neighbour_on_link(nh - NH_CONNECTED, dst);
	if (nh == NH_NULL0) {
		if (origin == FRAME_TRANSIT)
			fate_count(CNT_drop_neigh_table);
		core_event_seldom(EVENT_neighbours_full, 4, self.counters->v[CNT_drop_neigh_table]);
		return;
	}
	adjacency_mark(frame, origin, pair);
	if (nh >= NH_NEIGHBOUR46)
		nd_output(&neighbours.nd, neighbour6_index(nh), frame, len, core_now_ns());
	else
		arp_output(&neighbours.arp, nh - NH_NEIGHBOUR, frame, len, core_now_ns());
}

/* The table hears that packets are sent to its neighbour. */
static void use(uint32_t nh, uint64_t now)
{
	if (nh < NH_NEIGHBOUR6)
		arp_used(&neighbours.arp, nh - NH_NEIGHBOUR, now);
	else
		nd_used(&neighbours.nd, neighbour6_index(nh));
}

bool neighbour_output_whole(uint32_t nh, const struct bufpool *pool, const struct pkt *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	if (dp_is_connected(nh) && !ip_is_ip6(ip)) {
		const int n = arp_neigh_find(&neighbours.arp, nh - NH_CONNECTED, ip4_dst(ip));
		nh = n < 0 ? NH_NONE : NH_NEIGHBOUR + (uint32_t)n;
	}
	if (nh < NH_NEIGHBOUR || dp_is_group(nh) || !adjacency_send_whole(nh, pool, p))
		return false;
	use(nh, core_now_ns());
	return true;
}

/* Tells the tables which neighbours data cores have sent to since the last call. */
static void tell_use(uint64_t now)
{
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const struct dp_used *u = &dp_shared_of(self.info->first_data_core + d)->used;
		for (unsigned n = NH_NEIGHBOUR; n < NH_MAX; n++) {
			uint32_t s = __atomic_load_n(&u->second[n], __ATOMIC_RELAXED);
			if ((int32_t)(s - used_seen[n]) <= 0)
				continue;
			used_seen[n] = s;
			if (adjacency_of(n)->state == ADJ_SPECIAL)
				continue;
			use(n, now);
		}
	}
}

uint64_t neighbour_timer(void)
{
	if (!forwarding.ready)
		return UINT64_MAX;
	uint64_t now = core_now_ns(), six = nd_deadline(&neighbours.nd);
	if (now >= arp_deadline(&neighbours.arp) || now >= six)
		tell_use(now);
	six = neighbour6_tick(now);
	uint64_t four = arp_tick(&neighbours.arp, now);
	return four < six ? four : six;
}
