/*
 * Receive ("Receive WQE", "Completion Queue Entry"): a frame that the port and the vport accept
 * goes through the flow tables to a TIR. Its hash selects a queue. The frame is written to the
 * memory of the queue's next entry, and completed.
 *
 * A queue without entries loses the frame, and its counter set counts it (out_of_buffer). To lose
 * no frames of wires that can wait, rx_room returns the lowest number of entries among the queues
 * that have ever had one. So a queue that its driver leaves empty stops the others, which a real
 * card does not do.
 *
 * A queue in ERR also loses frames; the entries after the failed one, and those posted later, are
 * flushed.
 *
 * Entries, memory and completions are in the cache of the guest's core: each single access would
 * cost the latency between the cores. So they are prefetched for a whole burst, and the completions
 * are written together at its end. Otherwise a polling guest would take away the next completion's
 * cache line each time.
 */
#include <string.h>

#include "tools/nicsim/mlx5/state.h"
#include "tools/nicsim/packet/sum.h"

#define ROOM_NS      20000 /* between checks for entries: while there are too few, and in ERR */
#define FETCH_QUEUES 8     /* with more, fetched lines would be evicted before use */

/*
 * The fast path: frames that their wire vouches for (FRAME_UDP4), with the Ethernet header of the
 * first one, for a queue that all of them reach, with no fault set. All other frames take the slow
 * path, which could also handle these.
 */
struct row {
	struct rq *q; /* NULL: there is none */
	bool refused; /* a frame could not begin one: no other is tried in this burst */
	const struct tir *t;
	uint64_t ethernet[2];
	const uint8_t *entries; /* the queue's, in one piece, */
	uint32_t mask, stride;  /* of so many bytes each */
	struct dma_view view;
	uint32_t left;  /* entries of the queue */
	uint32_t lkey;  /* allows any address to be written; LKEY_TERMINATE: none known */
	unsigned n;     /* frames not yet completed */
	uint64_t bytes; /* theirs */
	struct cq_entry e[FRAME_BURST];
	uint8_t cqe[CQE_BYTES];
};

/* The completions of a burst of frames, in order: either a row's or those of the slow path. */
struct burst {
	struct row row;
	bool fetched; /* for the slow path */
	unsigned count;
	struct completion {
		uint32_t cqn;
		bool error;
		uint8_t cqe[CQE_BYTES];
	} done[FRAME_BURST];
};

static void burst_begin(struct burst *b)
{
	b->row.q = NULL;
	b->row.refused = false;
	b->row.n = 0;
	b->row.bytes = 0;
	b->fetched = false;
	b->count = 0;
}

static void burst_post(struct model *m, struct burst *b)
{
	for (unsigned i = 0; i < b->count; i++)
		cq_post(m, b->done[i].cqn, b->done[i].cqe, b->done[i].error);
	b->count = 0;
}

/* A received frame, and the fields of its completion. */
struct arrival {
	const uint8_t *data; /* without the tag, if it is stripped */
	uint32_t bytes;
	struct headers h;
	struct hashed hashed;
	uint32_t tag;
	bool stripped;
};

/* --- completion fields for the frame's contents --- */

static uint8_t l4_type(const struct arrival *a)
{
	const uint8_t *l4 = a->data + a->h.l4;
	if (a->h.l4 == 0)
		return 0;
	if (a->h.protocol == IP_UDP)
		return CQE_L4_UDP;
	if (a->h.protocol != IP_TCP)
		return 0;
	if (!(l4[13] & 0x10)) /* ACK */
		return CQE_L4_TCP;
	return a->h.end - a->h.l4 > (l4[12] >> 4) * 4 ? CQE_L4_TCP_DATA : CQE_L4_TCP_ACK;
}

