/*
 * What the files of the device half share: its state, chips and boards (chip.c), EEPROM (eeprom.c), firmware
 * (firmware.c), reset (reset.c), link (link.c, module.c, phy.c), rate limits (rate.c), steering by
 * rule (rules.c), statistics (stats.c).
 * drivers/intel/device.h has registers and semaphores, and says how functions that wait end.
 */
#ifndef DRIVERS_IXGBE_DEVICE_H
#define DRIVERS_IXGBE_DEVICE_H

#include "drivers/intel/device.h"
#include "drivers/ixgbe/spec.h"

enum ixgbe_media {
	IXGBE_SFP,       /* a module in a cage; needs its init sequence */
	IXGBE_BACKPLANE, /* KX, KX4, KR, XAUI, CX4: as the EEPROM has configured it */
	IXGBE_COPPER,    /* its own PHY, run by its firmware */
};

/* The words of an EEPROM's section that the checksum covers (6.4). */
#define IXGBE_SECTION_NONE 0
/* As many as the first word says, without that word. Other values: so many, from the first one on. */
#define IXGBE_SECTION_LENGTH 0xff

/* What differs between the chips. */
struct ixgbe_chip {
	struct intel_chip intel;
	uint32_t rx_buffer_kb; /* the packet buffer of the receive side (RXPBSIZE) */
	uint32_t settle_us;    /* after a reset */
	bool shares_phy;       /* with its firmware: a reset takes its semaphore, and spares the link (no CTRL.LRST) */
	bool firmware_rx_off;  /* receive is disabled by a command to the firmware, not by RXCTRL */
	bool nbase_t;          /* knows 2.5 and 5 Gb/s */
	bool no_clock;         /* as struct nic's */
	uint32_t clock_period; /* TIMINCA.IP; 0: the chip has no such field */
	uint8_t words_behind;  /* behind the checksum's word: covered by it, too */
	uint8_t section[IXGBE_EEPROM_SECTION_LAST + 1]; /* by the word that points to it: IXGBE_SECTION_... */
};

/* A kind of card, by its PCI device ID. */
struct ixgbe_board {
	uint16_t device;
	const struct ixgbe_chip *chip;
	enum ixgbe_media media;
	const char *not_driven; /* the reason, and no chip; NULL: it is driven */
};

#define IXGBE_MODULE_BYTES 6

/* What lies in a cage. */
struct ixgbe_module {
	bool present;      /* it answers */
	uint16_t sequence; /* IXGBE_SFP_...: the init sequence that it needs; 0: its type is unknown */
	bool ten, one;     /* 10 Gb/s, 1 Gb/s; if nothing is known, 10 */
	uint8_t known;     /* of `id`, the bytes of its serial ID by which it is identified */
	uint8_t sent;      /* of the read of the next byte: bytes that it has acknowledged */
	uint8_t refusals;  /* in a row, of the next byte */
	uint8_t id[IXGBE_MODULE_BYTES];
};

/* The attempts to bring up a link (link.c). */
struct ixgbe_link {
	uint8_t step;
	uint8_t attempts; /* at most TURNS; 0: none since probe */
	struct ixgbe_module module;
	uint32_t autoc;   /* for the end of the step */
	uint64_t until;   /* TSC */
	uint64_t refused; /* TSC until which another holder of the semaphores is respected; 0: nobody holds them */
	const char *told; /* what failed last: told once */
};

/* In nic->priv. */
struct ixgbe_device {
	struct intel_device intel;
	const struct ixgbe_chip *chip;
	enum ixgbe_media media;
	uint32_t lan;          /* 0 or 1: port of the chip */
	uint32_t autoc;        /* AUTOC as the EEPROM set it */
	bool ask_cage;         /* SDP2 says whether a module is in the cage */
	uint32_t pairs;        /* running; 0: reset */
	uint32_t rules;        /* filters from this one on are off since the start (rules.c) */
	struct ixgbe_link link;
	bool rx_forced;        /* the receive path did not come to rest before its start; not yet told */
	int64_t filtered;      /* frames for others, not yet reported (stats.c) */
};
_Static_assert(sizeof(struct ixgbe_device) <= sizeof(((struct nic *)0)->priv), "fits");

