/* See hops.h. */
#include "control/engine/hops.h"

#include "control/config/running.h"
#include "control/forwarding/interfaces.h"
#include "control/forwarding/subnets.h"
#include "dataplane/state.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define WEIGHT_MAX 255u

uint8_t engine_distance(enum fpm_protocol p)
{
	if (running.config.engine.distance)
		return running.config.engine.distance;
	switch (p) {
	case FPM_STATIC: return 1;
	case FPM_BGP: return 20;
	case FPM_EIGRP: return 90;
	case FPM_BABEL: return 100;
	case FPM_OSPF: return 110;
	case FPM_ISIS: return 115;
	case FPM_RIP:
	case FPM_RIPNG: return 120;
	default: return 150;
	}
}

bool engine_is_destination(const struct rib_prefix *p)
{
	if (p->six)
		return !(p->plen >= 8 && ip6_is_multicast(&p->addr)) &&
		       !(p->plen >= 10 && ip6_is_link_local(&p->addr)) &&
		       !(p->plen == 128 && ip6_is_loopback(&p->addr));
	const uint32_t ip = net_addr_to_ip4(&p->addr);
	return !(p->plen >= 4 && ip >> 28 == 14) && !(p->plen >= 8 && ip >> 24 == 127);
}

int engine_interface_of(uint32_t ifindex)
{
	const struct config *c = &running.config;
	static unsigned last; /* most routes have the interface of the route before */
	if (ifindex && last < c->interfaces && config_engine_index_of(&c->interface[last]) == ifindex)
		return (int)last;
	for (unsigned n = 0; ifindex && n < c->interfaces; n++)
		if (config_engine_index_of(&c->interface[n]) == ifindex)
			return (int)(last = n);
	return ENGINE_NO_INTERFACE;
}

/* Can it ask for hosts on its link? An unnumbered interface cannot by ARP. */
static bool takes_part(int n, bool six)
{
	const struct dp_state *v = dp_get();
	return n != ENGINE_NO_INTERFACE && dp_has_link(v, (unsigned)n) &&
	       (six ? v->interface[n].enabled6 : v->interface[n].enabled && v->interface[n].addresses);
}

/* zebra's stand-in for an IPv6 next hop (net/fpm/fpm.h), unless we have a link of these addresses. */
static bool is_hidden(const struct net_addr *a)
{
	const struct net_addr hidden = net_addr_ip4(IP4(169, 254, 0, 1));
	return net_addr_equal(a, &hidden) && subnet_interface(a) < 0;
}

/* An interface without gateway: its link, like a connected subnet. */
static enum engine_refusal to_link(struct rib_hop *out, int n, bool six)
{
	if (!takes_part(n, six))
		return ENGINE_REFUSED_INTERFACE;
	out->nh = (uint16_t)(NH_CONNECTED + n);
	out->interface = (uint8_t)n;
	return ENGINE_REFUSED_NOT;
}

static enum engine_refusal translate(struct rib_hop *out, const struct fpm_hop *hop, bool six)
{
	const int n = engine_interface_of(hop->ifindex);
	const bool link_local = ip6_is_link_local(&hop->gateway);
	*out = (struct rib_hop){.interface = RIB_ANY_INTERFACE};
	if (net_addr_is_any(&hop->gateway))
		return hop->ifindex ? to_link(out, n, six) : ENGINE_REFUSED_EMPTY;
	if (net_addr_is_ip4(&hop->gateway) && six)
		return ENGINE_REFUSED_FAMILY;
	if (is_hidden(&hop->gateway))
		return ENGINE_REFUSED_HIDDEN;
	if (interfaces_have(&hop->gateway)) /* a packet to it would be sent to ourselves */
		return ENGINE_REFUSED_OWN;
	if (link_local && n == ENGINE_NO_INTERFACE)
		return ENGINE_REFUSED_LINK_LOCAL;
	out->via = hop->gateway;
	if (n != ENGINE_NO_INTERFACE)
		out->interface = (uint8_t)n;
	return ENGINE_REFUSED_NOT;
}

