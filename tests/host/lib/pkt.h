/*
 * Host twin of lib/pkt.h, found first by -Itests/host: the same pool, but ASan knows which buffers
 * are free. A free buffer is poisoned, so that its use after free is reported where it happens; a
 * double free is reported too. Objects without ASan have the pool alone. The test's NIC poisons what
 * a received frame does not fill. A test that links tests/host/refuse.c may have a buffer refused.
 */
#ifndef TESTS_HOST_PKT_H
#define TESTS_HOST_PKT_H

#include <sanitizer/asan_interface.h>

#ifndef __has_feature /* GCC 12 */
#define __has_feature(x) 0
#endif

#define bufpool_init bufpool_init_plain
#define pkt_alloc pkt_alloc_plain
#define buf_free buf_free_plain
#define pkt_free pkt_free_plain
#define pkt_free_whole pkt_free_whole_plain
#define buf_extend buf_extend_plain
#define buf_put buf_put_plain
#define buf_free_block buf_free_block_plain
#include "../../../lib/pkt.h"
#undef bufpool_init
#undef pkt_alloc
#undef buf_free
#undef pkt_free
#undef pkt_free_whole
#undef buf_extend
#undef buf_put
#undef buf_free_block

/* How often a buffer's pkt_meta was asked for, where a test defines it: what a walk over queues
 * costs, without a clock. */
extern uint64_t pkt_meta_looks __attribute__((weak));

static inline struct pkt_meta *pkt_meta_counted(const struct bufpool *p, uint32_t buf)
{
	if (&pkt_meta_looks)
		pkt_meta_looks++;
	return pkt_meta(p, buf);
}
#define pkt_meta(p, buf) pkt_meta_counted(p, buf)

static inline void buf_extend(uint8_t *from, size_t bytes)
{
	ASAN_UNPOISON_MEMORY_REGION(from, bytes);
}

static inline void bufpool_init(struct bufpool *p, uint8_t *base, uint32_t *stack, uint32_t count,
                                uint32_t stride)
{
	bufpool_init_plain(p, base, stack, count, stride);
	ASAN_POISON_MEMORY_REGION(base, (size_t)count * stride);
}

bool refuse_buffer(void) __attribute__((weak)); /* NULL if it is not linked */

/* For buffers of the test itself, or of its NIC: never refused. */
static inline bool pkt_take(struct bufpool *p, struct pkt *pkt)
{
	if (!pkt_alloc_plain(p, pkt))
		return false;
	ASAN_UNPOISON_MEMORY_REGION(buf_base(p, pkt->buf), p->stride);
	return true;
}

static inline bool pkt_alloc(struct bufpool *p, struct pkt *pkt)
{
	return !(refuse_buffer && refuse_buffer()) && pkt_take(p, pkt);
}

/* Without ASan it is not known: false. */
static inline bool buf_is_free(const struct bufpool *p, uint32_t buf)
{
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
	/* Nothing uses byte BUF_META, so it is poisoned only in a free buffer. */
	return __asan_address_is_poisoned(buf_base(p, buf) + BUF_META);
#else
	(void)p, (void)buf;
	return false;
#endif
}

static inline void buf_free(struct bufpool *p, uint32_t buf)
{
	assert(buf < p->count);
	assert(!buf_is_free(p, buf));
	ASAN_POISON_MEMORY_REGION(buf_base(p, buf), p->stride);
	buf_free_plain(p, buf);
}

static inline bool buf_free_block(struct bufpool *p, const uint32_t *buf, unsigned n, uint32_t odd)
{
	for (unsigned i = 0; i < n; i++)
		if (buf[i] & odd)
			return false;
	for (unsigned i = 0; i < n; i++)
		buf_free(p, buf[i]);
	return true;
}

static inline void buf_put(struct bufpool *p, uint32_t buf)
{
	assert(buf_holders(p, buf) > 0);
	const uint16_t left = --pkt_meta(p, buf)->refs;
	if (left == 0)
		buf_free(p, buf);
	else if (left == BUF_REFS_OUTSIDE)
		buf_free_outside(p, buf);
}

static inline void pkt_free(struct bufpool *p, const struct pkt *pkt)
{
	if (pkt->flags & (PKT_SHARED | PKT_CHAIN))
		pkt_free_parts(p, pkt);
	else
		buf_free(p, pkt->buf);
}

static inline void pkt_free_whole(struct bufpool *p, const struct pkt *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		assert(!(v[i].flags & (PKT_SHARED | PKT_CHAIN)));
		buf_free(p, v[i].buf);
	}
}

#endif
