/*
 * The scoreboard (RFC 6675 3): finds sent chunks by sequence number and by transmission time, and
 * finds lost chunks. The cost does not grow with the number outstanding: the peer chooses what it
 * acknowledges and the segment size, and thus could make a list walk long.
 *
 * A connection has a scoreboard (CONN_BOARD) from its first SACK, loss or retransmission until all
 * data outstanding at the last of these is acknowledged. Each chunk thus enters it at most twice.
 * Without a scoreboard no chunk is SACKED, LOST or retransmitted, and queue order is time order.
 *
 *     in_flight  chunks neither SACKED nor waiting in lost_wait, ordered by last transmission
 *                (chunk.order)
 *     lost_wait  chunks LOST and not sent again since, in the order to send them: by sequence
 *                number except for chunks lost a second time
 *     lane       every LANE_STRIDEth chunk; searches for a sequence number start there
 *
 * A SACKED chunk is in no list. Its `later` skips over SACKED chunks to one behind them, or is
 * TCP_NONE. tcp_board_unsacked shortens these links as it follows them (path compression).
 */
#include "net/tcp/inside.h"

#define LANE_STRIDE 128 /* 16,400 chunks, the default maximum, take 128 steps on the lane and at
                           most 128 between */

/* --- lists --- */

static void append(const struct tcp *t, struct tcp_chunks *list, uint32_t buf)
{
	struct tcp_chunk *ch = chunk_at(t, buf);
	ch->earlier = list->last;
	ch->later = TCP_NONE;
	if (list->last == TCP_NONE)
		list->first = buf;
	else
		chunk_at(t, list->last)->later = buf;
	list->last = buf;
}

/* Inserts buf behind `at`, which is in the list; TCP_NONE: at its beginning. */
static void insert(const struct tcp *t, struct tcp_chunks *list, uint32_t at, uint32_t buf)
{
	struct tcp_chunk *ch = chunk_at(t, buf);
	uint32_t next = at == TCP_NONE ? list->first : chunk_at(t, at)->later;
	ch->earlier = at;
	ch->later = next;
	if (at == TCP_NONE)
		list->first = buf;
	else
		chunk_at(t, at)->later = buf;
	if (next == TCP_NONE)
		list->last = buf;
	else
		chunk_at(t, next)->earlier = buf;
}

static void take_out(const struct tcp *t, struct tcp_chunks *list, uint32_t buf)
{
	const struct tcp_chunk *ch = chunk_at(t, buf);
	if (ch->earlier == TCP_NONE)
		list->first = ch->later;
	else
		chunk_at(t, ch->earlier)->later = ch->later;
	if (ch->later == TCP_NONE)
		list->last = ch->earlier;
	else
		chunk_at(t, ch->later)->earlier = ch->earlier;
}

static bool waits(const struct tcp_chunk *ch)
{
	return (ch->flags & (CHUNK_LOST | CHUNK_RETRANS)) == CHUNK_LOST;
}

/* Removes a chunk from the list that its marks imply. */
static void leave(const struct tcp *t, struct tcp_conn *c, uint32_t buf)
{
	const struct tcp_chunk *ch = chunk_at(t, buf);
	if (ch->flags & CHUNK_SACKED)
		return;
	if (c->rack_at == buf)
		c->rack_at = ch->earlier;
	take_out(t, waits(ch) ? &c->lost_wait : &c->in_flight, buf);
}

static void lane_add(const struct tcp *t, struct tcp_conn *c, uint32_t buf)
{
	struct tcp_chunk *ch = chunk_at(t, buf);
	ch->flags &= ~(uint32_t)CHUNK_LANE;
	if (++c->lane_gap < LANE_STRIDE)
		return;
	c->lane_gap = 0;
	ch->flags |= CHUNK_LANE;
	ch->lane = TCP_NONE;
	if (c->lane_first == TCP_NONE)
		c->lane_first = buf;
	else
		chunk_at(t, c->lane_last)->lane = buf;
	c->lane_last = buf;
}

