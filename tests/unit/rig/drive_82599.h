/*
 * The steps of an 82599 driver, one by one, for tests of the model (tests/unit/rig/nicsim_rig.h): in
 * the order of the datasheet's chapter 4.6, with the offsets of the model's own table. The
 * product's driver is a different one. This one does only what the tests need, and can do each step
 * wrong.
 */
#ifndef TESTS_UNIT_RIG_DRIVE_82599_H
#define TESTS_UNIT_RIG_DRIVE_82599_H

#include "tests/unit/rig/nicsim_frames.h"
#include "tests/unit/rig/nicsim_rig.h"
#include "tools/nicsim/82599/82599.h"
#include "tools/nicsim/82599/spec.h"

#define RING 64        /* descriptors in each ring */
#define BUFFER 2048    /* bytes in each buffer */
/* Registers of a queue: in both halves base, length, head, tail and control have the same
 * offsets. */
#define RX_BLOCK(q) ((q) < 64 ? 0x1000u + 0x40u * (q) : 0xd000u + 0x40u * ((q)-64))
#define TX_BLOCK(q) (0x6000u + 0x40u * (q))

/* Power-on, then drive_all, as set-ups of cmocka tests. */
int drive_strict(void **state);
int drive_line_rate(void **state);

struct ring {
	uint64_t bus;  /* of the descriptors */
	uint64_t bufs; /* of buffer 0 */
	unsigned next; /* first descriptor not yet given to the device */
	unsigned done; /* first one not yet seen returned */
};
extern struct ring rx_ring[128], tx_ring[128];

/* Reset, then wait for EEPROM, DMA and link; interrupts masked. Otherwise as after reset. */
void drive_up(void);
void drive_link(void);

/* A ring of RING descriptors, enabled; for receive with RING - 1 buffers given. */
void drive_rx(unsigned q);
void drive_tx(unsigned q);
void drive_rxen(void); /* RXCTRL.RXEN */
/* All of this: link, queue 0 in both directions, promiscuous. */
void drive_all(void);

/* Enables the queue of that block, in strict mode, with a ring of `bytes` at DRIVE_BAD_RING and
 * these indices; expects the violation. */
#define DRIVE_BAD_RING 0x10000
void drive_bad_queue(uint32_t block, uint32_t bytes, uint32_t head, uint32_t tail, const char *text);

/* Gives `n` more receive descriptors to the device. */
void drive_refill(unsigned q, unsigned n);

struct received {
	uint64_t low;    /* hash, packet type, RSS type */
	uint32_t status;
	uint32_t bytes;
	uint16_t tag;
	const uint8_t *data;
};
/* The next receive descriptor of q, if the device has returned it. */
bool drive_received(unsigned q, struct received *out);

/* Puts one descriptor into a transmit ring; drive_tail moves the tail. Returns its index. */
unsigned drive_desc(unsigned q, uint64_t low, uint64_t high);
void drive_tail(unsigned q);
uint64_t drive_tx_status(unsigned q, unsigned index); /* second quad-word */

/* A data descriptor with a copy of `data`. */
unsigned drive_data(unsigned q, const void *data, uint32_t bytes, uint32_t cmd, uint32_t olinfo);
#define CMD_FRAME (3u << 20 | TXD_EOP | TXD_IFCS | TXD_RS | TXD_DEXT)
#define PAYLEN(n) ((uint32_t)(n) << 14)

/* Sends a plain, whole frame in one descriptor. */
void drive_send(unsigned q, const void *data, uint32_t bytes);

/* A context descriptor. */
void drive_context(unsigned q, unsigned idx, uint32_t maclen, uint32_t iplen, bool ipv4, uint32_t l4t,
                   uint32_t l4len, uint32_t mss, uint32_t vlan);

#endif
