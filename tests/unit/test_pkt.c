/* lib/pkt.h: the buffer pool. */
#include "tests/unit/host.h"

#include "lib/csum.h"
#include "lib/pkt.h"

#define COUNT 100

static uint8_t memory[COUNT * BUF_STRIDE_STANDARD];
static uint32_t stack[COUNT];

/* Every number is free exactly once. */
static void assert_all_back(const struct bufpool *p)
{
	bool seen[COUNT] = {false};
	assert_int_equal(p->free, COUNT);
	for (uint32_t i = 0; i < p->free; i++) {
		assert_true(p->stack[i] < COUNT);
		assert_false(seen[p->stack[i]]);
		seen[p->stack[i]] = true;
	}
}

static void starts_full_and_in_order(void **s)
{
	(void)s;
	struct bufpool p;
	struct pkt a;
	bufpool_init(&p, memory, stack, COUNT, BUF_STRIDE_STANDARD);
	assert_all_back(&p);
	assert_int_equal(buf_room(&p), BUF_STRIDE_STANDARD - BUF_DATA_OFFSET);
	for (uint32_t i = 0; i < COUNT; i++) {
		assert_true(pkt_alloc(&p, &a));
		assert_int_equal(a.buf, i);
		assert_ptr_equal(a.data, memory + i * BUF_STRIDE_STANDARD + BUF_DATA_OFFSET);
		assert_int_equal(a.len, 0);
	}
	struct pkt before = a;
	assert_false(pkt_alloc(&p, &a));
	assert_memory_equal(&a, &before, sizeof a);
	for (uint32_t i = 0; i < COUNT; i++)
		buf_free(&p, i);
	assert_all_back(&p);
}

static void last_freed_is_next(void **s)
{
	(void)s;
	struct bufpool p;
	struct pkt a, b, c;
	bufpool_init(&p, memory, stack, COUNT, BUF_STRIDE_STANDARD);
	assert_true(pkt_alloc(&p, &a) && pkt_alloc(&p, &b));
	pkt_free(&p, &a);
	assert_true(pkt_alloc(&p, &c));
	assert_int_equal(c.buf, a.buf);
	pkt_free(&p, &b);
	pkt_free(&p, &c);
	assert_all_back(&p);
}

static void random_owners(void **s)
{
	(void)s;
	struct bufpool p;
	struct pkt held[COUNT];
	uint32_t n = 0;
	seed_random("random_owners");
	bufpool_init(&p, memory, stack, COUNT, BUF_STRIDE_STANDARD);
	for (int i = 0; i < 20000; i++) {
		if (random_below(2) && n < COUNT) {
			assert_true(pkt_alloc(&p, &held[n]));
			memset(buf_base(&p, held[n].buf), 0x55, p.stride);
			for (uint32_t k = 0; k < n; k++)
				assert_int_not_equal(held[k].buf, held[n].buf);
			n++;
		} else if (n > 0) {
			uint32_t k = random_below(n);
			pkt_free(&p, &held[k]);
			held[k] = held[--n];
		}
		assert_int_equal(p.free + n, COUNT);
	}
	while (n > 0)
		pkt_free(&p, &held[--n]);
	assert_all_back(&p);
}

/* A partial checksum, as virtio hands it over: the field holds the pseudo header's sum. */
static void csum_completed_in_software(void **s)
{
	(void)s;
	struct bufpool p;
	struct pkt a;
	seed_random("csum_completed_in_software");
	bufpool_init(&p, memory, stack, COUNT, BUF_STRIDE_STANDARD);
	for (unsigned len = 8; len < 400; len++) {
		assert_true(pkt_alloc(&p, &a));
		random_fill(a.data, 34 + len);
		a.len = (uint16_t)(34 + len);
		uint8_t *udp = a.data + 34;
		uint32_t pseudo = csum_pseudo4(0x0a000001, 0x0a000002, 17, (uint16_t)len);
		raw16_store(udp + 6, (uint16_t)~csum_fold(pseudo));
		a.flags = PKT_CSUM_PARTIAL | PKT_OWN | PKT_VLAN;
		*pkt_meta(&p, a.buf) = (struct pkt_meta){.csum_start = 34, .csum_offset = 6};
		pkt_csum_complete(&p, &a);
		assert_int_equal(a.flags, PKT_CSUM_OK | PKT_OWN | PKT_VLAN);
		assert_int_equal(csum_fold(csum_partial(udp, len, pseudo)), 0);
		uint16_t sum = raw16_load(udp + 6);
		pkt_csum_complete(&p, &a); /* nothing left to do */
		assert_int_equal(raw16_load(udp + 6), sum);
		pkt_free(&p, &a);
	}
	assert_all_back(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_full_and_in_order),
		cmocka_unit_test(last_freed_is_next),
		cmocka_unit_test(random_owners),
		cmocka_unit_test(csum_completed_in_software),
	};
	return cmocka_run_group_tests_name("pkt", tests, NULL, NULL);
}
