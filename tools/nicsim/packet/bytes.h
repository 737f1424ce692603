/* Numbers in network order (big-endian), at any address. */
#ifndef NICSIM_PACKET_BYTES_H
#define NICSIM_PACKET_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint32_t be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t be32(const uint8_t *p)
{
	return be16(p) << 16 | be16(p + 2);
}

static inline uint64_t be64(const uint8_t *p)
{
	return (uint64_t)be32(p) << 32 | be32(p + 4);
}

static inline void put_be16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void put_be32(uint8_t *p, uint32_t v)
{
	put_be16(p, v >> 16);
	put_be16(p + 2, v);
}

static inline void put_be64(uint8_t *p, uint64_t v)
{
	put_be32(p, (uint32_t)(v >> 32));
	put_be32(p + 4, (uint32_t)v);
}

/* memcpy of a frame, which often has just 60 bytes. */
static inline void copy_frame(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	if (bytes - 32 > 32) {
		memcpy(to, from, bytes);
		return;
	}
	memcpy(to, from, 32);
	memcpy(to + bytes - 32, from + bytes - 32, 32);
}

#endif
