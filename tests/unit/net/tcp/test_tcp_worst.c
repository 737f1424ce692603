/*
 * What a segment of a hostile peer may cost (tcp_worst.h): how many buffers are looked at, which does
 * not depend on the machine. Without ranges.c and scoreboard.c each of these segments had all that was
 * outstanding, or all ranges, looked at: more than ten thousand.
 */
#include "tests/unit/rig/host.h"

#include "net/tcp/inside.h"
#include "tests/unit/rig/tcp_worst.h"

#define BUFFERS 40000
#define CHUNKS 16400u    /* outstanding: snd_buf / 256 + 16 */
#define SEND_BUF (4u << 20)
#define RANGES 512u
#define SEGMENT_LOOKS 600u /* a look is some 20 cycles where the buffer is in no cache */

uint64_t pkt_meta_looks;

static struct worst w;

/* --- a receiver --- */

/* Single bytes at every second place, from both ends inwards: each is a range of its own, and is
 * looked for where the last one was not. */
static void many_ranges(void **state)
{
	(void)state;
	uint64_t most = 0;
	worst_begin(&w, BUFFERS, 1u << 20, 65536);
	for (uint32_t i = 0; i < RANGES; i++) {
		uint64_t before = pkt_meta_looks;
		uint32_t place = i % 2 ? 2 * (RANGES - i / 2) : 2 * (i / 2 + 1);
		worst_segment(&w, place, 1, NULL, 0);
		if (pkt_meta_looks - before > most)
			most = pkt_meta_looks - before;
	}
	print_message("  most looks for a segment: %llu\n", (unsigned long long)most);
	assert_true(most < 100);
	/* bounded, and what is dropped is counted */
	uint64_t dropped = w.cnt.v[CNT_drop_tcp_reassembly];
	assert_in_range(dropped, RANGES - 256, RANGES - 200);
	/* data in order is taken all the same, and with the gaps closed all that was kept is delivered */
	uint32_t from = w.next;
	for (uint32_t i = 0; i < RANGES; i++)
		worst_segment(&w, 0, 2, NULL, 0);
	assert_in_range(w.next - from, 2 * RANGES, 2 * RANGES + 1);
	worst_end(&w);
}

/* Bytes of any segments against a list of which are there; tcp_worst.c knows what they must be. */
static void any_ranges(void **state)
{
	enum { SPAN = 700 };
	(void)state;
	worst_begin(&w, BUFFERS, 1u << 20, 65536);
	for (unsigned round = 0; round < 40; round++) {
		bool here[SPAN] = {false};
		uint32_t from = w.next;
		for (unsigned i = 0; i < 400; i++) {
			uint32_t at = 1 + random_below(SPAN - 1);
			uint32_t len = 1 + random_below(u32_min(SPAN - at, random_below(8) ? 4 : 60));
			worst_segment(&w, at, u32_min(len, SPAN - at), NULL, 0);
			memset(here + at, true, u32_min(len, SPAN - at));
			assert_int_equal(w.next, from);
		}
		struct tcp_sack b[4];
		unsigned n = tcp_sack_blocks(w.tcp, w.conn, b, 4);
		for (unsigned i = 0; i < n; i++)
			for (uint32_t seq = b[i].start; seq != b[i].end; seq++)
				assert_true(here[seq - from]);
		while (w.next - from < SPAN) { /* the gaps, one by one */
			uint32_t gap = w.next - from, len = 0;
			while (gap + len < SPAN && !here[gap + len])
				len++;
			worst_segment(&w, 0, len ? len : 1, NULL, 0);
		}
		assert_int_equal(w.next - from, SPAN);
	}
	worst_end(&w);
}

/* --- a sender --- */

/* What scoreboard.c promises, by a walk over all chunks. */
static void check_board(void)
{
	const struct tcp_conn *c = w.conn;
	uint32_t sacked = 0, lost = 0, retrans = 0, sacked_chunks = 0, flying = 0, waiting = 0;
	uint32_t lane = c->lane_first;
	bool board = c->flags & CONN_BOARD;
	for (uint32_t buf = c->q_first; buf != c->q_unsent; buf = chunk_at(w.tcp, buf)->next) {
		const struct tcp_chunk *ch = chunk_at(w.tcp, buf);
		uint32_t space = chunk_space(ch);
		bool waits = (ch->flags & (CHUNK_LOST | CHUNK_RETRANS)) == CHUNK_LOST;
		assert_true(ch->flags & CHUNK_SENT);
		assert_true(board || !(ch->flags & (CHUNK_SACKED | CHUNK_LOST | CHUNK_EVER)));
		assert_false(ch->flags & CHUNK_SACKED && ch->flags & (CHUNK_LOST | CHUNK_RETRANS));
		sacked += ch->flags & CHUNK_SACKED ? space : 0;
		sacked_chunks += !!(ch->flags & CHUNK_SACKED);
		lost += ch->flags & CHUNK_LOST ? space : 0;
		retrans += ch->flags & CHUNK_RETRANS ? space : 0;
		waiting += waits;
		flying += !waits && !(ch->flags & CHUNK_SACKED);
		if (board && ch->flags & CHUNK_LANE) {
			assert_int_equal(lane, buf);
			lane = ch->lane;
		}
	}
	assert_int_equal(c->sacked, sacked);
	assert_int_equal(c->lost, lost);
	assert_int_equal(c->retrans, retrans);
	if (!board)
		return;
	assert_int_equal(lane, TCP_NONE);
	assert_int_equal(c->sacked_chunks, sacked_chunks);
	uint32_t before = TCP_NONE, order = 0;
	for (uint32_t buf = c->in_flight.first; buf != TCP_NONE; flying--) {
		const struct tcp_chunk *ch = chunk_at(w.tcp, buf);
		assert_int_equal(ch->earlier, before);
		assert_true(before == TCP_NONE || seq_gt(ch->order, order));
		order = ch->order;
		before = buf;
		buf = ch->later;
	}
	assert_int_equal(c->in_flight.last, before);
	assert_int_equal(flying, 0);
	before = TCP_NONE;
	for (uint32_t buf = c->lost_wait.first; buf != TCP_NONE; waiting--) {
		assert_int_equal(chunk_at(w.tcp, buf)->earlier, before);
		before = buf;
		buf = chunk_at(w.tcp, buf)->later;
	}
	assert_int_equal(c->lost_wait.last, before);
	assert_int_equal(waiting, 0);
}

