/*
 * The steps of a driver of the I226, one by one, for tests of the model (tests/unit/rig/nicsim_rig.h), with the
 * offsets of the model's own table. The product's driver is a different one.
 */
#ifndef TESTS_UNIT_RIG_DRIVE_I226_H
#define TESTS_UNIT_RIG_DRIVE_I226_H

#include "tests/unit/rig/nicsim_frames.h"
#include "tests/unit/rig/nicsim_rig.h"
#include "tools/nicsim/i226/i226.h"
#include "tools/nicsim/i226/spec.h"

#define RING 64     /* descriptors in each ring */
#define BUFFER 2048 /* bytes in each buffer */
#define RCTL_ALL (RCTL_EN | RCTL_UPE | RCTL_MPE | RCTL_BAM | RCTL_SECRC)

/* Power-on, then drive_all, as set-ups of cmocka tests. */
int drive_strict(void **state);
int drive_line_rate(void **state);

/* Polls for 10 ms of the rig's time. */
bool drive_becomes(uint32_t offset, uint32_t mask, uint32_t want);

void drive_reset(void);
void drive_link(void);
/* A ring of RING descriptors, enabled; for receive with RING - 1 buffers given. srrctl: more bits of SRRCTL. */
void drive_rx(unsigned q, uint32_t srrctl);
void drive_tx(unsigned q);
/* All of this: reset, link, queue 0 in both directions, promiscuous. */
void drive_all(void);

/* Changes SW_FW_SYNC under its semaphore. */
void drive_sync(uint32_t clear, uint32_t bits);
/* The PHY, with its lock held by the caller: registers of clause 22; selects one of clause 45. */
uint16_t drive_phy_get(unsigned reg);
void drive_phy_put(unsigned reg, uint16_t value);
void drive_mmd(unsigned device, unsigned reg);
/* With the lock of the EEPROM. */
uint16_t drive_eeprom(unsigned word);

/* Gives `n` more receive descriptors to the device. */
void drive_refill(unsigned q, unsigned n);
/* The status quad-word of the next received descriptor of q, and its first one and buffer unless NULL; 0: none. */
uint64_t drive_received(unsigned q, uint64_t *low, const uint8_t **data);

/* Puts one descriptor into a transmit ring; drive_tail moves the tail. */
void drive_desc(unsigned q, uint64_t low, uint64_t high);
void drive_tail(unsigned q);
/* Sends a whole frame in one descriptor; cmd: more bits of it. */
void drive_send(unsigned q, const void *data, uint32_t bytes, uint32_t cmd);

#endif
