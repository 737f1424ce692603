/* net/bfd: the packet, the state machine of RFC 5880 6.8.6, timers, poll sequences, jitter, and two
 * sessions that run against each other in virtual time. */
#include "tests/unit/rig/host.h"

#include "net/bfd/session.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

static const struct bfd_wish fifty = {.desired_tx_us = 50000, .required_rx_us = 50000, .detect_mult = 3};

static struct bfd_packet from_peer(enum bfd_state state)
{
	return (struct bfd_packet){.state = state, .detect_mult = 3, .my_discr = 77, .your_discr = 5,
	                           .desired_tx_us = 50000, .required_rx_us = 50000};
}

/* --- the packet --- */

static void test_packet_round_trip(void **state)
{
	(void)state;
	uint8_t octets[BFD_PACKET_LEN];
	const struct bfd_packet p = {.state = BFD_UP, .diag = 7, .flags = BFD_POLL | BFD_CPI,
	                             .detect_mult = 3, .my_discr = 0x01020304, .your_discr = 0x05060708,
	                             .desired_tx_us = 50000, .required_rx_us = 10000,
	                             .required_echo_us = 9};
	static const uint8_t want[BFD_PACKET_LEN] = {0x27, 0xe8, 3, 24, 1, 2, 3, 4, 5, 6, 7, 8,
	                                             0, 0, 0xc3, 0x50, 0, 0, 0x27, 0x10, 0, 0, 0, 9};
	struct bfd_packet out;
	bfd_packet_write(octets, &p);
	assert_memory_equal(octets, want, sizeof want);
	assert_int_equal(bfd_packet_read(octets, sizeof octets, &out), CNT_NONE);
	/* by member: what lies between them is not said, and clang 19 leaves it as it was */
	assert_int_equal(out.state, p.state);
	assert_int_equal(out.diag, p.diag);
	assert_int_equal(out.flags, p.flags);
	assert_int_equal(out.detect_mult, p.detect_mult);
	assert_int_equal(out.my_discr, p.my_discr);
	assert_int_equal(out.your_discr, p.your_discr);
	assert_int_equal(out.desired_tx_us, p.desired_tx_us);
	assert_int_equal(out.required_rx_us, p.required_rx_us);
	assert_int_equal(out.required_echo_us, p.required_echo_us);
}

static enum counter read_with(unsigned at, uint8_t value)
{
	uint8_t octets[BFD_PACKET_LEN];
	const struct bfd_packet p = from_peer(BFD_UP);
	struct bfd_packet out;
	bfd_packet_write(octets, &p);
	octets[at] = value;
	return bfd_packet_read(octets, sizeof octets, &out);
}

static void test_packet_refused(void **state)
{
	(void)state;
	uint8_t octets[BFD_PACKET_LEN + 8] = {0};
	struct bfd_packet p = from_peer(BFD_UP), out;
	assert_int_equal(read_with(0, 0x20), CNT_NONE);
	assert_int_equal(read_with(0, 0x00), CNT_drop_bfd_malformed); /* version 0 */
	assert_int_equal(read_with(0, 0x40), CNT_drop_bfd_malformed); /* version 2 */
	assert_int_equal(read_with(1, 0xc1), CNT_drop_bfd_malformed); /* multipoint */
	assert_int_equal(read_with(1, 0xc4), CNT_drop_bfd_auth);
	assert_int_equal(read_with(2, 0), CNT_drop_bfd_malformed);
	assert_int_equal(read_with(3, 23), CNT_drop_bfd_malformed);
	assert_int_equal(read_with(3, 25), CNT_drop_bfd_malformed); /* beyond the payload */
	assert_int_equal(read_with(7, 0), CNT_drop_bfd_malformed); /* my discriminator 0 */
	bfd_packet_write(octets, &p);
	for (unsigned n = 0; n < BFD_PACKET_LEN; n++)
		assert_int_equal(bfd_packet_read(octets, n, &out), CNT_drop_bfd_malformed);
	assert_int_equal(bfd_packet_read(octets, sizeof octets, &out), CNT_NONE); /* padded */
	for (enum bfd_state s = BFD_ADMIN_DOWN; s <= BFD_UP; s++) {
		p.state = s;
		p.your_discr = 0;
		bfd_packet_write(octets, &p);
		assert_int_equal(bfd_packet_read(octets, BFD_PACKET_LEN, &out),
		                 s <= BFD_DOWN ? CNT_NONE : CNT_drop_bfd_malformed);
	}
}

