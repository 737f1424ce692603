/* runtime/bucket_hash: the verification suite of Microsoft's RSS documents, and frames whose hash cards do not agree on. */
#include "tests/unit/rig/host.h"

#include "runtime/bucket_hash.h"

static uint8_t frame[128];

static void put16(uint8_t *at, unsigned v)
{
	at[0] = (uint8_t)(v >> 8);
	at[1] = (uint8_t)v;
}

/* An Ethernet frame, with a VLAN tag if `tags` is 1 or two if it is 2; returns where the packet begins. */
static uint8_t *eth(unsigned tags, unsigned type)
{
	uint8_t *at = frame + 12;
	memset(frame, 0, sizeof frame);
	for (unsigned i = 0; i < tags; i++, at += 4)
		memcpy(at, (uint8_t[]){0x81, 0, 0, 5}, 4);
	put16(at, type);
	return at + 2;
}

/* IPv4 with `options` words of options. */
static uint8_t *ip4(unsigned tags, uint8_t proto, unsigned options, const uint8_t *src, const uint8_t *dst, unsigned sport,
                    unsigned dport)
{
	uint8_t *ip = eth(tags, 0x0800);
	ip[0] = (uint8_t)(0x45 + options);
	ip[6] = 0x40; /* DF is not part of it */
	ip[9] = proto;
	memcpy(ip + 12, src, 4);
	memcpy(ip + 16, dst, 4);
	put16(ip + 20 + 4 * options, sport);
	put16(ip + 22 + 4 * options, dport);
	return ip;
}

static void is(uint32_t expected)
{
	uint32_t hash = 0;
	assert_true(bucket_hash(frame, sizeof frame, &hash));
	assert_int_equal(hash, expected);
}

static void unknown(void)
{
	uint32_t hash;
	assert_false(bucket_hash(frame, sizeof frame, &hash));
}

static const struct {
	uint8_t dst[4], src[4];
	uint16_t dport, sport;
	uint32_t alone, ports; /* the hash of the addresses; of all */
} four[] = {
	{{161, 142, 100, 80}, {66, 9, 149, 187}, 1766, 2794, 0x323e8fc2, 0x51ccc178},
	{{65, 69, 140, 83}, {199, 92, 111, 2}, 4739, 14230, 0xd718262a, 0xc626b0ea},
	{{12, 22, 207, 184}, {24, 19, 198, 95}, 38024, 12898, 0xd2d0a5de, 0x5c2b394a},
	{{209, 142, 163, 6}, {38, 27, 205, 30}, 2217, 48228, 0x82989176, 0xafc7327f},
	{{202, 188, 127, 2}, {153, 39, 163, 191}, 1303, 44251, 0x5d1809c5, 0x10e828a2},
};

static void documents4(void **s)
{
	(void)s;
	for (unsigned i = 0; i < sizeof four / sizeof four[0]; i++)
		for (unsigned tags = 0; tags < 2; tags++)
			for (unsigned options = 0; options < 11; options += 5) {
				ip4(tags, 6, options, four[i].src, four[i].dst, four[i].sport, four[i].dport);
				is(four[i].ports);
				ip4(tags, 17, options, four[i].src, four[i].dst, four[i].sport, four[i].dport);
				is(four[i].ports);
				ip4(tags, 1, options, four[i].src, four[i].dst, four[i].sport, four[i].dport);
				is(four[i].alone);
			}
}

static void documents6(void **s)
{
	(void)s;
	static const uint8_t src[16] = {0x3f, 0xfe, 0x25, 0x01, 0x02, 0, 0x1f, 0xff, [15] = 7};
	static const uint8_t dst[16] = {0x3f, 0xfe, 0x25, 0x01, 0x02, 0, 0x00, 0x03, [15] = 1};
	uint8_t *ip = eth(0, 0x86dd);
	ip[0] = 0x60;
	ip[6] = 6;
	memcpy(ip + 8, src, 16);
	memcpy(ip + 24, dst, 16);
	put16(ip + 40, 2794);
	put16(ip + 42, 1766);
	is(0x40207d3d);
	ip[6] = 17;
	is(0x40207d3d);
	ip[6] = 58;
	is(0x2cc18cd5);
	static const uint8_t extensions[] = {0, 43, 44, 50, 51, 60, 135, 139, 140};
	for (unsigned i = 0; i < sizeof extensions; i++) {
		ip[6] = extensions[i];
		unknown();
	}
}

static void not_alike(void **s)
{
	(void)s;
	uint8_t *ip = ip4(2, 17, 0, four[0].src, four[0].dst, 1, 2); /* two tags */
	unknown();
	ip = ip4(0, 17, 0, four[0].src, four[0].dst, 1, 2);
	ip[6] = 0x20; /* more fragments */
	unknown();
	ip[6] = 0;
	ip[7] = 1; /* another fragment */
	unknown();
	ip = ip4(0, 17, 0, four[0].src, four[0].dst, 1, 2);
	ip[0] = 0x44;
	unknown();
	ip[0] = 0x65;
	unknown();
	eth(0, 0x0806);
	unknown();
	ip = eth(0, 0x86dd);
	ip[0] = 0x40;
	unknown();
}

/* Nothing is read beyond the frame: the sanitizer would see it. A frame that is cut has no hash, or that of its
 * addresses where these are all that counts. */
static void cut(void **s)
{
	(void)s;
	for (unsigned kind = 0; kind < 4; kind++) {
		uint8_t *ip = kind < 2 ? ip4(kind, 17, 0, four[0].src, four[0].dst, 1, 2) : eth(kind - 2, 0x86dd);
		if (kind >= 2) {
			ip[0] = 0x60;
			ip[6] = 17;
		}
		const size_t whole = (size_t)(ip - frame) + (kind < 2 ? 24 : 44);
		for (size_t n = 0; n <= whole; n++) {
			uint8_t *exact = malloc(n ? n : 1);
			uint32_t hash;
			memcpy(exact, frame, n);
			assert_int_equal(bucket_hash(exact, n, &hash), n == whole);
			free(exact);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(documents4), cmocka_unit_test(documents6),
	                                   cmocka_unit_test(not_alike), cmocka_unit_test(cut)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
