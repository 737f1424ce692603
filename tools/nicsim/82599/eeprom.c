/*
 * The EEPROM (6.2 to 6.4: its map); intel/nvm.c reads it. Writing (EEC bit-banging) and
 * the Flash are absent, as on a board whose Flash is not populated: FLA reads 0.
 */
#include "tools/nicsim/82599/state.h"

/* 6.2 to 6.3: the layout of our image. */
enum {
	WORD_PCIE_GENERAL = 0x06,
	WORD_PCIE_CONFIG0 = 0x07,
	WORD_PCIE_CONFIG1 = 0x08,
	WORD_CORE0 = 0x09,
	WORD_FIRMWARE = 0x0f,
	WORD_PBA_FLAG = 0x15,
	WORD_PBA_POINTER = 0x16,
	WORD_ETRACK_LOW = 0x2d,
	WORD_ETRACK_HIGH = 0x2e,
	WORD_PHY_INIT = 0x2b,
	WORD_DEVICE_CAPS = 0x2c,
	WORD_CHECKSUM = 0x3f,

	AT_CORE0 = 0x100,
	AT_PBA = 0x140,
	AT_PHY_INIT = 0x160,
	AT_PHY_DATA = 0x180,
	AT_FIRMWARE = 0x1a0,
	AT_FIRMWARE_PATCH = 0x1c0,
	AT_PCIE_GENERAL = 0x80, /* X550 */
	AT_PCIE_CONFIG0 = 0xb0,
	PCIE_GENERAL_WORDS = 0x24,
	PCIE_CONFIG_WORDS = 8,
};

/* 6.2.5: PBA number as a string, two characters a word, high byte first. */
static void put_pba(uint16_t *w)
{
	static const char pba[] = "HY8259-001";
	w[WORD_PBA_FLAG] = 0xfafa;
	w[WORD_PBA_POINTER] = AT_PBA;
	w[AT_PBA] = sizeof pba / 2 + 1; /* in words, including this one */
	for (unsigned i = 0; i + 1 < sizeof pba; i += 2)
		w[AT_PBA + 1 + i / 2] = (uint16_t)(pba[i] << 8 | pba[i + 1]);
}

/* PHY initialisation: pairs (kind of module, offset of its sequence), ended by 0xffff. The sequence
 * is written to CORECTL, ended by 0xffff. Kinds 3 to 8: copper, SR/LR and limiting, by core. */
static void put_phy_init(uint16_t *w)
{
	w[WORD_PHY_INIT] = AT_PHY_INIT;
	uint16_t *at = &w[AT_PHY_INIT];
	*at++ = 12; /* words that follow */
	for (uint16_t kind = 3; kind <= 8; kind++) {
		*at++ = kind;
		*at++ = AT_PHY_DATA;
	}
	*at = 0xffff;
	w[AT_PHY_DATA] = 2;
	w[AT_PHY_DATA + 1] = 0x0101;
	w[AT_PHY_DATA + 2] = 0x0202;
	w[AT_PHY_DATA + 3] = 0xffff;
}

/* Firmware module: LINUX reads the patch version of SFI devices and warns if it is below 6. */
static void put_firmware(uint16_t *w)
{
	w[WORD_FIRMWARE] = AT_FIRMWARE;
	for (unsigned i = 0; i < 16; i++)
		w[AT_FIRMWARE + i] = 0xffff;
	w[AT_FIRMWARE + 4] = AT_FIRMWARE_PATCH;
	w[AT_FIRMWARE_PATCH + 7] = 7;
}

/* The sum of the words and sections that the software checksum (6.3) covers besides words 0 to 0x3f: the sections
 * that words 3 to 0xe point to. X550 (LINUX): also words 0x40 and 0x41; of the sections, PCIe general and
 * configuration have no word of length, but a fixed one. */
static uint16_t sum_of_others(const uint16_t *w, const struct variant *v)
{
	uint16_t sum = 0;
	for (unsigned i = WORD_CHECKSUM + 1; i <= v->eeprom_last; i++)
		sum = (uint16_t)(sum + w[i]);
	for (unsigned i = 0; i < WORD_FIRMWARE; i++) {
		const uint16_t at = w[i];
		if (!(v->eeprom_sections >> i & 1) || at == 0 || at == 0xffff)
			continue;
		const bool fixed = v->x550 && i >= WORD_PCIE_GENERAL && i <= WORD_PCIE_CONFIG1;
		const unsigned words = !fixed ? w[at] : i == WORD_PCIE_GENERAL ? PCIE_GENERAL_WORDS : PCIE_CONFIG_WORDS;
		for (unsigned k = 0; k < words; k++)
			sum = (uint16_t)(sum + w[at + k + !fixed]);
	}
	return sum;
}

/* X550: sections of a fixed length. */
static void put_pcie(uint16_t *w)
{
	w[WORD_PCIE_GENERAL] = AT_PCIE_GENERAL;
	w[WORD_PCIE_CONFIG0] = AT_PCIE_CONFIG0;
	for (unsigned i = 0; i < PCIE_GENERAL_WORDS; i++)
		w[AT_PCIE_GENERAL + i] = (uint16_t)(0x1100 + i);
	for (unsigned i = 0; i < PCIE_CONFIG_WORDS; i++)
		w[AT_PCIE_CONFIG0 + i] = (uint16_t)(0x2200 + i);
}

void eeprom_make(struct model *m)
{
	uint16_t *w = nic_of(m)->eeprom;
	for (unsigned i = 0; i < EEPROM_WORDS; i++)
		w[i] = 0xffff;
	w[0x00] = 0x4400; /* valid, 16 KiB */
	w[0x01] = 0x0002;
	w[0x02] = 0x0001;
	w[WORD_DEVICE_CAPS] = 0; /* accepts only Intel's SFP+ modules */
	w[WORD_ETRACK_LOW] = 0x0001;
	w[WORD_ETRACK_HIGH] = 0x8000;
	w[0x18] = 0x0100; /* version of the image */
	w[WORD_CORE0] = AT_CORE0;
	w[AT_CORE0] = 6;
	for (unsigned i = 0; i < 3; i++)
		w[AT_CORE0 + 1 + i] = (uint16_t)(m->mac[2 * i] | m->mac[2 * i + 1] << 8);
	for (unsigned i = 3; i < 6; i++)
		w[AT_CORE0 + 1 + i] = 0;
	put_pba(w);
	put_phy_init(w);
	put_firmware(w);
	if (own_of(m)->variant->x550)
		put_pcie(w);
	eeprom_seal(m, sum_of_others(w, own_of(m)->variant));
	if (model_fault(m, FAULT_EEPROM_CHECKSUM))
		w[WORD_CHECKSUM] ^= 0x0101;
}

/* 8.2.3.2.1: the grant follows the request; the other bits are for bit-banging */
void eec_write(struct model *m, uint32_t value)
{
	const uint32_t fixed = EEC_PRES | EEC_AUTO_RD | EEC_ADDR_SIZE | 0xfu << EEC_SIZE_SHIFT;
	uint32_t eec = (get(m, EEC) & fixed) | (value & 0x7f);
	set(m, EEC, eec & EEC_REQ ? eec | EEC_GNT : eec);
}