static bool l4_good(const struct arrival *a)
{
	const uint8_t *l4 = a->data + a->h.l4;
	const uint32_t bytes = a->h.end - a->h.l4;
	if (a->h.l4 == 0 || (a->h.protocol != IP_TCP && a->h.protocol != IP_UDP))
		return false;
	if (a->h.protocol == IP_UDP && be16(l4 + 6) == 0)
		return true; /* RFC 768: no checksum */
	uint64_t part = sum_pseudo(a->data + a->h.l3, a->h.version, a->h.protocol, bytes);
	return sum_fold(sum_add(part, l4, bytes)) == 0xffff;
}

static void describe(const struct arrival *a, uint8_t *cqe)
{
	const uint8_t *ip = a->data + a->h.l3;
	uint16_t sum = sum_fold(sum_add(0, a->data + 14, a->bytes - 14));
	memcpy(cqe + CQE_CHECKSUM, &sum, 2);
	cqe[CQE_OK] = CQE_L2_OK;
	if (a->h.version == 6 ||
	    (a->h.version == 4 && sum_fold(sum_add(0, ip, (ip[0] & 15u) * 4)) == 0xffff))
		cqe[CQE_OK] |= CQE_L3_OK;
	if (l4_good(a))
		cqe[CQE_OK] |= CQE_L4_OK;
	cqe[CQE_HEADERS] = l4_type(a);
	if (a->h.version)
		cqe[CQE_HEADERS] |= a->h.version == 4 ? CQE_IPV4 : CQE_IPV6;
	if (a->h.fragment)
		cqe[CQE_HEADERS] |= CQE_FRAGMENT;
	if (a->stripped) {
		cqe[CQE_HEADERS] |= CQE_STRIPPED;
		put_be16(cqe + CQE_VLAN, a->h.tci);
	}
	put_be32(cqe + CQE_RSS_HASH, a->hashed.value);
	cqe[CQE_RSS_TYPE] = a->hashed.type;
}

/* --- into memory --- */

/* Fills the data segments of the entry; SYNDROME_NONE if the whole frame fitted. */
static enum cqe_syndrome scatter(struct model *m, struct rq *q, const uint8_t *entry,
                                 const struct arrival *a)
{
	uint32_t done = 0;
	for (uint32_t at = 0; at < 1u << q->w.ring.log_stride && done < a->bytes; at += WQE_DS) {
		const uint8_t *seg = entry + at;
		const uint32_t room = field_get(seg, SEG_BYTES), lkey = field_get(seg, SEG_LKEY);
		const uint32_t part = a->bytes - done < room ? a->bytes - done : room;
		const uint64_t bus = be64(seg + SEG_ADDRESS);
		void *to = NULL;
		if (lkey == LKEY_TERMINATE)
			break;
		if (room == 0) { /* a card interprets 0 as 2 GB. LINUX: sets bit 31, for padding */
			model_violation(m, "RQ 0x%x: entry %u: data segment of 0 bytes",
			                object_number(m, RQ, q), q->w.head);
			return SYNDROME_LOCAL_QP_OP;
		}
		if (mkey_allows(m, lkey, q->w.pd, bus, room, DMA_WRITE))
			to = model_dma(m, bus, part, DMA_WRITE, "data segment of an RQ");
		if (to == NULL)
			return SYNDROME_LOCAL_PROTECTION;
		memcpy(to, a->data + done, part);
		done += part;
	}
	if (done == a->bytes)
		return SYNDROME_NONE;
	model_violation(m, "RQ 0x%x: entry %u has room for %u bytes, the frame has %u",
	                object_number(m, RQ, q), q->w.head, done, a->bytes);
	return SYNDROME_LOCAL_LENGTH;
}

/* Starts the completion of the entry at the head; returns it for the remaining fields. */
static uint8_t *completion_of(struct burst *b, const struct rq *q, enum cqe_opcode opcode)
{
	struct completion *done = &b->done[b->count];
	*done = (struct completion){.cqn = q->w.cqn, .error = opcode == CQE_RX_ERROR};
	put_be16(done->cqe + CQE_COUNTER, q->w.head);
	done->cqe[CQE_OP_OWN] = (uint8_t)(opcode << 4);
	return done->cqe;
}

