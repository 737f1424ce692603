/* Installation (disk/install.h) on a disk whose power is cut at every request, which fails or lies, is not empty or too small;
 * install files that are damaged at any byte. tests/system has the launcher's files, and sgdisk. */
#include "tests/unit/rig/cut_disk.h"

#include "disk/boot_env.h"
#include "disk/install.h"
#include "disk/layout.h"
#include "lib/bytes.h"
#include "lib/crc32.h"

#define PIECES 6u /* of the file's disk */
#define SECTORS 600u
#define DISK_BYTES (SECTORS * 512u)
#define ENV_SECTOR 64u /* first of its partition, in piece 1 */
#define INDEX 5u       /* pieces in the file: 0, 1, 3 (zeros), 4, 5 */

static uint8_t file[INSTALL_HEADER + 4096 + 4 * INSTALL_PIECE], memory[INSTALL_MEMORY], random_bytes[INSTALL_RANDOM];
static uint8_t empty[DISK_BYTES];
static struct cut_disk disk;

static void seal(void)
{
	sha256_of(file + INSTALL_HEADER, sizeof file - INSTALL_HEADER, file + 32);
	sha256_of(file, INSTALL_HEADER - SHA256_BYTES, file + INSTALL_HEADER - SHA256_BYTES);
}

static uint8_t *data(unsigned n) { return file + INSTALL_HEADER + 4096 + n * INSTALL_PIECE; }

static void make_file(void)
{
	static const uint32_t index[INDEX] = {0, 1, 3 | INSTALL_ZEROS, 4, 5};
	const struct gpt_guid env = GPT_TYPE_BOOT_ENV;
	memset(file, 0, sizeof file);
	memcpy(file, "Hayate: install\n", 16);
	le32_store(file + 16, 1);
	le32_store(file + 20, INDEX);
	le64_store(file + 24, PIECES * INSTALL_PIECE);
	for (unsigned n = 0; n < INDEX; n++)
		le32_store(file + INSTALL_HEADER + 4 * n, index[n]);
	for (unsigned n = 1; n < 4; n++)
		memset(data(n), (int)(0xa0 + n), INSTALL_PIECE);
	uint8_t *first = data(0), *header = first + 512;
	memset(first, 0x90, 446);
	first[450] = 0xee;
	le32_store(first + 454, 1);
	first[510] = 0x55;
	first[511] = 0xaa;
	memcpy(header, "EFI PART", 8);
	le32_store(header + 8, 0x10000);
	le32_store(header + 12, 92);
	le64_store(header + 24, 1);
	le64_store(header + 40, 34);
	le64_store(header + 72, 2);
	le32_store(header + 80, 128);
	le32_store(header + 84, 128);
	memcpy(first + 1024, env.bytes, 16);
	le64_store(first + 1024 + 32, ENV_SECTOR);
	le64_store(first + 1024 + 40, ENV_SECTOR + 63);
	seal();
}

static const char *begin(struct install *i, bool force)
{
	return install_begin(i, file, sizeof file, 512, SECTORS, random_bytes, force, memory);
}

static bool serve(struct install *i)
{
	struct disk_request r;
	int error;
	while (install_request(i, &r)) {
		/* the first sector comes alone, when all else is there (install.h): until then the disk does not boot */
		assert_true(r.op != DISK_WRITE || r.at != 0 || r.bytes == 512 || (r.data[510] == 0 && r.data[511] == 0));
		if (!cut_disk_serve(&disk, &r, &error))
			return false;
		install_done(i, error);
	}
	return true;
}

/* By the reader of the product, which checks both checksums. */
static bool finds_env(uint8_t *bytes)
{
	static uint8_t buffer[GPT_BUFFER];
	const struct gpt_guid env = GPT_TYPE_BOOT_ENV;
	struct gpt g;
	struct disk_request r;
	gpt_begin(&g, 512, SECTORS, &env, buffer);
	while (gpt_request(&g, &r)) {
		memcpy(r.data, bytes + r.at, r.bytes);
		gpt_done(&g, E_OK);
	}
	return g.found && g.at == ENV_SECTOR * 512;
}

static void check_disk(void)
{
	struct boot_env e;
	static uint8_t one[INSTALL_PIECE];
	assert_true(finds_env(disk.safe));
	assert_int_equal(le32_load(disk.safe + 458), SECTORS - 1);
	memset(disk.safe + 512, 0, 512); /* the backup is right too */
	assert_true(finds_env(disk.safe));
	assert_true(boot_env_read(disk.safe + ENV_SECTOR * 512 + BOOT_ENV_AT, &e));
	assert_true(e.active == 0 && e.trying == IMAGE_NONE);
	for (unsigned p = 2; p < PIECES; p++) {
		memset(one, p == 3 ? 0 : p == 2 ? 0x5a : (int)(0xa0 + p - 2), sizeof one);
		assert_memory_equal(disk.safe + p * INSTALL_PIECE, one, sizeof one);
	}
}

static void installed(void **s)
{
	(void)s;
	struct install i;
	make_file();
	cut_disk_copy(&disk, empty);
	memset(disk.now + 2 * INSTALL_PIECE, 0x5a, 2 * INSTALL_PIECE); /* 2 is left, 3 becomes zeros */
	assert_null(begin(&i, true));
	assert_true(serve(&i));
	assert_null(i.why);
	check_disk();
}

