/* See ivrs.h. Offsets are of the IVRS chapter of publication 48882. */
#include "kernel/ivrs.h"

#include "lib/bytes.h"

#define IVRS_HEADER_BYTES 48 /* including the 36 bytes of the ACPI header */

/* Every block begins with its type and flags, one byte each, and its length, two bytes. */
#define BLOCK_BYTES_MIN 4
enum block { IVHD_10 = 0x10, IVHD_11 = 0x11, IVHD_40 = 0x40, IVMD_ALL = 0x20, IVMD_ONE = 0x21, IVMD_RANGE = 0x22 };
#define IVHD_10_BYTES 24 /* before the device entries */
#define IVHD_11_BYTES 40 /* 11h and 40h */
#define IVHD_REGS_ALIGN 0x4000u
#define IVMD_BYTES 32

/* Device entries. The two highest bits of a type say how long its entry is. */
enum entry {
	ENTRY_PAD = 0x00, ENTRY_ALL = 0x01, ENTRY_ONE = 0x02, ENTRY_FROM = 0x03, ENTRY_TO = 0x04,
	ENTRY_ALIAS_ONE = 0x42, ENTRY_ALIAS_FROM = 0x43, ENTRY_EXT_ONE = 0x46, ENTRY_EXT_FROM = 0x47,
	ENTRY_SPECIAL = 0x48, ENTRY_ACPI = 0xf0
};
#define ENTRY_BYTES_MIN 4
#define ACPI_BYTES_MIN 22 /* the length of a name follows at the last of them */
#define SPECIAL_IOAPIC 1
#define LAST_FUNCTION 0xffffu

static bool is_unit(uint8_t type) { return type == IVHD_10 || type == IVHD_11 || type == IVHD_40; }
static bool is_reserved(uint8_t type) { return type >= IVMD_ALL && type <= IVMD_RANGE; }
static unsigned header_of(uint8_t type) { return type == IVHD_10 ? IVHD_10_BYTES : IVHD_11_BYTES; }

/* 0: the entry at p, of at most `room` bytes, is malformed. */
static unsigned entry_bytes(const uint8_t *p, size_t room)
{
	unsigned bytes = ENTRY_BYTES_MIN << (p[0] >> 6);
	if (p[0] == ENTRY_ACPI)
		bytes = room < ACPI_BYTES_MIN ? 0 : ACPI_BYTES_MIN + p[ACPI_BYTES_MIN - 1];
	return bytes <= room ? bytes : 0;
}

static int add_range(struct ivrs *v, struct ivrs_range range)
{
	if (range.first > range.last)
		return E_INVAL;
	if (v->ranges == IVRS_RANGES_MAX)
		return E_NOTSUP;
	range.unit = (uint8_t)(v->units - 1);
	v->range[v->ranges++] = range;
	return E_OK;
}

static int add_special(struct ivrs *v, const uint8_t *p)
{
	if (p[7] != SPECIAL_IOAPIC)
		return E_OK;
	if (v->ioapics == IVRS_IOAPICS_MAX)
		return E_NOTSUP;
	v->ioapic[v->ioapics++] = (struct ivrs_ioapic){p[4], (uint8_t)(v->units - 1), raw16_load(p + 5)};
	return E_OK;
}

/* Handles the entry at p. `open`: the range that an earlier entry has begun; its `unit` is 1 then, else 0. */
static int parse_entry(struct ivrs *v, const uint8_t *p, struct ivrs_range *open)
{
	uint16_t bdf = raw16_load(p + 1);
	switch (p[0]) {
	case ENTRY_ALL:
		return add_range(v, (struct ivrs_range){.last = LAST_FUNCTION, .all = true});
	case ENTRY_ONE:
	case ENTRY_EXT_ONE:
		return add_range(v, (struct ivrs_range){.first = bdf, .last = bdf});
	case ENTRY_ALIAS_ONE:
		return add_range(v, (struct ivrs_range){bdf, bdf, .aliased = true, .alias = raw16_load(p + 5)});
	case ENTRY_FROM:
	case ENTRY_EXT_FROM:
	case ENTRY_ALIAS_FROM:
		if (open->unit)
			return E_INVAL;
		*open = (struct ivrs_range){.first = bdf, .unit = 1};
		open->aliased = p[0] == ENTRY_ALIAS_FROM;
		open->alias = open->aliased ? raw16_load(p + 5) : 0;
		return E_OK;
	case ENTRY_TO:
		if (!open->unit)
			return E_INVAL;
		open->unit = 0;
		open->last = bdf;
		return add_range(v, *open);
	case ENTRY_SPECIAL:
		return add_special(v, p);
	default:
		return E_OK; /* padding, and devices that are no PCI functions */
	}
}

static int parse_entries(struct ivrs *v, const uint8_t *p, const uint8_t *end)
{
	struct ivrs_range open = {.unit = 0};
	while (p < end) {
		size_t room = (size_t)(end - p);
		unsigned bytes = room < ENTRY_BYTES_MIN ? 0 : entry_bytes(p, room);
		int e = bytes ? parse_entry(v, p, &open) : E_INVAL;
		if (e != E_OK)
			return e;
		p += bytes;
	}
	return open.unit ? E_INVAL : E_OK;
}

