/*
 * kernel/irt_amdvi: entries and messages as an AMD IOMMU reads them (publication 48882), in both forms. Each device
 * has a table of its own, which is a block of ours.
 */
#include "tests/unit/rig/host.h"

#include "kernel/apic.h"
#include "kernel/irt.h"

static uint64_t ram[8192];
static struct irt table;

static int setup(void **s)
{
	(void)s;
	memset(ram, 0, sizeof ram);
	table = (struct irt){&irt_amdvi, ram, 12, false};
	return 0;
}

/* What a unit makes of a message of the device whose table begins at entry `first` and has 1 << log2 entries: the
 * vector in bits 39:32, the APIC ID in bits 31:0; 0: it is blocked. */
static uint64_t raised(struct message m, uint32_t first, unsigned log2)
{
	uint32_t entry = m.data & 0x7ff;
	assert_int_equal(m.address >> 20, 0xfee);
	assert_true((m.data >> 8 & 7) <= 1); /* fixed or arbitrated: others are not remapped */
	if (entry >> log2)
		return 0;
	if (!table.wide) {
		uint32_t e = ((const uint32_t *)ram)[first + entry];
		assert_int_equal(e & 0xff0000fe, 0); /* fixed, physical, no guest */
		return e & 1 ? (uint64_t)(e >> 16 & 0xff) << 32 | (e >> 8 & 0xff) : 0;
	}
	const uint64_t low = ram[2 * (first + entry)], high = ram[2 * (first + entry) + 1];
	assert_int_equal(low & 0xffffffff000000feull, 0);
	assert_int_equal(high & 0x00ffffffffffff00ull, 0);
	return low & 1 ? (high & 0xff) << 32 | (high >> 56) << 24 | (low >> 8 & 0xffffff) : 0;
}

static void both_forms(void **s)
{
	static const uint32_t ids[] = {0, 1, 0xfe, 0x12345678};
	(void)s;
	for (unsigned wide = 0; wide < 2; wide++)
		for (unsigned i = 0; i < 3u + wide; i++) {
			table.wide = wide;
			assert_int_equal(irt_amdvi.set(&table, 64 + i, 0x10, 0x33, false, ids[i]), E_OK);
			struct message m = irt_amdvi.message(64 + i, i);
			assert_int_equal(raised(m, 64, 5), 0x33ull << 32 | ids[i]);
			assert_int_equal(raised(m, 64 + 32, 5), 0); /* another device's */
		}
	assert_int_equal(irt_amdvi.entry_bytes(false), 4);
	assert_int_equal(irt_amdvi.entry_bytes(true), 16);
}

/* A table of 32-bit entries has no such IDs: not another core, nor the previous one. */
static void short_ids(void **s)
{
	(void)s;
	assert_int_equal(irt_amdvi.set(&table, 16, 0, 0x33, false, 5), E_OK);
	assert_int_equal(irt_amdvi.set(&table, 16, 0, 0x33, false, 255), E_NOTSUP);
	assert_int_equal(raised(irt_amdvi.message(16, 0), 16, 4), 0);
}

static void blocks(void **s)
{
	static const uint32_t row[][2] = {{0, 16}, {1, 16}, {16, 16}, {17, 32}, {64, 64}, {512, 512}, {513, 512}, {2048, 512}};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++)
		assert_int_equal(irt_amdvi.block(row[i][0]), row[i][1]);
	assert_int_equal(irt_amdvi.set(&table, 4095, 0, 0x33, false, 5), E_OK);
	assert_int_equal(irt_amdvi.set(&table, 4096, 0, 0x33, false, 5), E_INVAL);
}

/* The pin's vector is the index of its entry, and the vector that it raises. */
static void serial_line(void **s)
{
	(void)s;
	assert_int_equal(irt_amdvi.set(&table, irt_amdvi.serial, 0xa0, VECTOR_SERIAL, true, 9), E_OK);
	assert_int_equal(irt_amdvi.redirection(irt_amdvi.serial), 0);
	struct message m = {0xfee00000, VECTOR_SERIAL};
	assert_int_equal(raised(m, 0, 8), (uint64_t)VECTOR_SERIAL << 32 | 9);
	assert_int_equal(irt_amdvi.serial_entries, 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(both_forms, setup), cmocka_unit_test_setup(short_ids, setup),
		cmocka_unit_test_setup(blocks, setup),     cmocka_unit_test_setup(serial_line, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
