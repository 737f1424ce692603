/*
 * Redirects (RFC 1812 5.2.7.2; RFC 4861 8.2), where an interface is configured to send them. A
 * packet that leaves by its input interface could have taken a shorter path. It is forwarded, and
 * its sender is told of a better first hop, the target, if
 *
 *     both families  sender and target are on that link; the target is neither the sender nor the
 *                    station that sent the frame
 *     IPv4           the target has an IPv4 address, unlike an IPv6 next hop (RFC 8950); one of our
 *                    addresses is on the subnet of both; RFC 1812 4.3.2.7 permits an error about
 *                    the packet
 *     IPv6           the destination itself is on the link, or the next hop is known by its
 *                    link-local address: a target that is a router must have that address (8), and
 *                    the link-local address of any other next hop is not known
 *
 * A next hop whose MAC address is not known yet is no target; a later packet causes the redirect.
 * Redirects have the rate of ICMP errors but a limit of their own (send.h), so a host that ignores
 * them does not suppress errors. A redirect is for one destination (RFC 1812 5.2.7.2: never for a
 * network). Redirects from other routers are ignored.
 */
#include "apps/router/redirect.h"
#include "dataplane/ingress.h"
#include "net/icmp4.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/nd_wire.h"

/* Our address on a subnet that contains both addresses; 0: none. */
static uint32_t address_beside(const struct dp_interface *ifp, uint32_t one, uint32_t other)
{
	for (unsigned a = 0; a < ifp->addresses; a++)
		if (ip4_in_prefix(one, ifp->addr[a], ifp->plen[a]) &&
		    ip4_in_prefix(other, ifp->addr[a], ifp->plen[a]))
			return ifp->addr[a];
	return 0;
}

static void redirect4(struct pkt *p, uint32_t nh)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	const uint32_t src = ip4_src(ip), gateway = (uint32_t)router.dp->adj[nh].gateway;
	const uint32_t back = dp_next_hop4(router.dp, src);
	const struct icmp4_error redirect = {
		.src = address_beside(&router.dp->interface[p->interface], src, gateway),
		.type = ICMP4_REDIRECT,
		.code = ICMP4_REDIRECT_HOST,
		.rest = gateway,
	};
	struct pkt e;
	if (!gateway || !redirect.src || gateway == src || dp_interface_of(router.dp, back) != p->interface ||
	    !icmp4_error_allowed(ip, p->len - ETH_HLEN) || !router_message(&e, LIMIT_REDIRECTS))
		return;
	ingress_complete(p, ETH_HLEN + ip4_header_len(ip));
	unsigned n = icmp4_error_build(e.data + ETH_HLEN, buf_room(&self.pool) - ETH_HLEN, ip,
	                               p->len - ETH_HLEN, &redirect);
	count(CNT_icmp_tx_redirect);
	router_send_own(&e, n, p, back);
}

/* Is addr, in network order, on the link that the packet came by? */
static bool is_beside(const struct pkt *p, const uint8_t *addr)
{
	return fib6_lookup(router.dp->fib6, addr) == NH_CONNECTED + (uint32_t)p->interface;
}

/* The target of a redirect; false: its address is not known. */
static bool target6(const struct pkt *p, uint32_t nh, struct net_addr *target)
{
	const uint64_t gateway = router.dp->adj[nh].gateway;
	const uint8_t *dst = p->data + ETH_HLEN + offsetof(struct ip6_header, dst);
	if (is_beside(p, dst)) {
		*target = net_addr_load(dst);
		return true;
	}
	*target = ip6_link_local(gateway);
	return gateway;
}

static void redirect6(struct pkt *p, uint32_t nh)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	const struct dp_interface6 *ifp = &router.dp->interface6[p->interface];
	const uint8_t *from = ip + offsetof(struct ip6_header, src);
	const struct net_addr src = net_addr_load(from);
	struct nd_redirect redirect = {.src = ifp->addr[0], .mac = router.dp->adj[nh].header};
	struct pkt e;
	if (!is_beside(p, from) || !target6(p, nh, &redirect.target) ||
	    net_addr_equal(&redirect.target, &src) ||
	    __atomic_load_n(&ifp->count, __ATOMIC_ACQUIRE) == 0 || !router_message(&e, LIMIT_REDIRECTS))
		return;
	ingress_complete(p, ETH_HLEN + IP6_HLEN);
	unsigned n = nd_redirect_build(e.data + ETH_HLEN, buf_room(&self.pool) - ETH_HLEN, ip,
	                               p->len - ETH_HLEN, &redirect);
	count(CNT_nd_tx_redirect);
	router_send_own(&e, n, p, dp_on_link6(router.dp, p->interface, from));
}

void router_redirect(struct pkt *p, uint32_t nh, bool six)
{
	if (eth_equal(p->data + ETH_ALEN, router.dp->adj[nh].header))
		return; /* back to the station that it came from */
	if (six)
		redirect6(p, nh);
	else
		redirect4(p, nh);
}

void router_redirect_all(struct pkt *v, const uint32_t *nh, unsigned m, unsigned interface,
                         bool six)
{
	for (unsigned i = 0; i < m; i++) {
		const struct adj *a = &router.dp->adj[nh[i]];
		const uint8_t *ip = v[i].data + ETH_HLEN;
		unsigned total = six ? ip6_total_len(ip) : ip4_total_len(ip);
		/* if the neighbour is not known yet, the slow path does this (egress.c) */
		if (a->interface == interface && router_sendable(&v[i], a, total))
			router_redirect(&v[i], nh[i], six);
	}
}
