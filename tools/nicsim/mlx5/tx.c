/*
 * Transmit ("Send WQE", "Ethernet Segment"). When the doorbell has rung, the device reads a WQE and
 * gathers its packet from inline data and data segments. It inserts checksums and tags, segments an
 * LSO packet, and sends. A completion follows if the WQE requests one.
 *
 *   SEND          one packet
 *   LSO           one packet that becomes many: the inline part is the header of each
 *   MULTI_PACKET  a packet for each data segment, all with the same Ethernet segment
 *   NOP           none
 *
 * An invalid WQE gets a completion with an error and puts the queue into ERR; later WQEs are
 * flushed.
 */
#include <string.h>

#include "tools/nicsim/mlx5/state.h"
#include "tools/nicsim/packet/segment.h"
#include "tools/nicsim/packet/sum.h"

#define BURST       64 /* WQEs of a queue in one turn */
#define FETCH_AHEAD 24  /* data segments */

/* The current WQE. */
struct send {
	struct sq *q;
	uint32_t sqn;
	uint8_t wqe[WQE_BYTES_MAX];
	uint32_t bytes; /* of the WQE */
	uint32_t bbs;
	/* Plain unicast frames in the guest's memory that are ready to leave, of this WQE and of those
	 * before it: none of these has completed. */
	struct row {
		unsigned n;
		uint64_t bytes;
		uint64_t station; /* a destination that does not loop back; NEVER: none known */
		struct dma_view view;
		uint32_t lkey; /* allows any address to be read */
		bool key;      /* it is known */
		struct frame v[FRAME_BURST];
	} row;
};

static void row_leave(struct model *m, struct row *r)
{
	if (r->n == 0)
		return;
	vport_count_unicast(m, WAY_TX, r->n, r->bytes);
	eth_port_sent_unicast(m, r->n, r->bytes);
	model_send_all(m, r->v, r->n);
	r->n = 0;
	r->bytes = 0;
}

/* --- completions --- */

static void complete(struct model *m, struct send *s, enum cqe_syndrome syndrome)
{
	row_leave(m, &s->row); /* the guest may reuse the memory */
	uint8_t cqe[CQE_BYTES] = {0};
	const bool error = syndrome != SYNDROME_NONE;
	put_be64(cqe + CQE_TIMESTAMP, cycles(m));
	put_be32(cqe + CQE_OPCODE_QPN, field_get(s->wqe, WQE_OPCODE) << 24 | s->sqn);
	put_be16(cqe + CQE_COUNTER, s->q->w.head);
	cqe[CQE_OP_OWN] = (error ? CQE_REQ_ERROR : CQE_REQUESTER) << 4;
	if (error) {
		put_be64(cqe + CQE_TIMESTAMP, 0);
		cqe[CQE_SYNDROME] = (uint8_t)syndrome;
	}
	if (!model_fault_strikes(m, FAULT_COMPLETION_LOST))
		cq_post(m, s->q->w.cqn, cqe, error);
}

/* Reports a violation, and returns the syndrome. */
static enum cqe_syndrome wrong(struct model *m, const struct send *s, enum cqe_syndrome syndrome,
                               const char *what)
{
	model_violation(m, "SQ 0x%x, WQE %u: %s", s->sqn, s->q->w.head, what);
	return syndrome;
}

/* --- transmission --- */

/* Unicast to this port only loops back. Multicast to a group of this port loops back and is
 * sent. */
static void leave(struct model *m, const struct send *s, const uint8_t *frame, uint32_t bytes)
{
	const bool loops = vport_loops(m, frame);
	vport_count(m, WAY_TX, frame, bytes);
	if (nic_of(m)->port.link && (!loops || frame[0] & 1)) {
		eth_port_sent(m, frame, bytes);
		model_send(m, frame, bytes);
	} else if (!loops) {
		m->tx_lost++;
	}
	if (loops) {
		const struct tis *t = object_find(m, TIS, s->q->tis);
		receive_own(m, t->td, frame, bytes);
	}
}

