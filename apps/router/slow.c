/*
 * The slow way through the router, for one packet at a time: everything the vector path is not
 * sure of, IPv4 here, IPv6 in slow6.c. Each packet that comes in here ends in one fate
 * (net/counters.h), is handed to the control core, or is sent.
 *
 * Order of the checks: RFC 1812 5.2.1 (link), 5.2.2 (header), 5.3.9 (filter of the port it came in
 * by), 5.3.8 (source), 4.3.3.5 (options), 5.2.3 (for us?), 5.3.1 (TTL), 5.3.9 (of that it leaves
 * by), 5.2.7 (ICMP errors). An error or a redirect answers only a packet that the filter of its port
 * and the check of its source have let pass. The one exception is the filter's own error (filter.c).
 */
#include "apps/router/error.h"
#include "apps/router/filter.h"
#include "apps/router/redirect.h"
#include "apps/router/send.h"
#include "apps/router/slow.h"
#include "apps/router/slow6.h"
#include "apps/router/verify.h"
#include "dataplane/ingress.h"
#include "dataplane/trace_note.h"
#include "dataplane/vlan.h"
#include "lib/mem.h"
#include "net/icmp4.h"
#include "net/ip4.h"

static void complete(struct pkt *p)
{
	router_complete(p, ETH_HLEN + ip4_header_len(p->data + ETH_HLEN));
}

/* Cuts a packet up for its link and sends the pieces (RFC 1812 4.2.2.7). */
static void fragment(struct pkt *p, const struct adj *a)
{
	struct ip4_frag it;
	struct pkt f;
	complete(p);
	if (ip4_frag_init(&it, p->data + ETH_HLEN, a->mtu) != E_OK) {
		core_drop(p, CNT_drop_ip4_total_len);
		return;
	}
	while (!it.ended && pkt_alloc(&self.pool, &f)) {
		unsigned n = ip4_frag_next(&it, f.data + ETH_HLEN, buf_room(&self.pool) - ETH_HLEN);
		assert(n > 0); /* no MTU is larger than a buffer */
		router_set_len(&f, n + ETH_HLEN);
		f.port = p->port;
		f.flags = PKT_OWN;
		count(CNT_fragments_created);
		router_send_by(&f, a);
	}
	count_n(CNT_fragmented, it.ended);
	core_drop(p, it.ended ? CNT_forwarded : CNT_drop_no_buffer);
}

static bool is_ours(uint32_t addr) { return fib4_lookup(router.view->fib, addr) == NH_LOCAL; }

static void fill_options(uint8_t *ip, const struct adj *a)
{
	const struct ip4_passage at = {.addr = router.view->port[a->interface].addr[0],
	                               .time_ms = (uint32_t)(core_now_us() / 1000),
	                               .is_ours = is_ours};
	ip4_options_fill(ip, &at);
}

/* a: that of nh, or one to all stations of its link. */
static void forward_by(struct pkt *p, const struct adj *a, uint32_t nh)
{
	uint8_t *ip = p->data + ETH_HLEN;
	unsigned total = ip4_total_len(ip);
	if (ip4_ttl(ip) <= 1) {
		router_error4(p, ICMP4_TIME_EXCEEDED, ICMP4_TIME_TTL, 0);
		core_drop(p, CNT_drop_ip4_ttl);
		return;
	}
	if (router_denied(p, &router.filters->port[a->interface].out[0], CNT_drop_acl_out))
		return;
	if (total > a->mtu && ip4_dont_fragment(ip)) {
		router_error4(p, ICMP4_UNREACH, ICMP4_UNREACH_FRAG, a->mtu);
		core_drop(p, CNT_drop_ip4_need_frag);
		return;
	}
	router_trim(p, total, ETH_HLEN + ip4_header_len(ip));
	/* Answered here: the control core has better to do when a flood meets a dead link. */
	if (!__atomic_load_n(&router.view->port[a->interface].link_up, __ATOMIC_RELAXED)) {
		router_error4(p, ICMP4_UNREACH, ICMP4_UNREACH_HOST, 0);
		core_drop(p, CNT_drop_tx_down);
		return;
	}
	if (a->interface == p->port) {
		count(CNT_redirect_needed);
		if (router_resolved(a))
			router_may_redirect(p, nh, false);
	}
	if (unlikely(ip4_header_len(ip) > IP4_HLEN))
		fill_options(ip, a);
	ip4_ttl_decrement(ip);
	if (!router_resolved(a)) {
		complete(p);
		core_punt(p, PUNT_RESOLVE, nh);
		return;
	}
	router.used->second[nh] = (uint32_t)(core_now_ns() >> 30);
	if (total > a->mtu) {
		fragment(p, a);
	} else {
		router_send_by(p, a);
		core_forwarded(1);
	}
}

