/*
 * Commands to the firmware of an X550: its host interface. A command is a header and its data in FLEX_MNG, from the
 * first word on. HICR.C hands it over; when the firmware has cleared that bit, HICR.SV says whether the answer, which
 * lies in its place, is valid.
 *
 * The interface is shared by firmware and all ports; its semaphore is held for one command, and as long as the answer
 * is read.
 *
 * Source: Intel's own drivers (Linux, ixgbe_hic_unlocked, ixgbe_read_ee_hostif_buffer_X550, ixgbe_disable_rx_x550;
 * ixgbe_type.h for the formats).
 */
#include "drivers/ixgbe/device.h"

#define COMMAND_US 500000
#define NO_CHECKSUM 0xff000000u /* in the header: the firmware checks none */
/* Headers: command, length of the data. That of a read has the length in two bytes, the high one first. */
#define READ_SHADOW_RAM (0x31u | 6u << 16 | NO_CHECKSUM)
#define DISABLE_RX (0xdeu | 1u << 8 | NO_CHECKSUM)
#define WORDS_AT 3 /* word of FLEX_MNG from which on an answer has words of the EEPROM, two in each */

/* Gives a command, and waits for its answer. Holder of the semaphore only. */
static int command(struct nic *nic, const uint32_t *words, unsigned n)
{
	intel_set(nic, IXGBE_FWSTS, 0, IXGBE_FWSTS_FWRI);
	if (!(intel_read(nic, IXGBE_HICR, 0) & IXGBE_HICR_EN))
		return intel_fail(nic, E_DEVICE, "the firmware takes no commands (HICR.EN)");
	/* the command of a driver that has died */
	int e = intel_poll(nic, IXGBE_HICR, 0, IXGBE_HICR_C, INTEL_UNTIL_CLEAR, COMMAND_US,
	                   "the firmware does not end a command (HICR.C)");
	if (e != E_OK)
		return e;
	for (unsigned i = 0; i < n; i++)
		intel_write(nic, IXGBE_FLEX_MNG, i, words[i]);
	intel_set(nic, IXGBE_HICR, 0, IXGBE_HICR_C);
	e = intel_poll(nic, IXGBE_HICR, 0, IXGBE_HICR_C, INTEL_UNTIL_CLEAR, COMMAND_US,
	               "the firmware does not answer a command (HICR.C)");
	if (e == E_OK && !(intel_device(nic)->polled & IXGBE_HICR_SV))
		e = intel_fail(nic, E_DEVICE, "the firmware refuses a command (HICR.SV)");
	return e;
}

int ixgbe_firmware_read(struct nic *nic, uint32_t from, uint32_t n, uint16_t *words)
{
	const uint32_t at = 2 * from, bytes = 2 * n; /* both big-endian in the command */
	const uint32_t read[] = {READ_SHADOW_RAM, at >> 24 | (at >> 8 & 0xff00) | (at & 0xff00) << 8 | at << 24,
	                         (bytes >> 8 & 0xff) | (bytes & 0xff) << 8};
	int e = intel_lock(nic, INTEL_SYNC_MNG);
	if (e != E_OK)
		return e;
	e = command(nic, read, ARRAY_LEN(read));
	for (uint32_t i = 0; i < n && e == E_OK; i += 2) {
		const uint32_t two = intel_read(nic, IXGBE_FLEX_MNG, WORDS_AT + i / 2);
		words[i] = (uint16_t)two;
		if (i + 1 < n)
			words[i + 1] = (uint16_t)(two >> 16);
	}
	intel_unlock(nic, INTEL_SYNC_MNG);
	return e;
}

int ixgbe_firmware_rx_off(struct nic *nic)
{
	const uint32_t off[] = {DISABLE_RX, ixgbe_device(nic)->lan};
	int e = intel_lock(nic, INTEL_SYNC_MNG);
	if (e != E_OK)
		return e;
	e = command(nic, off, ARRAY_LEN(off));
	intel_unlock(nic, INTEL_SYNC_MNG);
	return e;
}
