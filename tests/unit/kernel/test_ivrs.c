/* kernel/ivrs: tables as firmware writes them, and malformed ones. */
#include "tests/unit/rig/host.h"

#include "kernel/ivrs.h"
#include "lib/bytes.h"

#define BUFFER 65536

static uint8_t table[BUFFER];
static uint32_t used, block; /* bytes; where the newest block begins */
static struct ivrs v;

static int setup(void **s)
{
	(void)s;
	memset(table, 0, sizeof table);
	used = block = 48;
	return 0;
}

static void grow(const uint8_t *bytes, unsigned n)
{
	memcpy(table + used, bytes, n);
	used += n;
	raw16_store(table + block + 2, (uint16_t)(used - block));
}

/* Begins the block of a unit. */
static void unit(uint8_t type, uint16_t bdf, uint64_t regs)
{
	static const uint8_t head[40];
	block = used;
	grow(head, type == 0x10 ? 24 : 40);
	table[block] = type;
	raw16_store(table + block + 4, bdf);
	raw64_store(table + block + 8, regs);
}

static void entry4(uint8_t type, uint16_t bdf)
{
	grow((uint8_t[]){type, (uint8_t)bdf, (uint8_t)(bdf >> 8), 0}, 4);
}

/* byte: the last; source: the alias, or the function of a special device with the handle `handle` */
static void entry8(uint8_t type, uint16_t bdf, uint8_t handle, uint16_t source, uint8_t byte)
{
	grow((uint8_t[]){type, (uint8_t)bdf, (uint8_t)(bdf >> 8), 0, handle, (uint8_t)source, (uint8_t)(source >> 8), byte}, 8);
}

static void reserved(uint8_t type, uint16_t first, uint16_t last)
{
	static const uint8_t head[32];
	block = used;
	grow(head, 32);
	table[block] = type;
	raw16_store(table + block + 4, first);
	raw16_store(table + block + 6, last);
}

static int parse(void)
{
	/* A copy of the exact size, so that ASan detects each byte that is read beyond. */
	uint8_t *copy = malloc(used ? used : 1);
	memcpy(copy, table, used);
	int e = ivrs_parse(&v, copy, used);
	free(copy);
	return e;
}

/* Two units: functions, ranges, and the rest. */
static void units(void **s)
{
	(void)s;
	unit(0x10, 0x0002, 0xfed80000);
	entry4(1, 0);
	unit(0x10, 0x2002, 0xfd200000);
	entry4(0, 0);
	entry4(2, 0x2010);
	entry4(3, 0x2100);
	entry4(4, 0x22ff);
	entry8(0x46, 0x2020, 0, 0, 0);
	entry8(0x47, 0x3000, 0, 0, 0);
	entry4(4, 0x3007);
	assert_int_equal(parse(), E_OK);
	assert_int_equal(v.units, 2);
	assert_true(v.unit[1].regs == 0xfd200000 && v.unit[1].bdf == 0x2002);
	static const uint16_t second[] = {0x2010, 0x2100, 0x22ff, 0x2020, 0x3000, 0x3007};
	for (unsigned i = 0; i < ARRAY_LEN(second); i++)
		assert_int_equal(ivrs_unit_of(&v, second[i]), 1);
	static const uint16_t first[] = {0, 0x200f, 0x2011, 0x20ff, 0x2300, 0x3008, 0xffff};
	for (unsigned i = 0; i < ARRAY_LEN(first); i++)
		assert_int_equal(ivrs_unit_of(&v, first[i]), 0);
}

static void nobody_s(void **s)
{
	(void)s;
	unit(0x11, 0x0002, 0xfed80000);
	entry4(2, 0x0010);
	assert_int_equal(parse(), E_OK);
	assert_int_equal(ivrs_unit_of(&v, 0x0010), 0);
	assert_int_equal(ivrs_unit_of(&v, 0x0011), -1);
	used = 48; /* no block */
	assert_int_equal(parse(), E_OK);
	assert_int_equal(ivrs_unit_of(&v, 0x0010), -1);
}

