/*
 * The hosts on our links: exact match of (interface, IPv6 address), beside a table of prefixes
 * (fib.h) that tells whether an address is on a link. In the trie each host would take a node of 1
 * KiB for almost every byte of its interface identifier; here it takes 128 bytes.
 *
 * An open hash table: an entry lies in one of HOST6_WINDOW slots from its hash position on, and a
 * look-up reads all of them until it finds the entry. Removal therefore leaves no mark. An
 * insertion may fail while others succeed (with a quarter of the slots in use, for one host in
 * fifteen thousand). Packets to a host without an entry go to the control core, which is slow but
 * correct. The hash has a key, so that nobody outside can choose addresses that collide.
 *
 * One writer, any number of readers, as in fib.h:
 * 1. A slot is written while its next hop is FIB_NH_NONE. The next hop is stored last (release) and
 *    read first (acquire).
 * 2. A released slot rests until host6_reclaim: a reader may have read its next hop and not yet
 *    compared its address.
 */
#ifndef NET_FIB_HOST6_H
#define NET_FIB_HOST6_H

#include "lib/types.h"
#include "net/addr.h"
#include "net/fib/fib.h"

#define HOST6_WINDOW 8

struct host6;

struct host6_writer {
	struct host6 *table; /* for readers */
	bool *rests;         /* per slot: resting */
	uint32_t count, resting;
};

/* Bytes of the shared and of the private part for `hosts` hosts. */
size_t host6_shared_bytes(uint32_t hosts);
size_t host6_private_bytes(uint32_t hosts);

/* Makes an empty table in the caller's memory, 64-byte aligned; key: random and secret. */
void host6_init(struct host6_writer *w, uint32_t hosts, void *shared, void *priv,
                const uint64_t key[2]);

/* Adds a host, or changes its next hop, which must not be FIB_NH_NONE. E_NOMEM: no room, perhaps
 * only until host6_reclaim. */
int host6_insert(struct host6_writer *w, unsigned interface, const struct net_addr *addr,
                 uint32_t nh);

/* E_NOENT: the host has no entry. */
int host6_remove(struct host6_writer *w, unsigned interface, const struct net_addr *addr);

/* Slots waiting for host6_reclaim. All readers must pass a quiescent point before it is called. */
static inline uint32_t host6_resting(const struct host6_writer *w) { return w->resting; }
void host6_reclaim(struct host6_writer *w);

/*
 * Walks a table of `bytes` with any content, by slots; *cursor starts at 0. False after the last.
 * Used to read a table left by an earlier owner.
 */
struct host6_entry {
	struct net_addr addr;
	unsigned interface;
	uint32_t nh;
};
bool host6_next(const struct host6 *t, size_t bytes, uint32_t *cursor, struct host6_entry *out);

/* Next hop of the host with the address at addr, 16 bytes in wire order; FIB_NH_NONE if it has
 * none. */
uint32_t host6_lookup(const struct host6 *t, unsigned interface, const uint8_t *addr);

#endif