static inline struct ixgbe_device *ixgbe_device(struct nic *nic)
{
	return (struct ixgbe_device *)(void *)nic->priv;
}

/* The semaphore of this port's PHY, module and cage: a bit of SW_FW_SYNC. */
static inline uint32_t ixgbe_phy_semaphore(struct nic *nic)
{
	return ixgbe_device(nic)->lan ? INTEL_SYNC_PHY1 : INTEL_SYNC_PHY0;
}

/* --- chip.c --- */

extern const struct ixgbe_chip ixgbe_82599;

/* The row of a card, or NULL: it is not of this family. */
const struct ixgbe_board *ixgbe_board(const struct pci_dev *dev);

/* --- eeprom.c --- */

int ixgbe_eeprom_check(struct nic *nic);

/* --- firmware.c: commands to the firmware of an X550 --- */

/* Both take the semaphore of its interface, and wait: for each command a second at most. E_TIMEOUT: no answer.
 * E_DEVICE: the firmware takes no commands, or refuses this one. */

/* As intel_chip.read_words: n words from the word `from` on, in the CPU's byte order. What `words` has after an error
 * means nothing. */
int ixgbe_firmware_read(struct nic *nic, uint32_t from, uint32_t n, uint16_t *words);
/* Clears RXCTRL.RXEN. After an error receive is as it was. */
int ixgbe_firmware_rx_off(struct nic *nic);

/* --- reset.c --- */

/* 4.6.3 from its first step to the end of DMA initialisation. Afterwards interrupts are off, all
 * queues and both data paths are disabled, and no DMA of the device is pending. */
int ixgbe_reset(struct nic *nic);

/* --- init.c --- */

/* Drops frames from the wire until the receive path is started again. E_TIMEOUT: the path still holds frames. */
int ixgbe_rx_halt(struct nic *nic);
int ixgbe_rx_start(struct nic *nic, const struct nic_config *config);
int ixgbe_tx_start(struct nic *nic, const struct nic_config *config);
int ixgbe_interrupts_start(struct nic *nic, const struct nic_config *config);
/* As nic_ops.pair_start. */
int ixgbe_pair_start(struct nic *nic, const struct nic_config *config, unsigned pair);

/* --- module.c --- */

/* Asks the module for the bytes that tell its type, and is called until it returns true: there is none left, or the
 * module does not answer. *m begins with `ten` alone. Holder of the PHY's semaphore only, from the first call on. */
bool ixgbe_module_ask(struct nic *nic, struct ixgbe_module *m);
/* Plays the init sequence for it. E_NOTSUP: the EEPROM has none. */
int ixgbe_module_init(struct nic *nic, const struct ixgbe_module *m);

/* --- link.c --- */

/* 4.6.4. Neither waits nor fails: ixgbe_link brings the link up. */
void ixgbe_link_start(struct nic *nic);
/* Ends an attempt that is under way. A reset has to follow. */
void ixgbe_link_stop(struct nic *nic);
/* As nic_ops.link. */
void ixgbe_link(struct nic *nic, struct nic_link *out);
/* The link's speed; 0: it is down, or its speed is unknown. Unlike ixgbe_link it takes no step and acknowledges
 * nothing: what the card reports is left for ixgbe_link. */
uint32_t ixgbe_link_mbps(struct nic *nic);

/* --- phy.c --- */

/* X540 and X550: wakes the PHY, which other drivers leave in low power, and turns off what it advertises of PAUSE. */
int ixgbe_phy_start(struct nic *nic);

/* --- rate.c --- */

/* As nic_ops.rate. */
int ixgbe_rate(struct nic *nic, unsigned pair, uint32_t kbps, uint32_t *set);

/* --- rules.c --- */

/* As nic_ops.rules_refused and rules; does not wait. */
const char *ixgbe_rules_refused(const struct nic *nic, const struct nic_rule *r);
int ixgbe_rules(struct nic *nic, const struct nic_rule *r, unsigned n);

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
