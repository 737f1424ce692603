/* net/match and control/match_words: words as typed, against constructed frames, and frames of any
 * bytes and lengths. */
#include "tests/unit/rig/host.h"

#include "control/text/match_words.h"
#include "net/eth.h"
#include "tests/unit/rig/packets.h"

#define WORDS_MAX 24

static struct match match;
static unsigned bad;
static const char *why;

static int read_words(const char *line)
{
	static char copy[256];
	char *word[WORDS_MAX];
	unsigned n = 0;
	snprintf(copy, sizeof copy, "%s", line);
	for (char *w = strtok(copy, " "); w; w = strtok(NULL, " ")) {
		assert_true(n < WORDS_MAX);
		word[n++] = w;
	}
	return match_words(&match, word, n, &bad, &why);
}

/* --- frames --- */

static uint8_t frame[256];
static unsigned len;

static void ethernet(uint16_t type)
{
	memset(frame, 0, sizeof frame);
	put16(frame + 12, type);
	len = ETH_HLEN;
}

static void tag(uint16_t type, uint16_t vlan)
{
	memmove(frame + 16, frame + 12, sizeof frame - 16);
	put16(frame + 12, type);
	put16(frame + 14, vlan);
	len += 4;
}

/* 192.0.2.1 port 1000 to 198.51.100.2 port 53. */
static void ip4(uint8_t proto, unsigned options)
{
	ethernet(ETH_TYPE_IP4);
	uint8_t *ip = frame + len;
	ip[0] = (uint8_t)(0x45 + options / 4);
	ip[9] = proto;
	put32(ip + 12, 0xc0000201);
	put32(ip + 16, 0xc6336402);
	put16(ip + 20 + options, 1000);
	put16(ip + 22 + options, 53);
	len += 40 + options;
}

/* 2001:db8::1 to 2001:db8:1::2, the same ports, behind `options` times 8 bytes of options. */
static void ip6(uint8_t proto, unsigned options)
{
	ethernet(ETH_TYPE_IP6);
	uint8_t *ip = frame + len;
	ip[0] = 0x60;
	ip[6] = options ? 60 : proto;
	put32(ip + 8, 0x20010db8);
	ip[23] = 1;
	put32(ip + 24, 0x20010db8);
	put32(ip + 28, 0x00010000);
	ip[39] = 2;
	for (unsigned i = 0; i < options; i++)
		ip[40 + 8 * i] = i + 1 < options ? 60 : proto;
	put16(ip + 40 + 8 * options, 1000);
	put16(ip + 42 + 8 * options, 53);
	len += 60 + 8 * options;
}

static bool is(const char *line)
{
	struct match_frame f;
	assert_int_equal(read_words(line), E_OK);
	/* In exactly this many bytes: ASan detects reads beyond. */
	uint8_t *exact = malloc(len ? len : 1);
	memcpy(exact, frame, len);
	match_read(&f, exact, len);
	free(exact);
	return match_is(&match, &f);
}

/* --- tests --- */

static void primitives(void **state)
{
	(void)state;
	ip4(17, 0);
	assert_true(is("") && is("ip") && is("udp") && is("proto 17") && is("port 53"));
	assert_false(is("ip6") || is("tcp") || is("proto 6") || is("port 54") || is("arp"));
	assert_true(is("src port 1000") && is("dst port 53") && is("port 1000"));
	assert_false(is("dst port 1000") || is("src port 53"));
	assert_true(is("host 192.0.2.1") && is("src host 192.0.2.1") && is("dst host 198.51.100.2"));
	assert_false(is("dst host 192.0.2.1") || is("host 192.0.2.2") || is("host 2001:db8::1"));
	assert_true(is("net 192.0.2.0/24") && is("src net 192.0.2.0/31") && is("net 0.0.0.0/0"));
	assert_false(is("dst net 192.0.2.0/24") || is("net ::/0") || is("net 10.0.0.0/8"));
	assert_false(is("vlan") || is("vlan 0"));
	assert_true(is("UDP") && is("Src Host 192.0.2.1"));
	ip6(17, 0);
	assert_true(is("ip6") && is("udp") && is("dst port 53") && is("host 2001:db8:1::2"));
	assert_true(is("src net 2001:db8::/48") && is("net ::/0") && !is("net 0.0.0.0/0"));
	assert_false(is("ip") || is("dst host 2001:db8::1") || is("icmp6"));
}

