/* net/rss against Microsoft's "Verifying the RSS hash calculation", with the key that all drivers
 * use, and against the definition bit by bit. */
#include "tests/unit/rig/host.h"

#include <arpa/inet.h>

#include "drivers/nic.h"
#include "lib/bytes.h"
#include "net/rss.h"

static const uint8_t key[] = NIC_RSS_KEY;
_Static_assert(sizeof key == RSS_KEY_BYTES && NIC_RSS_KEY_BYTES == RSS_KEY_BYTES, "one key");

static uint32_t ip4(const char *text)
{
	struct in_addr a;
	assert_int_equal(inet_pton(AF_INET, text, &a), 1);
	return ntohl(a.s_addr);
}

static void published_ip4(void **s)
{
	(void)s;
	const struct {
		const char *dst;
		uint16_t dst_port;
		const char *src;
		uint16_t src_port;
		uint32_t ip, tcp;
	} v[] = {
		{"161.142.100.80", 1766, "66.9.149.187", 2794, 0x323e8fc2, 0x51ccc178},
		{"65.69.140.83", 4739, "199.92.111.2", 14230, 0xd718262a, 0xc626b0ea},
		{"12.22.207.184", 38024, "24.19.198.95", 12898, 0xd2d0a5de, 0x5c2b394a},
		{"209.142.163.6", 2217, "38.27.205.30", 48228, 0x82989176, 0xafc7327f},
		{"202.188.127.2", 1303, "153.39.163.191", 44251, 0x5d1809c5, 0x10e828a2},
	};
	for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
		uint32_t src = ip4(v[i].src), dst = ip4(v[i].dst);
		assert_int_equal(rss_hash_ip4(key, src, dst), v[i].ip);
		assert_int_equal(rss_hash_tcp4(key, src, dst, v[i].src_port, v[i].dst_port),
		                 v[i].tcp);
	}
}

static void published_ip6(void **s)
{
	(void)s;
	const struct {
		const char *dst;
		uint16_t dst_port;
		const char *src;
		uint16_t src_port;
		uint32_t ip, tcp;
	} v[] = {
		{"3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2cc18cd5, 0x40207d3d},
		{"ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0f0c461c, 0xdde51bbf},
		{"fe80::200:f8ff:fe21:67cf", 38024, "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251,
		 0x4b61e985, 0x02d1feef},
	};
	for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
		uint8_t src[16], dst[16];
		assert_int_equal(inet_pton(AF_INET6, v[i].src, src), 1);
		assert_int_equal(inet_pton(AF_INET6, v[i].dst, dst), 1);
		assert_int_equal(rss_hash_ip6(key, src, dst), v[i].ip);
		assert_int_equal(rss_hash_tcp6(key, src, dst, v[i].src_port, v[i].dst_port),
		                 v[i].tcp);
	}
}

/* The definition: for each bit of the input, from the left, the leftmost 32 bits of the key, which
 * is then shifted left by one. */
static uint32_t slow_hash(const uint8_t *k, const uint8_t *input, unsigned n)
{
	uint32_t hash = 0;
	for (unsigned bit = 0; bit < 8 * n; bit++) {
		if (!(input[bit / 8] & 0x80 >> bit % 8))
			continue;
		for (unsigned b = 0; b < 32; b++)
			if (k[(bit + b) / 8] & 0x80 >> (bit + b) % 8)
				hash ^= 0x80000000u >> b;
	}
	return hash;
}

static void any_input_and_key(void **s)
{
	(void)s;
	seed_random("any_input_and_key");
	for (int round = 0; round < 20000; round++) {
		uint8_t k[RSS_KEY_BYTES], in[36];
		random_fill(k, sizeof k);
		random_fill(in, sizeof in);
		uint32_t src = be32_load(in), dst = be32_load(in + 4);
		uint16_t sport = be16_load(in + 8), dport = be16_load(in + 10);
		assert_int_equal(rss_hash_ip4(k, src, dst), slow_hash(k, in, 8));
		assert_int_equal(rss_hash_tcp4(k, src, dst, sport, dport), slow_hash(k, in, 12));
		sport = be16_load(in + 32);
		dport = be16_load(in + 34);
		assert_int_equal(rss_hash_ip6(k, in, in + 16), slow_hash(k, in, 32));
		assert_int_equal(rss_hash_tcp6(k, in, in + 16, sport, dport), slow_hash(k, in, 36));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_ip4),
		cmocka_unit_test(published_ip6),
		cmocka_unit_test(any_input_and_key),
	};
	return cmocka_run_group_tests_name("rss", tests, NULL, NULL);
}
