/*
 * Link (4.6.4). The MAC brings the link up by itself once configured: backplanes by AUTOC from
 * their EEPROM, X540 by its PHY's firmware. A cage (SFP+) requires the driver to identify the
 * module, over the two I2C wires of I2CCTL, and to play the EEPROM's init sequence for that kind of
 * module.
 *
 * Any module with such a sequence is used, whoever made it. Omitted: modules plugged in after start
 * (the next start finds them), and the lower speed of dual-speed modules (10 Gb/s is used).
 */
#include "drivers/ixgbe/device.h"

#define SEQUENCES_MAX 64   /* kinds of module in an EEPROM */
#define SEQUENCE_MAX 1024  /* words of one */
#define PIPELINE_US 60000

/* --- I2C by bit-banging (8.2.3.1), 100 kHz: edges at least 5 us apart --- */

#define HALF_PERIOD_US 5
#define STRETCH_US 1000 /* a module may stretch the clock for this long */
#define I2C_TRIES 3
#define CLOCK IXGBE_I2CCTL_CLK_OUT
#define DATA IXGBE_I2CCTL_DATA_OUT
#define MODULE_ADDRESS 0xa0 /* SFF-8472, 4.1: the serial ID; bit 0 set to read */

/* Releases the lines in `high` (pull-ups raise them) and pulls the others low. */
static void drive(struct nic *nic, uint32_t high)
{
	intel_write(nic, IXGBE_I2CCTL, 0, high);
	(void)intel_read(nic, IXGBE_I2CCTL, 0); /* makes the write arrive before the delay begins */
	intel_delay(nic, HALF_PERIOD_US);
}

/* One clock with `data` on the line; returns the line's level while the clock was high. */
static uint32_t clock_bit(struct nic *nic, uint32_t data)
{
	uint64_t end = nic_deadline(nic, STRETCH_US);
	drive(nic, data);
	drive(nic, data | CLOCK);
	uint32_t pins = intel_read(nic, IXGBE_I2CCTL, 0);
	while (!(pins & IXGBE_I2CCTL_CLK_IN) && !nic_past(end))
		pins = intel_read(nic, IXGBE_I2CCTL, 0);
	drive(nic, data);
	return (pins & IXGBE_I2CCTL_DATA_IN) != 0;
}

/* True if the module acknowledges. */
static bool send_byte(struct nic *nic, uint8_t byte)
{
	for (unsigned i = 8; i--;)
		clock_bit(nic, byte >> i & 1 ? DATA : 0);
	return clock_bit(nic, DATA) == 0;
}

static void i2c_start(struct nic *nic)
{
	drive(nic, DATA);
	drive(nic, DATA | CLOCK);
	drive(nic, CLOCK);
	drive(nic, 0);
}

static void i2c_stop(struct nic *nic)
{
	drive(nic, 0);
	drive(nic, CLOCK);
	drive(nic, DATA | CLOCK);
}

/* Reads a byte of the module's serial ID. False: no answer. */
static bool module_read(struct nic *nic, uint8_t at, uint8_t *byte)
{
	for (unsigned i = 0; i < I2C_TRIES; i++) {
		i2c_start(nic);
		bool there = send_byte(nic, MODULE_ADDRESS) && send_byte(nic, at);
		if (there) {
			i2c_start(nic);
			there = send_byte(nic, MODULE_ADDRESS | 1);
		}
		/* Nine clocks: a byte and our NACK. They also release a module that is in the
		 * middle of a byte. */
		unsigned v = 0;
		for (unsigned b = 0; b < 9; b++)
			v = v << 1 | clock_bit(nic, DATA);
		i2c_stop(nic);
		*byte = (uint8_t)(v >> 1);
		if (there)
			return true;
	}
	return false;
}

/* --- modules (SFF-8472, table 5-3) --- */

#define ID_KIND 0
#define ID_KIND_SFP 3
#define ID_10G 3
#define ID_10G_OPTICAL 0x30 /* SR, LR */
#define ID_1G 6
#define ID_1G_ANY 0x1b /* SX, LX, T, BX */
#define ID_CABLE 8
#define ID_CABLE_PASSIVE 4
#define ID_CABLE_ACTIVE 8

struct module {
	uint16_t kind; /* IXGBE_SFP_...; 0: none, or an unknown one */
	uint32_t mode; /* AUTOC.LMS */
};

static struct module identify(struct nic *nic)
{
	const struct module none = {0, 0};
	uint8_t kind, ten, one, cable;
	if (!module_read(nic, ID_KIND, &kind) || kind != ID_KIND_SFP ||
	    !module_read(nic, ID_10G, &ten) || !module_read(nic, ID_1G, &one) ||
	    !module_read(nic, ID_CABLE, &cable))
		return none;
	if (cable & ID_CABLE_PASSIVE)
		return (struct module){IXGBE_SFP_COPPER, IXGBE_AUTOC_LMS_10G_SERIAL};
	if (cable & ID_CABLE_ACTIVE || ten & ID_10G_OPTICAL)
		return (struct module){IXGBE_SFP_OPTICAL, IXGBE_AUTOC_LMS_10G_SERIAL};
	if (one & ID_1G_ANY)
		return (struct module){IXGBE_SFP_OPTICAL, IXGBE_AUTOC_LMS_1G_AN};
	return none;
}

