/*
 * Resources shared with the firmware and the other ports of the chip (10.5.4), and the EEPROM (6,
 * 8.2.3.2). Sections of the 82599 datasheet; the 82576 differs in the position of the firmware's bits alone.
 *
 * SW_FW_SYNC says who holds what, with one bit for software and one for firmware per resource.
 * Changing it requires a semaphore of its own: SWSM.SMBI among drivers, then SWSM.SWESMBI against
 * the firmware (X540: SW_FW_SYNC.REGSMP).
 */
#include "drivers/intel/device.h"

#include "lib/mem.h"
#include "lib/number.h"

/* 8.2.3.2 */
#define EEC_SIZE_SHIFT 11   /* 64 << size words */
#define EEC_SIZE_MASK 15u
#define EERD_START (1u << 0)
#define EERD_DONE (1u << 1)
#define EERD_ADDR_SHIFT 2
#define EERD_DATA_SHIFT 16
#define RAH_AV (1u << 31) /* the address is valid (8.2.3.7) */
#define EEPROM_WORDS_MAX 16384 /* EERD has 14 address bits */

/* 8.2.3.4 */
#define SWSM_SMBI (1u << 0)    /* a read that returns 0 sets it */
#define SWSM_SWESMBI (1u << 1) /* stays set only if firmware does not hold it; not in X540 */
#define SYNC_HW_NVM (1u << 4)  /* X540: the hardware writes the flash (X540 datasheet, SW_FW_SYNC) */
#define SYNC_REGSMP (1u << 31) /* X540: a read that returns 0 sets it */

#define SMBI_US 100000
#define SWESMBI_US 100000
#define EERD_US 10000
#define LOCK_US 1000000      /* 10.5.4: no holder keeps it longer */
#define LOCK_RETRY_US 5000   /* gives the other holders a chance */

/* --- semaphores --- */

static void register_give(struct nic *nic)
{
	const struct intel_chip *chip = intel_device(nic)->chip;
	if (chip->regsmp)
		intel_clear(nic, chip->sw_fw_sync, 0, SYNC_REGSMP);
	intel_write(nic, chip->swsm, 0, 0);
}

static int register_take(struct nic *nic)
{
	const struct intel_chip *chip = intel_device(nic)->chip;
	int e = intel_poll(nic, chip->swsm, 0, SWSM_SMBI, INTEL_UNTIL_CLEAR, SMBI_US,
	                   "another driver holds the device's semaphore (SWSM.SMBI)");
	if (e == E_TIMEOUT) { /* left behind by a driver that died */
		intel_write(nic, chip->swsm, 0, 0);
		e = intel_poll(nic, chip->swsm, 0, SWSM_SMBI, INTEL_UNTIL_CLEAR, SMBI_US,
		               "the device's semaphore cannot be freed (SWSM.SMBI)");
	}
	if (e != E_OK)
		return e;
	if (chip->regsmp) {
		e = intel_poll(nic, chip->sw_fw_sync, 0, SYNC_REGSMP, INTEL_UNTIL_CLEAR,
		               SWESMBI_US,
		               "firmware does not give its semaphore (SW_FW_SYNC.REGSMP)");
	} else {
		uint64_t end = nic_deadline(nic, SWESMBI_US);
		bool stuck; /* SWESMBI stays set only if firmware does not hold it */
		do {
			intel_write(nic, chip->swsm, 0, SWSM_SMBI | SWSM_SWESMBI);
			stuck = intel_read(nic, chip->swsm, 0) & SWSM_SWESMBI;
		} while (!stuck && !nic_past(end));
		if (!stuck)
			e = intel_fail(nic, E_TIMEOUT,
			               "firmware does not give its semaphore (SWSM.SWESMBI)");
	}
	if (e != E_OK)
		register_give(nic);
	return e;
}

int intel_lock_now(struct nic *nic, uint32_t what, bool force)
{
	const struct intel_chip *chip = intel_device(nic)->chip;
	uint32_t theirs = what | (what & ~INTEL_SYNC_MNG) << chip->firmware_shift;
	if (chip->regsmp && what & INTEL_SYNC_EEP)
		theirs |= SYNC_HW_NVM;
	int e = register_take(nic);
	if (e != E_OK)
		return e;
	uint32_t held = intel_read(nic, chip->sw_fw_sync, 0);
	bool mine = !(held & theirs) || force;
	if (mine)
		intel_write(nic, chip->sw_fw_sync, 0, held | what);
	register_give(nic);
	return mine ? E_OK : E_AGAIN;
}

