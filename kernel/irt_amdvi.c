/*
 * The interrupt remapping tables of AMD-Vi: AMD I/O Virtualization Technology (IOMMU) Specification, publication
 * 48882, Interrupt Remapping Tables. Entries have 32 bits; with 32-bit APIC IDs (GAEn, XTEn) they have 128. The
 * index of an entry is in the data of a message.
 *
 * Each device has a table of its own, named by its entry in the device table: a block of ours. So a device reaches
 * only its own entries. The block is as long as a power of two, and begins at a multiple of its size.
 *
 * An I/O APIC's vector is the index of its entry. The serial line's entry is the one of its own vector, so the
 * vector at the end of an interrupt is the one of the pin.
 */
#include "kernel/irt.h"

#include "kernel/apic.h"
#include "kernel/cpu.h"

#define BLOCK_MIN 16u  /* of 32 bits: tables begin at a multiple of 64 bytes */
#define BLOCK_MAX 512u /* above, the index would change the message's type of delivery (bits 10:8 of the data) */
#define SHORT_BYTES 4u
#define WIDE_BYTES 16u

/* Both forms: RemapEn. IntType and DM are 0: fixed, physical. */
#define ENTRY_PRESENT 1u
#define SHORT_ID_AT 8
#define SHORT_VECTOR_AT 16
#define WIDE_ID_AT 8       /* bits 23:0 of the ID, low word */
#define WIDE_ID_HIGH_AT 56 /* bits 31:24, high word; the vector is in its bits 7:0 */

#define MESSAGE_ADDRESS 0xfee00000ull

static unsigned entry_bytes(bool wide) { return wide ? WIDE_BYTES : SHORT_BYTES; }

static uint32_t block(uint32_t vectors)
{
	uint32_t n = BLOCK_MIN;
	while (n < vectors && n < BLOCK_MAX)
		n *= 2;
	return n;
}

/* A unit may read the entry at any time, so it is not present while its words change. */
static void write_wide(const struct irt *t, uint32_t index, uint64_t low, uint64_t high)
{
	volatile uint64_t *e = (volatile uint64_t *)t->table + 2 * index;
	e[0] = 0;
	e[1] = high;
	e[0] = low;
	cpu_flush(e, WIDE_BYTES);
}

static void write_short(const struct irt *t, uint32_t index, uint32_t entry)
{
	volatile uint32_t *e = (volatile uint32_t *)t->table + index;
	*e = entry;
	cpu_flush(e, SHORT_BYTES);
}

static int set(const struct irt *t, uint32_t index, uint16_t source, uint8_t vector, bool level, uint32_t apic_id)
{
	(void)source, (void)level; /* by the block; by the pin */
	if (index >> t->entries_log2)
		return E_INVAL;
	if (t->wide) {
		uint64_t low = (uint64_t)(apic_id & 0xffffffu) << WIDE_ID_AT | ENTRY_PRESENT;
		write_wide(t, index, low, (uint64_t)(apic_id >> 24) << WIDE_ID_HIGH_AT | vector);
		return E_OK;
	}
	if (apic_id > IRT_SHORT_ID_MOST) {
		write_short(t, index, 0);
		return E_NOTSUP;
	}
	write_short(t, index, (uint32_t)vector << SHORT_VECTOR_AT | apic_id << SHORT_ID_AT | ENTRY_PRESENT);
	return E_OK;
}

static struct message message(uint32_t index, uint32_t entry)
{
	(void)index;
	return (struct message){MESSAGE_ADDRESS, entry};
}

static uint64_t redirection(uint32_t index)
{
	(void)index; /* the vector */
	return 0;
}

const struct irt_kind irt_amdvi = {
	.serial = VECTOR_SERIAL, .serial_entries = 256, .aligned = true, .entry_bytes = entry_bytes, .block = block,
	.set = set, .message = message, .redirection = redirection,
};
