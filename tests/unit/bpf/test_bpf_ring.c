/*
 * Ring buffers: records in order and whole, as many as in Linux' ring, losses counted, records of a dead core
 * discarded, nothing read outside of the ring whatever stands in it.
 */
#include "tests/unit/rig/host.h"

#include "bpf/helpers.h"
#include "bpf/maps/ring.h"
#include "bpf/xdp.h"
#include "tests/unit/rig/maps_rig.h"

#define BYTES 4096

static struct rig_map *ring(void)
{
	bpf_core = 1;
	return rig_map(BPF_MAP_RINGBUF, 0, 0, BYTES);
}

static void in_order(void **s)
{
	(void)s;
	struct rig_map *rig = ring();
	const struct bpf_map *m = &rig->map;
	uint32_t n;
	assert_null(bpf_ring_next(m, 1, &n));
	char *a = bpf_ring_reserve(m, 5), *b = bpf_ring_reserve(m, 1), *c = bpf_ring_reserve(m, 0);
	memcpy(a, "first", 5);
	*b = 'b';
	bpf_ring_commit(b, false);
	assert_null(bpf_ring_next(m, 1, &n)); /* the first is not complete */
	bpf_ring_commit(c, true);
	bpf_ring_commit(a, false);
	assert_int_equal(bpf_ring_output(m, "third", 5, 0), 0);
	assert_int_equal(bpf_ring_output(m, "third", 5, 4), BPF_EINVAL);
	assert_memory_equal(bpf_ring_next(m, 1, &n), "first", 5);
	assert_memory_equal(bpf_ring_next(m, 1, &n), "first", 5);
	assert_int_equal(n, 5);
	bpf_ring_release(m, 1);
	assert_memory_equal(bpf_ring_next(m, 1, &n), "b", 1);
	bpf_ring_release(m, 1);
	assert_memory_equal(bpf_ring_next(m, 1, &n), "third", 5);
	assert_null(bpf_ring_next(m, 0, &n)); /* another core's */
	bpf_ring_release(m, 1);
	assert_null(bpf_ring_next(m, 1, &n));
	bpf_ring_release(m, 1);
	assert_int_equal(bpf_ring_lost(m, 1), 0);
	rig_map_free(rig);
}

/* Linux' ring of 4096 bytes takes 255 records of 8 bytes, and no record of 4096. */
static void full(void **s)
{
	(void)s;
	struct rig_map *rig = ring();
	const struct bpf_map *m = &rig->map;
	unsigned n = 0;
	uint32_t bytes;
	while (bpf_ring_output(m, "12345678", 8, 0) == 0)
		n++;
	assert_int_equal(n, 255);
	assert_int_equal(bpf_ring_output(m, "", 1, 0), BPF_EAGAIN);
	assert_int_equal(bpf_ring_lost(m, 1), 2);
	while (bpf_ring_next(m, 1, &bytes))
		bpf_ring_release(m, 1);
	assert_null(bpf_ring_reserve(m, BYTES));
	assert_null(bpf_ring_reserve(m, BYTES - 8));
	assert_null(bpf_ring_reserve(m, UINT64_MAX));
	assert_null(bpf_ring_reserve(m, UINT64_MAX - 7));
	uint8_t *whole = bpf_ring_reserve(m, BYTES - 16); /* reaches behind the ring's bytes */
	memset(whole, 0x55, BYTES - 16);
	bpf_ring_commit(whole, false);
	assert_ptr_equal(bpf_ring_next(m, 1, &bytes), whole);
	assert_int_equal(bytes, BYTES - 16);
	rig_map_free(rig);
}

/* Random records, against a queue of their first bytes. */
static void records_are_whole(void **s)
{
	(void)s;
	seed_random("records_are_whole");
	struct rig_map *rig = ring();
	const struct bpf_map *m = &rig->map;
	static uint32_t size[BYTES], fill[BYTES];
	unsigned head = 0, tail = 0;
	uint64_t lost = 0;
	for (unsigned step = 0; step < 100000; step++) {
		uint32_t n = random_below(random_below(10) ? 40 : 3000), got;
		uint8_t *at;
		if (random_below(2)) {
			at = bpf_ring_reserve(m, n);
			lost += !at;
			if (at) {
				const bool discard = random_below(4) == 0;
				memset(at, (int)(step & 0xff), n);
				bpf_ring_commit(at, discard);
				if (!discard) {
					size[tail % BYTES] = n;
					fill[tail++ % BYTES] = step & 0xff;
				}
			}
		} else if ((at = (uint8_t *)(uintptr_t)bpf_ring_next(m, 1, &got))) {
			assert_true(head != tail);
			assert_int_equal(got, size[head % BYTES]);
			for (uint32_t i = 0; i < got; i++)
				assert_true(at[i] == fill[head % BYTES]);
			head++;
			bpf_ring_release(m, 1);
		} else {
			assert_true(head == tail);
		}
	}
	assert_true(lost > 0 && head > 1000);
	assert_int_equal(bpf_ring_lost(m, 1), lost);
	rig_map_free(rig);
}

