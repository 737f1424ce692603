/* lib/pkt.h: the buffer pool, shared buffers, packets in pieces. */
#include "tests/unit/rig/guest.h"
#include "tests/unit/rig/packets.h"

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

/* A partial checksum, as virtio delivers it: the field holds the pseudo header's sum. */
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

/* RFC 768: zero means "no checksum" in UDP, so a sum of zero is written as all ones. RFC 9293 3.1
 * has no such rule for TCP. */
static void csum_of_zero(void **s)
{
	static const struct {
		uint16_t offset, len, want;
	} row[] = {{6, 8, 0xffff}, {16, 20, 0}};
	(void)s;
	struct bufpool p;
	struct pkt a;
	bufpool_init(&p, memory, stack, COUNT, BUF_STRIDE_STANDARD);
	for (unsigned r = 0; r < ARRAY_LEN(row); r++) {
		assert_true(pkt_alloc(&p, &a));
		a.len = (uint16_t)(34 + row[r].len);
		memset(a.data, 0, a.len);
		raw16_store(a.data + 34, 0xffff); /* the covered sum: all ones, which folds to 0 */
		a.flags = PKT_CSUM_PARTIAL;
		*pkt_meta(&p, a.buf) =
			(struct pkt_meta){.csum_start = 34, .csum_offset = row[r].offset};
		pkt_csum_complete(&p, &a);
		assert_int_equal(raw16_load(a.data + 34 + row[r].offset), row[r].want);
		pkt_free(&p, &a);
	}
	assert_all_back(&p);
}

/* --- shared buffers, chains --- */

static struct bufpool pool;

static void fresh_pool(void)
{
	frame_most = BUF_STRIDE_STANDARD - BUF_DATA_OFFSET;
	bufpool_init(&pool, memory, stack, COUNT, BUF_STRIDE_STANDARD);
}

/* Freed by the last holder, whether that is a packet or not. */
static void counted_buffer(void **s)
{
	(void)s;
	struct pkt a;
	fresh_pool();
	for (unsigned holders = 1; holders < 6; holders++) {
		assert_true(pkt_alloc(&pool, &a));
		a.flags = PKT_SHARED;
		pkt_meta(&pool, a.buf)->refs = 1;
		for (unsigned i = 1; i < holders; i++)
			buf_hold(&pool, a.buf);
		for (unsigned left = holders; left; left--) {
			assert_int_equal(pkt_meta(&pool, a.buf)->refs, left);
			assert_int_equal(pool.free, COUNT - 1);
			if (left % 2)
				pkt_free(&pool, &a);
			else
				buf_put(&pool, a.buf);
		}
		assert_all_back(&pool);
	}
}

/* A buffer that names bytes elsewhere: the pool counts it until the last holder has put it. */
static void bytes_outside(void **s)
{
	(void)s;
	static const uint8_t text[] = "somewhere else";
	struct pkt a;
	fresh_pool();
	assert_true(pkt_alloc(&pool, &a));
	buf_set_outside(&pool, a.buf, text, 1);
	assert_ptr_equal(buf_at(&pool, a.buf, BUF_OUTSIDE), text);
	assert_ptr_equal(buf_at(&pool, a.buf, BUF_OUTSIDE + 10), text + 10);
	assert_ptr_equal(buf_at(&pool, a.buf, 100), buf_base(&pool, a.buf) + 100);
	for (unsigned i = 0; i < 3; i++)
		buf_hold(&pool, a.buf);
	assert_int_equal(buf_holders(&pool, a.buf), 4);
	for (unsigned left = 4; left; left--) {
		assert_int_equal(pool.outside[1], 1);
		assert_int_equal(pool.free, COUNT - 1);
		buf_put(&pool, a.buf);
	}
	assert_int_equal(pool.outside[0] | pool.outside[1], 0);
	assert_all_back(&pool);
	assert_true(pkt_alloc(&pool, &a)); /* the same buffer, for another purpose */
	pkt_meta(&pool, a.buf)->refs = 1;
	buf_put(&pool, a.buf);
	assert_int_equal(pool.outside[1], 0);
	assert_all_back(&pool);
}