/* --- the state machine --- */

/* A session in that state, at time 0, which has just sent. */
static void bring(struct bfd_session *s, enum bfd_state state)
{
	struct bfd_wish wish = fifty;
	struct bfd_packet p;
	unsigned changed;
	wish.shutdown = state == BFD_ADMIN_DOWN;
	bfd_session_init(s, 5, &wish, 1, 0);
	if (state >= BFD_INIT) {
		p = from_peer(BFD_DOWN);
		bfd_session_receive(s, &p, 0, &changed);
	}
	if (state == BFD_UP) {
		p = from_peer(BFD_INIT);
		bfd_session_receive(s, &p, 0, &changed);
	}
	assert_int_equal(s->state, state);
	while (bfd_session_send(s, 0, &p))
		;
}

static void test_every_transition(void **state)
{
	(void)state;
	/* [ours][received] */
	static const enum bfd_state want[4][4] = {
		[BFD_ADMIN_DOWN] = {BFD_ADMIN_DOWN, BFD_ADMIN_DOWN, BFD_ADMIN_DOWN, BFD_ADMIN_DOWN},
		[BFD_DOWN] = {BFD_DOWN, BFD_INIT, BFD_UP, BFD_DOWN},
		[BFD_INIT] = {BFD_DOWN, BFD_INIT, BFD_UP, BFD_UP},
		[BFD_UP] = {BFD_DOWN, BFD_DOWN, BFD_UP, BFD_UP},
	};
	for (enum bfd_state ours = BFD_ADMIN_DOWN; ours <= BFD_UP; ours++)
		for (enum bfd_state received = BFD_ADMIN_DOWN; received <= BFD_UP; received++) {
			struct bfd_session s;
			unsigned changed;
			bring(&s, ours);
			const struct bfd_packet p = from_peer(received);
			assert_int_equal(bfd_session_receive(&s, &p, MS, &changed),
			                 ours == BFD_ADMIN_DOWN ? CNT_drop_bfd_admin : CNT_delivered_bfd);
			assert_int_equal(s.state, want[ours][received]);
			assert_int_equal((changed & BFD_CHANGED_STATE) != 0, s.state != ours);
			if (ours > BFD_DOWN && s.state == BFD_DOWN)
				assert_int_equal(s.diag, BFD_DIAG_NEIGHBOUR);
			if (s.state == BFD_UP)
				assert_int_equal(s.diag, BFD_DIAG_NONE);
			/* a change is sent at once */
			if (s.state != ours)
				assert_true(bfd_session_deadline(&s) <= MS);
			assert_true(s.state == BFD_UP || s.tx_us >= BFD_SLOW_US);
		}
}

static void test_detection_time(void **state)
{
	(void)state;
	for (enum bfd_state ours = BFD_INIT; ours <= BFD_UP; ours++) {
		struct bfd_session s;
		struct bfd_packet p = from_peer(ours == BFD_UP ? BFD_UP : BFD_DOWN);
		unsigned changed;
		bring(&s, ours);
		p.desired_tx_us = 70000; /* longer than what we require */
		p.detect_mult = 4;
		bfd_session_receive(&s, &p, SECOND, &changed);
		assert_int_equal(bfd_session_detect_ns(&s), 4 * 70 * MS);
		assert_int_equal(bfd_session_expire(&s, SECOND + 280 * MS - 1, SECOND + 280 * MS), 0);
		assert_int_equal(s.state, ours);
		assert_true(bfd_session_expire(&s, SECOND + 280 * MS, SECOND + 280 * MS) &
		            BFD_CHANGED_STATE);
		assert_int_equal(s.state, BFD_DOWN);
		assert_int_equal(s.diag, BFD_DIAG_EXPIRED);
		assert_int_equal(s.remote_discr, 0);
		assert_true(bfd_session_send(&s, SECOND + 280 * MS, &p));
		assert_int_equal(p.your_discr, 0);
		assert_int_equal(p.state, BFD_DOWN);
		assert_int_equal(p.diag, BFD_DIAG_EXPIRED);
		assert_int_equal(p.desired_tx_us, BFD_SLOW_US);
	}
	struct bfd_session s;
	bring(&s, BFD_DOWN); /* nothing was heard: nothing expires */
	assert_int_equal(bfd_session_expire(&s, 1000 * SECOND, 1000 * SECOND), 0);
}

