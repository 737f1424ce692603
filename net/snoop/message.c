/* See message.h. */
#include "net/snoop/message.h"

#include "lib/csum.h"
#include "lib/mem.h"
#include "net/icmp6.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define PROTO_IGMP 2
#define PROTO_PIM 103

enum igmp_type {
	IGMP_QUERY = 0x11,
	IGMP_REPORT_V1 = 0x12,
	IGMP_REPORT_V2 = 0x16,
	IGMP_LEAVE = 0x17,
	IGMP_REPORT_V3 = 0x22,
	IGMP_MRD_ADVERTISEMENT = 0x30, /* RFC 4286 3.2 */
};

#define ICMP6_MRD_ADVERTISEMENT 151 /* RFC 4286 3.2 */

#define IGMP_LEN 8           /* of all messages but those of version 3 */
#define IGMP_QUERY_V3_LEN 12 /* RFC 3376 4.1, without sources */
#define MLD_LEN 24           /* RFC 2710 3 */
#define MLD_QUERY_V2_LEN 28  /* RFC 3810 5.1, without sources */
#define REPORT_HLEN 8        /* RFC 3376 4.2, RFC 3810 5.2 */
#define RECORD_HLEN 4        /* before the group */

#define PIM_HLEN 4
#define PIM_HELLO 0x20 /* version 2, type 0 (RFC 7761 4.9) */

/* Types of records (RFC 3376 4.2.12, RFC 3810 5.2.12). */
enum record_type {
	IS_INCLUDE = 1,
	IS_EXCLUDE,
	TO_INCLUDE,
	TO_EXCLUDE,
	ALLOW_NEW_SOURCES,
	BLOCK_OLD_SOURCES,
};

static unsigned address_len(enum snoop_family family) { return family == SNOOP_IP4 ? 4 : 16; }

static struct net_addr address_load(const uint8_t *at, enum snoop_family family)
{
	if (family == SNOOP_IP6)
		return net_addr_load(at);
	const uint32_t addr = be32_load(at);
	return addr ? net_addr_ip4(addr) : NET_ADDR_ANY;
}

static bool is_group(const struct net_addr *a)
{
	return net_addr_is_ip4(a) ? ip4_is_multicast(net_addr_to_ip4(a)) : ip6_is_multicast(a);
}

bool snoop_is_link_group(const struct net_addr *group)
{
	if (net_addr_is_ip4(group))
		return net_addr_to_ip4(group) >> 8 == IP4(224, 0, 0, 0) >> 8;
	return ip6_multicast_scope(group) <= IP6_SCOPE_LINK;
}

/* --- messages --- */

/* Length of the record at `at`, of which `left` bytes are there; 0: it is longer than that. */
static unsigned record_len(const uint8_t *at, unsigned left, enum snoop_family family)
{
	const unsigned head = RECORD_HLEN + address_len(family);
	if (left < head)
		return 0;
	const unsigned len = head + be16_load(at + 2) * address_len(family) + at[1] * 4u;
	return len <= left ? len : 0;
}

static bool is_whole_report(const struct snoop_packet *p)
{
	unsigned at = REPORT_HLEN;
	if (p->len < REPORT_HLEN)
		return false;
	for (unsigned n = be16_load(p->message + 6); n > 0; n--) {
		const unsigned len = record_len(p->message + at, p->len - at, p->family);
		if (len == 0)
			return false;
		at += len;
	}
	return true;
}

/* A query: RFC 3376 7.1 and RFC 3810 8.1 tell its version by its length. */
static bool is_whole_query(const struct snoop_packet *p)
{
	const bool six = p->family == SNOOP_IP6;
	const unsigned old = six ? MLD_LEN : IGMP_LEN, head = six ? MLD_QUERY_V2_LEN : IGMP_QUERY_V3_LEN;
	if (p->len != old && p->len < head)
		return false;
	const struct net_addr group = address_load(p->message + (six ? 8 : 4), p->family);
	if (!net_addr_is_any(&group) && !is_group(&group))
		return false;
	return p->len == old || head + be16_load(p->message + head - 2) * address_len(p->family) <= p->len;
}

/* A report or leave of the old versions, about one group. */
static bool is_whole_old(const struct snoop_packet *p)
{
	const bool six = p->family == SNOOP_IP6;
	if (p->len < (six ? (unsigned)MLD_LEN : IGMP_LEN))
		return false;
	const struct net_addr group = address_load(p->message + (six ? 8 : 4), p->family);
	return is_group(&group);
}

static enum counter judged(bool whole, enum snoop_type type, struct snoop_packet *out)
{
	out->type = type;
	return whole ? CNT_NONE : CNT_drop_snoop_malformed;
}

