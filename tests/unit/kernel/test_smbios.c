/* kernel/smbios.c: entry points and tables as firmware writes them, and malformed ones. */
#include "tests/unit/rig/phys_window.h"

#include "kernel/smbios.c"

#define TABLE_AT 0x7f000000u
#define SYSTEM_AT 0x7e000000u
#define CONFIG_AT 0x7e001000u

static uint8_t made[4096];
static uint32_t used;
static struct hardware hw;
static struct boot boot;

static int setup(void **s)
{
	(void)s;
	window_open();
	memset(window + BIOS_START, 0, BIOS_END - BIOS_START);
	memset(&hw, 0, sizeof hw);
	memset(&boot, 0, sizeof boot);
	used = 0;
	return 0;
}

/* Adds a structure; `numbers` go to offset 4 on, and `all` is its texts with a NUL behind each. */
static void structure(uint8_t type, const uint8_t *numbers, unsigned n, const char *all, unsigned bytes)
{
	uint8_t *p = made + used;
	p[0] = type;
	p[1] = (uint8_t)(4 + n);
	memcpy(p + 4, numbers, n);
	memcpy(p + 4 + n, all, bytes);
	used += 4 + n + bytes;
	if (bytes == 0)
		made[used++] = 0;
	made[used++] = 0;
}

static void whole(void)
{
	structure(0, (const uint8_t[]){1, 2, 0, 0, 3}, 5, "Vendor\0V 1.2\0" "07/01/2024", 24);
	structure(1, (const uint8_t[]){1, 2, 3, 4}, 4, "Maker  \0Box \x07 X\0A2\0secret", 26);
	structure(2, (const uint8_t[]){0, 1}, 2, "Board", 6);
	structure(1, (const uint8_t[]){1, 1, 1}, 3, "second", 7);
	structure(127, (const uint8_t[]){0}, 0, "", 0);
}

/* Parses a copy of the exact size, so that ASan detects each byte that is read beyond. */
static void parse(uint32_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	memcpy(copy, made, bytes);
	smbios_parse(&hw, copy, bytes);
	free(copy);
}

static void check_names(void)
{
	assert_string_equal(hw.bios_vendor, "Vendor");
	assert_string_equal(hw.bios_version, "V 1.2");
	assert_string_equal(hw.bios_date, "07/01/2024");
	assert_string_equal(hw.vendor, "Maker");
	assert_string_equal(hw.product, "Box ? X");
	assert_string_equal(hw.version, "A2");
	assert_string_equal(hw.board_vendor, "");
	assert_string_equal(hw.board, "Board");
}

static void names(void **s)
{
	(void)s;
	whole();
	parse(used);
	check_names();
}

/* A table cut anywhere gives the texts before the cut, and nothing is read behind it. */
static void cut_anywhere(void **s)
{
	(void)s;
	whole();
	for (uint32_t n = 0; n <= used; n++) {
		memset(&hw, 0, sizeof hw);
		parse(n);
		assert_true(hw.board[0] == 0 || strcmp(hw.vendor, "Maker") == 0);
	}
	check_names();
}

static void malformed(void **s)
{
	(void)s;
	char longest[200];
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = 0;
	structure(0, (const uint8_t[]){1, 9, 0, 0, 200}, 5, longest, sizeof longest);
	structure(1, (const uint8_t[]){1}, 1, "only", 5); /* ends before the product */
	parse(used);
	assert_int_equal(strlen(hw.bios_vendor), HARDWARE_TEXT - 1);
	assert_string_equal(hw.bios_version, "");
	assert_string_equal(hw.bios_date, "");
	assert_string_equal(hw.vendor, "only");
	assert_string_equal(hw.product, "");
	memset(&hw, 0, sizeof hw);
	made[1] = 3; /* shorter than its own head: the walk would not advance */
	parse(used);
	assert_string_equal(hw.bios_vendor, "");
}

