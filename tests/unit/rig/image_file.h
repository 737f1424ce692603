/* A file with an image (disk/image.h), whose content is a pattern. */
#ifndef TESTS_UNIT_RIG_IMAGE_FILE_H
#define TESTS_UNIT_RIG_IMAGE_FILE_H

#include "tests/unit/rig/host.h"

#include "disk/image.h"
#include "lib/bytes.h"
#include "lib/sha256.h"

/* Header and `bytes` of content, which `salt` varies. says: the length that the header states. */
static inline void image_file_make(uint8_t *file, size_t bytes, uint64_t says, uint8_t salt)
{
	memset(file, 0, IMAGE_HEADER);
	for (size_t i = 0; i < bytes; i++)
		file[IMAGE_HEADER + i] = (uint8_t)(i * 7 + i / 251 + salt);
	memcpy(file, "Hayate: image\n", 14);
	le32_store(file + 16, 1);
	le64_store(file + 24, says);
	sha256_of(file + IMAGE_HEADER, bytes, file + 32);
	memset(file + 64, 'a', IMAGE_BUILD);
	sha256_of(file, IMAGE_HEADER - SHA256_BYTES, file + IMAGE_HEADER - SHA256_BYTES);
}

#endif