/* --- IPv4 --- */

static enum counter read_igmp(struct snoop_packet *out)
{
	if (out->len < IGMP_LEN || csum_fold(csum_partial(out->message, out->len, 0)) != 0)
		return CNT_drop_snoop_malformed;
	switch (out->message[0]) {
	case IGMP_QUERY:
		return judged(is_whole_query(out), SNOOP_QUERY, out);
	case IGMP_REPORT_V1:
	case IGMP_REPORT_V2:
	case IGMP_LEAVE:
		return judged(is_whole_old(out), SNOOP_REPORT, out);
	case IGMP_REPORT_V3:
		return judged(is_whole_report(out), SNOOP_REPORT, out);
	case IGMP_MRD_ADVERTISEMENT:
		return judged(true, SNOOP_ROUTER, out);
	default: /* RFC 4541 2.1.1: unrecognised messages are flooded */
		return CNT_NONE;
	}
}

static bool is_hello4(const struct snoop_packet *p)
{
	return p->len >= PIM_HLEN && p->message[0] == PIM_HELLO && csum_fold(csum_partial(p->message, p->len, 0)) == 0;
}

static enum counter read4(const uint8_t *ip, unsigned len, struct snoop_packet *out)
{
	if (len < IP4_HLEN || ip[0] >> 4 != 4 || !ip4_is_multicast(be32_load(ip + 16)))
		return CNT_NONE;
	const unsigned head = ip4_header_len(ip), total = ip4_total_len(ip);
	const bool igmp = ip4_proto(ip) == PROTO_IGMP;
	const bool whole = head >= IP4_HLEN && total >= head && total <= len &&
	                   (be16_load(ip + 6) & (IP4_FLAG_MF | IP4_OFFSET_MASK)) == 0 &&
	                   csum_fold(csum_partial(ip, head, 0)) == 0;
	out->src = address_load(ip + 12, SNOOP_IP4);
	out->group = address_load(ip + 16, SNOOP_IP4);
	if (igmp && !whole)
		return CNT_drop_snoop_malformed;
	if (whole) {
		out->message = ip + head;
		out->len = total - head;
	}
	if (igmp)
		return read_igmp(out);
	out->type = snoop_is_link_group(&out->group) ? SNOOP_OTHER : SNOOP_DATA;
	if (whole && ip4_proto(ip) == PROTO_PIM && is_hello4(out))
		out->type = SNOOP_ROUTER;
	return CNT_NONE;
}

/* --- IPv6 --- */

static enum counter read_mld(const struct ip6_upper *up, const uint8_t *ip, struct snoop_packet *out)
{
	const uint8_t type = out->message[0];
	/* RFC 3810 5, 5.1.14, 5.2.13: link-local source, hop limit 1, router alert. RFC 3590 4: reports from the
	 * unspecified address too */
	const bool from_link = ip6_is_link_local(&out->src) || (type != ICMP6_MLD_QUERY && net_addr_is_any(&out->src));
	if (!from_link || ip6_hop_limit(ip) != 1 || !up->router_alert || up->alert != IP6_ALERT_MLD)
		return CNT_drop_snoop_malformed;
	if (type == ICMP6_MLD_QUERY)
		return judged(is_whole_query(out), SNOOP_QUERY, out);
	return judged(type == ICMP6_MLD2_REPORT ? is_whole_report(out) : is_whole_old(out), SNOOP_REPORT, out);
}

static enum counter read_icmp6(const struct ip6_upper *up, const uint8_t *ip, struct snoop_packet *out)
{
	const uint8_t type = out->message[0];
	const bool mld = (type >= ICMP6_MLD_QUERY && type <= ICMP6_MLD_DONE) || type == ICMP6_MLD2_REPORT;
	if (!mld && type != ICMP6_MRD_ADVERTISEMENT)
		return CNT_NONE;
	const bool good = out->len >= ICMP6_HLEN && icmp6_checksum(ip, up->at) == 0;
	if (mld)
		return good ? read_mld(up, ip, out) : CNT_drop_snoop_malformed;
	if (good && ip6_is_link_local(&out->src))
		out->type = SNOOP_ROUTER;
	return CNT_NONE;
}

static bool is_hello6(const struct snoop_packet *p, const uint8_t *ip)
{
	if (p->len < PIM_HLEN || p->message[0] != PIM_HELLO)
		return false;
	const uint32_t pseudo = csum_pseudo6(ip + 8, ip + 24, PROTO_PIM, p->len);
	return csum_fold(csum_partial(p->message, p->len, pseudo)) == 0;
}

