/* net/routing: which protocol a frame belongs to. */
#include "tests/unit/rig/packets.h"

#include "net/eth.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/routing.h"

#define HOST IP4(192, 0, 2, 2)
#define ROUTER IP4(192, 0, 2, 1)

static uint8_t ip[128];

/* The protocol of an IPv4 packet with 8 octets of payload, of which the first are the ports. */
static enum routing_protocol four(uint8_t proto, unsigned src, unsigned dst, enum routing_to to)
{
	make_ip(ip, HOST, ROUTER, proto, NULL, 0, 8);
	put16(ip + 20, src);
	put16(ip + 22, dst);
	return routing_of_ip4(ip, to);
}

static enum routing_protocol six(uint8_t next, unsigned src, unsigned dst, enum routing_to to)
{
	memset(ip, 0, sizeof ip);
	ip[0] = 0x60;
	put16(ip + 4, 8);
	ip[6] = next;
	put16(ip + 40, src);
	put16(ip + 42, dst);
	return routing_of_ip6(ip, to);
}

static const struct {
	uint8_t proto;
	unsigned src, dst;
	enum routing_protocol v4[3], v6[3]; /* to own addresses, groups, broadcast */
} row[] = {
#define NONE ROUTING_NONE
#define OWN(p) {ROUTING_##p, NONE, NONE}
#define BOTH(p) {ROUTING_##p, ROUTING_##p, NONE}
#define ANY(p) {ROUTING_##p, ROUTING_##p, ROUTING_##p}
#define NEVER {NONE, NONE, NONE}
	{6, 1024, 179, OWN(BGP), OWN(BGP)},    {6, 179, 1024, OWN(BGP), OWN(BGP)},
	{6, 1024, 178, NEVER, NEVER},          {17, 1024, 179, NEVER, NEVER},
	{6, 1024, 646, OWN(LDP), OWN(LDP)},    {6, 646, 1024, OWN(LDP), OWN(LDP)},
	{17, 646, 646, BOTH(LDP), BOTH(LDP)},  {17, 646, 1024, NEVER, NEVER},
	{17, 49152, 3784, OWN(BFD), OWN(BFD)}, {17, 49152, 3785, OWN(BFD), OWN(BFD)},
	{17, 49152, 4784, OWN(BFD), OWN(BFD)}, {17, 3784, 49152, NEVER, NEVER},
	{6, 49152, 3784, NEVER, NEVER},        {17, 520, 520, ANY(RIP), NEVER},
	{17, 521, 521, NEVER, ANY(RIP)},       {89, 0, 0, BOTH(OSPF), ANY(OSPF)},
	{103, 0, 0, BOTH(PIM), ANY(PIM)},      {2, 0, 0, BOTH(IGMP), NEVER},
	{1, 179, 179, NEVER, NEVER},           {58, 179, 179, NEVER, NEVER},
};

static void by_ports_and_protocol(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++)
		for (unsigned to = 0; to < 3; to++) {
			assert_int_equal(four(row[i].proto, row[i].src, row[i].dst, (enum routing_to)to),
			                 row[i].v4[to]);
			if (to != ROUTING_TO_BROADCAST) /* IPv6 has none */
				assert_int_equal(six(row[i].proto, row[i].src, row[i].dst, (enum routing_to)to),
				                 row[i].v6[to]);
		}
}

static void too_short_for_ports(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 8; n++) {
		uint8_t *exact = malloc(20 + n);
		memset(exact, 0, 20 + n);
		make_ip(exact, HOST, ROUTER, 6, NULL, 0, n);
		for (unsigned k = 0; k < n; k++)
			exact[20 + k] = k == 3 ? 179 : 0;
		assert_int_equal(routing_of_ip4(exact, ROUTING_TO_OWN), n < 4 ? NONE : ROUTING_BGP);
		free(exact);
		exact = calloc(1, 40 + n);
		exact[0] = 0x60;
		exact[5] = (uint8_t)n;
		exact[6] = 6;
		if (n > 3)
			exact[43] = 179;
		assert_int_equal(routing_of_ip6(exact, ROUTING_TO_OWN), n < 4 ? NONE : ROUTING_BGP);
		exact[6] = IP6_FRAGMENT;
		if (n)
			exact[40] = 89;
		assert_int_equal(routing_of_ip6(exact, ROUTING_TO_OWN), n ? ROUTING_OSPF : NONE);
		free(exact);
	}
}

