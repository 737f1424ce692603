/* See ip6.h. */
#include "net/ip6.h"

#include "lib/mem.h"
#include "net/icmp6.h"

/* Option types (RFC 8200 4.2). The high bits say what a node does that does not know the option. */
enum ip6_option {
	OPT_PAD1 = 0,
	OPT_PADN = 1,
	OPT_ROUTER_ALERT = 5,
};
enum ip6_option_action {
	ACTION_SKIP = 0,
	ACTION_DISCARD = 1,
	ACTION_PROBLEM = 2,
	ACTION_PROBLEM_UNICAST = 3, /* no answer about a packet to a group */
};

enum counter ip6_check_slow(const uint8_t *ip, unsigned avail)
{
	if (avail < IP6_HLEN)
		return CNT_drop_ip6_short;
	if (ip6_version(ip) != 6)
		return CNT_drop_ip6_version;
	unsigned payload = ip6_payload_len(ip);
	/* RFC 2675 2: only a jumbogram has options with a payload length of 0 */
	if (payload > avail - IP6_HLEN || (payload == 0 && ip6_next(ip) == IP6_HOP_BY_HOP))
		return CNT_drop_ip6_payload_len;
	struct net_addr src = ip6_src(ip), dst = ip6_dst(ip);
	if (ip6_is_multicast(&src) || ip6_is_loopback(&src) || net_addr_is_ip4(&src))
		return CNT_drop_ip6_src_martian;
	if (net_addr_is_any(&dst) || ip6_is_loopback(&dst) || net_addr_is_ip4(&dst))
		return CNT_drop_ip6_dst_martian;
	/* RFC 4291 2.7: scope 0 is reserved; packets of interface scope never leave the
	 * interface */
	if (ip6_is_multicast(&dst) && ip6_multicast_scope(&dst) <= IP6_SCOPE_INTERFACE)
		return CNT_drop_ip6_dst_martian;
	return CNT_NONE;
}

enum counter ip6_check_forward_slow(const uint8_t *ip)
{
	struct net_addr src = ip6_src(ip), dst = ip6_dst(ip);
	if (net_addr_is_any(&src))
		return CNT_drop_ip6_src_martian;
	if (ip6_is_multicast(&dst))
		return CNT_drop_ip6_multicast;
	if (ip6_is_link_local(&src) || ip6_is_link_local(&dst))
		return CNT_drop_ip6_scope;
	return CNT_NONE;
}

static enum counter refuse(struct ip6_upper *u, enum counter reason, uint8_t code, unsigned pointer)
{
	u->problem = true;
	u->problem_code = code;
	u->problem_pointer = pointer;
	return reason;
}

/* The packet ends within a header; the octet at pointer shows it. In a first fragment the header
 * chain is incomplete, which is reported with pointer 0 (RFC 7112 5). */
static enum counter cut_off(struct ip6_upper *u, unsigned pointer)
{
	if (u->fragment)
		return refuse(u, CNT_drop_ip6_first_fragment, ICMP6_PARAM_FIRST_FRAGMENT, 0);
	return refuse(u, CNT_drop_ip6_ext_malformed, ICMP6_PARAM_FIELD, pointer);
}

/* Handles one option other than padding; i: octet of its type. */
static enum counter take_option(const uint8_t *ip, unsigned i, struct ip6_upper *u)
{
	uint8_t type = ip[i];
	/* RFC 2711 2.1: only in hop-by-hop options, with a length of 2 */
	if (type == OPT_ROUTER_ALERT && u->proto == IP6_HOP_BY_HOP && ip[i + 1] == 2) {
		u->router_alert = true;
		u->alert = be16_load(ip + i + 2);
		return CNT_NONE;
	}
	enum ip6_option_action action = type >> 6;
	if (action == ACTION_SKIP)
		return CNT_NONE;
	if (action == ACTION_PROBLEM || (action == ACTION_PROBLEM_UNICAST && ip[24] != 0xff))
		return refuse(u, CNT_drop_ip6_option, ICMP6_PARAM_OPTION, i);
	return CNT_drop_ip6_option;
}

