/* See match.h. */
#include "net/match.h"

#include "lib/mem.h"
#include "net/eth.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define TAGS_MAX 2
#define ARP_LEN 28

/* UDP (RFC 768) and SCTP (RFC 9260 3.1) have the ports at the same place as TCP. */
static void read_ports(struct match_frame *f, const uint8_t *l4, unsigned len)
{
	if (len < 4 || (f->proto != IP4_PROTO_TCP && f->proto != IP4_PROTO_UDP &&
	                f->proto != IP4_PROTO_SCTP))
		return;
	f->has_port = true;
	f->src_port = be16_load(l4);
	f->dst_port = be16_load(l4 + 2);
}

static void read_ip4(struct match_frame *f, const uint8_t *ip, unsigned len)
{
	if (len < IP4_HLEN || ip[0] >> 4 != 4)
		return;
	f->has_addr = true;
	f->src = net_addr_ip4(ip4_src(ip));
	f->dst = net_addr_ip4(ip4_dst(ip));
	f->proto = ip4_proto(ip);
	unsigned head = ip4_header_len(ip);
	if (head >= IP4_HLEN && head <= len && !(be16_load(ip + 6) & IP4_OFFSET_MASK))
		read_ports(f, ip + head, len - head);
}

static void read_ip6(struct match_frame *f, const uint8_t *ip, unsigned len)
{
	uint8_t proto;
	if (len < IP6_HLEN || ip6_version(ip) != 6)
		return;
	f->has_addr = true;
	f->src = ip6_src(ip);
	f->dst = ip6_dst(ip);
	unsigned at = ip6_skip_extensions(ip, len, &proto);
	f->proto = proto;
	if (at)
		read_ports(f, ip + at, len - at);
}

/* RFC 826, for IPv4: the sender and target addresses. */
static void read_arp(struct match_frame *f, const uint8_t *arp, unsigned len)
{
	if (len < ARP_LEN || be16_load(arp + 2) != ETH_TYPE_IP4)
		return;
	f->has_addr = true;
	f->src = net_addr_ip4(be32_load(arp + 14));
	f->dst = net_addr_ip4(be32_load(arp + 24));
}

void match_read(struct match_frame *f, const uint8_t *frame, unsigned len)
{
	unsigned at = ETH_HLEN - 2;
	memset(f, 0, sizeof *f);
	f->vlan = f->proto = MATCH_ANY;
	for (unsigned tags = 0; at + 2 <= len; tags++, at += ETH_TAG_LEN) {
		f->type = be16_load(frame + at);
		if ((f->type != ETH_TYPE_VLAN && f->type != ETH_TYPE_VLAN_SERVICE) || tags == TAGS_MAX ||
		    at + 2 + ETH_TAG_LEN > len)
			break;
		if (tags == 0) {
			f->vlan = be16_load(frame + at + 2) & ETH_VID_MASK;
			f->service = f->type == ETH_TYPE_VLAN_SERVICE;
		}
	}
	at += 2;
	if (at > len)
		return;
	if (f->type == ETH_TYPE_IP4)
		read_ip4(f, frame + at, len - at);
	else if (f->type == ETH_TYPE_IP6)
		read_ip6(f, frame + at, len - at);
	else if (f->type == ETH_TYPE_ARP)
		read_arp(f, frame + at, len - at);
}

static bool in_net(const struct match_term *t, const struct net_addr *a)
{
	/* IPv4 addresses lie within ::/0 here, but ::/0 must not match them */
	return net_addr_is_ip4(a) == net_addr_is_ip4(&t->addr) && ip6_in_prefix(a, &t->addr, t->plen);
}

static bool term_is(const struct match_term *t, const struct match_frame *f)
{
	bool src = false, dst = false;
	switch ((enum match_kind)t->kind) {
	case MATCH_TYPE:
		return f->type == t->number;
	case MATCH_VLAN:
		return f->vlan != MATCH_ANY && (t->number == MATCH_ANY || f->vlan == t->number);
	case MATCH_PROTO:
		return f->proto == t->number;
	case MATCH_NET:
		src = f->has_addr && in_net(t, &f->src);
		dst = f->has_addr && in_net(t, &f->dst);
		break;
	case MATCH_PORT:
		src = f->has_port && f->src_port == t->number;
		dst = f->has_port && f->dst_port == t->number;
		break;
	}
	return (src && t->direction != MATCH_DST) || (dst && t->direction != MATCH_SRC);
}

