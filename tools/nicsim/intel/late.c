/*
 * Delayed write-backs (fault writeback-delay) of both directions, in the order they were made. Each
 * raises the interrupt of its queue.
 */
#include "tools/nicsim/intel/state.h"

void late_add(struct model *m, const struct late *l)
{
	struct nic *n = nic_of(m);
	if (n->late_in - n->late_out == LATE_MAX) /* the write-back is lost */
		return;
	struct late *to = &n->late[n->late_in++ % LATE_MAX];
	*to = *l;
	to->due = m->now + m->fault_arg[FAULT_WRITEBACK_DELAY] * 1000;
}

uint64_t late_deadline(const struct nic *n)
{
	return n->late_in == n->late_out ? NEVER : n->late[n->late_out % LATE_MAX].due;
}

static void write_back(const struct late *l, uint64_t *at)
{
	switch (l->kind) {
	case LATE_RX_DESCRIPTOR:
		__atomic_store_n(&at[0], l->low, __ATOMIC_RELAXED);
		__atomic_store_n(&at[1], l->high, __ATOMIC_RELEASE);
		break;
	case LATE_TX_STATUS:
		__atomic_store_n(at, l->high, __ATOMIC_RELEASE);
		break;
	case LATE_TX_HEAD:
		__atomic_store_n((uint32_t *)(void *)at, (uint32_t)l->low, __ATOMIC_RELEASE);
		break;
	}
}

void late_work(struct model *m)
{
	static const uint8_t bytes[] = {
		[LATE_RX_DESCRIPTOR] = 16, [LATE_TX_STATUS] = 8, [LATE_TX_HEAD] = 4};
	struct nic *n = nic_of(m);
	while (m->masters && late_deadline(n) <= m->now) {
		const struct late *l = &n->late[n->late_out++ % LATE_MAX];
		void *at = model_dma(m, l->bus, bytes[l->kind], DMA_WRITE, "late write-back");
		if (at == NULL)
			continue;
		write_back(l, at);
		if (l->kind == LATE_RX_DESCRIPTOR)
			n->kind->rx_event(m, l->queue);
		else
			n->kind->tx_event(m, l->queue);
	}
}
