/*
 * Captures on a data core. control_hooks.mirror passes the packets of the captured ports; those
 * that match the capture are copied into this core's ring (mirror_ring.h). The copy is the only
 * cost to the traffic: a packet that finds no room in the ring is counted and not copied.
 *
 * A frame is copied as it lies in memory. So a capture shows a checksum that a device has not
 * completed yet (PKT_CSUM_PARTIAL), and frames that a device has not cut yet (PKT_TSO).
 */
#include "dataplane/state.h"

#define HEAD_MAX 256 /* bytes of a frame that hold every field of a match */

static bool is_wanted(const struct dp_capture *c, const struct pkt *p)
{
	return match_wants(&c->match, &c->flow, p->data, p->len < HEAD_MAX ? p->len : HEAD_MAX);
}

/* Copies the first `kept` bytes of a packet of one piece or several. */
static void put_packet(struct mirror_ring *r, uint32_t size, uint64_t at, const struct pkt *p, unsigned kept)
{
	const struct pkt_frag *f = pkt_frags(&self.pool, p->buf);
	unsigned n = p->len < kept ? p->len : kept;
	mirror_ring_put(r, size, at, p->data, n);
	for (; n < kept; f++) {
		unsigned len = f->len < kept - n ? f->len : kept - n;
		mirror_ring_put(r, size, at + n, buf_at(&self.pool, f->buf, f->offset), len);
		n += len;
	}
}

void mirror_vector(const struct pkt *v, unsigned n, unsigned port, bool out)
{
	static uint64_t reported[NIC_PORTS_MAX]; /* losses that records have reported already */
	static uint64_t number;
	const struct dp_capture *c = &dp_get()->capture;
	struct mirror_ring *r = mirror_ring_own();
	const uint32_t size = mirror_ring_bytes();
	if (number != c->number) { /* a new capture, or a restart of this program during one */
		number = c->number;
		if (r->number != number)
			mirror_ring_begin(r, number);
		for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
			reported[p] = r->count[p].dropped;
	}
	uint64_t tail = __atomic_load_n(&c->tail[self.id], __ATOMIC_ACQUIRE), head = r->head;
	uint64_t now_ns = clock_ns(&self.clock, clock_tsc());
	struct mirror_count *count = &r->count[port];
	count->seen += n;
	for (unsigned i = 0; i < n; i++) {
		if (!is_wanted(c, &v[i]))
			continue;
		uint32_t len = pkt_bytes(&self.pool, &v[i]);
		struct mirror_record record = {.ns = now_ns,
		                                .dropped = (uint32_t)(count->dropped - reported[port]),
		                                .len = (uint16_t)(len < 0xffff ? len : 0xffff),
		                                .port = (uint8_t)port,
		                                .out = out};
		record.kept = record.len < c->snaplen ? record.len : (uint16_t)c->snaplen;
		uint64_t bytes = mirror_record_bytes(record.kept);
		count->wanted++;
		if (!mirror_ring_fits(size, head, tail, bytes)) {
			count->dropped++;
			continue;
		}
		mirror_ring_put(r, size, head, &record, sizeof record);
		put_packet(r, size, head + sizeof record, &v[i], record.kept);
		head += bytes;
		reported[port] = count->dropped;
	}
	__atomic_store_n(&r->head, head, __ATOMIC_RELEASE);
}