static void fragments(void **state)
{
	(void)state;
	four(6, 1024, 179, ROUTING_TO_OWN);
	put16(ip + 6, 0x2000);
	assert_int_equal(routing_of_ip4(ip, ROUTING_TO_OWN), NONE);
	four(89, 0, 0, ROUTING_TO_OWN);
	put16(ip + 6, 0x0003);
	assert_int_equal(routing_of_ip4(ip, ROUTING_TO_OWN), ROUTING_OSPF);
	six(IP6_FRAGMENT, 6 << 8, 179, ROUTING_TO_OWN);
	assert_int_equal(routing_of_ip6(ip, ROUTING_TO_OWN), NONE);
}

static void options_precede_ports(void **state)
{
	(void)state;
	static const uint8_t nops[8] = {1, 1, 1, 1, 1, 1, 1, 1};
	make_ip(ip, HOST, ROUTER, 6, nops, 8, 8);
	put16(ip + 28, 1024);
	put16(ip + 30, 179);
	assert_int_equal(routing_of_ip4(ip, ROUTING_TO_OWN), ROUTING_BGP);
}

static void discovery(void **state)
{
	(void)state;
	for (unsigned type = 0; type < 256; type++) {
		six(58, type << 8, 0, ROUTING_TO_GROUP);
		assert_int_equal(routing_is_discovery(ip), type == 133 || type == 134);
	}
	six(58, 133 << 8, 0, ROUTING_TO_GROUP);
	put16(ip + 4, 0);
	assert_false(routing_is_discovery(ip));
	six(17, 133 << 8, 0, ROUTING_TO_GROUP);
	assert_false(routing_is_discovery(ip));
}

/* A frame to that address with type or length, and octets behind it. */
static enum routing_protocol link(const char *dst, unsigned type, const char *octets, unsigned n)
{
	uint8_t *frame = calloc(1, ETH_HLEN + n);
	unsigned mac[6];
	assert_int_equal(sscanf(dst, "%x:%x:%x:%x:%x:%x", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4], &mac[5]), 6);
	for (unsigned i = 0; i < 6; i++)
		frame[i] = (uint8_t)mac[i];
	put16(frame + 12, type);
	memcpy(frame + ETH_HLEN, octets, n);
	const enum routing_protocol r = routing_of_link(frame, ETH_HLEN + n);
	free(frame);
	return r;
}

static void not_ip(void **state)
{
	(void)state;
	static const char *const isis[] = {"01:80:c2:00:00:14", "01:80:c2:00:00:15", "09:00:2b:00:00:05"};
	static const char *const lldp[] = {"01:80:c2:00:00:0e", "01:80:c2:00:00:03", "01:80:c2:00:00:00"};
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(link(isis[i], 4, "\xfe\xfe\x03\x83", 4), ROUTING_ISIS);
		assert_int_equal(link(isis[i], 3, "\xfe\xfe\x03\x83", 4), ROUTING_ISIS); /* padded */
		assert_int_equal(link(isis[i], 5, "\xfe\xfe\x03\x83", 4), NONE);         /* cut off */
		assert_int_equal(link(isis[i], 2, "\xfe\xfe", 2), NONE);
		assert_int_equal(link(isis[i], 0, "", 0), NONE);
		assert_int_equal(link(isis[i], 4, "\xaa\xaa\x03\x83", 4), NONE);
		assert_int_equal(link(isis[i], 0x88cc, "\xfe\xfe\x03\x83", 4), NONE);
		assert_int_equal(link(lldp[i], 0x88cc, "\2\7", 2), ROUTING_LLDP);
		assert_int_equal(link(lldp[i], 0x88cd, "\2\7", 2), NONE);
		assert_int_equal(link(lldp[i], 4, "\xfe\xfe\x03\x83", 4), NONE);
	}
	assert_int_equal(link("01:80:c2:00:00:16", 4, "\xfe\xfe\x03\x83", 4), NONE);
	assert_int_equal(link("02:00:00:00:00:01", 0x88cc, "\2\7", 2), NONE);
}

static void words_and_defaults(void **state)
{
	(void)state;
	for (unsigned a = 0; a < ROUTING_PROTOCOLS_END; a++) {
		assert_true(routing_desc[a].rate && routing_desc[a].burst);
		for (unsigned b = 0; b < a; b++)
			assert_string_not_equal(routing_desc[a].word, routing_desc[b].word);
	}
	assert_int_equal(ROUTING_USUAL, 1u << ROUTING_BGP | 1u << ROUTING_BFD | 1u << ROUTING_RIP |
	                                        1u << ROUTING_OSPF | 1u << ROUTING_ISIS |
	                                        1u << ROUTING_DISCOVERY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_ports_and_protocol), cmocka_unit_test(too_short_for_ports),
		cmocka_unit_test(fragments),             cmocka_unit_test(options_precede_ports),
		cmocka_unit_test(discovery),             cmocka_unit_test(not_ip),
		cmocka_unit_test(words_and_defaults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
