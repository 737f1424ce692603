/*
 * IPv6, ICMPv6 and reassembly of net/. The first byte says what the input is:
 *
 *     bit 7 clear  one more byte for the MTU, then a packet; the low bits correct it (enum mend)
 *     bit 7 set    a program of fragments, see program()
 *
 * What the checks accept must pass through everything behind them correctly.
 */
#include "tests/fuzz/input.h"

#include "lib/csum.h"
#include "net/icmp6.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/reassembly.h"

enum mend {
	MEND_HEADER = 1, /* sets the version to 6 and the payload length to that of the input */
	MEND_ICMP = 2,   /* the checksum of ICMPv6 */
	MEND_LATER = 4,  /* a fragment meets the first one of its packet */
};

static uint8_t scratch[2048];

/* --- reassembly --- */

static struct reassembly r;
static struct counters cnt;
static uint64_t fed, returned;

static void timed_out(void *ctx, unsigned port, const uint8_t *packet, unsigned len)
{
	(void)ctx;
	assert(port < 4);
	if (packet[0] >> 4 == 6) {
		struct ip6_upper u;
		assert(ip6_check(packet, len) == CNT_NONE && ip6_upper(packet, &u) == CNT_NONE);
		assert(u.fragment && u.offset == 0 && u.more);
	} else {
		assert(ip4_check(packet, len) == CNT_NONE && be16_load(packet + 6) == IP4_FLAG_MF);
	}
}

static void reassembly_begin(void)
{
	static _Alignas(8) uint8_t memory[64 * 1024];
	const struct reassembly_params p = {60000000000ull, 4, 2, 4000, 6};
	const struct siphash_key key = {3, 4};
	assert(reassembly_init(&r, &p, memory, sizeof memory, &key, &cnt, timed_out, NULL) == E_OK);
	memset(&cnt, 0, sizeof cnt);
	fed = returned = 0;
}

/* Feeds a checked fragment of n bytes; a reassembled packet is valid. */
static bool reassembly_feed(unsigned port, uint8_t *ip, const struct ip6_upper *u, uint64_t now,
                            struct reassembly_result *res)
{
	enum counter fate = u ? reassembly_input6(&r, port, ip, u, now, res)
	                      : reassembly_input4(&r, port, ip, now, res);
	fed++;
	returned += fate != CNT_NONE || res->ip;
	assert(!res->problem || (u && fate != CNT_NONE && res->problem_pointer < ip6_total_len(ip)));
	if (!res->ip)
		return false;
	assert(fate == CNT_NONE);
	if (u) {
		struct ip6_upper whole;
		assert(ip6_check(res->ip, res->len) == CNT_NONE);
		assert(ip6_total_len(res->ip) == res->len);
		assert(ip6_upper(res->ip, &whole) == CNT_NONE && !whole.fragment);
	} else {
		assert(ip4_check(res->ip, res->len) == CNT_NONE && !ip4_is_fragment(res->ip));
		assert(ip4_total_len(res->ip) == res->len);
	}
	return true;
}

/* Every fragment has one fate. */
static void reassembly_end(void)
{
	uint64_t later = 0;
	assert(fed == returned + reassembly_held(&r) + cnt.v[CNT_reassembled] +
	              cnt.v[CNT_drop_frag_overlap] + cnt.v[CNT_drop_frag_many] +
	              cnt.v[CNT_drop_frag_full] + cnt.v[CNT_drop_frag_timeout] +
	              cnt.v[CNT_drop_frag_ecn] + cnt.v[CNT_drop_frag_too_long]);
	assert(reassembly_tick(&r, UINT64_MAX) == UINT64_MAX && reassembly_held(&r) == 0);
	for (unsigned i = 0; i < CNT_MAX; i++)
		if (counter_desc[i].kind != COUNTER_INFO)
			later += cnt.v[i];
	assert(fed == returned + later);
}

static uint8_t pattern(unsigned position) { return (uint8_t)(position * 7 + (position >> 8)); }

