/*
 * Writes an image into a partition, from a file in memory: the header of image.h, and the image.
 *
 *     the file is checked against its hash; the old header is erased; flush;
 *     the image is written; flush; the image is read back, and its hash compared;
 *     the header is written; flush; the header is read back
 *
 * So a partition whose header can be read has held the whole image. The partition must not be the one whose image
 * runs, nor the one that the next boot starts.
 *
 *     why = upgrade_begin(&u, file, bytes, partition_bytes, buffer)
 *     while (upgrade_request(&u, &r))      one request at a time; DISK_NONE: there is nothing to do,
 *             upgrade_done(&u, error)      call upgrade_done() at once or later
 *     u.why == NULL: it is there
 *
 * Each step hashes UPGRADE_PIECE bytes at most.
 */
#ifndef DISK_UPGRADE_H
#define DISK_UPGRADE_H

#include "disk/disk.h"
#include "disk/image.h"

#define UPGRADE_PIECE IMAGE_UNIT

struct upgrade {
	struct image image;
	const char *why; /* once it has ended: NULL, or why the image is not there */
	/* private */
	const uint8_t *file;
	uint8_t *buffer;
	uint64_t header_at;
	uint64_t at; /* bytes of the image done */
	uint8_t state;
	struct sha256 hash;
};

/* file: the caller's, unchanged until it has ended, as is buffer: UPGRADE_PIECE bytes. NULL: it has begun; else why
 * not. */
const char *upgrade_begin(struct upgrade *u, const uint8_t *file, uint64_t bytes, uint64_t partition_bytes,
                          uint8_t *buffer);

/* The next request, from the start of the partition; false: it has ended. */
bool upgrade_request(struct upgrade *u, struct disk_request *r);
void upgrade_done(struct upgrade *u, int error);

#endif