static void put_entry(uint64_t at, bool wide, uint64_t table)
{
	uint8_t *p = window + at;
	if (table && table < WINDOW_BYTES - sizeof made)
		memcpy(window + table, made, used);
	memcpy(p, wide ? "_SM3_" : "_SM_", wide ? 5 : 4);
	p[wide ? 6 : 5] = wide ? 24 : 31;
	raw32_store(p + (wide ? 12 : 22), used);
	if (wide)
		raw64_store(p + 16, table);
	else
		raw32_store(p + 24, (uint32_t)table);
	uint8_t *sum = &p[wide ? 5 : 4];
	*sum = 0;
	for (unsigned i = 0, n = wide ? 24 : 31; i < n; i++)
		*sum = (uint8_t)(*sum - (p + i == sum ? 0 : p[i]));
}

static void bios(void **s)
{
	(void)s;
	whole();
	smbios_read(&hw, &boot);
	assert_int_equal(hw.firmware, HARDWARE_FIRMWARE_UNKNOWN);
	put_entry(0xf1230, false, TABLE_AT);
	smbios_read(&hw, &boot);
	assert_int_equal(hw.firmware, HARDWARE_FIRMWARE_BIOS);
	check_names();
	window[0xf1230 + 8]++; /* the sum is wrong */
	memset(&hw, 0, sizeof hw);
	smbios_read(&hw, &boot);
	assert_string_equal(hw.vendor, "");
}

/* UEFI lists both entry points; the table of the 64-bit one counts. One that ends above 4 GiB, which is not
 * mapped, is not read. */
static void uefi(void **s)
{
	(void)s;
	static const uint8_t guids[2][16] = {
		{0x31, 0x2d, 0x9d, 0xeb, 0x88, 0x2d, 0xd3, 0x11, 0x9a, 0x16, 0x00, 0x90, 0x27, 0x3f, 0xc1, 0x4d},
		{0x44, 0x15, 0xfd, 0xf2, 0x94, 0x97, 0x2c, 0x4a, 0x99, 0x2e, 0xe5, 0xbb, 0xcf, 0x20, 0xe3, 0x94},
	};
	structure(1, (const uint8_t[]){1}, 1, "old", 4);
	put_entry(0x7d000000, false, TABLE_AT + 0x1000);
	used = 0;
	whole();
	put_entry(0x7d000100, true, TABLE_AT);
	raw64_store(window + SYSTEM_AT, EFI_SIGNATURE);
	raw64_store(window + SYSTEM_AT + EFI_ENTRIES, 2);
	raw64_store(window + SYSTEM_AT + EFI_ENTRY, CONFIG_AT);
	for (unsigned i = 0; i < 2; i++) {
		memcpy(window + CONFIG_AT + i * 24, guids[i], 16);
		raw64_store(window + CONFIG_AT + i * 24 + 16, 0x7d000000 + i * 0x100);
	}
	boot.uefi = true;
	boot.efi_system = SYSTEM_AT;
	smbios_read(&hw, &boot);
	assert_int_equal(hw.firmware, HARDWARE_FIRMWARE_UEFI);
	check_names();

	static const uint64_t nowhere[] = {0, WINDOW_BYTES - 8, WINDOW_BYTES, UINT64_MAX - 4};
	for (unsigned i = 0; i < ARRAY_LEN(nowhere); i++) {
		memset(&hw, 0, sizeof hw);
		boot.efi_system = nowhere[i];
		smbios_read(&hw, &boot);
		assert_string_equal(hw.vendor, "");
		boot.efi_system = SYSTEM_AT;
		raw64_store(window + SYSTEM_AT + EFI_ENTRY, nowhere[i]);
		smbios_read(&hw, &boot);
		assert_string_equal(hw.vendor, "");
		raw64_store(window + SYSTEM_AT + EFI_ENTRY, CONFIG_AT);
		put_entry(0x7d000100, true, nowhere[i] & ~1ull);
		smbios_read(&hw, &boot);
		assert_string_equal(hw.vendor, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(names, setup),     cmocka_unit_test_setup(cut_anywhere, setup),
		cmocka_unit_test_setup(malformed, setup), cmocka_unit_test_setup(bios, setup),
		cmocka_unit_test_setup(uefi, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