/* Freeing a chain releases each piece once, and its own buffer. */
static void chain_is_freed(void **s)
{
	(void)s;
	seed_random("chain_is_freed");
	fresh_pool();
	for (unsigned round = 0; round < 2000; round++) {
		struct pkt p;
		uint32_t kept[2 * PKT_FRAGS_MAX + 1];
		unsigned n = 0, frags = 1 + round % PKT_FRAGS_MAX;
		take_chain(&pool, &p, (uint32_t)random64(), frags);
		for (unsigned i = 0; i < frags; i++)
			if (random_below(4) == 0)
				buf_hold(&pool, kept[n++] = pkt_frags(&pool, p.buf)[i].buf);
		if (random_below(2)) {
			p.flags |= PKT_SHARED;
			pkt_meta(&pool, p.buf)->refs = 1;
			if (random_below(2))
				buf_hold(&pool, kept[n++] = p.buf);
		}
		pkt_free(&pool, &p);
		owners_forget(&pool);
		for (unsigned i = 0; i < pool.free; i++)
			assert_owner(pool.stack[i]);
		for (unsigned i = 0; i < n; i++)
			add_holder(kept[i]);
		assert_all_owned();
		while (n)
			buf_put(&pool, kept[--n]);
		assert_all_back(&pool);
		assert_int_equal(pool.outside[0] | pool.outside[1], 0);
	}
}

static void bytes_of_a_packet(void **s)
{
	(void)s;
	static uint8_t bytes[BUF_STRIDE_STANDARD];
	seed_random("bytes_of_a_packet");
	fresh_pool();
	for (uint32_t seq = 0; seq < 1000; seq++) {
		struct pkt p;
		if (seq % 2)
			take_frame(&pool, &p, seq);
		else
			take_chain(&pool, &p, seq, 1 + seq / 2 % PKT_FRAGS_MAX);
		assert_int_equal(pkt_bytes(&pool, &p), frame_len(seq));
		assert_frame(bytes, flat(&pool, &p, bytes), seq);
		pkt_free(&pool, &p);
	}
}

/* The sum over a chain is that of the flat bytes, wherever the pieces are divided: most begin at an
 * odd offset in the frame, a buffer, or both. */
static void csum_over_a_chain(void **s)
{
	(void)s;
	static uint8_t bytes[BUF_STRIDE_STANDARD];
	seed_random("csum_over_a_chain");
	fresh_pool();
	for (unsigned round = 0; round < 20000; round++) {
		struct pkt p;
		take_chain(&pool, &p, (uint32_t)random64(), 1 + random_below(PKT_FRAGS_MAX));
		if (p.len < 2) {
			pkt_free(&pool, &p);
			continue;
		}
		struct pkt_meta *m = pkt_meta(&pool, p.buf);
		m->csum_start = (uint16_t)random_below(p.len - 1);
		m->csum_offset = (uint16_t)random_below(p.len - 1 - m->csum_start);
		unsigned len = flat(&pool, &p, bytes);
		uint16_t sum = slow_csum(bytes + m->csum_start, len - m->csum_start);
		put16(bytes + m->csum_start + m->csum_offset,
		      sum == 0 && m->csum_offset == 6 ? 0xffff : sum);
		p.flags |= PKT_CSUM_PARTIAL;
		pkt_csum_complete(&pool, &p);
		assert_int_equal(p.flags, PKT_CHAIN | PKT_CSUM_OK);
		static uint8_t is[BUF_STRIDE_STANDARD];
		assert_int_equal(flat(&pool, &p, is), len);
		assert_memory_equal(is, bytes, len);
		pkt_free(&pool, &p);
	}
	assert_all_back(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_full_and_in_order),
		cmocka_unit_test(last_freed_is_next),
		cmocka_unit_test(random_owners),
		cmocka_unit_test(csum_completed_in_software),
		cmocka_unit_test(csum_of_zero),
		cmocka_unit_test(counted_buffer),
		cmocka_unit_test(bytes_outside),
		cmocka_unit_test(chain_is_freed),
		cmocka_unit_test(bytes_of_a_packet),
		cmocka_unit_test(csum_over_a_chain),
	};
	return cmocka_run_group_tests_name("pkt", tests, NULL, NULL);
}
