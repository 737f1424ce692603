/*
 * The NIC of the harness: wires with no far end, on which every frame has an allocation of its own
 * until it is received. What is sent, in bursts or by slots, goes to stdout (harness.c: `out`). A
 * caller that breaks the driver contract ends the process.
 */
#ifndef TESTS_HOST_WIRES_H
#define TESTS_HOST_WIRES_H

#include "runtime/runtime.h"
#include "drivers/nic.h"

#define RX_QUEUE_MAX 8192
#define HOST_SLOTS 64

extern uint32_t device_mtu_max; /* of all devices */
extern bool devices_cut;        /* they segment what they send: NIC_TSO, NIC_USO */

struct rx_frame {
	uint8_t *bytes;
	uint16_t len, csum_start, csum_offset;
	uint8_t flags;
};

struct wire {
	struct rx_frame rx[RX_QUEUE_MAX];
	unsigned rx_head, rx_tail;
	int64_t tx_room; /* frames that the ring still accepts; -1: no limit */
	struct nic_slot slot[HOST_SLOTS];
	uint8_t *slot_bytes[HOST_SLOTS]; /* of slots the device has, as they were when it got them */
	uint32_t slot_sent, slot_done;   /* positions, counting on without limit */
	bool link_up, gone, dead, breaks;
	uint32_t mbps;
	uint64_t missed; /* counted by the device since the last query */
};

extern struct wire wires[NIC_PORTS_MAX];

#endif
