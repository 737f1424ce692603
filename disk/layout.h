/*
 * How Hayate uses a disk: a GUID partition table (gpt.h) with partitions of types of its own. No partition of another type is
 * ever written.
 *
 *     type              contents
 *     GPT_TYPE_STORE    what the machine remembers: generations.h, whose content is a tar archive of named values
 *                       (control/storage/values.h)
 *     GPT_TYPE_IMAGE    an image of Hayate to boot
 *     GPT_TYPE_ESP      the EFI system partition (UEFI Specification 2.10, 5.3.3): the boot loader, if Hayate was installed
 */
#ifndef DISK_LAYOUT_H
#define DISK_LAYOUT_H

#include "disk/gpt.h"

/* 82bb5a04-dd95-4e7e-890e-6e0d966dae53 */
#define GPT_TYPE_STORE \
	(struct gpt_guid){{0x04, 0x5a, 0xbb, 0x82, 0x95, 0xdd, 0x7e, 0x4e, 0x89, 0x0e, 0x6e, 0x0d, 0x96, 0x6d, 0xae, 0x53}}
/* b5d66981-f24a-4cb9-be6a-0b585807fcdb */
#define GPT_TYPE_IMAGE \
	(struct gpt_guid){{0x81, 0x69, 0xd6, 0xb5, 0x4a, 0xf2, 0xb9, 0x4c, 0xbe, 0x6a, 0x0b, 0x58, 0x58, 0x07, 0xfc, 0xdb}}
/* c12a7328-f81f-11d2-ba4b-00a0c93ec93b */
#define GPT_TYPE_ESP \
	(struct gpt_guid){{0x28, 0x73, 0x2a, 0xc1, 0x1f, 0xf8, 0xd2, 0x11, 0xba, 0x4b, 0x00, 0xa0, 0xc9, 0x3e, 0xc9, 0x3b}}

#endif
