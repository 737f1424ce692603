/*
 * IPv6 neighbours and addresses: makes adjacencies, entries of hosts6 and our own addresses in the
 * data-plane state from neighbour discovery (net/nd.h).
 *
 * Neighbour n of the ND table is next hop NH_NEIGHBOUR6 + n. While it exists, an entry of hosts6
 * leads to it. When ND forgets the neighbour, the entry is removed first, then the data cores are
 * waited for, then the number may be used again.
 *
 * IPv4 routes with that neighbour as next hop (RFC 8950) lead to NH_NEIGHBOUR46 + n. This adjacency
 * exists from the first such route until ND forgets the neighbour, and has the same state as the
 * other. Its IPv4 packets wait in the neighbour's queue of ND beside IPv6's.
 *
 * hosts6 also leads to ourselves. It has our addresses once DAD has passed them. From the start it
 * has the groups that discovery needs, because probes of a still tentative address must be received
 * too. A group stays when its address goes: other addresses may share it, and a superfluous message
 * does no harm.
 *
 * A router advertises itself (net/ra.h) on interfaces with an address besides the link-local one.
 * Other applications use routers' advertisements (autoconfig.c).
 */
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/forwarding/autoconfig.h"
#include "control/forwarding/fate.h"
#include "control/forwarding/neighbour6.h"
#include "control/forwarding/tables.h"
#include "control/forwarding/adjacency.h"
#include "control/forwarding/routes.h"
#include "runtime/events.h"

#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

/* Each address, also the link-local one, and the anycast address of its subnet have a group; the
 * groups of all routers and of DHCP relay agents are in addition. */
_Static_assert(DP_INTERFACES_MAX * 2 * (1 + CONFIG_ADDRESSES_MAX) <= ND_LOCALS_MAX &&
               DP_INTERFACES_MAX * (2 * (1 + CONFIG_ADDRESSES_MAX) + 2) <= MLD_GROUPS_MAX,
               "there is room for all that can be configured");

/* The table's memory, for so many neighbours and `pending` waiting frames of up to frame_max
 * bytes. */
static struct {
	void *at;
	size_t bytes;
	uint32_t neighbours, pending, frame_max;
} memory;

/* adj.gateway of an address; 0 unless it is in fe80::/64 (RFC 4291 2.5.6). */
static uint64_t gateway_of(const struct net_addr *addr)
{
	const struct net_addr prefix = ip6_link_local(0);
	return ip6_in_prefix(addr, &prefix, 64) ? ip6_identifier(addr) : 0;
}

static void install(unsigned index)
{
	unsigned interface = nd_neigh_interface(&neighbours.nd, index);
	const struct net_addr addr = nd_neigh_addr(&neighbours.nd, index);
	adjacency_new(NH_NEIGHBOUR6 + index, interface, gateway_of(&addr));
	routes_host6(interface, &addr, NH_NEIGHBOUR6 + index);
}

/* Do IPv4 routes use the neighbour, or have they? */
static bool serves_ip4(unsigned index)
{
	return adjacency_of(NH_NEIGHBOUR46 + index)->state != ADJ_SPECIAL;
}

/* --- callbacks of discovery (net/nd.h, struct nd_ops) --- */

static void op_up(void *ctx, unsigned index, const uint8_t *mac)
{
	(void)ctx;
	if (adjacency_of(NH_NEIGHBOUR6 + index)->state == ADJ_SPECIAL)
		install(index);
	adjacency_up(NH_NEIGHBOUR6 + index, mac);
	routes_resolved(NH_NEIGHBOUR6 + index);
	if (!serves_ip4(index))
		return;
	adjacency_up(NH_NEIGHBOUR46 + index, mac);
	routes_resolved(NH_NEIGHBOUR46 + index);
}

static void op_down(void *ctx, unsigned index)
{
	(void)ctx;
	adjacency_down(NH_NEIGHBOUR6 + index);
	if (serves_ip4(index))
		adjacency_down(NH_NEIGHBOUR46 + index);
}

static void op_release(void *ctx, unsigned index, uint8_t *frame, unsigned len)
{
	static uint32_t first6 = NH_NEIGHBOUR6, first46 = NH_NEIGHBOUR46;
	(void)ctx;
	adjacency_op_release(ip_is_ip6(frame + ETH_HLEN) ? &first6 : &first46, index, frame, len);
}

