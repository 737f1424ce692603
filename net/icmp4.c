/* See icmp4.h. */
#include "net/icmp4.h"

#include "lib/assert.h"
#include "lib/bytes.h"
#include "lib/csum.h"
#include "lib/mem.h"
#include "net/ip4.h"

/* Message types that are not errors (RFC 1122 3.2.2 "query" messages, RFC 1256, RFC 950). */
static bool type_is_query(uint8_t type)
{
	return type == ICMP4_ECHO_REPLY || type == ICMP4_ECHO || (type >= 9 && type <= 10) ||
	       (type >= 13 && type <= 18);
}

static bool type_is_error(uint8_t type)
{
	return (type >= ICMP4_UNREACH && type <= ICMP4_REDIRECT) || type == ICMP4_TIME_EXCEEDED ||
	       type == ICMP4_PARAM_PROBLEM;
}

bool icmp4_error_allowed(const uint8_t *orig_ip, unsigned len)
{
	uint32_t dst = ip4_dst(orig_ip);
	unsigned header_len = ip4_header_len(orig_ip);
	if (ip4_is_multicast(dst) || dst == IP4_BROADCAST)
		return false;
	if (ip4_src_is_martian(ip4_src(orig_ip)))
		return false;
	if (be16_load(orig_ip + 6) & IP4_OFFSET_MASK)
		return false;
	if (ip4_proto(orig_ip) != IP4_PROTO_ICMP)
		return true;
	unsigned total = ip4_total_len(orig_ip);
	if (total < len)
		len = total;
	return len > header_len && type_is_query(orig_ip[header_len]);
}

static void icmp_checksum_set(uint8_t *icmp, unsigned len)
{
	raw16_store(icmp + 2, 0);
	raw16_store(icmp + 2, csum_fold(csum_partial(icmp, len, 0)));
}

unsigned icmp4_error_build(uint8_t *out, unsigned room, const uint8_t *orig_ip, unsigned orig_len,
                           const struct icmp4_error *e)
{
	const unsigned head = IP4_HLEN + ICMP4_HLEN;
	unsigned total = ip4_total_len(orig_ip);
	unsigned quote = orig_len < total ? orig_len : total;
	unsigned least = ip4_header_len(orig_ip) + 8; /* RFC 792; less only if the packet has
	                                                 less */
	if (room > ICMP4_ERROR_MAX)
		room = ICMP4_ERROR_MAX;
	if (room < head || (room - head < quote && room - head < least))
		return 0;
	if (quote > room - head)
		quote = room - head;

	ip4_header_build(out, &(struct ip4_build){.src = e->src,
	                                          .dst = ip4_src(orig_ip),
	                                          .payload_len = (uint16_t)(ICMP4_HLEN + quote),
	                                          .tos = IP4_TOS_INTERNET_CONTROL,
	                                          .ttl = IP4_TTL_DEFAULT,
	                                          .proto = IP4_PROTO_ICMP,
	                                          .df = true});
	uint8_t *icmp = out + IP4_HLEN;
	icmp[0] = e->type;
	icmp[1] = e->code;
	be32_store(icmp + 4, e->rest);
	memcpy(icmp + ICMP4_HLEN, orig_ip, quote);
	icmp_checksum_set(icmp, ICMP4_HLEN + quote);
	return head + quote;
}

enum counter icmp4_error_counter(uint8_t type, uint8_t code)
{
	static const enum counter unreach[] = {
		[ICMP4_UNREACH_NET] = CNT_icmp_tx_unreach_net,
		[ICMP4_UNREACH_HOST] = CNT_icmp_tx_unreach_host,
		[ICMP4_UNREACH_PROTO] = CNT_icmp_tx_unreach_proto,
		[ICMP4_UNREACH_PORT] = CNT_icmp_tx_unreach_port,
		[ICMP4_UNREACH_FRAG] = CNT_icmp_tx_unreach_frag,
		[ICMP4_UNREACH_PROHIBITED] = CNT_icmp_tx_unreach_prohibited,
	};
	if (type == ICMP4_TIME_EXCEEDED)
		return CNT_icmp_tx_time_exceeded;
	if (type == ICMP4_PARAM_PROBLEM)
		return CNT_icmp_tx_param_problem;
	if (type == ICMP4_REDIRECT)
		return CNT_icmp_tx_redirect;
	assert(type == ICMP4_UNREACH && code < ARRAY_LEN(unreach) && unreach[code]);
	return unreach[code];
}

