/* Images (disk/image.h) written to a partition (disk/upgrade.h) whose power is cut at every request, which fails or lies, and
 * files that are damaged at any byte. */
#include "tests/unit/rig/cut_disk.h"
#include "tests/unit/rig/image_file.h"

#include "disk/upgrade.h"

#define IMAGE_BYTES (3u * IMAGE_UNIT)
#define PARTITION (5u * IMAGE_UNIT)

static uint8_t file[IMAGE_HEADER + IMAGE_BYTES], old[PARTITION], buffer[UPGRADE_PIECE];
static struct cut_disk disk;

static void make_file(uint8_t salt, uint64_t bytes) { image_file_make(file, IMAGE_BYTES, bytes, salt); }

/* False: the power has been cut. */
static bool serve(struct upgrade *u)
{
	struct disk_request r;
	int error;
	while (upgrade_request(u, &r)) {
		if (!cut_disk_serve(&disk, &r, &error))
			return false;
		upgrade_done(u, error);
	}
	return true;
}

static bool begin(struct upgrade *u)
{
	return upgrade_begin(u, file, sizeof file, PARTITION, buffer) == NULL;
}

/* The partition has a header only if it has the image. */
static bool is_whole(const uint8_t *partition)
{
	struct image i;
	uint8_t digest[SHA256_BYTES];
	if (image_read(partition + PARTITION - IMAGE_HEADER, &i))
		return false;
	sha256_of(partition, i.bytes, digest);
	assert_memory_equal(digest, i.digest, sizeof digest);
	return true;
}

static void written(void **s)
{
	(void)s;
	struct upgrade u;
	make_file(1, IMAGE_BYTES);
	cut_disk_copy(&disk, old);
	assert_true(begin(&u) && serve(&u));
	assert_null(u.why);
	assert_memory_equal(disk.safe, file + IMAGE_HEADER, IMAGE_BYTES);
	assert_true(is_whole(disk.safe));
	assert_memory_equal(u.image.build, "aaaaaaaaaa", 10);
	memcpy(old, disk.safe, PARTITION); /* for those below: the image before */
}

static void cut_at_every_request(void **s)
{
	(void)s;
	struct upgrade u;
	seed_random("cut_at_every_request");
	make_file(2, IMAGE_BYTES);
	for (int cut = 0;; cut++) {
		cut_disk_copy(&disk, old);
		disk.cut = cut;
		assert_true(begin(&u));
		const bool whole = serve(&u);
		const bool has = is_whole(disk.safe);
		if (whole) {
			assert_true(has && cut > 8);
			return;
		}
		assert_true(has || cut > 0);
	}
}

static void failing_disk(void **s)
{
	(void)s;
	struct upgrade u;
	make_file(3, IMAGE_BYTES);
	cut_disk_copy(&disk, old);
	assert_true(begin(&u) && serve(&u));
	const int requests = (int)disk.requests;
	for (int n = 0; n < requests; n++) {
		cut_disk_copy(&disk, old);
		disk.fails = n;
		assert_true(begin(&u) && serve(&u));
		assert_non_null(u.why);
		assert_non_null(strstr(u.why, "the disk cannot be"));
		is_whole(disk.now);
	}
	cut_disk_copy(&disk, old);
	disk.drops = true;
	assert_true(begin(&u) && serve(&u));
	assert_string_equal(u.why, "the disk has not kept what was written");
}

static void wrong_files(void **s)
{
	(void)s;
	struct upgrade u;
	seed_random("wrong_files");
	make_file(4, IMAGE_BYTES);
	assert_non_null(upgrade_begin(&u, file, 10, PARTITION, buffer));
	assert_non_null(upgrade_begin(&u, file, sizeof file - 1, PARTITION, buffer));
	assert_non_null(upgrade_begin(&u, file, sizeof file, IMAGE_BYTES, buffer));
	assert_non_null(upgrade_begin(&u, file, sizeof file, 0, buffer));
	for (unsigned n = 0; n < 120; n++) { /* a bit anywhere: nothing is written */
		const size_t at = n < 80 ? random_below(IMAGE_HEADER) : random_below(sizeof file);
		file[at] ^= (uint8_t)(1u << random_below(8));
		cut_disk_copy(&disk, old);
		const char *why = upgrade_begin(&u, file, sizeof file, PARTITION, buffer);
		if (!why) {
			assert_true(at >= IMAGE_HEADER && serve(&u));
			why = u.why;
		}
		assert_non_null(why);
		assert_int_equal(disk.requests, 0);
		make_file(4, IMAGE_BYTES);
	}
	static const uint64_t lengths[] = {0, 1, IMAGE_UNIT, 4 * IMAGE_UNIT, UINT64_MAX, 1ull << 63};
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		make_file(4, lengths[i]);
		assert_non_null(upgrade_begin(&u, file, sizeof file, PARTITION, buffer));
	}
	make_file(4, IMAGE_BYTES - 512); /* no whole pieces: the last one would end behind the file */
	assert_non_null(upgrade_begin(&u, file, sizeof file - 512, PARTITION, buffer));
}

static int make(void **s)
{
	(void)s;
	cut_disk_make(&disk, PARTITION);
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(written), cmocka_unit_test(cut_at_every_request),
	                                   cmocka_unit_test(failing_disk), cmocka_unit_test(wrong_files)};
	return cmocka_run_group_tests(tests, make, drop);
}
