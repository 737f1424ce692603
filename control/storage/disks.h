/*
 * The disks of the machine, on the control core: their drivers, and their queues of requests. Nothing waits: a request is
 * submitted, and disks_turn() looks for its end.
 *
 * A disk that fails is named on the console once, and is not used any more until the machine or the control program
 * restarts.
 */
#ifndef CONTROL_STORAGE_DISKS_H
#define CONTROL_STORAGE_DISKS_H

#include "drivers/blk.h"
#include "runtime/runtime.h"

#define DISKS_MAX BOOT_DISKS_MAX
#define DISKS_WAITING 4 /* requests that wait for one disk */

struct disk {
	struct blk blk;            /* name, sector, sectors, state, why */
	uint64_t reads, writes, flushes; /* requests that have succeeded */
	uint64_t errors;           /* requests that have failed */
};

/* Bytes of memory that disks_start() needs for the disks that this machine has; 0: it has none. */
size_t disks_bytes(void);

/* Begins to start all disks. `memory`: disks_bytes() aligned to BLK_DMA_BYTES, that outlives the program, because a
 * disk may still write to that of a program that has failed. Once per program. */
void disks_start(uint8_t *memory);

unsigned disks_count(void); /* 0 before disks_start() */

/* Disk n, which is called "diskN" on the console: by PCI address. */
const struct disk *disks_get(unsigned n);

/* True until each disk is ready or has failed. */
bool disks_starting(void);

/*
 * Asks disk n for one request, whose place is counted from the start of the disk, in whole sectors; at most
 * BLK_REQUEST_MAX bytes. r->data stays as it is until done(arg, error) is called by disks_turn(): E_OK, or E_DEVICE.
 * Requests of one disk are served in order. E_AGAIN: DISKS_WAITING requests wait already. E_DEVICE: the disk has
 * failed, or is not ready. E_INVAL: the place is not on the disk, is not in whole sectors, or is to be written and
 * the disk is read only. Then `done` is not called.
 */
int disks_ask(unsigned n, const struct disk_request *r, void (*done)(void *arg, int error), void *arg);

/* Looks at the disks; returns core_now_ns() of the next call, UINT64_MAX: none is needed. */
uint64_t disks_turn(void);

#endif
