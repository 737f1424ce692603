/* The calls of struct model_ops as far as all of Intel's cards answer them alike. See state.h. */
#include "tools/nicsim/intel/rx_queue.h"

struct nic *nic_enter(struct model *m)
{
	struct nic *n = nic_of(m);
	n->call++;
	model_enter(m);
	if (n->settle_due <= m->now) {
		n->settle_due = NEVER;
		rx_queue_settle(m);
		tx_settle(m);
	}
	return n;
}

static bool good_access(struct model *m, unsigned bar, uint64_t offset, unsigned bytes)
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

static void scan(struct model *m)
{
	rx_queue_scan(m);
	tx_scan(m);
}

/* Begins an access that traps. First takes notice of what the guest wrote in mapped pages, so that
 * a sequence of clearing ENABLE, writing a register and setting ENABLE is not missed. */
static void enter_access(struct model *m)
{
	nic_enter(m);
	if (m->line_rate && !nic_of(m)->reset_done)
		scan(m);
}

uint64_t nic_read(struct model *m, unsigned bar, uint64_t offset, unsigned bytes)
{
	enter_access(m);
	if (!good_access(m, bar, offset, bytes))
		return 0;
	uint64_t value = kind_of(m)->read(m, (uint32_t)offset);
	if (bytes == 8)
		value |= (uint64_t)kind_of(m)->read(m, (uint32_t)offset + 4) << 32;
	return value;
}

void nic_write(struct model *m, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value)
{
	enter_access(m);
	if (!good_access(m, bar, offset, bytes))
		return;
	kind_of(m)->write(m, (uint32_t)offset, (uint32_t)value);
	if (bytes == 8)
		kind_of(m)->write(m, (uint32_t)offset + 4, (uint32_t)(value >> 32));
}

void nic_scan(struct model *m)
{
	struct nic *n = nic_of(m);
	if (!m->line_rate || m->now < n->scan_due)
		return;
	scan(m);
	n->scan_due = m->now + SCAN_NS;
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
	if (m->line_rate)
		due = nic_earliest(due, n->scan_due);
	return model_fault(m, FAULT_EEPROM_STUCK) ? due : nic_earliest(due, n->eerd_done);
}
