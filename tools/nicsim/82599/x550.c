/*
 * What the X550 has instead of the 82599: the codes of its speeds, and the host interface. By that the driver gives
 * commands to the firmware, which reads the EEPROM's shadow RAM for it.
 *
 *     idle --HICR.C is written--> busy --COMMAND_NS--> idle, HICR.C 0, HICR.SV 1, the answer in FLEX_MNG
 *
 * A command is a header and its data, in FLEX_MNG from its first word on; the answer takes its place. Source of the
 * formats: LINUX, ixgbe_type.h (struct ixgbe_hic_hdr and those that follow), ixgbe_hic_unlocked, ixgbe_x550.c.
 *
 *     read shadow RAM, 0x31: header with a length of 16 bits; address in bytes, big-endian; length in bytes,
 *                            big-endian. The words come from FLEX_MNG[3] on, two in each.
 *     disable receive, 0xde: the port. RXCTRL.RXEN clears.
 *     driver's version, 0xdd: accepted.
 *
 * Rules: the driver holds SW_FW_SYNC.SW_MNG, writes no second command before the first has ended, and the checksum
 * in the header is 0xff, or makes the sum of the bytes 0.
 *
 * Deliberately missing: the clock of the X550, whose unit and registers differ. SYSTIMR and TSIM are accepted, and
 * SYSTIM is the clock of the 82599.
 */
#include "tools/nicsim/82599/state.h"

/* --- host interface --- */

#define COMMAND_NS 100000
#define READ_SHADOW_RAM 0x31
#define READ_BYTES 6
#define READ_MAX 1024
#define READ_AT 3 /* word of FLEX_MNG */
#define DRIVER_INFO 0xdd
#define DISABLE_RX 0xde
#define NO_CHECKSUM 0xff
#define STATUS_GOOD 1u

static uint8_t byte_of(const struct model *m, unsigned i)
{
	return (uint8_t)(get(m, FLEX_MNG + (i & ~3u)) >> 8 * (i & 3));
}

/* The bytes of header and data add up to 0. */
static bool sum_is_good(const struct model *m)
{
	uint8_t sum = 0;
	for (unsigned i = 0; i < 4u + byte_of(m, 1); i++)
		sum = (uint8_t)(sum + byte_of(m, i));
	return sum == 0;
}

/* The header of the answer: no length, success. */
static void answer(struct model *m, uint8_t command)
{
	set(m, FLEX_MNG, command | STATUS_GOOD << 16 | (uint32_t)NO_CHECKSUM << 24);
}

static bool read_shadow_ram(struct model *m)
{
	const uint16_t *words = nic_of(m)->eeprom;
	const uint32_t at = (uint32_t)byte_of(m, 4) << 24 | (uint32_t)byte_of(m, 5) << 16 | (uint32_t)byte_of(m, 6) << 8 |
	                    byte_of(m, 7);
	const uint32_t bytes = (uint32_t)byte_of(m, 8) << 8 | byte_of(m, 9);
	if (byte_of(m, 1) != 0 || byte_of(m, 2) != READ_BYTES || at % 2 || bytes % 2 || bytes == 0 || bytes > READ_MAX ||
	    at >= 2 * EEPROM_WORDS || bytes > 2 * EEPROM_WORDS - at) {
		model_violation(m, "FLEX_MNG: read of the shadow RAM: %u bytes at 0x%x, header 0x%08x", bytes, at,
		                get(m, FLEX_MNG));
		return false;
	}
	for (uint32_t i = 0; i < bytes / 2; i += 2) {
		const uint32_t second = i + 1 < bytes / 2 ? words[at / 2 + i + 1] : 0;
		set(m, FLEX_MNG + 4 * READ_AT + 2 * i, words[at / 2 + i] | second << 16);
	}
	return true;
}

static bool disable_rx(struct model *m)
{
	if (byte_of(m, 1) != 1 || byte_of(m, 4) != 0) {
		model_violation(m, "FLEX_MNG: disable receive: length %u, port %u", byte_of(m, 1), byte_of(m, 4));
		return false;
	}
	set(m, RXCTRL, get(m, RXCTRL) & ~(uint32_t)RXCTRL_RXEN);
	rx_forget(m);
	return true;
}

/* False: the answer is not valid. */
static bool obey(struct model *m)
{
	const uint8_t command = byte_of(m, 0);
	bool good = false;
	if (byte_of(m, 3) != NO_CHECKSUM && !sum_is_good(m)) {
		model_violation(m, "FLEX_MNG: command 0x%02x: wrong checksum 0x%02x", command, byte_of(m, 3));
		return false;
	}
	switch (command) {
	case READ_SHADOW_RAM:
		good = read_shadow_ram(m);
		break;
	case DISABLE_RX:
		good = disable_rx(m);
		break;
	case DRIVER_INFO:
		good = true;
		break;
	default:
		model_violation(m, "FLEX_MNG: command 0x%02x is unknown", command);
	}
	if (good)
		answer(m, command);
	return good;
}

void host_work(struct model *m)
{
	struct nic82599 *n = own_of(m);
	if (n->command_done > m->now || model_fault(m, FAULT_FIRMWARE_STUCK))
		return;
	n->command_done = NEVER;
	set(m, HICR, HICR_EN | (obey(m) ? HICR_SV : 0u));
}

void host_write(struct model *m, uint32_t value)
{
	struct nic82599 *n = own_of(m);
	if (n->command_done != NEVER) {
		model_violation(m, "HICR = 0x%08x while a command is under way", value);
		return;
	}
	if (!(value & HICR_C)) {
		set(m, HICR, HICR_EN | (value & HICR_SV));
		return;
	}
	if (!(get(m, SW_FW_SYNC) & SYNC_SW_MNG))
		model_violation(m, "HICR.C without SW_FW_SYNC.SW_MNG");
	set(m, HICR, HICR_EN | HICR_C);
	n->command_done = m->now + COMMAND_NS;
}

/* --- link --- */

uint32_t x550_speed(uint32_t mbps)
{
	switch (mbps) {
	case 100:
		return LINKS_SPEED_100M;
	case 1000:
		return LINKS_SPEED_1G;
	case 2500:
		return LINKS_SPEED_10G | LINKS_SPEED_NON_STD;
	case 5000:
		return LINKS_SPEED_100M | LINKS_SPEED_NON_STD;
	}
	return LINKS_SPEED_10G;
}
