/* See gpt.h. Sections are those of the UEFI Specification 2.10. */
#include "disk/gpt.h"

#include "lib/bytes.h"
#include "lib/crc32.h"
#include "lib/mem.h"
#include "lib/number.h"

/* Table 5.5, the header: offsets. */
#define HEADER_SIGNATURE 0
#define HEADER_BYTES 12
#define HEADER_CRC 16
#define HEADER_MY_LBA 24
#define HEADER_FIRST 40
#define HEADER_LAST 48
#define HEADER_ENTRIES_LBA 72
#define HEADER_ENTRIES 80
#define HEADER_ENTRY_BYTES 84
#define HEADER_ENTRIES_CRC 88
#define HEADER_LEAST 92
/* Table 5.6, an entry. */
#define ENTRY_TYPE 0
#define ENTRY_FIRST 32
#define ENTRY_LAST 40
#define ENTRY_LEAST 128

enum state { HEADER, ENTRIES, END };

void gpt_begin(struct gpt *g, uint32_t sector, uint64_t sectors, const struct gpt_guid *type, uint8_t *buffer)
{
	*g = (struct gpt){.sector = sector, .sectors = sectors, .type = *type, .buffer = buffer, .state = HEADER};
	if (sectors < 4) { /* the protective MBR, and two tables of a header */
		g->why = "the disk is too small";
		g->state = END;
	}
}

/* The sector in which the header lies. */
static uint64_t header_lba(const struct gpt *g) { return g->backup ? g->sectors - 1 : 1; }

static uint64_t entries_bytes(const struct gpt *g) { return (uint64_t)g->entries * g->entry_bytes; }

bool gpt_request(const struct gpt *g, struct disk_request *r)
{
	if (g->state == END)
		return false;
	*r = (struct disk_request){.op = DISK_READ, .at = header_lba(g) * g->sector, .bytes = g->sector, .data = g->buffer};
	if (g->state == ENTRIES) {
		const uint64_t left = align_up(entries_bytes(g) - g->read, g->sector);
		r->at = g->entries_at * g->sector + g->read;
		r->bytes = (uint32_t)u64_min(left, GPT_BUFFER);
	}
	return true;
}

/* This table cannot be used. */
static void damaged(struct gpt *g, const char *why)
{
	const bool backup = g->backup;
	g->found = false;
	g->more = 0;
	if (!backup) {
		g->primary_why = why;
		g->backup = true;
		g->state = HEADER;
		return;
	}
	g->why = g->primary_why; /* of the table that is read first */
	g->state = END;
}

/* 5.3.2; NULL: the header is valid. */
static const char *wrong_header(const struct gpt *g, uint8_t *h)
{
	const uint32_t bytes = le32_load(h + HEADER_BYTES), crc = le32_load(h + HEADER_CRC);
	if (memcmp(h + HEADER_SIGNATURE, "EFI PART", 8) != 0)
		return "no partition table";
	if (bytes < HEADER_LEAST || bytes > g->sector)
		return "the partition table's header has an impossible length";
	le32_store(h + HEADER_CRC, 0);
	if (crc32_add(0, h, bytes) != crc)
		return "the partition table's header has a wrong checksum";
	if (le64_load(h + HEADER_MY_LBA) != header_lba(g))
		return "the partition table is that of another place";
	return NULL;
}

/* NULL: the entries lie where they can, and leave the partitions room. */
static const char *wrong_layout(const struct gpt *g)
{
	if (g->entry_bytes < ENTRY_LEAST || g->entry_bytes > GPT_BUFFER || (g->entry_bytes & (g->entry_bytes - 1)) ||
	    g->entries == 0 || g->entries > GPT_ENTRIES_MAX)
		return "the partition table has impossible entries";
	const uint64_t sectors = align_up(entries_bytes(g), g->sector) / g->sector;
	if (g->entries_at < 2 || g->entries_at >= g->sectors || sectors > g->sectors - g->entries_at)
		return "the partition table's entries lie outside the disk";
	/* Both tables are of one size; the other's entries follow the first header, or lie before the second (5.3.1). */
	if (g->first > g->last || g->first < 2 + sectors || g->last >= g->sectors - 1 - sectors ||
	    (g->first < g->entries_at + sectors && g->entries_at <= g->last))
		return "the partition table leaves no room for partitions";
	return NULL;
}

static void take_header(struct gpt *g)
{
	uint8_t *h = g->buffer;
	const char *why = wrong_header(g, h);
	if (!why) {
		g->first = le64_load(h + HEADER_FIRST);
		g->last = le64_load(h + HEADER_LAST);
		g->entries_at = le64_load(h + HEADER_ENTRIES_LBA);
		g->entries = le32_load(h + HEADER_ENTRIES);
		g->entry_bytes = le32_load(h + HEADER_ENTRY_BYTES);
		g->entries_crc = le32_load(h + HEADER_ENTRIES_CRC);
		why = wrong_layout(g);
	}
	if (why) {
		damaged(g, why);
		return;
	}
	g->crc = 0;
	g->read = 0;
	g->state = ENTRIES;
}

static void take_entry(struct gpt *g, const uint8_t *e)
{
	const uint64_t first = le64_load(e + ENTRY_FIRST), last = le64_load(e + ENTRY_LAST);
	if (memcmp(e + ENTRY_TYPE, g->type.bytes, GPT_GUID_BYTES) != 0 || first < g->first || last > g->last ||
	    first > last)
		return;
	if (g->found) {
		g->more++;
		return;
	}
	g->found = true;
	g->at = first * g->sector;
	g->bytes = (last - first + 1) * g->sector;
}

static void take_entries(struct gpt *g)
{
	const uint32_t n = (uint32_t)u64_min(entries_bytes(g) - g->read, GPT_BUFFER);
	g->crc = crc32_add(g->crc, g->buffer, n);
	for (uint32_t at = 0; at < n; at += g->entry_bytes) /* an entry's bytes divide those of the buffer */
		take_entry(g, g->buffer + at);
	g->read += n;
	if (g->read < entries_bytes(g))
		return;
	if (g->crc != g->entries_crc) {
		damaged(g, "the partition table's entries have a wrong checksum");
		return;
	}
	if (!g->found)
		g->why = "no partition of that type";
	g->state = END;
}

void gpt_done(struct gpt *g, int error)
{
	if (error)
		damaged(g, "the disk cannot be read");
	else if (g->state == HEADER)
		take_header(g);
	else
		take_entries(g);
}
