/*
 * DSP0134 5.2.1 and 5.2.2 (entry points), 6.1 (structures), 7.1 to 7.3 (BIOS, system, baseboard). With
 * UEFI the entry point is in the configuration table (UEFI 2.10, 4.3 and 4.6); with a BIOS it lies in
 * 0xf0000 to 0xfffff.
 *
 * All of it is untrusted (tests/unit/kernel/test_smbios.c): a structure is read within the table, a text
 * within its structure, and only memory below 4 GiB, which is mapped.
 */
#include "kernel/smbios.h"

#include "kernel/vm.h"
#include "lib/bytes.h"
#include "lib/mem.h"

#define MAPPED_END (4ull << 30)
#define BIOS_START 0xf0000u
#define BIOS_END 0x100000u
#define ENTRY_BYTES 32
#define TABLE_MAX 0x20000u
#define STRUCTURES_MAX 4096u

#define EFI_SIGNATURE 0x5453595320494249ull /* "IBI SYST" */
#define EFI_TABLE_BYTES 120
#define EFI_ENTRIES 104 /* offsets in the system table of 64-bit firmware */
#define EFI_ENTRY 112
#define EFI_ENTRY_BYTES 24
#define EFI_ENTRIES_MAX 256

enum smbios_type { SMBIOS_BIOS = 0, SMBIOS_SYSTEM = 1, SMBIOS_BOARD = 2, SMBIOS_END = 127 };

/* Where a structure has the number of a text, and where the text goes. */
static const struct {
	uint8_t type, at;
	uint16_t to;
} texts[] = {
	{SMBIOS_BIOS, 4, offsetof(struct hardware, bios_vendor)},
	{SMBIOS_BIOS, 5, offsetof(struct hardware, bios_version)},
	{SMBIOS_BIOS, 8, offsetof(struct hardware, bios_date)},
	{SMBIOS_SYSTEM, 4, offsetof(struct hardware, vendor)},
	{SMBIOS_SYSTEM, 5, offsetof(struct hardware, product)},
	{SMBIOS_SYSTEM, 6, offsetof(struct hardware, version)},
	{SMBIOS_BOARD, 4, offsetof(struct hardware, board_vendor)},
	{SMBIOS_BOARD, 5, offsetof(struct hardware, board)},
};

/* A structure: its formatted part [p, texts), then texts that end in NUL, [texts, end). */
struct structure {
	const uint8_t *p, *texts, *end;
};

/* Copies text `number`, from 1, if dst is still empty: the first structure of a type counts. */
static void take_text(char *dst, const struct structure *s, unsigned number)
{
	const uint8_t *t = s->texts;
	size_t n = 0;
	if (number == 0 || dst[0])
		return;
	while (--number && t < s->end)
		while (t < s->end && *t++)
			;
	for (; t < s->end && *t && n + 1 < HARDWARE_TEXT; t++)
		dst[n++] = *t >= ' ' && *t <= '~' ? (char)*t : '?';
	while (n && dst[n - 1] == ' ') /* firmware pads */
		n--;
	memset(dst + n, 0, HARDWARE_TEXT - n);
}

static void take_structure(struct hardware *hw, const struct structure *s)
{
	for (unsigned i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i].type == s->p[0] && texts[i].at < s->texts - s->p)
			take_text((char *)hw + texts[i].to, s, s->p[texts[i].at]);
}

void smbios_parse(struct hardware *hw, const uint8_t *table, uint32_t bytes)
{
	const uint8_t *p = table, *end = table + bytes;
	for (unsigned i = 0; i < STRUCTURES_MAX && end - p >= 4 && p[0] != SMBIOS_END; i++) {
		if (p[1] < 4 || p[1] > end - p)
			return;
		struct structure s = {.p = p, .texts = p + p[1]};
		const uint8_t *t = s.texts;
		while (end - t >= 2 && (t[0] || t[1]))
			t++;
		if (end - t < 2)
			return; /* the texts do not end within the table */
		s.end = t + 1;
		take_structure(hw, &s);
		p = t + 2;
	}
}

static bool sum_is_zero(const uint8_t *p, unsigned n)
{
	uint8_t sum = 0;
	while (n--)
		sum = (uint8_t)(sum + *p++);
	return sum == 0;
}

static bool is_mapped(uint64_t phys, uint64_t bytes)
{
	return phys && phys < MAPPED_END && bytes <= MAPPED_END - phys;
}

/* Reads the table of the entry point at p, of which ENTRY_BYTES are readable. False: it is none. */
static bool read_entry(struct hardware *hw, const uint8_t *p)
{
	bool wide = memcmp(p, "_SM3_", 5) == 0;
	uint8_t length = p[wide ? 6 : 5];
	if (!wide && memcmp(p, "_SM_", 4))
		return false;
	if (length < (wide ? 24 : 30) || length > ENTRY_BYTES || !sum_is_zero(p, length))
		return false;
	uint64_t at = wide ? raw64_load(p + 16) : raw32_load(p + 24);
	uint32_t bytes = wide ? raw32_load(p + 12) : raw16_load(p + 22);
	bytes = bytes < TABLE_MAX ? bytes : TABLE_MAX;
	if (is_mapped(at, bytes))
		smbios_parse(hw, vm_phys(at), bytes);
	return true;
}

/* The entry points that UEFI's system table lists; the 64-bit one is preferred. */
static void read_uefi(struct hardware *hw, uint64_t system)
{
	static const uint8_t guid[2][16] = {
		{0x44, 0x15, 0xfd, 0xf2, 0x94, 0x97, 0x2c, 0x4a, 0x99, 0x2e, 0xe5, 0xbb, 0xcf, 0x20, 0xe3, 0x94},
		{0x31, 0x2d, 0x9d, 0xeb, 0x88, 0x2d, 0xd3, 0x11, 0x9a, 0x16, 0x00, 0x90, 0x27, 0x3f, 0xc1, 0x4d},
	};
	if (!is_mapped(system, EFI_TABLE_BYTES) || raw64_load(vm_phys(system)) != EFI_SIGNATURE)
		return;
	const uint8_t *table = vm_phys(system);
	uint64_t n = raw64_load(table + EFI_ENTRIES), at = raw64_load(table + EFI_ENTRY);
	n = n < EFI_ENTRIES_MAX ? n : EFI_ENTRIES_MAX;
	if (!is_mapped(at, n * EFI_ENTRY_BYTES))
		return;
	for (unsigned kind = 0; kind < 2; kind++)
		for (uint64_t i = 0; i < n; i++) {
			const uint8_t *e = (const uint8_t *)vm_phys(at) + i * EFI_ENTRY_BYTES;
			uint64_t entry = raw64_load(e + 16);
			if (memcmp(e, guid[kind], 16) == 0 && is_mapped(entry, ENTRY_BYTES) &&
			    read_entry(hw, vm_phys(entry)))
				return;
		}
}

void smbios_read(struct hardware *hw, const struct boot *boot)
{
	if (boot->uefi) {
		hw->firmware = HARDWARE_FIRMWARE_UEFI;
		read_uefi(hw, boot->efi_system);
		return;
	}
	for (uint32_t at = BIOS_START; at < BIOS_END; at += 16)
		if (read_entry(hw, vm_phys(at))) {
			hw->firmware = HARDWARE_FIRMWARE_BIOS;
			return;
		}
}
