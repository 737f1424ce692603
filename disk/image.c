/* See image.h. */
#include "disk/image.h"

#include "lib/bytes.h"
#include "lib/mem.h"

#define MAGIC "Hayate: image\n"
#define VERSION 1
#define AT_VERSION 16
#define AT_BYTES 24
#define AT_DIGEST 32
#define AT_BUILD 64
#define AT_SELF (IMAGE_HEADER - SHA256_BYTES)

const char *image_read(const uint8_t header[IMAGE_HEADER], struct image *i)
{
	uint8_t self[SHA256_BYTES];
	if (memcmp(header, MAGIC, sizeof MAGIC) != 0)
		return "not an image of Hayate";
	sha256_of(header, AT_SELF, self);
	if (memcmp(self, header + AT_SELF, sizeof self) != 0)
		return "the image's header is damaged";
	if (le32_load(header + AT_VERSION) != VERSION)
		return "the image's header is of another version";
	i->bytes = le64_load(header + AT_BYTES);
	if (i->bytes == 0 || i->bytes % IMAGE_UNIT != 0)
		return "the image has an impossible length";
	memcpy(i->digest, header + AT_DIGEST, sizeof i->digest);
	for (unsigned c = 0; c < IMAGE_BUILD; c++) {
		const uint8_t digit = header[AT_BUILD + c];
		i->build[c] = (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f') ? (char)digit : '?';
	}
	i->build[IMAGE_BUILD] = 0;
	return NULL;
}
