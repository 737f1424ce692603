/*
 * The disk from which the machine was started, and its images A and B (docs/install.md): which one runs, which one
 * the next boot starts, writing the other one, and writing a whole disk.
 *
 * GRUB says on the kernel's command line which disk and image it started (boot-disk=, boot-image=; boot/disk.cfg).
 * The disk is found by its id in the environment block (disk/boot_env.h).
 *
 * Invariants
 * 1. The partition of the image that runs is never written, nor that of the active image.
 * 2. An image is put on trial only if its header can be read: it has been written whole (disk/upgrade.h).
 * 3. What the next boot starts changes by a write of one sector.
 *
 * One change is under way at a time, and nothing waits: `done` is called later, from boot_disk_timer() or storage's
 * timer, with NULL or why the change has failed.
 */
#ifndef CONTROL_STORAGE_BOOT_DISK_H
#define CONTROL_STORAGE_BOOT_DISK_H

#include "disk/boot_env.h"
#include "disk/image.h"
#include "lib/types.h"

typedef void (*boot_disk_done)(void *arg, const char *why);

/* Once per program, after the disks have been begun. */
void boot_disk_open(void);
uint64_t boot_disk_timer(void);

struct boot_disk_status {
	const char *why;     /* there is no such disk, or it cannot be used: why; NULL */
	unsigned disk;       /* disks.h */
	unsigned running;    /* the image that runs */
	struct boot_env env; /* as read, or written since */
	bool whole[IMAGES];  /* the image's header can be read: */
	struct image image[IMAGES];
	const char *doing;   /* the change that is under way; NULL */
	uint32_t done, all;  /* of it, in pieces; all 0: not known */
};
void boot_disk_status(struct boot_disk_status *s);

/* core_now_ns() at which the machine restarts, because the image that runs is on trial and has not been confirmed;
 * UINT64_MAX: it does not. */
uint64_t boot_disk_trial_ends(void);

enum boot_disk_change {
	BOOT_DISK_ACTIVATE, /* the other image is on trial: the next boot starts it, once */
	BOOT_DISK_CONFIRM,  /* the image that runs is the active one */
	BOOT_DISK_CANCEL,   /* no image is on trial */
};

/* These return NULL: it has begun, and `done` will be called. Else why it cannot be, and `done` will not be called. */
const char *boot_disk_change(enum boot_disk_change change, boot_disk_done done, void *arg);

#define IMAGE_FILE_MAX (64u << 20) /* bytes of such a file: the partition's, by tools/launcher/disk.py */

/* Writes the other image from a file of disk/image.h, which stays until `done`. */
const char *boot_disk_write(const uint8_t *file, uint64_t bytes, boot_disk_done done, void *arg);

/* How long the file is whose first IMAGE_HEADER bytes these are: at most IMAGE_FILE_MAX. NULL, or why it is no
 * image. */
const char *boot_disk_file_bytes(const uint8_t header[IMAGE_HEADER], uint64_t *bytes);

/* Could it be written now? */
const char *boot_disk_may_write(void);

/* Writes disk n from an install file (disk/install.h), which stays until `done`. */
const char *boot_disk_install(unsigned n, const uint8_t *file, uint64_t bytes, bool force, boot_disk_done done,
                              void *arg);

#endif