int intel_lock(struct nic *nic, uint32_t what)
{
	uint64_t end = nic_deadline(nic, LOCK_US);
	for (;;) {
		/* 10.5.4: a holder, firmware or driver, that exceeds this time has died. */
		int e = intel_lock_now(nic, what, nic_past(end));
		if (e != E_AGAIN)
			return e;
		intel_delay(nic, LOCK_RETRY_US);
	}
}

void intel_unlock(struct nic *nic, uint32_t what)
{
	/* If even this semaphore is not available, clearing the bits is better than leaving them
	 * set. */
	bool held = register_take(nic) == E_OK;
	intel_clear(nic, intel_device(nic)->chip->sw_fw_sync, 0, what);
	if (held)
		register_give(nic);
}

/* --- EEPROM --- */

/* One word by EERD. */
static int eerd_read(struct nic *nic, uint32_t word, uint16_t *value)
{
	intel_write(nic, intel_device(nic)->chip->eerd, 0, EERD_START | word << EERD_ADDR_SHIFT);
	int e = intel_poll(nic, intel_device(nic)->chip->eerd, 0, EERD_DONE, INTEL_UNTIL_SET, EERD_US,
	                   "the EEPROM does not answer (EERD.DONE)");
	if (e == E_OK)
		*value = (uint16_t)(intel_device(nic)->polled >> EERD_DATA_SHIFT);
	return e;
}

static int read_words(struct nic *nic, uint32_t from, uint32_t n, uint16_t *words)
{
	const struct intel_device *d = intel_device(nic);
	memset(words, 0, n * sizeof *words);
	if (from >= d->eeprom_words || n > d->eeprom_words - from)
		return intel_fail(nic, E_DEVICE, "the EEPROM points outside of itself");
	if (d->chip->read_words)
		return d->chip->read_words(nic, from, n, words);
	int e = E_OK;
	for (uint32_t i = 0; i < n && e == E_OK; i++)
		e = eerd_read(nic, from + i, &words[i]);
	return e;
}

int intel_eeprom_read(struct nic *nic, uint32_t word, uint16_t *value)
{
	return read_words(nic, word, 1, value);
}

int intel_eeprom_find(struct nic *nic)
{
	struct intel_device *d = intel_device(nic);
	const uint32_t eec = intel_read(nic, d->chip->eec, 0);
	if (!(eec & d->chip->eec_present))
		return intel_fail(nic, E_DEVICE, "no valid EEPROM (EEC.PRES)");
	d->eeprom_words = 64u << (eec >> EEC_SIZE_SHIFT & EEC_SIZE_MASK);
	if (d->eeprom_words > EEPROM_WORDS_MAX)
		d->eeprom_words = EEPROM_WORDS_MAX;
	return E_OK;
}

int intel_eeprom_add(struct nic *nic, uint32_t from, uint32_t n, uint16_t *sum)
{
	int e = E_OK;
	for (uint32_t done = 0, some; done < n && e == E_OK; done += some) {
		uint16_t words[INTEL_EEPROM_AT_ONCE];
		some = u32_min(n - done, INTEL_EEPROM_AT_ONCE);
		e = read_words(nic, from + done, some, words);
		for (uint32_t i = 0; i < some; i++)
			*sum = (uint16_t)(*sum + words[i]);
	}
	return e;
}

int intel_eeprom_compare(struct nic *nic, uint16_t sum)
{
	uint16_t want;
	int e = intel_eeprom_read(nic, INTEL_EEPROM_CHECKSUM, &want);
	if (e == E_OK && (uint16_t)(sum + want) != INTEL_EEPROM_SUM)
		e = intel_fail(nic, E_DEVICE, "EEPROM checksum wrong");
	return e;
}

int intel_learn_mac(struct nic *nic)
{
	const struct intel_chip *chip = intel_device(nic)->chip;
	uint32_t low = intel_read(nic, chip->ral, 0), high = intel_read(nic, chip->rah, 0);
	for (unsigned i = 0; i < 6; i++)
		nic->mac[i] = (uint8_t)(i < 4 ? low >> 8 * i : high >> 8 * (i - 4));
	if (!(high & RAH_AV) || nic->mac[0] & 1 || !(low | (high & 0xffff)))
		return intel_fail(nic, E_DEVICE, "no station address in the EEPROM");
	return E_OK;
}