/* Puts the headers of a fragment, chosen by `how`; returns their length. */
static unsigned put_head(uint8_t *ip, unsigned how, unsigned offset, unsigned len, bool more)
{
	unsigned key = how >> 4 & 3, n = IP4_HLEN;
	if (how & 1) {
		ip4_header_build(ip, &(struct ip4_build){.src = IP4(192, 0, 2, 1),
		                                          .dst = IP4(192, 0, 2, 2),
		                                          .payload_len = (uint16_t)len,
		                                          .id = (uint16_t)key,
		                                          .tos = how >> 6,
		                                          .ttl = 9,
		                                          .proto = how & 2 ? 6 : 17});
		if (how & 4) {
			ip[0] = 0x46;
			be32_store(ip + n, 0x01010100);
			n += 4;
			be16_store(ip + 2, (uint16_t)(n + len));
		}
		be16_store(ip + 6, (uint16_t)(offset / 8 | (more ? IP4_FLAG_MF : 0)));
		ip4_checksum_set(ip);
		return n;
	}
	n = how & 2 ? IP6_ROUTER_ALERT_HLEN : 0;
	ip6_header_build(ip, &(struct ip6_build){.src = IP6(how & 4 ? 0xfe800000 : 0x20010db8, 0, 0, 1),
	                                         .dst = IP6(0x20010db8, 0, 0, 2),
	                                         .payload_len = (uint16_t)(n + 8 + len),
	                                         .traffic_class = how >> 6,
	                                         .next = n ? IP6_HOP_BY_HOP : IP6_FRAGMENT,
	                                         .hop_limit = 9});
	if (n)
		ip6_router_alert_build(ip + IP6_HLEN, IP6_FRAGMENT, IP6_ALERT_MLD);
	n += IP6_HLEN;
	ip[n] = IP6_UDP;
	ip[n + 1] = 0;
	be16_store(ip + n + 2, (uint16_t)(offset | more));
	be32_store(ip + n + 4, key);
	return n + 8;
}

/*
 * Instructions for fragments: a byte `how` (bits 0 IPv4, 1 and 2 variants of the headers, 3 last, 4
 * and 5 the identification, 6 and 7 ECN), offset / 8, length. If all bits of `how` but 3 are set,
 * time passes instead, by the other two bytes in units of 10 ms.
 */
static void program(struct input *in)
{
	uint64_t now = 0;
	struct reassembly_result res;
	reassembly_begin();
	while (in->n > 0) {
		unsigned how = take8(in), offset = take8(in) * 8u, len = take8(in);
		if ((how & 0xf7) == 0xf7) {
			now += ((uint64_t)offset / 8 * 256 + len) * 10000000;
			reassembly_tick(&r, now);
			continue;
		}
		uint8_t head[100];
		bool more = !(how & 8);
		unsigned n = put_head(head, how, offset, len, more);
		uint8_t *ip = malloc(n + len ? n + len : 1);
		memcpy(ip, head, n);
		for (unsigned i = 0; i < len; i++)
			ip[n + i] = pattern(offset + i);
		struct ip6_upper u;
		bool fit = how & 1 ? ip4_check(ip, n + len) == CNT_NONE && ip4_is_fragment(ip)
		                   : ip6_check(ip, n + len) == CNT_NONE && ip6_upper(ip, &u) == CNT_NONE;
		if (fit && reassembly_feed(how >> 1 & 3, ip, how & 1 ? NULL : &u, now, &res)) {
			unsigned at = ip4_header_len(res.ip);
			if (!(how & 1)) {
				assert(ip6_upper(res.ip, &u) == CNT_NONE);
				at = u.at;
			}
			for (unsigned i = at; i < res.len; i++)
				assert(res.ip[i] == pattern(i - at));
		}
		free(ip);
	}
	reassembly_end();
}

/* --- packets --- */

static void fragments(const uint8_t *ip, unsigned mtu)
{
	struct ip6_frag it;
	unsigned n, total = 0;
	if (ip6_frag_init(&it, ip, mtu, 7) != E_OK)
		return;
	while ((n = ip6_frag_next(&it, scratch, sizeof scratch)) != 0) {
		assert(n <= mtu && ip6_check(scratch, n) == CNT_NONE && ip6_total_len(scratch) == n);
		total += n;
		if (ip6_total_len(ip) > mtu)
			total -= it.head_len + IP6_FRAGMENT_HLEN;
		else
			total -= it.head_len;
	}
	assert(total == it.data_len);
}