static void aliases(void **s)
{
	(void)s;
	unit(0x11, 0x0002, 0xfed80000);
	entry4(2, 0x0100);
	entry8(0x42, 0x0200, 0, 0x0108, 0);
	entry8(0x43, 0x0300, 0, 0x0110, 0);
	entry4(4, 0x03ff);
	entry4(2, 0x0310); /* later: a function of its own */
	assert_int_equal(parse(), E_OK);
	assert_int_equal(ivrs_requester(&v, 0x0100), 0x0100);
	assert_int_equal(ivrs_requester(&v, 0x0200), 0x0108);
	assert_int_equal(ivrs_requester(&v, 0x0300), 0x0110);
	assert_int_equal(ivrs_requester(&v, 0x03ff), 0x0110);
	assert_int_equal(ivrs_requester(&v, 0x0310), 0x0310);
	assert_int_equal(ivrs_requester(&v, 0x0400), 0x0400); /* of no unit */
}

/* One unit in blocks of several types: the highest that we know is the one that counts. */
static void types(void **s)
{
	(void)s;
	for (unsigned highest = 0; highest < 3; highest++) {
		static const uint8_t type[] = {0x10, 0x11, 0x40};
		setup(NULL);
		for (unsigned i = 0; i <= highest; i++) {
			unit(type[i], 0x0002, 0xfed80000);
			entry4(2, (uint16_t)(0x0100 * (i + 1)));
		}
		unit(0x50, 0x0002, 0); /* of later revisions */
		assert_int_equal(parse(), E_OK);
		assert_int_equal(v.units, 1);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(ivrs_unit_of(&v, (uint16_t)(0x0100 * (i + 1))), i == highest ? 0 : -1);
	}
}

static void specials(void **s)
{
	(void)s;
	unit(0x10, 0x0002, 0xfed80000);
	unit(0x10, 0x2002, 0xfed90000);
	entry8(0x48, 0, 4, 0x00a0, 1);
	entry8(0x48, 0, 0, 0x00a1, 2); /* a timer */
	grow((uint8_t[22]){[0] = 0xf0, [1] = 0x30, [21] = 0}, 22);
	grow((uint8_t[25]){[0] = 0xf0, [1] = 0x30, [21] = 3}, 25);
	assert_int_equal(parse(), E_OK);
	assert_int_equal(v.ioapics, 1);
	assert_null(ivrs_ioapic_of(&v, 0));
	const struct ivrs_ioapic *io = ivrs_ioapic_of(&v, 4);
	assert_true(io && io->unit == 1 && io->source == 0x00a0);
	assert_int_equal(ivrs_unit_of(&v, 0x0030), -1);
}

static void firmware_s_own(void **s)
{
	(void)s;
	unit(0x10, 0x0002, 0xfed80000);
	reserved(0x21, 0x0081, 0x0005);
	reserved(0x22, 0x0100, 0x0107);
	reserved(0x20, 5, 3);
	reserved(0x21, 0x0090, 0);
	raw16_store(table + block + 8, 1); /* of another segment */
	assert_int_equal(parse(), E_OK);
	static const uint16_t want[][2] = {{0x81, 0x81}, {0x100, 0x107}, {0, 0xffff}};
	assert_int_equal(v.reserveds, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_true(v.reserved[i].first == want[i][0] && v.reserved[i].last == want[i][1]);
	reserved(0x22, 0x0107, 0x0100);
	assert_int_equal(parse(), E_INVAL);
	assert_int_equal(v.units + v.ranges + v.reserveds, 0);
}

static void other_segments(void **s)
{
	(void)s;
	unit(0x10, 0x0002, 0xfed80000);
	raw16_store(table + block + 16, 1);
	entry4(1, 0);
	assert_int_equal(parse(), E_OK);
	assert_int_equal(v.units, 0);
	assert_int_equal(ivrs_unit_of(&v, 0), -1);
}

/* Ranges that do not end, do not begin, lie in one another, or run backwards. */
static void ranges(void **s)
{
	static const uint8_t row[][3] = {{3, 0, 0}, {4, 0, 0}, {3, 3, 4}, {0x43, 0, 0}, {3, 4, 4}, {0x43, 3, 4}};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		setup(NULL);
		unit(0x10, 0x0002, 0xfed80000);
		for (unsigned k = 0; k < 3; k++) {
			if (row[i][k] & 0x40)
				entry8(row[i][k], 0x0100, 0, 0x0200, 0);
			else
				entry4(row[i][k], 0x0100);
		}
		assert_int_equal(parse(), E_INVAL);
	}
	setup(NULL);
	unit(0x10, 0x0002, 0xfed80000);
	entry4(3, 0x0101);
	entry4(4, 0x0100);
	assert_int_equal(parse(), E_INVAL);
	setup(NULL);
	unit(0x10, 0x0002, 0xfed80000);
	entry4(3, 0x0100);
	unit(0x10, 0x0003, 0xfed90000); /* a range ends in its own block */
	entry4(4, 0x0101);
	assert_int_equal(parse(), E_INVAL);
}

