/*
 * GUID partition tables (disk/gpt.h): with sectors of 512 and 4,096 bytes, entries of several lengths, the backup in place of a
 * damaged primary table, and tables that are damaged at any byte or say the impossible. tests/system has tables of sfdisk.
 */
#include "tests/unit/rig/host.h"

#include "disk/gpt.h"
#include "lib/bytes.h"
#include "lib/crc32.h"

#define DISK_BYTES (1u << 20)

static const struct gpt_guid ours = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
static const struct gpt_guid other = {{0xaf, 0x3d, 0xc6, 0x0f, 0x83, 0x84, 0x72, 0x47, 0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47, 0x7d, 0xe4}};

static struct {
	uint8_t bytes[DISK_BYTES];
	uint32_t sector;
	uint64_t sectors;
	uint32_t entries, entry_bytes;
	int fails; /* the request after so many */
	unsigned requests;
} disk;

static uint8_t buffer[GPT_BUFFER];

static uint64_t array_sectors(void)
{
	return ((uint64_t)disk.entries * disk.entry_bytes + disk.sector - 1) / disk.sector;
}

static uint64_t first_usable(void) { return 2 + array_sectors(); }
static uint64_t last_usable(void) { return disk.sectors - 2 - array_sectors(); }

static uint8_t *header(bool backup) { return disk.bytes + (backup ? disk.sectors - 1 : 1) * disk.sector; }
static uint64_t array_lba(bool backup) { return backup ? last_usable() + 1 : 2; }
static uint8_t *array(bool backup) { return disk.bytes + array_lba(backup) * disk.sector; }

static void seal(bool backup)
{
	uint8_t *h = header(backup);
	le32_store(h + 88, crc32_add(0, array(backup), (size_t)disk.entries * disk.entry_bytes));
	le32_store(h + 16, 0);
	le32_store(h + 16, crc32_add(0, h, le32_load(h + 12)));
}

static void seal_header(bool backup)
{
	uint8_t *h = header(backup);
	le32_store(h + 16, 0);
	le32_store(h + 16, crc32_add(0, h, 92));
}

static void put(unsigned index, const struct gpt_guid *type, uint64_t first, uint64_t last)
{
	for (unsigned backup = 0; backup < 2; backup++) {
		uint8_t *e = array(backup) + index * disk.entry_bytes;
		memcpy(e, type->bytes, 16);
		le64_store(e + 32, first);
		le64_store(e + 40, last);
		seal(backup);
	}
}

static void make_disk(uint32_t sector, uint32_t entries, uint32_t entry_bytes)
{
	memset(&disk, 0, sizeof disk);
	disk.sector = sector;
	disk.sectors = DISK_BYTES / sector;
	disk.entries = entries;
	disk.entry_bytes = entry_bytes;
	disk.fails = -1;
	for (unsigned backup = 0; backup < 2; backup++) {
		uint8_t *h = header(backup);
		memcpy(h, "EFI PART", 8);
		le32_store(h + 8, 0x10000);
		le32_store(h + 12, 92);
		le64_store(h + 24, backup ? disk.sectors - 1 : 1);
		le64_store(h + 32, backup ? 1 : disk.sectors - 1);
		le64_store(h + 40, first_usable());
		le64_store(h + 48, last_usable());
		le64_store(h + 72, array_lba(backup));
		le32_store(h + 80, entries);
		le32_store(h + 84, entry_bytes);
		seal(backup);
	}
}

static struct gpt look(void)
{
	struct gpt g;
	struct disk_request r;
	disk.requests = 0;
	gpt_begin(&g, disk.sector, disk.sectors, &ours, buffer);
	while (gpt_request(&g, &r)) {
		assert_true(r.op == DISK_READ && r.bytes && r.bytes <= GPT_BUFFER && r.data == buffer);
		assert_true(r.at % disk.sector == 0 && r.bytes % disk.sector == 0 && r.at + r.bytes <= DISK_BYTES);
		assert_true(disk.requests++ < 1000);
		const bool fails = disk.fails == 0;
		disk.fails -= disk.fails >= 0;
		if (!fails)
			memcpy(r.data, disk.bytes + r.at, r.bytes);
		gpt_done(&g, fails ? E_DEVICE : E_OK);
	}
	assert_true(g.found ? g.at >= first_usable() * disk.sector && g.bytes && g.at + g.bytes <= (last_usable() + 1) * disk.sector
	                    : g.why != NULL);
	return g;
}

static const uint32_t forms[][3] = {{512, 128, 128}, {4096, 128, 128}, {512, 5, 128}, {512, 16, 512}, {4096, 3, 4096}, {512, 1, 128}};

static void found(void **s)
{
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(forms); i++) {
		make_disk(forms[i][0], forms[i][1], forms[i][2]);
		struct gpt g = look();
		assert_true(!g.found && !g.backup);
		assert_string_equal(g.why, "no partition of that type");
		const uint64_t at = first_usable() + 3, end = last_usable();
		if (disk.entries > 1)
			put(0, &other, first_usable(), at - 1);
		put(disk.entries - 1, &ours, at, end);
		g = look();
		assert_true(g.found && !g.backup && g.more == 0);
		assert_int_equal(g.at, at * disk.sector);
		assert_int_equal(g.bytes, (end - at + 1) * disk.sector);
		if (disk.entries > 2) { /* the first one counts */
			put(1, &ours, first_usable(), first_usable());
			g = look();
			assert_true(g.found && g.more == 1 && g.at == first_usable() * disk.sector && g.bytes == disk.sector);
		}
	}
}