static void test_administrative(void **state)
{
	(void)state;
	struct bfd_session s;
	struct bfd_packet p;
	struct bfd_wish wish = fifty;
	bring(&s, BFD_UP);
	wish.shutdown = true;
	assert_int_equal(bfd_session_change(&s, &wish, MS), BFD_CHANGED_STATE);
	assert_true(bfd_session_send(&s, MS, &p));
	assert_int_equal(p.state, BFD_ADMIN_DOWN);
	assert_int_equal(p.diag, BFD_DIAG_ADMIN_DOWN);
	wish.shutdown = false;
	assert_int_equal(bfd_session_change(&s, &wish, 2 * MS), BFD_CHANGED_STATE);
	assert_int_equal(s.state, BFD_DOWN);
	assert_int_equal(s.diag, BFD_DIAG_NONE);
}

static void test_passive(void **state)
{
	(void)state;
	struct bfd_session s;
	struct bfd_wish wish = fifty;
	struct bfd_packet p;
	unsigned changed;
	wish.passive = true;
	bfd_session_init(&s, 5, &wish, 1, 0);
	assert_int_equal(bfd_session_deadline(&s), UINT64_MAX);
	assert_false(bfd_session_send(&s, 100 * SECOND, &p));
	p = from_peer(BFD_DOWN);
	p.your_discr = 0;
	bfd_session_receive(&s, &p, SECOND, &changed);
	assert_int_equal(s.state, BFD_INIT);
	assert_true(bfd_session_send(&s, SECOND, &p));
	assert_int_equal(p.your_discr, 77);
	assert_true(bfd_session_expire(&s, 10 * SECOND, 10 * SECOND)); /* the peer is unknown again */
	assert_false(bfd_session_send(&s, 100 * SECOND, &p));
	wish.passive = false;
	assert_int_equal(bfd_session_change(&s, &wish, 100 * SECOND), 0);
	assert_true(bfd_session_send(&s, 100 * SECOND, &p));
}

static void test_peer_wants_nothing(void **state)
{
	(void)state;
	struct bfd_session s;
	struct bfd_packet p = from_peer(BFD_UP), out;
	unsigned changed;
	bring(&s, BFD_UP);
	p.required_rx_us = 0;
	bfd_session_receive(&s, &p, MS, &changed);
	assert_false(bfd_session_send(&s, 100 * MS, &out));
	p.flags = BFD_POLL; /* a poll is answered all the same */
	bfd_session_receive(&s, &p, 100 * MS, &changed);
	assert_true(bfd_session_send(&s, 100 * MS, &out));
	assert_int_equal(out.flags, BFD_FINAL);
	assert_false(bfd_session_send(&s, 100 * SECOND, &out));
	p.flags = 0;
	p.required_rx_us = 50000;
	bfd_session_receive(&s, &p, SECOND, &changed);
	assert_true(bfd_session_send(&s, SECOND, &out));
	p.required_rx_us = 0;
	bfd_session_receive(&s, &p, SECOND, &changed);
	assert_true(bfd_session_expire(&s, 2 * SECOND, 2 * SECOND)); /* what a dead peer wanted is void */
	assert_true(bfd_session_send(&s, 2 * SECOND, &out));
	assert_int_equal(out.state, BFD_DOWN);
	bring(&s, BFD_DOWN); /* likewise if the session was down */
	p = from_peer(BFD_UP);
	p.required_rx_us = 0;
	bfd_session_receive(&s, &p, MS, &changed);
	assert_false(bfd_session_send(&s, 100 * MS, &out));
	assert_true(bfd_session_expire(&s, SECOND, SECOND));
	assert_true(bfd_session_send(&s, 2 * SECOND, &out));
}