static void together(void **state)
{
	(void)state;
	ip4(17, 0);
	assert_true(is("udp and port 53") && is("udp port 53") && is("not tcp") && is("tcp or udp"));
	assert_false(is("not udp") || is("udp and not port 53") || is("tcp or arp"));
	/* evaluated from left to right */
	assert_true(is("tcp and port 53 or udp") && is("arp or udp and port 53"));
	assert_false(is("udp or tcp and port 54") || is("udp or udp and arp"));
	assert_true(is("not arp not tcp") && is("arp or not tcp"));
}

static void headers(void **state)
{
	(void)state;
	ip4(6, 8); /* behind options */
	assert_true(is("tcp and dst port 53"));
	ip4(132, 0);
	assert_true(is("sctp port 53"));
	ip4(1, 0);
	assert_true(is("icmp") && !is("port 53"));
	ip4(17, 0);
	put16(frame + ETH_HLEN + 6, 0x2000); /* the first fragment has ports */
	assert_true(is("port 53"));
	put16(frame + ETH_HLEN + 6, 1); /* later ones have none */
	assert_true(is("udp") && !is("port 53") && is("not port 53"));
	ip6(6, 3);
	assert_true(is("tcp and dst port 53"));
	ip4(17, 0);
	tag(0x8100, 0xe007);
	assert_true(is("vlan") && is("vlan 7") && !is("vlan 8") && is("vlan port 53") && is("ip"));
	tag(0x88a8, 5);
	assert_true(is("vlan 5 and udp") && !is("vlan 7"));
	ethernet(ETH_TYPE_ARP);
	put16(frame + 16, ETH_TYPE_IP4);
	put32(frame + 28, 0xc0000201);
	put32(frame + 38, 0xc0000207);
	len = 60;
	assert_true(is("arp") && is("src host 192.0.2.1") && is("dst host 192.0.2.7"));
}

/* A frame truncated anywhere yields the fields that are complete, and nothing is read behind it. */
static void short_frames(void **state)
{
	(void)state;
	for (unsigned options = 0; options <= 40; options += 4)
		for (unsigned n = 0; n < ETH_HLEN + 60; n++) {
			ip4(17, options);
			len = n;
			assert_int_equal(is("ip"), n >= ETH_HLEN);
			assert_int_equal(is("udp"), n >= ETH_HLEN + 20);
			assert_int_equal(is("port 53"), n >= ETH_HLEN + 24 + options);
		}
	for (unsigned n = 0; n < ETH_HLEN + 80; n++) {
		ip6(17, 2);
		len = n;
		assert_int_equal(is("host 2001:db8::1"), n >= ETH_HLEN + 40);
		assert_int_equal(is("port 53"), n >= ETH_HLEN + 60);
	}
}

static void any_bytes(void **state)
{
	static const uint16_t types[] = {ETH_TYPE_IP4, ETH_TYPE_IP6, ETH_TYPE_ARP, 0x8100, 0x88a8};
	(void)state;
	seed_random("any_bytes");
	for (unsigned i = 0; i < 200000; i++) {
		random_fill(frame, sizeof frame);
		len = random_below(120);
		put16(frame + 12, types[random_below(ARRAY_LEN(types))]);
		put16(frame + 16, types[random_below(ARRAY_LEN(types))]);
		frame[14] = (uint8_t)(random_below(2) ? 0x45 : 0x60);
		is("port 53 or host 192.0.2.1 or vlan 7 or icmp6");
	}
}

static void refused(const char *line, unsigned word, const char *reason)
{
	assert_int_equal(read_words(line), E_INVAL);
	assert_string_equal(why, reason);
	assert_int_equal(bad, word);
}

static void wrong_words(void **state)
{
	(void)state;
	refused("nonsense", 0, "expected a filter term");
	refused("udp and", 2, "expected a filter term");
	refused("udp or or tcp", 2, "expected a filter term");
	refused("and udp", 0, "expected a filter term");
	refused("not", 1, "expected a filter term");
	refused("src", 1, "host, net or port has to follow");
	refused("dst tcp", 1, "host, net or port has to follow");
	refused("host", 1, "host takes an address");
	refused("host 1.2.3", 1, "host takes an address");
	refused("net 10.0.0.0", 1, "net takes a prefix");
	refused("net 10.0.0.0/33", 1, "net takes a prefix");
	refused("port 65536", 1, "a port is a number from 0 to 65535");
	refused("port", 1, "a port is a number from 0 to 65535");
	refused("proto 256", 1, "a protocol is a number from 0 to 255");
	refused("vlan 4095", 1, "a VLAN is a number from 0 to 4094");
	refused("ip ip ip ip ip ip ip ip ip", 8, "too many terms; at most 8");
	assert_int_equal(read_words("ip ip ip ip ip ip ip ip"), E_OK);
}