static void op_unreachable(void *ctx, unsigned index, uint8_t *frame, unsigned len)
{
	(void)ctx;
	adjacency_unreachable(nd_neigh_interface(&neighbours.nd, index), frame, len);
}

static void op_removed(void *ctx, unsigned index)
{
	const struct net_addr addr = nd_neigh_addr(&neighbours.nd, index);
	(void)ctx;
	routes_host6_gone(nd_neigh_interface(&neighbours.nd, index), &addr, NH_NEIGHBOUR6 + index);
	adjacency_free(NH_NEIGHBOUR6 + index);
	if (serves_ip4(index))
		adjacency_free(NH_NEIGHBOUR46 + index);
	routes_neighbour_gone();
}

/* Publishes the usable addresses of an interface, the link-local one first (dataplane/state.h). */
static void show_addresses(unsigned interface)
{
	struct dp_interface6 *v = &dp_get()->interface6[interface];
	struct nd_address a;
	uint32_t n = 0;
	__atomic_store_n(&v->count, 0, __ATOMIC_RELEASE);
	if (!core_quiesce())
		return; /* the ports are being restarted, which does all this again */
	for (unsigned wide = 0; wide < 2; wide++)
		for (unsigned cursor = 0; nd_local_next(&neighbours.nd, &cursor, &a);)
			if (a.interface == interface && a.state == ND_VALID && !a.anycast &&
			    ip6_is_link_local(&a.addr) == !wide && n < DP_ADDRESSES6_MAX) {
				v->addr[n] = a.addr;
				v->plen[n++] = (uint8_t)a.plen;
			}
	__atomic_store_n(&v->count, n, __ATOMIC_RELEASE);
}

static void op_address_up(void *ctx, unsigned interface, const struct net_addr *addr)
{
	(void)ctx;
	routes_host6(interface, addr, NH_LOCAL);
	autoconfig_address(interface, addr, true);
	show_addresses(interface);
}

static void op_address_down(void *ctx, unsigned interface, const struct net_addr *addr)
{
	(void)ctx;
	routes_host6_gone(interface, addr, NH_LOCAL);
	autoconfig_address(interface, addr, false);
	show_addresses(interface);
}

static void op_address_duplicate(void *ctx, unsigned interface, const struct net_addr *addr,
                                 const uint8_t *mac)
{
	char text[FMT_IP6_MAX], by[FMT_MAC_MAX];
	(void)ctx;
	log_event(LOG_WARNING, "ND-CONFLICT", "%s: %s is in use by %s and is not used here",
	          dp_name(dp_get(), interface), fmt_ip6(text, addr->w),
	          mac ? fmt_mac(by, mac) : "another station");
}

static const struct nd_ops nd_ops = {
	.tx = adjacency_op_tx,
	.up = op_up,
	.down = op_down,
	.release = op_release,
	.unreachable = op_unreachable,
	.lost = adjacency_op_lost,
	.count = adjacency_op_count,
	.removed = op_removed,
	.address_up = op_address_up,
	.address_down = op_address_down,
	.address_duplicate = op_address_duplicate,
};

/* --- start --- */

static bool is_added(unsigned interface, const struct net_addr *addr)
{
	struct nd_address a;
	for (unsigned cursor = 0; nd_local_next(&neighbours.nd, &cursor, &a);)
		if (a.interface == interface && net_addr_equal(&a.addr, addr))
			return true;
	return false;
}

/* Adds one of our addresses and listens to its solicited-node group. */
static int add_address(unsigned interface, const struct net_addr *addr, unsigned plen)
{
	const struct net_addr group = ip6_solicited_node(addr);
	const uint8_t *mac = dp_get()->interface[interface].mac;
	routes_host6(interface, &group, NH_LOCAL);
	int e = nd_add_local(&neighbours.nd, interface, addr, plen, mac, core_now_ns());
	/* RFC 4291 2.6.1: a router answers to the anycast address of each of its subnets. We may
	 * have several addresses in a subnet. */
	const struct net_addr anycast = ip6_prefix_of(addr, plen);
	if (e != E_OK || !neighbours.nd.params.router || !ip6_is_subnet_router(&anycast, addr, plen) ||
	    is_added(interface, &anycast))
		return e;
	const struct net_addr anycast_group = ip6_solicited_node(&anycast);
	routes_host6(interface, &anycast_group, NH_LOCAL);
	return nd_add_anycast(&neighbours.nd, interface, &anycast, mac, core_now_ns());
}

