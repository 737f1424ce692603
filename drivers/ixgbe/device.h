/*
 * What the files of the device half share: its state, registers with deadlines (reg.c), semaphores
 * and EEPROM (eeprom.c), reset (reset.c), link (link.c), rate limits (rate.c), statistics
 * (stats.c).
 *
 * Functions that return int return E_OK or a negative enum error with nic->error set. All may wait
 * unless their comment says otherwise. Every wait ends: after a deadline with E_TIMEOUT, or with
 * E_DEVICE when the device no longer answers. A device that is gone reads all ones, which is no
 * valid STATUS.
 */
#ifndef DRIVERS_IXGBE_DEVICE_H
#define DRIVERS_IXGBE_DEVICE_H

#include "drivers/ixgbe/spec.h"
#include "drivers/nic.h"

enum ixgbe_kind { IXGBE_82599, IXGBE_X540 };

enum ixgbe_media {
	IXGBE_SFP,       /* a module in a cage; needs its init sequence */
	IXGBE_BACKPLANE, /* KX, KX4, KR, XAUI, CX4: as the EEPROM has configured it */
	IXGBE_COPPER,    /* X540: its own PHY, run by its firmware */
};

/* In nic->priv. */
struct ixgbe_device {
	volatile uint8_t *regs;
	enum ixgbe_kind kind;
	enum ixgbe_media media;
	uint32_t lan;          /* 0 or 1: port of the chip */
	uint32_t eeprom_words;
	uint32_t autoc;        /* AUTOC as the EEPROM set it */
	uint32_t pairs;        /* running; 0: reset */
	uint32_t polled;       /* last value that a wait read, for debuggers and fault reports */
	int64_t filtered;      /* frames for others, not yet reported (stats.c) */
};
_Static_assert(sizeof(struct ixgbe_device) <= sizeof(((struct nic *)0)->priv), "fits");

static inline struct ixgbe_device *ixgbe_device(struct nic *nic)
{
	return (struct ixgbe_device *)(void *)nic->priv;
}

/* --- reg.c --- */

/* Bytes of BAR 0 that the register table covers. */
#define IXGBE_BAR_BYTES 0x20000

/* Access instance i of a register; counted in nic->mmio_reads and mmio_writes. */
uint32_t ixgbe_read(struct nic *nic, enum ixgbe_reg reg, unsigned i);
void ixgbe_write(struct nic *nic, enum ixgbe_reg reg, unsigned i, uint32_t value);
void ixgbe_set(struct nic *nic, enum ixgbe_reg reg, unsigned i, uint32_t bits);
void ixgbe_clear(struct nic *nic, enum ixgbe_reg reg, unsigned i, uint32_t bits);
/* Writes the same value to all instances of a register from `first` on. */
void ixgbe_write_all(struct nic *nic, enum ixgbe_reg reg, unsigned first, uint32_t value);

/* Address of a register, for the queue half. */
volatile void *ixgbe_reg_at(volatile uint8_t *regs, enum ixgbe_reg reg, unsigned i);

bool ixgbe_gone(struct nic *nic);

/* Sets nic->error and returns `error`; if the device is gone, E_DEVICE whatever `error` is. */
int ixgbe_fail(struct nic *nic, int error, const char *why);

/* Waits at most `us` until any of the bits is set, or all are clear. On failure `why` becomes
 * nic->error. */
enum ixgbe_wanted { IXGBE_UNTIL_CLEAR, IXGBE_UNTIL_SET };
int ixgbe_poll(struct nic *nic, enum ixgbe_reg reg, unsigned i, uint32_t bits,
               enum ixgbe_wanted wanted, uint32_t us, const char *why);

/* Waits `us`; accesses no register. */
void ixgbe_delay(const struct nic *nic, uint32_t us);

/* --- eeprom.c --- */

/* 10.5.4: takes a resource shared with firmware and the other port; bits IXGBE_SW_FW_SYNC_... */
int ixgbe_lock(struct nic *nic, uint32_t what);
void ixgbe_unlock(struct nic *nic, uint32_t what);

int ixgbe_eeprom_read(struct nic *nic, uint32_t word, uint16_t *value);
int ixgbe_eeprom_check(struct nic *nic);

/* --- reset.c --- */

/* 4.6.3 from its first step to the end of DMA initialisation. Afterwards interrupts are off, all
 * queues and both data paths are disabled, and no DMA of the device is pending. */
int ixgbe_reset(struct nic *nic);

/* --- init.c --- */

/* Drops frames from the wire until the receive path is started again. */
int ixgbe_rx_halt(struct nic *nic);
int ixgbe_rx_start(struct nic *nic, const struct nic_config *config);
int ixgbe_tx_start(struct nic *nic, const struct nic_config *config);
int ixgbe_interrupts_start(struct nic *nic, const struct nic_config *config);
/* 4.6.7.1, 4.6.8.1: as nic_ops.pair_stop, pair_start and spread; ixgbe_spread does not wait. */
int ixgbe_pair_stop(struct nic *nic, unsigned pair);
int ixgbe_pair_start(struct nic *nic, const struct nic_config *config, unsigned pair);
void ixgbe_spread(struct nic *nic, uint64_t pairs);
/* Disables the running queues. Ignores errors: a reset follows. */
void ixgbe_queues_stop(struct nic *nic);

/* --- link.c --- */

/* 4.6.4. A cage without a module, or with one that has no init sequence, is not an error: the link
 * stays down. */
int ixgbe_link_start(struct nic *nic);
/* As nic_ops.link: does not wait. */
void ixgbe_link(struct nic *nic, struct nic_link *out);

/* --- rate.c --- */

/* As nic_ops.rate. */
int ixgbe_rate(struct nic *nic, unsigned pair, uint32_t kbps, uint32_t *set);

/* --- timesync.c --- */

/* As nic_ops.time_start, time_now and time_stamps. */
int ixgbe_time_start(struct nic *nic);
uint64_t ixgbe_time_now(struct nic *nic);
void ixgbe_time_stamps(struct nic *nic, struct nic_stamps *out);

/* --- stats.c --- */

/* 4.6.5: clears the device's counters. Does not wait. */
void ixgbe_stats_start(struct nic *nic);
/* As nic_ops.stats: does not wait. */
void ixgbe_stats(struct nic *nic, struct nic_stats *sum);

#endif
