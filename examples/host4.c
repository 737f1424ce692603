/* IPv4 of a host (host.h): its address, ARP, input, ICMP. */
#include "examples/inside.h"
#include "net/icmp4.h"

/* --- neighbours --- */

static const struct arp_ops arp_ops = {
	.tx = host_op_tx, .up = host_op_up, .down = host_op_down, .release = host_op_release,
	.unreachable = host_op_lost, .lost = host_op_lost, .count = host_op_count,
	.removed = host_op_removed,
};

static uint32_t own_address(const struct host *h)
{
	return net_addr_to_ip4(&h->address[OPTION_IP4].addr);
}

static void start(struct host *h, const struct siphash_key *key)
{
	const struct option_prefix *own = &h->address[OPTION_IP4];
	struct arp_params params = ARP_PARAMS_DEFAULT;
	(void)key;
	params.neighbours = HOST_NEIGHBOURS;
	params.frame_max = ETH_HLEN + h->mtu;
	size_t bytes = arp_memory_bytes(&params);
	if (h->mtu < 68) /* RFC 791 3.2 */
		host_fail("the MTU is 68 or more");
	if (arp_init(&h->arp, &params, host_memory(bytes), bytes, &arp_ops, &h->neigh[OPTION_IP4]) !=
	    E_OK)
		host_fail("ARP does not start");
	if (!net_addr_is_any(&own->addr) &&
	    arp_add_local(&h->arp, 0, own_address(h), own->plen, h->mac) != E_OK)
		host_fail("ARP does not take the address");
}

static int next_hop(struct host *h, const uint8_t *ip)
{
	const struct option_prefix *own = &h->address[OPTION_IP4];
	uint32_t to = ip4_dst(ip);
	if (!ip4_in_prefix(to, own_address(h), own->plen)) {
		if (net_addr_is_any(&h->gateway[OPTION_IP4]))
			return E_NOENT;
		to = net_addr_to_ip4(&h->gateway[OPTION_IP4]);
	}
	return arp_neigh_get(&h->arp, 0, to);
}

static void output(struct host *h, unsigned index, uint8_t *frame, unsigned len)
{
	arp_output(&h->arp, index, frame, len, host_now_ns(h));
}

static void used(struct host *h, unsigned index)
{
	arp_used(&h->arp, index, host_now_ns(h));
}

static uint64_t tick(struct host *h)
{
	arp_tick(&h->arp, host_now_ns(h));
	return arp_deadline(&h->arp);
}

/* --- ICMP --- */

static void send_error(struct host *h, const struct pkt *p, uint8_t code)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	struct icmp4_error e = {.src = own_address(h), .type = ICMP4_UNREACH, .code = code};
	struct pkt answer;
	if (!host_may_complain(h, icmp4_error_allowed(ip, p->len - ETH_HLEN)) ||
	    !pkt_alloc(&h->pool, &answer))
		return;
	unsigned n = icmp4_error_build(answer.data + ETH_HLEN, ICMP4_ERROR_MAX, ip,
	                               p->len - ETH_HLEN, &e);
	answer.len = (uint16_t)(ETH_HLEN + n);
	answer.flags = PKT_OWN;
	host_count(h, icmp4_error_counter(e.type, e.code));
	host_tx(h, &answer);
}

static void refuse_port(struct host *h, struct pkt *p)
{
	send_error(h, p, ICMP4_UNREACH_PORT);
	host_drop(h, p, CNT_drop_udp_port);
}

static void icmp_in(struct host *h, struct pkt *p)
{
	uint8_t *ip = p->data + ETH_HLEN;
	struct icmp4_msg m;
	enum counter fate = icmp4_input(ip, p->len - ETH_HLEN, &m);
	if (fate == CNT_delivered_icmp && m.kind == ICMP4_KIND_ECHO_REQUEST) {
		host_count(h, fate);
		host_count(h, CNT_icmp_tx_echo_reply);
		icmp4_echo_reply_make(ip, p->len - ETH_HLEN);
		host_reply(h, p, ip);
		return;
	}
	if (fate == CNT_delivered_icmp && m.kind == ICMP4_KIND_ERROR)
		tcp_icmp4(h->tcp, &m, h->now_us);
	host_drop(h, p, fate);
}

/* --- input --- */

/* Checks an IP packet for a host with this address (RFC 1122 3.2.1, 3.3.6); returns the drop reason or
 * CNT_NONE. */
static enum counter check(const struct host *h, const struct pkt *p)
{
	const struct option_prefix *own = &h->address[OPTION_IP4];
	const uint8_t *ip = p->data + ETH_HLEN;
	if (net_addr_is_any(&own->addr))
		return CNT_drop_port_down;
	enum counter bad = ip4_check(ip, p->len - ETH_HLEN);
	if (bad != CNT_NONE)
		return bad;
	if (ip4_is_multicast(ip4_dst(ip)))
		return CNT_drop_ip4_multicast;
	if (eth_is_multicast(p->data))
		return CNT_drop_ip4_link_bcast;
	if (ip4_dst(ip) != own_address(h))
		return CNT_drop_ip4_not_ours;
	if (ip4_src(ip) == own_address(h))
		return CNT_drop_ip4_src_local;
	if (ip4_src(ip) == ip4_subnet_broadcast(own_address(h), own->plen))
		return CNT_drop_ip4_src_martian;
	return ip4_is_fragment(ip) ? CNT_drop_fragment_local : CNT_NONE;
}

static bool input(struct host *h, struct pkt *p)
{
	enum counter bad = check(h, p);
	if (bad != CNT_NONE) {
		host_drop(h, p, bad);
		return true;
	}
	switch (ip4_proto(p->data + ETH_HLEN)) {
	case IP4_PROTO_TCP:
		return false;
	case IP4_PROTO_UDP:
		host_udp(h, p);
		return true;
	case IP4_PROTO_ICMP:
		icmp_in(h, p);
		return true;
	default:
		send_error(h, p, ICMP4_UNREACH_PROTO);
		host_drop(h, p, CNT_drop_ip4_proto);
		return true;
	}
}

const struct host_ip host_ip4 = {
	.eth_type = ETH_TYPE_IP4, .start = start, .input = input, .next_hop = next_hop,
	.output = output, .used = used, .refuse_port = refuse_port, .tick = tick,
};
