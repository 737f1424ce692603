/*
 * The EEPROM as software reads it: EERD (8.2.3.2.2), word by word, and SWSM (8.2.3.4.12), the first of the
 * semaphores. What the words contain is each card's.
 */
#include "tools/nicsim/intel/state.h"

#define READ_NS 10000 /* a word by EERD: SPI at 2 MHz */
#define WORD_CHECKSUM 0x3f
#define SUM 0xbaba

/* START reads the word at ADDR (15:2) into DATA (31:16), then sets DONE. */
void eerd_write(struct model *m, uint32_t value)
{
	struct nic *n = nic_of(m);
	const uint32_t eerd = n->kind->eerd;
	if (!(value & EERD_START)) {
		set(m, eerd, value);
		return;
	}
	if (n->eerd_done != NEVER)
		model_violation(m, "EERD: START while a read is under way");
	set(m, eerd, value & 0xfffc);
	n->eerd_done = m->now + READ_NS;
}

void eerd_work(struct model *m)
{
	struct nic *n = nic_of(m);
	if (n->eerd_done > m->now || model_fault(m, FAULT_EEPROM_STUCK))
		return;
	uint32_t address = get(m, n->kind->eerd) >> 2 & 0x3fff;
	uint32_t data = address < EEPROM_WORDS ? n->eeprom[address] : 0xffff;
	set(m, n->kind->eerd, data << 16 | address << 2 | EERD_DONE);
	n->eerd_done = NEVER;
}

/* 8.2.3.4.12, 10.5.4: the read that finds SMBI clear takes it. SWESMBI is granted unless firmware
 * holds it, and there is no firmware. */
uint32_t swsm_read(struct model *m)
{
	const uint32_t swsm = kind_of(m)->swsm, old = get(m, swsm);
	set(m, swsm, old | SWSM_SMBI);
	return old;
}

void eeprom_seal(struct model *m, uint16_t more)
{
	uint16_t *w = nic_of(m)->eeprom;
	uint16_t sum = more;
	for (unsigned i = 0; i < WORD_CHECKSUM; i++)
		sum = (uint16_t)(sum + w[i]);
	w[WORD_CHECKSUM] = (uint16_t)(SUM - sum);
}
