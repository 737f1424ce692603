/*
 * The interrupt remapping table of VT-d: Intel Virtualization Technology for Directed I/O, Architecture
 * Specification, rev. 3.0: 5.1 (messages), 9.9 and 9.10 (table and entries). An entry names the function that may
 * use it (9.10, SVT and SID). The serial line has the first entry.
 */
#include "kernel/irt.h"

#include "kernel/cpu.h"

#define ENTRY_BYTES 16

/* 9.10, low word. Destination mode and delivery mode are 0: physical, fixed. */
#define ENTRY_PRESENT 1ull
#define ENTRY_LEVEL (1ull << 4)
#define ENTRY_VECTOR_AT 16
#define ENTRY_ID_AT 32        /* 32-bit ID */
#define ENTRY_SHORT_ID_AT 40  /* 8-bit ID */
/* High word: SQ 00b and SVT 01b have the unit compare all 16 bits of the source. */
#define ENTRY_VERIFY (1ull << 18)

#define MESSAGE_ADDRESS 0xfee00000ull
#define MESSAGE_REMAPPED (1u << 4)
#define MESSAGE_INDEX_AT 5
#define MESSAGE_INDEX_15_AT 2
#define PIN_INDEX_15_AT 11
#define PIN_REMAPPED (1ull << 48)
#define PIN_INDEX_AT 49
#define INDEX_LOW 0x7fffu

static unsigned entry_bytes(bool wide)
{
	(void)wide;
	return ENTRY_BYTES;
}

static uint32_t block(uint32_t vectors) { return vectors; }

/* A unit may read the entry at any time, so it is not present while its words change. */
static void write(const struct irt *t, uint32_t index, uint64_t low, uint64_t high)
{
	volatile uint64_t *e = (volatile uint64_t *)t->table + 2 * index;
	e[0] = 0;
	e[1] = high;
	e[0] = low;
	cpu_flush(e, ENTRY_BYTES);
}

static int set(const struct irt *t, uint32_t index, uint16_t source, uint8_t vector, bool level,
               uint32_t apic_id)
{
	if (index >> t->entries_log2)
		return E_INVAL;
	if (apic_id > IRT_SHORT_ID_MOST && !t->wide) {
		write(t, index, 0, 0);
		return E_NOTSUP;
	}
	uint64_t id = (uint64_t)apic_id << (t->wide ? ENTRY_ID_AT : ENTRY_SHORT_ID_AT);
	uint64_t low = id | (uint64_t)vector << ENTRY_VECTOR_AT | ENTRY_PRESENT | (level ? ENTRY_LEVEL : 0);
	write(t, index, low, ENTRY_VERIFY | source);
	return E_OK;
}

/* 5.1.2.2 */
static struct message message(uint32_t index, uint32_t entry)
{
	(void)entry;
	uint64_t address = MESSAGE_ADDRESS | MESSAGE_REMAPPED;
	address |= (index & INDEX_LOW) << MESSAGE_INDEX_AT | index >> 15 << MESSAGE_INDEX_15_AT;
	return (struct message){address, 0};
}

/* 5.1.5.1 */
static uint64_t redirection(uint32_t index)
{
	return (uint64_t)(index & INDEX_LOW) << PIN_INDEX_AT | PIN_REMAPPED | (index >> 15) << PIN_INDEX_15_AT;
}

const struct irt_kind irt_vtd = {
	.serial = 0, .serial_entries = 1, .entry_bytes = entry_bytes, .block = block, .set = set, .message = message,
	.redirection = redirection,
};
