/* Images A and B (control/storage/boot_disk.h) on a disk that fails at any request: no write meets the image that runs,
 * or one that the next boot starts. */
#include "tests/unit/rig/cut_disk.h"
#include "tests/unit/rig/image_file.h"

#include "control/storage/boot_disk.c"
#include "lib/bytes.h"
#include "lib/crc32.h"

#define SECTORS 320u
#define ENV_SECTOR 64u
#define PART_SECTORS ((IMAGE_UNIT + IMAGE_HEADER) / 512)
#define PART_AT(image) ((128 + (image) * PART_SECTORS) * 512ull)
#define FILE_BYTES (IMAGE_HEADER + IMAGE_UNIT)
#define ID "0123456789abcdef"

static struct cut_disk disk;
static uint8_t blank[SECTORS * 512], file[FILE_BYTES];
static struct disk machine_disk;
static const char *option_image, *why_done;
static unsigned ends; /* calls of `done` */

static struct {
	bool is;
	struct disk_request r;
	void (*done)(void *arg, int error);
	void *arg;
} asked;

/* --- what boot_disk.c uses --- */

uint64_t core_now_ns(void) { return 1000; }
uint64_t core_option_number(const char *name, uint64_t fallback) { return (void)name, fallback; }
void core_random(void *out, size_t bytes) { random_fill(out, bytes); }
void storage_status(struct storage_status *s) { *s = (struct storage_status){.disk = DISKS_MAX}; }
unsigned disks_count(void) { return 1; }
const struct disk *disks_get(unsigned n) { return n == 0 ? &machine_disk : NULL; }
bool disks_starting(void) { return false; }
void log_event(enum log_level level, const char *facility, const char *format, ...)
{
	(void)level, (void)facility, (void)format;
}

void *core_private_alloc(size_t bytes)
{
	static uint8_t pool[INSTALL_MEMORY + GPT_BUFFER];
	static size_t used;
	used = used + bytes > sizeof pool ? 0 : used; /* those of an earlier test are not used any more */
	used += bytes;
	return pool + used - bytes;
}

bool core_option(const char *name, char *buf, size_t size)
{
	snprintf(buf, size, "%s", strcmp(name, "boot-disk") == 0 ? ID : option_image);
	return true;
}

/* The image that boot/disk.cfg would start. */
static unsigned next_boot(const uint8_t *bytes)
{
	struct boot_env e;
	assert_true(boot_env_read(bytes + ENV_SECTOR * 512 + BOOT_ENV_AT, &e));
	const unsigned active = e.active == IMAGE_NONE ? 0 : e.active;
	return e.trying != IMAGE_NONE && e.trying != active && !e.tried ? e.trying : active;
}

int disks_ask(unsigned n, const struct disk_request *r, void (*done)(void *arg, int error), void *arg)
{
	assert_true(n == 0 && !asked.is);
	for (unsigned image = 0; image < IMAGES && r->op == DISK_WRITE; image++)
		if (r->at < PART_AT(image) + PART_SECTORS * 512 && PART_AT(image) < r->at + r->bytes) {
			assert_true(image != boot.running);
			assert_true(image != next_boot(disk.now) && image != next_boot(disk.safe));
			assert_true(r->at >= PART_AT(image) && r->at + r->bytes <= PART_AT(image + 1));
		}
	asked.is = true;
	asked.r = *r;
	asked.done = done;
	asked.arg = arg;
	return E_OK;
}

/* --- the disk --- */

static void partition(unsigned n, struct gpt_guid type, uint64_t first, uint64_t last)
{
	uint8_t *e = blank + 1024 + n * 128;
	memcpy(e, type.bytes, GPT_GUID_BYTES);
	le64_store(e + 32, first);
	le64_store(e + 40, last);
}

static void make_disk(void)
{
	uint8_t *header = blank + 512;
	partition(0, GPT_TYPE_BOOT_ENV, ENV_SECTOR, ENV_SECTOR + 63);
	partition(1, GPT_TYPE_IMAGE_A, PART_AT(0) / 512, PART_AT(1) / 512 - 1);
	partition(2, GPT_TYPE_IMAGE_B, PART_AT(1) / 512, PART_AT(2) / 512 - 1);
	memcpy(header, "EFI PART", 8);
	le32_store(header + 12, 92);
	le64_store(header + 24, 1);
	le64_store(header + 40, 34);
	le64_store(header + 48, SECTORS - 34);
	le64_store(header + 72, 2);
	le32_store(header + 80, 128);
	le32_store(header + 84, 128);
	le32_store(header + 88, crc32_add(0, blank + 1024, 128 * 128));
	le32_store(header + 16, crc32_add(0, header, 92));
	boot_env_make(blank + ENV_SECTOR * 512 + BOOT_ENV_AT, ID);
	memcpy(blank + PART_AT(0), file + IMAGE_HEADER, IMAGE_UNIT);
	memcpy(blank + PART_AT(1) - IMAGE_HEADER, file, IMAGE_HEADER);
	machine_disk.blk = (struct blk){.sector = 512, .sectors = SECTORS, .state = BLK_READY, .writable = true};
}

static void set_env(unsigned active, unsigned trying, bool tried)
{
	uint8_t *block = disk.now + ENV_SECTOR * 512 + BOOT_ENV_AT;
	const struct boot_env e = {.active = active, .trying = trying, .tried = tried};
	assert_int_equal(boot_env_write(block, &e), E_OK);
	memcpy(disk.safe, disk.now, disk.bytes);
}

/* --- the machine --- */

