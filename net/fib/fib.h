/*
 * IPv4 longest-prefix match: the interface (the algorithm behind it is trie.c's affair).
 *
 * One writer (the control core) owns a `struct fib4_writer` in private memory: the prefixes
 * and the bookkeeping. Readers (data cores) see only `struct fib4`, in memory they map
 * read-only; every change becomes visible by single aligned word stores, so a look-up that
 * runs meanwhile gets the old or the new answer, never a third.
 *
 * Memory that readers may still look at is not reused before fib4_reclaim(), which the writer
 * calls once every reader has passed a quiescent point (ARCHITECTURE.md, invariant 2).
 *
 * Addresses and prefixes are in host byte order. A next hop is a number below FIB_NH_LIMIT
 * whose meaning is the caller's; FIB_NH_NONE says that no prefix covers the address.
 */
#ifndef NET_FIB_FIB_H
#define NET_FIB_FIB_H

#include "lib/types.h"

#define FIB_NH_NONE 0u
#define FIB_NH_LIMIT (1u << 24)

struct fib4;

/* A prefix as the writer's iterator returns it. */
struct fib4_route {
	uint32_t prefix;
	uint32_t nh;
	uint8_t plen;
};

/* Writer state; the fields are private to net/fib. */
struct fib4_writer {
	struct fib4 *fib;
	struct fib4_rib *rib;
};

/* Bytes of reader-visible and of writer-private memory that hold `routes` prefixes of the
 * usual mix of lengths (the global table's) plus some slack. */
size_t fib4_shared_bytes(uint32_t routes);
size_t fib4_private_bytes(uint32_t routes);

/*
 * Makes an empty table in the caller's memory (64-byte aligned, shared part zeroed or not).
 * Both parts stay the caller's and must outlive the table. E_NOMEM when too small.
 */
int fib4_init(struct fib4_writer *w, void *shared, size_t shared_bytes, void *priv,
              size_t priv_bytes);

/*
 * Adds prefix/plen, or changes its next hop when it is there. Bits of prefix below plen must
 * be zero (E_INVAL), plen <= 32, 0 < nh < FIB_NH_LIMIT. E_NOMEM leaves the table as it was.
 */
int fib4_insert(struct fib4_writer *w, uint32_t prefix, unsigned plen, uint32_t nh);

/* Removes exactly prefix/plen; what it covered falls back to the next shorter prefix. E_NOENT. */
int fib4_remove(struct fib4_writer *w, uint32_t prefix, unsigned plen);

/* Next hop stored for exactly prefix/plen, or FIB_NH_NONE. Writer side. */
uint32_t fib4_get(const struct fib4_writer *w, uint32_t prefix, unsigned plen);

/* Number of prefixes. Writer side. */
uint32_t fib4_count(const struct fib4_writer *w);

/*
 * Walks all prefixes in ascending (prefix, plen) order: *cursor starts at 0 and is private.
 * Returns false after the last. The table must not change during a walk.
 */
bool fib4_next(const struct fib4_writer *w, uint64_t *cursor, struct fib4_route *out);

/* Blocks of shared memory that wait for fib4_reclaim(). */
uint32_t fib4_retired(const struct fib4_writer *w);

/* Makes retired memory usable again; only after a quiescent point of every reader. */
void fib4_reclaim(struct fib4_writer *w);

/* Next hop for dst, or FIB_NH_NONE. Reader side; any time, any number of readers. */
uint32_t fib4_lookup(const struct fib4 *fib, uint32_t dst);

/* nh[i] = next hop for dst[i], for i < n <= PKT_VECTOR_MAX. Reader side. */
void fib4_lookup_batch(const struct fib4 *fib, const uint32_t *dst, uint32_t *nh, unsigned n);

#endif