typedef bool (*term_of)(const struct match_term *t, const void *frame);

/* All terms of m. is_true is a constant to the compiler. */
static inline __attribute__((always_inline)) bool combined(const struct match *m, term_of is_true,
                                                           const void *frame)
{
	bool is = true;
	for (unsigned i = 0; i < m->terms; i++) {
		const struct match_term *t = &m->term[i];
		if (is == t->or && i > 0) /* true or ..., false and ...: already decided */
			continue;
		is = is_true(t, frame) != t->not;
	}
	return is;
}

static bool term_is_true(const struct match_term *t, const void *frame)
{
	return term_is(t, frame);
}

bool match_is(const struct match *m, const struct match_frame *f)
{
	return (!m->vlan || (f->vlan == m->vlan && !f->service)) && combined(m, term_is_true, f);
}

bool match_is_flow(const struct match_flow *flow, const struct match_frame *f)
{
	bool there = f->src_port == flow->a_port && f->dst_port == flow->b_port &&
	             net_addr_equal(&f->src, &flow->a) && net_addr_equal(&f->dst, &flow->b);
	bool back = f->src_port == flow->b_port && f->dst_port == flow->a_port &&
	            net_addr_equal(&f->src, &flow->b) && net_addr_equal(&f->dst, &flow->a);
	return f->has_port && f->proto == IP4_PROTO_TCP && (there || back);
}

/* --- frames of one shape, whose fields lie at known places --- */

/* Untagged IPv4 without options, with room for ports. */
static bool is_plain(const uint8_t *frame, unsigned len)
{
	return len >= ETH_HLEN + IP4_HLEN + 4 && be16_load(frame + ETH_HLEN - 2) == ETH_TYPE_IP4 &&
	       frame[ETH_HLEN] == 0x45;
}

static bool plain_has_port(const uint8_t *ip)
{
	const uint8_t proto = ip4_proto(ip);
	return (proto == IP4_PROTO_TCP || proto == IP4_PROTO_UDP || proto == IP4_PROTO_SCTP) &&
	       (be16_load(ip + 6) & IP4_OFFSET_MASK) == 0;
}

/* plen counts the 96 bits before an IPv4 address too. */
static bool plain_in_net(const struct match_term *t, uint32_t addr)
{
	const uint32_t mask = t->plen <= 96 ? 0 : UINT32_MAX << (128 - t->plen);
	return net_addr_is_ip4(&t->addr) && ((addr ^ net_addr_to_ip4(&t->addr)) & mask) == 0;
}

static bool plain_term_is_true(const struct match_term *t, const void *frame)
{
	const uint8_t *const ip = (const uint8_t *)frame + ETH_HLEN;
	bool src = false, dst = false;
	switch ((enum match_kind)t->kind) {
	case MATCH_TYPE:
		return t->number == ETH_TYPE_IP4;
	case MATCH_VLAN:
		return false;
	case MATCH_PROTO:
		return t->number == ip4_proto(ip);
	case MATCH_NET:
		src = plain_in_net(t, ip4_src(ip));
		dst = plain_in_net(t, ip4_dst(ip));
		break;
	case MATCH_PORT:
		if (!plain_has_port(ip))
			return false;
		src = be16_load(ip + IP4_HLEN) == t->number;
		dst = be16_load(ip + IP4_HLEN + 2) == t->number;
		break;
	}
	return (src && t->direction != MATCH_DST) || (dst && t->direction != MATCH_SRC);
}

/* True if the frame may be a segment of that connection: its addresses are not compared. */
static bool plain_may_be_flow(const struct match_flow *flow, const uint8_t *ip)
{
	const uint16_t src = be16_load(ip + IP4_HLEN), dst = be16_load(ip + IP4_HLEN + 2);
	return ip4_proto(ip) == IP4_PROTO_TCP && ((src == flow->a_port && dst == flow->b_port) ||
	                                          (src == flow->b_port && dst == flow->a_port));
}

bool match_wants(const struct match *m, const struct match_flow *except, const uint8_t *frame, unsigned len)
{
	struct match_frame f;
	if (is_plain(frame, len)) {
		if (m->vlan || !combined(m, plain_term_is_true, frame))
			return false;
		if (!plain_may_be_flow(except, frame + ETH_HLEN))
			return true;
	}
	match_read(&f, frame, len);
	return match_is(m, &f) && !match_is_flow(except, &f);
}
