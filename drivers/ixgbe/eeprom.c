/*
 * Resources shared with the firmware and the other port of the chip (10.5.4), and the EEPROM (6,
 * 8.2.3.2).
 *
 * SW_FW_SYNC says who holds what, with one bit for software and one for firmware per resource.
 * Changing it requires a semaphore of its own: SWSM.SMBI among drivers, then SWSM.SWESMBI against
 * the firmware (X540: SW_FW_SYNC.REGSMP).
 */
#include "drivers/ixgbe/device.h"

#define SMBI_US 100000
#define SWESMBI_US 100000
#define EERD_US 10000
#define LOCK_US 1000000      /* 10.5.4: no holder keeps it longer */
#define LOCK_RETRY_US 5000   /* gives the other holders a chance */

/* --- semaphores --- */

static void register_give(struct nic *nic)
{
	if (ixgbe_device(nic)->kind == IXGBE_X540)
		ixgbe_clear(nic, IXGBE_SW_FW_SYNC, 0, IXGBE_SW_FW_SYNC_REGSMP);
	ixgbe_write(nic, IXGBE_SWSM, 0, 0);
}

static int register_take(struct nic *nic)
{
	int e = ixgbe_poll(nic, IXGBE_SWSM, 0, IXGBE_SWSM_SMBI, IXGBE_UNTIL_CLEAR, SMBI_US,
	                   "another driver holds the device's semaphore (SWSM.SMBI)");
	if (e == E_TIMEOUT) { /* left behind by a driver that died */
		ixgbe_write(nic, IXGBE_SWSM, 0, 0);
		e = ixgbe_poll(nic, IXGBE_SWSM, 0, IXGBE_SWSM_SMBI, IXGBE_UNTIL_CLEAR, SMBI_US,
		               "the device's semaphore cannot be freed (SWSM.SMBI)");
	}
	if (e != E_OK)
		return e;
	if (ixgbe_device(nic)->kind == IXGBE_X540) {
		e = ixgbe_poll(nic, IXGBE_SW_FW_SYNC, 0, IXGBE_SW_FW_SYNC_REGSMP, IXGBE_UNTIL_CLEAR,
		               SWESMBI_US,
		               "firmware does not give its semaphore (SW_FW_SYNC.REGSMP)");
	} else {
		uint64_t end = nic_deadline(nic, SWESMBI_US);
		bool stuck; /* SWESMBI stays set only if firmware does not hold it */
		do {
			ixgbe_write(nic, IXGBE_SWSM, 0, IXGBE_SWSM_SMBI | IXGBE_SWSM_SWESMBI);
			stuck = ixgbe_read(nic, IXGBE_SWSM, 0) & IXGBE_SWSM_SWESMBI;
		} while (!stuck && !nic_past(end));
		if (!stuck)
			e = ixgbe_fail(nic, E_TIMEOUT,
			               "firmware does not give its semaphore (SWSM.SWESMBI)");
	}
	if (e != E_OK)
		register_give(nic);
	return e;
}

int ixgbe_lock(struct nic *nic, uint32_t what)
{
	uint32_t theirs = what | what << IXGBE_SW_FW_SYNC_FW_SHIFT;
	uint64_t end = nic_deadline(nic, LOCK_US);
	for (;;) {
		bool last = nic_past(end);
		int e = register_take(nic);
		if (e != E_OK)
			return e;
		uint32_t held = ixgbe_read(nic, IXGBE_SW_FW_SYNC, 0);
		/* 10.5.4: a holder, firmware or driver, that exceeds this time has died. Take the
		 * lock. */
		bool mine = !(held & theirs) || last;
		if (mine)
			ixgbe_write(nic, IXGBE_SW_FW_SYNC, 0, held | what);
		register_give(nic);
		if (mine)
			return E_OK;
		ixgbe_delay(nic, LOCK_RETRY_US);
	}
}

