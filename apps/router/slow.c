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
#include "apps/router/router.h"
#include "dataplane/ingress.h"
#include "dataplane/trace_note.h"
#include "dataplane/vlan.h"
#include "lib/mem.h"
#include "net/ip4.h"

/* Gives the packet its length, and Ethernet what it carries at least. */
static void set_len(struct pkt *p, unsigned len)
{
	p->len = (uint16_t)eth_pad(p->data, len);
}

static void send_by(struct pkt *p, const struct adj *a)
{
	vlan_header(p, a, router.carried);
	core_tx(a->port, p);
}

void router_send(struct pkt *p, uint32_t nh)
{
	router.used->second[nh] = (uint32_t)(core_now_ns() >> 30);
	send_by(p, &router.view->adj[nh]);
}

void router_send_own(struct pkt *e, unsigned ip_len, const struct pkt *about, uint32_t nh)
{
	set_len(e, ip_len + ETH_HLEN);
	e->port = about->port;
	e->flags = PKT_OWN;
	if (router_resolved(&router.view->adj[nh]))
		router_send(e, nh);
	else
		core_punt_own(e, PUNT_OWN, nh);
}

void router_complete(struct pkt *p, unsigned headers)
{
	const struct pkt_meta *m = pkt_meta(&self.pool, p->buf);
	if (p->flags & PKT_CSUM_PARTIAL && m->csum_start < headers)
		p->flags &= (uint8_t)~PKT_CSUM_PARTIAL;
	pkt_csum_complete(&self.pool, p);
}

void router_trim(struct pkt *p, unsigned total, unsigned headers)
{
	unsigned least = total + ETH_HLEN > ETH_FRAME_MIN ? total + ETH_HLEN : ETH_FRAME_MIN;
	if (p->len <= least)
		return;
	router_complete(p, headers); /* the checksum may cover what is cut off, or lie in it */
	p->len = (uint16_t)least;
}

static void complete(struct pkt *p)
{
	router_complete(p, ETH_HLEN + ip4_header_len(p->data + ETH_HLEN));
}

/* The limit, one of three alike, as the view has it now. */
static bool permitted(struct icmp_limit *limit)
{
	const uint32_t rate = __atomic_load_n(&router.view->icmp_rate, __ATOMIC_RELAXED);
	const uint32_t burst = __atomic_load_n(&router.view->icmp_burst, __ATOMIC_RELAXED);
	if (rate != router.icmp_rate || burst != router.icmp_burst) {
		icmp_limit_init(&router.limit, rate, burst);
		icmp_limit_init(&router.too_big, rate, burst);
		icmp_limit_init(&router.redirects, rate, burst);
		router.icmp_rate = rate;
		router.icmp_burst = burst;
	}
	return icmp_limit_take(limit, core_now_ns());
}

bool router_error_permitted(bool too_big)
{
	return permitted(too_big ? &router.too_big : &router.limit);
}

bool router_redirect_permitted(void) { return permitted(&router.redirects); }

/* Our own ICMP error about packet p, which has passed ip4_check or failed by its options alone. It
 * stays the caller's; its checksum is completed. rest: as in struct icmp4_error. */
static void send_error(struct pkt *p, uint8_t type, uint8_t code, uint32_t rest)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	uint32_t nh = view_way4(router.view, ip4_src(ip));
	int port = view_port_of(router.view, nh);
	struct pkt e;
	/* RFC 1122 3.2.2: a directed broadcast counts as one in a unicast frame too */
	bool broadcast = eth_is_multicast(p->data) ||
	                 fib4_lookup(router.view->fib, ip4_dst(ip)) == NH_BROADCAST;
	complete(p);
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
		send_error(p, ICMP4_UNREACH, ICMP4_UNREACH_PROHIBITED, 0);
	core_drop(p, reason);
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
		set_len(&f, n + ETH_HLEN);
		f.port = p->port;
		f.flags = PKT_OWN;
		count(CNT_fragments_created);
		send_by(&f, a);
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
		send_error(p, ICMP4_TIME_EXCEEDED, ICMP4_TIME_TTL, 0);
		core_drop(p, CNT_drop_ip4_ttl);
		return;
	}
	if (router_denied(p, &router.filters->port[a->interface].out[0], CNT_drop_acl_out))
		return;
	if (total > a->mtu && ip4_dont_fragment(ip)) {
		send_error(p, ICMP4_UNREACH, ICMP4_UNREACH_FRAG, a->mtu);
		core_drop(p, CNT_drop_ip4_need_frag);
		return;
	}
	router_trim(p, total, ETH_HLEN + ip4_header_len(ip));
	/* Answered here: the control core has better to do when a flood meets a dead link. */
	if (!__atomic_load_n(&router.view->port[a->interface].link_up, __ATOMIC_RELAXED)) {
		send_error(p, ICMP4_UNREACH, ICMP4_UNREACH_HOST, 0);
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
		send_by(p, a);
		router.forwarded++;
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
		send_error(p, ICMP4_PARAM_PROBLEM, 0, ip4_options_error(ip) << 24);
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
		send_error(p, ICMP4_UNREACH, ICMP4_UNREACH_NET, 0);
		core_drop(p, CNT_drop_ip4_no_route);
		break;
	case NH_NULL0:
		send_error(p, ICMP4_UNREACH, ICMP4_UNREACH_HOST, 0);
		core_drop(p, CNT_drop_ip4_null0);
		break;
	case NH_BLACKHOLE:
		core_drop(p, CNT_drop_route_blackhole);
		break;
	case NH_UNREACHABLE:
		send_error(p, ICMP4_UNREACH, ICMP4_UNREACH_HOST, 0);
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
