/* See hand.h. */
#include "tests/unit/rig/hand.h"

#include "abi/layout.h"
#include "hal/mmio.h"

#define GUARD 256u

struct hand hand;

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	fail_msg("the data path reads a register of %u bytes at %p", bytes,
	         (const volatile void *)a);
	return 0;
}

uint8_t *hand_begin(struct bufpool *pool, uint32_t *stack, struct nic_counters *cnt,
                    size_t ring_bytes, unsigned buffers, uint32_t stride)
{
	uint8_t *memory = (uint8_t *)(uintptr_t)MEMORY_WINDOW, *rings = memory + GUEST_PAGE;
	uint8_t *base = rings + ((ring_bytes + GUARD + GUEST_PAGE - 1) & ~(size_t)(GUEST_PAGE - 1));
	uint8_t *end = base + (size_t)buffers * stride;
	assert_in_range(buffers, 0, BUFS_MAX);
	assert_true(end <= memory + GUEST_BYTES);
	guest_open();
	guest_close(memory, rings);
	guest_close(rings + ring_bytes, base);
	guest_close(end, memory + GUEST_BYTES);
	memset(rings, 0, ring_bytes);
	bufpool_init(pool, base, stack, buffers, stride);
	memset(&hand, 0, sizeof hand);
	hand.pool = pool;
	hand.cnt = cnt;
	return rings;
}

void hand_takes(const struct pkt *v, unsigned n)
{
	assert_in_range(hand.n + n, 0, BUFS_MAX);
	memcpy(&hand.pkt[hand.n], v, n * sizeof v[0]);
	hand.n += n;
}

void hand_gave(unsigned n)
{
	assert_in_range(n, 0, hand.n);
	hand.n -= n;
	memmove(hand.pkt, hand.pkt + n, hand.n * sizeof hand.pkt[0]);
}

void take_frames(unsigned n, uint32_t seq)
{
	for (unsigned i = 0; i < n; i++)
		take_frame(hand.pool, &hand.pkt[hand.n++], seq + i);
}

void take_frags(uint32_t seq, unsigned frags)
{
	take_chain(hand.pool, &hand.pkt[hand.n++], seq, frags);
}

void keep(struct pkt *p, unsigned holders)
{
	p->flags |= PKT_SHARED;
	pkt_meta(hand.pool, p->buf)->refs = (uint16_t)holders;
	while (--holders)
		hand.kept[hand.nkept++] = p->buf;
}

void let_go_of_kept(unsigned i)
{
	buf_put(hand.pool, hand.kept[i]);
	hand.kept[i] = hand.kept[--hand.nkept];
}

void let_go_of_all_kept(void)
{
	while (hand.nkept)
		let_go_of_kept(hand.nkept - 1);
}

void let_go(void)
{
	while (hand.n)
		pkt_free(hand.pool, &hand.pkt[--hand.n]);
}

void assert_hand(void)
{
	owners_forget(hand.pool);
	for (uint32_t i = 0; i < hand.pool->free; i++)
		assert_owner(hand.pool->stack[i]);
	for (unsigned i = 0; i < hand.n; i++)
		assert_packet(&hand.pkt[i]);
	for (unsigned i = 0; i < hand.nkept; i++)
		add_holder(hand.kept[i]);
}