/* Walks the options between the octets i and end. */
static enum counter walk_options(const uint8_t *ip, unsigned i, unsigned end, struct ip6_upper *u)
{
	unsigned options = 0, padding = 0;
	while (i < end) {
		unsigned len = 1;
		if (ip[i] != OPT_PAD1) {
			if (end - i < 2)
				return refuse(u, CNT_drop_ip6_ext_malformed, ICMP6_PARAM_FIELD, i);
			len = 2u + ip[i + 1];
			if (len > end - i)
				return refuse(u, CNT_drop_ip6_ext_malformed, ICMP6_PARAM_FIELD, i + 1);
		}
		if (ip[i] == OPT_PAD1 || ip[i] == OPT_PADN) {
			padding += len;
		} else {
			padding = 0;
			options++;
			enum counter fate = take_option(ip, i, u);
			if (fate != CNT_NONE)
				return fate;
		}
		if (options > IP6_OPTIONS_MAX || padding > IP6_PADDING_MAX)
			return CNT_drop_ip6_ext_limit;
		i += len;
	}
	return CNT_NONE;
}

/* RFC 8200 4.5: reads the fragment header at octet u->at and steps over it. */
static enum counter walk_fragment(const uint8_t *ip, unsigned end, struct ip6_upper *u)
{
	if (u->fragment)
		return CNT_drop_ip6_ext_limit;
	if (end - u->at < IP6_FRAGMENT_HLEN)
		return cut_off(u, u->next_at);
	uint16_t word = be16_load(ip + u->at + 2);
	u->fragment = true;
	u->fragment_at = u->at;
	u->fragment_next_at = u->next_at;
	u->offset = word & 0xfff8;
	u->more = word & 1;
	u->atomic = word <= 7 && !u->more;
	u->id = be32_load(ip + u->at + 4);
	u->next_at = u->at;
	u->proto = ip[u->at];
	u->at += IP6_FRAGMENT_HLEN;
	return CNT_NONE;
}

/* Hop-by-hop, routing and destination options headers share one format (RFC 8200 4.3, 4.4, 4.6):
 * next header, length in units of 8 bytes not counting the first 8, content. Checks one and steps
 * over it. */
static enum counter walk_header(const uint8_t *ip, unsigned end, struct ip6_upper *u)
{
	unsigned at = u->at;
	if (u->proto == IP6_HOP_BY_HOP && at != IP6_HLEN)
		return refuse(u, CNT_drop_ip6_proto, ICMP6_PARAM_NEXT_HEADER, u->next_at);
	if (end - at < 8)
		return cut_off(u, u->next_at);
	unsigned len = (ip[at + 1] + 1u) * 8;
	if (at + len - IP6_HLEN > IP6_EXT_BYTES_MAX)
		return CNT_drop_ip6_ext_limit;
	if (len > end - at)
		return cut_off(u, at + 1);
	if (u->proto == IP6_ROUTING) {
		/* RFC 8200 4.4: an unknown type is ignored if no segments are left. Otherwise the
		 * packet is refused, with the pointer at the type. */
		if (ip[at + 3] != 0)
			return refuse(u, CNT_drop_ip6_routing, ICMP6_PARAM_FIELD, at + 2);
	} else {
		enum counter fate = walk_options(ip, at + 2, at + len, u);
		if (fate != CNT_NONE)
			return fate;
	}
	u->next_at = at;
	u->proto = ip[at];
	u->at = at + len;
	return CNT_NONE;
}

static bool is_walked(uint8_t proto)
{
	return proto == IP6_HOP_BY_HOP || proto == IP6_ROUTING || proto == IP6_FRAGMENT ||
	       proto == IP6_DEST_OPTIONS;
}

/* RFC 7112 3: the header chain ends with the upper-layer header; for ICMPv6 with its first 32
 * bits. */
static bool upper_header_is_whole(const uint8_t *ip, unsigned end, const struct ip6_upper *u)
{
	unsigned n = end - u->at;
	switch (u->proto) {
	case IP6_TCP:
		return n >= 20 && n >= (ip[u->at + 12] >> 4) * 4u;
	case IP6_UDP:
	case IP6_ESP:
		return n >= 8;
	case IP6_ICMP6:
		return n >= 4;
	default:
		return true;
	}
}

enum counter ip6_upper(const uint8_t *ip, struct ip6_upper *out)
{
	unsigned end = ip6_total_len(ip);
	*out = (struct ip6_upper){.proto = ip6_next(ip), .at = IP6_HLEN, .next_at = 6};
	for (unsigned n = 0; is_walked(out->proto); n++) {
		if (n == IP6_EXT_MAX)
			return CNT_drop_ip6_ext_limit;
		enum counter fate = out->proto == IP6_FRAGMENT ? walk_fragment(ip, end, out)
		                                               : walk_header(ip, end, out);
		if (fate != CNT_NONE)
			return fate;
		if (out->offset != 0)
			return CNT_NONE;
	}
	if (out->fragment && !upper_header_is_whole(ip, end, out))
		return cut_off(out, 0);
	/* RFC 8200 4.7: data after "no next header" is ignored */
	return out->proto == IP6_NO_NEXT ? CNT_drop_ip6_proto : CNT_NONE;
}

