/*
 * IPv4 and ICMP of net/: the input is a byte that says what to correct, then a packet. What the
 * checks accept must pass through everything behind them correctly.
 */
#include "tests/fuzz/input.h"

#include "lib/csum.h"
#include "net/icmp4.h"
#include "net/ip4.h"

enum mend {
	MEND_HEADER = 1, /* its checksum is corrected */
	MEND_LENGTH = 2, /* the total length is set to that of the input */
	MEND_ICMP = 4,   /* the checksum of ICMP */
};

static uint8_t scratch[2048];

static uint16_t sum_of(const uint8_t *p, size_t n) { return csum_fold(csum_partial(p, n, 0)); }

static void mend(uint8_t *ip, size_t n, unsigned what)
{
	if (n < IP4_HLEN || ip4_header_len(ip) < IP4_HLEN || ip4_header_len(ip) > n)
		return;
	unsigned header = ip4_header_len(ip);
	if ((what & MEND_LENGTH) && n <= 65535)
		be16_store(ip + 2, (uint16_t)n);
	unsigned total = ip4_total_len(ip);
	if ((what & MEND_ICMP) && total <= n && total >= header + 8) {
		raw16_store(ip + header + 2, 0);
		raw16_store(ip + header + 2, sum_of(ip + header, total - header));
	}
	if (what & MEND_HEADER)
		ip4_checksum_set(ip);
}

static void fragments(const uint8_t *ip, unsigned mtu)
{
	struct ip4_frag it;
	unsigned n, total = 0, payload = ip4_total_len(ip) - ip4_header_len(ip);
	if (ip4_frag_init(&it, ip, mtu) != E_OK)
		return;
	while ((n = ip4_frag_next(&it, scratch, sizeof scratch)) != 0) {
		assert(n <= mtu && ip4_check(scratch, n) == CNT_NONE);
		total += n - ip4_header_len(scratch);
	}
	assert(total == payload);
}

static void errors(const uint8_t *ip, unsigned len)
{
	struct icmp4_msg m;
	const struct icmp4_error e = {.src = IP4(192, 0, 2, 1), .type = ICMP4_TIME_EXCEEDED};
	if (!icmp4_error_allowed(ip, len))
		return;
	unsigned n = icmp4_error_build(scratch, sizeof scratch, ip, len, &e);
	assert(n >= 48 && n <= ICMP4_ERROR_MAX && ip4_check(scratch, n) == CNT_NONE);
	assert(icmp4_input(scratch, n, &m) == CNT_delivered_icmp && m.kind == ICMP4_KIND_ERROR);
	assert(!icmp4_error_allowed(scratch, n)); /* RFC 1122 3.2.2: no error about an error */
}

static void messages(uint8_t *ip, unsigned len)
{
	struct icmp4_msg m;
	if (ip4_proto(ip) != IP4_PROTO_ICMP || ip4_is_fragment(ip) ||
	    icmp4_input(ip, len, &m) != CNT_delivered_icmp)
		return;
	assert(m.data >= ip && m.data + m.data_len <= ip + len);
	if (m.kind != ICMP4_KIND_ECHO_REQUEST)
		return;
	icmp4_echo_reply_make(ip, len);
	assert(icmp4_input(ip, len, &m) == CNT_delivered_icmp && m.kind == ICMP4_KIND_ECHO_REPLY);
	assert(sum_of(ip, ip4_header_len(ip)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	unsigned what = take8(&in), mtu = 68 + take8(&in) * 6u;
	uint8_t *ip = exactly(in.p, in.n);
	mend(ip, in.n, what);
	unsigned len = (unsigned)in.n;
	enum counter fate = ip4_check(ip, len);
	assert(fate == ip4_check_slow(ip, len));
	if (fate == CNT_NONE) {
		assert(ip4_options_error(ip) == 0);
		fragments(ip, mtu);
		errors(ip, len);
		if (ip4_ttl(ip) > 0)
			ip4_ttl_decrement(ip);
		assert(sum_of(ip, ip4_header_len(ip)) == 0);
		messages(ip, len);
	}
	free(ip);
	return 0;
}
