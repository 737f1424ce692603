/*
 * The header of an image. It lies before the image in the file that an upgrade takes (`hayate image --upgrade`),
 * and in the last IMAGE_HEADER bytes of the partition that holds the image. Numbers are little-endian, the rest is
 * 0.
 *
 *     0      "Hayate: image\n"
 *     16     version, 1 (32 bits)
 *     24     bytes of the image (64 bits)
 *     32     SHA-256 of the image
 *     64     build id: 40 hexadecimal digits
 *     4064   SHA-256 of the header before it
 *
 * The hashes show that an image is whole. They do not show who made it.
 */
#ifndef DISK_IMAGE_H
#define DISK_IMAGE_H

#include "lib/sha256.h"
#include "lib/types.h"

#define IMAGE_HEADER 4096
#define IMAGE_BUILD 40
#define IMAGE_UNIT 32768 /* the image's length is a multiple of it */

struct image {
	uint64_t bytes;
	uint8_t digest[SHA256_BYTES];
	char build[IMAGE_BUILD + 1];
};

/* NULL: *i is that image; else why the header is none. */
const char *image_read(const uint8_t header[IMAGE_HEADER], struct image *i);

#endif