static void advance(struct model *m, struct burst *b, struct rq *q)
{
	q->w.head = (q->w.head + 1) & 0xffff;
	q->fetched -= q->fetched > 0;
	if (!model_fault_strikes(m, FAULT_COMPLETION_LOST))
		b->count++;
}

static void complete(struct model *m, struct burst *b, struct rq *q, const struct arrival *a)
{
	uint8_t *cqe = completion_of(b, q, CQE_RECEIVED);
	describe(a, cqe);
	put_be32(cqe + CQE_FLAGS_RQPN, object_number(m, RQ, q));
	put_be32(cqe + CQE_BYTE_COUNT,
	         model_fault_strikes(m, FAULT_BAD_LENGTH) ? 0xffff : a->bytes);
	put_be64(cqe + CQE_TIMESTAMP, cycles(m));
	put_be32(cqe + CQE_OPCODE_QPN, a->tag);
	advance(m, b, q);
	vport_count(m, WAY_RX, a->data, a->bytes);
	m->rx_frames++;
	m->rx_bytes += a->bytes;
}

/* Completes an entry with an error, and puts its queue into ERR. */
static void fail(struct model *m, struct burst *b, struct rq *q, enum cqe_syndrome syndrome)
{
	uint8_t *cqe = completion_of(b, q, CQE_RX_ERROR);
	cqe[CQE_SYNDROME] = (uint8_t)syndrome;
	put_be32(cqe + CQE_OPCODE_QPN, object_number(m, RQ, q));
	advance(m, b, q);
	q->w.state = QUEUE_ERR;
	nic_of(m)->flush_due = m->now;
}

static void no_buffer(struct model *m, const struct rq *q)
{
	struct counter *set = object_find(m, COUNTER, q->counter);
	m->rx_missed++;
	if (set)
		set->out_of_buffer++;
}

static void deliver(struct model *m, struct burst *b, struct rq *q, struct arrival *a)
{
	const uint32_t posted = wq_posted(m, &q->w, DBR_RECEIVE);
	if (q->w.state != QUEUE_RDY || posted == 0 || model_fault(m, FAULT_RECEIVE_STUCK)) {
		no_buffer(m, q);
		return;
	}
	if (!wq_holds(m, RQ, &q->w, posted)) {
		q->w.state = QUEUE_ERR;
		m->rx_refused++;
		return;
	}
	const uint8_t *entry = ring_at(m, &q->w.ring, q->w.head, DMA_READ, "RQ");
	if (entry == NULL || !cq_alive(m, q->w.cqn)) {
		m->rx_refused++;
		return;
	}
	enum cqe_syndrome syndrome = model_fault_strikes(m, FAULT_RECEIVE_ERROR)
	                                     ? SYNDROME_LOCAL_QP_OP
	                                     : scatter(m, q, entry, a);
	if (syndrome == SYNDROME_NONE)
		complete(m, b, q, a);
	else {
		m->rx_refused++;
		fail(m, b, q, syndrome);
	}
}

/* --- the path of a frame --- */

/* Strips the tag: copies the frame to the model's memory. */
static void strip(struct model *m, struct arrival *a)
{
	uint8_t *to = nic_of(m)->frame;
	memcpy(to, a->data, 12);
	memcpy(to + 12, a->data + 16, a->bytes - 16);
	a->data = to;
	a->bytes -= 4;
	a->stripped = true;
	if (a->h.version) {
		a->h.l3 -= 4;
		a->h.end -= 4;
	}
	if (a->h.l4)
		a->h.l4 -= 4;
}

