/* See icmp6.h. */
#include "net/icmp6.h"

#include "lib/assert.h"
#include "lib/bytes.h"
#include "lib/csum.h"
#include "lib/mem.h"

/* RFC 4443 2.1: the high bit distinguishes informational messages from errors. */
static bool type_is_error(uint8_t type) { return type < 128; }

bool icmp6_error_allowed(const uint8_t *orig_ip, unsigned len, uint8_t type, uint8_t code)
{
	struct net_addr src = ip6_src(orig_ip), dst = ip6_dst(orig_ip);
	bool to_group = type == ICMP6_TOO_BIG ||
	                (type == ICMP6_PARAM_PROBLEM && code == ICMP6_PARAM_OPTION);
	if (!ip6_is_unicast(&src) || (ip6_is_multicast(&dst) && !to_group))
		return false;
	if (len > ip6_total_len(orig_ip))
		len = ip6_total_len(orig_ip);
	uint8_t proto;
	unsigned at = ip6_skip_extensions(orig_ip, len, &proto);
	if (at == 0 || at == len) {
		/* The packet may be an error. A parameter problem may still be sent: no node sends
		 * an error with headers that cannot be followed, so none is answered. */
		bool hidden = proto == IP6_HOP_BY_HOP || proto == IP6_ROUTING ||
		              proto == IP6_FRAGMENT || proto == IP6_AH || proto == IP6_DEST_OPTIONS ||
		              proto == IP6_ICMP6;
		return !hidden || type == ICMP6_PARAM_PROBLEM;
	}
	return proto != IP6_ICMP6 ||
	       (!type_is_error(orig_ip[at]) && orig_ip[at] != ICMP6_REDIRECT);
}

uint16_t icmp6_checksum(const uint8_t *ip, unsigned at)
{
	unsigned len = ip6_total_len(ip) - at;
	uint32_t sum = csum_pseudo6(ip + 8, ip + 24, IP6_ICMP6, len);
	return csum_fold(csum_partial(ip + at, len, sum));
}

void icmp6_checksum_set(uint8_t *ip, unsigned at)
{
	raw16_store(ip + at + 2, 0);
	raw16_store(ip + at + 2, icmp6_checksum(ip, at));
}

unsigned icmp6_error_build(uint8_t *out, unsigned room, const uint8_t *orig_ip, unsigned orig_len,
                           const struct icmp6_error *e)
{
	const unsigned head = IP6_HLEN + ICMP6_HLEN;
	unsigned total = ip6_total_len(orig_ip);
	unsigned quote = orig_len < total ? orig_len : total;
	if (room > IP6_MTU_MIN)
		room = IP6_MTU_MIN;
	if (room < head + IP6_HLEN)
		return 0;
	if (quote > room - head)
		quote = room - head;

	ip6_header_build(out, &(struct ip6_build){.src = e->src,
	                                          .dst = ip6_src(orig_ip),
	                                          .payload_len = (uint16_t)(ICMP6_HLEN + quote),
	                                          .next = IP6_ICMP6,
	                                          .hop_limit = IP6_HOP_LIMIT_DEFAULT});
	uint8_t *icmp = out + IP6_HLEN;
	icmp[0] = e->type;
	icmp[1] = e->code;
	be32_store(icmp + 4, e->rest);
	memcpy(icmp + ICMP6_HLEN, orig_ip, quote);
	icmp6_checksum_set(out, IP6_HLEN);
	return head + quote;
}

enum counter icmp6_error_counter(uint8_t type, uint8_t code)
{
	static const enum counter unreach[] = {
		[ICMP6_UNREACH_NO_ROUTE] = CNT_icmp6_tx_unreach_no_route,
		[ICMP6_UNREACH_PROHIBITED] = CNT_icmp6_tx_unreach_prohibited,
		[ICMP6_UNREACH_SCOPE] = CNT_icmp6_tx_unreach_scope,
		[ICMP6_UNREACH_ADDRESS] = CNT_icmp6_tx_unreach_address,
		[ICMP6_UNREACH_PORT] = CNT_icmp6_tx_unreach_port,
		[ICMP6_UNREACH_POLICY] = CNT_icmp6_tx_unreach_policy,
		[ICMP6_UNREACH_REJECT] = CNT_icmp6_tx_unreach_reject,
	};
	switch (type) {
	case ICMP6_TOO_BIG:
		return CNT_icmp6_tx_too_big;
	case ICMP6_TIME_EXCEEDED:
		return CNT_icmp6_tx_time_exceeded;
	case ICMP6_PARAM_PROBLEM:
		return CNT_icmp6_tx_param_problem;
	default:
		assert(type == ICMP6_UNREACH && code < ARRAY_LEN(unreach));
		return unreach[code];
	}
}

