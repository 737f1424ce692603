/* See dataplane/state.h. */
#include "dataplane/state.h"

#include "lib/mem.h"
#include "net/ip6.h"

void dp_counted_start(void)
{
	struct dp_counted *c = dp_counted();
	const struct dp_state *v = dp_get();
	if (c->started == v->started)
		return;
	memset(c->carried, 0, sizeof c->carried);
	memset(c->filter, 0, v->filter_counts * sizeof c->filter[0]);
	c->started = v->started;
}

const char *dp_special(uint32_t nh)
{
	static const char *const word[NH_CONNECTED] = {
		[NH_NONE] = "no route",        [NH_LOCAL] = "local",
		[NH_BROADCAST] = "broadcast",  [NH_MULTICAST] = "multicast",
		[NH_NULL0] = "null0",          [NH_BLACKHOLE] = "blackhole",
		[NH_UNREACHABLE] = "unreachable", [NH_PROHIBIT] = "prohibit",
	};
	return nh < NH_CONNECTED && word[nh] ? word[nh] : "?";
}

/* An address of an interface, link-local or not as requested: preferably one whose prefix covers
 * dst. NULL: none. */
static const struct net_addr *address_on(const struct dp_interface6 *ifp, bool link_local,
                                         const struct net_addr *dst)
{
	const struct net_addr *found = NULL;
	uint32_t n = __atomic_load_n(&ifp->count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++) {
		const struct net_addr *a = &ifp->addr[i];
		if (ip6_is_link_local(a) != link_local)
			continue;
		if (ip6_in_prefix(dst, a, ifp->plen[i]))
			return a;
		found = found ? found : a;
	}
	return found;
}

bool dp_source6(const struct dp_state *v, unsigned interface, const struct net_addr *dst,
                struct net_addr *src)
{
	bool near = ip6_is_link_local(dst) ||
	            (ip6_is_multicast(dst) && ip6_multicast_scope(dst) <= IP6_SCOPE_LINK);
	const struct net_addr *a = address_on(&v->interface6[interface], near, dst);
	for (unsigned i = 0; !a && !near && i < v->ifs; i++)
		a = v->interface[i].enabled6 ? address_on(&v->interface6[i], false, dst) : NULL;
	if (!a)
		a = address_on(&v->interface6[interface], !near, dst);
	if (a)
		*src = *a;
	return a != NULL;
}

static bool has_address(const struct dp_interface6 *ifp, const struct net_addr *addr)
{
	uint32_t n = __atomic_load_n(&ifp->count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++)
		if (net_addr_equal(&ifp->addr[i], addr))
			return true;
	return false;
}

unsigned dp_mtu6(const struct dp_state *v, const struct net_addr *dst)
{
	int out = ip6_is_link_local(dst) ? -1
	                                 : dp_interface_of(v, dp_next_hop6(v, (const uint8_t *)dst->w));
	unsigned least = NIC_MTU_MAX;
	for (unsigned i = 0; i < v->ifs; i++) {
		unsigned mtu = __atomic_load_n(&v->interface6[i].mtu, __ATOMIC_RELAXED);
		if (v->interface[i].enabled6 && (out < 0 || i == (unsigned)out) && mtu < least)
			least = mtu;
	}
	return least;
}

unsigned dp_mtu(const struct dp_state *v)
{
	unsigned least = NIC_MTU_MAX;
	for (unsigned i = 0; i < v->ifs; i++)
		if (dp_in_use(&v->interface[i]) && v->interface[i].mtu < least)
			least = v->interface[i].mtu;
	return least;
}

unsigned dp_link_of6(const struct dp_state *v, const struct net_addr *src, const struct net_addr *dst)
{
	unsigned from = DP_INTERFACES_MAX, known = DP_INTERFACES_MAX;
	for (unsigned i = 0; i < v->ifs; i++) {
		if (!v->interface[i].enabled6)
			continue;
		bool ours = src && has_address(&v->interface6[i], src);
		bool neighbour = host6_lookup(v->hosts6, i, (const uint8_t *)dst->w) != NH_NONE;
		if (neighbour && (ours || known == DP_INTERFACES_MAX))
			known = i;
		if (ours && neighbour)
			return i;
		if (ours && from == DP_INTERFACES_MAX)
			from = i;
	}
	return from != DP_INTERFACES_MAX ? from : known;
}
