#include "tests/unit/rig/guest.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include "abi/layout.h"

#define BUFFERS_MAX 4096

/* --- memory --- */

int guest_map(void **state)
{
	void *want = (void *)(uintptr_t)MEMORY_WINDOW;
	(void)state;
	return mmap(want, GUEST_BYTES, PROT_READ | PROT_WRITE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == want ? 0 : -1;
}

void guest_open(void)
{
	ASAN_UNPOISON_MEMORY_REGION((void *)(uintptr_t)MEMORY_WINDOW, GUEST_BYTES);
}

void guest_close(const void *from, const void *to)
{
	ASAN_POISON_MEMORY_REGION(from, (size_t)((const uint8_t *)to - (const uint8_t *)from));
}

uint8_t *bus(uint64_t addr, size_t n)
{
	assert_in_range(addr, GUEST_NOTHING, GUEST_BYTES + GUEST_OUTSIDE_BYTES - n);
	return (uint8_t *)(uintptr_t)(MEMORY_WINDOW + addr);
}

uint64_t bus_of(const volatile void *p)
{
	return (uint64_t)(uintptr_t)p - MEMORY_WINDOW;
}

uint64_t load(uint64_t addr, unsigned bytes)
{
	const uint8_t *at = bus(addr, bytes);
	uint64_t v = 0;
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)at[i] << 8 * i;
	return v;
}