/* Whether the frame stays away from this port's receive half; the row remembers a destination. */
static inline bool row_station(struct model *m, struct row *r, const uint8_t *frame)
{
	uint64_t station;
	memcpy(&station, frame, sizeof station);
	station <<= 16;
	if (station == r->station)
		return true;
	if (frame[0] & 1 || vport_loops(m, frame))
		return false;
	r->station = station;
	return true;
}

/* Adds the data segment at `at` of a multi-packet WQE without offloads to the row, if it is plain.
 * False: nothing has changed; take the slow path. */
static inline bool row_takes(struct model *m, struct send *s, uint32_t at)
{
	struct row *r = &s->row;
	const uint8_t *seg = s->wqe + at;
	const uint32_t bytes = be32(seg), lkey = be32(seg + 4); /* bit 31 of bytes: inline */
	if (bytes < 60 || bytes > nic_of(m)->port.mtu - 4)
		return false;
	if (!r->key || lkey != r->lkey) {
		if (!mkey_allows_all(m, lkey, s->q->w.pd, DMA_READ))
			return false;
		r->key = true;
		r->lkey = lkey;
	}
	const uint8_t *data = model_view_reach(m, &r->view, be64(seg + SEG_ADDRESS), bytes, DMA_READ);
	if (data == NULL || !row_station(m, r, data))
		return false;
	r->v[r->n++] = (struct frame){.data = data, .bytes = bytes};
	r->bytes += bytes;
	if (r->n == FRAME_BURST)
		row_leave(m, r);
	return true;
}

/* Inserts a tag if requested, and pads (pad_tx_eth_packet). False: longer than the port's MTU. */
static bool emit(struct model *m, const struct send *s, const uint8_t *frame, uint32_t bytes)
{
	struct nic *n = nic_of(m);
	const uint8_t *eth = s->wqe + WQE_ETH;
	uint8_t *out = n->frame;
	const uint32_t tag = field_get(eth, ETH_INSERT_VLAN) ? 4 : 0;
	if (bytes + tag + 4 > n->port.mtu)
		return false;
	if (tag) {
		memcpy(out, frame, 12);
		put_be16(out + 12, 0x8100);
		put_be16(out + 14, field_get(eth, ETH_VLAN));
		memcpy(out + 16, frame + 12, bytes - 12);
		bytes += tag;
		frame = out;
	}
	if (bytes < 60) {
		memmove(out, frame, bytes);
		memset(out + bytes, 0, 60 - bytes);
		bytes = 60;
		frame = out;
	}
	leave(m, s, frame, bytes);
	return true;
}

/* --- checksums --- */

static void l3_sum(uint8_t *frame, const struct headers *h)
{
	uint8_t *ip = frame + h->l3;
	if (h->version != 4)
		return;
	put_be16(ip + 10, 0);
	uint16_t sum = (uint16_t)~sum_fold(sum_add(0, ip, (ip[0] & 15u) * 4));
	memcpy(ip + 10, &sum, 2);
}

static void l4_sum(uint8_t *frame, const struct headers *h)
{
	const uint32_t bytes = h->end - h->l4;
	if (h->l4 == 0 || (h->protocol != IP_TCP && h->protocol != IP_UDP))
		return;
	uint8_t *at = frame + h->l4 + (h->protocol == IP_TCP ? 16 : 6);
	put_be16(at, 0);
	uint64_t part = sum_pseudo(frame + h->l3, h->version, h->protocol, bytes);
	uint16_t sum = (uint16_t)~sum_fold(sum_add(part, frame + h->l4, bytes));
	if (sum == 0 && h->protocol == IP_UDP)
		sum = 0xffff; /* RFC 768 */
	memcpy(at, &sum, 2);
}

