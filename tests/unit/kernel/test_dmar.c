/* kernel/dmar: tables as firmware writes them, and malformed ones. */
#include "tests/unit/rig/host.h"

#include "kernel/dmar.h"
#include "lib/bytes.h"

#define BUFFER 8192

static uint8_t table[BUFFER];
static uint32_t used;
static struct dmar d;

static int setup(void **s)
{
	(void)s;
	memset(table, 0, sizeof table);
	used = 48;
	return 0;
}

/* Begins a structure; returns the position of its length, for end(). */
static uint32_t begin(uint16_t type, uint32_t bytes)
{
	raw16_store(table + used, type);
	raw16_store(table + used + 2, (uint16_t)bytes);
	used += bytes;
	return used - bytes;
}

static uint32_t unit(uint8_t flags, uint16_t segment, uint64_t regs)
{
	uint32_t at = begin(0, 16);
	table[at + 4] = flags;
	raw16_store(table + at + 6, segment);
	raw64_store(table + at + 8, regs);
	return at;
}

static uint32_t reserved(uint16_t segment)
{
	uint32_t at = begin(1, 24);
	raw16_store(table + at + 6, segment);
	return at;
}

/* Adds a scope of `hops` (device, function) pairs to the structure at `at`, the last one. */
static void scope(uint32_t at, uint8_t type, uint8_t bus, unsigned hops, const uint8_t *path)
{
	table[used] = type;
	table[used + 1] = (uint8_t)(6 + 2 * hops);
	table[used + 5] = bus;
	memcpy(table + used + 6, path, 2 * hops);
	used += 6 + 2 * hops;
	raw16_store(table + at + 2, (uint16_t)(used - at));
}

/* 00:1c.0 leads to buses 2 to 4, 02:00.0 to 3. */
static unsigned buses(uint16_t bdf)
{
	return bdf == 0x00e0 ? 2 | 4 << 8 : bdf == 0x0200 ? 3 | 3 << 8 : 0;
}

static int parse(void)
{
	/* A copy of the exact size, so that ASan detects each byte that is read beyond. */
	uint8_t *copy = malloc(used ? used : 1);
	memcpy(copy, table, used);
	int e = dmar_parse(&d, copy, used);
	free(copy);
	return e;
}

static void units(void **s)
{
	(void)s;
	uint32_t at = unit(0, 0, 0xfed90000);
	scope(at, 1, 0, 1, (uint8_t[]){2, 0});
	scope(at, 3, 0xf0, 1, (uint8_t[]){31, 0}); /* an I/O APIC is no PCI device that a unit serves */
	at = unit(0, 0, 0xfed92000);
	scope(at, 2, 0, 1, (uint8_t[]){0x1c, 0});
	unit(0, 1, 0xfed93000); /* of another segment */
	unit(1, 0, 0xfed91000);
	begin(9, 20); /* a type of later revisions */
	assert_int_equal(parse(), E_OK);
	assert_int_equal(d.units, 3);
	assert_int_equal(d.unit[2].regs, 0xfed91000);
	assert_int_equal(dmar_unit_of(&d, 0x0010, buses), 0);
	assert_int_equal(dmar_unit_of(&d, 0x0011, buses), 2);
	assert_int_equal(dmar_unit_of(&d, 0x00e0, buses), 1); /* the bridge itself */
	assert_int_equal(dmar_unit_of(&d, 0x0200, buses), 1);
	assert_int_equal(dmar_unit_of(&d, 0x0433, buses), 1);
	assert_int_equal(dmar_unit_of(&d, 0x0500, buses), 2);
	assert_int_equal(dmar_unit_of(&d, 0x00f8, buses), 2);
}

