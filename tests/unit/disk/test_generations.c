/*
 * Generations on a disk (disk/generations.h) whose power is cut at every request: what was flushed is there, and of what was
 * written since any sectors are, in any order. A disk that lies, fails, or is damaged at any byte.
 */
#include "tests/unit/rig/host.h"

#include "disk/generations.h"

#define SECTOR 512u
#define BYTES (2u * (GENERATION_HEADER + 3 * GENERATION_PIECE))
#define SECTORS (BYTES / SECTOR)
#define LONGEST (3u * GENERATION_PIECE)

static struct {
	uint8_t safe[BYTES];  /* what a power cut leaves in any case */
	uint8_t now[BYTES];   /* what a read returns */
	bool lies;            /* a flush does nothing */
	int cut;              /* so many requests are left; below 0: no limit */
	int fails;            /* the request after so many fails; below 0: none */
	bool drops;           /* writes change nothing */
	unsigned requests;
} disk;

static uint8_t buffer[GENERATION_PIECE], memory[LONGEST];

static void cut_power(void)
{
	for (unsigned s = 0; s < SECTORS; s++)
		if (random_below(2))
			memcpy(disk.safe + s * SECTOR, disk.now + s * SECTOR, SECTOR);
	memcpy(disk.now, disk.safe, BYTES);
}

/* False: the power has been cut. */
static bool serve(struct generations *g)
{
	struct disk_request r;
	while (generations_request(g, &r)) {
		if (disk.cut == 0) {
			cut_power();
			return false;
		}
		disk.cut -= disk.cut > 0;
		disk.requests++;
		if (disk.fails == 0) {
			disk.fails = -1;
			generations_done(g, E_DEVICE);
			continue;
		}
		disk.fails -= disk.fails > 0;
		assert_true(r.at % SECTOR == 0 && r.bytes % SECTOR == 0 && r.at + r.bytes <= BYTES);
		assert_true((r.bytes == 0) == (r.op == DISK_FLUSH) && r.bytes <= GENERATION_PIECE);
		if (r.op == DISK_READ)
			memcpy(r.data, disk.now + r.at, r.bytes);
		else if (r.op == DISK_WRITE && !disk.drops)
			memcpy(disk.now + r.at, r.data, r.bytes);
		else if (r.op == DISK_FLUSH && !disk.lies)
			memcpy(disk.safe, disk.now, BYTES);
		generations_done(g, E_OK);
	}
	return true;
}

static void empty_disk(void)
{
	memset(&disk, 0, sizeof disk);
	random_fill(disk.safe, BYTES); /* as it was before */
	memcpy(disk.now, disk.safe, BYTES);
	disk.cut = disk.fails = -1;
}

static void open_disk(struct generations *g)
{
	memset(memory, 0xee, sizeof memory);
	assert_int_equal(generations_open(g, BYTES, buffer, memory, sizeof memory), E_OK);
	assert_true(serve(g));
	assert_true(generations_idle(g));
}

/* Content number n: its length and bytes. */
static uint32_t content(uint8_t *to, unsigned n)
{
	static const uint32_t special[] = {0, 1, GENERATION_PIECE, GENERATION_PIECE + 1, LONGEST, 511, 4096};
	const uint32_t bytes = n % 2 ? special[n / 2 % ARRAY_LEN(special)] : n * 7919u % LONGEST;
	for (uint32_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)(n * 31 + i * 7 + i / 256);
	return bytes;
}

static bool is_content(const struct generations *g, unsigned n)
{
	static uint8_t want[LONGEST];
	return g->bytes == content(want, n) && memcmp(memory, want, g->bytes) == 0;
}

static bool write_content(struct generations *g, unsigned n)
{
	static uint8_t from[LONGEST];
	assert_int_equal(generations_write(g, from, content(from, n)), E_OK);
	return serve(g);
}

static void kept(void **s)
{
	(void)s;
	struct generations g;
	seed_random("kept");
	empty_disk();
	open_disk(&g);
	assert_true(g.number == 0 && g.error == E_OK && !g.damaged);
	for (unsigned n = 1; n < 20; n++) {
		assert_true(write_content(&g, n));
		assert_true(g.number == n && g.error == E_OK);
		cut_power();
		open_disk(&g);
		assert_true(g.number == n && g.error == E_OK && !g.damaged);
		assert_true(is_content(&g, n));
	}
}

/* After each request of the next write: the last content or the next one, and writing goes on. */
static void cut_at_every_request(void **s)
{
	(void)s;
	struct generations g;
	seed_random("cut_at_every_request");
	for (unsigned last = 0; last < 12; last++)
		for (int at = 0;; at++) {
			empty_disk();
			open_disk(&g);
			for (unsigned n = 1; n <= last; n++)
				assert_true(write_content(&g, n));
			disk.cut = at;
			const bool whole = write_content(&g, last + 1);
			disk.cut = -1;
			open_disk(&g);
			assert_int_equal(g.error, E_OK);
			assert_true(g.number == last || g.number == last + 1);
			assert_true(g.number == 0 || is_content(&g, (unsigned)g.number));
			assert_true(!whole || g.number == last + 1);
			const unsigned next = (unsigned)g.number + 1;
			assert_true(write_content(&g, next));
			cut_power();
			open_disk(&g);
			assert_true(g.number == next && is_content(&g, next));
			if (whole)
				break;
		}
}

