/*
 * Message rings between a data core and the control core. One producer, one consumer, each
 * writing only its own outbox: publish the slot, then the head; read the slot, then move the
 * tail. Frames are copied: this way is cold, and each side keeps its own buffers.
 */
#include "core/outbox.h"
#include "hal/kcall.h"
#include "lib/mem.h"

static uint64_t wake_mask; /* cores written to in this turn */

static size_t slot_bytes(void)
{
	size_t frame = snapshot_header()->buf_stride - BUF_DATA_OFFSET;
	return (sizeof(struct core_msg) + frame + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
}

static struct core_msg *slot(uint64_t ring, uint64_t index)
{
	return (struct core_msg *)(uintptr_t)(ring +
	                                      index % snapshot_header()->slots * slot_bytes());
}

static uint64_t punt_ring(unsigned d)
{
	return self.info->core[data_core(d)].outbox + OUTBOX_AREA;
}

static uint64_t inject_ring(unsigned d)
{
	bool both = self.info->first_data_core == 0;
	return self.info->core[0].outbox + OUTBOX_AREA * (1 + both + (uint64_t)d);
}

void rings_init(void)
{
	struct outbox *out = outbox_of(self.id);
	/* What the others wrote stays where it is: go to their positions. */
	if (self.roles & CORE_DATA) {
		out->punt_head = shared_load(&outbox_of(0)->punt_tail[data_index()]);
		out->inject_tail = shared_load(&outbox_of(0)->inject_head[data_index()]);
	}
	if (self.roles & CORE_CONTROL)
		for (unsigned d = 0; d < self.info->data_cores; d++) {
			out->inject_head[d] = shared_load(&outbox_of(data_core(d))->inject_tail);
			out->punt_tail[d] = shared_load(&outbox_of(data_core(d))->punt_head);
		}
}

/*
 * Every frame a core takes in ends in one fate or is handed on, so what is missing from that sum
 * when its program starts was lost by the restart:
 *     data role      received = fates + punted
 *     control role   messages taken from the punt rings = fates (+ waiting, gone by now)
 */
void core_account_restart(void)
{
	const struct outbox *out = outbox_of(self.id);
	uint64_t in = 0, fates = 0;
	if (self.roles & CORE_DATA) {
		for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
			in += out->nic[p].rx_pkts;
		in -= out->counters.v[CNT_punted];
	}
	if (self.roles & CORE_CONTROL)
		for (unsigned d = 0; d < self.info->data_cores; d++)
			in += outbox_of(data_core(d))->counters.v[CNT_punted];
	for (unsigned i = 0; i < CNT_MAX; i++)
		if (counter_desc[i].kind != COUNTER_INFO)
			fates += out->counters.v[i];
	count_n(CNT_drop_restart, in - fates);
}

unsigned core_frame_max(void)
{
	return snapshot_header()->buf_stride - BUF_DATA_OFFSET;
}

static void fill(struct core_msg *m, const uint8_t *frame, unsigned len)
{
	m->len = (uint16_t)len;
	memcpy(m->frame, frame, len);
}

/* Copies the packet into the punt ring and frees it; false when the ring is full. */
static bool punt(const struct pkt *p, uint32_t kind, uint32_t arg)
{
	struct outbox *out = outbox_of(self.id);
	uint64_t head = out->punt_head;
	bool room = head - shared_load(&outbox_of(0)->punt_tail[data_index()]) <
	            snapshot_header()->slots;
	if (room) {
		struct core_msg *m = slot(punt_ring(data_index()), head);
		fill(m, p->data, p->len);
		m->port = p->port;
		m->flags = p->flags;
		m->kind = kind;
		m->arg = arg;
		shared_store(&out->punt_head, head + 1);
		wake_mask |= 1;
	}
	pkt_free(&self.pool, p);
	return room;
}

void core_punt(const struct pkt *p, uint32_t kind, uint32_t arg)
{
	count(punt(p, kind, arg) ? CNT_punted : CNT_drop_punt_full);
}

void core_punt_own(const struct pkt *p, uint32_t kind, uint32_t arg)
{
	if (!punt(p, kind, arg))
		count(CNT_originated_drop_tx);
}

unsigned core_data_count(void)
{
	return core_ports_running() ? snapshot_header()->pairs : 0;
}

int core_inject(unsigned d, unsigned port, const uint8_t *frame, unsigned len, uint32_t kind,
                uint32_t arg)
{
	struct outbox *out = outbox_of(self.id);
	uint64_t head = out->inject_head[d];
	if (len > core_frame_max())
		return E_INVAL;
	if (d >= core_data_count() ||
	    head - shared_load(&outbox_of(data_core(d))->inject_tail) >= snapshot_header()->slots)
		return E_AGAIN;
	struct core_msg *m = slot(inject_ring(d), head);
	fill(m, frame, len);
	m->port = (uint8_t)port;
	m->flags = 0;
	m->kind = kind;
	m->arg = arg;
	shared_store(&out->inject_head[d], head + 1);
	count(CNT_injected);
	wake_mask |= 1ull << data_core(d);
	return E_OK;
}

struct core_msg *ring_punt_next(unsigned d)
{
	uint64_t tail = outbox_of(self.id)->punt_tail[d];
	if (shared_load(&outbox_of(data_core(d))->punt_head) == tail)
		return NULL;
	return slot(punt_ring(d), tail);
}

void ring_punt_done(unsigned d)
{
	struct outbox *out = outbox_of(self.id);
	shared_store(&out->punt_tail[d], out->punt_tail[d] + 1);
}

struct core_msg *ring_inject_next(void)
{
	uint64_t tail = outbox_of(self.id)->inject_tail;
	if (shared_load(&outbox_of(0)->inject_head[data_index()]) == tail)
		return NULL;
	return slot(inject_ring(data_index()), tail);
}

void ring_inject_done(void)
{
	struct outbox *out = outbox_of(self.id);
	shared_store(&out->inject_tail, out->inject_tail + 1);
}

void ring_wake_peers(void)
{
	if (likely(wake_mask == 0))
		return;
	barrier_full(); /* the messages are visible before we look whether the peer sleeps */
	for (unsigned i = 0; wake_mask; i++, wake_mask >>= 1)
		if (wake_mask & 1 && i != self.id && shared_load(&outbox_of(i)->parked))
			kcall(KCALL_WAKE, i, 0, 0);
}

bool ring_messages_waiting(void)
{
	if (self.roles & CORE_DATA && ring_inject_next())
		return true;
	if (self.roles & CORE_CONTROL)
		for (unsigned d = 0; d < self.info->data_cores; d++)
			if (ring_punt_next(d))
				return true;
	return false;
}
