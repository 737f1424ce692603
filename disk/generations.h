/*
 * One value on a partition, in two generations: a new one is written beside the last, never over it. Whenever the
 * power is cut, the old or the new value is there as a whole.
 *
 *     the partition   | slot 0                      | slot 1                      | rest |
 *     a slot          | header, GENERATION_HEADER bytes | content                 |
 *
 * Generation n lies in slot n % 2. Writing it means, in this order:
 *
 *     the content; flush; the header; flush; both are read back and compared
 *
 * The header has the number, the length of the content, and SHA-256 of content and header. A slot counts if both
 * are right, and the higher number counts. So a header that reaches the disk before its content, because the disk
 * has not flushed what it said, does not count either.
 *
 * Reading back finds a disk that drops writes; one that only answers from its cache cannot be told from a good one
 * until the power is cut.
 *
 *     generations_open(&g, bytes, buffer, memory, room)
 *     generations_write(&g, content, bytes)      later, when it is idle
 *     while (generations_request(&g, &r))        one request at a time
 *             generations_done(&g, error)
 *
 * Each step hashes a piece of GENERATION_PIECE bytes at most, so the control core can do other work in between.
 */
#ifndef DISK_GENERATIONS_H
#define DISK_GENERATIONS_H

#include "disk/disk.h"
#include "lib/sha256.h"

#define GENERATION_HEADER 4096
#define GENERATION_PIECE 32768
#define GENERATION_LEAST (2 * (GENERATION_HEADER + GENERATION_PIECE)) /* bytes of the smallest partition */

struct generations {
	/* Of the newest whole generation, whose content is in memory after generations_open(); 0: there is none. */
	uint64_t number;
	uint64_t bytes; /* of its content */
	/* Found when opened: a slot with a header of ours whose content or header is not whole, or a slot that the disk
	 * could not read. It may have held the newest generation. A write that was cut leaves one that is not whole; so
	 * does a disk that has lost something. */
	bool damaged;
	/* Of the last opening or writing, once it has ended: E_OK. E_DEVICE: the disk failed; while opening, at both
	 * slots. E_INVAL: the disk has not kept what was written. E_NOMEM: the content read is longer than `room`. */
	int error;
	/* private */
	uint64_t slot_bytes;
	uint8_t *buffer, *memory;
	uint64_t room;
	const uint8_t *content; /* that is being written */
	uint64_t at;            /* bytes of content done */
	uint8_t state, slot;
	uint8_t tried;          /* bits of slots whose content has been read */
	bool unread;            /* the disk could not read a slot */
	struct slot {
		uint64_t number, bytes; /* number 0: no header of ours, or a damaged one */
		uint8_t digest[SHA256_BYTES];
	} of[2], made;
	struct sha256 hash;
};

/* bytes: of the partition; buffer: GENERATION_PIECE bytes that the disk's driver can use; memory: `room` bytes for
 * the content. All stay the caller's, and are used until the object is given up. E_INVAL: the partition is too
 * small. */
int generations_open(struct generations *g, uint64_t bytes, uint8_t *buffer, uint8_t *memory, uint64_t room);

/* The longest content. */
uint64_t generations_most(const struct generations *g);

/* Is nothing under way? */
bool generations_idle(const struct generations *g);

/* Begins a new generation. The content stays as it is until it is idle again; it may be `memory`. E_NOMEM: longer
 * than generations_most(). Then, and when writing fails, the generation before is still there; the next write takes
 * the same slot. */
int generations_write(struct generations *g, const uint8_t *content, uint64_t bytes);

/* The next request, from the start of the partition; false: there is none. */
bool generations_request(struct generations *g, struct disk_request *r);
void generations_done(struct generations *g, int error);

#endif
