/* The calls of struct model_ops as far as all of Intel's cards answer them alike. See state.h. */
#include "tools/nicsim/intel/rx_queue.h"

struct nic *nic_enter(struct model *m)
{
	struct nic *n = nic_of(m);
	n->call++;
	if (n->settle_due <= m->now) {
		n->settle_due = NEVER;
		rx_queue_settle(m);
		tx_settle(m);
	}
	return n;
}

bool nic_good_access(struct model *m, unsigned bar, uint64_t offset, unsigned bytes)
{
	const uint64_t end = m->ops->bar_bytes[0];
	if (bar != 0 || offset >= end || bytes > end - offset)
		return false;
	if ((bytes == 4 || bytes == 8) && offset % 4 == 0)
		return true;
	/* 8.1: registers are accessed as aligned 32-bit words */
	model_violation(m, "access of %u bytes at 0x%05x: registers take 32 bits, aligned", bytes,
	                (unsigned)offset);
	return false;
}

void nic_clear(struct model *m)
{
	struct nic *n = nic_of(m);
	rx_reset(m);
	tx_reset(m);
	n->s = (struct intel_stats){0};
	n->hangs = false;
	n->eerd_done = NEVER;
	n->settle_due = NEVER;
	n->late_in = n->late_out = 0;
	n->filters_stale = n->rss_stale = true;
	n->mode_call = 0;
}

unsigned nic_rx_room(struct model *m, unsigned max)
{
	nic_enter(m);
	return rx_room(m, max);
}

void nic_receive(struct model *m, const struct frame *v, unsigned count)
{
	nic_enter(m);
	rx_receive(m, v, count);
}

bool nic_move(struct model *m)
{
	bool moved = tx_work(m);
	moved |= rx_work(m);
	late_work(m);
	return moved;
}

uint64_t nic_earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t nic_due(struct model *m)
{
	const struct nic *n = nic_of(m);
	uint64_t due = nic_earliest(n->link_due, n->tx_due);
	due = nic_earliest(due, n->settle_due);
	if (m->masters)
		due = nic_earliest(due, late_deadline(n));
	return model_fault(m, FAULT_EEPROM_STUCK) ? due : nic_earliest(due, n->eerd_done);
}
