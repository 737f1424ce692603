/*
 * The table of neighbours that net/arp.c and net/nd.c both keep, keyed by port and address of
 * either family: hash, lists, deadlines, waiting frames. What a neighbour's state means is its
 * owner's business: nothing here knows one, but that 0 is free, and no op is called from here.
 *
 * Invariants
 * 1. All memory is the owner's, given once; nothing here can fail for want of it but what says so.
 * 2. A neighbour is in the hash unless it is free, in the heap exactly while heap_pos is not
 *    NEIGH_NIL, and in at most one list.
 */
#ifndef NET_NEIGH_TABLE_H
#define NET_NEIGH_TABLE_H

#include "lib/siphash.h"
#include "lib/types.h"
#include "net/addr.h"
#include "net/eth.h"

#define NEIGH_NIL UINT32_MAX

/* Sizes; all are 1 or more. */
struct neigh_sizes {
	uint32_t neighbours;
	uint32_t queue;     /* frames that wait per neighbour, at most 65535 */
	uint32_t pending;   /* frames that wait in all */
	uint32_t frame_max; /* longest frame that can wait, bytes with Ethernet header */
};

/* A neighbour. Of the last three its owner alone knows what they mean, and when. */
struct neigh {
	uint64_t deadline;  /* meaningful while heap_pos != NEIGH_NIL */
	uint64_t heard_ns;  /* when it was last confirmed */
	struct net_addr addr;
	uint32_t hash_next;
	uint32_t heap_pos;
	uint32_t prev, next;            /* in the free or an evictable list */
	uint32_t pend_head, pend_tail;
	uint32_t pins;
	uint16_t queued;
	uint8_t port;
	uint8_t state;      /* the owner's; 0: free */
	uint8_t requests;   /* sent in this state */
	uint8_t listed;     /* NEIGH_UNLISTED, or the number of its evictable list */
	uint8_t mac[ETH_ALEN];
	bool used;          /* by the data cores since it was confirmed */
	bool idle;          /* ARP: in its last seconds, and was not used when asked */
	bool wanted;        /* ARP: somebody has sent to it since it is in the table */
	uint8_t role;       /* ND: enum nd_role */
};

struct neigh_list {
	uint32_t head, tail;
};

#define NEIGH_EVICTABLE 2 /* lists of those that a full table may give up; the first goes first */
#define NEIGH_UNLISTED NEIGH_EVICTABLE

/* A frame that waits. */
struct neigh_slot {
	uint32_t next;
	uint32_t len;
	uint8_t frame[];
};

struct neigh_table {
	struct neigh_sizes size;
	struct siphash_key key; /* strangers choose the addresses, so the buckets must not be known */
	struct neigh *neigh;
	uint32_t *hash;        /* heads of the chains, hash_mask + 1 of them */
	uint32_t *heap;        /* neighbours by deadline, a binary heap */
	uint8_t *slots;        /* pending frames, slot_bytes apart: header, then the frame */
	uint32_t slot_bytes;
	uint32_t hash_mask;
	uint32_t heap_len;
	uint32_t slot_free;    /* list of free slots */
	uint32_t pending;      /* slots in use */
	struct neigh_list free; /* oldest first, so that an index rests before reuse */
	struct neigh_list evictable[NEIGH_EVICTABLE]; /* oldest first */
};

static inline struct neigh_slot *neigh_slot_at(const struct neigh_table *t, uint32_t slot)
{
	return (struct neigh_slot *)(void *)(t->slots + (size_t)slot * t->slot_bytes);
}

/* True when a table can have these sizes. */
bool neigh_sizes_are_valid(const struct neigh_sizes *s);

/* Bytes of memory that a table of these sizes needs. */
size_t neigh_table_bytes(const struct neigh_sizes *s);

/* Makes an empty table of the sizes, which are valid, in mem (8-byte aligned, the caller's for the
 * table's life, neigh_table_bytes of it). */
void neigh_table_init(struct neigh_table *t, const struct neigh_sizes *s,
                      const struct siphash_key *key, void *mem);

/* Neighbour (port, addr) or NEIGH_NIL. */
uint32_t neigh_hash_find(const struct neigh_table *t, unsigned port, const struct net_addr *addr);

/* Takes the free neighbour that has rested longest and enters it under its key, all else zero; its
 * state is the caller's to set at once. NEIGH_NIL when none is free. */
uint32_t neigh_take(struct neigh_table *t, unsigned port, const struct net_addr *addr);

/* Out of the hash; afterwards its owner appends it to the free list, when nobody uses it. */
void neigh_hash_remove(struct neigh_table *t, uint32_t i);

/* Moves the neighbour to the evictable list `which`, or out of all with NEIGH_UNLISTED; one that
 * is in it already keeps its place. */
void neigh_relist(struct neigh_table *t, uint32_t i, unsigned which);

/* The neighbour that a full table gives up first; NEIGH_NIL: none may go. */
uint32_t neigh_evictable(const struct neigh_table *t);

/* Gives an unlisted neighbour back. */
void neigh_free(struct neigh_table *t, uint32_t i);

/* Sets or moves the deadline of a neighbour; clear takes it away, if there is one. */
void neigh_timer_set(struct neigh_table *t, uint32_t i, uint64_t deadline);
void neigh_timer_clear(struct neigh_table *t, uint32_t i);

/* The earliest deadline; UINT64_MAX when there is none. Its neighbour is heap[0]. */
static inline uint64_t neigh_deadline(const struct neigh_table *t)
{
	return t->heap_len ? t->neigh[t->heap[0]].deadline : UINT64_MAX;
}

/* True when one more frame can be queued for the neighbour now. */
bool neigh_queue_has_room(const struct neigh_table *t, uint32_t i);

/* Copies a frame (of at most frame_max bytes) to the end of the neighbour's queue, which has
 * room. */
void neigh_queue_push(struct neigh_table *t, uint32_t i, const uint8_t *frame, unsigned len);

/* Takes the oldest frame off the neighbour's queue, which is not empty; its slot is still in
 * use. */
uint32_t neigh_queue_pop(struct neigh_table *t, uint32_t i);

/* Takes the whole queue off the neighbour: a chain of slots through next, still in use. */
uint32_t neigh_queue_detach(struct neigh_table *t, uint32_t i);

void neigh_slot_free(struct neigh_table *t, uint32_t slot);

#endif
