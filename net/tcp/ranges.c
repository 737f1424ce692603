/*
 * Out-of-order data: ranges of sequence numbers beyond rcv_nxt, each without a gap and each a list
 * of buffers (struct tcp_piece).
 *
 * A connection with ranges keeps a table of them in its own buffer (conn.ooo), sorted by sequence
 * number, with binary search. A segment costs about the same for any number of ranges and any order
 * of arrival. The buffer size limits the number of ranges, to TABLE_MAX at most. A segment that
 * would begin a further range is dropped; the peer retransmits it.
 *
 * Where data overlaps, the bytes that arrived first are kept.
 */
#include "net/tcp/inside.h"

#define PIECE_BYTES_MIN 256 /* a connection may hold one out-of-order buffer per this many bytes of
                               rcv_buf, plus PIECES_MIN */
#define PIECES_MIN 16
#define RECENT 8      /* last changed ranges, which SACK reports first (RFC 2018 4) */
#define TABLE_MAX 256 /* maximum number of ranges */

struct range {
	uint32_t end;   /* sequence number after its last byte */
	uint32_t first; /* first buffer */
};

/* Lies in the buffer conn.ooo, at BUF_META. */
struct table {
	uint32_t count;
	uint32_t recents;
	struct tcp_sack recent[RECENT]; /* newest first; may include ranges that were delivered
	                                   since */
	struct range range[];
};

static struct table *table_at(const struct tcp *t, const struct tcp_conn *c)
{
	return (struct table *)(void *)(buf_base(t->pool, c->ooo) + BUF_META);
}

/* The maximum of ranges in a table; there is space for one more, used until two ranges are
 * joined. */
static uint32_t table_max(const struct tcp *t)
{
	uint32_t fit = (t->pool->stride - BUF_META - (uint32_t)sizeof(struct table)) /
	               (uint32_t)sizeof(struct range);
	return u32_min(fit - 1, TABLE_MAX);
}

static uint32_t start_of(const struct tcp *t, const struct range *r)
{
	return piece_at(t, r->first)->seq;
}

/* --- buffers --- */

static void buffer_held(struct tcp *t, struct tcp_conn *c)
{
	c->ooo_bufs++;
	t->ooo_bufs++;
}

static void buffer_passed(struct tcp *t, struct tcp_conn *c)
{
	c->ooo_bufs--;
	t->ooo_bufs--;
}

static void free_pieces(struct tcp *t, struct tcp_conn *c, uint32_t buf)
{
	while (buf != TCP_NONE) {
		uint32_t next = piece_at(t, buf)->next;
		buf_free(t->pool, buf);
		buffer_passed(t, c);
		buf = next;
	}
}

static void free_table(struct tcp *t, struct tcp_conn *c)
{
	buf_free(t->pool, c->ooo);
	buffer_passed(t, c);
	c->ooo = TCP_NONE;
}

void tcp_ranges_free(struct tcp *t, struct tcp_conn *c)
{
	if (c->ooo == TCP_NONE)
		return;
	const struct table *table = table_at(t, c);
	for (uint32_t i = 0; i < table->count; i++)
		free_pieces(t, c, table->range[i].first);
	free_table(t, c);
}

static bool may_keep(const struct tcp *t, const struct tcp_conn *c)
{
	return t->ooo_bufs < t->p.reassembly_bufs && t->pool->free > t->p.pool_reserve / 2 &&
	       c->ooo_bufs < c->rcv_buf / PIECE_BYTES_MIN + PIECES_MIN;
}

static bool has_table(struct tcp *t, struct tcp_conn *c)
{
	struct pkt p;
	if (c->ooo != TCP_NONE)
		return true;
	if (!pkt_alloc(t->pool, &p))
		return false;
	c->ooo = p.buf;
	buffer_held(t, c);
	struct table *table = table_at(t, c);
	table->count = table->recents = 0;
	return true;
}

/* --- the table --- */

