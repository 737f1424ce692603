/*
 * ICMP errors of both families: what may be told of a packet, to whom, from which address, and how
 * often (RFC 1812 4.3.2, RFC 4443 2.4).
 */
#include "apps/router/error.h"
#include "apps/router/send.h"
#include "net/icmp4.h"
#include "net/icmp6.h"
#include "net/ip4.h"
#include "net/ip6.h"

void router_error4(struct pkt *p, uint8_t type, uint8_t code, uint32_t rest)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	uint32_t nh = view_way4(router.view, ip4_src(ip));
	int port = view_port_of(router.view, nh);
	struct pkt e;
	/* RFC 1122 3.2.2: a directed broadcast counts as one in a unicast frame too */
	bool broadcast = eth_is_multicast(p->data) ||
	                 fib4_lookup(router.view->fib, ip4_dst(ip)) == NH_BROADCAST;
	router_complete(p, ETH_HLEN + ip4_header_len(ip));
	if (port < 0 || broadcast || !icmp4_error_allowed(ip, p->len - ETH_HLEN)) {
		count(CNT_icmp_err_suppressed);
		return;
	}
	if (!router_error_permitted(type == ICMP4_UNREACH && code == ICMP4_UNREACH_FRAG)) {
		count(CNT_icmp_err_ratelimited);
		return;
	}
	if (!pkt_alloc(&self.pool, &e)) {
		count(CNT_originated_drop_no_buffer);
		return;
	}
	/* RFC 1812 4.3.2.4: from the address of the interface the error leaves by */
	const struct icmp4_error error = {.src = router.view->port[port].addr[0],
	                                  .type = type,
	                                  .code = code,
	                                  .rest = rest};
	unsigned n = icmp4_error_build(e.data + ETH_HLEN, buf_room(&self.pool) - ETH_HLEN, ip,
	                               p->len - ETH_HLEN, &error);
	count(icmp4_error_counter(type, code));
	router_send_own(&e, n, p, nh);
}

void router_deny4(struct pkt *p, enum counter reason, bool tell)
{
	if (tell)
		router_error4(p, ICMP4_UNREACH, ICMP4_UNREACH_PROHIBITED, 0);
	core_drop(p, reason);
}

/* Where an answer to src goes; a link-local source is on the link that its packet came by. */
static uint32_t way_back(const struct pkt *p, const struct net_addr *src)
{
	const uint8_t *addr = p->data + ETH_HLEN + offsetof(struct ip6_header, src);
	return ip6_is_link_local(src) ? view_on_link6(router.view, p->port, addr)
	                              : view_way6(router.view, addr);
}

void router_error6(struct pkt *p, uint8_t type, uint8_t code, uint32_t rest)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	const struct net_addr src = ip6_src(ip);
	uint32_t nh = way_back(p, &src);
	int port = view_port_of(router.view, nh);
	struct icmp6_error error = {.type = type, .code = code, .rest = rest};
	struct pkt e;
	router_complete(p, ETH_HLEN + IP6_HLEN);
	/* RFC 4443 2.4 (e.4), (e.5): a group or broadcast of the link layer. That a packet is too big may
	 * be told nevertheless, but what came so is never forwarded. */
	bool shared = eth_is_multicast(p->data);
	if (port < 0 || shared || !icmp6_error_allowed(ip, p->len - ETH_HLEN, type, code) ||
	    !view_source6(router.view, (unsigned)port, &src, &error.src)) {
		count(CNT_icmp_err_suppressed);
		return;
	}
	if (!router_error_permitted(type == ICMP6_TOO_BIG)) {
		count(CNT_icmp_err_ratelimited);
		return;
	}
	if (!pkt_alloc(&self.pool, &e)) {
		count(CNT_originated_drop_no_buffer);
		return;
	}
	unsigned n = icmp6_error_build(e.data + ETH_HLEN, buf_room(&self.pool) - ETH_HLEN, ip,
	                               p->len - ETH_HLEN, &error);
	count(icmp6_error_counter(type, code));
	router_send_own(&e, n, p, nh);
}

void router_deny6(struct pkt *p, enum counter reason, bool tell)
{
	if (tell)
		router_error6(p, ICMP6_UNREACH, ICMP6_UNREACH_PROHIBITED, 0);
	core_drop(p, reason);
}