static void registers(void **s)
{
	static const uint64_t bad[] = {0, 0xfed80001, 0xfed81000, 1ull << 52, UINT64_MAX << 14};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		setup(NULL);
		unit(0x10, 0x0002, bad[i]);
		assert_int_equal(parse(), E_INVAL);
	}
}

/* Lengths that end nowhere, lead on forever, or beyond the end. */
static void lengths(void **s)
{
	static const uint16_t bad[] = {0, 1, 3, 4, 23, 29, UINT16_MAX};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		setup(NULL);
		unit(0x10, 0x0002, 0xfed80000);
		entry4(2, 0x0100);
		raw16_store(table + block + 2, bad[i]);
		assert_int_equal(parse(), E_INVAL);
	}
	setup(NULL);
	unit(0x10, 0x0002, 0xfed80000);
	grow((uint8_t[22]){[0] = 0xf0, [21] = 1}, 22); /* a name beyond the block */
	assert_int_equal(parse(), E_INVAL);
}

/* Each shorter table, and each byte with each value: never read beyond, and if accepted, within bounds. */
static void anything(void **s)
{
	(void)s;
	unit(0x10, 0x0002, 0xfed80000);
	entry4(3, 0x0100);
	entry4(4, 0x01ff);
	unit(0x11, 0x0002, 0xfed80000);
	entry8(0x43, 0x0100, 0, 0x0110, 0);
	entry4(4, 0x01ff);
	entry8(0x48, 0, 4, 0x00a0, 1);
	reserved(0x22, 0x0100, 0x0107);
	assert_int_equal(parse(), E_OK);
	const uint32_t whole = used;
	for (used = 0; used < whole; used++)
		assert_true(parse() == E_OK || v.units == 0);
	used = whole;
	for (uint32_t at = 48; at < whole; at++)
		for (unsigned value = 0; value < 256; value++) {
			uint8_t before = table[at];
			table[at] = (uint8_t)value;
			assert_true(parse() == E_OK || v.units == 0);
			assert_true(v.units <= IVRS_UNITS_MAX && v.ranges <= IVRS_RANGES_MAX);
			assert_true(ivrs_unit_of(&v, 0x0100) < (int)v.units);
			table[at] = before;
		}
}

static void too_many(void **s)
{
	(void)s;
	for (unsigned i = 0; i <= IVRS_UNITS_MAX; i++) {
		assert_int_equal(parse(), E_OK);
		unit(0x10, (uint16_t)i, 0xfed80000 + i * 0x4000ull);
	}
	assert_int_equal(parse(), E_NOTSUP);
	assert_int_equal(v.units, 0);
	setup(NULL);
	unit(0x10, 0x0002, 0xfed80000);
	for (unsigned i = 0; i <= IVRS_RANGES_MAX; i++) {
		assert_int_equal(parse(), E_OK);
		entry4(2, (uint16_t)i);
	}
	assert_int_equal(parse(), E_NOTSUP);
	setup(NULL);
	unit(0x10, 0x0002, 0xfed80000);
	for (unsigned i = 0; i <= IVRS_IOAPICS_MAX; i++) {
		assert_int_equal(parse(), E_OK);
		entry8(0x48, 0, (uint8_t)i, 0x00a0, 1);
	}
	assert_int_equal(parse(), E_NOTSUP);
	setup(NULL);
	for (unsigned i = 0; i <= IVRS_RESERVED_MAX; i++) {
		assert_int_equal(parse(), E_OK);
		reserved(0x21, (uint16_t)i, 0);
	}
	assert_int_equal(parse(), E_NOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(units, setup),          cmocka_unit_test_setup(nobody_s, setup),
		cmocka_unit_test_setup(aliases, setup),        cmocka_unit_test_setup(types, setup),
		cmocka_unit_test_setup(specials, setup),       cmocka_unit_test_setup(firmware_s_own, setup),
		cmocka_unit_test_setup(other_segments, setup), cmocka_unit_test_setup(ranges, setup),
		cmocka_unit_test_setup(registers, setup),      cmocka_unit_test_setup(lengths, setup),
		cmocka_unit_test_setup(anything, setup),       cmocka_unit_test_setup(too_many, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
