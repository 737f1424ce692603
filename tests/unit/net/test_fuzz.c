/*
 * Random and mutated packets through everything in net/ that handles bytes from outside. Each
 * packet lies in a heap block of exactly its length, so that ASan detects a read of one byte too
 * many.
 */
#include "tests/unit/rig/packets.h"

#include "net/arp.h"
#include "net/icmp4.h"
#include "net/ip4.h"
#include "net/udp.h"

#define PACKETS 200000
#define US IP4(10, 0, 0, 1)

static uint8_t *scratch; /* for built packets */

static void mutate(uint8_t *p, unsigned n)
{
	for (unsigned k = random_below(4); k > 0 && n > 0; k--) {
		unsigned at = random_below(n);
		switch (random_below(4)) {
		case 0:
			p[at] ^= (uint8_t)(1 << random_below(8));
			break;
		case 1:
			p[at] = (uint8_t)random64();
			break;
		case 2:
			p[at] = random_below(2) ? 0 : 0xff;
			break;
		default:
			p[at] = (uint8_t)(p[at] + 1);
		}
	}
}

/* A mostly valid packet: random options, protocol, addresses, length, fragment field. */
static unsigned plausible(uint8_t *p, unsigned room)
{
	const uint32_t addr[] = {US, IP4(10, 0, 0, 9), IP4(192, 0, 2, 1), IP4(224, 0, 0, 1),
	                         IP4_BROADCAST, 0, IP4(127, 0, 0, 1)};
	const uint8_t kind[] = {0, 1, 7, 68, 130, 131, 137, 148};
	uint8_t opt[40];
	unsigned nopt = random_below(3) ? 0 : 4 * random_below(11);
	for (unsigned i = 0; i < nopt; i++)
		opt[i] = random_below(2) ? kind[random_below(8)] : (uint8_t)random_below(12);
	unsigned n = random_below(random_below(4) ? 80 : room - 60);
	random_fill(p, 20 + nopt + 8 < room ? 20 + nopt + 8 : room);
	const uint8_t proto[] = {1, 17, 6};
	unsigned len = make_ip(p, addr[random_below(random_below(2) ? 3 : 7)], addr[random_below(random_below(2) ? 3 : 7)],
	                       proto[random_below(3)], opt, nopt, n);
	uint8_t *l4 = p + 20 + nopt;
	if (random_below(3) == 0)
		put16(p + 6, (uint16_t)random64());
	if (p[9] == 17 && n >= 8)
		put16(l4 + 4, random_below(4) ? n : (uint16_t)random64());
	if (p[9] == 1 && n >= 8) {
		l4[0] = random_below(4) ? 8 * (uint8_t)random_below(2) : (uint8_t)random_below(20);
		l4[1] = 0;
		put16(l4 + 2, 0);
		put16(l4 + 2, slow_csum(l4, n));
	}
	slow_ip_csum(p);
	return len;
}

static void through_fragments(const uint8_t *ip)
{
	struct ip4_frag it;
	unsigned mtu = random_below(random_below(2) ? 100 : 1600), n, total = 0;
	if (ip4_frag_init(&it, ip, mtu) != 0) {
		assert_int_equal(ip4_frag_next(&it, scratch, 2000), 0);
		return;
	}
	unsigned payload = ip4_total_len(ip) - ip4_header_len(ip);
	while ((n = ip4_frag_next(&it, scratch, 2000)) != 0) {
		assert_true(n <= mtu && n <= 2000);
		assert_int_equal(ip4_check(scratch, n), CNT_NONE);
		total += n - ip4_header_len(scratch);
	}
	if (mtu <= 2000)
		assert_int_equal(total, payload);
}

static void through_stack(uint8_t *ip, unsigned len)
{
	struct icmp4_msg m;
	struct udp_datagram d;
	enum counter fate = ip4_check(ip, len);
	assert_int_equal(fate, ip4_check_slow(ip, len));
	if (fate == CNT_drop_ip4_options)
		assert_in_range(ip4_options_error(ip), IP4_HLEN, ip4_header_len(ip) - 1);
	if (fate != CNT_NONE)
		return;
	assert_int_equal(ip4_options_error(ip), 0);
	through_fragments(ip);
	if (icmp4_error_allowed(ip, len)) {
		const struct icmp4_error e = {.src = US, .type = 11};
		unsigned n = icmp4_error_build(scratch, 2000, ip, len, &e);
		assert_in_range(n, 48, 576);
		assert_int_equal(icmp4_input(scratch, n, &m), CNT_delivered_icmp);
		assert_int_equal(m.kind, ICMP4_KIND_ERROR);
		assert_false(icmp4_error_allowed(scratch, n));
	}
	if (ip4_ttl(ip) > 0)
		ip4_ttl_decrement(ip);
	assert_int_equal(slow_csum(ip, ip4_header_len(ip)), 0);
	if (icmp4_input(ip, len, &m) == CNT_delivered_icmp) {
		volatile uint8_t last = m.data_len ? m.data[m.data_len - 1] : 0;
		(void)last;
		if (m.kind == ICMP4_KIND_ECHO_REQUEST) {
			icmp4_echo_reply_make(ip, len);
			assert_int_equal(icmp4_input(ip, len, &m), CNT_delivered_icmp);
		}
	}
	if (udp_check(ip, len, random_below(2), &d) == CNT_NONE) {
		volatile uint8_t last = d.data_len ? d.data[d.data_len - 1] : 0;
		(void)last;
		udp_echo_make(ip);
		assert_int_equal(slow_csum(ip, ip4_header_len(ip)), 0);
		assert_int_equal(udp_check(ip, len, true, &d), CNT_NONE);
	}
}

