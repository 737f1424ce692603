/*
 * See ring.h, invariant 7: a transmit ring whose descriptors stay as put (nic_ops.slots_open). The generation bit of
 * a descriptor changes with each round, so sending costs one store a slot, and no look at the frame.
 */
#include "drivers/vmxnet3/ring.h"

#include "hal/barrier.h"
#include "hal/dma.h"
#include "hal/mmio.h"

unsigned vmxnet3_slots_open(struct vmxnet3_tx *r, struct bufpool *pool, struct nic_counters *cnt, bool *broken)
{
	vmxnet3_tx_burst(r, pool, cnt, NULL, 0, broken);
	if (*broken || r->tail != r->head)
		return 0;
	r->slot_base = r->head;
	return r->mask + 1;
}

/* The slot is the caller's, so its descriptor has the generation of the round before: that stays. */
void vmxnet3_slots_put(struct vmxnet3_tx *r, unsigned first, const struct nic_slot *s, unsigned n)
{
	uint32_t position = r->slot_base + first;
	for (unsigned i = 0; i < n; i++, position++) {
		struct vmxnet3_tx_desc *d = &r->desc[position & r->mask];
		assert(s[i].len <= VMXNET3_LEN_MAX);
		d->addr = dma_addr(s[i].data).bus;
		d->how = VMXNET3_TXD_EOP | VMXNET3_TXD_CQ;
		d->len_gen = (d->len_gen & VMXNET3_TXD_GEN) | s[i].len;
	}
}

unsigned vmxnet3_slots_free(struct vmxnet3_tx *r, struct nic_counters *cnt, bool *broken)
{
	r->tail = vmxnet3_tx_done(r, cnt, broken);
	return unlikely(*broken) ? 0 : r->tail + r->mask - r->head; /* one stays unused */
}

void vmxnet3_slots_send(struct vmxnet3_tx *r, struct nic_counters *cnt, unsigned n, uint64_t bytes)
{
	assert(n <= r->tail + r->mask - r->head);
	if (n == 0)
		return;
	barrier_write(); /* after the slots' other words */
	for (const uint32_t end = r->head + n; r->head != end; r->head++)
		r->desc[r->head & r->mask].len_gen ^= VMXNET3_TXD_GEN;
	cnt->tx_pkts += n;
	cnt->tx_bytes += bytes;
	barrier_write();
	mmio_write32(r->doorbell, r->head & r->mask);
	cnt->mmio_writes++;
}
