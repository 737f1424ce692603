/*
 * What the files of the device half share: its state, reset and start (init.c), link (link.c), PHY (phy.c),
 * statistics (stats.c). drivers/intel/device.h has registers and semaphores, and says how functions that wait end.
 */
#ifndef DRIVERS_IGB_DEVICE_H
#define DRIVERS_IGB_DEVICE_H

#include "drivers/igb/spec.h"
#include "drivers/intel/device.h"

/* What differs between the chips. */
struct igb_chip {
	struct intel_chip intel;
	uint8_t queues;       /* that RSS can use */
	uint8_t vectors;      /* MSI-X entries that EIMC masks */
	bool ivar_by_pairs;   /* IVAR n has queues 2n and 2n + 1; in the 82576 it has n and n + 8 */
	bool no_eeprom;       /* I210 and later chips may do without one: fuses hold the address */
	bool rqdpc_stays;     /* reading RQDPC does not clear it, writing does */
	bool fast;            /* 2.5 Gb/s, and no SerDes: I225, I226 */
	uint32_t mdic_phy;    /* the internal PHY's address in MDIC */
};

/* In nic->priv. */
struct igb_device {
	struct intel_device intel;
	const struct igb_chip *chip;
	uint32_t pairs; /* running; 0: reset */
};
_Static_assert(sizeof(struct igb_device) <= sizeof(((struct nic *)0)->priv), "fits");

static inline struct igb_device *igb_device(struct nic *nic)
{
	return (struct igb_device *)(void *)nic->priv;
}

/* --- init.c --- */

/* 4.5.1 to 4.5.5: afterwards interrupts are off, all queues are disabled, and no DMA of the device is pending. */
int igb_reset(struct nic *nic);
/* Drops frames from the wire until the receive path is started again. */
void igb_rx_halt(struct nic *nic);
int igb_rx_start(struct nic *nic, const struct nic_config *config);
int igb_tx_start(struct nic *nic, const struct nic_config *config);
int igb_interrupts_start(struct nic *nic, const struct nic_config *config);
/* As nic_ops.pair_start. */
int igb_pair_start(struct nic *nic, const struct nic_config *config, unsigned pair);

/* --- link.c --- */

/* Has the PHY bring the link up, without PAUSE. A link that is up stays so. */
int igb_link_start(struct nic *nic);
/* As nic_ops.link: does not wait. */
void igb_link(struct nic *nic, struct nic_link *out);

/* --- phy.c --- */

/* Has the PHY negotiate every speed that it has, without PAUSE. A link that it has negotiated so stays. The caller
 * has no lock. E_TIMEOUT, E_DEVICE. */
int igb_phy_start(struct nic *nic);

/* --- stats.c --- */

/* Clears the device's counters. Does not wait. */
void igb_stats_start(struct nic *nic);
/* As nic_ops.stats: does not wait. */
void igb_stats(struct nic *nic, struct nic_stats *sum);

#endif
