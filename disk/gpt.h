/*
 * Finds a partition of one type in a GUID partition table (UEFI Specification 2.10, 5.3). Only reads.
 *
 *     gpt_begin(&g, sector, sectors, type, buffer)
 *     while (gpt_request(&g, &r))       one request at a time
 *             gpt_done(&g, error)       E_OK, or how it failed
 *     g.found, or g.why says why there is none
 *
 * The primary table is used if it is valid, else the backup at the end of the disk (5.3.2). 5.3.2 also
 * has the backup checked when the primary is valid, and a damaged one restored: that is left to programs
 * that write tables. Nothing read from the disk is trusted: a partition that overlaps the tables or
 * leaves the usable range is no partition.
 */
#ifndef DISK_GPT_H
#define DISK_GPT_H

#include "disk/disk.h"

#define GPT_BUFFER 4096
#define GPT_GUID_BYTES 16
#define GPT_ENTRIES_MAX 1024 /* more are taken for damage: usual are 128 */

/* Bytes of a GUID as they lie on the disk: the first three fields of its text are little-endian (Appendix A). */
struct gpt_guid {
	uint8_t bytes[GPT_GUID_BYTES];
};

struct gpt {
	bool found;
	uint64_t at, bytes; /* of the first partition of that type, if found */
	unsigned more;      /* further partitions of the type, which nothing uses */
	bool backup;        /* the primary table is damaged */
	const char *why;    /* if not found: "no partition table", "no partition of that type", ... */
	/* private */
	uint32_t sector;
	uint64_t sectors;
	struct gpt_guid type;
	uint8_t *buffer;
	uint8_t state;
	uint64_t first, last; /* usable sectors */
	uint64_t entries_at;  /* sector */
	uint32_t entries, entry_bytes, entries_crc, crc;
	uint64_t read;        /* bytes of the entries */
	const char *primary_why;
};

/* sector: bytes, 512 to GPT_BUFFER, a power of two; sectors: of the disk. buffer: GPT_BUFFER bytes, the caller's,
 * suitable for the disk's driver. */
void gpt_begin(struct gpt *g, uint32_t sector, uint64_t sectors, const struct gpt_guid *type, uint8_t *buffer);

/* The next request, from the start of the disk; false: there is none, the search has ended. */
bool gpt_request(const struct gpt *g, struct disk_request *r);
void gpt_done(struct gpt *g, int error);

#endif