/* A new session's values, and the fields that never change. */
static void test_contents(void **state)
{
	(void)state;
	struct bfd_session s;
	struct bfd_wish wish = fifty;
	struct bfd_packet p;
	wish.cpi = true;
	bfd_session_init(&s, 5, &wish, 1, 0);
	assert_true(bfd_session_send(&s, 0, &p));
	assert_int_equal(p.state, BFD_DOWN);
	assert_int_equal(p.diag, BFD_DIAG_NONE);
	assert_int_equal(p.flags, BFD_CPI);
	assert_int_equal(p.detect_mult, 3);
	assert_int_equal(p.my_discr, 5);
	assert_int_equal(p.your_discr, 0);
	assert_int_equal(p.desired_tx_us, BFD_SLOW_US);
	assert_int_equal(p.required_rx_us, 50000);
	assert_int_equal(p.required_echo_us, 0);
	assert_int_equal(s.remote_state, BFD_DOWN);
	assert_int_equal(bfd_session_interval_us(&s), BFD_SLOW_US); /* the peer's is 1 us */
}

/* --- poll sequences --- */

static void answer(struct bfd_session *s, uint64_t now)
{
	struct bfd_packet p = from_peer(BFD_UP);
	unsigned changed;
	p.flags = BFD_FINAL;
	bfd_session_receive(s, &p, now, &changed);
}

static struct bfd_packet next_packet(struct bfd_session *s, uint64_t *now)
{
	struct bfd_packet p;
	*now = bfd_session_deadline(s);
	assert_true(bfd_session_send(s, *now, &p));
	return p;
}

/* Keeps the session alive. */
static void hear(struct bfd_session *s, uint64_t now)
{
	struct bfd_packet p = from_peer(BFD_UP);
	unsigned changed;
	bfd_session_receive(s, &p, now, &changed);
}

static void test_poll_on_up(void **state)
{
	(void)state;
	struct bfd_session s;
	struct bfd_packet p = from_peer(BFD_INIT);
	unsigned changed;
	uint64_t now;
	bfd_session_init(&s, 5, &fifty, 1, 0);
	assert_int_equal(next_packet(&s, &now).desired_tx_us, BFD_SLOW_US);
	p.flags = BFD_FINAL; /* of no poll: ignored */
	bfd_session_receive(&s, &p, MS, &changed);
	assert_int_equal(s.state, BFD_UP);
	assert_true(bfd_session_polls(&s));
	answer(&s, MS); /* before the first P has been sent: another poll's */
	assert_true(bfd_session_polls(&s));
	p = next_packet(&s, &now);
	assert_int_equal(now, MS);
	assert_int_equal(p.desired_tx_us, 50000);
	assert_true(p.flags & BFD_POLL);
	p = next_packet(&s, &now);
	assert_true(p.flags & BFD_POLL); /* until it is answered */
	answer(&s, now);
	assert_false(bfd_session_polls(&s));
	assert_false(next_packet(&s, &now).flags & BFD_POLL);
}

/* Down during a poll sequence, then Up: an F that comes before the first P of the new sequence does not end it. */
static void test_poll_after_a_poll_cut_short(void **state)
{
	(void)state;
	struct bfd_session s;
	unsigned changed;
	uint64_t now;
	bring(&s, BFD_UP); /* P has been sent */
	assert_true(bfd_session_polls(&s));
	for (unsigned i = 0; i < 3; i++) {
		const struct bfd_packet p = from_peer((enum bfd_state[]){BFD_DOWN, BFD_DOWN, BFD_INIT}[i]);
		bfd_session_receive(&s, &p, MS, &changed);
	}
	assert_int_equal(s.state, BFD_UP);
	answer(&s, MS);
	assert_true(bfd_session_polls(&s));
	assert_true(next_packet(&s, &now).flags & BFD_POLL);
	answer(&s, now);
	assert_false(bfd_session_polls(&s));
}

/* Up, its first poll answered. */
static void settled(struct bfd_session *s, uint64_t *now)
{
	bring(s, BFD_UP);
	answer(s, 0);
	assert_false(bfd_session_polls(s));
	*now = 0;
}

static void test_slower_waits_for_the_final(void **state)
{
	(void)state;
	struct bfd_session s;
	struct bfd_wish wish = fifty;
	uint64_t now;
	settled(&s, &now);
	wish.desired_tx_us = 200000;
	bfd_session_change(&s, &wish, MS);
	assert_int_equal(next_packet(&s, &now).desired_tx_us, 200000);
	assert_int_equal(bfd_session_interval_us(&s), 50000);
	answer(&s, now);
	assert_int_equal(bfd_session_interval_us(&s), 200000);
}