/* from: the transport domain of the sender; 0: the frame comes from the wire. */
static void arrive(struct model *m, struct burst *b, const uint8_t *data, uint32_t bytes,
                   uint32_t from)
{
	struct nic *n = nic_of(m);
	struct arrival a = {.data = data, .bytes = bytes};
	headers_parse(data, bytes, &a.h);
	const struct tir *t = vport_takes(m, data) ? flow_steer(m, data, &a.h, &a.tag) : NULL;
	if (t == NULL || !tir_admits(t, data, from)) {
		n->port.discards += from == 0;
		m->rx_refused += from == 0;
		return;
	}
	struct rq *q = tir_choose(m, t, data, &a.h, &a.hashed);
	if (a.h.tagged && !q->keep_vlan)
		strip(m, &a);
	deliver(m, b, q, &a);
}

/* --- bursts --- */

/* Prefetches what the next `count` frames of a queue need. Errors are found when it is used. */
static void fetch_queue(struct model *m, struct rq *q, uint32_t count)
{
	struct ring *ring = &q->w.ring;
	cq_fetch(m, q->w.cqn, count);
	for (uint32_t i = 0; i < count; i++)
		__builtin_prefetch(ring_at(m, ring, q->w.head + i, DMA_READ, "RQ"));
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *entry = ring_at(m, ring, q->w.head + i, DMA_READ, "RQ");
		if (entry == NULL)
			return;
		const uint64_t bus = be64(entry + SEG_ADDRESS);
		uint8_t *to = model_reach(m, bus, LINE, DMA_WRITE);
		if (to) {
			__builtin_prefetch(to, 1);
			__builtin_prefetch(to + LINE - 1, 1);
		}
	}
}

/* Prefetches for frames that are spread evenly over the queues. */
static void fetch(struct model *m, uint32_t count)
{
	struct rq *ready[FETCH_QUEUES], *q = NULL;
	uint32_t queues = 0;
	while ((q = object_next(m, RQ, q)))
		if (q->w.state == QUEUE_RDY && wq_posted(m, &q->w, DBR_RECEIVE)) {
			if (queues == FETCH_QUEUES)
				return;
			ready[queues++] = q;
		}
	for (uint32_t i = 0; i < queues; i++) {
		const uint32_t posted = wq_posted(m, &ready[i]->w, DBR_RECEIVE);
		const uint32_t share = (count + queues - 1) / queues;
		fetch_queue(m, ready[i], posted < share ? posted : share);
	}
}

/* --- rows --- */

#define ROW_AHEAD 32 /* frames */

static inline void load_ethernet(const uint8_t *frame, uint64_t to[2])
{
	memcpy(&to[0], frame, 8);
	memcpy(&to[1], frame + 6, 8);
}

/* Completes the frames of the row, and counts them. */
static void row_post(struct model *m, struct row *r)
{
	if (r->n == 0)
		return;
	cq_post_row(m, r->q->w.cqn, r->cqe, r->e, r->n);
	vport_count_unicast(m, WAY_RX, r->n, r->bytes);
	m->rx_frames += r->n;
	m->rx_bytes += r->bytes;
	r->n = 0;
	r->bytes = 0;
}