/* --- changes of chunks --- */

void tcp_board_begin(struct tcp *t, struct tcp_conn *c)
{
	c->board_end = c->snd_nxt;
	if (c->flags & CONN_BOARD)
		return;
	c->flags |= CONN_BOARD;
	c->in_flight = c->lost_wait = (struct tcp_chunks){TCP_NONE, TCP_NONE};
	c->rack_at = c->lane_first = c->lane_last = TCP_NONE;
	c->lane_gap = 0;
	c->sacked_chunks = 0;
	for (uint32_t buf = c->q_first; buf != c->q_unsent; buf = chunk_at(t, buf)->next)
		tcp_board_sent(t, c, buf);
}

void tcp_board_sent(struct tcp *t, struct tcp_conn *c, uint32_t buf)
{
	append(t, &c->in_flight, buf);
	lane_add(t, c, buf);
}

void tcp_board_sent_again(struct tcp *t, struct tcp_conn *c, uint32_t buf)
{
	struct tcp_chunk *ch = chunk_at(t, buf);
	tcp_board_begin(t, c);
	if (ch->flags & CHUNK_SACKED)
		return;
	leave(t, c, buf);
	append(t, &c->in_flight, buf);
	if (waits(ch)) {
		ch->flags |= CHUNK_RETRANS;
		c->retrans += chunk_space(ch);
	}
}

void tcp_board_sacked(struct tcp *t, struct tcp_conn *c, uint32_t buf)
{
	struct tcp_chunk *ch = chunk_at(t, buf);
	uint32_t space = chunk_space(ch);
	leave(t, c, buf);
	if (ch->flags & CHUNK_LOST)
		c->lost -= space;
	if (ch->flags & CHUNK_RETRANS)
		c->retrans -= space;
	ch->flags = (ch->flags | CHUNK_SACKED) & ~(uint32_t)(CHUNK_LOST | CHUNK_RETRANS);
	ch->later = TCP_NONE;
	c->sacked += space;
	c->sacked_chunks++;
}

void tcp_mark_lost(struct tcp *t, struct tcp_conn *c, uint32_t buf)
{
	struct tcp_chunk *ch = chunk_at(t, buf);
	tcp_board_begin(t, c);
	if (ch->flags & CHUNK_SACKED || waits(ch))
		return;
	leave(t, c, buf);
	if (ch->flags & CHUNK_RETRANS)
		c->retrans -= chunk_space(ch);
	else
		c->lost += chunk_space(ch);
	ch->flags = (ch->flags | CHUNK_LOST) & ~(uint32_t)CHUNK_RETRANS;
	if (c->lost_wait.first != TCP_NONE && seq_lt(ch->seq, chunk_at(t, c->lost_wait.first)->seq))
		insert(t, &c->lost_wait, TCP_NONE, buf);
	else
		append(t, &c->lost_wait, buf);
}

void tcp_board_acked(struct tcp *t, struct tcp_conn *c, uint32_t buf)
{
	const struct tcp_chunk *ch = chunk_at(t, buf);
	leave(t, c, buf);
	if (ch->flags & CHUNK_SACKED)
		c->sacked_chunks--;
	if (ch->flags & CHUNK_LANE) {
		c->lane_first = ch->lane;
		if (c->lane_first == TCP_NONE)
			c->lane_last = TCP_NONE;
	}
}

void tcp_board_split(struct tcp *t, struct tcp_conn *c, uint32_t buf, uint32_t tail)
{
	struct tcp_chunk *ch = chunk_at(t, tail);
	ch->flags &= ~(uint32_t)CHUNK_LANE;
	assert(!(ch->flags & CHUNK_SACKED));
	insert(t, waits(ch) ? &c->lost_wait : &c->in_flight, buf, tail);
}

/* --- searches --- */

