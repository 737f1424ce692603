/* runtime/bundle.c: the buckets of a bundle, and the ports of frames. bundle_spread is in
 * tests/packet/test_lacp.py. */
#include "tests/unit/rig/host.h"

#include "runtime/bundle.h"
#include "runtime/shared.h"

struct core_out core_outs[NIC_PORTS_MAX];
struct core_self self;

void core_tx_flush(unsigned port) { (void)port; }

static unsigned has(uint64_t buckets, unsigned port)
{
	unsigned n = 0;
	for (unsigned i = 0; i < BUNDLE_BUCKETS; i++)
		n += (buckets >> i * 4 & 15) == port;
	return n;
}

static unsigned number_of(uint32_t ports)
{
	unsigned n = 0;
	for (; ports; ports &= ports - 1)
		n++;
	return n;
}

/* Each member has its share, and nobody else has any. */
static void check_shares(uint64_t buckets, uint32_t members)
{
	const unsigned least = BUNDLE_BUCKETS / number_of(members), most = (BUNDLE_BUCKETS + number_of(members) - 1) / number_of(members);
	for (unsigned p = 0; p < 16; p++)
		if (members >> p & 1)
			assert_in_range(has(buckets, p), least, most);
		else
			assert_int_equal(has(buckets, p), 0);
}

static unsigned moved(uint64_t a, uint64_t b)
{
	unsigned n = 0;
	for (unsigned i = 0; i < BUNDLE_BUCKETS; i++)
		n += (a >> i * 4 & 15) != (b >> i * 4 & 15);
	return n;
}

/* A port that goes takes its buckets with it, and one that comes takes its share; no other bucket moves. */
static void test_changes(void **state)
{
	(void)state;
	uint64_t buckets = random64();
	uint32_t members = 1u << random_below(16);
	buckets = bundle_buckets(buckets, members);
	check_shares(buckets, members);
	for (unsigned i = 0; i < 20000; i++) {
		const unsigned port = random_below(16);
		const uint32_t next = members ^ 1u << port;
		if (next == 0)
			continue;
		const uint64_t after = bundle_buckets(buckets, next);
		check_shares(after, next);
		assert_int_equal(bundle_buckets(after, next), after);
		if (next >> port & 1)
			assert_int_equal(moved(buckets, after), has(after, port));
		else
			assert_int_equal(moved(buckets, after), has(buckets, port));
		buckets = after;
		members = next;
	}
}

static void test_any_change(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		const uint32_t members = random_below(0xffff) + 1;
		check_shares(bundle_buckets(random64(), members), members);
	}
}

/* The upper bits of the hash choose, so all buckets are used. */
static void test_ports(void **state)
{
	(void)state;
	const uint64_t buckets = 0xfedcba9876543210;
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(bundle_port(buckets, (uint64_t)i << 60 | 0x0123456789abcde), i);
}

/* Frames that are not IP: by addresses. */
static void test_hash(void **state)
{
	(void)state;
	uint8_t frame[60] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5};
	uint32_t seen = 0;
	const uint64_t first = bundle_hash(1, frame, sizeof frame);
	frame[20] ^= 1; /* the payload does not count */
	assert_true(bundle_hash(1, frame, sizeof frame) == first);
	assert_true(bundle_hash(2, frame, sizeof frame) != first);
	for (unsigned i = 0; i < 256; i++) {
		frame[11] = (uint8_t)i;
		seen |= 1u << (bundle_hash(1, frame, sizeof frame) >> 60);
	}
	assert_int_equal(seen, 0xffff);
	assert_int_equal(bundle_hash(1, frame, 13), 0);
}

int main(void)
{
	seed_random("test_bundle");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_any_change),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_hash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
