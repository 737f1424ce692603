/*
 * Writes a whole disk from an install file in memory: partition tables, boot loader, image A, and empty room for
 * image B and the store (docs/install.md). `hayate image --installer` makes the file, a sparse copy of what `hayate
 * image --disk` writes:
 *
 *     0      "Hayate: install\n"
 *     16     version, 1 (32 bits)
 *     20     pieces (32 bits)
 *     24     bytes of the disk up to the end of the last partition (64 bits)
 *     32     SHA-256 of all behind the header
 *     4064   SHA-256 of the header before it
 *     4096   for each piece its number on the disk (32 bits), ascending from 0, with INSTALL_ZEROS if it is all
 *            zeros. Zeros up to a multiple of 4096
 *     then   the pieces that are not zeros, INSTALL_PIECE bytes each
 *
 * What the file does not name is not written. The file's partition table is made for the disk: its length, new
 * GUIDs, a new id.
 *
 *     the file is checked; the disk is looked at; its first piece is erased; flush;
 *     all other pieces and the backup of the table are written; flush; all are read back;
 *     the first piece is written without the first sector; flush;
 *     the first sector is written; flush; both are read back
 *
 * BIOS starts no disk whose first sector is empty, and UEFI knows no partition of it (UEFI Specification 2.10,
 * 5.2.3: the protective MBR). So a power cut before the last write leaves a disk that does not boot at all.
 */
#ifndef DISK_INSTALL_H
#define DISK_INSTALL_H

#include "disk/disk.h"
#include "lib/sha256.h"

#define INSTALL_PIECE 32768
#define INSTALL_HEADER 4096
#define INSTALL_ZEROS 0x80000000u
#define INSTALL_RANDOM 2064 /* bytes: GUIDs of the disk and of 128 partitions; the disk's GUID also makes the id */
#define INSTALL_MEMORY (3 * INSTALL_PIECE)

struct install {
	const char *why;       /* once it has ended: NULL, or why the disk has not been written */
	uint32_t done, pieces; /* for people: pieces written */
	/* private */
	const uint8_t *file, *index, *data;
	uint64_t file_bytes, disk_bytes;
	uint64_t sectors;
	uint64_t env_at;       /* byte of the environment block on the disk */
	uint32_t at;           /* of the pieces */
	uint64_t used;         /* bytes of data of the pieces before it */
	char id[17];
	bool force;
	uint8_t state;
	uint8_t *first, *want, *buffer; /* INSTALL_PIECE each: the first piece; what is compared; of requests */
	struct sha256 hash;
};

/* file: the caller's, unchanged until it has ended. sector, sectors: of the disk. memory: INSTALL_MEMORY bytes, the
 * caller's. random: INSTALL_RANDOM unpredictable bytes, copied. force: also onto a disk that is not empty, whose
 * contents are lost. NULL: it has begun; else why not. */
const char *install_begin(struct install *i, const uint8_t *file, uint64_t bytes, uint32_t sector, uint64_t sectors,
                          const uint8_t random[INSTALL_RANDOM], bool force, uint8_t *memory);

/* The next request, from the start of the disk; DISK_NONE: nothing, call install_done() at once or later. False: it
 * has ended. */
bool install_request(struct install *i, struct disk_request *r);
void install_done(struct install *i, int error);

#endif