/* Nothing that a disk that does not flush does makes a mixture. */
static void disk_that_lies(void **s)
{
	(void)s;
	struct generations g;
	unsigned lost = 0;
	seed_random("disk_that_lies");
	for (unsigned round = 0; round < 300; round++) {
		empty_disk();
		open_disk(&g);
		const unsigned flushed = round % 3, last = flushed + 1 + round % 4;
		for (unsigned n = 1; n <= last; n++) {
			disk.lies = n > flushed;
			disk.cut = n == last ? (int)random_below(12) : -1;
			if (!write_content(&g, n))
				break;
		}
		disk.cut = -1;
		cut_power();
		open_disk(&g);
		assert_true(g.number <= last);
		assert_true(g.number == 0 || is_content(&g, (unsigned)g.number));
		lost += g.number < flushed;
	}
	assert_true(lost > 0); /* the test can see it */
}

/* A write that the disk drops, at any request that fails, or that it refuses: said, and the last content stays. */
static void disk_that_fails(void **s)
{
	(void)s;
	struct generations g;
	seed_random("disk_that_fails");
	for (int at = 0;; at++) {
		empty_disk();
		open_disk(&g);
		assert_true(write_content(&g, 1) && write_content(&g, 2));
		disk.fails = at;
		assert_true(write_content(&g, 3));
		const bool failed = disk.fails < 0;
		disk.fails = -1;
		assert_int_equal(g.error, failed ? E_DEVICE : E_OK);
		assert_int_equal(g.number, failed ? 2 : 3);
		if (!failed)
			break;
		assert_true(write_content(&g, 4)); /* as the third */
		assert_true(g.number == 3 && g.error == E_OK);
		open_disk(&g);
		assert_true(g.number == 3 && is_content(&g, 4));
	}
	disk.drops = true;
	assert_true(write_content(&g, 5));
	assert_int_equal(g.error, E_INVAL);
	disk.drops = false;
	open_disk(&g);
	assert_true(g.number == 3 && is_content(&g, 3));
}

/* A slot that cannot be read, when the disk is opened: the other one counts, and that is said. If neither can be read,
 * that is no empty store, over which the next write would go. */
static void slot_that_cannot_be_read(void **s)
{
	(void)s;
	struct generations g;
	seed_random("slot_that_cannot_be_read");
	empty_disk();
	open_disk(&g);
	assert_true(write_content(&g, 2) && write_content(&g, 4));
	const unsigned requests = (open_disk(&g), disk.requests);
	for (int at = 0; at < (int)requests; at++) {
		disk.fails = at;
		open_disk(&g);
		if (disk.fails >= 0)
			break;
		assert_true(g.error == E_OK && (g.number == 1 || g.number == 2));
		assert_true(is_content(&g, g.number == 1 ? 2 : 4));
		assert_true(g.damaged);
	}
	disk.fails = -1;
	assert_int_equal(generations_open(&g, BYTES, buffer, memory, sizeof memory), E_OK);
	for (struct disk_request r; generations_request(&g, &r);)
		generations_done(&g, E_DEVICE);
	assert_true(g.error == E_DEVICE && g.number == 0);
	/* one cannot be read, the other is damaged */
	disk.now[GENERATION_HEADER - 1] ^= 1;
	disk.fails = 1; /* the header of slot 1 */
	open_disk(&g);
	assert_true(g.error == E_DEVICE && g.number == 0);
}

/* Any byte of the newest slot that is changed is noticed, and the generation before counts. */
static void damage(void **s)
{
	(void)s;
	struct generations g;
	seed_random("damage");
	empty_disk();
	open_disk(&g);
	assert_true(write_content(&g, 2) && write_content(&g, 4));
	for (unsigned round = 0; round < 1500; round++) {
		const uint32_t most = GENERATION_HEADER + (uint32_t)g.bytes;
		const uint32_t at = round < GENERATION_HEADER / 4 ? 4 * round : random_below(most);
		const uint8_t bit = (uint8_t)(1u << random_below(8));
		disk.now[at] ^= bit; /* generation 2 lies in slot 0 */
		open_disk(&g);
		assert_true(g.number == 1 && g.error == E_OK && is_content(&g, 2));
		assert_true(g.damaged || at < 20); /* else it is no header of ours any more */
		disk.now[at] ^= bit;
		open_disk(&g);
		assert_true(g.number == 2 && !g.damaged);
	}
	disk.now[32]++; /* a whole header of another version */
	sha256_of(disk.now, GENERATION_HEADER - SHA256_BYTES, disk.now + GENERATION_HEADER - SHA256_BYTES);
	open_disk(&g);
	assert_true(g.number == 1 && g.damaged);
}

static void sizes(void **s)
{
	(void)s;
	struct generations g;
	seed_random("sizes");
	empty_disk();
	assert_int_equal(generations_open(&g, GENERATION_LEAST - 1, buffer, memory, sizeof memory), E_INVAL);
	open_disk(&g);
	assert_int_equal(generations_most(&g), LONGEST);
	assert_int_equal(generations_write(&g, memory, LONGEST + 1), E_NOMEM);
	assert_true(generations_idle(&g));
	assert_true(write_content(&g, 9)); /* LONGEST */
	assert_int_equal(g.bytes, LONGEST);
	assert_int_equal(generations_open(&g, BYTES, buffer, memory, LONGEST - 1), E_OK);
	assert_true(serve(&g));
	assert_int_equal(g.error, E_NOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept),
		cmocka_unit_test(cut_at_every_request),
		cmocka_unit_test(disk_that_lies),
		cmocka_unit_test(disk_that_fails),
		cmocka_unit_test(slot_that_cannot_be_read),
		cmocka_unit_test(damage),
		cmocka_unit_test(sizes),
	};
	return cmocka_run_group_tests_name("generations", tests, NULL, NULL);
}