uint32_t tcp_board_seek(const struct tcp *t, const struct tcp_conn *c, uint32_t from, uint32_t *lane,
                        uint32_t seq)
{
	uint32_t near = chunk_at(t, from)->seq;
	while (*lane != TCP_NONE) {
		const struct tcp_chunk *ch = chunk_at(t, *lane);
		if (seq_gt(ch->seq, seq))
			break;
		if (seq_gt(ch->seq, near)) {
			from = *lane;
			near = ch->seq;
		}
		*lane = ch->lane;
	}
	while (from != c->q_unsent) {
		const struct tcp_chunk *ch = chunk_at(t, from);
		if (seq_ge(ch->seq, seq))
			break;
		from = ch->next;
	}
	return from;
}

uint32_t tcp_board_unsacked(const struct tcp *t, const struct tcp_conn *c, uint32_t from)
{
	uint32_t to = from;
	while (to != c->q_unsent && chunk_at(t, to)->flags & CHUNK_SACKED) {
		const struct tcp_chunk *ch = chunk_at(t, to);
		to = ch->later != TCP_NONE ? ch->later : ch->next;
	}
	while (from != to) {
		struct tcp_chunk *ch = chunk_at(t, from);
		from = ch->later != TCP_NONE ? ch->later : ch->next;
		ch->later = to; /* TCP_NONE, the end of the queue, is not a link */
	}
	return to;
}

uint32_t tcp_board_last(const struct tcp *t, const struct tcp_conn *c)
{
	uint32_t last = TCP_NONE;
	uint32_t buf = c->lane_last != TCP_NONE ? c->lane_last : c->q_first;
	for (; buf != c->q_unsent; buf = chunk_at(t, buf)->next)
		last = buf;
	return last;
}

uint32_t tcp_board_before_rack(const struct tcp *t, struct tcp_conn *c)
{
	for (;;) {
		uint32_t next = c->rack_at == TCP_NONE ? c->in_flight.first
		                                       : chunk_at(t, c->rack_at)->later;
		if (next == TCP_NONE || !seq_gt(c->rack_order, chunk_at(t, next)->order))
			return c->rack_at;
		c->rack_at = next;
	}
}

/* --- all chunks --- */

/* Inserts a chunk into in_flight by its order. The search starts at `at` if that is earlier. */
static uint32_t put_back(const struct tcp *t, struct tcp_conn *c, uint32_t at, uint32_t buf)
{
	uint32_t order = chunk_at(t, buf)->order;
	if (at != TCP_NONE && seq_gt(chunk_at(t, at)->order, order))
		at = TCP_NONE;
	for (;;) {
		uint32_t next = at == TCP_NONE ? c->in_flight.first : chunk_at(t, at)->later;
		if (next == TCP_NONE || seq_gt(chunk_at(t, next)->order, order))
			break;
		at = next;
	}
	insert(t, &c->in_flight, at, buf);
	return buf;
}

/* The two lists, each ordered by `order` and linked by `later`, as one. */
static uint32_t merge(const struct tcp *t, uint32_t a, uint32_t b)
{
	uint32_t first = TCP_NONE, *at = &first;
	while (a != TCP_NONE && b != TCP_NONE) {
		uint32_t *least = seq_gt(chunk_at(t, a)->order, chunk_at(t, b)->order) ? &b : &a;
		*at = *least;
		at = &chunk_at(t, *least)->later;
		*least = *at;
	}
	*at = a != TCP_NONE ? a : b;
	return first;
}

/* Orders a list linked by `later` (merge sort: part[i] has 2^i chunks, or none). */
static uint32_t sorted(const struct tcp *t, uint32_t list)
{
	uint32_t part[32];
	for (unsigned i = 0; i < ARRAY_LEN(part); i++)
		part[i] = TCP_NONE;
	while (list != TCP_NONE) {
		uint32_t one = list;
		unsigned i = 0;
		list = chunk_at(t, one)->later;
		chunk_at(t, one)->later = TCP_NONE;
		for (; part[i] != TCP_NONE; i++) {
			one = merge(t, part[i], one);
			part[i] = TCP_NONE;
		}
		part[i] = one;
	}
	for (unsigned i = 0; i < ARRAY_LEN(part); i++)
		list = merge(t, part[i], list);
	return list;
}