/* Sends a packet, gathered or in the guest's memory. */
static enum cqe_syndrome send_packet(struct model *m, const struct send *s, const uint8_t *packet,
                                     uint32_t bytes)
{
	uint8_t *own = nic_of(m)->packet;
	const uint32_t csum = field_get(s->wqe + WQE_ETH, ETH_CSUM);
	if (bytes < 14 || bytes > FRAME_MAX - 4)
		return wrong(m, s, SYNDROME_LOCAL_LENGTH, "length of the packet");
	if (csum && bytes >= 18) {
		struct headers h;
		if (packet != own)
			packet = memcpy(own, packet, bytes);
		headers_parse(own, bytes, &h);
		if (csum & ETH_CSUM_L3)
			l3_sum(own, &h);
		if (csum & ETH_CSUM_L4)
			l4_sum(own, &h);
	}
	if (!emit(m, s, packet, bytes))
		return wrong(m, s, SYNDROME_LOCAL_LENGTH, "the packet exceeds the port's MTU");
	return SYNDROME_NONE;
}

/* --- gathering --- */

/* Evaluates the data segment at `*at` of the WQE, of at most `most` bytes. Advances *at. */
static enum cqe_syndrome take(struct model *m, const struct send *s, uint32_t *at, uint32_t most,
                              const uint8_t **data, uint32_t *count)
{
	const uint8_t *seg = s->wqe + *at;
	*count = field_get(seg, SEG_BYTES);
	if (*count == 0 || *count > most)
		return wrong(m, s, SYNDROME_LOCAL_LENGTH, "length of a data segment");
	if (field_get(seg, SEG_INLINE)) {
		if (*count > s->bytes - *at - 4)
			return wrong(m, s, SYNDROME_LOCAL_LENGTH, "inline data beyond the WQE");
		*data = seg + 4;
		*at += (4 + *count + 15) & ~15u;
		return SYNDROME_NONE;
	}
	const uint64_t bus = be64(seg + SEG_ADDRESS);
	*data = NULL;
	*at += WQE_DS;
	if (mkey_allows(m, be32(seg + 4), s->q->w.pd, bus, *count, DMA_READ))
		*data = model_dma(m, bus, *count, DMA_READ, "data segment of an SQ");
	return *data ? SYNDROME_NONE : SYNDROME_LOCAL_PROTECTION;
}

/* Prefetches the data of the segment at `at`. */
static inline void fetch_data(struct model *m, struct send *s, uint32_t at)
{
	const uint8_t *seg = s->wqe + at;
	if (at >= s->bytes || field_get(seg, SEG_INLINE))
		return;
	const uint8_t *data = model_view_reach(m, &s->row.view, be64(seg + SEG_ADDRESS), LINE, DMA_READ);
	if (data) {
		__builtin_prefetch(data);
		__builtin_prefetch(data + LINE - 1);
	}
}

/* Copies the Ethernet segment's inline part to the packet's start; *at: the offset after it. */
static enum cqe_syndrome gather_inline(struct model *m, const struct send *s, uint32_t *at,
                                       uint32_t *bytes)
{
	static const uint8_t least[] = {[INLINE_NONE] = 0, [INLINE_L2] = 14, [INLINE_IP] = 34,
	                                [INLINE_TCP_UDP] = 42};
	const uint8_t *eth = s->wqe + WQE_ETH;
	*at = WQE_ETH + 16;
	*bytes = 0;
	if (s->bytes < *at)
		return wrong(m, s, SYNDROME_LOCAL_QP_OP, "no Ethernet segment");
	if (!field_get(eth, ETH_INSERT_VLAN))
		*bytes = field_get(eth, ETH_INLINE);
	if (*bytes > 2)
		*at += (*bytes - 2 + 15) & ~15u;
	if (*at > s->bytes)
		return wrong(m, s, SYNDROME_LOCAL_LENGTH, "inline header beyond the WQE");
	if (*bytes < least[s->q->min_inline])
		return wrong(m, s, SYNDROME_LOCAL_QP_OP, "inline header below min_wqe_inline_mode");
	memcpy(nic_of(m)->packet, eth + ETH_INLINE_AT, *bytes);
	return SYNDROME_NONE;
}

