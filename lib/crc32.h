/* CRC-32 of Ethernet, GPT and gzip (IEEE Std 802.3-2018, 3.2.9; reflected polynomial 0xedb88320), over data in
 * pieces. */
#ifndef LIB_CRC32_H
#define LIB_CRC32_H

#include "lib/types.h"

/* The CRC of what `crc` covers, and of n bytes behind it. Of nothing it is 0. */
uint32_t crc32_add(uint32_t crc, const void *data, size_t n);

#endif