static void dead_core(void **s)
{
	(void)s;
	struct rig_map *rig = ring();
	const struct bpf_map *m = &rig->map;
	uint32_t n;
	assert_non_null(bpf_ring_reserve(m, 100));
	assert_int_equal(bpf_ring_output(m, "kept", 4, 0), 0);
	assert_non_null(bpf_ring_reserve(m, 200));
	bpf_map_recover(m, 1);
	assert_memory_equal(bpf_ring_next(m, 1, &n), "kept", 4);
	bpf_ring_release(m, 1);
	assert_null(bpf_ring_next(m, 1, &n));
	assert_int_equal(bpf_ring_output(m, "next", 4, 0), 0);
	assert_memory_equal(bpf_ring_next(m, 1, &n), "next", 4);
	rig_map_free(rig);
}

/* Random bytes for positions and headers: the consumer ends, reads nothing outside (ASan), and goes on. */
static void damaged(void **s)
{
	(void)s;
	seed_random("damaged");
	struct rig_map *rig = ring();
	const struct bpf_map *m = &rig->map;
	for (unsigned step = 0; step < 3000; step++) {
		struct ring *r = (struct ring *)(void *)rig->own[1];
		uint32_t n;
		unsigned records = 0;
		const uint8_t *at;
		for (unsigned i = 0; i < 1 + random_below(300); i++)
			random_fill(rig->own[1] + 8 * random_below((uint32_t)rig->own_bytes / 8), 8);
		if (random_below(2))
			r->producer = r->consumer + 8 * random_below(BYTES / 8 + 2);
		if (random_below(2))
			bpf_map_recover(m, 1);
		while ((at = bpf_ring_next(m, 1, &n)) && records++ < BYTES) {
			volatile uint8_t last = n ? at[n - 1] : 0;
			(void)last;
			bpf_ring_release(m, 1);
		}
		assert_true(records <= BYTES / 8);
		uint8_t *mine = bpf_ring_reserve(m, random_below(5000));
		if (mine)
			bpf_ring_commit(mine, false);
	}
	memset(rig->own[1], 0xff, sizeof(struct ring));
	uint32_t n;
	assert_null(bpf_ring_next(m, 1, &n));
	assert_int_equal(bpf_ring_output(m, "next", 4, 0), 0);
	assert_memory_equal(bpf_ring_next(m, 1, &n), "next", 4);
	rig_map_free(rig);
}

static void perf_event_output(void **s)
{
	(void)s;
	bpf_core = 1;
	struct rig_map *rig = rig_map(BPF_MAP_PERF_EVENT_ARRAY, 4, 4, 0);
	const struct bpf_map *m = &rig->map;
	bpf_helper h[BPF_HELPERS] = {0};
	bpf_map_helpers(h);
	uint8_t packet[60];
	memset(packet, 'p', sizeof packet);
	struct bpf_xdp xdp = {.data = packet, .data_end = packet + sizeof packet};
	const char meta[] = "meta";
	uint32_t n;
#define OUTPUT(flags, bytes) \
	(int64_t)h[BPF_FN_PERF_EVENT_OUTPUT]((uintptr_t)&xdp, (uintptr_t)m, flags, (uintptr_t)meta, bytes)
	assert_int_equal(OUTPUT(0xffffffffull | 10ull << 32, 4), 0);
	const char *at = bpf_ring_next(m, 1, &n);
	assert_int_equal(n, 14);
	assert_memory_equal(at, "metapppppppppp", 14);
	bpf_ring_release(m, 1);
	assert_int_equal(OUTPUT(1, 0), 0);
	assert_non_null(bpf_ring_next(m, 1, &n));
	assert_int_equal(n, 0);
	assert_int_equal(OUTPUT(0xffffffffull | 61ull << 32, 4), BPF_EFAULT);
	assert_int_equal(OUTPUT(1ull << 52, 4), BPF_EINVAL);
	assert_int_equal(OUTPUT(0, 4), BPF_EOPNOTSUPP);
	assert_int_equal(OUTPUT(RIG_CORES, 4), BPF_E2BIG);
	int64_t result;
	while ((result = OUTPUT(1ull | 60ull << 32, 4)) == 0)
		;
	assert_int_equal(result, BPF_ENOSPC);
	assert_int_equal(bpf_ring_lost(m, 1), 1);
	bpf_core = 0;
	rig_map_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order), cmocka_unit_test(full), cmocka_unit_test(records_are_whole),
		cmocka_unit_test(dead_core), cmocka_unit_test(damaged), cmocka_unit_test(perf_event_output),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