/* Begins a row with the frame; false: it takes the slow path. */
static bool row_begin(struct model *m, struct row *r, const uint8_t *frame, uint32_t bytes)
{
	struct arrival a = {.data = frame, .bytes = bytes};
	row_post(m, r);
	r->q = NULL;
	if (m->faults || frame[0] & 1 || !vport_takes(m, frame))
		return false;
	a.h = (struct headers){.l3 = 14, .l4 = 34, .end = (uint16_t)bytes, .version = 4, .protocol = IP_UDP};
	r->t = flow_steer(m, frame, &a.h, &a.tag);
	if (r->t == NULL || !flow_same_by_ethernet(m) || !tir_admits(r->t, frame, 0))
		return false;
	struct rq *q = tir_only(m, r->t);
	r->left = q && q->w.state == QUEUE_RDY ? wq_posted(m, &q->w, DBR_RECEIVE) : 0;
	if (r->left == 0 || !wq_holds(m, RQ, &q->w, r->left) || !cq_alive(m, q->w.cqn) ||
	    ring_at(m, &q->w.ring, 0, DMA_READ, "RQ") == NULL || q->w.ring.at == NULL)
		return false;
	tir_hash(r->t, frame, &a.h, &a.hashed);
	memset(r->cqe, 0, sizeof r->cqe);
	r->cqe[CQE_OP_OWN] = CQE_RECEIVED << 4;
	describe(&a, r->cqe);
	put_be32(r->cqe + CQE_FLAGS_RQPN, object_number(m, RQ, q));
	put_be64(r->cqe + CQE_TIMESTAMP, cycles(m));
	put_be32(r->cqe + CQE_OPCODE_QPN, a.tag);
	load_ethernet(frame, r->ethernet);
	r->lkey = LKEY_TERMINATE;
	r->entries = q->w.ring.at;
	r->mask = (1u << q->w.ring.log_size) - 1;
	r->stride = 1u << q->w.ring.log_stride;
	r->view = model_view(m, DMA_WRITE);
	r->q = q;
	cq_fetch(m, q->w.cqn, FRAME_BURST);
	return true;
}

static inline const uint8_t *row_entry(const struct row *r, uint32_t index)
{
	return r->entries + (size_t)(index & r->mask) * r->stride;
}

/* Prefetches, for writing, the memory of the next entries, and entries behind those. */
static inline void row_fetch(struct model *m, struct row *r)
{
	struct rq *q = r->q;
	const uint32_t most = r->left < ROW_AHEAD ? r->left : ROW_AHEAD;
	const bool more = r->left >= 2 * ROW_AHEAD;
	for (; q->fetched < most; q->fetched++) {
		const uint32_t at = q->w.head + q->fetched;
		uint8_t *to = model_view_reach(m, &r->view, be64(row_entry(r, at) + SEG_ADDRESS), LINE, DMA_WRITE);
		if (more)
			__builtin_prefetch(row_entry(r, at + ROW_AHEAD));
		if (to) {
			__builtin_prefetch(to, 1);
			__builtin_prefetch(to + LINE - 1, 1);
		}
	}
}

/* Whether the key allows every address of the guest to be written; the row remembers one. */
static inline bool row_key(struct model *m, struct row *r, uint32_t lkey)
{
	if (lkey == r->lkey)
		return lkey != LKEY_TERMINATE;
	if (!mkey_allows_all(m, lkey, r->q->w.pd, DMA_WRITE))
		return false;
	r->lkey = lkey;
	return true;
}

/* False: nothing has changed; take the slow path. */
static inline bool row_takes(struct model *m, struct burst *b, const struct frame *f)
{
	struct row *r = &b->row;
	uint64_t ethernet[2];
	if (f->flags != FRAME_UDP4 || r->refused)
		return false;
	load_ethernet(f->data, ethernet);
	if (r->q == NULL || ethernet[0] != r->ethernet[0] || ethernet[1] != r->ethernet[1])
		r->refused = !row_begin(m, r, f->data, f->bytes);
	if (r->refused)
		return false;
	struct rq *q = r->q;
	if (m->line_rate)
		row_fetch(m, r);
	const uint8_t *entry = row_entry(r, q->w.head);
	if (r->left == 0 || field_get(entry, SEG_BYTES) < f->bytes || !row_key(m, r, be32(entry + 4)))
		return false;
	uint8_t *to = model_view_reach(m, &r->view, be64(entry + SEG_ADDRESS), f->bytes, DMA_WRITE);
	if (to == NULL)
		return false;
	copy_frame(to, f->data, f->bytes);
	struct hashed hashed = {0};
	if (r->t->hash == HASH_TOEPLITZ) {
		const struct headers h = {.l3 = 14, .l4 = 34, .end = (uint16_t)f->bytes,
		                          .version = 4, .protocol = IP_UDP};
		tir_hash(r->t, f->data, &h, &hashed);
	}
	r->e[r->n++] = (struct cq_entry){hashed.value, f->bytes, sum_vouched(f->data), (uint16_t)q->w.head};
	r->bytes += f->bytes;
	r->left--;
	q->w.head = (q->w.head + 1) & 0xffff;
	q->fetched -= q->fetched > 0;
	return true;
}

