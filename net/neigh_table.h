/*
 * The table of neighbours used by both net/arp.c and net/nd.c, keyed by interface and address of
 * either family: hash, lists, deadlines, queued frames. The owner defines the states of a
 * neighbour; this module only knows that 0 is free. Only neigh_queue_add and neigh_chain_end call
 * ops of the owner.
 *
 * Invariants
 * 1. The owner provides all memory once. A function can lack memory only where its comment says so.
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

/* Sizes; each is at least 1. */
struct neigh_sizes {
	uint32_t neighbours;
	uint32_t queue;     /* maximum of queued frames per neighbour, at most 65535 */
	uint32_t pending;   /* maximum of queued frames in all */
	uint32_t frame_max; /* longest frame to queue, bytes with Ethernet header */
};

/* A neighbour. The owner defines used, idle, wanted and role. */
struct neigh {
	uint64_t deadline;  /* valid while heap_pos != NEIGH_NIL */
	uint64_t heard_ns;  /* time of the last confirmation */
	struct net_addr addr;
	uint32_t hash_next;
	uint32_t heap_pos;
	uint32_t prev, next;            /* in the free list or an evictable list */
	uint32_t pend_head, pend_tail;
	uint32_t pins;
	uint16_t queued;
	uint8_t interface;
	uint8_t state;      /* the owner's; 0: free */
	uint8_t requests;   /* sent in this state */
	uint8_t listed;     /* number of its evictable list, or NEIGH_UNLISTED */
	uint8_t mac[ETH_ALEN];
	bool used;          /* by the data cores since it was confirmed */
	bool idle;          /* ARP: in its last seconds, and unused when checked */
	bool wanted;        /* ARP: a frame was sent to it since it was added */
	uint8_t role;       /* ND: enum nd_role */
};

struct neigh_list {
	uint32_t head, tail;
};

#define NEIGH_EVICTABLE 2 /* lists of neighbours that a full table may evict, in this order */
#define NEIGH_UNLISTED NEIGH_EVICTABLE

struct neigh_table {
	struct neigh_sizes size;
	struct siphash_key key; /* strangers choose the addresses, so the hash must be secret */
	struct neigh *neigh;
	uint32_t *hash;        /* heads of the chains, hash_mask + 1 of them */
	uint32_t *heap;        /* neighbours by deadline, a binary heap */
	uint8_t *slots;        /* queued frames, slot_bytes apart: header, then the frame */
	uint32_t slot_bytes;
	uint32_t hash_mask;
	uint32_t heap_len;
	uint32_t slot_free;    /* list of free slots */
	uint32_t pending;      /* slots in use */
	struct neigh_list free; /* oldest first, to reuse an index as late as possible */
	struct neigh_list evictable[NEIGH_EVICTABLE]; /* oldest first */
};

/* True if a table can have these sizes. */
bool neigh_sizes_are_valid(const struct neigh_sizes *s);

/* Bytes of memory that a table of these sizes needs. */
size_t neigh_table_bytes(const struct neigh_sizes *s);

/* Makes an empty table of valid sizes in mem: 8-byte aligned, neigh_table_bytes of it, lent by the
 * caller as long as the table exists. */
void neigh_table_init(struct neigh_table *t, const struct neigh_sizes *s,
                      const struct siphash_key *key, void *mem);

/* Finds neighbour (interface, addr); NEIGH_NIL: none. */
uint32_t neigh_hash_find(const struct neigh_table *t, unsigned interface,
                         const struct net_addr *addr);

/* Takes the neighbour that has been free for longest and adds it under its key, with all other
 * fields zero. The caller must set its state at once. NEIGH_NIL: none is free. */
uint32_t neigh_take(struct neigh_table *t, unsigned interface, const struct net_addr *addr);

/* Removes a neighbour from the hash. The owner frees it (neigh_free) when it is no longer used. */
void neigh_hash_remove(struct neigh_table *t, uint32_t i);

/* Moves the neighbour to the evictable list `which`, or out of all lists with NEIGH_UNLISTED. A
 * neighbour already in that list keeps its place. */
void neigh_relist(struct neigh_table *t, uint32_t i, unsigned which);

/* The neighbour to evict first from a full table; NEIGH_NIL: none. */
uint32_t neigh_evictable(const struct neigh_table *t);

/* Frees an unlisted neighbour. */
void neigh_free(struct neigh_table *t, uint32_t i);

/* Sets or moves the deadline of a neighbour; neigh_timer_clear removes it, if any. */
void neigh_timer_set(struct neigh_table *t, uint32_t i, uint64_t deadline);
void neigh_timer_clear(struct neigh_table *t, uint32_t i);

/* The earliest deadline; UINT64_MAX: none. Its neighbour is heap[0]. */
static inline uint64_t neigh_deadline(const struct neigh_table *t)
{
	return t->heap_len ? t->neigh[t->heap[0]].deadline : UINT64_MAX;
}

/* An op of the owner that takes a frame of neighbour `index`. It may call back and change the table. */
typedef void neigh_frame_op(void *ctx, unsigned index, uint8_t *frame, unsigned len);

/* Queues the frame while the neighbour is in state `waits`. If the queue or the memory is full, it
 * replaces the neighbour's oldest frame, which goes to `lost`. Without an older frame, or if the frame
 * is too long to queue, the frame itself goes there. */
void neigh_queue_add(struct neigh_table *t, uint32_t i, uint8_t waits, uint8_t *frame, unsigned len,
                     neigh_frame_op *lost, void *ctx);

/* Removes the whole queue of the neighbour: a chain of slots linked by next, still in use. */
uint32_t neigh_queue_detach(struct neigh_table *t, uint32_t i);

/* Passes a detached chain of neighbour i to an op, frame by frame, and frees it. The ops may change the
 * table in any way, so the neighbour is not accessed from here on. */
void neigh_chain_end(struct neigh_table *t, uint32_t i, uint32_t chain, neigh_frame_op *op, void *ctx);

#endif
