/* The checksum of the EEPROM (6.4), which covers its sections, too. */
#include "drivers/ixgbe/device.h"

/* Adds the section that word `at` points to: a length, which is not summed, and that many words; or `fixed` words. */
static int add_section(struct nic *nic, uint32_t at, uint8_t fixed, uint16_t *sum)
{
	uint16_t pointer, words = 0;
	uint32_t size = intel_device(nic)->eeprom_words;
	int e = intel_eeprom_read(nic, at, &pointer);
	if (e != E_OK || pointer == 0 || pointer >= size) /* includes INTEL_EEPROM_NONE */
		return e;
	if (fixed != IXGBE_SECTION_LENGTH)
		return intel_eeprom_add(nic, pointer, fixed, sum);
	e = intel_eeprom_read(nic, pointer, &words);
	if (e != E_OK || words == 0 || (uint32_t)pointer + words >= size)
		return e;
	return intel_eeprom_add(nic, pointer + 1u, words, sum);
}

/* Whether a link counts only with a module in the cage; the bit is set in an EEPROM without this word. */
static int learn_cage(struct nic *nic)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	uint16_t caps;
	int e = intel_eeprom_read(nic, IXGBE_EEPROM_CAPS, &caps);
	d->ask_cage = e == E_OK && d->media == IXGBE_SFP && !(caps & IXGBE_EEPROM_CAPS_NO_CROSSTALK);
	return e;
}

int ixgbe_eeprom_check(struct nic *nic)
{
	const struct ixgbe_chip *chip = ixgbe_device(nic)->chip;
	uint16_t sum = 0;
	int e = intel_eeprom_find(nic);
	if (e == E_OK)
		e = intel_lock(nic, INTEL_SYNC_EEP);
	if (e != E_OK)
		return e;
	e = intel_eeprom_add(nic, 0, INTEL_EEPROM_CHECKSUM, &sum);
	if (e == E_OK)
		e = intel_eeprom_add(nic, INTEL_EEPROM_CHECKSUM + 1, chip->words_behind, &sum);
	for (uint32_t at = 0; at <= IXGBE_EEPROM_SECTION_LAST; at++)
		if (e == E_OK && chip->section[at] != IXGBE_SECTION_NONE)
			e = add_section(nic, at, chip->section[at], &sum);
	if (e == E_OK)
		e = intel_eeprom_compare(nic, sum);
	if (e == E_OK)
		e = learn_cage(nic);
	intel_unlock(nic, INTEL_SYNC_EEP);
	return e;
}
