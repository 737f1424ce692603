/* tools/pktgen/answer: which requests are answered, with what, and which are not. */
#include "tests/unit/rig/host.h"

#include "net/arp.h"
#include "net/icmp6.h"
#include "net/nd_wire.h"
#include "tools/pktgen/frames/answer.h"

static const uint8_t ours[6] = {0x02, 0, 0, 0, 0, 1}, theirs[6] = {0x02, 0, 0, 0, 0, 9};
static const uint8_t everybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static struct net_addr ip6(uint16_t subnet, uint16_t host)
{
	uint8_t a[16] = {0x20, 0x01, 0x0d, 0xb8, (uint8_t)(subnet >> 8), (uint8_t)subnet};
	be16_store(a + 14, host);
	return net_addr_load(a);
}

/* Port 1: 198.51.100.0/24 and 2001:db8:2::/64; port 0: 192.0.2.128/25. */
static const struct plan *plan(void)
{
	static struct plan p;
	p.answers = 3;
	p.answer[0] = (struct plan_answer){.port = 1, .plen = 96 + 24, .prefix = net_addr_ip4(0xc6336400)};
	p.answer[1] = (struct plan_answer){.port = 1, .plen = 64, .prefix = ip6(2, 0)};
	p.answer[2] = (struct plan_answer){.port = 0, .plen = 96 + 25, .prefix = net_addr_ip4(0xc0000280)};
	return &p;
}

static unsigned ask_arp(uint8_t *frame, uint32_t from, uint32_t whom)
{
	struct arp_message m = {be16_make(ARP_HTYPE_ETHERNET), be16_make(ETH_TYPE_IP4), 6, 4,
	                        be16_make(ARP_OP_REQUEST), {0}, be32_make(from), {0}, be32_make(whom)};
	memset(frame, 0, ETH_FRAME_MIN);
	eth_header_build(frame, everybody, theirs, ETH_TYPE_ARP);
	memcpy(m.sha, theirs, 6);
	memcpy(frame + ETH_HLEN, &m, sizeof m);
	return ETH_FRAME_MIN;
}

static void arp_is_answered(void **state)
{
	uint8_t frame[64], out[ANSWER_BYTES_MAX];
	struct arp_message m;
	(void)state;
	unsigned len = ask_arp(frame, 0xc6336401, 0xc63364fe);
	assert_int_equal(answer_make(plan(), 1, ours, frame, len, out), ETH_FRAME_MIN);
	assert_memory_equal(out, theirs, 6);
	assert_memory_equal(out + 6, ours, 6);
	memcpy(&m, out + ETH_HLEN, sizeof m);
	assert_int_equal(be16_get(m.op), ARP_OP_REPLY);
	assert_int_equal(be32_get(m.spa), 0xc63364fe);
	assert_int_equal(be32_get(m.tpa), 0xc6336401);
	assert_memory_equal(m.sha, ours, 6);
	assert_memory_equal(m.tha, theirs, 6);
	for (unsigned i = ARP_FRAME_LEN; i < ETH_FRAME_MIN; i++)
		assert_int_equal(out[i], 0);
}

/* Each line: a request that is not for us. */
static void other_arp_is_not(void **state)
{
	uint8_t good[64], frame[64], out[ANSWER_BYTES_MAX];
	(void)state;
	unsigned len = ask_arp(good, 0xc6336401, 0xc6336402);
	assert_int_equal(answer_make(plan(), 0, ours, good, len, out), 0); /* port */
	for (unsigned n = 0; n < ARP_FRAME_LEN; n++)
		assert_int_equal(answer_make(plan(), 1, ours, good, n, out), 0);
	/* hardware type, protocol, both lengths, operation, a group as sender */
	static const struct { unsigned at; uint8_t value; } wrong[] = {
		{12, 0x09}, {15, 6}, {16, 0x86}, {18, 8}, {19, 16}, {21, ARP_OP_REPLY}, {22, 0x01}};
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		memcpy(frame, good, sizeof frame);
		frame[wrong[i].at] = wrong[i].value;
		assert_int_equal(answer_make(plan(), 1, ours, frame, len, out), 0);
	}
	static const uint32_t pairs[][2] = {
		{0, 0xc6336402},          /* a probe */
		{0xc6336402, 0xc6336402}, /* an announcement */
		{0xc6336401, 0xc6336502}, /* another subnet */
	};
	for (unsigned i = 0; i < 3; i++) {
		ask_arp(frame, pairs[i][0], pairs[i][1]);
		assert_int_equal(answer_make(plan(), 1, ours, frame, len, out), 0);
	}
	/* the edges of a prefix */
	ask_arp(frame, 0xc0000201, 0xc000027f);
	assert_int_equal(answer_make(plan(), 0, ours, frame, len, out), 0);
	ask_arp(frame, 0xc0000201, 0xc0000280);
	assert_int_not_equal(answer_make(plan(), 0, ours, frame, len, out), 0);
	static const struct plan nobody;
	assert_int_equal(answer_make(&nobody, 0, ours, frame, len, out), 0);
}

