/*
 * What the entries for the rings of drivers share (fuzz_intel.c, fuzz_mlx5.c): a program of the
 * core's turns and the device's lies. The core receives and sends, keeps packets and releases them.
 * After each instruction every buffer has one owner, and received packets are valid.
 */
#ifndef TESTS_FUZZ_RINGS_H
#define TESTS_FUZZ_RINGS_H

#include "tests/fuzz/rig.h"
#include "tests/unit/rig/ring_rig.h"

static inline void rings_input(const uint8_t *data, size_t size)
{
	static bool mapped;
	if (!mapped)
		assert_int_equal(guest_map(NULL), 0);
	mapped = true;
	rig_input(data, size);
}

/* The packets of the last burst are the last `n` in hand: all of a frame lies in its buffer. */
static inline void rings_sound(unsigned n)
{
	for (unsigned i = hand.n - n; i < hand.n; i++) {
		const struct pkt *p = &hand.pkt[i];
		const uint8_t *base = buf_base(hand.pool, p->buf);
		assert_true(p->len > 0 && p->data >= base + BUF_META);
		assert_true(p->data + p->len <= base + hand.pool->stride);
	}
}

/* Makes frames to be sent: plain ones, or one in pieces, or one with another holder. */
static inline void rings_take(void)
{
	uint8_t how = rig_u8();
	unsigned n = how % 16 + 1;
	if (hand.pool->free < n + 1 || hand.n + n > BUFS_MAX || hand.nkept > BUFS_MAX - 4)
		return;
	if (how & 0x80)
		take_frags(how, n < PKT_FRAGS_MAX ? n : PKT_FRAGS_MAX);
	else
		take_frames(n, how);
	if (how & 0x40)
		keep(&hand.pkt[hand.n - 1], 1 + how % 4);
}

static inline void rings_let_go(void)
{
	for (unsigned n = rig_u8(); n && hand.n; n--)
		pkt_free(hand.pool, &hand.pkt[--hand.n]);
	if (hand.nkept)
		let_go_of_kept(rig_u8() % hand.nkept);
}

/* Instructions of the core. */
enum { RINGS_RX, RINGS_TX, RINGS_TAKE, RINGS_LET_GO, RINGS_OPS };

static inline void rings_turn(unsigned op)
{
	switch (op) {
	case RINGS_RX: rings_sound(rx(1 + rig_u8())); break;
	case RINGS_TX: tx(); break;
	case RINGS_TAKE: rings_take(); break;
	case RINGS_LET_GO: rings_let_go(); break;
	}
	assert_accounted();
}

#endif
