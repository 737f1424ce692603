/*
 * The module in an SFP+ cage: what it is (SFF-8472), read over the two I2C wires of I2CCTL, and the init
 * sequence for its kind, which the EEPROM has and which is written to CORECTL (4.6.4).
 *
 * Any module is used, whoever made it. The control core has other ports and connections to serve: so a call has one
 * byte on the wires (some 70 register accesses; on a busy host a model's may take 1 ms each), and a module that keeps
 * the clock low for too long is not asked again in the same attempt.
 */
#include "drivers/ixgbe/device.h"

#define SEQUENCES_MAX 64   /* kinds of module in an EEPROM */
#define SEQUENCE_MAX 1024  /* words of one */

/* --- I2C by bit-banging (8.2.3.1), 100 kHz: edges at least 5 us apart --- */

#define HALF_PERIOD_US 5
#define STRETCH_US 1000 /* a module may stretch the clock for this long */
#define STUCK (-1)      /* it does so for longer */
#define UNDER_WAY (-2)  /* the read of a byte has more to do */
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

/* One clock with `data` on the line; returns the line's level while the clock was high, or STUCK. */
static int clock_bit(struct nic *nic, uint32_t data)
{
	uint64_t end = nic_deadline(nic, STRETCH_US);
	drive(nic, data);
	drive(nic, data | CLOCK);
	uint32_t pins = intel_read(nic, IXGBE_I2CCTL, 0);
	while (!(pins & IXGBE_I2CCTL_CLK_IN) && !nic_past(end))
		pins = intel_read(nic, IXGBE_I2CCTL, 0);
	drive(nic, data);
	return !(pins & IXGBE_I2CCTL_CLK_IN) ? STUCK : (pins & IXGBE_I2CCTL_DATA_IN) != 0;
}

/* 0 if the module acknowledges, 1 if it does not, or STUCK. */
static int send_byte(struct nic *nic, uint8_t byte)
{
	for (unsigned i = 8; i--;)
		if (clock_bit(nic, byte >> i & 1 ? DATA : 0) == STUCK)
			return STUCK;
	return clock_bit(nic, DATA);
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

/* Takes a step in reading a byte of the module's serial ID: UNDER_WAY, or how it ended: 0, 1 if the module did not
 * acknowledge, or STUCK. */
static int read_byte(struct nic *nic, uint8_t *sent, uint8_t at, uint8_t *byte)
{
	const uint8_t to_send[] = {MODULE_ADDRESS, at, MODULE_ADDRESS | 1};
	int answer = 0;
	if (*sent < sizeof to_send) {
		if (*sent != 1) /* an address follows a start */
			i2c_start(nic);
		answer = send_byte(nic, to_send[*sent]);
		if (answer == 0) {
			++*sent;
			return UNDER_WAY;
		}
	}
	*sent = 0;
	/* Nine clocks: a byte and our NACK. They also release a module that is in the middle of a byte. */
	unsigned v = 0;
	for (unsigned b = 0; b < 9 && answer != STUCK; b++) {
		int bit = clock_bit(nic, DATA);
		answer = bit == STUCK ? STUCK : answer;
		v = v << 1 | (bit == 1);
	}
	i2c_stop(nic);
	*byte = (uint8_t)(v >> 1);
	return answer;
}

/* --- what the module is (SFF-8472, table 5-3) --- */

#define ID_KIND 0
#define ID_KIND_SFP 3
#define ID_10G 3
#define ID_10G_OPTICAL 0xb0 /* SR, LR, ER: their receivers limit, so one sequence serves all three */
#define ID_1G 6
#define ID_1G_ANY 0x1b /* SX, LX, T; bit 4 is LHA to Intel's own drivers (DPDK, ixgbe_identify_sfp_module_generic) */
#define ID_1G_BX 0x40  /* BASE-BX10, of a rate that ID_RATE has */
#define ID_CABLE 8
#define ID_CABLE_PASSIVE 4
#define ID_CABLE_ACTIVE 8
#define ID_RATE 12 /* nominal, in units of 100 MBd */
#define ID_RATE_1G 13
#define ID_RATE_10G 103
#define ID_SINGLE_MODE 14 /* kilometres on single-mode fibre */

/* In the order in which they are read. */
enum { KIND, TEN, ONE, CABLE, RATE, SINGLE_MODE };
static const uint8_t wanted[IXGBE_MODULE_BYTES] = {ID_KIND, ID_10G, ID_1G, ID_CABLE, ID_RATE, ID_SINGLE_MODE};

/* By the bytes up to CABLE. False: the others are needed. */
static bool identify_by_codes(struct ixgbe_module *m)
{
	const uint8_t ten = m->id[TEN], one = m->id[ONE], cable = m->id[CABLE];
	if (cable & ID_CABLE_PASSIVE) {
		m->sequence = IXGBE_SFP_COPPER;
	} else if (cable & ID_CABLE_ACTIVE) {
		m->sequence = IXGBE_SFP_OPTICAL;
	} else if (ten & ID_10G_OPTICAL || one & ID_1G_ANY) {
		m->sequence = IXGBE_SFP_OPTICAL;
		m->ten = ten & ID_10G_OPTICAL;
		m->one = one & ID_1G_ANY;
	}
	return m->sequence;
}

/*
 * Modules for both directions on one fibre. 1000BASE-BX10 shares its code with 100BASE-BX10; 10GBASE-BX has none
 * (SFF-8472, table 5-3, footnote), but the rate and single-mode fibre. Source: Linux,
 * ixgbe_identify_sfp_module_generic.
 */
static void identify_by_rate(struct ixgbe_module *m)
{
	m->one = m->id[ONE] & ID_1G_BX && m->id[RATE] == ID_RATE_1G;
	m->ten = !m->one;
	if (m->one || (m->id[TEN] == 0 && m->id[RATE] == ID_RATE_10G && m->id[SINGLE_MODE]))
		m->sequence = IXGBE_SFP_OPTICAL;
}

bool ixgbe_module_ask(struct nic *nic, struct ixgbe_module *m)
{
	const int answer = read_byte(nic, &m->sent, wanted[m->known], &m->id[m->known]);
	if (answer == UNDER_WAY || (answer == 1 && ++m->refusals < I2C_TRIES))
		return false;
	if (answer != 0)
		return true;
	m->refusals = 0;
	m->present = true;
	switch (m->known++) {
	case KIND:
		return m->id[KIND] != ID_KIND_SFP;
	case CABLE:
		return identify_by_codes(m);
	case SINGLE_MODE:
		identify_by_rate(m);
		return true;
	default:
		return false;
	}
}

/* --- init sequences --- */

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

int ixgbe_module_init(struct nic *nic, const struct ixgbe_module *m)
{
	uint16_t at = 0;
	int e = find_sequence(nic, (uint16_t)(m->sequence + ixgbe_device(nic)->lan), &at);
	if (e == E_OK && at == 0)
		return intel_fail(nic, E_NOTSUP, "the EEPROM has no init sequence for this kind of module");
	return e == E_OK ? play_sequence(nic, at) : e;
}