/* All autoconfigured addresses have the interface identifier of the MAC's link-local address, so
 * they share its solicited-node group (RFC 4291 2.7.1). Listening to it now, each address receives
 * other stations' probes from its own first probe on. */
static int start_autoconfig(unsigned interface)
{
	const struct net_addr own = ip6_link_local_of(dp_get()->interface[interface].mac);
	const struct net_addr group = ip6_solicited_node(&own);
	routes_host6(interface, &group, NH_LOCAL);
	return autoconfig_start(interface);
}

static int start_addresses(unsigned interface, const struct config_interface *i)
{
	const struct net_addr link_local =
	        net_addr_is_any(&i->link_local6)
	                ? ip6_link_local_of(dp_get()->interface[interface].mac)
	                : i->link_local6;
	const uint64_t now = core_now_ns();
	routes_host6(interface, &IP6_ALL_NODES, NH_LOCAL);
	int e = add_address(interface, &link_local, 64);
	for (unsigned a = 0; e == E_OK && a < i->address6_count; a++)
		e = add_address(interface, &i->address6[a].addr, i->address6[a].plen);
	if (e == E_OK && !neighbours.nd.params.router && i->autoconfig)
		return start_autoconfig(interface);
	if (e != E_OK || !neighbours.nd.params.router)
		return e;
	routes_host6(interface, &IP6_ALL_ROUTERS, NH_LOCAL); /* RFC 4291 2.8 */
	return nd_join(&neighbours.nd, interface, &IP6_ALL_ROUTERS, now);
}

/* What an interface advertises: its subnets. Hosts make addresses in a /64 only (RFC 4862
 * 5.5.3). */
static struct ra_config advertisement(unsigned interface, const struct config_interface *i)
{
	struct ra_config c = RA_CONFIG_DEFAULT;
	c.mtu = dp_get()->interface[interface].mtu;
	c.managed = i->ra_managed;
	c.other = i->ra_other;
	if (i->ra_interval_s) {
		c.max_interval_s = i->ra_interval_s;
		c.min_interval_s = i->ra_interval_s * 33 / 100 > 3 ? i->ra_interval_s * 33 / 100 : 3;
	}
	c.lifetime_s = (uint16_t)(i->ra_lifetime_said ? i->ra_lifetime_s : 3 * c.max_interval_s);
	c.server_s = 3 * c.max_interval_s;
	for (unsigned a = 0; a < i->address6_count && c.prefixes < RA_PREFIXES_MAX; a++)
		c.prefix[c.prefixes++] = (struct ra_prefix){
			.addr = ip6_prefix_of(&i->address6[a].addr, i->address6[a].plen),
			.plen = i->address6[a].plen,
			.valid_s = RA_PREFIX_VALID_S,
			.preferred_s = RA_PREFIX_PREFERRED_S,
			.on_link = true,
			.autonomous = i->address6[a].plen == 64,
		};
	for (unsigned k = 0; k < i->ra_server_count; k++)
		c.server[c.servers++] = i->ra_server[k];
	return c;
}

/* Adds a configured neighbour if its interface takes part in IPv6. */
static int set_static(const struct config_neighbour6 *s)
{
	int interface = config_number(&running.config, s->interface);
	if (interface < 0 || !dp_has_link(dp_get(), (unsigned)interface) ||
	    !dp_get()->interface[interface].enabled6)
		return E_OK;
	neighbour6_next_hop((unsigned)interface, &s->addr);
	int n = nd_set_static(&neighbours.nd, (unsigned)interface, &s->addr, s->mac);
	return n < 0 ? n : E_OK;
}

static int start_statics(void)
{
	const struct config *c = &running.config;
	int e = E_OK;
	for (unsigned k = 0; e == E_OK && k < c->neighbour6_count; k++)
		e = set_static(&c->neighbour6[k]);
	return e;
}

static const struct config_neighbour6 *find_static(const struct config *c,
                                                   const struct config_neighbour6 *s)
{
	for (unsigned k = 0; k < c->neighbour6_count; k++)
		if (c->neighbour6[k].interface == s->interface &&
		    net_addr_equal(&c->neighbour6[k].addr, &s->addr))
			return &c->neighbour6[k];
	return NULL;
}