static void cut_at_every_request(void **s)
{
	(void)s;
	struct install i;
	static uint8_t full[DISK_BYTES];
	seed_random("cut_at_every_request");
	make_file();
	memset(full, 0xee, sizeof full);
	for (int cut = 0;; cut++) {
		cut_disk_copy(&disk, cut % 2 ? full : empty);
		memset(disk.now + 2 * INSTALL_PIECE, 0x5a, INSTALL_PIECE);
		disk.cut = cut;
		assert_null(begin(&i, true));
		if (serve(&i)) {
			check_disk();
			assert_true(cut > 12);
			return;
		}
		/* what was there, or nothing that boots, or all of it */
		const uint8_t *mbr = disk.safe + 510;
		if (mbr[0] == 0x55 && mbr[1] == 0xaa)
			check_disk();
		else
			assert_true((mbr[0] == 0 && mbr[1] == 0) || mbr[0] == 0xee || mbr[1] == 0xee);
	}
}

static void failing_disk(void **s)
{
	(void)s;
	struct install i;
	make_file();
	cut_disk_copy(&disk, empty);
	assert_null(begin(&i, false));
	assert_true(serve(&i));
	const int requests = (int)disk.requests;
	for (int n = 0; n < requests; n++) {
		cut_disk_copy(&disk, empty);
		disk.fails = n;
		assert_null(begin(&i, false));
		assert_true(serve(&i));
		assert_string_equal(i.why, "the disk cannot be read or written");
	}
	cut_disk_copy(&disk, empty);
	disk.drops = true;
	assert_null(begin(&i, false));
	assert_true(serve(&i));
	assert_string_equal(i.why, "the disk has not kept what was written");
	assert_int_equal(disk.safe[510], 0);
}

static void not_empty(void **s)
{
	(void)s;
	struct install i;
	/* ISO 9660 begins at 32 KiB, btrfs at 64 KiB, and nothing is before them */
	static const size_t at[] = {0, 511, 512, 1080, INSTALL_PIECE - 1, 32769, 65600, 65536 + INSTALL_PIECE,
	                            8 * INSTALL_PIECE - 1, DISK_BYTES - 1, DISK_BYTES - 512};
	make_file();
	for (size_t n = 0; n < ARRAY_LEN(at); n++) {
		cut_disk_copy(&disk, empty);
		disk.now[at[n]] = 1;
		assert_null(begin(&i, false));
		assert_true(serve(&i));
		assert_string_equal(i.why, "the disk is not empty");
		disk.now[at[n]] = 0;
		assert_memory_equal(disk.now, empty, DISK_BYTES);
	}
}

static void wrong_files(void **s)
{
	(void)s;
	struct install i;
	seed_random("wrong_files");
	make_file();
	assert_non_null(install_begin(&i, file, 100, 512, SECTORS, random_bytes, true, memory));
	assert_non_null(install_begin(&i, file, sizeof file - 1, 512, SECTORS, random_bytes, true, memory));
	assert_non_null(install_begin(&i, file, sizeof file, 4096, SECTORS, random_bytes, true, memory));
	assert_non_null(install_begin(&i, file, sizeof file, 512, PIECES * 64 + 32, random_bytes, true, memory));
	assert_non_null(install_begin(&i, file, sizeof file, 512, 0, random_bytes, true, memory));
	assert_null(install_begin(&i, file, sizeof file, 512, PIECES * 64 + 33, random_bytes, true, memory));
	for (unsigned n = 0; n < 60; n++) { /* a bit anywhere: nothing is written */
		const size_t at = n < 45 ? random_below(INSTALL_HEADER + 4096) : random_below(sizeof file);
		file[at] ^= (uint8_t)(1u << random_below(8));
		cut_disk_copy(&disk, empty);
		const char *why = begin(&i, true);
		if (!why) {
			assert_true(serve(&i));
			why = i.why;
		}
		assert_non_null(why);
		assert_int_equal(disk.requests, 0);
		make_file();
	}
	for (unsigned n = 0; n < 150; n++) { /* with right hashes: nothing beyond disk and file is touched */
		const size_t at = random_below(2) ? 20 + random_below(12) : INSTALL_HEADER + random_below(4 * INDEX + 8);
		random_fill(file + at, 1);
		if (random_below(4) == 0)
			random_fill(data(0) + 512 + random_below(1024), 1);
		seal();
		cut_disk_copy(&disk, empty);
		if (!begin(&i, true))
			assert_true(serve(&i));
		make_file();
	}
}

static int make(void **s)
{
	(void)s;
	seed_random("make");
	random_fill(random_bytes, sizeof random_bytes);
	cut_disk_make(&disk, DISK_BYTES);
	return 0;
}

static int drop(void **s)
{
	(void)s;
	cut_disk_free(&disk);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(installed), cmocka_unit_test(cut_at_every_request),
	                                   cmocka_unit_test(failing_disk), cmocka_unit_test(not_empty), cmocka_unit_test(wrong_files)};
	return cmocka_run_group_tests(tests, make, drop);
}
