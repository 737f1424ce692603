/*
 * IPv6 of a host (host.h): the configured address and the link-local one derived from the MAC address
 * (RFC 4291 2.5.6), duplicate address detection, neighbour discovery and MLD, input, ICMPv6. Without a
 * configured address IPv6 is off.
 */
#include "examples/inside.h"
#include "lib/fmt.h"
#include "net/icmp6.h"

static bool is_on(const struct host *h)
{
	return !net_addr_is_any(&h->address[OPTION_IP6].addr);
}

/* --- addresses and neighbours --- */

static void address_up(void *ctx, unsigned port, const struct net_addr *addr)
{
	struct host_neighbours *n = ctx;
	(void)port, (void)addr;
	n->host->tentative--;
}

static void address_down(void *ctx, unsigned port, const struct net_addr *addr)
{
	(void)ctx, (void)port, (void)addr; /* called only when a link comes up, which a tap does not report */
}

/* RFC 4862 5.4.5: the address must not be used. The host has no other, so it ends. */
static void address_duplicate(void *ctx, unsigned port, const struct net_addr *addr,
                              const uint8_t *mac)
{
	char text[FMT_IP6_MAX], by[FMT_MAC_MAX], why[FMT_IP6_MAX + FMT_MAC_MAX + 32];
	(void)ctx, (void)port;
	snprintf(why, sizeof why, "%s is in use by %s", fmt_ip6(text, addr->w),
	         mac ? fmt_mac(by, mac) : "another station");
	host_fail(why);
}

static const struct nd_ops nd_ops = {
	.tx = host_op_tx, .up = host_op_up, .down = host_op_down, .release = host_op_release,
	.unreachable = host_op_lost, .lost = host_op_lost, .count = host_op_count,
	.removed = host_op_removed, .address_up = address_up, .address_down = address_down,
	.address_duplicate = address_duplicate,
};

static void add_address(struct host *h, const struct net_addr *addr, unsigned plen)
{
	if (nd_add_local(&h->nd, 0, addr, plen, h->mac, host_now_ns(h)) != E_OK)
		host_fail("neighbour discovery does not take the address");
	h->tentative++;
}

static void start(struct host *h, const struct siphash_key *key)
{
	const struct option_prefix *own = &h->address[OPTION_IP6];
	const struct net_addr link_local = ip6_link_local_of(h->mac);
	struct nd_params params = ND_PARAMS_DEFAULT;
	params.neighbours = HOST_NEIGHBOURS;
	params.frame_max = ETH_HLEN + h->mtu;
	params.key = *key;
	params.dad_transmits = h->dad_transmits;
	if (params.dad_transmits == 0)
		params.start_delay_ns = 0;
	size_t bytes = nd_memory_bytes(&params);
	if (nd_init(&h->nd, &params, host_memory(bytes), bytes, &nd_ops, &h->neigh[OPTION_IP6]) !=
	    E_OK)
		host_fail("neighbour discovery does not start");
	if (!is_on(h))
		return;
	if (h->mtu < IP6_MTU_MIN)
		host_fail("IPv6 wants an MTU of 1280 or more");
	add_address(h, &link_local, 64);
	if (!net_addr_equal(&own->addr, &link_local))
		add_address(h, &own->addr, own->plen);
}

static int next_hop(struct host *h, const uint8_t *ip)
{
	const struct option_prefix *own = &h->address[OPTION_IP6];
	struct net_addr to = ip6_dst(ip);
	if (!is_on(h))
		return E_NOENT;
	bool on_link = ip6_is_link_local(&to) || ip6_in_prefix(&to, &own->addr, own->plen);
	if (!on_link)
		to = h->gateway[OPTION_IP6];
	if (net_addr_is_any(&to))
		return E_NOENT;
	/* the gateway is asked for without limit */
	if (on_link && nd_neigh_find(&h->nd, 0, &to) < 0 && !nd_may_ask(&h->nd, host_now_ns(h)))
		return E_NOMEM;
	return nd_neigh_get(&h->nd, 0, &to);
}

static void output(struct host *h, unsigned index, uint8_t *frame, unsigned len)
{
	nd_output(&h->nd, index, frame, len, host_now_ns(h));
}

static void used(struct host *h, unsigned index)
{
	nd_used(&h->nd, index);
}

static uint64_t tick(struct host *h)
{
	nd_tick(&h->nd, host_now_ns(h));
	return nd_deadline(&h->nd);
}

/* --- ICMPv6 --- */

static void send_error(struct host *h, const struct pkt *p, uint8_t type, uint8_t code,
                       uint32_t rest)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	const struct net_addr to = ip6_src(ip);
	struct icmp6_error e = {.type = type, .code = code, .rest = rest};
	struct pkt answer;
	/* RFC 4443 2.4 (e.4), (e.5): no error about a link-layer multicast or broadcast, with exceptions. */
	bool option = type == ICMP6_PARAM_PROBLEM && code == ICMP6_PARAM_OPTION;
	bool allowed = icmp6_error_allowed(ip, p->len - ETH_HLEN, type, code) &&
	               (option || !eth_is_multicast(p->data)) && host_source(h, &to, &e.src);
	if (!host_may_complain(h, allowed) || !pkt_alloc(&h->pool, &answer))
		return;
	unsigned n = icmp6_error_build(answer.data + ETH_HLEN, IP6_MTU_MIN, ip, p->len - ETH_HLEN,
	                               &e);
	answer.len = (uint16_t)(ETH_HLEN + n);
	answer.flags = PKT_OWN;
	host_count(h, icmp6_error_counter(type, code));
	host_tx(h, &answer);
}