static int parse_unit(struct ivrs *v, const uint8_t *p, unsigned bytes)
{
	uint64_t regs = bytes >= header_of(p[0]) ? raw64_load(p + 8) : 0;
	if (regs == 0 || regs % IVHD_REGS_ALIGN || regs >> 52)
		return E_INVAL;
	if (raw16_load(p + 16) != 0) /* another segment */
		return E_OK;
	if (v->units == IVRS_UNITS_MAX)
		return E_NOTSUP;
	v->unit[v->units++] = (struct ivrs_unit){regs, raw16_load(p + 4), p[1]};
	return parse_entries(v, p + header_of(p[0]), p + bytes);
}

static int parse_reserved(struct ivrs *v, const uint8_t *p, unsigned bytes)
{
	uint16_t first = bytes < IVMD_BYTES || p[0] == IVMD_ALL ? 0 : raw16_load(p + 4);
	uint16_t last = bytes < IVMD_BYTES || p[0] == IVMD_ALL ? LAST_FUNCTION : raw16_load(p + (p[0] == IVMD_ONE ? 4 : 6));
	if (bytes < IVMD_BYTES || first > last)
		return E_INVAL;
	if (raw16_load(p + 8) != 0) /* another segment */
		return E_OK;
	if (v->reserveds == IVRS_RESERVED_MAX)
		return E_NOTSUP;
	v->reserved[v->reserveds].first = first;
	v->reserved[v->reserveds++].last = last;
	return E_OK;
}

/* The length of the block at `at`; 0: malformed. */
static unsigned block_bytes(const uint8_t *table, uint32_t bytes, uint32_t at)
{
	unsigned length = bytes - at < BLOCK_BYTES_MIN ? 0 : raw16_load(table + at + 2);
	return length >= BLOCK_BYTES_MIN && length <= bytes - at ? length : 0;
}

/* Firmware describes a unit once for each type that it knows. True if a block of a higher type describes the same
 * unit as p. All blocks have been checked to be within the table. */
static bool is_superseded(const uint8_t *table, uint32_t bytes, const uint8_t *p)
{
	for (uint32_t at = IVRS_HEADER_BYTES; at < bytes; at += block_bytes(table, bytes, at)) {
		const uint8_t *q = table + at;
		if (is_unit(q[0]) && q[0] > p[0] && block_bytes(table, bytes, at) >= header_of(q[0]) &&
		    raw16_load(q + 4) == raw16_load(p + 4) && raw16_load(q + 16) == raw16_load(p + 16))
			return true;
	}
	return false;
}

static int parse_block(struct ivrs *v, const uint8_t *table, uint32_t bytes, const uint8_t *p, unsigned length)
{
	if (is_reserved(p[0]))
		return parse_reserved(v, p, length);
	if (!is_unit(p[0]))
		return E_OK; /* a type of later revisions */
	if (length < header_of(p[0]))
		return E_INVAL;
	return is_superseded(table, bytes, p) ? E_OK : parse_unit(v, p, length);
}

static int parse_blocks(struct ivrs *v, const uint8_t *table, uint32_t bytes)
{
	uint32_t at = IVRS_HEADER_BYTES;
	int e = E_OK;
	if (bytes < IVRS_HEADER_BYTES)
		return E_INVAL;
	for (; at < bytes; at += block_bytes(table, bytes, at))
		if (block_bytes(table, bytes, at) == 0)
			return E_INVAL;
	for (at = IVRS_HEADER_BYTES; at < bytes && e == E_OK; at += block_bytes(table, bytes, at))
		e = parse_block(v, table, bytes, table + at, block_bytes(table, bytes, at));
	return e;
}

int ivrs_parse(struct ivrs *v, const uint8_t *table, uint32_t bytes)
{
	v->units = v->ranges = v->ioapics = v->reserveds = 0;
	int e = parse_blocks(v, table, bytes);
	if (e != E_OK)
		v->units = v->ranges = v->ioapics = v->reserveds = 0;
	return e;
}

/* The range that decides about the function; a later one goes before an earlier one. NULL: none. */
static const struct ivrs_range *range_of(const struct ivrs *v, uint16_t bdf)
{
	const struct ivrs_range *all = NULL;
	for (unsigned i = v->ranges; i-- > 0;) {
		const struct ivrs_range *r = &v->range[i];
		if (r->all)
			all = r;
		else if (bdf >= r->first && bdf <= r->last)
			return r;
	}
	return all;
}

int ivrs_unit_of(const struct ivrs *v, uint16_t bdf)
{
	const struct ivrs_range *r = range_of(v, bdf);
	return r ? r->unit : -1;
}

uint16_t ivrs_requester(const struct ivrs *v, uint16_t bdf)
{
	const struct ivrs_range *r = range_of(v, bdf);
	return r && r->aliased ? r->alias : bdf;
}

const struct ivrs_ioapic *ivrs_ioapic_of(const struct ivrs *v, uint8_t id)
{
	for (unsigned i = 0; i < v->ioapics; i++)
		if (v->ioapic[i].id == id)
			return &v->ioapic[i];
	return NULL;
}