static bool advertises(const struct config_interface *i)
{
	return neighbours.nd.params.router && i->address6_count && !i->ra_suppress;
}

/* True if two interfaces with the same addresses advertise the same. */
static bool advertise_alike(const struct config_interface *a, const struct config_interface *b)
{
	bool alike = a->ra_suppress == b->ra_suppress && a->ra_interval_s == b->ra_interval_s &&
	             a->ra_lifetime_said == b->ra_lifetime_said &&
	             a->ra_lifetime_s == b->ra_lifetime_s && a->ra_managed == b->ra_managed &&
	             a->ra_other == b->ra_other && a->ra_server_count == b->ra_server_count;
	for (unsigned k = 0; alike && k < a->ra_server_count; k++)
		alike = net_addr_equal(&a->ra_server[k], &b->ra_server[k]);
	return alike;
}

/* Announces changed advertisements at once, as at the start of an advertising interface (RFC 4861
 * 6.2.4). An interface that is to advertise no more sends a last advertisement (6.2.5). Nothing can
 * fail: start_addresses has joined the group already. */
static void change_advertisements(const struct config *next)
{
	const struct dp_state *v = dp_get();
	const uint64_t now = core_now_ns();
	for (unsigned interface = 0; interface < v->ifs; interface++) {
		const struct config_interface *i = &next->interface[interface];
		if (!v->interface[interface].enabled6 || !dp_has_link(v, interface) ||
		    advertise_alike(&running.config.interface[interface], i))
			continue;
		if (advertises(i)) {
			const struct ra_config c = advertisement(interface, i);
			const int e = ra_start(&neighbours.ra, interface, &c, now);
			assert(e == E_OK);
		} else {
			ra_stop(&neighbours.ra, interface, now);
		}
	}
}

void neighbour6_change(const struct config *next)
{
	const struct config *c = &running.config;
	change_advertisements(next);
	for (unsigned k = 0; k < c->neighbour6_count; k++) {
		const struct config_neighbour6 *s = &c->neighbour6[k];
		int interface = config_number(c, s->interface);
		if (interface >= 0 && !find_static(next, s))
			nd_forget(&neighbours.nd, (unsigned)interface, &s->addr);
	}
	for (unsigned k = 0; k < next->neighbour6_count; k++) {
		const struct config_neighbour6 *s = &next->neighbour6[k], *was = find_static(c, s);
		if (!(was && eth_equal(was->mac, s->mac)) && set_static(s) != E_OK)
			log_event(LOG_ERR, "ND", "no room for a static neighbour: the table is full");
	}
}

/* If no interface takes part in IPv6, the table has one neighbour and one waiting frame. */
static struct nd_params parameters(const struct config *c)
{
	struct nd_params params = ND_PARAMS_DEFAULT;
	bool wanted = false;
	for (unsigned n = 0; n < c->interfaces; n++)
		wanted |= c->interface[n].ipv6;
	params.neighbours = wanted ? DP_NEIGHBOURS : 1;
	params.pending = wanted ? params.pending : 1;
	params.frame_max = neighbour_frame_max(c);
	return params;
}

/* Fewer frames may wait if the table would take more than half of the memory left. */
static bool take_memory(struct nd_params *params)
{
	if (!memory.at || params->neighbours > memory.neighbours ||
	    (params->neighbours > 1 && params->frame_max > memory.frame_max)) {
		while (params->pending > NEIGHBOUR_PENDING_MIN &&
		       nd_memory_bytes(params) > core_private_left() / 2)
			params->pending /= 2;
		const size_t bytes = nd_memory_bytes(params);
		void *at = core_private_alloc(bytes);
		if (!at)
			return false;
		memory.at = at;
		memory.bytes = bytes;
		memory.neighbours = params->neighbours;
		memory.pending = params->pending;
		memory.frame_max = params->frame_max;
	}
	params->pending = memory.pending;
	params->frame_max = u32_min(params->frame_max, memory.frame_max);
	return true;
}

bool neighbour6_room(const struct config *c)
{
	struct nd_params params = parameters(c);
	return take_memory(&params);
}