static void any_acks(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 12; round++) {
		worst_begin(&w, 4000, 65536, 100000);
		worst_fill(&w);
		for (unsigned i = 0; i < 400; i++) {
			struct tcp_sack b[4];
			unsigned n = random_below(4), out = w.end - w.una;
			for (unsigned k = 0; k < n; k++) {
				b[k].start = w.una + random_below(out + 1);
				b[k].end = b[k].start + random_below(random_below(3) ? 200 : out + 1);
			}
			if (random_below(6) == 0 && n) /* a D-SACK */
				b[0] = (struct tcp_sack){w.una - random_below(300), w.una};
			if (random_below(3) == 0)
				w.una += random_below(random_below(4) ? 120 : out + 1);
			if (random_below(4) == 0)
				w.now_us += random_below(random_below(8) ? 2000 : 400000);
			worst_segment(&w, 0, 0, b, n);
			check_board();
			tcp_tick(w.tcp, w.now_us);
			check_board();
		}
		worst_end(&w);
	}
}

static uint64_t looks_since(uint64_t *before)
{
	uint64_t n = pkt_meta_looks - *before;
	*before = pkt_meta_looks;
	return n;
}

static struct tcp_sack chunk(uint32_t first, uint32_t n)
{
	return (struct tcp_sack){w.una + first * WORST_MSS, w.una + (first + n) * WORST_MSS};
}

/* `each` is called for ACK after ACK; what they cost together, less what each chunk may cost that is
 * sent, marked or acknowledged because of them. */
static void sacks(const char *name, unsigned acks, void (*each)(unsigned i))
{
	worst_begin(&w, BUFFERS, 65536, SEND_BUF);
	worst_fill(&w);
	uint64_t before = pkt_meta_looks;
	uint32_t frames = w.frames;
	for (unsigned i = 0; i < acks; i++)
		each(i);
	uint64_t looks = looks_since(&before);
	frames = w.frames - frames;
	print_message("  %s: %llu looks for %u ACKs and %u frames\n", name, (unsigned long long)looks,
	              acks, frames);
	assert_true(looks < (uint64_t)acks * SEGMENT_LOOKS + 40ull * (CHUNKS + frames));
	worst_end(&w);
}

/* From the last chunk downwards, each second one. */
static void downwards(unsigned i)
{
	struct tcp_sack b = chunk(CHUNKS - 20 - 2 * i, 1);
	worst_segment(&w, 0, 0, &b, 1);
}

/* Far apart by turns. */
static void by_turns(unsigned i)
{
	struct tcp_sack b = chunk(i % 2 ? CHUNKS - 20 - i : 20 + i, 1);
	worst_segment(&w, 0, 0, &b, 1);
}

/* All but the first, over and over. */
static void all_again(unsigned i)
{
	(void)i;
	struct tcp_sack b = chunk(1, CHUNKS - 20);
	worst_segment(&w, 0, 0, &b, 1);
}

/* Blocks that hold no chunk whole. */
static void within_chunks(unsigned i)
{
	struct tcp_sack b[4];
	for (unsigned k = 0; k < 4; k++) {
		b[k] = chunk(CHUNKS / 5 * (k + 1) + i, 1);
		b[k].start += 1;
		b[k].end -= 1;
	}
	worst_segment(&w, 0, 0, b, 4);
}

/* A hole that is filled, and one chunk more at the end: recovery begins and ends again and again. */
static void in_and_out(unsigned i)
{
	struct tcp_sack b = chunk(CHUNKS - 100, 3);
	(void)i;
	worst_segment(&w, 0, 0, &b, 1);
	worst_ack(&w, WORST_MSS);
	w.now_us += 1000;
}

static void sacks_downwards(void **s) { (void)s; sacks("downwards", 4000, downwards); }
static void sacks_by_turns(void **s) { (void)s; sacks("by turns", 4000, by_turns); }
static void sacks_all_again(void **s) { (void)s; sacks("all again", 2000, all_again); }
static void sacks_within_chunks(void **s) { (void)s; sacks("within chunks", 2000, within_chunks); }
static void sacks_in_and_out(void **s) { (void)s; sacks("in and out", 2000, in_and_out); }

int main(void)
{
	seed_random("tcp_worst");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_ranges),       cmocka_unit_test(any_ranges),
		cmocka_unit_test(any_acks),          cmocka_unit_test(sacks_downwards),
		cmocka_unit_test(sacks_by_turns),    cmocka_unit_test(sacks_all_again),
		cmocka_unit_test(sacks_within_chunks), cmocka_unit_test(sacks_in_and_out),
	};
	return cmocka_run_group_tests_name("tcp_worst", tests, NULL, NULL);
}