static bool is_same(const struct rib_hop *a, const struct rib_hop *b)
{
	return a->nh == b->nh && a->interface == b->interface && net_addr_equal(&a->via, &b->via);
}

/* Adds a hop, or its weight to that of the same hop. */
static void add(struct engine_hops *out, uint32_t *weight, const struct rib_hop *hop, uint32_t w)
{
	for (unsigned i = 0; i < out->hops; i++)
		if (is_same(&out->hop[i], hop)) {
			weight[i] += w;
			return;
		}
	weight[out->hops] = w;
	out->hop[out->hops++] = *hop;
}

/* Scales the weights so that the largest is WEIGHT_MAX at most. */
static void set_weights(struct engine_hops *out, const uint32_t *weight)
{
	uint32_t most = WEIGHT_MAX;
	for (unsigned i = 0; i < out->hops; i++)
		most = weight[i] > most ? weight[i] : most;
	for (unsigned i = 0; i < out->hops; i++) {
		const uint32_t w = (uint32_t)((uint64_t)weight[i] * WEIGHT_MAX / most);
		out->hop[i].weight = (uint8_t)(w ? w : 1);
	}
}

enum engine_refusal engine_hops(struct engine_hops *out, const struct fpm_hop *hop, unsigned n,
                                enum fpm_protocol protocol, bool six)
{
	enum engine_refusal why = ENGINE_REFUSED_EMPTY;
	uint32_t weight[RIB_ROUTES_MAX];
	_Static_assert(FPM_HOPS_MAX <= RIB_ROUTES_MAX, "a route's hops fit");
	out->hops = 0;
	for (unsigned i = 0; i < n; i++) {
		struct rib_hop one;
		const enum engine_refusal r = translate(&one, &hop[i], six);
		if (r != ENGINE_REFUSED_NOT) {
			why = r;
			continue;
		}
		one.distance = engine_distance(protocol);
		one.origin = (uint8_t)protocol;
		add(out, weight, &one, hop[i].weight);
	}
	set_weights(out, weight);
	return out->hops ? ENGINE_REFUSED_NOT : why;
}

/* A hop that translate, to_link or engine_nowhere may have made; the interface is a present one. */
static bool is_usable(const struct rib_hop *h, bool six)
{
	if (h->origin >= FPM_PROTOCOLS_END)
		return false;
	if (h->nh == NH_BLACKHOLE || h->nh == NH_UNREACHABLE || h->nh == NH_PROHIBIT)
		return h->interface == RIB_NO_INTERFACE;
	if (h->nh != RIB_NH_NONE)
		return h->interface < DP_INTERFACES_MAX && h->nh == NH_CONNECTED + h->interface &&
		       takes_part(h->interface, six);
	if (h->interface == RIB_NO_INTERFACE || net_addr_is_any(&h->via) ||
	    net_addr_is_ip4(&h->via) == six || interfaces_have(&h->via))
		return false;
	return h->interface != RIB_ANY_INTERFACE || !ip6_is_link_local(&h->via);
}

bool engine_hops_previous(struct engine_hops *out, const struct rib_previous *left)
{
	out->hops = 0;
	for (unsigned i = 0; i < left->n; i++) {
		struct rib_hop h = left->hop[i];
		unsigned k = 0;
		if (h.nh != RIB_NH_NONE)
			h.via = NET_ADDR_ANY;
		while (k < out->hops && !is_same(&out->hop[k], &h))
			k++;
		if (k == out->hops && is_usable(&h, left->prefix.six))
			out->hop[out->hops++] = h;
	}
	return out->hops != 0;
}

void engine_nowhere(struct engine_hops *out, enum fpm_route_type type, enum fpm_protocol protocol)
{
	const uint32_t nh = type == FPM_PROHIBIT      ? NH_PROHIBIT
	                    : type == FPM_UNREACHABLE ? NH_UNREACHABLE
	                                              : NH_BLACKHOLE;
	out->hops = 1;
	out->hop[0] = (struct rib_hop){.nh = (uint16_t)nh,
	                               .interface = RIB_NO_INTERFACE,
	                               .distance = engine_distance(protocol),
	                               .origin = (uint8_t)protocol};
}