/* Gathers the packet of the WQE, of which `headers` bytes are inline. */
static enum cqe_syndrome gather(struct model *m, const struct send *s, uint32_t *headers,
                                uint32_t *bytes)
{
	uint32_t at;
	enum cqe_syndrome syndrome = gather_inline(m, s, &at, bytes);
	*headers = *bytes;
	while (syndrome == SYNDROME_NONE && at < s->bytes) {
		const uint8_t *data;
		uint32_t count;
		syndrome = take(m, s, &at, PACKET_MAX - *bytes, &data, &count);
		if (syndrome == SYNDROME_NONE)
			memcpy(nic_of(m)->packet + *bytes, data, count);
		*bytes += count;
	}
	return syndrome;
}

/* --- WQE opcodes --- */

static enum cqe_syndrome send_one(struct model *m, struct send *s)
{
	uint32_t headers, bytes;
	row_leave(m, &s->row);
	enum cqe_syndrome syndrome = gather(m, s, &headers, &bytes);
	return syndrome ? syndrome : send_packet(m, s, nic_of(m)->packet, bytes);
}

/* Sets the packet's length, which a driver may leave open (it can exceed 16 bits). */
static void set_length(uint8_t *packet, uint32_t bytes)
{
	const uint32_t l3 = be16(packet + 12) == 0x8100 ? 18 : 14;
	const uint32_t type = be16(packet + l3 - 2), most = 0xffff;
	if (type == 0x0800)
		put_be16(packet + l3 + 2, bytes - l3 < most ? bytes - l3 : most);
	else if (type == 0x86dd)
		put_be16(packet + l3 + 4, bytes - l3 - 40 < most ? bytes - l3 - 40 : most);
}

static enum cqe_syndrome send_segments(struct model *m, struct send *s)
{
	row_leave(m, &s->row);
	struct nic *n = nic_of(m);
	uint32_t headers, bytes;
	struct headers h;
	enum cqe_syndrome syndrome = gather(m, s, &headers, &bytes);
	if (syndrome)
		return syndrome;
	struct segments cut = {.mss = field_get(s->wqe + WQE_ETH, ETH_MSS),
	                       .headers = headers,
	                       .payload = bytes - headers,
	                       .flags_first = 0xff6, /* CWR in the first, FIN and PSH in the last */
	                       .flags_middle = 0xf76,
	                       .flags_last = 0xf7f};
	if (headers < 54 - 12 || cut.mss == 0 || cut.payload == 0)
		return wrong(m, s, SYNDROME_LOCAL_QP_OP, "LSO without headers, payload or mss");
	set_length(n->packet, bytes);
	headers_parse(n->packet, bytes, &h);
	const bool tcp = h.l4 && h.protocol == IP_TCP, udp = h.l4 && h.protocol == IP_UDP;
	if ((!tcp && !udp) || headers != h.l4 + (tcp ? (n->packet[h.l4 + 12] >> 4) * 4u : 8u))
		return wrong(m, s, SYNDROME_LOCAL_QP_OP, "LSO: the inline part is not the headers");
	if (headers + cut.mss > FRAME_MAX - 4)
		return wrong(m, s, SYNDROME_LOCAL_LENGTH, "mss");
	cut.l3 = h.l3;
	cut.l4 = h.l4;
	cut.ipv4 = h.version == 4;
	cut.tcp = tcp;
	uint16_t sum = sum_fold(sum_pseudo(n->packet + h.l3, h.version, h.protocol, 0));
	memcpy(n->packet + h.l4 + (tcp ? 16 : 6), &sum, 2);
	for (uint32_t from = 0; from < cut.payload; from += cut.mss) {
		uint32_t length = segment_make(&cut, n->packet, from, n->segment);
		m->tx_segments += from > 0;
		if (!emit(m, s, n->segment, length))
			return wrong(m, s, SYNDROME_LOCAL_LENGTH, "segments exceed the port's MTU");
	}
	return SYNDROME_NONE;
}

