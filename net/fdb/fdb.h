/*
 * The forwarding database of a bridge (IEEE 802.1Q-2018 8.8): MAC address and VLAN → port, for up to
 * FDB_ENTRIES_MAX stations. All VLANs learn independently (8.8.8, IVL): an address in two VLANs has two
 * entries.
 *
 * One writer, any number of readers without lock, version or waiting:
 * 1. An entry is one 64-bit word: 48 bits of address, 12 of VLAN, 4 of port; 0 is a free slot, because no
 *    station has the address 0 and no VLAN is 0. A reader loads it whole, so there is nothing half written
 *    to be seen, and a slot may be used again as soon as it is free.
 * 2. A station that moves to another port is one store.
 *
 * The table is a bucketised cuckoo hash: a station lies in one of two buckets, of 8 slots and one cache
 * line each. An entry goes into its first bucket if that has a free slot. So a look-up reads one cache line
 * for most stations and two at most; fdb_lookup_batch prefetches both for a vector together. The
 * table takes 10 bytes a station, besides 5 of the writer's own: 9.5 MiB for a million. It is at most four
 * fifths full; then a million insertions copy 18,000 others (test_fdb).
 *
 * To make room the writer copies entries to their other bucket, copy first. A reader that has looked at
 * that bucket before the copy and at this one after it finds nothing. The frame is then flooded, as for any
 * unknown station: correct, only dearer, and rare.
 *
 * fdb.c, avx2.c, avx512.c: look-ups, scalar and by vector instructions from one source (batch.h); inside.h:
 * shared.
 *
 * An attacker chooses addresses, so the hash has secret factors (host6.h has the same construction):
 * nobody outside can choose stations that meet in a bucket.
 *
 * Age. Time is counted in marks, a unit of the caller's: 16 bits that wrap around. The writer has the mark
 * of each entry's last report. Readers do not report stations that the table has. They note in memory of
 * their own, one mark a slot, when they last found a station as a source (the caller's; fdb_age reads it).
 * That is a store to a line of this core alone, and only once a unit. fdb_age looks at these notes only
 * when the entry's own mark has run out. A note can be older than 65,536 units and look recent; it then
 * delays the end of an entry by one ageing time. So does a move of the entry to its other bucket.
 *
 * Deliberately missing: shared VLAN learning, several ports of a station (multicast groups).
 */
#ifndef NET_FDB_FDB_H
#define NET_FDB_FDB_H

#include "lib/bytes.h"
#include "lib/types.h"

#define FDB_ENTRIES_MAX 1000000u
#define FDB_PORTS 16 /* 4 bits of an entry */
#define FDB_BUCKET 8 /* slots: a cache line */
#define FDB_NONE UINT32_MAX
#define FDB_ANY UINT32_MAX /* any port, any VLAN */
#define FDB_BATCH_MAX 512
#define FDB_AGE_MAX 32767

struct fdb; /* what readers see */

/* An address and a VLAN as the word of an entry, with port 0. The address is not a group's and not 0. */
static inline uint64_t fdb_station(const uint8_t *mac, unsigned vid)
{
	return ((uint64_t)raw16_load(mac + 4) << 32 | raw32_load(mac)) << 16 | (uint64_t)vid << 4;
}

static inline void fdb_station_mac(uint64_t station, uint8_t *mac)
{
	raw32_store(mac, (uint32_t)(station >> 16));
	raw16_store(mac + 4, (uint16_t)(station >> 48));
}

static inline unsigned fdb_station_vid(uint64_t station) { return station >> 4 & 0xfff; }

/* --- readers --- */

/* What a look-up has found: FDB_NONE, or slot and port in one number. */
static inline uint32_t fdb_found_slot(uint32_t found) { return found >> 4; }
static inline unsigned fdb_found_port(uint32_t found) { return found & 15; }

uint32_t fdb_lookup(const struct fdb *t, uint64_t station);

/* The same for n <= FDB_BATCH_MAX stations. */
void fdb_lookup_batch(const struct fdb *t, const uint64_t *station, uint32_t *found, unsigned n);

/* Slots of the table: all numbers of slots are below it. */
uint32_t fdb_slots(const struct fdb *t);

/* --- the writer --- */

struct fdb_own { /* of a slot */
	uint16_t seen; /* mark of the last report, or of a later use that fdb_age has found */
	bool fixed;    /* a static entry */
	uint8_t reserved;
};

struct fdb_writer {
	struct fdb *table;
	struct fdb_own *own;  /* by slot */
	uint32_t entries_max;
	uint32_t learned[FDB_PORTS]; /* entries by port, without static ones */
	uint32_t limit[FDB_PORTS];   /* of these; 0: none */
	uint32_t fixed;  /* static entries */
	uint32_t moved;  /* entries copied to make room, since the start */
	uint32_t age_at; /* the next slot for fdb_age */
	uint16_t now;    /* the last mark that the writer was called with */
};

/* Bytes of the shared and of the private part for so many stations, 1 to FDB_ENTRIES_MAX. */
size_t fdb_shared_bytes(uint32_t entries);
size_t fdb_private_bytes(uint32_t entries);

/* Makes an empty table in the caller's memory, 64-byte aligned. key: random and secret. */
void fdb_init(struct fdb_writer *w, uint32_t entries, void *shared, void *own, const uint64_t key[2]);

/* Look-ups of vectors use instructions of that width, if they have a path for them (avx2.c); at first
 * scalar ones. */
void fdb_use(struct fdb_writer *w, unsigned vector_bits);

enum fdb_result {
	FDB_NEW,
	FDB_SAME,   /* it was there; its age is 0 again */
	FDB_MOVED,  /* it was at another port */
	FDB_FIXED,  /* a static entry has it, which learning does not change (802.1Q 8.7) */
	FDB_FULL,   /* entries_max, or no place in its two buckets */
	FDB_LIMIT,  /* the port has as many as it may */
};

/* A frame from the station has arrived at that port. */
enum fdb_result fdb_learn(struct fdb_writer *w, uint64_t station, unsigned port, uint16_t now);

/* Makes a static entry, which neither ages nor moves; a learned one becomes static. FDB_NEW or FDB_FULL. */
enum fdb_result fdb_fix(struct fdb_writer *w, uint64_t station, unsigned port);

/* Removes an entry of either kind. E_NOENT: there is none. */
int fdb_remove(struct fdb_writer *w, uint64_t station);

/* Removes the learned entries of a port and a VLAN, each of which may be FDB_ANY. Returns how many. Reads
 * the whole table, if there is any such entry. */
uint32_t fdb_flush(struct fdb_writer *w, uint32_t port, uint32_t vid);

/* Looks at the next n slots, and removes the learned entries that nobody has used for more than `age`
 * units, at most FDB_AGE_MAX. used: `readers` arrays of fdb_slots() marks, which other cores write; a NULL has
 * none. Returns how many it has removed. */
uint32_t fdb_age(struct fdb_writer *w, uint32_t n, uint16_t now, uint16_t age,
                 const uint16_t *const *used, unsigned readers);

/* Units since the entry in that slot was last reported or used, as far as the marks tell. */
uint16_t fdb_idle(const struct fdb_writer *w, uint32_t slot, uint16_t now, const uint16_t *const *used,
                  unsigned readers);

/* The next entry from slot *cursor on, which is 0 at the start. False: there is none. */
struct fdb_entry {
	uint64_t station;
	unsigned port;
	bool fixed;
	uint32_t slot;
};
bool fdb_next(const struct fdb_writer *w, uint32_t *cursor, struct fdb_entry *e);

/* All entries. */
uint32_t fdb_count(const struct fdb_writer *w);

#endif
