/* The state of one I226, and the functions shared by its files, besides those of intel/state.h. */
#ifndef NICSIM_I226_STATE_H
#define NICSIM_I226_STATE_H

#include "tools/nicsim/i226/i226.h"
#include "tools/nicsim/i226/spec.h"
#include "tools/nicsim/intel/state.h"

#define VECTORS 5
#define I226_QUEUES 4
#define PHY_REGS 32
#define PHY_DEVICES 32
#define PHY_DEVICE_REGS 64

enum fault {
	FAULT_RESET_STUCK = INTEL_FAULTS,
	FAULT_EEPROM_CHECKSUM,
	FAULT_MASTER_STUCK,
	FAULT_PHY_STUCK,
	FAULT_LINK_LATE,
	FAULTS_OF_I226,
};

struct phy {
	uint16_t reg[PHY_REGS];
	uint16_t device[PHY_DEVICES][PHY_DEVICE_REGS]; /* registers 0 to 63 of each; the others read 0 */
	uint16_t mmd_address;
	bool up;           /* the link, whatever the MAC says */
	bool lost;         /* it was down since STATUS was read */
	uint32_t restarts; /* of negotiation, since power-on */
};

struct i226 {
	struct nic nic;

	/* --- phy.c --- */
	struct phy phy;
	unsigned partner_mbps;
	uint64_t mdic_done; /* NEVER: no transfer under way */
	uint32_t mdic;      /* what MDIC then reads */

	/* --- interrupts, intr.c --- */
	uint32_t cause, mask;   /* EICR and EIMS, a bit per vector */
	uint32_t other, other_mask; /* ICR and IMS */
	uint32_t pending;       /* vectors that wait for their EITR */
	uint64_t may_fire[VECTORS]; /* ns */
	uint64_t irq_due;       /* earliest may_fire of the pending vectors */

};

static inline struct i226 *own_of(const struct model *m)
{
	return m->state;
}

/* --- phy.c --- */
/* Power-on, and CTRL.PHY_RST. */
void i226_phy_reset(struct model *m);
void i226_mdic_write(struct model *m, uint32_t value);
void i226_phy_work(struct model *m);
/* The carrier, CTRL.SLU or a fault has changed. */
void i226_link_update(struct model *m);
/* Of a link that is up. */
unsigned i226_mbps(const struct model *m);

/* --- intr.c --- */
void i226_intr_reset(struct model *m);
bool i226_is_interrupt(uint32_t at);
uint32_t i226_intr_read(struct model *m, uint32_t at);
void i226_intr_write(struct model *m, uint32_t at, uint32_t value);
/* A bit of ICR. */
void i226_intr_other(struct model *m, uint32_t bits);
void i226_intr_rx(struct model *m, unsigned queue);
void i226_intr_tx(struct model *m, unsigned queue);
void i226_intr_work(struct model *m);

/* --- stats.c --- */
/* As stats_read_mac, with the registers that only this card has. */
bool i226_stats_read(struct model *m, uint32_t at, uint32_t *value);
void i226_stats_json(struct model *m, struct json *j);

#endif