static enum cqe_syndrome send_each(struct model *m, struct send *s)
{
	uint32_t at, bytes;
	enum cqe_syndrome syndrome = gather_inline(m, s, &at, &bytes);
	if (syndrome == SYNDROME_NONE && bytes)
		syndrome = wrong(m, s, SYNDROME_LOCAL_QP_OP, "inline header of a multi-packet WQE");
	for (uint32_t i = 0; i < FETCH_AHEAD; i++)
		fetch_data(m, s, at + i * WQE_DS);
	const uint8_t *eth = s->wqe + WQE_ETH;
	const bool plain = nic_of(m)->port.link && !field_get(eth, ETH_CSUM) &&
	                   !field_get(eth, ETH_INSERT_VLAN);
	while (syndrome == SYNDROME_NONE && at < s->bytes) {
		const uint8_t *data;
		fetch_data(m, s, at + FETCH_AHEAD * WQE_DS);
		if (plain && row_takes(m, s, at)) {
			at += WQE_DS;
			continue;
		}
		row_leave(m, &s->row);
		syndrome = take(m, s, &at, PACKET_MAX, &data, &bytes);
		if (syndrome == SYNDROME_NONE)
			syndrome = send_packet(m, s, data, bytes);
	}
	return syndrome;
}

static void check_reserved(struct model *m, const struct send *s)
{
	static const uint32_t reserved[] = WQE_RESERVED;
	for (uint32_t at = 0; at < sizeof reserved && at < s->bytes; at += 4) {
		const uint32_t wrong = be32(s->wqe + at) & reserved[at / 4];
		if (wrong)
			model_violation(m, "SQ 0x%x, WQE %u: 0x%02x: bits 0x%08x are reserved",
			                s->sqn, s->q->w.head, at, wrong);
	}
}

static enum cqe_syndrome run(struct model *m, struct send *s)
{
	const uint32_t opcode = field_get(s->wqe, WQE_OPCODE);
	check_reserved(m, s);
	if (model_fault_strikes(m, FAULT_SEND_ERROR))
		return SYNDROME_LOCAL_QP_OP;
	if (opcode == WQE_NOP)
		return SYNDROME_NONE;
	if (s->q->tis == 0)
		return wrong(m, s, SYNDROME_LOCAL_QP_OP, "the queue has no TIS");
	switch (opcode) {
	case WQE_SEND:
		return send_one(m, s);
	case WQE_LSO:
		return send_segments(m, s);
	case WQE_MULTI_PACKET: /* LINUX: does not set the queue's allow_multi_pkt_send_wqe */
		return send_each(m, s);
	}
	return wrong(m, s, SYNDROME_LOCAL_QP_OP, "unknown opcode");
}

/* --- queues --- */

/* Copies the WQE at the queue's head; false: it is invalid, and was reported. */
static bool fetch(struct model *m, struct send *s, uint32_t posted)
{
	struct wq *w = &s->q->w;
	const char *what = NULL;
	uint32_t bbs = 1;
	for (uint32_t bb = 0; bb < bbs; bb++) {
		const uint8_t *at = ring_at(m, &w->ring, w->head + bb, DMA_READ, "SQ");
		if (at == NULL)
			return false;
		memcpy(s->wqe + WQEBB * bb, at, WQEBB);
		if (bb == 0)
			bbs = (field_get(s->wqe, WQE_DS_COUNT) + 3) / 4;
		if (bbs == 0 || bbs > posted)
			what = "ds is more than was posted, or nothing";
		else if (field_get(s->wqe, WQE_INDEX) != w->head)
			what = "wqe_index is not its place";
		else if (field_get(s->wqe, WQE_QPN) != s->sqn)
			what = "qpn is not the queue's";
		if (what) {
			model_violation(m, "SQ 0x%x, WQE %u: %s", s->sqn, w->head, what);
			return false;
		}
	}
	s->bytes = WQE_DS * field_get(s->wqe, WQE_DS_COUNT);
	s->bbs = bbs;
	return true;
}

static void fail(struct model *m, struct send *s, enum cqe_syndrome syndrome)
{
	complete(m, s, syndrome);
	s->q->w.state = QUEUE_ERR;
}

