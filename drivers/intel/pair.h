/*
 * The queue half's calls of struct nic_ops, for all of Intel's drivers, and what start tells it. Each driver's
 * attach is intel_attach with its chip.
 */
#ifndef DRIVERS_INTEL_PAIR_H
#define DRIVERS_INTEL_PAIR_H

#include "drivers/intel/device.h"

size_t intel_ring_bytes(const struct nic *nic);

/* True if there is an MSI-X vector for each pair and one more. Without them the cores poll and never sleep. */
bool intel_has_vectors(const struct nic *nic, const struct nic_config *config);
/* After a successful start. */
void intel_share(struct nic *nic, const struct nic_config *config, struct nic_shared *shared);

int intel_attach(const struct intel_chip *chip, struct nic_queue *q, const struct nic_shared *shared, unsigned pair,
                 void *mem);

void intel_nic_release(struct nic_queue *q);
unsigned intel_nic_rx_left(const struct nic_shared *shared, unsigned pair, const void *mem, uint64_t place);
unsigned intel_nic_rx_burst(struct nic_queue *q, struct pkt *v, unsigned max);
unsigned intel_nic_tx_burst(struct nic_queue *q, const struct pkt *v, unsigned n);
unsigned intel_nic_tx_pending(const struct nic_queue *q);
bool intel_nic_rx_interrupt(struct nic_queue *q, bool arm);
unsigned intel_nic_slots_open(struct nic_queue *q);
void intel_nic_slots_put(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n);
void intel_nic_slot_stamp(struct nic_queue *q, unsigned slot);
unsigned intel_nic_slots_free(struct nic_queue *q);
void intel_nic_slots_send(struct nic_queue *q, unsigned n, uint64_t bytes);

extern const struct nic_word intel_words[];

/* The members of struct nic_ops that all have. */
#define INTEL_OPS \
	.start_mends = true, .words = intel_words, .ring_bytes = intel_ring_bytes, .rx_left = intel_nic_rx_left, \
	.tx_left = intel_nic_tx_left, .release = intel_nic_release, .rx_burst = intel_nic_rx_burst, \
	.tx_burst = intel_nic_tx_burst, .tx_pending = intel_nic_tx_pending, \
	.rx_interrupt = intel_nic_rx_interrupt, \
	.slots_open = intel_nic_slots_open, .slots_put = intel_nic_slots_put, .slots_free = intel_nic_slots_free, \
	.slots_send = intel_nic_slots_send

#endif