/* The source of an I/O APIC's messages, and the unit that receives them. */
static void ioapics(void **s)
{
	(void)s;
	unit(0, 0, 0xfed90000);
	uint32_t at = unit(1, 0, 0xfed91000);
	scope(at, 3, 0xf0, 1, (uint8_t[]){31, 7});
	table[used - 4] = 8; /* enumeration ID */
	at = reserved(0);
	scope(at, 3, 0, 1, (uint8_t[]){1, 0}); /* no device with reserved memory */
	table[used - 4] = 9;
	assert_int_equal(parse(), E_OK);
	assert_false(d.remaps_interrupts);
	assert_int_equal(d.ioapics, 1);
	assert_int_equal(d.scopes, 0);
	assert_null(dmar_ioapic_of(&d, 0));
	assert_null(dmar_ioapic_of(&d, 9));
	const struct dmar_ioapic *io = dmar_ioapic_of(&d, 8);
	assert_non_null(io);
	assert_int_equal(io->unit, 1);
	assert_int_equal(dmar_scope_bdf(&io->source, buses), 0xf0ff);
	table[37] = 1;
	assert_int_equal(parse(), E_OK);
	assert_true(d.remaps_interrupts);
	table[37] = 2; /* another flag */
	assert_int_equal(parse(), E_OK);
	assert_false(d.remaps_interrupts);
}

/* The proximity domains of units; a unit that is not listed has none. */
static void proximity(void **s)
{
	(void)s;
	uint32_t at = begin(3, 20); /* before the unit it names */
	raw64_store(table + at + 8, 0xfed91000);
	raw32_store(table + at + 16, 0x1234567);
	unit(0, 0, 0xfed90000);
	unit(1, 0, 0xfed91000);
	at = begin(3, 20);
	raw64_store(table + at + 8, 0xfed92000);
	assert_int_equal(parse(), E_OK);
	assert_int_equal(d.unit[0].domain, DMAR_NO_DOMAIN);
	assert_int_equal(d.unit[1].domain, 0x1234567);
	begin(3, 16);
	assert_int_equal(parse(), E_INVAL);
	assert_int_equal(d.units, 0);
}

static void no_unit_for_all(void **s)
{
	(void)s;
	scope(unit(0, 0, 0xfed90000), 1, 0, 1, (uint8_t[]){2, 0});
	assert_int_equal(parse(), E_OK);
	assert_int_equal(dmar_unit_of(&d, 0x0010, buses), 0);
	assert_int_equal(dmar_unit_of(&d, 0x0018, buses), -1);
}

static void ways(void **s)
{
	(void)s;
	uint32_t at = unit(0, 0, 0xfed90000);
	scope(at, 1, 0, 3, (uint8_t[]){0x1c, 0, 0, 0, 5, 1}); /* 03:05.1 */
	scope(at, 1, 0, 2, (uint8_t[]){0x1d, 0, 0, 0});       /* behind a device that is not a bridge */
	assert_int_equal(parse(), E_OK);
	assert_int_equal(dmar_scope_bdf(&d.scope[0], buses), 0x0329);
	assert_int_equal(dmar_scope_bdf(&d.scope[1], buses), -1);
	assert_int_equal(dmar_unit_of(&d, 0x0329, buses), 0);
	assert_int_equal(dmar_unit_of(&d, 0x0200, buses), -1);
}

static void reserved_memory(void **s)
{
	(void)s;
	scope(reserved(0), 1, 0, 1, (uint8_t[]){0x14, 0});
	scope(reserved(1), 1, 0, 1, (uint8_t[]){0x15, 0});
	scope(unit(1, 0, 0xfed90000), 1, 0, 1, (uint8_t[]){2, 0});
	assert_int_equal(parse(), E_OK);
	assert_int_equal(d.first_reserved, 1);
	assert_int_equal(d.scopes, 2);
	assert_int_equal(dmar_scope_bdf(&d.scope[1], buses), 0x00a0);
}

static void assert_refused(int e)
{
	assert_int_equal(parse(), e);
	assert_int_equal(d.units, 0);
	assert_int_equal(d.scopes, 0);
}