void ixgbe_unlock(struct nic *nic, uint32_t what)
{
	/* If even this semaphore is not available, clearing the bits is better than leaving them
	 * set. */
	bool held = register_take(nic) == E_OK;
	ixgbe_clear(nic, IXGBE_SW_FW_SYNC, 0, what);
	if (held)
		register_give(nic);
}

/* --- EEPROM --- */

int ixgbe_eeprom_read(struct nic *nic, uint32_t word, uint16_t *value)
{
	*value = 0;
	if (word >= ixgbe_device(nic)->eeprom_words)
		return ixgbe_fail(nic, E_DEVICE, "the EEPROM points outside of itself");
	ixgbe_write(nic, IXGBE_EERD, 0, IXGBE_EERD_START | word << IXGBE_EERD_ADDR_SHIFT);
	int e = ixgbe_poll(nic, IXGBE_EERD, 0, IXGBE_EERD_DONE, IXGBE_UNTIL_SET, EERD_US,
	                   "the EEPROM does not answer (EERD.DONE)");
	if (e == E_OK)
		*value = (uint16_t)(ixgbe_device(nic)->polled >> IXGBE_EERD_DATA_SHIFT);
	return e;
}

static int add_words(struct nic *nic, uint32_t from, uint32_t n, uint16_t *sum)
{
	int e = E_OK;
	for (uint32_t i = from; i < from + n && e == E_OK; i++) {
		uint16_t word;
		e = ixgbe_eeprom_read(nic, i, &word);
		*sum = (uint16_t)(*sum + word);
	}
	return e;
}

/* Adds the section that word `at` points to: a length, which is not summed, and that many words. */
static int add_section(struct nic *nic, uint32_t at, uint16_t *sum)
{
	uint16_t pointer, words = 0;
	uint32_t size = ixgbe_device(nic)->eeprom_words;
	int e = ixgbe_eeprom_read(nic, at, &pointer);
	if (e != E_OK || pointer == 0 || pointer >= size) /* includes IXGBE_EEPROM_NONE */
		return e;
	e = ixgbe_eeprom_read(nic, pointer, &words);
	if (e != E_OK || words == 0 || (uint32_t)pointer + words >= size)
		return e;
	return add_words(nic, pointer + 1u, words, sum);
}

int ixgbe_eeprom_check(struct nic *nic)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	uint32_t eec = ixgbe_read(nic, IXGBE_EEC, 0);
	uint16_t sum = 0, want;
	if (!(eec & IXGBE_EEC_PRES))
		return ixgbe_fail(nic, E_DEVICE, "no valid EEPROM (EEC.PRES)");
	d->eeprom_words = 64u << (eec >> IXGBE_EEC_SIZE_SHIFT & IXGBE_EEC_SIZE_MASK);
	if (d->eeprom_words > IXGBE_EEPROM_WORDS_MAX)
		d->eeprom_words = IXGBE_EEPROM_WORDS_MAX;
	int e = ixgbe_lock(nic, IXGBE_SW_FW_SYNC_EEP);
	if (e != E_OK)
		return e;
	e = add_words(nic, 0, IXGBE_EEPROM_CHECKSUM, &sum);
	for (uint32_t at = IXGBE_EEPROM_SECTION_FIRST; at <= IXGBE_EEPROM_SECTION_LAST; at++) {
		bool skip = d->kind == IXGBE_X540 &&
		            (at == IXGBE_EEPROM_PHY || at == IXGBE_EEPROM_OPTION_ROM);
		if (e == E_OK && !skip)
			e = add_section(nic, at, &sum);
	}
	if (e == E_OK)
		e = ixgbe_eeprom_read(nic, IXGBE_EEPROM_CHECKSUM, &want);
	if (e == E_OK && (uint16_t)(sum + want) != IXGBE_EEPROM_SUM)
		e = ixgbe_fail(nic, E_DEVICE, "EEPROM checksum wrong");
	ixgbe_unlock(nic, IXGBE_SW_FW_SYNC_EEP);
	return e;
}
