/*
 * What the device halves of Intel's drivers share: registers by a table, with deadlines (reg.c); the semaphores
 * that firmware and the other ports of a chip respect, and the EEPROM (eeprom.c); spreading of flows and stop of
 * queues (queues.c). Each driver's device begins
 * with a struct intel_device, and its spec.h has the table. Registers are numbered as in the driver's own.
 *
 * Functions that return int return E_OK or a negative enum error with nic->error set. All may wait
 * unless their comment says otherwise. Every wait ends: after a deadline with E_TIMEOUT, or with
 * E_DEVICE when the device no longer answers. A device that is gone reads all ones, which is no
 * valid STATUS.
 */
#ifndef DRIVERS_INTEL_DEVICE_H
#define DRIVERS_INTEL_DEVICE_H

#include "drivers/nic.h"

#define INTEL_VENDOR 0x8086
#define INTEL_PAIRS_MAX 16 /* of any chip here */

/* RC: reading clears. W1C, W1S: writing 1 clears, sets. */
enum intel_access { RW, RO, WO, RC, W1C, W1S };

/* A row of a table of registers: X(name, offset in BAR 0, stride in bytes, count, access, section). */
struct intel_reg {
	const char *name; /* for debuggers: the table as the compiler sees it */
	uint32_t offset;
	uint16_t stride, count;
	enum intel_access access;
};
#define INTEL_REG(name, offset, stride, count, access, section) {#name, offset, stride, count, access},

/* Bytes of BAR 0 that the tables cover. */
#define INTEL_BAR_BYTES 0x20000
#define INTEL_REG_CHECK(name, offset, stride, count, access, section) \
	_Static_assert((offset) + (stride) * ((count) - 1) + 4 <= INTEL_BAR_BYTES, "in the BAR");

/* What differs between the chips in that which is shared. */
struct intel_chip {
	const struct intel_reg *reg;
	unsigned regs;
	/* numbers of registers that all chips have */
	unsigned status, eec, eerd, swsm, sw_fw_sync, ral, rah, reta, rssrk, rxdctl, txdctl, tdh;
	uint32_t eec_present;    /* bit of EEC: an EEPROM or flash is there */
	unsigned firmware_shift; /* in SW_FW_SYNC, from a resource's bit for software to that for firmware */
	unsigned ereta, ereta_regs; /* registers that hold the entries of RETA from the 129th on; 0: there are none */
	/* Reads n words of the EEPROM, at most INTEL_EEPROM_AT_ONCE, which exist; NULL: by EERD. */
	int (*read_words)(struct nic *nic, uint32_t from, uint32_t n, uint16_t *words);
	bool regsmp;             /* SW_FW_SYNC.REGSMP is the semaphore against the firmware, not SWSM.SWESMBI */
	uint32_t quiet_us;       /* for data in flight to a receive queue that is off */
	uint32_t drain_us;       /* for a full ring to be sent, at the usual speed */
	/* for the queue half, and tdt for both: registers that enable and disable the vectors of pairs, and bits of
	 * a received descriptor: frame that the MAC has found wrong, checksum wrong */
	unsigned rdt, tdt, irq_on, irq_off;
	uint32_t rxd_mac, rxd_csum;
};

/* At the start of nic->priv. */
struct intel_device {
	volatile uint8_t *bar;
	const struct intel_chip *chip;
	uint32_t eeprom_words;
	bool link_vector; /* an interrupt tells of link changes */
	bool no_link;     /* the last look found the link down: nothing is sent */
	uint32_t polled; /* last value that a wait read, for debuggers and fault reports */
	struct {
		uint16_t head, tail;
	} unsent[INTEL_PAIRS_MAX]; /* TDH and TDT of queues that were stopped: the reset that follows clears both */
};

static inline struct intel_device *intel_device(struct nic *nic)
{
	return (struct intel_device *)(void *)nic->priv;
}

#define INTEL_LINK_LOOK_US 1000000 /* between looks at the link, where no interrupt tells of changes */

/* --- reg.c --- */