static void test_faster_is_at_once(void **state)
{
	(void)state;
	struct bfd_session s;
	struct bfd_wish wish = fifty;
	struct bfd_packet p = from_peer(BFD_UP);
	unsigned changed;
	uint64_t now;
	settled(&s, &now);
	p.required_rx_us = 10000;
	bfd_session_receive(&s, &p, 0, &changed);
	wish.desired_tx_us = 10000;
	bfd_session_change(&s, &wish, MS);
	assert_int_equal(bfd_session_interval_us(&s), 10000);
	assert_true(next_packet(&s, &now).flags & BFD_POLL);
}

static void test_shorter_detection_waits(void **state)
{
	(void)state;
	struct bfd_session s;
	struct bfd_packet p = from_peer(BFD_UP);
	struct bfd_wish wish = fifty;
	unsigned changed;
	uint64_t now;
	settled(&s, &now);
	p.desired_tx_us = 10000;
	bfd_session_receive(&s, &p, 0, &changed);
	assert_int_equal(bfd_session_detect_ns(&s), 150 * MS);
	wish.required_rx_us = 20000;
	bfd_session_change(&s, &wish, MS);
	assert_int_equal(next_packet(&s, &now).required_rx_us, 20000);
	assert_int_equal(bfd_session_detect_ns(&s), 150 * MS);
	p.flags = BFD_FINAL;
	bfd_session_receive(&s, &p, now, &changed);
	assert_int_equal(bfd_session_detect_ns(&s), 60 * MS);
	wish.required_rx_us = 90000; /* longer: at once */
	bfd_session_change(&s, &wish, now);
	assert_int_equal(bfd_session_detect_ns(&s), 270 * MS);
	assert_false(bfd_session_expire(&s, now + 269 * MS, now + 269 * MS)); /* for the last packet too */
	assert_true(bfd_session_expire(&s, now + 270 * MS, now + 270 * MS));
}

/* A peer that takes less time between packets gets the next one in time. */
static void test_peer_becomes_faster(void **state)
{
	(void)state;
	struct bfd_session s;
	struct bfd_packet p = from_peer(BFD_UP), out;
	unsigned changed;
	uint64_t sent;
	settled(&s, &sent);
	p.required_rx_us = 5000000;
	bfd_session_receive(&s, &p, 0, &changed);
	sent = s.tx_due_ns;
	assert_true(bfd_session_send(&s, sent, &out));
	p.required_rx_us = 50000;
	bfd_session_receive(&s, &p, sent + 10 * MS, &changed);
	assert_in_range(s.tx_due_ns, sent + 37 * MS, sent + 50 * MS);
	p.required_rx_us = 5000000;
	bfd_session_receive(&s, &p, sent + 20 * MS, &changed);
	p.required_rx_us = 50000;
	bfd_session_receive(&s, &p, sent + SECOND, &changed);
	assert_int_equal(s.tx_due_ns, sent + SECOND); /* that interval has passed already */
}

static void test_change_during_a_poll(void **state)
{
	(void)state;
	struct bfd_session s;
	struct bfd_wish wish = fifty;
	uint64_t now;
	settled(&s, &now);
	wish.desired_tx_us = 60000;
	bfd_session_change(&s, &wish, MS);
	assert_true(next_packet(&s, &now).flags & BFD_POLL);
	wish.desired_tx_us = 70000;
	bfd_session_change(&s, &wish, now);
	answer(&s, now); /* of the first sequence: it may not know of 70 ms */
	assert_int_equal(bfd_session_interval_us(&s), 50000);
	wish.desired_tx_us = 80000;
	bfd_session_change(&s, &wish, now);
	hear(&s, now); /* may have been sent before the next packet arrived: does not count */
	assert_false(next_packet(&s, &now).flags & BFD_POLL);
	assert_false(next_packet(&s, &now).flags & BFD_POLL); /* until a packet without F arrives */
	answer(&s, now);
	assert_false(next_packet(&s, &now).flags & BFD_POLL);
	hear(&s, now);
	assert_true(next_packet(&s, &now).flags & BFD_POLL);
	answer(&s, now);
	assert_int_equal(bfd_session_interval_us(&s), 80000);
	assert_false(bfd_session_polls(&s));
}

