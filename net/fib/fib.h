/*
 * Longest-prefix match, IPv4 and IPv6: the interface. trie.h is the table behind it; users, and all
 * of tests/unit/test_fib.c but what "knows the trie", rely on what stands here alone.
 *
 * One writer (the control core) changes a table, any number of readers (data cores) look up
 * meanwhile. A table is of one family and lies in two parts, both lent by the caller: `struct fib`,
 * which readers map read-only at the writer's address, and the writer's private part. No function
 * waits or allocates.
 *
 *     call                                      by whom and when
 *     fib4_init, fib6_init                      writer; no reader has the table
 *     fib4_lookup, fib6_lookup, and _batch      any reader, and the writer; any time
 *     fib_reclaim                               writer; after every reader has passed a quiescent
 *                                               point
 *     all others                                writer; any time
 *
 * 1. A change becomes visible by single aligned stores: a look-up that runs meanwhile gets,
 *    for each address, the answer of before or of after it, never a third. After a reader's next
 *    quiescent point it gets the new one.
 * 2. Shared memory that a change makes free (fib_retired blocks) rests until fib_reclaim, because
 *    a reader may still be in it (ARCHITECTURE.md, invariant 2).
 *
 * A batch look-up takes the way that fib_use() said, by the vector instructions that the machine
 * has; all ways give the same answers. net/ does not ask the machine: hal/vector.h does.
 *
 * IPv4 addresses and prefixes are in host byte order, those of IPv6 as on the wire: as struct
 * net_addr for the writer, as a pointer to 16 bytes, wherever they lie, for readers. A next hop is
 * a number below FIB_NH_LIMIT whose meaning is the caller's; FIB_NH_NONE says that no prefix covers
 * the address.
 */
#ifndef NET_FIB_FIB_H
#define NET_FIB_FIB_H

#include "lib/types.h"
#include "net/addr.h"

#define FIB_NH_NONE 0u
#define FIB_NH_LIMIT (1u << 16)
#define FIB_BATCH_MAX 256

struct fib;

/* Ways of looking up. FIB_AVX512 wants AVX-512 F and DQ; both are of x86-64 alone. */
enum fib_path {
	FIB_SCALAR,
	FIB_AVX2,
	FIB_AVX512,
};

/* The fastest where vectors have so many bits (hal/vector.h: 512, 256, or less). */
static inline enum fib_path fib_path_for(unsigned vector_bits)
{
	return vector_bits >= 512 ? FIB_AVX512 : vector_bits >= 256 ? FIB_AVX2 : FIB_SCALAR;
}

/* The writer's handle. */
struct fib_writer {
	struct fib *fib;     /* what readers are given; stays the same until the next init */
	struct fib_private *priv; /* private to net/fib */
};

/* Where a walk is; all zero at its start. Private. */
struct fib_cursor {
	uint64_t hi, lo;
	unsigned plen;
};

/* A prefix as a walk returns it. */
struct fib4_route {
	uint32_t prefix;
	uint32_t nh;
	uint8_t plen;
};

struct fib6_route {
	struct net_addr prefix;
	uint32_t nh;
	uint8_t plen;
};

/*
 * Bytes of a shared part that holds `routes` prefixes of the usual mix of lengths (the global
 * table's) with some slack; other mixes may need more. And of the private part for so many prefixes
 * beside a shared part of that size.
 */
size_t fib4_shared_bytes(uint32_t routes);
size_t fib6_shared_bytes(uint32_t routes);
size_t fib4_private_bytes(uint32_t routes, size_t shared_bytes);
size_t fib6_private_bytes(uint32_t routes, size_t shared_bytes);

/*
 * Makes an empty table in the caller's memory: 64-byte aligned, with any contents, the caller's
 * again when the table is no longer used. E_NOMEM when a part is too small for any table, or
 * the private one too small for the shared one; *w is then as it was. The way is FIB_SCALAR.
 */
int fib4_init(struct fib_writer *w, void *shared, size_t shared_bytes, void *priv,
              size_t priv_bytes);
int fib6_init(struct fib_writer *w, void *shared, size_t shared_bytes, void *priv,
              size_t priv_bytes);

/*
 * Adds prefix/plen, or changes its next hop when it is there. E_INVAL: plen beyond the address, a
 * bit of prefix behind plen is set, nh is FIB_NH_NONE or not below FIB_NH_LIMIT. E_NOMEM: no room,
 * perhaps only until fib_reclaim; changing a next hop gives it only when the old one is below 256
 * and the new one is not (trie.h, invariant 6). After an error the table is as it was.
 */
int fib4_insert(struct fib_writer *w, uint32_t prefix, unsigned plen, uint32_t nh);
int fib6_insert(struct fib_writer *w, const struct net_addr *prefix, unsigned plen, uint32_t nh);

/* Removes exactly prefix/plen; what it covered falls back to the next shorter prefix. Needs no
 * memory. E_NOENT: it is not there, or is no prefix. */
int fib4_remove(struct fib_writer *w, uint32_t prefix, unsigned plen);
int fib6_remove(struct fib_writer *w, const struct net_addr *prefix, unsigned plen);

/* Next hop stored for exactly prefix/plen, or FIB_NH_NONE. */
uint32_t fib4_get(const struct fib_writer *w, uint32_t prefix, unsigned plen);
uint32_t fib6_get(const struct fib_writer *w, const struct net_addr *prefix, unsigned plen);

/* Which way batches are looked up from now on. The machine must have what it takes. */
void fib_use(struct fib_writer *w, enum fib_path path);

/* Bytes of the shared part that readers look at now, for statistics: what is neither free nor
 * resting. */
size_t fib_bytes(const struct fib_writer *w);

/* Number of prefixes. */
uint32_t fib_count(const struct fib_writer *w);

/*
 * Walks all prefixes in ascending (prefix, plen) order from *cursor on. Returns false after the
 * last. What is changed during a walk, it may meet or miss; nothing else is met twice or missed.
 */
bool fib4_next(const struct fib_writer *w, struct fib_cursor *cursor, struct fib4_route *out);
bool fib6_next(const struct fib_writer *w, struct fib_cursor *cursor, struct fib6_route *out);

/* Blocks of the shared part that wait for fib_reclaim(). */
uint32_t fib_retired(const struct fib_writer *w);

/* Makes them usable again. */
void fib_reclaim(struct fib_writer *w);

/* Next hop for dst, or FIB_NH_NONE. */
uint32_t fib4_lookup(const struct fib *fib, uint32_t dst);
uint32_t fib6_lookup(const struct fib *fib, const uint8_t *dst);

/* nh[i] = next hop for dst[i], for i < n <= FIB_BATCH_MAX. nh and dst do not overlap. */
void fib4_lookup_batch(const struct fib *fib, const uint32_t *dst, uint32_t *nh, unsigned n);
void fib6_lookup_batch(const struct fib *fib, const uint8_t *const *dst, uint32_t *nh, unsigned n);

#endif
