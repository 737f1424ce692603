/* See wires.h. */
#include "tests/host/wires.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/config.h"
#include "runtime/shared.h"
#include "tests/host/lines.h"

uint32_t device_mtu_max = CONFIG_MTU_MAX;
bool devices_cut;
struct wire wires[NIC_PORTS_MAX];

static bool nic_match(const struct pci_dev *dev)
{
	(void)dev;
	return true;
}

static int nic_probe(struct nic *nic, const struct pci_dev *dev)
{
	const uint8_t mac[6] = {0x02, 0x48, 0x59, 0, 0, (uint8_t)dev->index};
	nic->pairs_max = 1;
	nic->features = NIC_RX_CSUM | NIC_TX_CSUM | NIC_LINK | NIC_SG |
	                (devices_cut ? NIC_TSO | NIC_USO : 0);
	nic->mtu_max = device_mtu_max;
	memcpy(nic->mac, mac, sizeof mac);
	return E_OK;
}

static size_t nic_ring_bytes(const struct nic *nic)
{
	(void)nic;
	return 4096;
}

static int nic_start(struct nic *nic, const struct nic_config *config, struct nic_shared *shared)
{
	if (wires[nic->pci->index].dead) {
		nic->error = "it is dead";
		return E_TIMEOUT;
	}
	shared->pairs = (uint8_t)config->pairs;
	shared->features = nic->features;
	shared->priv[0] = nic->pci->index;
	return E_OK;
}

/* Data cores have released all buffers: the next pool may begin elsewhere. */
static void nic_stop(struct nic *nic)
{
	const struct core_memory *m = &self.info->core[0];
	(void)nic;
	ASAN_UNPOISON_MEMORY_REGION((void *)(uintptr_t)m->arena, m->arena_bytes);
}

static void nic_link(struct nic *nic, struct nic_link *out)
{
	const struct wire *w = &wires[nic->pci->index];
	*out = (struct nic_link){.up = w->link_up, .gone = w->gone, .mbps = w->mbps};
}

static void nic_stats(struct nic *nic, struct nic_stats *sum)
{
	struct wire *w = &wires[nic->pci->index];
	if (w->gone || w->dead)
		broken("a device that is gone is asked for its counters");
	sum->rx_missed += w->missed;
	w->missed = 0;
}

/* For an attached queue: no slots. */
static void slots_reset(struct wire *w)
{
	for (unsigned i = 0; i < HOST_SLOTS; i++) {
		free(w->slot_bytes[i]);
		w->slot_bytes[i] = NULL;
	}
	w->slot_sent = w->slot_done = 0;
}

static int nic_attach(struct nic_queue *q, const struct nic_shared *shared, unsigned pair, void *mem)
{
	(void)pair;
	(void)mem;
	q->priv[0] = shared->priv[0];
	q->rx_buffers = 0; /* frames have their own memory while they wait */
	slots_reset(&wires[q->priv[0]]);
	return E_OK;
}

/* Poisons what lies behind the frame: nothing may read it. The bytes before the frame are for the
 * owner of the buffer to write (TCP does), so they are filled with a pattern. */
static void fence(const struct bufpool *pool, const struct pkt *p)
{
	uint8_t *base = buf_base(pool, p->buf);
	if (!(p->flags & PKT_CSUM_PARTIAL))
		memset(base, 0xa5, BUF_META);
	ASAN_POISON_MEMORY_REGION(p->data + p->len, (size_t)(base + pool->stride - p->data) - p->len);
}

static void assert_sound(const struct nic_queue *q)
{
	if (q->broken)
		broken("a queue that is broken is asked for more");
}

static unsigned nic_rx_burst(struct nic_queue *q, struct pkt *v, unsigned max)
{
	struct wire *w = &wires[q->priv[0]];
	unsigned n = 0;
	assert_sound(q);
	while (n < max && w->rx_tail != w->rx_head && pkt_take(q->pool, &v[n])) {
		struct rx_frame *f = &w->rx[w->rx_tail++];
		struct pkt *p = &v[n++];
		if (f->len > buf_room(q->pool))
			broken("frame of %u bytes, the buffer takes %u", f->len, buf_room(q->pool));
		memcpy(p->data, f->bytes, f->len);
		p->len = f->len;
		p->flags = f->flags;
		p->interface = q->port;
		if (f->flags & PKT_CSUM_PARTIAL)
			*pkt_meta(q->pool, p->buf) =
				(struct pkt_meta){.csum_start = f->csum_start,
				                  .csum_offset = f->csum_offset};
		fence(q->pool, p);
		q->cnt->rx_pkts++;
		q->cnt->rx_bytes += f->len;
		free(f->bytes);
	}
	if (w->rx_tail == w->rx_head)
		w->rx_head = w->rx_tail = 0;
	return n;
}