int neighbour6_start(void)
{
	const struct dp_state *v = dp_get();
	struct nd_params params = parameters(&running.config);
	params.router = core_app_number() == CORE_APP_router;
	core_random(&params.key, sizeof params.key);
	if (!take_memory(&params))
		return E_NOMEM;
	int e = nd_init(&neighbours.nd, &params, memory.at, memory.bytes, &nd_ops, NULL);
	ra_init(&neighbours.ra, &neighbours.nd);
	autoconfig_init();
	for (unsigned interface = 0; e == E_OK && interface < v->ifs; interface++) {
		const struct config_interface *i = &running.config.interface[interface];
		if (!v->interface[interface].enabled6 || !dp_has_link(v, interface))
			continue;
		e = start_addresses(interface, i);
		const struct ra_config c = advertisement(interface, i);
		if (e == E_OK && advertises(i))
			e = ra_start(&neighbours.ra, interface, &c, core_now_ns());
	}
	return e == E_OK ? start_statics() : e;
}

/* --- next hops, links, sending, time --- */

uint32_t neighbour6_next_hop(unsigned interface, const struct net_addr *addr)
{
	int n = nd_neigh_get(&neighbours.nd, interface, addr);
	if (n < 0)
		return NH_NULL0;
	if (adjacency_of(NH_NEIGHBOUR6 + (uint32_t)n)->state == ADJ_SPECIAL)
		install((unsigned)n);
	return NH_NEIGHBOUR6 + (uint32_t)n;
}

uint32_t neighbour46_next_hop(unsigned interface, const struct net_addr *addr)
{
	const uint32_t six = neighbour6_next_hop(interface, addr);
	const uint32_t nh = NH_NEIGHBOUR46 + six - NH_NEIGHBOUR6;
	if (six == NH_NULL0)
		return NH_NULL0;
	if (adjacency_of(nh)->state == ADJ_SPECIAL)
		adjacency_new_beside(nh, six);
	return nh;
}

/* The same for the destination of a packet. nd_may_ask comes first, so that a packet of a scan over
 * its limit takes no place in the table. NH_NULL0: over the limit, or the table is full. */
static uint32_t neighbour6_on_link(unsigned interface, const struct net_addr *addr)
{
	if (nd_neigh_find(&neighbours.nd, interface, addr) < 0 &&
	    !nd_may_ask(&neighbours.nd, core_now_ns()))
		return NH_NULL0;
	return neighbour6_next_hop(interface, addr);
}

void neighbour6_link(unsigned interface, bool up)
{
	const uint64_t now = core_now_ns();
	if (!dp_get()->interface[interface].enabled6)
		return;
	if (up) {
		nd_link_up(&neighbours.nd, interface, now);
		ra_link_up(&neighbours.ra, interface, now);
		slaac_link_up(&neighbours.slaac, interface, now);
	} else {
		nd_flush_interface(&neighbours.nd, interface);
	}
	struct nd_entry e;
	for (unsigned cursor = 0; nd_next(&neighbours.nd, &cursor, now, &e);)
		if (e.interface == interface && e.state == ND_STATIC) {
			adjacency_link(NH_NEIGHBOUR6 + e.index, up);
			if (serves_ip4(e.index))
				adjacency_link(NH_NEIGHBOUR46 + e.index, up);
		}
}

void neighbour6_output(uint32_t nh, const struct net_addr *dst, uint8_t *frame, unsigned len,
                       enum frame_origin origin, unsigned pair)
{
	if (nh < NH_NEIGHBOUR6)
		nh = neighbour6_on_link(nh - NH_CONNECTED, dst);
	if (nh == NH_NULL0) {
		if (origin == FRAME_TRANSIT)
			fate_count(CNT_drop_neigh_table);
		core_event_seldom(EVENT_neighbours_full, 6, self.counters->v[CNT_drop_neigh_table]);
		return;
	}
	adjacency_mark(frame, origin, pair);
	nd_output(&neighbours.nd, nh - NH_NEIGHBOUR6, frame, len, core_now_ns());
}

uint64_t neighbour6_tick(uint64_t now_ns)
{
	bool router = neighbours.nd.params.router;
	nd_tick(&neighbours.nd, now_ns);
	uint64_t routers = router ? ra_tick(&neighbours.ra, now_ns) : slaac_tick(&neighbours.slaac, now_ns);
	uint64_t nd = nd_deadline(&neighbours.nd); /* ra or slaac may have advanced it */
	return nd < routers ? nd : routers;
}