static void test_final(void **state)
{
	(void)state;
	struct bfd_session s;
	struct bfd_wish wish = fifty;
	struct bfd_packet p = from_peer(BFD_UP), out;
	unsigned changed;
	uint64_t now;
	settled(&s, &now);
	const uint64_t due = s.tx_due_ns;
	p.flags = BFD_POLL;
	bfd_session_receive(&s, &p, MS, &changed);
	assert_true(bfd_session_send(&s, MS, &out));
	assert_int_equal(out.flags, BFD_FINAL);
	assert_int_equal(s.tx_due_ns, due); /* periodic ones continue */
	assert_false(bfd_session_send(&s, MS, &out));
	bfd_session_receive(&s, &p, MS, &changed);
	p.flags = 0;
	bfd_session_receive(&s, &p, MS, &changed); /* before the answer to the one with P */
	assert_true(bfd_session_send(&s, MS, &out));
	assert_int_equal(out.flags, BFD_FINAL);
	p.flags = BFD_POLL;
	wish.desired_tx_us = 60000;
	bfd_session_change(&s, &wish, MS); /* a poll of ours: F is without P all the same */
	bfd_session_receive(&s, &p, MS, &changed);
	assert_true(bfd_session_send(&s, MS, &out));
	assert_int_equal(out.flags, BFD_FINAL);
	assert_true(bfd_session_send(&s, MS, &out));
	assert_int_equal(out.flags, BFD_POLL);
	for (enum bfd_state ours = BFD_ADMIN_DOWN; ours <= BFD_UP; ours++) {
		bring(&s, ours);
		p = from_peer(ours == BFD_UP ? BFD_UP : BFD_DOWN);
		p.flags = BFD_POLL;
		bfd_session_receive(&s, &p, MS, &changed);
		assert_int_equal(bfd_session_send(&s, MS, &out) && out.flags & BFD_FINAL, ours != BFD_ADMIN_DOWN);
	}
}

/* --- intervals --- */

/* Demand mode is not there. */
static void test_demand(void **state)
{
	(void)state;
	struct bfd_session s;
	struct bfd_packet p = from_peer(BFD_UP);
	unsigned changed;
	uint64_t now;
	settled(&s, &now);
	p.flags = BFD_DEMAND;
	bfd_session_receive(&s, &p, 0, &changed);
	next_packet(&s, &now);
	assert_true(now <= 50 * MS); /* it is sent in spite of that */
	assert_false(next_packet(&s, &now).flags & BFD_DEMAND);
}

static void test_jitter(void **state)
{
	(void)state;
	static const uint8_t mults[] = {1, 3};
	static const uint32_t intervals[] = {10000, 50000, 1000000, UINT32_MAX};
	for (unsigned m = 0; m < 2; m++)
		for (unsigned i = 0; i < ARRAY_LEN(intervals); i++) {
			struct bfd_session s;
			const uint64_t whole = intervals[i] * 1000ull;
			uint64_t least = UINT64_MAX, most = 0, before = 0, now;
			settled(&s, &now);
			s.remote_required_rx_us = 1;
			s.wish.detect_mult = mults[m];
			s.tx_used_us = s.tx_us = intervals[i];
			for (unsigned n = 0; n < 2000; n++) {
				next_packet(&s, &now);
				if (n > 1) {
					least = now - before < least ? now - before : least;
					most = now - before > most ? now - before : most;
				}
				before = now;
				s.detect_ns = UINT64_MAX;
			}
			const uint64_t bound = mults[m] == 1 ? whole / 10 * 9 : whole;
			assert_true(least >= whole / 4 * 3 && least < whole / 100 * 77);
			assert_true(most <= bound && most > bound / 100 * 98);
		}
}

static void test_no_overflow(void **state)
{
	(void)state;
	struct bfd_session s;
	struct bfd_packet p = from_peer(BFD_UP);
	unsigned changed;
	uint64_t now;
	settled(&s, &now);
	p.desired_tx_us = UINT32_MAX;
	p.required_rx_us = UINT32_MAX;
	p.detect_mult = 255;
	bfd_session_receive(&s, &p, 0, &changed);
	assert_int_equal(bfd_session_detect_ns(&s), UINT32_MAX * 255000ull);
	assert_int_equal(bfd_session_interval_us(&s), UINT32_MAX);
	assert_true(s.tx_due_ns <= UINT32_MAX * 1000ull);
}