/* A solicitation as a host sends it. */
static unsigned solicit(uint8_t *frame, const struct net_addr *from, const struct net_addr *target,
                        bool with_option)
{
	struct nd_envelope e = {.src = *from, .dst = *target, .src_mac = theirs, .dst_mac = ours};
	uint8_t *icmp = frame + ND_FRAME_ICMP, *end = icmp + ND_NEIGHBOUR_LEN;
	memset(icmp, 0, ND_NEIGHBOUR_LEN);
	icmp[0] = ICMP6_NEIGHBOUR_SOLICIT;
	net_addr_store(icmp + ND_TARGET, target);
	if (with_option)
		end = nd_mac_option_put(end, ND_OPT_SOURCE_MAC, theirs);
	return nd_frame_finish(frame, &e, (unsigned)(end - icmp));
}

static void solicitation_is_answered(void **state)
{
	uint8_t frame[128], out[ANSWER_BYTES_MAX];
	const struct net_addr asker = ip6(2, 1), target = ip6(2, 77);
	struct icmp6_msg m;
	struct nd_options options;
	(void)state;
	for (unsigned option = 0; option < 2; option++) {
		unsigned len = solicit(frame, &asker, &target, option);
		assert_int_equal(answer_make(plan(), 1, ours, frame, len, out), ANSWER_BYTES_MAX);
		const uint8_t *ip = out + ETH_HLEN;
		struct ip6_upper up;
		assert_memory_equal(out, theirs, 6);
		assert_memory_equal(out + 6, ours, 6);
		assert_int_equal(ip6_check(ip, ANSWER_BYTES_MAX - ETH_HLEN), CNT_NONE);
		assert_int_equal(ip6_upper(ip, &up), CNT_NONE);
		assert_int_equal(icmp6_input(ip, up.at, &m), CNT_NONE);
		assert_int_equal(m.type, ICMP6_NEIGHBOUR_ADVERT);
		assert_int_equal(nd_check(ip, &up, &m, ND_NEIGHBOUR_LEN, &options), CNT_NONE);
		const struct net_addr src = ip6_src(ip), dst = ip6_dst(ip);
		const struct net_addr told = net_addr_load(m.icmp + ND_TARGET);
		assert_true(net_addr_equal(&src, &target) && net_addr_equal(&dst, &asker));
		assert_true(net_addr_equal(&told, &target));
		assert_int_equal(m.icmp[4], ND_NA_SOLICITED | ND_NA_OVERRIDE);
		assert_memory_equal(options.target_mac, ours, 6);
	}
}

static void other_solicitations_are_not(void **state)
{
	uint8_t good[128], frame[128], out[ANSWER_BYTES_MAX];
	const struct net_addr asker = ip6(2, 1), target = ip6(2, 77), elsewhere = ip6(3, 77);
	(void)state;
	unsigned len = solicit(good, &asker, &target, true);
	assert_int_equal(answer_make(plan(), 0, ours, good, len, out), 0); /* port */
	for (unsigned n = 0; n < len; n++)
		assert_int_equal(answer_make(plan(), 1, ours, good, n, out), 0);
	/* Any changed byte behind version, traffic class and flow label makes it invalid: by a
	 * check, or by the checksum, which is not corrected here. */
	for (unsigned at = ETH_HLEN + 4; at < len; at++) {
		memcpy(frame, good, sizeof frame);
		frame[at] ^= 0x10;
		assert_int_equal(answer_make(plan(), 1, ours, frame, len, out), 0);
	}
	const struct net_addr nobody = NET_ADDR_ANY;
	solicit(frame, &nobody, &target, false); /* duplicate address detection */
	assert_int_equal(answer_make(plan(), 1, ours, frame, len, out), 0);
	solicit(frame, &asker, &elsewhere, true);
	assert_int_equal(answer_make(plan(), 1, ours, frame, len, out), 0);
}

/* Whatever arrives, nothing is read beyond it (ASan) and no answer exceeds its maximum length. */
static void noise_does_no_harm(void **state)
{
	(void)state;
	seed_random("noise_does_no_harm");
	for (unsigned i = 0; i < 20000; i++) {
		unsigned len = random_below(100);
		uint8_t *frame = malloc(len + 1), out[ANSWER_BYTES_MAX], base[128];
		const struct net_addr asker = ip6(2, 1), target = ip6(2, (uint16_t)i);
		if (i & 1)
			ask_arp(base, 0xc6336401, 0xc6336402);
		else
			solicit(base, &asker, &target, true);
		memcpy(frame, base, len);
		for (unsigned flips = random_below(4); flips && len; flips--)
			frame[random_below(len)] ^= (uint8_t)(1u << random_below(8));
		assert_true(answer_make(plan(), 1, ours, frame, len, out) <= ANSWER_BYTES_MAX);
		free(frame);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arp_is_answered),
		cmocka_unit_test(other_arp_is_not),
		cmocka_unit_test(solicitation_is_answered),
		cmocka_unit_test(other_solicitations_are_not),
		cmocka_unit_test(noise_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
