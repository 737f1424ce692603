/* runtime/flow: what belongs to a flow, and that nothing beyond the frame is read. */
#include "tests/unit/rig/host.h"

#include "runtime/flow.h"

#define SEED 0x123456789abcdefull

static uint8_t frame[80];

/* A UDP datagram behind `tags` VLAN tags; returns where its IP header begins. */
static uint8_t *make(unsigned tags, bool six)
{
	uint8_t *at = frame + 12;
	memset(frame, 0, sizeof frame);
	for (unsigned i = 0; i < tags; i++, at += 4)
		memcpy(at, (uint8_t[]){0x81, 0, 0, 5}, 4);
	memcpy(at, six ? (uint8_t[]){0x86, 0xdd} : (uint8_t[]){8, 0}, 2);
	at += 2;
	for (unsigned i = 0; i < 50; i++)
		at[i] = (uint8_t)i;
	if (six) {
		at[0] = 0x60;
		at[6] = 17;
	} else {
		at[0] = 0x45;
		at[6] = at[7] = 0;
		at[9] = 17;
	}
	return at;
}

static uint64_t hash(void)
{
	return flow_hash(SEED, frame, sizeof frame);
}

/* Changes the byte at `at`; true if the hash changes. */
static bool counts(uint8_t *at)
{
	const uint64_t before = hash();
	*at ^= 0x40;
	const bool changed = hash() != before;
	*at ^= 0x40;
	return changed;
}

static void fields4(void **s)
{
	(void)s;
	for (unsigned tags = 0; tags <= 2; tags++) {
		uint8_t *ip = make(tags, false);
		for (unsigned i = 1; i < 30; i++)
			if (i != 6 && i != 7)
				assert_int_equal(counts(ip + i), i == 9 || (i >= 12 && i < 24));
		ip[0] = 0x46; /* options: the ports are behind them */
		assert_false(counts(ip + 20));
		assert_true(counts(ip + 24));
		assert_true(counts(ip + 27));
	}
}

static void fragments(void **s)
{
	(void)s;
	uint8_t *ip = make(0, false);
	ip[6] = 0x20; /* the first, with ports */
	const uint64_t first = hash();
	ip[6] = 0;
	ip[7] = 100; /* the last */
	memset(ip + 20, 0x77, 8);
	assert_true(hash() == first);
	make(0, false)[6] = 0x40; /* DF is no fragment */
	assert_true(hash() != first);
}

static void fields6(void **s)
{
	(void)s;
	uint8_t *ip = make(1, true);
	for (unsigned i = 1; i < 50; i++)
		assert_int_equal(counts(ip + i), i == 6 || (i >= 8 && i < 44));
	ip[6] = 44; /* fragment header: by addresses */
	assert_false(counts(ip + 40));
}

static void no_flow(void **s)
{
	(void)s;
	make(0, false);
	memcpy(frame + 12, (uint8_t[]){8, 6}, 2); /* ARP */
	assert_true(hash() == 0);
	make(3, false);
	assert_true(hash() == 0);
}

/* Frames of every length, each in memory of exactly that size: ASan reports what is read behind it. */
static void short_frames(void **s)
{
	(void)s;
	for (unsigned kind = 0; kind < 6; kind++) {
		make(kind / 2, kind % 2);
		for (size_t n = 1; n <= sizeof frame; n++) {
			uint8_t *f = malloc(n);
			assert_non_null(f);
			memcpy(f, frame, n);
			assert_true(n >= 60 ? flow_hash(SEED, f, n) == hash() || kind % 2 : flow_hash(SEED, f, n) + 1 != 0);
			free(f);
		}
	}
}

/* The bucket of runtime/steer.c is the upper byte: neighbouring ports fill all buckets. */
static void spread(void **s)
{
	unsigned in[256] = {0};
	uint8_t *ip = make(0, false);
	(void)s;
	for (unsigned port = 0; port < 256 * 64; port++) {
		ip[20] = (uint8_t)(port >> 8);
		ip[21] = (uint8_t)port;
		in[hash() >> 56]++;
	}
	for (unsigned b = 0; b < 256; b++)
		assert_in_range(in[b], 20, 140);
}

/* Flows between equal ports in sequence, as a tester makes them, reach each of up to 16 cores. */
static void ports_in_sequence(void **s)
{
	(void)s;
	for (unsigned tries = 0; tries < 100; tries++) {
		const uint64_t seed = 0x9e3779b97f4a7c15ull * (tries + 1);
		for (unsigned cores = 2; cores <= 16; cores++) {
			unsigned in[16] = {0};
			uint8_t *ip = make(0, false);
			for (unsigned port = 21000; port < 21000 + 32 * cores; port++) {
				ip[20] = ip[22] = (uint8_t)(port >> 8);
				ip[21] = ip[23] = (uint8_t)port;
				in[(flow_hash(seed, frame, sizeof frame) >> 56) % cores]++;
			}
			for (unsigned c = 0; c < cores; c++)
				assert_in_range(in[c], 8, 70);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields4), cmocka_unit_test(fragments), cmocka_unit_test(fields6),
		cmocka_unit_test(no_flow), cmocka_unit_test(short_frames), cmocka_unit_test(spread),
		cmocka_unit_test(ports_in_sequence),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
