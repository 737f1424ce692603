/* See hand.h. */
#include "tests/unit/hand.h"

struct hand hand;

void hand_empty(struct bufpool *pool, struct nic_counters *cnt)
{
	memset(&hand, 0, sizeof hand);
	hand.pool = pool;
	hand.cnt = cnt;
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