/* Access instance i of a register; counted in nic->mmio_reads and mmio_writes. */
uint32_t intel_read(struct nic *nic, unsigned reg, unsigned i);
void intel_write(struct nic *nic, unsigned reg, unsigned i, uint32_t value);
void intel_set(struct nic *nic, unsigned reg, unsigned i, uint32_t bits);
void intel_clear(struct nic *nic, unsigned reg, unsigned i, uint32_t bits);
/* Writes the same value to all instances of a register from `first` on. */
void intel_write_all(struct nic *nic, unsigned reg, unsigned first, uint32_t value);

/* Address of a register, for the queue half. */
volatile void *intel_reg_at(const struct intel_chip *chip, volatile uint8_t *bar, unsigned reg, unsigned i);

bool intel_gone(struct nic *nic);

/* Sets nic->error and returns `error`; if the device is gone, E_DEVICE whatever `error` is. */
int intel_fail(struct nic *nic, int error, const char *why);

/* Waits at most `us` until any of the bits is set, or all are clear. On failure `why` becomes
 * nic->error. */
enum intel_wanted { INTEL_UNTIL_CLEAR, INTEL_UNTIL_SET };
int intel_poll(struct nic *nic, unsigned reg, unsigned i, uint32_t bits, enum intel_wanted wanted, uint32_t us,
               const char *why);

/* Waits `us`; accesses no register. */
void intel_delay(const struct nic *nic, uint32_t us);

/* Gives a ring's bus address to a pair of registers. */
void intel_write_address(struct nic *nic, unsigned low, unsigned high, unsigned i, const void *at);

/* --- queues.c --- */

#define INTEL_QUEUE_ENABLE (1u << 25) /* of RXDCTL and TXDCTL */

/* 7.1.2.8: gives the RSS key to the card, and spreads over the first `pairs` queues, round robin. */
void intel_rss(struct nic *nic, unsigned pairs);
/* Entries of the table of RSS. */
unsigned intel_buckets(const struct intel_chip *chip);
/* As nic_ops.table and pair_stop; intel_table does not wait. */
int intel_table(struct nic *nic, const uint8_t *pair_of);
int intel_pair_stop(struct nic *nic, unsigned pair);
/* As nic_ops.tx_left: the frames between TDH and TDT, now or when the queue was disabled. */
unsigned intel_nic_tx_left(struct nic *nic, unsigned pair, const void *mem);
/* Disables the first `pairs` queues. Ignores errors: a reset follows. */
void intel_queues_stop(struct nic *nic, unsigned pairs);

/* --- eeprom.c --- */

/* Of EEC, 8.2.3.2: an EEPROM with a valid signature. */
#define INTEL_EEC_PRES (1u << 8)

/* SW_FW_SYNC, 10.5.4: bits for software. */
#define INTEL_SYNC_EEP (1u << 0)
#define INTEL_SYNC_PHY0 (1u << 1)
#define INTEL_SYNC_PHY1 (1u << 2)
#define INTEL_SYNC_MNG (1u << 10) /* X550: the host interface of the firmware, which has no bit of its own for it */

/* Takes resources shared with firmware and the other ports; bits of SW_FW_SYNC. */
int intel_lock(struct nic *nic, uint32_t what);
/* The same without waiting for another holder: E_AGAIN, or takes them from it (`force`). */
int intel_lock_now(struct nic *nic, uint32_t what, bool force);
void intel_unlock(struct nic *nic, uint32_t what);

/* Addresses of 16-bit words (82599: 6.2 to 6.4). */
#define INTEL_EEPROM_CHECKSUM 0x3f
#define INTEL_EEPROM_SUM 0xbaba
#define INTEL_EEPROM_NONE 0xffff /* no section, as is 0 */
#define INTEL_EEPROM_AT_ONCE 64

/* Learns the size; E_DEVICE if there is none (intel_chip.eec_present). */
int intel_eeprom_find(struct nic *nic);
int intel_eeprom_read(struct nic *nic, uint32_t word, uint16_t *value);
/* Adds n words, from `from` on, to *sum. */
int intel_eeprom_add(struct nic *nic, uint32_t from, uint32_t n, uint16_t *sum);
/* Compares the sum of what the checksum covers with the checksum. */
int intel_eeprom_compare(struct nic *nic, uint16_t sum);
/* Sets nic->mac: after a reset the EEPROM's station address lies in entry 0 of the filters. */
int intel_learn_mac(struct nic *nic);

#endif