/* True if the quoted packet has a complete header, which identifies it. */
static bool quote_ok(const uint8_t *quote, unsigned n)
{
	return n >= IP4_HLEN && quote[0] >> 4 == 4 && ip4_header_len(quote) >= IP4_HLEN &&
	       ip4_header_len(quote) <= n;
}

enum counter icmp4_input(const uint8_t *ip, unsigned len, struct icmp4_msg *out)
{
	unsigned header_len = ip4_header_len(ip);
	unsigned total = ip4_total_len(ip);
	if (total > len || total < header_len + ICMP4_HLEN)
		return CNT_drop_icmp_malformed;
	const uint8_t *icmp = ip + header_len;
	/* RFC 1122 3.2.2: a message with a wrong checksum is silently discarded */
	if (csum_fold(csum_partial(icmp, total - header_len, 0)) != 0)
		return CNT_drop_icmp_malformed;

	*out = (struct icmp4_msg){
		.kind = ICMP4_KIND_OTHER,
		.type = icmp[0],
		.code = icmp[1],
		.rest = be32_load(icmp + 4),
		.data = icmp + ICMP4_HLEN,
		.data_len = total - header_len - ICMP4_HLEN,
	};
	out->id = (uint16_t)(out->rest >> 16);
	out->seq = (uint16_t)out->rest;
	/* RFC 792 defines only code 0 for echo; RFC 1122 3.2.2.6 requires an answer to every
	 * request, and all hosts answer (nmap uses code 9). A reply must have code 0, as our
	 * request did. */
	if (out->type == ICMP4_ECHO) {
		out->kind = ICMP4_KIND_ECHO_REQUEST;
	} else if (out->type == ICMP4_ECHO_REPLY && out->code == 0) {
		out->kind = ICMP4_KIND_ECHO_REPLY;
	} else if (type_is_error(out->type)) {
		if (!quote_ok(out->data, out->data_len))
			return CNT_drop_icmp_malformed;
		out->kind = ICMP4_KIND_ERROR;
	}
	/* RFC 1122 3.2.2: unknown types are silently discarded */
	return out->kind == ICMP4_KIND_OTHER ? CNT_drop_icmp_type : CNT_delivered_icmp;
}

void icmp4_echo_reply_make(uint8_t *ip, unsigned len)
{
	unsigned header_len = ip4_header_len(ip);
	unsigned total = ip4_total_len(ip);
	uint8_t *icmp = ip + header_len;
	assert(total <= len && total >= header_len + ICMP4_HLEN);

	uint32_t src = raw32_load(ip + 12);
	raw32_store(ip + 12, raw32_load(ip + 16));
	raw32_store(ip + 16, src);
	ip[8] = IP4_TTL_DEFAULT;
	be16_store(ip + 6, 0);
	memset(ip + IP4_HLEN, 0, header_len - IP4_HLEN);
	ip4_checksum_set(ip);

	/* Only type and code change (RFC 792: 0), so RFC 1624 avoids summing the data. If
	 * everything else is zero, its equation 3 gives zero, the one wrong sum; all ones, the
	 * other zero, is right for any message. */
	uint16_t was = raw16_load(icmp);
	icmp[0] = ICMP4_ECHO_REPLY;
	icmp[1] = 0;
	uint16_t sum = csum_update16(raw16_load(icmp + 2), was, raw16_load(icmp));
	raw16_store(icmp + 2, sum ? sum : 0xffff);
}

unsigned icmp4_echo_request_build(uint8_t *out, unsigned room, const struct icmp4_echo *e)
{
	unsigned len = ICMP4_HLEN + e->data_len;
	if (room < IP4_HLEN + len || IP4_HLEN + len > 65535)
		return 0;
	ip4_header_build(out, &(struct ip4_build){.src = e->src,
	                                          .dst = e->dst,
	                                          .payload_len = (uint16_t)len,
	                                          .id = e->df ? 0 : e->seq,
	                                          .ttl = e->ttl,
	                                          .proto = IP4_PROTO_ICMP,
	                                          .df = e->df});
	uint8_t *icmp = out + IP4_HLEN;
	icmp[0] = ICMP4_ECHO;
	icmp[1] = 0;
	be16_store(icmp + 4, e->id);
	be16_store(icmp + 6, e->seq);
	for (unsigned i = 0; i < e->data_len; i++)
		icmp[ICMP4_HLEN + i] = (uint8_t)i;
	icmp_checksum_set(icmp, len);
	return IP4_HLEN + len;
}
