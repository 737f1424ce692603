/*
 * Longest-prefix match, IPv4 and IPv6: the interface. trie.h is the table behind it. Users rely on
 * this file alone, as do all tests of tests/unit/net/fib/test_fib.c except those marked "knows the trie".
 *
 * One writer (the control core) changes a table while any number of readers (data cores) look up. A
 * table is of one family and has two parts, both in the caller's memory: `struct fib`, which
 * readers map read-only at the writer's address, and the writer's private part. No function waits
 * or allocates.
 *
 *     call                                      by whom and when
 *     fib4_init, fib6_init                      writer; no reader has the table
 *     fib4_lookup, fib6_lookup, and _batch      any reader, and the writer; any time
 *     fib_reclaim                               writer; after every reader has passed a quiescent
 *                                               point
 *     all others                                writer; any time
 *
 * 1. A change becomes visible by single aligned stores. A concurrent look-up gets, for each
 *    address, the answer from before or after the change, never any other. After its next quiescent
 *    point a reader gets the new answer.
 * 2. Shared memory freed by a change (fib_retired blocks) rests until fib_reclaim, because a reader
 *    may still use it (ARCHITECTURE.md, invariant 2).
 *
 * A batch look-up uses the path set by fib_use(), according to the machine's vector instructions.
 * All paths give the same answers. hal/vector.h, not net/, examines the machine.
 *
 * IPv4 addresses and prefixes are in host byte order, IPv6 ones in wire order: the writer passes
 * struct net_addr, readers a pointer to 16 bytes of any alignment. A next hop is a number below
 * FIB_NH_LIMIT that the caller defines; FIB_NH_NONE means that no prefix covers the address.
 */
#ifndef NET_FIB_FIB_H
#define NET_FIB_FIB_H

#include "lib/pkt.h"
#include "lib/types.h"
#include "net/addr.h"

#define FIB_NH_NONE 0u
#define FIB_NH_LIMIT (1u << 16)
#define FIB_BATCH_MAX 256

struct fib;

/* Look-up paths. FIB_AVX512 needs AVX-512 F and DQ; both vector paths exist on x86-64 only. */
enum fib_path {
	FIB_SCALAR,
	FIB_AVX2,
	FIB_AVX512,
};

/* The fastest path for this vector width (hal/vector.h: 512, 256, or less). */
static inline enum fib_path fib_path_for(unsigned vector_bits)
{
	return vector_bits >= 512 ? FIB_AVX512 : vector_bits >= 256 ? FIB_AVX2 : FIB_SCALAR;
}

/* The writer's handle. */
struct fib_writer {
	struct fib *fib;     /* for readers; stays the same until the next init */
	struct fib_private *priv; /* private to net/fib */
};

/* Position of a walk; all zero at its start. Private. */
struct fib_cursor {
	uint64_t hi, lo;
	unsigned plen;
};

/* A prefix returned by a walk. */
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
 * Bytes of a shared part that holds `routes` prefixes in the length distribution of the global
 * table, with some slack; other distributions may need more. Bytes of the private part for `routes`
 * prefixes beside a shared part of `shared_bytes`.
 */
size_t fib4_shared_bytes(uint32_t routes);
size_t fib6_shared_bytes(uint32_t routes);
size_t fib4_private_bytes(uint32_t routes, size_t shared_bytes);
size_t fib6_private_bytes(uint32_t routes, size_t shared_bytes);

/*
 * Makes an empty table in the caller's memory: 64-byte aligned, any content, returned to the caller
 * when the table is no longer used. E_NOMEM: a part is too small for any table, or the private part
 * is too small for the shared one; *w is then unchanged. The initial path is FIB_SCALAR.
 */
int fib4_init(struct fib_writer *w, void *shared, size_t shared_bytes, void *priv,
              size_t priv_bytes);
int fib6_init(struct fib_writer *w, void *shared, size_t shared_bytes, void *priv,
              size_t priv_bytes);

