/*
 * What lies on a disk for the store: the input is a byte, and the bytes of a disk. With an odd byte the two headers and contents of
 * generations get right digests first, so that the archive itself is reached.
 *
 * The generation that is opened is one whose digests are right; of the values every one lies in the archive, is found by its name,
 * and can be replaced and removed; an archive that has been changed is whole. Reading comes to an end.
 */
#include "tests/fuzz/input.h"

#include "control/storage/values.h"
#include "disk/generations.h"
#include "disk/gpt.h"
#include "disk/layout.h"
#include "lib/bytes.h"

#define SECTOR 512
#define DISK (96u << 10)
#define SLOT ((uint64_t)DISK / 2)
#define ROOM (48u << 10)

static uint8_t disk[DISK], buffer[GENERATION_PIECE], memory[ROOM], room[ROOM];

static void serve(const struct disk_request *r, uint64_t limit)
{
	if (r->op == DISK_FLUSH)
		return;
	assert(r->bytes && r->bytes <= GENERATION_PIECE && r->at % SECTOR == 0 && r->bytes % SECTOR == 0);
	assert(r->at <= limit && r->bytes <= limit - r->at);
	if (r->op == DISK_READ)
		memcpy(r->data, disk + r->at, r->bytes);
	else
		memcpy(disk + r->at, r->data, r->bytes);
}

static void search(void)
{
	struct gpt g;
	struct disk_request r;
	unsigned requests = 0;
	gpt_begin(&g, SECTOR, DISK / SECTOR, &GPT_TYPE_STORE, buffer);
	for (; gpt_request(&g, &r); requests++) {
		assert(r.op == DISK_READ && requests < 4096);
		serve(&r, DISK);
		gpt_done(&g, E_OK);
	}
	assert(g.found ? g.at >= SECTOR && g.bytes && g.at + g.bytes <= DISK && g.at % SECTOR == 0 : g.why != NULL);
}

/* The header of generations.c, at its places. */
static void make_whole(unsigned slot, uint64_t number, uint64_t bytes)
{
	uint8_t *h = disk + slot * SLOT;
	memset(h, 0, GENERATION_HEADER);
	memcpy(h, "Hayate: generation\n", 20);
	le32_store(h + 32, 1);
	le64_store(h + 40, number);
	le64_store(h + 48, bytes);
	sha256_of(h + GENERATION_HEADER, bytes, h + 64);
	sha256_of(h, GENERATION_HEADER - SHA256_BYTES, h + GENERATION_HEADER - SHA256_BYTES);
}

static void check_values(struct values *v)
{
	struct values_entry e;
	const uint8_t *data;
	size_t n, count = 0;
	for (size_t at = 0; values_next(v, &at, &e); count++) {
		assert(at <= v->bytes && e.data >= v->at && e.bytes <= v->bytes && e.data + e.bytes <= v->at + v->bytes);
		assert(values_get(v, e.name, &data, &n) == E_OK && data == e.data && n == e.bytes);
		assert(strlen(e.name) <= VALUES_NAME_MAX && count < ROOM / 512);
	}
	if (values_put(v, "a/new-value", "bytes", 5, 7) == E_OK) {
		assert(values_are_whole(v) && values_get(v, "a/new-value", &data, &n) == E_OK && n == 5);
		assert(values_remove(v, "a/new-value") == E_OK && values_are_whole(v));
	}
}

static void open_store(void)
{
	struct generations g;
	struct disk_request r;
	unsigned requests = 0;
	assert(generations_open(&g, DISK, buffer, memory, ROOM) == E_OK);
	for (; generations_request(&g, &r); requests++) {
		assert(r.op == DISK_READ && requests < 100);
		serve(&r, DISK);
		generations_done(&g, E_OK);
	}
	if (g.error != E_OK || g.number == 0)
		return;
	assert(g.bytes <= ROOM);
	memcpy(room, memory, g.bytes);
	struct values v = {.at = room, .bytes = g.bytes, .room = ROOM};
	if (g.bytes && values_are_whole(&v))
		check_values(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const bool whole = size && data[0] & 1;
	const size_t n = size < 1 ? 0 : size - 1 < DISK ? size - 1 : DISK;
	memset(disk, 0, sizeof disk);
	if (whole) {
		const size_t content = n < SLOT - GENERATION_HEADER ? n : SLOT - GENERATION_HEADER;
		memcpy(disk + SLOT + GENERATION_HEADER, data + 1, content);
		make_whole(1, 1 + 2 * (uint64_t)(data[0] >> 1), content);
		make_whole(0, 2, 0);
	} else if (n) {
		memcpy(disk, data + 1, n);
	}
	search();
	open_store();
	return 0;
}