static void errors(const uint8_t *ip, unsigned len, uint8_t type, uint8_t code)
{
	struct icmp6_msg m;
	struct ip6_upper u;
	const struct icmp6_error e = {.src = IP6(0x20010db8, 0, 0, 9), .type = type, .code = code};
	if (!icmp6_error_allowed(ip, len, type, code))
		return;
	unsigned n = icmp6_error_build(scratch, sizeof scratch, ip, len, &e);
	assert(n >= 88 && n <= IP6_MTU_MIN && ip6_check(scratch, n) == CNT_NONE);
	assert(ip6_upper(scratch, &u) == CNT_NONE && u.proto == IP6_ICMP6 && u.at == IP6_HLEN);
	assert(icmp6_input(scratch, u.at, &m) == CNT_delivered_icmp6 && m.kind == ICMP6_KIND_ERROR);
	for (uint8_t t = 1; t <= 4; t++) /* RFC 4443 2.4 (e.1): no error about an error */
		assert(!icmp6_error_allowed(scratch, n, t, 2));
}

static void message(uint8_t *ip, unsigned at)
{
	struct icmp6_msg m;
	enum counter fate = icmp6_input(ip, at, &m);
	if (fate == CNT_drop_icmp6_malformed)
		return;
	assert(m.icmp == ip + at && m.data + m.data_len == ip + ip6_total_len(ip));
	assert(m.kind != ICMP6_KIND_ERROR || m.quoted_at <= m.data_len);
	assert((fate == CNT_NONE) == (m.kind == ICMP6_KIND_ND || m.kind == ICMP6_KIND_MLD));
	if (m.kind != ICMP6_KIND_ECHO_REQUEST)
		return;
	uint8_t *reply = icmp6_echo_reply_make(ip, at, &IP6(0x20010db8, 0, 0, 9));
	assert(icmp6_input(reply, IP6_HLEN, &m) == CNT_delivered_icmp6);
	assert(m.kind == ICMP6_KIND_ECHO_REPLY);
}

static void to_us(uint8_t *ip, unsigned what)
{
	struct ip6_upper u;
	unsigned len = ip6_total_len(ip);
	enum counter fate = ip6_upper(ip, &u);
	assert(u.at <= len && u.next_at < len);
	if (u.problem) {
		assert(fate != CNT_NONE && u.problem_pointer < len);
		errors(ip, len, ICMP6_PARAM_PROBLEM, u.problem_code);
	}
	if (fate != CNT_NONE)
		return;
	struct ip6_found f;
	ip6_find_upper(ip, len, &f);
	if (u.offset != 0)
		assert(f.at == 0 && f.proto == u.proto && f.offset == u.offset);
	else if (u.proto != IP6_AH)
		assert(f.at == u.at && f.proto == u.proto && f.offset == 0);
	if (u.fragment) {
		struct reassembly_result res;
		reassembly_begin();
		if (reassembly_feed(1, ip, &u, 1, &res) && u.atomic)
			assert(ip6_upper(res.ip, &u) == CNT_NONE);
		else if ((what & MEND_LATER) && u.offset == 0)
			reassembly_feed(1, ip, &u, 2, &res);
		reassembly_end();
		return;
	}
	if (u.proto != IP6_ICMP6)
		return;
	if ((what & MEND_ICMP) && len >= u.at + 4)
		icmp6_checksum_set(ip, u.at);
	message(ip, u.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	unsigned what = take8(&in);
	if (what & 128) {
		program(&in);
		return 0;
	}
	unsigned mtu = 56 + take8(&in) * 6u;
	uint8_t *ip = exactly(in.p, in.n), proto;
	unsigned len = (unsigned)in.n;
	if ((what & MEND_HEADER) && len >= IP6_HLEN) {
		ip[0] = (uint8_t)(0x60 | (ip[0] & 15));
		be16_store(ip + 4, (uint16_t)(len - IP6_HLEN));
	}
	assert(ip6_skip_extensions(ip, len, &proto) <= len);
	enum counter fate = ip6_check(ip, len);
	assert(fate == ip6_check_slow(ip, len));
	if (fate == CNT_NONE) {
		assert(ip6_check_forward(ip) == ip6_check_forward_slow(ip));
		for (uint8_t type = 1; type <= 4; type++)
			errors(ip, len, type, 0);
		fragments(ip, mtu);
		to_us(ip, what);
	}
	free(ip);
	return 0;
}
