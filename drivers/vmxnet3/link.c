/*
 * Link, events, and what the device counts. It adds up from its activation on.
 *
 * Deliberately missing: repair of one queue that the device has stopped. Such a queue is reported, and stays so until
 * the ports are restarted.
 */
#include "drivers/vmxnet3/device.h"

/* Word that the device may change meanwhile: read once. */
static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static const struct vmxnet3_rx_queue *rx_queue(const struct vmxnet3_device *d, unsigned q)
{
	return &d->memory->queue[d->pairs + q].rx;
}

/* Records queues that have stopped; true if one is new. */
static bool find_stopped(struct nic *nic)
{
	struct vmxnet3_device *d = vmxnet3_device(nic);
	const uint64_t before = d->stopped;
	uint64_t news;
	vmxnet3_command(nic, VMXNET3_GET_QUEUE_STATUS);
	for (unsigned q = 0; q < d->pairs; q++) {
		const uint8_t tx = __atomic_load_n(&d->memory->queue[q].tx.stopped, __ATOMIC_RELAXED);
		const uint8_t rx = __atomic_load_n(&rx_queue(d, q)->stopped, __ATOMIC_RELAXED);
		d->stopped |= (uint64_t)(tx != 0) << q | (uint64_t)(rx != 0) << (32 + q);
	}
	for (news = d->stopped & ~before; news; news &= news - 1)
		d->stops++;
	return d->stopped != before;
}

void vmxnet3_link(struct nic *nic, struct nic_link *out)
{
	struct vmxnet3_device *d = vmxnet3_device(nic);
	*out = (struct nic_link){0};
	/* Acknowledge before reading: a change in between raises the next interrupt. */
	const uint32_t events = __atomic_load_n(&d->memory->shared.ecr, __ATOMIC_ACQUIRE);
	if (events)
		vmxnet3_write(nic, VMXNET3_ECR, events);
	if (d->irq)
		vmxnet3_mask(nic, vmxnet3_event_vector(d), false);
	const uint32_t link = vmxnet3_ask(nic, VMXNET3_GET_LINK);
	if (link == UINT32_MAX && vmxnet3_gone(nic)) {
		out->gone = true;
		return;
	}
	if (events & (VMXNET3_EVENT_RX_ERROR | VMXNET3_EVENT_TX_ERROR) && find_stopped(nic))
		out->why = "the device has stopped a queue";
	out->up = link & VMXNET3_LINK_UP;
	out->mbps = out->up ? link >> VMXNET3_LINK_SPEED_SHIFT : 0;
}

void vmxnet3_stats(struct nic *nic, struct nic_stats *sum)
{
	struct vmxnet3_device *d = vmxnet3_device(nic);
	const struct vmxnet3_counts old = d->counted;
	struct vmxnet3_counts now = {0};
	vmxnet3_command(nic, VMXNET3_GET_STATS);
	if (vmxnet3_gone(nic))
		return;
	for (unsigned q = 0; q < d->pairs; q++) {
		const struct vmxnet3_tx_queue *tx = &d->memory->queue[q].tx;
		now.no_buffer += load(&rx_queue(d, q)->no_buffer);
		now.rx_errors += load(&rx_queue(d, q)->errors);
		now.tx_errors += load(&tx->errors) + load(&tx->discards);
	}
	d->counted = now;
	sum->rx_no_desc += now.no_buffer - old.no_buffer;
	sum->rx_error += now.rx_errors - old.rx_errors;
	sum->tx_error += now.tx_errors - old.tx_errors;
	sum->queue_errors += d->stops;
	d->stops = 0;
}
