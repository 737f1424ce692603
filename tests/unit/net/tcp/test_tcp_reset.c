/* net/tcp/reset: RFC 9293 3.10.7.1, for every combination of flags. */
#include "tests/unit/rig/packets.h"

#include "net/ip4.h"
#include "net/ip6.h"
#include "net/tcp/reset.h"

#define HOST IP4(192, 0, 2, 1)
#define ROUTER IP4(192, 0, 2, 254)

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

static uint8_t ip[2000];

static uint16_t slow_tcp_csum(const uint8_t *packet)
{
	static uint8_t all[12 + 2000];
	unsigned header = (packet[0] & 15u) * 4;
	unsigned n = (unsigned)(packet[2] << 8 | packet[3]) - header;
	memcpy(all, packet + 12, 8);
	put16(all + 8, 6);
	put16(all + 10, n);
	memcpy(all + 12, packet + header, n);
	return slow_csum(all, 12 + n);
}

/* Makes a segment with nopt bytes of TCP options and n of payload; returns the packet's length. */
static unsigned make_tcp(unsigned ip_options, uint8_t flags, uint32_t seq, uint32_t ack,
                         unsigned nopt, unsigned n)
{
	const uint8_t nops[40] = {1, 1, 1, 1, 1, 1, 1, 1};
	unsigned len = make_ip(ip, HOST, ROUTER, 6, nops, ip_options, 20 + nopt + n);
	uint8_t *tcp = ip + 20 + ip_options;
	put16(tcp, 40000);
	put16(tcp + 2, 80);
	put32(tcp + 4, seq);
	put32(tcp + 8, ack);
	tcp[12] = (uint8_t)((20 + nopt) / 4 << 4);
	tcp[13] = flags;
	put32(tcp + 14, 0xffff0000);
	put16(tcp + 18, 0);
	memset(tcp + 20, 1, nopt);
	random_fill(tcp + 20 + nopt, n);
	put16(tcp + 16, slow_tcp_csum(ip));
	return len;
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void every_flag(void **s)
{
	uint8_t out[TCP_RESET_BYTES];
	unsigned n;
	(void)s;
	for (unsigned flags = 0; flags < 256; flags++) {
		for (unsigned size = 0; size < 4; size++) {
			const uint32_t seq = 0xffffffff, ack = 0x89abcdef;
			make_tcp(size * 4, (uint8_t)flags, seq, ack, size * 8, size);
			/* Flags that no TCP sends together are treated as by the rest of TCP. */
			bool bad = flags & SYN && flags & (FIN | RST);
			assert_int_equal(tcp_reset_build(out, &n, ip, false),
			                 bad ? CNT_drop_tcp_malformed : CNT_drop_tcp_port);
			if (bad || flags & RST) {
				assert_int_equal(n, 0);
				continue;
			}
			assert_int_equal(n, 40);
			assert_int_equal(ip4_check(out, n), CNT_NONE);
			assert_true(ip4_src(out) == ROUTER && ip4_dst(out) == HOST);
			assert_int_equal(slow_tcp_csum(out), 0);
			assert_int_equal(get32(out + 20), 80u << 16 | 40000);
			assert_int_equal(out[32], 0x50);
			uint32_t space = size + !!(flags & SYN) + !!(flags & FIN);
			assert_int_equal(out[33], flags & ACK ? RST : RST | ACK);
			assert_int_equal(get32(out + 24), flags & ACK ? ack : 0);
			assert_int_equal(get32(out + 28), flags & ACK ? 0 : seq + space);
		}
	}
}

/* The same over IPv6, also behind `ext` bytes of destination options. */
static void every_flag6(void **s)
{
	uint8_t out[TCP_RESET_BYTES];
	unsigned n;
	(void)s;
	for (unsigned flags = 0; flags < 256; flags++) {
		for (unsigned ext = 0; ext <= 8; ext += 8) {
			const uint8_t options[8] = {6, 0, 1, 4};
			uint8_t *tcp = ip + 40 + ext;
			make_ip6(ip, "2001:db8::1", "fe80::fe", ext ? 60 : 6, ext + 21);
			memcpy(ip + 40, options, ext);
			memset(tcp, 0, 21);
			put16(tcp, 40000);
			put16(tcp + 2, 80);
			put32(tcp + 4, 0xffffffff);
			put32(tcp + 8, 0x89abcdef);
			tcp[12] = 5 << 4;
			tcp[13] = (uint8_t)flags;
			put16(tcp + 16, slow_csum6(ip, 40 + ext, 21, 6));
			bool bad = flags & SYN && flags & (FIN | RST);
			assert_int_equal(tcp_reset_build(out, &n, ip, false),
			                 bad ? CNT_drop_tcp_malformed : CNT_drop_tcp_port);
			if (bad || flags & RST) {
				assert_int_equal(n, 0);
				continue;
			}
			assert_int_equal(n, 60);
			assert_int_equal(ip6_check(out, n), CNT_NONE);
			assert_int_equal(ip6_total_len(out), n);
			assert_memory_equal(out + 8, ip + 24, 16);
			assert_memory_equal(out + 24, ip + 8, 16);
			assert_int_equal(slow_csum6(out, 40, 20, 6), 0);
			assert_int_equal(get32(out + 40), 80u << 16 | 40000);
			uint32_t space = 1 + !!(flags & SYN) + !!(flags & FIN);
			assert_int_equal(out[53], flags & ACK ? RST : RST | ACK);
			assert_int_equal(get32(out + 44), flags & ACK ? 0x89abcdef : 0);
			assert_int_equal(get32(out + 48), flags & ACK ? 0 : 0xffffffff + space);
			ip[ext + 55] ^= 1;
			assert_int_equal(tcp_reset_build(out, &n, ip, false), CNT_drop_tcp_malformed);
		}
	}
}

static void malformed(void **s)
{
	uint8_t out[TCP_RESET_BYTES];
	unsigned n = 1;
	(void)s;
	make_tcp(0, SYN, 1, 2, 4, 10);
	for (unsigned bit = 20 * 8; bit < 54 * 8; bit++) {
		ip[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(tcp_reset_build(out, &n, ip, false), CNT_drop_tcp_malformed);
		assert_int_equal(n, 0);
		ip[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	/* The header does not fit the packet, whatever the checksum is. */
	for (unsigned offset = 0; offset < 16; offset++) {
		ip[32] = (uint8_t)(offset << 4);
		bool good = offset >= 5 && offset * 4 <= 34;
		assert_int_equal(tcp_reset_build(out, &n, ip, true),
		                 good ? CNT_drop_tcp_port : CNT_drop_tcp_malformed);
	}
	for (unsigned len = 0; len < 20; len++) {
		make_ip(ip, HOST, ROUTER, 6, NULL, 0, len);
		assert_int_equal(tcp_reset_build(out, &n, ip, true), CNT_drop_tcp_malformed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_flag),
		cmocka_unit_test(every_flag6),
		cmocka_unit_test(malformed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