void store(uint64_t addr, unsigned bytes, uint64_t v)
{
	uint8_t *at = bus(addr, bytes);
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

/* --- time --- */

uint64_t look_ns(uint64_t now, uint64_t least)
{
	static uint64_t since, next;
	if (now != next)
		since = now;
	uint64_t eighth = (now - since) / 8, ns = eighth > least ? eighth : least;
	next = now + ns;
	return ns;
}

/* --- frames --- */

unsigned frame_most;

unsigned frame_len(uint32_t seq)
{
	return 60 + seq * 7 % (frame_most - 60 + 1);
}

static uint8_t frame_byte(uint32_t seq, unsigned i)
{
	return (uint8_t)(i < 4 ? seq >> 8 * i : seq * 31 + i);
}

void make_frame(uint8_t *at, uint32_t seq)
{
	for (unsigned i = 0; i < frame_len(seq); i++)
		at[i] = frame_byte(seq, i);
}

void assert_frame(const uint8_t *at, unsigned len, uint32_t seq)
{
	static uint8_t want[BUF_STRIDE_STANDARD];
	assert_int_equal(len, frame_len(seq));
	make_frame(want, seq);
	assert_memory_equal(at, want, len);
}

void take_frame(struct bufpool *pool, struct pkt *p, uint32_t seq)
{
	assert_true(pkt_alloc(pool, p));
	p->len = (uint16_t)frame_len(seq);
	make_frame(p->data, seq);
}

/* Copies bytes of a frame to memory outside the pools, which is used again long after the frame was sent. */
static const uint8_t *put_outside(const uint8_t *from, unsigned n)
{
	static uint8_t *memory;
	static size_t at;
	void *want = (void *)(uintptr_t)(MEMORY_WINDOW + GUEST_BYTES);
	if (!memory)
		memory = mmap(want, GUEST_OUTSIDE_BYTES, PROT_READ | PROT_WRITE,
		              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(memory, want);
	if (at + BUF_META + n > GUEST_OUTSIDE_BYTES)
		at = 0;
	at += BUF_META; /* a piece may begin behind bytes that are not sent */
	memcpy(memory + at, from, n);
	at += n;
	return memory + at - n;
}

void take_chain(struct bufpool *pool, struct pkt *p, uint32_t seq, unsigned frags)
{
	static uint8_t whole[BUF_STRIDE_STANDARD];
	unsigned len = frame_len(seq), most = BUF_FRAGS_OFFSET - BUF_DATA_OFFSET, at = 0;
	struct pkt body = {0};
	assert_in_range(frags, 1, PKT_FRAGS_MAX);
	assert_true(len > frags);
	make_frame(whole, seq);
	assert_true(pkt_alloc(pool, p));
	p->len = (uint16_t)(1 + random_below(len - frags < most ? len - frags : most));
	p->flags = PKT_CHAIN;
	memcpy(p->data, whole, p->len);
	const uint8_t *from = whole + p->len;
	unsigned left = len - p->len;
	*pkt_meta(pool, p->buf) =
		(struct pkt_meta){.frag_bytes = (uint16_t)left, .frags = (uint8_t)frags};
	for (unsigned i = 0; i < frags; i++) {
		unsigned after = frags - i - 1, n = after ? 1 + random_below(left - after) : left;
		if (i == 0 || random_below(2) || at + n > pool->stride) {
			assert_true(pkt_alloc(pool, &body));
			at = BUF_META;
			pkt_meta(pool, body.buf)->refs = 0;
		}
		if (at == BUF_META && random_below(4) == 0) {
			const unsigned before = random_below(BUF_META); /* bytes of the piece's memory that are not sent */
			buf_set_outside(pool, body.buf, put_outside(from, n) - before, i % BUF_OUTSIDE_KINDS);
			pkt_frags(pool, p->buf)[i] =
				(struct pkt_frag){body.buf, (uint16_t)(BUF_OUTSIDE + before), (uint16_t)n};
			at = pool->stride; /* the next piece has a buffer of its own */
		} else {
			buf_hold(pool, body.buf);
			memcpy(buf_base(pool, body.buf) + at, from, n);
			pkt_frags(pool, p->buf)[i] = (struct pkt_frag){body.buf, (uint16_t)at, (uint16_t)n};
			at += n;
		}
		from += n;
		left -= n;
	}
}

unsigned flat(const struct bufpool *pool, const struct pkt *p, uint8_t *to)
{
	uint8_t *start = to;
	memcpy(to, p->data, p->len);
	to += p->len;
	for (unsigned i = 0; p->flags & PKT_CHAIN && i < pkt_meta(pool, p->buf)->frags; i++) {
		const struct pkt_frag *f = &pkt_frags(pool, p->buf)[i];
		memcpy(to, buf_at(pool, f->buf, f->offset), f->len);
		to += f->len;
	}
	return (unsigned)(to - start);
}

/* --- buffers --- */

static const struct bufpool *accounted;
static uint8_t owners[BUFFERS_MAX];
static uint16_t holders[BUFFERS_MAX];

void owners_forget(const struct bufpool *pool)
{
	assert_in_range(pool->count, 0, BUFFERS_MAX);
	accounted = pool;
	memset(owners, 0, pool->count);
	memset(holders, 0, pool->count * sizeof holders[0]);
}

void assert_owner(uint32_t buf)
{
	assert_in_range(buf, 0, accounted->count - 1);
	if (owners[buf]++)
		fail_msg("buffer %u has two owners", buf);
}

void add_holder(uint32_t buf)
{
	assert_in_range(buf, 0, accounted->count - 1);
	holders[buf]++;
}

void assert_packet(const struct pkt *p)
{
	for (unsigned i = 0; p->flags & PKT_CHAIN && i < pkt_meta(accounted, p->buf)->frags; i++)
		add_holder(pkt_frags(accounted, p->buf)[i].buf);
	if (p->flags & PKT_SHARED)
		add_holder(p->buf);
	else
		assert_owner(p->buf);
}

void assert_owner_word(uint32_t word)
{
	const struct pkt p = {.buf = word & 0x1fffffff, .flags = (uint8_t)(word >> 24 & 0x60)};
	assert_packet(&p);
}

void assert_all_owned(void)
{
	for (uint32_t i = 0; i < accounted->count; i++) {
		if (!owners[i] && !holders[i])
			fail_msg("buffer %u is lost", i);
		if (owners[i] && holders[i])
			fail_msg("buffer %u has an owner and %u holders", i, holders[i]);
		if (holders[i] && holders[i] != buf_holders(accounted, i))
			fail_msg("buffer %u has %u holders and counts %u", i, holders[i],
			         buf_holders(accounted, i));
	}
}