void ip6_find_upper(const uint8_t *ip, unsigned len, struct ip6_found *out)
{
	unsigned at = IP6_HLEN;
	*out = (struct ip6_found){.proto = len >= IP6_HLEN ? ip6_next(ip) : IP6_FRAGMENT};
	for (unsigned n = 0; at <= len; n++) {
		if (!is_walked(out->proto) && out->proto != IP6_AH) {
			out->at = at;
			return;
		}
		if (n == IP6_EXT_MAX || len - at < 8)
			return;
		const uint8_t *ext = ip + at;
		if (out->proto == IP6_FRAGMENT) {
			out->offset = be16_load(ext + 2) & 0xfff8;
			if (out->offset) {
				out->proto = ext[0];
				return;
			}
			at += IP6_FRAGMENT_HLEN;
		} else if (out->proto == IP6_AH) {
			at += (ext[1] + 2u) * 4; /* RFC 4302 2.2 */
		} else {
			at += (ext[1] + 1u) * 8;
		}
		if (at <= len)
			out->proto = ext[0];
	}
}

void ip6_router_alert_build(uint8_t *ext, uint8_t next, uint16_t alert)
{
	ext[0] = next;
	ext[1] = 0; /* 8 bytes */
	ext[2] = OPT_ROUTER_ALERT;
	ext[3] = 2;
	be16_store(ext + 4, alert);
	ext[6] = OPT_PADN;
	ext[7] = 0;
}

void ip6_header_build(uint8_t *ip, const struct ip6_build *b)
{
	be32_store(ip, 6u << 28 | (uint32_t)b->traffic_class << 20);
	be16_store(ip + 4, b->payload_len);
	ip[6] = b->next;
	ip[7] = b->hop_limit;
	net_addr_store(ip + 8, &b->src);
	net_addr_store(ip + 24, &b->dst);
}

int ip6_frag_init(struct ip6_frag *it, const uint8_t *ip, unsigned mtu, uint32_t id)
{
	unsigned end = ip6_total_len(ip);
	*it = (struct ip6_frag){
		.ip = ip, .head_len = IP6_HLEN, .next_at = 6, .mtu = mtu, .id = id, .ended = true};
	if (end > mtu) {
		if (ip6_next(ip) == IP6_HOP_BY_HOP) {
			if (end < IP6_HLEN + 8 || (ip[IP6_HLEN + 1] + 1u) * 8 > end - IP6_HLEN)
				return E_INVAL;
			it->next_at = IP6_HLEN;
			it->head_len += (ip[IP6_HLEN + 1] + 1u) * 8;
		}
		uint8_t next = ip[it->next_at];
		if (next == IP6_ROUTING || next == IP6_FRAGMENT ||
		    mtu < it->head_len + IP6_FRAGMENT_HLEN + 8)
			return E_INVAL;
	}
	it->data_len = end - it->head_len;
	it->ended = false;
	return E_OK;
}

unsigned ip6_frag_next(struct ip6_frag *it, uint8_t *out, unsigned room)
{
	if (it->ended)
		return 0;
	unsigned head = it->head_len, whole = head + it->data_len;
	if (whole <= it->mtu) {
		if (whole > room)
			return 0;
		memcpy(out, it->ip, whole);
		it->ended = true;
		return whole;
	}
	unsigned rest = it->data_len - it->done;
	unsigned n = it->mtu - head - IP6_FRAGMENT_HLEN;
	n = n >= rest ? rest : n & ~7u;
	if (head + IP6_FRAGMENT_HLEN + n > room)
		return 0;
	memcpy(out, it->ip, head);
	uint8_t *fragment = out + head;
	bool last = n == rest;
	fragment[0] = out[it->next_at];
	fragment[1] = 0;
	/* the offset counts 8 bytes from bit 3 on, so the byte count needs no shift */
	be16_store(fragment + 2, (uint16_t)(it->done | !last));
	be32_store(fragment + 4, it->id);
	memcpy(fragment + IP6_FRAGMENT_HLEN, it->ip + head + it->done, n);
	out[it->next_at] = IP6_FRAGMENT;
	be16_store(out + 4, (uint16_t)(head - IP6_HLEN + IP6_FRAGMENT_HLEN + n));
	it->done += n;
	it->ended = last;
	return head + IP6_FRAGMENT_HLEN + n;
}