static void ip_packets(void **s)
{
	(void)s;
	static uint8_t p[2000];
	unsigned reached = 0;
	seed_random("ip_packets");
	scratch = malloc(2000);
	for (int i = 0; i < PACKETS; i++) {
		unsigned len = plausible(p, sizeof p);
		if (random_below(20) == 0)
			random_fill(p, len < 100 ? len : 100);
		if (random_below(2))
			mutate(p, len < 90 ? len : 90);
		if (random_below(2) && (p[0] & 15) >= 5 && (p[0] & 15u) * 4 <= len)
			slow_ip_csum(p);
		if (random_below(10) == 0)
			len = random_below(len + 1);
		uint8_t *exact = malloc(len ? len : 1);
		memcpy(exact, p, len);
		reached += ip4_check(exact, len) == CNT_NONE;
		through_stack(exact, len);
		free(exact);
	}
	free(scratch);
	printf("ip_packets: %u of %u passed ip4_check\n", reached, PACKETS);
	assert_true(reached > PACKETS / 20);
}

static unsigned given, ended;

static void on_tx(void *ctx, unsigned port, const uint8_t *f, unsigned len)
{
	(void)ctx, (void)port;
	volatile uint8_t last = f[len - 1];
	(void)last;
}
static void on_up(void *ctx, unsigned i, const uint8_t *mac)
{
	(void)ctx, (void)i;
	assert_true(eth_is_station(mac));
}
static void on_index(void *ctx, unsigned i) { (void)ctx, (void)i; }
static void on_frame(void *ctx, unsigned i, uint8_t *f, unsigned len)
{
	(void)ctx, (void)i;
	memset(f, 0, len);
	ended++;
}
static void on_count(void *ctx, enum counter c, unsigned n)
{
	(void)ctx, (void)c, (void)n;
}

static void arp_frames(void **s)
{
	(void)s;
	const struct arp_ops ops = {on_tx, on_up, on_index, on_frame, on_frame, on_frame, on_count, on_index,
	                              NULL, NULL};
	struct arp_params params = ARP_PARAMS_DEFAULT;
	struct arp a;
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	const uint8_t good[42] = {255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 9, 8, 6, 0, 1, 8, 0, 6,
	                          4,   0,   1,   2,   0,   0,   0, 0, 9, 10, 0, 0, 9, 0, 0, 0, 0, 0, 0,
	                          10,  0,   0,   1};
	params.neighbours = 64;
	params.pending = 32;
	void *mem = malloc(arp_memory_bytes(&params));
	assert_int_equal(arp_init(&a, &params, mem, arp_memory_bytes(&params), &ops, NULL), 0);
	assert_int_equal(arp_add_local(&a, 0, US, 24, mac), 0);
	seed_random("arp_frames");
	unsigned fate[CNT_MAX + 1] = {0};
	uint64_t t = 0;
	for (int i = 0; i < PACKETS; i++) {
		unsigned len = random_below(10) ? 42 : random_below(60);
		uint8_t *f = malloc(len ? len : 1);
		random_fill(f, len);
		memcpy(f, good, len < 42 ? len : 42);
		if (len >= 42 && random_below(2))
			f[21] = (uint8_t)(1 + random_below(2));
		if (len >= 42 && random_below(2))
			f[31] = (uint8_t)random64();
		if (len >= 42 && random_below(2))
			f[41] = (uint8_t)random64();
		mutate(f, len);
		enum counter c = arp_input(&a, 0, f, len, t);
		assert_in_range(c, CNT_delivered_arp, CNT_drop_arp_bad_sender);
		fate[c]++;
		free(f);
		int n = arp_neigh_get(&a, 0, IP4(10, 0, 0, random_below(256)));
		if (n >= 0 && random_below(4) == 0) {
			uint8_t frame[100] = {0};
			given++;
			arp_output(&a, (unsigned)n, frame, sizeof frame, t);
		}
		t += random_below(1u << 31);
		if (random_below(3) == 0)
			assert_true(arp_tick(&a, t) > t);
	}
	assert_true(fate[CNT_delivered_arp] && fate[CNT_drop_arp_malformed] &&
	            fate[CNT_drop_arp_not_ours] && fate[CNT_drop_arp_bad_sender]);
	arp_flush_interface(&a, 0);
	assert_int_equal(arp_pending(&a), 0);
	assert_int_equal(given, ended);
	free(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ip_packets),
		cmocka_unit_test(arp_frames),
	};
	return cmocka_run_group_tests_name("fuzz", tests, NULL, NULL);
}