/* --- two sessions --- */

struct link {
	struct bfd_session end[2];
	bool cut;
	uint64_t now;
};

static void deliver(struct link *l, unsigned to, const struct bfd_packet *sent)
{
	uint8_t octets[BFD_PACKET_LEN];
	struct bfd_packet p;
	unsigned changed;
	if (l->cut)
		return;
	bfd_packet_write(octets, sent);
	assert_int_equal(bfd_packet_read(octets, sizeof octets, &p), CNT_NONE);
	assert_true(p.your_discr == 0 || p.your_discr == l->end[to].local_discr);
	bfd_session_receive(&l->end[to], &p, l->now, &changed);
}

static void run_until(struct link *l, uint64_t end)
{
	for (;;) {
		const uint64_t a = bfd_session_deadline(&l->end[0]), b = bfd_session_deadline(&l->end[1]);
		const uint64_t next = a < b ? a : b;
		struct bfd_packet p;
		if (next > end)
			break;
		l->now = next > l->now ? next : l->now;
		for (unsigned e = 0; e < 2; e++) {
			bfd_session_expire(&l->end[e], l->now, l->now);
			while (bfd_session_send(&l->end[e], l->now, &p))
				deliver(l, !e, &p);
		}
	}
	l->now = end;
}

static void test_two(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed < 200; seed++) {
		struct link l = {0};
		struct bfd_wish wish[2];
		for (unsigned e = 0; e < 2; e++) {
			wish[e] = (struct bfd_wish){.desired_tx_us = 10000 + random_below(90000),
			                            .required_rx_us = 10000 + random_below(90000),
			                            .detect_mult = (uint8_t)(1 + random_below(4)),
			                            .passive = e && random_below(2)};
			bfd_session_init(&l.end[e], 100 + e, &wish[e], seed * 2 + e, 0);
		}
		run_until(&l, 3 * SECOND);
		for (unsigned round = 0; round < 3; round++) {
			for (unsigned e = 0; e < 2; e++) {
				assert_int_equal(l.end[e].state, BFD_UP);
				assert_false(bfd_session_polls(&l.end[e]));
				const uint32_t tx = wish[e].desired_tx_us, rx = wish[!e].required_rx_us;
				assert_int_equal(bfd_session_interval_us(&l.end[e]), tx > rx ? tx : rx);
			}
			wish[0].desired_tx_us = 10000 + random_below(900000);
			bfd_session_change(&l.end[0], &wish[0], l.now);
			wish[1].required_rx_us = 10000 + random_below(900000);
			bfd_session_change(&l.end[1], &wish[1], l.now);
			run_until(&l, l.now + 10 * SECOND);
		}
		const uint64_t longest = bfd_session_detect_ns(&l.end[0]) > bfd_session_detect_ns(&l.end[1])
		                                 ? bfd_session_detect_ns(&l.end[0])
		                                 : bfd_session_detect_ns(&l.end[1]);
		l.cut = true;
		run_until(&l, l.now + longest);
		assert_true(l.end[0].state == BFD_DOWN && l.end[1].state == BFD_DOWN);
		l.cut = false;
		run_until(&l, l.now + 5 * SECOND);
		assert_true(l.end[0].state == BFD_UP && l.end[1].state == BFD_UP);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packet_round_trip),
		cmocka_unit_test(test_packet_refused),
		cmocka_unit_test(test_every_transition),
		cmocka_unit_test(test_detection_time),
		cmocka_unit_test(test_administrative),
		cmocka_unit_test(test_passive),
		cmocka_unit_test(test_peer_wants_nothing),
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_demand),
		cmocka_unit_test(test_poll_on_up),
		cmocka_unit_test(test_poll_after_a_poll_cut_short),
		cmocka_unit_test(test_slower_waits_for_the_final),
		cmocka_unit_test(test_faster_is_at_once),
		cmocka_unit_test(test_shorter_detection_waits),
		cmocka_unit_test(test_peer_becomes_faster),
		cmocka_unit_test(test_change_during_a_poll),
		cmocka_unit_test(test_final),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_no_overflow),
		cmocka_unit_test(test_two),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
