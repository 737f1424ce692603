/*
 * What the files of the device half share: its state, registers and commands (reg.c), what it shares with the device
 * and the start (init.c), link and statistics (link.c).
 *
 * Functions that return int return E_OK or a negative enum error with nic->error set. None waits: a command is
 * complete when the write of its register returns. A device that is gone reads all ones, which is no set of
 * revisions.
 */
#ifndef DRIVERS_VMXNET3_DEVICE_H
#define DRIVERS_VMXNET3_DEVICE_H

#include "drivers/nic.h"
#include "drivers/vmxnet3/spec.h"

/* Queues that RSS spreads over; the number of receive queues is a power of two (Linux, below revision 6). */
#define VMXNET3_PAIRS_MAX 8

/* In nic->dma. */
struct vmxnet3_memory {
	struct vmxnet3_shared shared;
	uint8_t pad[1024 - sizeof(struct vmxnet3_shared)];
	/* tx of all pairs, then, behind the last in use, rx of all */
	union {
		struct vmxnet3_tx_queue tx;
		struct vmxnet3_rx_queue rx;
	} queue[2 * VMXNET3_PAIRS_MAX];
	struct vmxnet3_rss rss;
	uint8_t driver_data[64]; /* for the device's own use; nothing of ours */
	/* Rings without a buffer, of receive queues that no pair has. */
	_Alignas(VMXNET3_RING_ALIGN) struct vmxnet3_rx_desc idle_desc[VMXNET3_RING_MULTIPLE];
	_Alignas(VMXNET3_RING_ALIGN) struct vmxnet3_rx_comp idle_comp[2 * VMXNET3_RING_MULTIPLE];
};
_Static_assert(sizeof(struct vmxnet3_memory) <= NIC_DMA_BYTES, "fits");
_Static_assert(offsetof(struct vmxnet3_memory, queue) % 128 == 0, "queue table's alignment");

/* In nic->priv. */
struct vmxnet3_device {
	volatile uint8_t *queue_regs, *regs; /* BAR 0, BAR 1 */
	struct vmxnet3_memory *memory;
	uint32_t revision; /* in use: one bit */
	uint32_t pairs;    /* running; 0: reset */
	uint32_t rx_queues;
	bool irq;          /* vectors are in use */
	bool auto_mask;    /* vectors mask themselves when they fire */
	struct vmxnet3_counts {
		uint64_t no_buffer, rx_errors, tx_errors;
	} counted;         /* of the device, at the last look */
	uint64_t stopped;  /* queues that were found stopped, a bit each: tx of pair q at q, rx at 32 + q */
	uint64_t stops;    /* such queues not yet reported by stats */
};
_Static_assert(sizeof(struct vmxnet3_device) <= sizeof(((struct nic *)0)->priv), "fits");

static inline struct vmxnet3_device *vmxnet3_device(struct nic *nic)
{
	return (struct vmxnet3_device *)(void *)nic->priv;
}

/* MSI-X entries: pair q has q, then come that of events and that of transmit queues, which stays masked. */
static inline unsigned vmxnet3_event_vector(const struct vmxnet3_device *d) { return d->irq ? d->pairs : 0; }

/* --- reg.c --- */

/* Accesses of BAR 1, and writes of BAR 0; counted in nic->mmio_reads and mmio_writes. */
uint32_t vmxnet3_read(struct nic *nic, enum vmxnet3_reg reg);
void vmxnet3_write(struct nic *nic, enum vmxnet3_reg reg, uint32_t value);
void vmxnet3_mask(struct nic *nic, unsigned vector, bool masked);
/* Has the device do this; and reads its answer. */
void vmxnet3_command(struct nic *nic, enum vmxnet3_command command);
uint32_t vmxnet3_ask(struct nic *nic, enum vmxnet3_command command);

bool vmxnet3_gone(struct nic *nic);
/* Sets nic->error and returns `error`; if the device is gone, E_DEVICE whatever `error` is. */
int vmxnet3_fail(struct nic *nic, int error, const char *why);

/* --- init.c --- */

/* Afterwards the device accesses no memory and its vectors are masked. */
int vmxnet3_reset(struct nic *nic);
/* Chooses the revisions. E_NOTSUP, E_DEVICE. */
int vmxnet3_negotiate(struct nic *nic);
/* The permanent address. E_DEVICE if it is none. */
int vmxnet3_learn_mac(struct nic *nic);
/* Activates the reset device. The caller resets it after an error. */
int vmxnet3_activate(struct nic *nic, const struct nic_config *config);

/* --- link.c --- */

/* As nic_ops.link and stats. */
void vmxnet3_link(struct nic *nic, struct nic_link *out);
void vmxnet3_stats(struct nic *nic, struct nic_stats *sum);

#endif
