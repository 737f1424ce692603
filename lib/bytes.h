/*
 * Byte order. Values in network order have one-member struct types, so mixing them with host-order
 * integers does not compile. All loads and stores may be unaligned.
 */
#ifndef LIB_BYTES_H
#define LIB_BYTES_H

#include "lib/types.h"

typedef struct { uint16_t raw; } be16_t;
typedef struct { uint32_t raw; } be32_t;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTES_SWAP16(x) __builtin_bswap16(x)
#define BYTES_SWAP32(x) __builtin_bswap32(x)
#define BYTES_SWAP64(x) __builtin_bswap64(x)
/* A be16_t known at compile time, usable in initialisers. */
#define BE16(x) ((be16_t){(uint16_t)((((x) & 0xff) << 8) | (((x) >> 8) & 0xff))})
#else
#define BYTES_SWAP16(x) (x)
#define BYTES_SWAP32(x) (x)
#define BYTES_SWAP64(x) (x)
#define BE16(x) ((be16_t){(uint16_t)(x)})
#endif

static inline uint16_t be16_get(be16_t v) { return BYTES_SWAP16(v.raw); }
static inline uint32_t be32_get(be32_t v) { return BYTES_SWAP32(v.raw); }
static inline be16_t be16_make(uint16_t v) { return (be16_t){BYTES_SWAP16(v)}; }
static inline be32_t be32_make(uint32_t v) { return (be32_t){BYTES_SWAP32(v)}; }

/* The big-endian field at p, any alignment, as a host-order value. */
static inline uint16_t be16_load(const void *p)
{
	be16_t v;
	__builtin_memcpy(&v, p, sizeof v);
	return be16_get(v);
}

static inline uint32_t be32_load(const void *p)
{
	be32_t v;
	__builtin_memcpy(&v, p, sizeof v);
	return be32_get(v);
}

static inline void be16_store(void *p, uint16_t host)
{
	be16_t v = be16_make(host);
	__builtin_memcpy(p, &v, sizeof v);
}

static inline void be32_store(void *p, uint32_t host)
{
	be32_t v = be32_make(host);
	__builtin_memcpy(p, &v, sizeof v);
}

static inline uint64_t be64_load(const void *p) { return (uint64_t)be32_load(p) << 32 | be32_load((const uint8_t *)p + 4); }
static inline void be64_store(void *p, uint64_t host)
{
	be32_store(p, (uint32_t)(host >> 32));
	be32_store((uint8_t *)p + 4, (uint32_t)host);
}

/* The little-endian word at p, any alignment. */
static inline uint16_t le16_load(const void *p) { return __builtin_bswap16(be16_load(p)); }
static inline void le16_store(void *p, uint16_t host) { be16_store(p, __builtin_bswap16(host)); }
static inline uint32_t le32_load(const void *p) { return __builtin_bswap32(be32_load(p)); }
static inline void le32_store(void *p, uint32_t host) { be32_store(p, __builtin_bswap32(host)); }
static inline uint64_t le64_load(const void *p)
{
	return le32_load(p) | (uint64_t)le32_load((const uint8_t *)p + 4) << 32;
}

static inline void le64_store(void *p, uint64_t host)
{
	le32_store(p, (uint32_t)host);
	le32_store((uint8_t *)p + 4, (uint32_t)(host >> 32));
}

/* Raw (host-order) unaligned access: for hot paths that copy bytes without interpreting them, and for
 * tables in the machine's own byte order. */
static inline uint16_t raw16_load(const void *p)
{
	uint16_t v;
	__builtin_memcpy(&v, p, sizeof v);
	return v;
}

static inline uint32_t raw32_load(const void *p)
{
	uint32_t v;
	__builtin_memcpy(&v, p, sizeof v);
	return v;
}

static inline uint64_t raw64_load(const void *p)
{
	uint64_t v;
	__builtin_memcpy(&v, p, sizeof v);
	return v;
}

static inline void raw16_store(void *p, uint16_t v) { __builtin_memcpy(p, &v, sizeof v); }
static inline void raw32_store(void *p, uint32_t v) { __builtin_memcpy(p, &v, sizeof v); }
static inline void raw64_store(void *p, uint64_t v) { __builtin_memcpy(p, &v, sizeof v); }

#endif