void tcp_board_restore(struct tcp *t, struct tcp_conn *c)
{
	uint32_t flying = TCP_NONE;
	c->flags |= CONN_BOARD;
	c->in_flight = c->lost_wait = (struct tcp_chunks){TCP_NONE, TCP_NONE};
	c->rack_at = c->lane_first = c->lane_last = TCP_NONE;
	c->lane_gap = 0;
	c->sacked_chunks = 0;
	for (uint32_t buf = c->q_first; buf != c->q_unsent; buf = chunk_at(t, buf)->next) {
		struct tcp_chunk *ch = chunk_at(t, buf);
		lane_add(t, c, buf);
		if (ch->flags & CHUNK_SACKED) {
			ch->later = TCP_NONE;
			c->sacked_chunks++;
		} else if (waits(ch)) {
			append(t, &c->lost_wait, buf);
		} else {
			ch->later = flying;
			flying = buf;
		}
	}
	for (uint32_t buf = sorted(t, flying), next; buf != TCP_NONE; buf = next) {
		next = chunk_at(t, buf)->later;
		append(t, &c->in_flight, buf);
	}
}

void tcp_board_undo(struct tcp *t, struct tcp_conn *c)
{
	if (!(c->flags & CONN_BOARD))
		return;
	uint32_t at = TCP_NONE, buf;
	while ((buf = c->lost_wait.first) != TCP_NONE) {
		struct tcp_chunk *ch = chunk_at(t, buf);
		take_out(t, &c->lost_wait, buf);
		c->lost -= chunk_space(ch);
		ch->flags &= ~(uint32_t)CHUNK_LOST;
		at = put_back(t, c, at, buf);
	}
	for (buf = c->in_flight.last; buf != TCP_NONE; buf = chunk_at(t, buf)->earlier) {
		struct tcp_chunk *ch = chunk_at(t, buf);
		if (seq_lt(ch->order, c->undo_order))
			break; /* sent before the undone loss */
		if (!(ch->flags & CHUNK_LOST))
			continue;
		c->lost -= chunk_space(ch);
		c->retrans -= chunk_space(ch);
		ch->flags &= ~(uint32_t)(CHUNK_LOST | CHUNK_RETRANS);
	}
}

void tcp_board_timeout(struct tcp *t, struct tcp_conn *c, bool all, uint64_t limit_us)
{
	tcp_board_begin(t, c);
	/* RFC 2018 8: if the first chunk is SACKED, the peer has discarded data it reported
	 * (reneging), and all its SACKs are void. */
	bool reneged = c->q_first != c->q_unsent && chunk_at(t, c->q_first)->flags & CHUNK_SACKED;
	/* rebuilt, in order of sequence numbers */
	c->lost_wait = (struct tcp_chunks){TCP_NONE, TCP_NONE};
	for (uint32_t buf = c->q_first; buf != c->q_unsent; buf = chunk_at(t, buf)->next) {
		struct tcp_chunk *ch = chunk_at(t, buf);
		if (reneged && ch->flags & CHUNK_SACKED) {
			ch->flags &= ~(uint32_t)CHUNK_SACKED;
			c->sacked -= chunk_space(ch);
			c->sacked_chunks--;
			append(t, &c->in_flight, buf); /* marked lost below */
		}
		if (waits(ch))
			append(t, &c->lost_wait, buf);
		else if (all || reneged || buf == c->q_first || chunk_sent_us(ch) <= limit_us)
			tcp_mark_lost(t, c, buf);
	}
}