/* Ends the WQE at the head: success, error, or flushed because the queue is in ERR. */
static void end(struct model *m, struct send *s, enum cqe_syndrome syndrome)
{
	if (syndrome != SYNDROME_NONE)
		fail(m, s, syndrome);
	else if (field_get(s->wqe, WQE_COMPLETION) >= COMPLETION_ALWAYS)
		complete(m, s, SYNDROME_NONE);
	s->q->w.head = (s->q->w.head + s->bbs) & 0xffff;
}

/* Prefetches the BBs of the next WQEs, which are in the cache of the guest's core, as in rx.c. */
static void fetch_ring(struct model *m, struct wq *w)
{
	const uint32_t posted = wq_posted(m, w, DBR_SEND);
	for (uint32_t i = 0; i < posted && i < BURST; i++)
		__builtin_prefetch(ring_at(m, &w->ring, w->head + i, DMA_READ, "SQ"));
}

static bool serve(struct model *m, struct sq *q)
{
	struct send s;
	bool moved = false;
	s.q = q;
	s.sqn = object_number(m, SQ, q);
	fetch_ring(m, &q->w);
	s.row.n = 0;
	s.row.bytes = 0;
	s.row.station = NEVER;
	s.row.key = false;
	s.row.view = model_view(m, DMA_READ);
	for (unsigned i = 0; i < BURST; i++) {
		const uint32_t posted = wq_posted(m, &q->w, DBR_SEND);
		if (posted == 0 || !cq_alive(m, q->w.cqn) || (q->w.state == QUEUE_ERR && !q->flush)) {
			row_leave(m, &s.row);
			return moved;
		}
		s.bbs = posted; /* consumed if the end of the WQE is unknown */
		const bool good = wq_holds(m, SQ, &q->w, posted) && fetch(m, &s, posted);
		if (q->w.state == QUEUE_ERR)
			end(m, &s, SYNDROME_FLUSHED);
		else
			end(m, &s, good ? run(m, &s) : SYNDROME_LOCAL_QP_OP);
		moved = true;
	}
	row_leave(m, &s.row);
	nic_of(m)->send_more = true;
	return moved;
}

void send_ready(struct model *m, const struct sq *q, bool ready)
{
	struct nic *n = nic_of(m);
	mark(n->sq_ready, (uint32_t)(q - n->sq), ready);
	mark(n->sq_rung, (uint32_t)(q - n->sq), ready && q->w.state == QUEUE_ERR);
}

void send_doorbell(struct model *m, uint32_t uar, uint32_t first, uint32_t second)
{
	const uint32_t sqn = second >> 8;
	struct sq *q = object_find(m, SQ, sqn);
	if (q == NULL || q->uar != uar || q->w.state == QUEUE_RST) {
		model_violation(m, "doorbell of UAR %u: SQ 0x%x is not there, or not ready", uar,
		                sqn);
		return;
	}
	/* the record is written first, and may have been updated since, the WQE even be done */
	if (wq_look(m, &q->w, DBR_SEND) && ((q->w.counter - (first >> 8) - 1) & 0xffff) >= 0x8000)
		model_violation(m, "SQ 0x%x: doorbell for WQE %u, but its record says %u", sqn,
		                first >> 8 & 0xffff, q->w.counter);
	mark(nic_of(m)->sq_rung, (uint32_t)(q - nic_of(m)->sq), true);
}

bool send_work(struct model *m)
{
	struct nic *n = nic_of(m);
	const uint64_t *map = m->line_rate ? n->sq_ready : n->sq_rung;
	bool moved = false;
	n->send_more = false;
	if (model_fault(m, FAULT_SEND_STUCK))
		return false;
	for (unsigned word = 0; word < SQ_WORDS; word++)
		for (uint64_t left = map[word]; left; left &= left - 1) {
			const unsigned index = word * 64 + (unsigned)__builtin_ctzll(left);
			const bool more = n->send_more;
			n->send_more = false;
			moved |= serve(m, &n->sq[index]);
			if (!n->send_more)
				mark(n->sq_rung, index, false);
			n->send_more |= more;
		}
	return moved;
}
