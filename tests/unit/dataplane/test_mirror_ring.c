/* control/mirror_ring: records of any length pass through the ring unchanged. A record that does not
 * fit is refused. Nothing that another core may have written is trusted. */
#include "tests/unit/rig/host.h"

#include "dataplane/mirror_ring.h"

#define DATA_MAX 9300
#define WAITING_MAX 20000

#define SIZE (1u << 18)
static _Alignas(64) uint8_t memory[sizeof(struct mirror_ring) + SIZE];
#define ring (*(struct mirror_ring *)(void *)memory)
static uint8_t data[DATA_MAX];

/* The ring's contents, oldest first: lengths, and the seed of the bytes. */
static struct waiting {
	unsigned kept;
	uint8_t first;
} waiting[WAITING_MAX];

static void fill(uint8_t first, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		data[i] = (uint8_t)(first + 7 * i);
}

static bool put(uint64_t tail, const struct waiting *w)
{
	const struct mirror_record r = {.ns = w->first, .len = (uint16_t)(w->kept + 4),
	                             .kept = (uint16_t)w->kept, .port = 3, .out = w->first & 1};
	uint64_t bytes = mirror_record_bytes(w->kept);
	if (!mirror_ring_fits(SIZE, ring.head, tail, bytes))
		return false;
	fill(w->first, w->kept);
	mirror_ring_put(&ring, SIZE, ring.head, &r, sizeof r);
	unsigned half = w->kept / 2; /* a packet in pieces */
	mirror_ring_put(&ring, SIZE, ring.head + sizeof r, data, half);
	mirror_ring_put(&ring, SIZE, ring.head + sizeof r + half, data + half, w->kept - half);
	ring.head += bytes;
	return true;
}

static uint64_t get(uint64_t tail, const struct waiting *w)
{
	static uint8_t out[DATA_MAX];
	struct mirror_record r;
	uint64_t n = mirror_ring_look(&ring, SIZE, ring.head, tail, &r, sizeof out);
	mirror_ring_get(&ring, SIZE, tail, &r, out);
	assert_int_equal(n, mirror_record_bytes(w->kept));
	assert_true(r.ns == w->first && r.kept == w->kept && r.len == w->kept + 4 && r.port == 3);
	assert_int_equal(r.out, w->first & 1);
	fill(w->first, w->kept);
	assert_memory_equal(out, data, w->kept);
	return n;
}

static void round_and_round(void **state)
{
	unsigned first = 0, last = 0, full = 0;
	uint64_t tail = 0;
	(void)state;
	seed_random("round_and_round");
	mirror_ring_begin(&ring, 1);
	for (unsigned i = 0; i < 40000; i++) {
		bool writes = random_below(100) < (i / 4000 % 2 ? 70u : 30u);
		if (writes && last - first < WAITING_MAX) {
			struct waiting *w = &waiting[last % WAITING_MAX];
			*w = (struct waiting){random_below(random_below(10) ? 200 : DATA_MAX),
			                      (uint8_t)random64()};
			bool in = put(tail, w);
			last += in;
			full += !in;
		} else if (first != last) {
			tail += get(tail, &waiting[first++ % WAITING_MAX]);
		}
		assert_true(ring.head - tail <= SIZE);
	}
	assert_true(full > 100 && ring.head > 20ull * SIZE);
	while (first != last)
		tail += get(tail, &waiting[first++ % WAITING_MAX]);
	assert_int_equal(tail, ring.head);
}

static void another_capture(void **state)
{
	(void)state;
	ring.count[3] = (struct mirror_count){1, 2, 3};
	mirror_ring_begin(&ring, 2);
	assert_int_equal(ring.number, 2);
	assert_int_equal(ring.head, 0);
	assert_int_equal(ring.count[3].seen + ring.count[3].wanted + ring.count[3].dropped, 0);
}

static void nothing_is_believed(void **state)
{
	uint8_t out[64];
	struct mirror_record r;
	(void)state;
	seed_random("nothing_is_believed");
	for (unsigned i = 0; i < 10000; i++) {
		uint64_t at = random64(), head = at + random_below(2 * SIZE);
		random_fill(ring.bytes + random_below(SIZE - 4096), 4096);
		uint64_t n = mirror_ring_look(&ring, SIZE, head, at, &r, sizeof out);
		if (n == 0)
			continue;
		assert_true(r.kept <= sizeof out && r.kept <= r.len && n <= head - at);
		mirror_ring_get(&ring, SIZE, at, &r, out);
	}
	/* Positions that no ring has. */
	assert_int_equal(mirror_ring_look(&ring, SIZE, 5, 6, &r, sizeof out), 0);
	assert_int_equal(mirror_ring_look(&ring, SIZE, 6 + SIZE, 5, &r, sizeof out), 0);
	assert_int_equal(mirror_ring_look(&ring, SIZE, 23, 0, &r, sizeof out), 0);
	assert_false(mirror_ring_fits(SIZE, 5, 6, 1));
	assert_true(mirror_ring_fits(SIZE, 6, 6, SIZE));
	assert_false(mirror_ring_fits(SIZE, 6, 6, SIZE + 1));
	assert_false(mirror_ring_fits(SIZE, 7, 6, SIZE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_and_round),
		cmocka_unit_test(another_capture),
		cmocka_unit_test(nothing_is_believed),
	};
	return cmocka_run_group_tests_name("mirror_ring", tests, NULL, NULL);
}
