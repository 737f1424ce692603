/*
 * IPv4 longest-prefix match: the interface. trie.c is the table behind it today; users, and all of
 * tests/unit/test_fib.c but what "knows the trie", rely on what stands here alone.
 *
 * One writer (the control core) changes the table, any number of readers (data cores) look up
 * meanwhile. The table lies in two parts, both lent by the caller: `struct fib4`, which readers map
 * read-only at the writer's address, and the writer's private part. No function waits or allocates.
 *
 *     call                        by whom and when
 *     fib4_init                   writer; no reader has the table
 *     fib4_lookup, _lookup_batch  any reader, and the writer; any time
 *     fib4_reclaim                writer; after every reader has passed a quiescent point
 *     all others                  writer; any time
 *
 * 1. A change becomes visible by single aligned word stores: a look-up that runs meanwhile gets,
 *    for each address, the answer of before or of after it, never a third. After a reader's next
 *    quiescent point it gets the new one.
 * 2. Shared memory that a change makes free (fib4_retired blocks) rests until fib4_reclaim, because
 *    a reader may still be in it (ARCHITECTURE.md, invariant 2).
 *
 * Addresses and prefixes are in host byte order. A next hop is a number below FIB_NH_LIMIT whose
 * meaning is the caller's; FIB_NH_NONE says that no prefix covers the address.
 */
#ifndef NET_FIB_FIB_H
#define NET_FIB_FIB_H

#include "lib/types.h"

#define FIB_NH_NONE 0u
#define FIB_NH_LIMIT (1u << 24)
#define FIB_BATCH_MAX 256

struct fib4;

/* A prefix as the writer's iterator returns it. */
struct fib4_route {
	uint32_t prefix;
	uint32_t nh;
	uint8_t plen;
};

/* The writer's handle. */
struct fib4_writer {
	struct fib4 *fib;     /* what readers are given; stays the same until fib4_init */
	struct fib4_rib *rib; /* private to net/fib */
};

/*
 * Bytes of the shared and of the private part that hold `routes` prefixes of the usual mix of
 * lengths (the global table's) with some slack. Other mixes may need more of the shared part. Each
 * KiB that the shared part has beyond this takes 4 bytes of the private one.
 */
size_t fib4_shared_bytes(uint32_t routes);
size_t fib4_private_bytes(uint32_t routes);

/*
 * Makes an empty table in the caller's memory: 64-byte aligned, with any contents, the caller's
 * again when the table is no longer used. E_NOMEM when a part is too small for any table; *w is
 * then as it was.
 */
int fib4_init(struct fib4_writer *w, void *shared, size_t shared_bytes, void *priv,
              size_t priv_bytes);

/*
 * Adds prefix/plen, or changes its next hop when it is there. E_INVAL: plen > 32, a bit of prefix
 * behind plen is set, nh is FIB_NH_NONE or not below FIB_NH_LIMIT. E_NOMEM: no room, perhaps only
 * until fib4_reclaim; changing a next hop never gives it. After an error the table is as it was.
 */
int fib4_insert(struct fib4_writer *w, uint32_t prefix, unsigned plen, uint32_t nh);

/* Removes exactly prefix/plen; what it covered falls back to the next shorter prefix. Needs no
 * memory. E_NOENT: it is not there, or is no prefix. */
int fib4_remove(struct fib4_writer *w, uint32_t prefix, unsigned plen);

/* Next hop stored for exactly prefix/plen, or FIB_NH_NONE. */
uint32_t fib4_get(const struct fib4_writer *w, uint32_t prefix, unsigned plen);

/* Number of prefixes. */
uint32_t fib4_count(const struct fib4_writer *w);

/*
 * Walks all prefixes in ascending (prefix, plen) order: *cursor is 0 at the start and private.
 * Returns false after the last. The table must not change during a walk.
 */
bool fib4_next(const struct fib4_writer *w, uint64_t *cursor, struct fib4_route *out);

/* Blocks of the shared part that wait for fib4_reclaim(). */
uint32_t fib4_retired(const struct fib4_writer *w);

/* Makes them usable again. */
void fib4_reclaim(struct fib4_writer *w);

/* Next hop for dst, or FIB_NH_NONE. */
uint32_t fib4_lookup(const struct fib4 *fib, uint32_t dst);

/* nh[i] = next hop for dst[i], for i < n <= FIB_BATCH_MAX. nh and dst do not overlap. */
void fib4_lookup_batch(const struct fib4 *fib, const uint32_t *dst, uint32_t *nh, unsigned n);

#endif