/* The first range that ends at seq or later; count: none. */
static uint32_t find(const struct table *table, uint32_t seq)
{
	uint32_t from = 0, to = table->count;
	while (from < to) {
		uint32_t middle = (from + to) / 2;
		if (seq_lt(table->range[middle].end, seq))
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Removes n ranges from the table, starting at index `at`. */
static void close_up(struct table *table, uint32_t at, uint32_t n)
{
	table->count -= n;
	memmove(&table->range[at], &table->range[at + n],
	        (table->count - at) * sizeof table->range[0]);
}

static void insert(struct table *table, uint32_t at, struct range r)
{
	memmove(&table->range[at + 1], &table->range[at],
	        (table->count - at) * sizeof table->range[0]);
	table->range[at] = r;
	table->count++;
}

/* Puts a range that grew or came again at the front of the recent ones. Ranges that it absorbed are
 * removed from them. */
static void note_recent(struct table *table, uint32_t start, uint32_t end)
{
	struct tcp_sack now = {start, end};
	uint32_t n = 1;
	struct tcp_sack kept[RECENT] = {now};
	for (uint32_t i = 0; i < table->recents && n < RECENT; i++) {
		const struct tcp_sack *s = &table->recent[i];
		if (seq_lt(s->start, start) || seq_gt(s->end, end))
			kept[n++] = *s;
	}
	memcpy(table->recent, kept, n * sizeof kept[0]);
	table->recents = n;
}

/* --- keeping a segment --- */

/* Bytes at `data` in the buffer `buf`, with sequence numbers [seq, end). */
struct bytes {
	uint32_t buf;
	const uint8_t *data;
	uint32_t seq, end;
};

static void put_piece(struct tcp *t, struct tcp_conn *c, const struct bytes *b)
{
	*piece_at(t, b->buf) = (struct tcp_piece){
		.next = TCP_NONE,
		.seq = b->seq,
		.off = (uint16_t)(b->data - buf_base(t->pool, b->buf)),
		.len = (uint16_t)(b->end - b->seq),
		.range_last = b->buf,
	};
	buffer_held(t, c);
}

/* Appends the pieces from `first` to `last` to r. */
static void append(struct tcp *t, struct range *r, uint32_t first, uint32_t last, uint32_t end)
{
	struct tcp_piece *head = piece_at(t, r->first);
	piece_at(t, head->range_last)->next = first;
	head->range_last = last;
	r->end = end;
}

/* The number of ranges from `at` on that lie completely before *end. Overlaps are noted for D-SACK.
 * If the next range extends beyond *end, *end is moved to its start. */
static uint32_t covered(struct tcp *t, struct tcp_conn *c, uint32_t at, uint32_t *end)
{
	const struct table *table = table_at(t, c);
	uint32_t n = 0;
	for (; at + n < table->count; n++) {
		const struct range *r = &table->range[at + n];
		uint32_t start = start_of(t, r);
		if (!seq_lt(start, *end))
			break;
		if (seq_gt(r->end, *end)) {
			tcp_note_duplicate(t, c, start, *end);
			*end = start;
			break;
		}
		tcp_note_duplicate(t, c, start, r->end);
	}
	return n;
}

/* Joins range `at` and the next one if there is no gap between them. */
static void join(struct tcp *t, struct table *table, uint32_t at)
{
	if (at + 1 >= table->count)
		return;
	const struct range *next = &table->range[at + 1];
	if (start_of(t, next) != table->range[at].end)
		return;
	append(t, &table->range[at], next->first, piece_at(t, next->first)->range_last, next->end);
	close_up(table, at + 1, 1);
}

enum tcp_kept tcp_ranges_keep(struct tcp *t, struct tcp_conn *c, const struct pkt *p,
                              const struct tcp_segment *s)
{
	if (!may_keep(t, c) || !has_table(t, c))
		return KEPT_NO_ROOM;
	struct table *table = table_at(t, c);
	struct bytes b = {p->buf, s->data, s->seq, s->seq + s->len};
	uint32_t at = find(table, b.seq);
	bool grows = at < table->count && seq_le(start_of(t, &table->range[at]), b.seq);
	if (grows) { /* it begins in this range or directly behind it */
		struct range *r = &table->range[at];
		if (seq_le(b.end, r->end)) {
			tcp_note_duplicate(t, c, b.seq, b.end);
			note_recent(table, start_of(t, r), r->end);
			return KEPT_NOTHING;
		}
		if (seq_lt(b.seq, r->end))
			tcp_note_duplicate(t, c, b.seq, r->end);
		b.data += r->end - b.seq;
		b.seq = r->end;
	} else if (table->count == table_max(t) &&
	           (at == table->count || seq_gt(start_of(t, &table->range[at]), b.end))) {
		return KEPT_NO_ROOM;
	}
	/* New bytes replace the ranges that they cover completely. */
	uint32_t behind = at + grows, gone = covered(t, c, behind, &b.end);
	for (uint32_t i = 0; i < gone; i++)
		free_pieces(t, c, table->range[behind + i].first);
	close_up(table, behind, gone);

	put_piece(t, c, &b);
	if (grows)
		append(t, &table->range[at], b.buf, b.buf, b.end);
	else
		insert(table, at, (struct range){b.end, b.buf});
	join(t, table, at);
	note_recent(table, start_of(t, &table->range[at]), table->range[at].end);
	return KEPT_BUFFER;
}

bool tcp_ranges_take(struct tcp *t, struct tcp_conn *c, struct pkt *p, uint32_t *seq)
{
	if (c->ooo == TCP_NONE)
		return false;
	struct table *table = table_at(t, c);
	struct range *r = &table->range[0];
	uint32_t buf = r->first;
	const struct tcp_piece *piece = piece_at(t, buf);
	if (seq_gt(piece->seq, c->rcv_nxt))
		return false;
	*seq = piece->seq;
	*p = (struct pkt){buf_base(t->pool, buf) + piece->off, buf, piece->len, 0, 0};
	buffer_passed(t, c);
	if (piece->next != TCP_NONE) {
		piece_at(t, piece->next)->range_last = piece->range_last;
		r->first = piece->next;
	} else if (table->count > 1) {
		close_up(table, 0, 1);
	} else {
		free_table(t, c);
	}
	return true;
}

uint32_t tcp_ranges_next(const struct tcp *t, const struct tcp_conn *c, uint32_t *range, uint32_t buf)
{
	if (c->ooo == TCP_NONE)
		return TCP_NONE;
	const struct table *table = table_at(t, c);
	if (buf != TCP_NONE && piece_at(t, buf)->next != TCP_NONE)
		return piece_at(t, buf)->next;
	*range += buf != TCP_NONE;
	return *range < table->count ? table->range[*range].first : TCP_NONE;
}

/* --- SACK blocks --- */

static bool told(const struct tcp_sack *out, unsigned n, uint32_t start)
{
	for (unsigned i = 0; i < n; i++)
		if (out[i].start == start)
			return true;
	return false;
}

/* RFC 2018 4: the most recently grown range first, then earlier ones, then others while there is
 * space. */
unsigned tcp_sack_blocks(struct tcp *t, struct tcp_conn *c, struct tcp_sack *out, unsigned max)
{
	unsigned n = 0;
	if (c->flags & CONN_DSACK && max) {
		out[n++] = c->dsack;
		c->flags &= ~(uint32_t)CONN_DSACK;
	}
	if (c->ooo == TCP_NONE)
		return n;
	const struct table *table = table_at(t, c);
	struct tcp_sack *ranges = out + n;
	unsigned most = max - n, blocks = 0;
	for (uint32_t i = 0; i < table->recents && blocks < most; i++)
		if (seq_gt(table->recent[i].start, c->rcv_nxt))
			ranges[blocks++] = table->recent[i];
	for (uint32_t i = 0; i < table->count && blocks < most; i++) {
		uint32_t start = start_of(t, &table->range[i]);
		if (!told(ranges, blocks, start))
			ranges[blocks++] = (struct tcp_sack){start, table->range[i].end};
	}
	return n + blocks;
}
