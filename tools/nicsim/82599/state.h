/*
 * The state of one 82599, and the functions shared by its files, besides those of all Intel's cards
 * (intel/state.h).
 */
#ifndef NICSIM_82599_STATE_H
#define NICSIM_82599_STATE_H

#include "tools/nicsim/82599/82599.h"
#include "tools/nicsim/82599/spec.h"
#include "tools/nicsim/intel/state.h"

#define VECTORS 64
#define PHY_REGS 16

enum fault {
	FAULT_RESET_STUCK = INTEL_FAULTS,
	FAULT_EEPROM_CHECKSUM,
	FAULT_NO_DMA_DONE,
	FAULT_SECRX_LATE,
	FAULT_MASTER_STUCK,
	FAULT_STAMP_LOST,
	FAULT_LINK_LATE,
	FAULT_MODULE_OUT,
	FAULT_FIRMWARE_STUCK,
	FAULT_MEMORY_ERROR,
	FAULTS_OF_82599,
};

/* The rate limiter of a transmit queue, limiter.c. */
struct limiter {
	uint32_t config; /* RTTBCNRC */
	uint32_t part;   /* fraction of `next`, in units of 1 / (10 * 2^14) ns */
	uint64_t next;   /* when the queue's next frame may leave */
};

/* The clock, timesync.c. */
struct timesync {
	uint64_t base, since; /* SYSTIM was `base` at time `since` (ns) */
	uint64_t latched;     /* when SYSTIML was read, for SYSTIMH */
	bool has_latched;
};

enum i2c_phase { I2C_IDLE, I2C_ADDRESS, I2C_OFFSET, I2C_DATA, I2C_READ };

struct sfp {
	bool scl;       /* the level of the clock line */
	bool let_go, sda; /* as released by the host: the clock and data */
	uint64_t held;  /* until when the module holds a released clock low */
	bool out;       /* as driven by the module: open drain */
	bool ack;       /* in the ninth bit */
	bool nak;       /* the host did not acknowledge */
	enum i2c_phase phase;
	uint8_t bits, shift, page, offset;
};

/* A PHY on the MDIO bus, phy.c. */
struct phy {
	bool there;
	uint8_t address;
	uint16_t reg; /* of the last address cycle */
	uint16_t value[PHY_REGS];
};

/* What differs between the chips. */
struct variant {
	bool x550;               /* semaphore REGSMP, EEPROM by the firmware, link by the PHY */
	struct intel_kind kind;
	uint8_t eeprom_last;     /* last of the first words that the EEPROM's checksum covers */
	uint16_t eeprom_sections; /* bitmap of the words that point to sections it covers */
};

struct nic82599 {
	struct nic nic;

	/* --- receive path and link, 82599.c --- */
	uint64_t rx_off;      /* when SECRXCTRL.RX_DIS was set */
	bool partner_is_slow; /* the other end uses 1 Gb/s */
	uint32_t mbps;        /* X550: speed of the other end */
	uint32_t restarts;    /* of the link, since reset */
	const struct variant *variant;
	struct phy phy;
	uint64_t command_done; /* of the host interface; NEVER: no command under way */
	struct sfp sfp;
	struct sfp_codes module; /* in the cage */
	uint64_t stretch_ns;     /* intel_82599_set_stretch */
	struct timesync timesync;

	/* --- interrupts, intr.c --- */
	uint64_t cause;       /* queue causes 0 .. 63 (EICR 15:0 and the _EX registers) */
	uint64_t mask;        /* EIMS of these */
	uint32_t other_cause, other_mask; /* EICR, EIMS 30:16 */
	uint64_t pending;     /* vectors that wait for their EITR */
	uint64_t may_fire[VECTORS]; /* ns */
	uint64_t irq_due;     /* earliest may_fire of the pending vectors */

	/* --- queues --- */
	uint64_t tuples[2]; /* bitmap of the 5-tuple filters that are enabled */
	struct limiter limiter[QUEUES];
};

static inline struct nic82599 *own_of(const struct model *m)
{
	return m->state;
}

/* --- eeprom.c --- */
void eeprom_make(struct model *m);
void eec_write(struct model *m, uint32_t value);

/* --- 82599.c --- */
void link_update(struct model *m);

/* --- phy.c --- */
/* Puts a PHY on the bus. */
void phy_make(struct model *m, uint8_t address, bool low_power);
bool phy_low_power(const struct phy *p);
/* A write of MSCA with its command bit. True: negotiation begins anew. */
bool phy_command(struct model *m, uint32_t msca);

/* --- x550.c --- */
void host_write(struct model *m, uint32_t value); /* HICR */
void host_work(struct model *m);
/* LINKS, bits 29:27. */
uint32_t x550_speed(uint32_t mbps);

/* --- sfp.c --- */
void sfp_write(struct model *m, uint32_t value);
uint32_t sfp_read(struct model *m);

/* --- intr.c --- */
void intr_reset(struct model *m);
uint32_t intr_read(struct model *m, uint32_t offset);
void intr_write(struct model *m, uint32_t offset, uint32_t value);
void intr_other(struct model *m, uint32_t bits);
/* The queue has an event to report. */
void intr_rx_queue(struct model *m, unsigned queue);
void intr_tx_queue(struct model *m, unsigned queue);
void intr_work(struct model *m);

/* --- stats.c --- */
/* True if the offset is a statistics register; *value is its value, which the read clears. */
bool stats_read(struct model *m, uint32_t offset, uint32_t *value);
void stats_json(struct model *m, struct json *j);

/* --- limiter.c --- */
void limiter_reset(struct model *m);
/* Writes of RTTDQSEL and RTTBCNRC. */
void limiter_select(struct model *m, uint32_t value);
void limiter_write(struct model *m, uint32_t value);
/* As in struct intel_kind. */
uint64_t limiter_next(struct model *m, unsigned queue);
void limiter_wake(struct model *m, unsigned queue);
void limiter_charge(struct model *m, unsigned queue, uint32_t bytes);

/* --- tuple.c --- */
void tuple_reset(struct model *m);
/* FTQF[i] has been written. */
void tuple_write(struct model *m, unsigned i, uint32_t ftqf);
/* As in struct intel_kind. */
bool tuple_any(const struct model *m);
int tuple_queue(struct model *m, const uint8_t *frame, const struct headers *h);

/* --- timesync.c --- */
void timesync_reset(struct model *m);
/* True if the offset is a time-stamping register with side effects. */
bool timesync_read(struct model *m, uint32_t offset, uint32_t *value);
bool timesync_write(struct model *m, uint32_t offset, uint32_t value);
/* As in struct intel_kind. */
void timesync_sent(struct model *m, unsigned queue);
bool timesync_may_want(const struct model *m, const uint8_t *frame, uint32_t type);
bool timesync_received(struct model *m, const uint8_t *frame, uint32_t bytes, uint64_t at);

#endif