/* Sets *at to the EEPROM address of the init sequence for this kind of module; 0: there is none. */
static int find_sequence(struct nic *nic, uint16_t kind, uint16_t *at)
{
	uint16_t list, id, found;
	*at = 0;
	int e = intel_eeprom_read(nic, IXGBE_EEPROM_SFP_INIT, &list);
	if (e != E_OK || list == 0 || list == INTEL_EEPROM_NONE)
		return e;
	for (uint32_t i = 0; i < SEQUENCES_MAX; i++) { /* pairs of kind and address */
		e = intel_eeprom_read(nic, list + 1u + 2 * i, &id);
		if (e != E_OK || id == INTEL_EEPROM_NONE)
			return e;
		e = intel_eeprom_read(nic, list + 2u + 2 * i, &found);
		if (e == E_OK && id == kind)
			*at = found == INTEL_EEPROM_NONE ? 0 : found;
		if (e != E_OK || id == kind)
			return e;
	}
	return E_OK;
}

static int play_sequence(struct nic *nic, uint16_t at)
{
	for (uint32_t i = 1; i <= SEQUENCE_MAX; i++) { /* the first word is its length */
		uint16_t word;
		int e = intel_eeprom_read(nic, at + i, &word);
		if (e != E_OK || word == INTEL_EEPROM_NONE)
			return e;
		intel_write(nic, IXGBE_CORECTL, 0, word);
	}
	return intel_fail(nic, E_DEVICE, "the SFP+ init sequence in the EEPROM has no end");
}

/*
 * Puts AUTOC into effect. ERRATUM: a restart alone does not reset the link's pipeline. It takes a
 * restart with LMS bit 2 inverted, until auto-negotiation leaves its first state. Source: Intel's
 * own drivers, which also enable a link that the EEPROM disables (AUTOC2).
 */
static int restart(struct nic *nic, uint32_t autoc)
{
	if (intel_read(nic, IXGBE_AUTOC2, 0) & IXGBE_AUTOC2_LINK_DISABLE)
		intel_clear(nic, IXGBE_AUTOC2, 0, IXGBE_AUTOC2_LINK_DISABLE);
	autoc |= IXGBE_AUTOC_RESTART_AN;
	intel_write(nic, IXGBE_AUTOC, 0, autoc ^ IXGBE_AUTOC_LMS_BIT2);
	int e = intel_poll(nic, IXGBE_ANLP1, 0, IXGBE_ANLP1_STATE, INTEL_UNTIL_SET, PIPELINE_US,
	                   "the link does not restart (ANLP1)");
	intel_write(nic, IXGBE_AUTOC, 0, autoc);
	return e;
}

static int start_module(struct nic *nic)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	uint16_t at = 0;
	struct module m = identify(nic);
	int e = m.kind ? find_sequence(nic, (uint16_t)(m.kind + d->lan), &at) : E_OK;
	if (e != E_OK || at == 0)
		return e;
	e = play_sequence(nic, at);
	if (e != E_OK)
		return e;
	intel_clear(nic, IXGBE_ESDP, 0, IXGBE_ESDP_SDP3);
	return restart(nic, (d->autoc & ~IXGBE_AUTOC_LMS_MASK) | m.mode);
}

int ixgbe_link_start(struct nic *nic)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	/* The firmware also monitors modules and AUTOC. */
	uint32_t ours = IXGBE_SW_FW_SYNC_MAC_CSR |
	                (d->lan ? INTEL_SYNC_PHY1 : INTEL_SYNC_PHY0);
	if (d->media == IXGBE_COPPER)
		return E_OK;
	int e = intel_lock(nic, ours);
	if (e != E_OK)
		return e;
	e = d->media == IXGBE_SFP ? start_module(nic) : restart(nic, d->autoc);
	intel_unlock(nic, ours);
	return e;
}

void ixgbe_link(struct nic *nic, struct nic_link *out)
{
	static const uint32_t mbps[] = {0, 100, 1000, 10000};
	/* Acknowledge before reading: a change in between raises the next interrupt. */
	intel_write(nic, IXGBE_EICR, 0, IXGBE_EICR_LSC);
	intel_write(nic, IXGBE_EIMS, 0, IXGBE_EICR_LSC);
	(void)intel_read(nic, IXGBE_LINKS, 0); /* the first read may return a past state */
	uint32_t links = intel_read(nic, IXGBE_LINKS, 0);
	*out = (struct nic_link){0};
	if (links == UINT32_MAX && intel_gone(nic)) {
		out->gone = true;
	} else if (links & IXGBE_LINKS_UP) {
		out->up = true;
		out->mbps = mbps[links >> IXGBE_LINKS_SPEED_SHIFT & IXGBE_LINKS_SPEED_MASK];
	}
}
