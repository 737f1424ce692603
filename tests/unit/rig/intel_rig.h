/*
 * drivers/intel/ring.c and ring_tx.c on one side, constructed descriptor write-backs on the other,
 * guest memory and two tail registers between them. The device here uses offsets of its own from
 * the 82599 datasheet (7.1.6, 7.2.3) and shares no layout with the driver. It takes what the tail
 * register says at the moment it is written, so it does not see a descriptor written later. Guest
 * memory around the rings is poisoned. A read of a register fails the test.
 *
 * Every test ends in a teardown that finds each buffer with exactly one owner: pool, a ring, a
 * frame being gathered, or the test.
 */
#ifndef TESTS_UNIT_RIG_INTEL_RIG_H
#define TESTS_UNIT_RIG_INTEL_RIG_H

#include "drivers/intel/ring.h"
#include "tests/unit/rig/ring_rig.h"

#define RX_AT 128 /* where a received frame begins in its buffer */

/* The first descriptor of a sent frame as the device read it, and how many it had. */
struct sent {
	uint64_t addr;
	uint32_t cmd, olinfo;
	unsigned pieces;
};

/* Error bits of a received descriptor: 82599 datasheet, 7.1.6.2; 82576 datasheet, 7.1.5. */
extern const struct card {
	const char *name;
	uint32_t mac, checksum4, checksum3;
} *card; /* of the next start */
enum { RIG_82599, RIG_82576, RIG_CARDS };
void rig_card(unsigned which);

extern struct world {
	struct bufpool pool;
	uint32_t stack[BUFS_MAX];
	struct nic_counters cnt;
	struct intel_rx rx;
	struct intel_tx tx;
	bool broken;
	unsigned size;
	uint8_t *rx_desc, *tx_desc, *written_head;
	/* the device */
	bool hostile;                  /* it writes anywhere, so its state cannot be checked */
	unsigned rx_tail, tx_tail;     /* registers */
	unsigned rx_writes, tx_writes; /* writes of them */
	unsigned rx_head, tx_head;
	unsigned reported;             /* head after the last sent descriptor with RS */
	unsigned contexts;             /* context descriptors seen */
	uint32_t context[4];           /* the last one */
} w;

/* Zeroed rings, a fresh pool, first fill. */
void start(unsigned size, unsigned buffers, uint32_t stride);

/* Writes back the next descriptor: status and error bits as in 7.1.6.2; DD is added. */
void device_write_back(uint32_t status, unsigned len, unsigned vlan);

/* The device sends its next frame; contexts before it go to w.context. device_take is for frames in
 * one piece, device_gather copies the bytes of any frame. */
struct sent device_take(void);
struct sent device_gather(uint8_t *to, unsigned *bytes);

#endif