static void refuse_port(struct host *h, struct pkt *p)
{
	send_error(h, p, ICMP6_UNREACH, ICMP6_UNREACH_PORT, 0);
	host_drop(h, p, CNT_drop_udp_port);
}

/* RFC 4443 4.2: the answer to a request sent to a group has a unicast address of ours as source. */
static void echo_reply(struct host *h, struct pkt *p, unsigned at)
{
	uint8_t *ip = p->data + ETH_HLEN;
	const struct net_addr from = ip6_src(ip);
	struct net_addr own = ip6_dst(ip);
	host_count(h, CNT_delivered_icmp6);
	if (ip6_is_multicast(&own) && !host_source(h, &from, &own)) {
		pkt_free(&h->pool, p);
		return;
	}
	host_count(h, CNT_icmp6_tx_echo_reply);
	host_reply(h, p, icmp6_echo_reply_make(ip, at, &own));
}

static void icmp_in(struct host *h, struct pkt *p, const struct ip6_upper *up)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	const struct net_addr from = ip6_src(ip);
	struct icmp6_msg m;
	enum counter fate = icmp6_input(ip, up->at, &m);
	if (fate == CNT_NONE) {
		bool router = m.type == ICMP6_ROUTER_SOLICIT || m.type == ICMP6_ROUTER_ADVERT;
		fate = router ? CNT_drop_nd_router
		              : nd_input(&h->nd, 0, p->data, up, &m, host_now_ns(h));
	} else if (fate == CNT_delivered_icmp6 && nd_is_local(&h->nd, 0, &from)) {
		fate = CNT_drop_ip6_src_local;
	} else if (fate == CNT_delivered_icmp6 && m.kind == ICMP6_KIND_ECHO_REQUEST) {
		echo_reply(h, p, up->at);
		return;
	} else if (fate == CNT_delivered_icmp6 && m.kind == ICMP6_KIND_ERROR) {
		tcp_icmp6(h->tcp, &m, h->now_us);
	}
	host_drop(h, p, fate);
}

/* --- input --- */

/* Checks that the packet is valid and addressed to us or to a group we have joined; returns the drop
 * reason or CNT_NONE. */
static enum counter check(const struct host *h, const struct pkt *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	if (!is_on(h))
		return CNT_drop_port_down;
	enum counter bad = ip6_check(ip, p->len - ETH_HLEN);
	if (bad != CNT_NONE)
		return bad;
	const struct net_addr to = ip6_dst(ip);
	if (ip6_is_multicast(&to))
		return nd_is_group_ours(&h->nd, 0, &to) ? CNT_NONE : CNT_drop_ip6_multicast;
	return nd_is_local(&h->nd, 0, &to) ? CNT_NONE : CNT_drop_ip6_not_ours;
}

/* TCP and UDP accept packets only from another host and to a unicast address (RFC 4291 2.5.2, 2.7;
 * RFC 9293 3.9.2.3). */
static enum counter check_ends(const struct host *h, const struct pkt *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	const struct net_addr from = ip6_src(ip), to = ip6_dst(ip);
	if (net_addr_is_any(&from))
		return CNT_drop_ip6_src_martian;
	if (nd_is_local(&h->nd, 0, &from))
		return CNT_drop_ip6_src_local;
	if (ip6_is_multicast(&to))
		return CNT_drop_ip6_multicast;
	return eth_is_multicast(p->data) ? CNT_drop_ip6_link_mcast : CNT_NONE;
}

/* Walks the extension headers to the upper layer; returns the drop reason or CNT_NONE. */
static enum counter find_upper(struct host *h, const struct pkt *p, struct ip6_upper *up)
{
	enum counter bad = ip6_upper(p->data + ETH_HLEN, up);
	if (bad != CNT_NONE && up->problem)
		send_error(h, p, ICMP6_PARAM_PROBLEM, up->problem_code, up->problem_pointer);
	if (bad != CNT_NONE)
		return bad;
	if (up->fragment)
		return CNT_drop_fragment_local;
	bool one_host = up->proto == IP6_TCP || up->proto == IP6_UDP;
	return one_host ? check_ends(h, p) : CNT_NONE;
}

static bool input(struct host *h, struct pkt *p)
{
	struct ip6_upper up;
	enum counter bad = check(h, p);
	if (bad == CNT_NONE)
		bad = find_upper(h, p, &up);
	if (bad != CNT_NONE) {
		host_drop(h, p, bad);
		return true;
	}
	switch (up.proto) {
	case IP6_TCP:
		return false;
	case IP6_UDP:
		if (up.at != IP6_HLEN) /* an answer built in place would not match csum_start */
			pkt_csum_complete(&h->pool, p);
		host_udp(h, p);
		return true;
	case IP6_ICMP6:
		icmp_in(h, p, &up);
		return true;
	default:
		send_error(h, p, ICMP6_PARAM_PROBLEM, ICMP6_PARAM_NEXT_HEADER, up.next_at);
		host_drop(h, p, CNT_drop_ip6_proto);
		return true;
	}
}

const struct host_ip host_ip6 = {
	.eth_type = ETH_TYPE_IP6, .start = start, .input = input, .next_hop = next_hop,
	.output = output, .used = used, .refuse_port = refuse_port, .tick = tick,
};