static void malformed(void **s)
{
	uint32_t at;
	used = 47;
	assert_refused(E_INVAL);
	setup(s), unit(1, 0, 0);
	assert_refused(E_INVAL);
	setup(s), unit(1, 0, 0xfed90800);
	assert_refused(E_INVAL);
	setup(s), at = unit(1, 0, 0xfed90000), raw16_store(table + at + 2, 0);
	assert_refused(E_INVAL); /* the walk would never end */
	setup(s), at = unit(1, 0, 0xfed90000), raw16_store(table + at + 2, 17);
	assert_refused(E_INVAL); /* beyond the table */
	setup(s), begin(0, 12);
	assert_refused(E_INVAL);
	setup(s), unit(1, 0, 0xfed90000), begin(1, 20);
	assert_refused(E_INVAL);
	setup(s), unit(1, 0, 0xfed90000), used += 3;
	assert_refused(E_INVAL); /* only the beginning of a structure */
	setup(s), at = unit(0, 0, 0xfed90000), scope(at, 1, 0, 0, table);
	assert_refused(E_INVAL); /* a path to nowhere */
	setup(s), at = unit(0, 0, 0xfed90000), scope(at, 1, 0, 1, (uint8_t[]){32, 0});
	assert_refused(E_INVAL);
	setup(s), at = unit(0, 0, 0xfed90000), scope(at, 1, 0, 1, (uint8_t[]){0, 8});
	assert_refused(E_INVAL);
	setup(s), at = unit(0, 0, 0xfed90000), scope(at, 1, 0, 1, (uint8_t[]){2, 0});
	table[at + 17] = 10;
	assert_refused(E_INVAL); /* a scope beyond its unit */
	table[at + 17] = 7;
	assert_refused(E_INVAL);
	table[at + 17] = 0;
	assert_refused(E_INVAL);
	used++, raw16_store(table + at + 2, (uint16_t)(used - at));
	table[at + 17] = 9;
	assert_refused(E_INVAL); /* half a path entry */
}

static void too_many(void **s)
{
	const uint8_t path[2 * (DMAR_HOPS_MAX + 1)] = {0};
	(void)s;
	for (unsigned i = 0; i < DMAR_UNITS_MAX; i++)
		unit(0, 0, 0xfed90000);
	assert_int_equal(parse(), E_OK);
	unit(0, 0, 0xfed90000);
	assert_refused(E_NOTSUP);
	setup(s);
	uint32_t at = unit(0, 0, 0xfed90000);
	for (unsigned i = 0; i < DMAR_SCOPES_MAX; i++)
		scope(at, 1, 0, 1, path);
	assert_int_equal(parse(), E_OK);
	scope(at, 1, 0, 1, path);
	assert_refused(E_NOTSUP);
	setup(s), at = unit(1, 0, 0xfed90000);
	for (unsigned i = 0; i < DMAR_IOAPICS_MAX; i++)
		scope(at, 3, 0, 1, path);
	assert_int_equal(parse(), E_OK);
	scope(at, 3, 0, 1, path);
	assert_refused(E_NOTSUP);
	setup(s), scope(unit(0, 0, 0xfed90000), 1, 0, DMAR_HOPS_MAX, path);
	assert_int_equal(parse(), E_OK);
	setup(s), scope(unit(0, 0, 0xfed90000), 1, 0, DMAR_HOPS_MAX + 1, path);
	assert_refused(E_NOTSUP);
}

/* Every byte of a good table changed in every way: refused or accepted, but never read beyond its
 * end. */
static void any_byte(void **s)
{
	(void)s;
	uint32_t at = unit(0, 0, 0xfed90000);
	scope(at, 2, 0, 2, (uint8_t[]){0x1c, 0, 0, 0});
	unit(1, 0, 0xfed91000);
	scope(reserved(0), 1, 0, 1, (uint8_t[]){0x14, 0});
	for (uint32_t i = 48; i < used; i++)
		for (unsigned v = 0; v < 256; v++) {
			uint8_t was = table[i];
			table[i] = (uint8_t)v;
			if (parse() == E_OK)
				for (unsigned bdf = 0; bdf < 0x500; bdf += 7)
					assert_in_range(dmar_unit_of(&d, (uint16_t)bdf, buses) + 1, 0, d.units);
			table[i] = was;
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(units, setup),
		cmocka_unit_test_setup(ioapics, setup),
		cmocka_unit_test_setup(proximity, setup),
		cmocka_unit_test_setup(no_unit_for_all, setup),
		cmocka_unit_test_setup(ways, setup),
		cmocka_unit_test_setup(reserved_memory, setup),
		cmocka_unit_test_setup(malformed, setup),
		cmocka_unit_test_setup(too_many, setup),
		cmocka_unit_test_setup(any_byte, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