static void forward(struct pkt *p, uint32_t nh)
{
	forward_by(p, &router.view->adj[nh], nh);
}

/* The interface of whose subnets one has that broadcast address, if it lets broadcasts out; -1: there
 * is none. Never the address of all zero bits, which only history takes for one. */
static int directed_port(uint32_t dst)
{
	const struct view *v = router.view;
	for (unsigned n = 0; n < v->ifs; n++) {
		const struct view_port *vp = &v->port[n];
		if (!__atomic_load_n(&v->policy[n].directed, __ATOMIC_RELAXED) || !vp->enabled)
			continue;
		for (unsigned a = 0; a < vp->addresses; a++)
			if (vp->plen[a] < 31 && dst == ip4_subnet_broadcast(vp->addr[a], vp->plen[a]))
				return (int)n;
	}
	return -1;
}

/*
 * To a broadcast address. RFC 2644, RFC 1812 5.3.5.2: one directed to a link of ours goes there if
 * its interface has been told so, and if it comes from another one: hosts of the link have heard it
 * already. Nothing here answers broadcasts.
 */
static COLD void broadcast(struct pkt *p)
{
	static const uint8_t everybody[ETH_ALEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	const int port = directed_port(ip4_dst(p->data + ETH_HLEN));
	if (port < 0 || port == p->port) {
		core_drop(p, CNT_drop_ip4_link_bcast);
		return;
	}
	const uint32_t nh = NH_CONNECTED + (uint32_t)port;
	struct adj a = router.view->adj[nh];
	vlan_adjacency(&a, &router.view->port[port], everybody, ETH_TYPE_IP4);
	a.state = ADJ_FORWARD;
	forward_by(p, &a, nh);
}

static void ip4_input(struct pkt *p, bool asked)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	enum counter bad = ip4_check(ip, p->len - ETH_HLEN);
	if (bad != CNT_NONE && bad != CNT_drop_ip4_options) {
		core_drop(p, bad);
		return;
	}
	/* RFC 1812 5.3.8, 5.3.9: filter and source come before every error. A denied sender learns
	 * nothing of its options, and a forged source gets no answer. */
	if (!asked && (router_denied(p, &router.filters->port[p->port].in[0], CNT_drop_acl_in) ||
	               router_is_forged(p, false)))
		return;
	if (bad != CNT_NONE) { /* RFC 1812 4.3.3.5 */
		router_error4(p, ICMP4_PARAM_PROBLEM, 0, ip4_options_error(ip) << 24);
		core_drop(p, bad);
		return;
	}
	uint32_t nh = view_flow4(router.view, ip);
	if (core_traces())
		trace_way(nh, ip4_total_len(ip));
	/* RFC 1812 5.3.4: what came as a link-layer broadcast is not forwarded */
	if (eth_is_multicast(p->data) && nh != NH_MULTICAST) {
		core_drop(p, CNT_drop_ip4_link_bcast);
		return;
	}
	switch (nh) {
	case NH_NONE:
		router_error4(p, ICMP4_UNREACH, ICMP4_UNREACH_NET, 0);
		core_drop(p, CNT_drop_ip4_no_route);
		break;
	case NH_NULL0:
		router_error4(p, ICMP4_UNREACH, ICMP4_UNREACH_HOST, 0);
		core_drop(p, CNT_drop_ip4_null0);
		break;
	case NH_BLACKHOLE:
		core_drop(p, CNT_drop_route_blackhole);
		break;
	case NH_UNREACHABLE:
		router_error4(p, ICMP4_UNREACH, ICMP4_UNREACH_HOST, 0);
		core_drop(p, CNT_drop_route_unreachable);
		break;
	case NH_PROHIBIT:
		router_deny4(p, CNT_drop_route_prohibit, true);
		break;
	case NH_LOCAL:
		complete(p);
		core_punt(p, door_kind4(p), nh);
		break;
	case NH_BROADCAST:
		broadcast(p);
		break;
	case NH_MULTICAST:
		core_drop(p, CNT_drop_ip4_multicast);
		break;
	default:
		forward(p, nh);
		break;
	}
}

void router_slow(struct pkt *p, bool asked)
{
	core_hand_set(p, 1);
	if (!vlan_untag(p, router.view, router.carried))
		return;
	switch (door_ip(p, &router.view->port[p->port])) {
	case DOOR_IP4:
		ip4_input(p, asked);
		break;
	case DOOR_IP6:
		router_ip6_input(p, asked);
		break;
	case DOOR_GONE:
		break;
	}
}