/* Prints a sent frame, in one piece however it lay, and the offloads requested for it. */
static void print_sent(const struct bufpool *pool, uint64_t port, const struct pkt *p)
{
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	const struct pkt_frag *f = pkt_frags(pool, p->buf);
	printf("out %" PRIu64 " ", port);
	print_hex(p->data, p->len);
	for (unsigned n = p->flags & PKT_CHAIN ? m->frags : 0; n; n--, f++)
		print_hex(buf_at(pool, f->buf, f->offset), f->len);
	if (p->flags & PKT_CSUM_PARTIAL)
		printf(" partial %u %u", m->csum_start, m->csum_offset);
	if (p->flags & (PKT_TSO | PKT_USO)) {
		if (!devices_cut || !(p->flags & PKT_CSUM_PARTIAL) || m->hdr_bytes > p->len)
			broken("a frame to be cut, where no device can");
		printf(" %s %u %u", p->flags & PKT_TSO ? "tso" : "uso", m->mss, m->hdr_bytes);
	}
	putchar('\n');
}

static unsigned nic_tx_burst(struct nic_queue *q, const struct pkt *v, unsigned n)
{
	struct wire *w = &wires[q->priv[0]];
	unsigned sent = 0;
	assert_sound(q);
	if (w->breaks) {
		w->breaks = false;
		q->broken = true;
		return 0;
	}
	for (; sent < n && w->tx_room != 0; sent++) {
		const struct pkt *p = &v[sent];
		w->tx_room -= w->tx_room > 0;
		print_sent(q->pool, q->priv[0], p);
		q->cnt->tx_pkts++;
		q->cnt->tx_bytes += pkt_bytes(q->pool, p);
		pkt_free(q->pool, p);
	}
	q->cnt->tx_full += sent < n;
	return sent;
}

/* --- sending by slots: the frames leave as space permits, unchanged --- */

static void slots_leave(struct wire *w, uint64_t port)
{
	for (; w->slot_done != w->slot_sent && w->tx_room != 0; w->slot_done++) {
		const struct nic_slot *s = &w->slot[w->slot_done % HOST_SLOTS];
		uint8_t **bytes = &w->slot_bytes[w->slot_done % HOST_SLOTS];
		w->tx_room -= w->tx_room > 0;
		if (memcmp(*bytes, s->data, s->len) != 0)
			broken("a frame was changed while the device had it");
		printf("out %" PRIu64 " ", port);
		print_hex(s->data, s->len);
		putchar('\n');
		free(*bytes);
		*bytes = NULL;
	}
}

static unsigned nic_slots_open(struct nic_queue *q)
{
	assert_sound(q);
	return HOST_SLOTS;
}

static unsigned nic_slots_free(struct nic_queue *q)
{
	struct wire *w = &wires[q->priv[0]];
	assert_sound(q);
	slots_leave(w, q->priv[0]);
	return HOST_SLOTS - (w->slot_sent - w->slot_done);
}

static void nic_slots_put(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n)
{
	struct wire *w = &wires[q->priv[0]];
	assert_sound(q);
	for (unsigned i = 0; i < n; i++) {
		if (w->slot_bytes[(first + i) % HOST_SLOTS])
			broken("a slot that the device has was written");
		w->slot[(first + i) % HOST_SLOTS] = s[i];
	}
}

static void nic_slots_send(struct nic_queue *q, unsigned n, uint64_t bytes)
{
	struct wire *w = &wires[q->priv[0]];
	assert_sound(q);
	if (w->slot_sent - w->slot_done + n > HOST_SLOTS)
		broken("more slots than are free");
	for (unsigned i = 0; i < n; i++) {
		const struct nic_slot *s = &w->slot[w->slot_sent % HOST_SLOTS];
		if (s->len < 60)
			broken("a slot with a frame of %u bytes", s->len);
		for (unsigned k = 1; k <= NIC_SLOT_ROOM; k++)
			if (s->data[-(int)k])
				broken("the room before a slot's frame is not zero");
		uint8_t *copy = malloc(s->len);
		memcpy(copy, s->data, s->len);
		w->slot_bytes[w->slot_sent++ % HOST_SLOTS] = copy;
	}
	q->cnt->tx_pkts += n;
	q->cnt->tx_bytes += bytes;
	slots_leave(w, q->priv[0]);
}

static bool nic_rx_interrupt(struct nic_queue *q, bool arm)
{
	const struct wire *w = &wires[q->priv[0]];
	q->cnt->irq_arms += arm;
	return arm && w->rx_head != w->rx_tail;
}

static const struct nic_ops host_nic = {
	.name = "host",
	.match = nic_match,
	.probe = nic_probe,
	.ring_bytes = nic_ring_bytes,
	.start = nic_start,
	.stop = nic_stop,
	.link = nic_link,
	.stats = nic_stats,
	.attach = nic_attach,
	.rx_burst = nic_rx_burst,
	.tx_burst = nic_tx_burst,
	.rx_interrupt = nic_rx_interrupt,
	.slots_open = nic_slots_open,
	.slots_put = nic_slots_put,
	.slots_free = nic_slots_free,
	.slots_send = nic_slots_send,
};
const struct nic_ops *const nic_drivers[] = {&host_nic};
const unsigned nic_driver_count = 1;

const char *nic_name_without_driver(uint16_t vendor, uint16_t device)
{
	(void)vendor, (void)device;
	return NULL;
}
