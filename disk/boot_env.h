/*
 * The environment block by which GRUB chooses the image (boot/disk.cfg, docs/install.md): a text of BOOT_ENV_BYTES
 * bytes,
 *
 *     # GRUB Environment Block\n     NAME=VALUE\n ...     '#' up to the end
 *
 * GRUB's manual, "The GRUB environment block". A '\' before a character stands for that character
 * (grub-core/lib/envblk.c of GRUB 2.06).
 *
 * The block lies in two sectors of a disk, and only whole sectors survive a power cut. So all variables stay within
 * the first BOOT_ENV_ATOMIC bytes: a change is one sector, and the second sector never changes.
 */
#ifndef DISK_BOOT_ENV_H
#define DISK_BOOT_ENV_H

#include "lib/types.h"

#define BOOT_ENV_BYTES 1024
#define BOOT_ENV_ATOMIC 512
#define BOOT_ENV_ID 16 /* characters of the disk's name */

/* The images are 0 (A) and 1 (B). */
#define IMAGES 2
#define IMAGE_NONE IMAGES
static inline char image_letter(unsigned image) { return image < IMAGES ? (char)('A' + image) : '-'; }

struct boot_env {
	char id[BOOT_ENV_ID + 1];
	unsigned active; /* that has been confirmed; IMAGE_NONE: the block does not say, and GRUB takes A */
	unsigned trying; /* that is on trial; IMAGE_NONE: none */
	bool tried;      /* its trial has been used */
};

/* False: this is no environment block of ours. */
bool boot_env_read(const uint8_t block[BOOT_ENV_BYTES], struct boot_env *e);

/* Stores active, trying and tried in a block that boot_env_read() accepts; other variables stay. E_NOMEM: the
 * variables would leave the first sector, and the block has not changed. */
int boot_env_write(uint8_t block[BOOT_ENV_BYTES], const struct boot_env *e);

/* Makes a block: with an id, image A active, and nothing else. */
void boot_env_make(uint8_t block[BOOT_ENV_BYTES], const char id[BOOT_ENV_ID + 1]);

#endif