static enum icmp6_kind kind_of(uint8_t type, uint8_t code)
{
	if (type_is_error(type))
		return ICMP6_KIND_ERROR;
	if (type >= ICMP6_ROUTER_SOLICIT && type <= ICMP6_REDIRECT)
		return ICMP6_KIND_ND;
	if ((type >= ICMP6_MLD_QUERY && type <= ICMP6_MLD_DONE) || type == ICMP6_MLD2_REPORT)
		return ICMP6_KIND_MLD;
	/* RFC 4443 4.1, 4.2: echo messages have code 0 only */
	if (type == ICMP6_ECHO && code == 0)
		return ICMP6_KIND_ECHO_REQUEST;
	if (type == ICMP6_ECHO_REPLY && code == 0)
		return ICMP6_KIND_ECHO_REPLY;
	return ICMP6_KIND_OTHER;
}

enum counter icmp6_input(const uint8_t *ip, unsigned at, struct icmp6_msg *out)
{
	unsigned len = ip6_total_len(ip) - at;
	const uint8_t *icmp = ip + at;
	if (len < ICMP6_HLEN || icmp6_checksum(ip, at) != 0)
		return CNT_drop_icmp6_malformed;
	*out = (struct icmp6_msg){
		.kind = kind_of(icmp[0], icmp[1]),
		.type = icmp[0],
		.code = icmp[1],
		.id = be16_load(icmp + 4),
		.seq = be16_load(icmp + 6),
		.rest = be32_load(icmp + 4),
		.icmp = icmp,
		.icmp_len = len,
		.data = icmp + ICMP6_HLEN,
		.data_len = len - ICMP6_HLEN,
	};
	switch (out->kind) {
	case ICMP6_KIND_ERROR:
		if (out->data_len < IP6_HLEN || ip6_version(out->data) != 6)
			return CNT_drop_icmp6_malformed;
		out->quoted_at = ip6_skip_extensions(out->data, out->data_len, &out->quoted_proto);
		return CNT_delivered_icmp6;
	case ICMP6_KIND_ECHO_REQUEST:
	case ICMP6_KIND_ECHO_REPLY:
		return CNT_delivered_icmp6;
	case ICMP6_KIND_ND:
	case ICMP6_KIND_MLD:
		return CNT_NONE;
	default:
		return CNT_drop_icmp6_type;
	}
}

uint8_t *icmp6_echo_reply_make(uint8_t *ip, unsigned at, const struct net_addr *src)
{
	assert(at >= IP6_HLEN && ip6_total_len(ip) >= at + ICMP6_HLEN);
	const struct ip6_build b = {
		.src = *src,
		.dst = ip6_src(ip),
		.payload_len = (uint16_t)(ip6_total_len(ip) - at),
		.traffic_class = ip6_traffic_class(ip),
		.next = IP6_ICMP6,
		.hop_limit = IP6_HOP_LIMIT_DEFAULT,
	};
	uint8_t *reply = ip + at - IP6_HLEN;
	ip6_header_build(reply, &b);
	reply[IP6_HLEN] = ICMP6_ECHO_REPLY;
	icmp6_checksum_set(reply, IP6_HLEN);
	return reply;
}

unsigned icmp6_echo_request_build(uint8_t *out, unsigned room, const struct icmp6_echo *e)
{
	unsigned len = ICMP6_HLEN + e->data_len;
	if (room < IP6_HLEN + len || len > 65535)
		return 0;
	ip6_header_build(out, &(struct ip6_build){.src = e->src,
	                                          .dst = e->dst,
	                                          .payload_len = (uint16_t)len,
	                                          .next = IP6_ICMP6,
	                                          .hop_limit = e->hop_limit});
	uint8_t *icmp = out + IP6_HLEN;
	icmp[0] = ICMP6_ECHO;
	icmp[1] = 0;
	be16_store(icmp + 4, e->id);
	be16_store(icmp + 6, e->seq);
	for (unsigned i = 0; i < e->data_len; i++)
		icmp[ICMP6_HLEN + i] = (uint8_t)i;
	icmp6_checksum_set(out, IP6_HLEN);
	return IP6_HLEN + len;
}