static enum counter read6(const uint8_t *ip, unsigned len, struct snoop_packet *out)
{
	struct ip6_upper up;
	if (len < IP6_HLEN || ip6_version(ip) != 6)
		return CNT_NONE;
	out->src = ip6_src(ip);
	out->group = ip6_dst(ip);
	if (!ip6_is_multicast(&out->group))
		return CNT_NONE;
	out->type = snoop_is_link_group(&out->group) ? SNOOP_OTHER : SNOOP_DATA;
	if (ip6_check(ip, len) != CNT_NONE || (ip6_next(ip) != IP6_HOP_BY_HOP && ip6_next(ip) != PROTO_PIM) ||
	    ip6_upper(ip, &up) != CNT_NONE || up.fragment)
		return CNT_NONE;
	out->message = ip + up.at;
	out->len = ip6_total_len(ip) - up.at;
	if (up.proto == IP6_ICMP6 && out->len > 0)
		return read_icmp6(&up, ip, out);
	if (up.proto == PROTO_PIM && is_hello6(out, ip))
		out->type = SNOOP_ROUTER;
	return CNT_NONE;
}

enum counter snoop_read(const uint8_t *ip, unsigned len, uint16_t ethertype, struct snoop_packet *out)
{
	*out = (struct snoop_packet){.type = SNOOP_OTHER};
	if (ethertype == ETH_TYPE_IP4)
		return read4(ip, len, out);
	out->family = SNOOP_IP6;
	return ethertype == ETH_TYPE_IP6 ? read6(ip, len, out) : CNT_NONE;
}

/* --- contents --- */

/* RFC 3376 4.1.1, 4.1.7: from 128 on a floating-point number. RFC 3810 5.1.9 has the same. */
static uint32_t code8(uint8_t code)
{
	return code < 128 ? code : ((code & 0xfu) | 0x10) << ((code >> 4 & 7) + 3);
}

/* RFC 3810 5.1.3. */
static uint32_t code16(uint16_t code)
{
	return code < 32768 ? code : ((code & 0xfffu) | 0x1000) << ((code >> 12 & 7) + 3);
}

static void read_version(const uint8_t *m, unsigned at, struct snoop_query *out)
{
	out->suppress = m[at] >> 3 & 1;
	out->robustness = m[at] & 7;
	out->interval_s = code8(m[at + 1]);
	out->sources = be16_load(m + at + 2) != 0;
}

void snoop_query_read(const struct snoop_packet *p, struct snoop_query *out)
{
	const uint8_t *m = p->message;
	*out = (struct snoop_query){.version = 1};
	if (p->family == SNOOP_IP6) {
		out->group = address_load(m + 8, SNOOP_IP6);
		out->response_ms = be16_load(m + 4);
		if (p->len >= MLD_QUERY_V2_LEN) {
			out->version = 2;
			out->response_ms = code16(be16_load(m + 4));
			read_version(m, MLD_LEN, out);
		}
		return;
	}
	out->group = address_load(m + 4, SNOOP_IP4);
	if (p->len >= IGMP_QUERY_V3_LEN) {
		out->version = 3;
		out->response_ms = code8(m[1]) * 100;
		read_version(m, IGMP_LEN, out);
	} else {
		out->version = m[1] ? 2 : 1;
		out->response_ms = m[1] ? m[1] * 100u : 10000;
	}
}

static enum snoop_change change_of(uint8_t type, unsigned sources)
{
	switch (type) {
	case IS_EXCLUDE:
	case TO_EXCLUDE:
		return SNOOP_JOIN;
	case TO_INCLUDE:
		return sources ? SNOOP_JOIN : SNOOP_LEAVE;
	case IS_INCLUDE:
	case ALLOW_NEW_SOURCES:
		return sources ? SNOOP_JOIN : SNOOP_NEITHER;
	default: /* BLOCK_OLD_SOURCES, and types that are ignored (RFC 3376 4.2.12) */
		return SNOOP_NEITHER;
	}
}

static bool is_old_report(const struct snoop_packet *p)
{
	return p->message[0] != (p->family == SNOOP_IP4 ? (unsigned)IGMP_REPORT_V3 : ICMP6_MLD2_REPORT);
}