static void burst_end(struct model *m, struct burst *b)
{
	row_post(m, &b->row);
	burst_post(m, b);
	cq_burst_end(m);
}

void receive_frames(struct model *m, const struct frame *v, unsigned count)
{
	struct nic *n = nic_of(m);
	struct burst b;
	burst_begin(&b);
	if (!n->port.link || n->state != HCA_READY) {
		m->rx_refused += count;
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		const uint8_t *data = v[i].data;
		uint32_t bytes = v[i].bytes;
		uint8_t padded[60];
		if (bytes < sizeof padded) {
			memset(padded, 0, sizeof padded);
			memcpy(padded, data, bytes);
			data = padded;
			bytes = sizeof padded;
		}
		if (!eth_port_takes(m, data, bytes, v[i].flags & FRAME_BAD_FCS)) {
			m->rx_refused++;
			continue;
		}
		if (v[i].flags & FRAME_UDP4 && b.count)
			burst_post(m, &b);
		if (row_takes(m, &b, &v[i]))
			continue;
		row_post(m, &b.row);
		b.row.q = NULL; /* the slow path may change the queue */
		if (!b.fetched)
			fetch(m, count - i);
		b.fetched = true;
		arrive(m, &b, data, bytes, 0);
	}
	burst_end(m, &b);
}

/* Copies the frame: its memory is also used to strip tags. */
void receive_own(struct model *m, uint32_t td, const uint8_t *frame, uint32_t bytes)
{
	struct burst b;
	uint8_t copy[FRAME_MAX];
	burst_begin(&b);
	memcpy(copy, frame, bytes);
	arrive(m, &b, copy, bytes, td);
	burst_end(m, &b);
}

/* --- queues in ERR --- */

static void flush(struct model *m, struct rq *q)
{
	struct burst b;
	uint32_t left = wq_posted(m, &q->w, DBR_RECEIVE);
	burst_begin(&b);
	if (!wq_holds(m, RQ, &q->w, left)) {
		q->w.head = q->w.counter; /* reported only once */
		return;
	}
	for (; left && cq_alive(m, q->w.cqn); left--) {
		fail(m, &b, q, SYNDROME_FLUSHED);
		if (b.count == FRAME_BURST)
			burst_end(m, &b);
	}
	burst_end(m, &b);
}

void receive_work(struct model *m)
{
	struct nic *n = nic_of(m);
	struct rq *q = NULL;
	bool any = false;
	if (n->flush_due > m->now)
		return;
	while ((q = object_next(m, RQ, q)))
		if (q->flush && q->w.state == QUEUE_ERR) {
			any = true;
			if (!model_fault(m, FAULT_RECEIVE_STUCK))
				flush(m, q);
		}
	n->flush_due = any ? m->now + ROOM_NS : NEVER;
}

unsigned receive_room(struct model *m, unsigned max)
{
	struct nic *n = nic_of(m);
	unsigned room = max;
	n->room_due = NEVER;
	if (!n->port.link || n->state != HCA_READY)
		return max;
	struct rq *q = NULL;
	while ((q = object_next(m, RQ, q))) {
		if (q->w.state != QUEUE_RDY)
			continue;
		const uint32_t posted = wq_posted(m, &q->w, DBR_RECEIVE);
		q->primed |= posted > 0;
		if (q->primed && posted < room)
			room = posted;
	}
	if (room < max)
		n->room_due = m->now + ROOM_NS;
	return room;
}