static void backup(void **s)
{
	(void)s;
	make_disk(512, 128, 128);
	put(7, &ours, 100, 200);
	header(false)[17] ^= 1;
	struct gpt g = look();
	assert_true(g.found && g.backup && g.at == 100 * 512);
	header(true)[100] ^= 1; /* outside the header's bytes */
	assert_true(look().found);
	header(true)[17] ^= 1;
	g = look();
	assert_true(!g.found);
	assert_string_equal(g.why, "the partition table's header has a wrong checksum");
	make_disk(512, 128, 128);
	put(7, &ours, 100, 200);
	for (int at = 0; at < 5; at++) { /* a sector of the primary table that cannot be read */
		disk.fails = at;
		g = look();
		assert_true(g.found && g.backup && g.at == 100 * 512);
	}
	disk.fails = -1;
	put(8, &ours, 300, 310);
	le64_store(array(false) + 7 * 128 + 32, 150); /* nothing stays of a table whose checksum turns out to be wrong */
	g = look();
	assert_true(g.found && g.backup && g.more == 1);
	assert_int_equal(g.at, 100 * 512);
	assert_int_equal(g.bytes, 101 * 512);
	put(7, &other, 100, 200);
	put(8, &other, 300, 310);
	memcpy(array(false) + 7 * 128, &ours, sizeof ours);
	assert_string_equal(look().why, "no partition of that type");
	memset(disk.bytes, 0, DISK_BYTES);
	assert_string_equal(look().why, "no partition table");
}

/* Any bit of either table, alone: the other one is used. */
static void damage(void **s)
{
	(void)s;
	seed_random("damage");
	make_disk(512, 128, 128);
	put(7, &ours, 100, 200);
	for (unsigned round = 0; round < random_rounds(3000); round++) {
		const bool which = round & 1;
		const bool in_header = random_below(2);
		uint8_t *at = in_header ? header(which) + random_below(92) : array(which) + random_below(128 * 128);
		const uint8_t bit = (uint8_t)(1u << random_below(8));
		*at ^= bit;
		const struct gpt g = look();
		assert_true(g.found && g.more == 0 && g.at == 100 * 512 && g.bytes == 101 * 512);
		assert_int_equal(g.backup, !which);
		*at ^= bit;
	}
}

/* A sealed table that says the impossible. */
static void impossible(void **s)
{
	static const struct {
		unsigned at, bytes;
		uint64_t value;
	} row[] = {
		{12, 4, 91}, {12, 4, 513}, {24, 8, 2}, {40, 8, 1000000}, {48, 8, 1u << 20}, {48, 8, 5}, {72, 8, 1}, {72, 8, 0},
		{72, 8, 1u << 30}, {72, 8, UINT64_MAX}, {72, 8, 2040}, {80, 4, 0}, {80, 4, UINT32_MAX}, {80, 4, 1025}, {84, 4, 0},
		{84, 4, 64}, {84, 4, 129}, {84, 4, 8192}, {40, 8, 2},
		{40, 8, 33}, {48, 8, 2047}, {48, 8, 2015} /* the last is of the backup's entries */};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		make_disk(512, 128, 128);
		put(7, &ours, 100, 200);
		for (unsigned which = 0; which < 2; which++) {
			uint8_t *at = header(which) + row[i].at;
			if (row[i].bytes == 4)
				le32_store(at, (uint32_t)row[i].value);
			else
				le64_store(at, row[i].value);
			seal_header(which);
		}
		const struct gpt g = look();
		assert_true(!g.found && g.why);
	}
}

/* Entries outside of what is usable, or that end before they begin, are none. */
static void entries_outside(void **s)
{
	static const uint64_t row[][2] = {{0, 0}, {1, 100}, {33, 100}, {100, 99}, {100, 2040}, {100, UINT64_MAX}, {UINT64_MAX, 0}, {3000, 4000}};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		make_disk(512, 128, 128);
		put(3, &ours, row[i][0], row[i][1]);
		assert_false(look().found);
		put(9, &ours, 300, 300);
		assert_true(look().at == 300 * 512);
	}
}

/* Random headers with valid checksums: every request stays on the disk (look), and the search ends. */
static void random_headers(void **s)
{
	(void)s;
	seed_random("random_headers");
	for (unsigned round = 0; round < random_rounds(3000); round++) {
		make_disk(round % 2 ? 512 : 4096, 128, 128);
		put(7, &ours, 100, 200);
		for (unsigned which = 0; which < 2; which++) {
			for (unsigned n = random_below(4); n; n--)
				header(which)[12 + random_below(80)] = (uint8_t)random_below(256);
			le32_store(header(which) + 12, 92);
			seal_header(which);
		}
		(void)look();
	}
}

static void too_small(void **s)
{
	(void)s;
	struct gpt g;
	struct disk_request r;
	gpt_begin(&g, 512, 3, &ours, buffer);
	assert_false(gpt_request(&g, &r));
	assert_true(!g.found && g.why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found),
		cmocka_unit_test(backup),
		cmocka_unit_test(damage),
		cmocka_unit_test(impossible),
		cmocka_unit_test(entries_outside),
		cmocka_unit_test(random_headers),
		cmocka_unit_test(too_small),
	};
	return cmocka_run_group_tests_name("gpt", tests, NULL, NULL);
}