/*
 * For an empty table: the next hops from `far` on are many, and those from `near` on are few, with
 * near < 256 <= far. Inside the table the numbers near to 255 are exchanged with as many from `far`
 * on, so that the latter's leaves take one byte. Every other function uses the caller's numbers.
 */
void fib6_favour(struct fib_writer *w, uint32_t near, uint32_t far);

/*
 * Adds prefix/plen, or changes its next hop if it exists. E_INVAL: plen exceeds the address, a bit
 * of prefix after plen is set, or nh is FIB_NH_NONE or not below FIB_NH_LIMIT. E_NOMEM: no room,
 * perhaps only until fib_reclaim. Changing a next hop returns E_NOMEM only if the old one is below
 * 256 (after fib6_favour's exchange) and the new one is not (trie.h, invariant 6). After an error
 * the table is unchanged.
 */
int fib4_insert(struct fib_writer *w, uint32_t prefix, unsigned plen, uint32_t nh);
int fib6_insert(struct fib_writer *w, const struct net_addr *prefix, unsigned plen, uint32_t nh);

/* Removes exactly prefix/plen; the next shorter prefix then covers its addresses. Needs no memory.
 * E_NOENT: the prefix does not exist or is invalid. */
int fib4_remove(struct fib_writer *w, uint32_t prefix, unsigned plen);
int fib6_remove(struct fib_writer *w, const struct net_addr *prefix, unsigned plen);

/* Next hop stored for exactly prefix/plen, or FIB_NH_NONE. */
uint32_t fib4_get(const struct fib_writer *w, uint32_t prefix, unsigned plen);
uint32_t fib6_get(const struct fib_writer *w, const struct net_addr *prefix, unsigned plen);

/* Sets the path for batch look-ups. The machine must support it. */
void fib_use(struct fib_writer *w, enum fib_path path);

/* Bytes of the shared part in use, for statistics: neither free nor resting. */
size_t fib_bytes(const struct fib_writer *w);

/* Number of prefixes. */
uint32_t fib_count(const struct fib_writer *w);

/*
 * Walks all prefixes in ascending (prefix, plen) order from *cursor on. Returns false after the
 * last. A prefix changed during the walk may be returned or missed; every other prefix is returned
 * exactly once.
 */
bool fib4_next(const struct fib_writer *w, struct fib_cursor *cursor, struct fib4_route *out);
bool fib6_next(const struct fib_writer *w, struct fib_cursor *cursor, struct fib6_route *out);

/* Blocks of the shared part that are waiting for fib_reclaim(). */
uint32_t fib_retired(const struct fib_writer *w);

/* Makes these blocks usable again. */
void fib_reclaim(struct fib_writer *w);

/* Next hop for dst, or FIB_NH_NONE. */
uint32_t fib4_lookup(const struct fib *fib, uint32_t dst);
uint32_t fib6_lookup(const struct fib *fib, const uint8_t *dst);

/* nh[i] = next hop for dst[i], for i < n <= FIB_BATCH_MAX. nh and dst do not overlap. */
void fib4_lookup_batch(const struct fib *fib, const uint32_t *dst, uint32_t *nh, unsigned n);
void fib6_lookup_batch(const struct fib *fib, const uint8_t *const *dst, uint32_t *nh, unsigned n);

/* The first 64 bits of IPv6 addresses, in host order. */
struct fib6_keys {
	uint32_t high[FIB_BATCH_MAX], low[FIB_BATCH_MAX];
};

/*
 * fib6_lookup_batch of destinations at octet `at` of the frames of v, by their keys: the rest of a destination
 * is read only where the first 64 bits do not decide. Returns the least of the next hops; n > 0.
 */
uint32_t fib6_lookup_frames(const struct fib *fib, const struct pkt *v, unsigned at, const struct fib6_keys *keys,
                            uint32_t *nh, unsigned n);

#endif
