/*
 * What formats on disks ask of a disk, one request at a time. The formats (gpt.h, generations.h) do no input or
 * output themselves: they say what is to be read or written next, and are told when it is done. So nothing waits,
 * and a test can be the disk.
 */
#ifndef DISK_DISK_H
#define DISK_DISK_H

#include "lib/types.h"

enum disk_op {
	DISK_NONE,  /* nothing is to be done */
	DISK_READ,
	DISK_WRITE,
	DISK_FLUSH, /* what was written before survives a power cut, before anything is written after */
};

struct disk_request {
	enum disk_op op;
	uint64_t at;    /* first byte, from the start of the disk or, where that says so, of a partition; a multiple of the
	                   disk's sector */
	uint32_t bytes; /* likewise a multiple, not 0; of DISK_FLUSH 0 */
	uint8_t *data;  /* to be filled or written; stays as it is until the request is done */
};

#endif