static void flows(void **state)
{
	struct match_frame f;
	(void)state;
	ip4(6, 0);
	match_read(&f, frame, len);
	const struct match_flow there = {f.src, f.dst, 1000, 53}, back = {f.dst, f.src, 53, 1000};
	const struct match_flow other = {f.src, f.dst, 53, 1000}, port = {f.src, f.dst, 1001, 53};
	assert_true(match_is_flow(&there, &f) && match_is_flow(&back, &f));
	assert_false(match_is_flow(&other, &f) || match_is_flow(&port, &f));
	ip4(17, 0);
	match_read(&f, frame, len);
	assert_false(match_is_flow(&there, &f));
}

static struct match_term random_term(void)
{
	static const uint16_t numbers[] = {ETH_TYPE_IP4, 6, 17, 53, 1000, 132, MATCH_ANY, 1};
	const uint32_t addr = random_below(2) ? 0xc0000201 : 0xc6336402;
	return (struct match_term){.kind = (uint8_t)random_below(MATCH_PORT + 1),
	                           .direction = (uint8_t)random_below(3),
	                           .not = random_below(4) == 0,
	                           .or = random_below(2) == 0,
	                           .plen = (uint8_t)(random_below(3) ? 96 + random_below(33) : random_below(129)),
	                           .number = numbers[random_below(ARRAY_LEN(numbers))],
	                           .addr = random_below(4) ? net_addr_ip4(addr ^ random_below(4))
	                                                   : (struct net_addr){{random_below(2), 0, 0, 1}}};
}

/* match_wants() answers what the long way answers: filters and frames at random, of which most have the
 * shape that it knows. */
static void wanted(void **state)
{
	static const uint8_t protos[] = {6, 17, 132, 1};
	unsigned yes = 0, own = 0;
	(void)state;
	seed_random("wanted");
	for (unsigned round = 0; round < random_rounds(200000); round++) {
		struct match m = {.vlan = random_below(16) ? 0 : 1, .terms = random_below(MATCH_TERMS_MAX + 1)};
		for (unsigned i = 0; i < m.terms; i++)
			m.term[i] = random_term();
		ip4(protos[random_below(4)], random_below(8) ? 0 : 4);
		if (random_below(8) == 0)
			put16(frame + 20, (uint16_t)random_below(0x10000)); /* a fragment */
		if (random_below(8) == 0)
			tag(0x8100, (uint16_t)random_below(3));
		if (random_below(8) == 0)
			frame[random_below(len)] ^= (uint8_t)(1u << random_below(8));
		if (random_below(8) == 0)
			len = random_below(len + 1);
		uint8_t *copy = malloc(len ? len : 1);
		memcpy(copy, frame, len);
		struct match_frame f;
		struct match_flow flow = {net_addr_ip4(0xc0000201), net_addr_ip4(0xc6336402), 1000, 53};
		if (random_below(2))
			flow = (struct match_flow){flow.b, flow.a, flow.b_port, flow.a_port};
		flow.a_port = (uint16_t)(flow.a_port + (random_below(4) == 0));
		match_read(&f, copy, len);
		const bool is = match_is(&m, &f), of = match_is_flow(&flow, &f);
		assert_int_equal(match_wants(&m, &flow, copy, len), is && !of);
		yes += is && !of;
		own += is && of;
		free(copy);
	}
	assert_true(yes > random_rounds(20000) && own > random_rounds(5000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(primitives),   cmocka_unit_test(together),  cmocka_unit_test(headers),
		cmocka_unit_test(short_frames), cmocka_unit_test(any_bytes), cmocka_unit_test(wrong_words),
		cmocka_unit_test(flows),         cmocka_unit_test(wanted),
	};
	return cmocka_run_group_tests_name("match", tests, NULL, NULL);
}