static void run(void)
{
	while (!is_idle()) {
		int error;
		(void)boot_disk_timer();
		if (!asked.is)
			continue;
		asked.is = false;
		assert_true(cut_disk_serve(&disk, &asked.r, &error));
		asked.done(asked.arg, error);
	}
}

/* The machine starts that image, from the disk as it is. */
static void start(const char *image)
{
	memset(&boot, 0, sizeof boot);
	boot.trial_ends_ns = UINT64_MAX;
	option_image = image;
	boot_disk_open();
	run();
	assert_null(boot.why);
}

static void has_ended(void *arg, const char *why)
{
	assert_ptr_equal(arg, &ends);
	ends++;
	why_done = why;
}

/* NULL: the change has been made; else why it has not begun, or has failed. */
static const char *ended(const char *why, unsigned before)
{
	if (why) {
		assert_int_equal(ends, before);
		return why;
	}
	run();
	assert_int_equal(ends, before + 1);
	return why_done;
}

static const char *change(enum boot_disk_change c)
{
	const unsigned before = ends;
	return ended(boot_disk_change(c, has_ended, &ends), before);
}

static const char *write_image(void)
{
	const unsigned before = ends;
	return ended(boot_disk_write(file, sizeof file, has_ended, &ends), before);
}

static bool is_whole(unsigned image)
{
	return memcmp(disk.safe + PART_AT(image), file + IMAGE_HEADER, IMAGE_UNIT) == 0 &&
	       memcmp(disk.safe + PART_AT(image + 1) - IMAGE_HEADER, file, IMAGE_HEADER) == 0;
}

/* --- tests --- */

static void upgrade_and_confirm(void **s)
{
	(void)s;
	struct boot_disk_status is;
	cut_disk_copy(&disk, blank);
	start("A");
	boot_disk_status(&is);
	assert_true(is.running == 0 && is.env.active == 0 && is.whole[0] && !is.whole[1]);
	assert_string_equal(change(BOOT_DISK_ACTIVATE), "there is no other image");
	assert_null(write_image());
	assert_true(is_whole(1) && is_whole(0) && next_boot(disk.safe) == 0);
	assert_null(change(BOOT_DISK_ACTIVATE));
	assert_int_equal(next_boot(disk.safe), 1);
	assert_null(write_image()); /* that ends the trial before it has been used */
	assert_true(is_whole(1) && next_boot(disk.safe) == 0);
	assert_null(change(BOOT_DISK_ACTIVATE));
	assert_null(change(BOOT_DISK_CANCEL));
	assert_int_equal(next_boot(disk.safe), 0);
	assert_null(change(BOOT_DISK_ACTIVATE));

	set_env(0, 1, true); /* GRUB starts the trial */
	assert_int_equal(next_boot(disk.safe), 0);
	start("B");
	assert_int_equal(boot_disk_trial_ends(), 1000 + TRIAL_S * SECOND_NS);
	assert_non_null(strstr(write_image(), "has not been confirmed"));
	assert_non_null(strstr(change(BOOT_DISK_ACTIVATE), "has not been confirmed"));
	assert_null(change(BOOT_DISK_CONFIRM));
	assert_int_equal(boot_disk_trial_ends(), UINT64_MAX);
	assert_int_equal(next_boot(disk.safe), 1);
	assert_null(write_image()); /* into A */
	assert_true(is_whole(0) && is_whole(1) && next_boot(disk.safe) == 1);
}

/* A block that does not say which image is active: GRUB starts A. */
static void no_active_image(void **s)
{
	(void)s;
	cut_disk_copy(&disk, blank);
	set_env(IMAGE_NONE, IMAGE_NONE, false);
	start("B");
	assert_non_null(strstr(write_image(), "has not been confirmed"));
	start("A");
	assert_null(write_image());
	assert_null(change(BOOT_DISK_ACTIVATE));
	assert_int_equal(next_boot(disk.safe), 1);
}

/* A change that fails may be on the disk: what follows does not rely on the block as it was before. */
static void failed_change(void **s)
{
	(void)s;
	bool failed = true;
	for (int at = 0; failed; at++) {
		cut_disk_copy(&disk, blank);
		start("A");
		assert_null(write_image());
		disk.fails = at;
		failed = change(BOOT_DISK_ACTIVATE) != NULL;
		assert_int_equal(failed, disk.fails < 0);
		disk.fails = -1;
		assert_null(write_image());
		assert_true(is_whole(1) && next_boot(disk.safe) == 0 && next_boot(disk.now) == 0);
	}
}

/* An image that could not be written is not put on trial, in this program or the next one. */
static void failed_write(void **s)
{
	(void)s;
	bool failed = true;
	for (int at = 0; failed; at++) {
		cut_disk_copy(&disk, blank);
		start("A");
		assert_null(write_image());
		disk.fails = at;
		failed = write_image() != NULL;
		assert_int_equal(failed, disk.fails < 0);
		disk.fails = -1;
		for (unsigned i = 0; i < 2; i++) {
			if (change(BOOT_DISK_ACTIVATE) == NULL)
				assert_true(is_whole(1));
			start("A");
		}
	}
}

static int make(void **s)
{
	(void)s;
	seed_random("boot_disk");
	image_file_make(file, IMAGE_UNIT, IMAGE_UNIT, 0);
	make_disk();
	cut_disk_make(&disk, sizeof blank);
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(upgrade_and_confirm), cmocka_unit_test(no_active_image),
	                                   cmocka_unit_test(failed_change), cmocka_unit_test(failed_write)};
	return cmocka_run_group_tests(tests, make, drop);
}