bool snoop_record_next(const struct snoop_packet *p, unsigned *cursor, struct snoop_record *out)
{
	const bool six = p->family == SNOOP_IP6;
	const uint8_t *m = p->message;
	if (is_old_report(p)) {
		if (*cursor)
			return false;
		*cursor = p->len;
		out->group = address_load(m + (six ? 8 : 4), p->family);
		out->change = m[0] == (six ? (unsigned)ICMP6_MLD_DONE : IGMP_LEAVE) ? SNOOP_LEAVE : SNOOP_JOIN;
	} else {
		/* the cursor counts records in its upper half, and bytes in its lower one */
		const unsigned n = *cursor >> 16, at = *cursor ? *cursor & 0xffff : REPORT_HLEN;
		if (n >= be16_load(m + 6))
			return false;
		*cursor = (n + 1) << 16 | (at + record_len(m + at, p->len - at, p->family));
		out->group = address_load(m + at + RECORD_HLEN, p->family);
		out->change = change_of(m[at], be16_load(m + at + 2));
	}
	if (!is_group(&out->group) || snoop_is_link_group(&out->group))
		out->change = SNOOP_NEITHER;
	return true;
}

/* --- queries of our own --- */

/* The smallest code whose value is at least `value` (RFC 3376 4.1.1). */
static uint8_t code8_of(uint32_t value)
{
	unsigned code = value < 128 ? value : 128;
	while (code < 255 && code8((uint8_t)code) < value)
		code++;
	return (uint8_t)code;
}

static unsigned write4(uint8_t *frame, const struct snoop_query_build *q)
{
	static const uint8_t alert[4] = {0x94, 4, 0, 0}; /* Router Alert (RFC 2113 2.1) */
	uint8_t *ip = frame + ETH_HLEN, *m = ip + IP4_HLEN + sizeof alert;
	const uint32_t group = net_addr_is_any(&q->group) ? 0 : net_addr_to_ip4(&q->group);
	const uint32_t dst = group ? group : IP4(224, 0, 0, 1);
	const uint8_t mac[ETH_ALEN] = {1, 0, 0x5e, dst >> 16 & 0x7f, (uint8_t)(dst >> 8), (uint8_t)dst};
	const unsigned head = IP4_HLEN + sizeof alert, total = head + IGMP_QUERY_V3_LEN;
	eth_header_build(frame, mac, q->mac, ETH_TYPE_IP4);
	memset(ip, 0, total);
	ip[0] = (uint8_t)(0x40 | head / 4);
	ip[1] = IP4_TOS_INTERNET_CONTROL; /* RFC 3376 4 */
	be16_store(ip + 2, (uint16_t)total);
	ip[8] = 1;
	ip[9] = PROTO_IGMP;
	be32_store(ip + 12, net_addr_is_any(&q->src) ? 0 : net_addr_to_ip4(&q->src));
	be32_store(ip + 16, dst);
	memcpy(ip + IP4_HLEN, alert, sizeof alert);
	raw16_store(ip + 10, csum_fold(csum_partial(ip, head, 0)));
	m[0] = IGMP_QUERY;
	m[1] = code8_of(q->response_ms / 100);
	be32_store(m + 4, group);
	m[8] = q->robustness;
	m[9] = code8_of(q->interval_s);
	raw16_store(m + 2, csum_fold(csum_partial(m, IGMP_QUERY_V3_LEN, 0)));
	return ETH_HLEN + total;
}

static unsigned write6(uint8_t *frame, const struct snoop_query_build *q)
{
	const bool general = net_addr_is_any(&q->group);
	const unsigned at = IP6_HLEN + IP6_ROUTER_ALERT_HLEN;
	uint8_t *ip = frame + ETH_HLEN, *m = ip + at, mac[ETH_ALEN];
	struct ip6_build b = {.next = IP6_HOP_BY_HOP, .hop_limit = 1, .src = q->src, .dst = q->group};
	if (general)
		b.dst = IP6_ALL_NODES;
	b.payload_len = IP6_ROUTER_ALERT_HLEN + MLD_QUERY_V2_LEN;
	ip6_group_mac(mac, &b.dst);
	eth_header_build(frame, mac, q->mac, ETH_TYPE_IP6);
	ip6_header_build(ip, &b);
	ip6_router_alert_build(ip + IP6_HLEN, IP6_ICMP6, IP6_ALERT_MLD);
	memset(m, 0, MLD_QUERY_V2_LEN);
	m[0] = ICMP6_MLD_QUERY;
	be16_store(m + 4, (uint16_t)(q->response_ms < 32768 ? q->response_ms : 32767));
	net_addr_store(m + 8, &q->group);
	m[MLD_LEN] = q->robustness;
	m[MLD_LEN + 1] = code8_of(q->interval_s);
	icmp6_checksum_set(ip, at);
	return ETH_HLEN + at + MLD_QUERY_V2_LEN;
}

unsigned snoop_query_write(uint8_t frame[SNOOP_QUERY_MAX], const struct snoop_query_build *q)
{
	return q->family == SNOOP_IP4 ? write4(frame, q) : write6(frame, q);
}
