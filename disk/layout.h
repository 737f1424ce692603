/*
 * How Hayate uses a disk: a GUID partition table (gpt.h) with partitions of types of its own. No partition of
 * another type is ever written, but by `install`, which writes a whole disk.
 *
 *     type                contents
 *     GPT_TYPE_STORE      what the machine remembers: generations.h, whose content is a tar archive of named values
 *                         (control/storage/values.h)
 *     GPT_TYPE_IMAGE_A    an image of Hayate to boot (image.h)
 *     GPT_TYPE_IMAGE_B    another one
 *     GPT_TYPE_BOOT_ENV   a FAT file system with the block by which GRUB chooses the image (boot_env.h), at BOOT_ENV_AT
 *
 * tools/launcher/disk.py says the same to the launcher.
 */
#ifndef DISK_LAYOUT_H
#define DISK_LAYOUT_H

#include "disk/gpt.h"

/* 82bb5a04-dd95-4e7e-890e-6e0d966dae53 */
#define GPT_TYPE_STORE \
	(struct gpt_guid){{0x04, 0x5a, 0xbb, 0x82, 0x95, 0xdd, 0x7e, 0x4e, 0x89, 0x0e, 0x6e, 0x0d, 0x96, 0x6d, 0xae, 0x53}}
/* b5d66981-f24a-4cb9-be6a-0b585807fcdb */
#define GPT_TYPE_IMAGE_A \
	(struct gpt_guid){{0x81, 0x69, 0xd6, 0xb5, 0x4a, 0xf2, 0xb9, 0x4c, 0xbe, 0x6a, 0x0b, 0x58, 0x58, 0x07, 0xfc, 0xdb}}
/* cfbdef83-cf5e-4f19-89a0-5ec104f91533 */
#define GPT_TYPE_IMAGE_B \
	(struct gpt_guid){{0x83, 0xef, 0xbd, 0xcf, 0x5e, 0xcf, 0x19, 0x4f, 0x89, 0xa0, 0x5e, 0xc1, 0x04, 0xf9, 0x15, 0x33}}
/* efbdd5b0-b804-4e89-8aea-b423a904d0a0 */
#define GPT_TYPE_BOOT_ENV \
	(struct gpt_guid){{0xb0, 0xd5, 0xbd, 0xef, 0x04, 0xb8, 0x89, 0x4e, 0x8a, 0xea, 0xb4, 0x23, 0xa9, 0x04, 0xd0, 0xa0}}

#define BOOT_ENV_AT 23040 /* byte in its partition, a multiple of 512 */

/* Random bytes as a GUID of version 4 (RFC 9562, 5.4) in the order of a disk. */
static inline void gpt_guid_make(uint8_t *to, const uint8_t random[GPT_GUID_BYTES])
{
	for (unsigned i = 0; i < GPT_GUID_BYTES; i++)
		to[i] = random[i];
	to[7] = (uint8_t)((to[7] & 0x0f) | 0x40);
	to[8] = (uint8_t)((to[8] & 0x3f) | 0x80);
}

#endif
