/*
 * Receive packet steering: where a card has fewer queue pairs than there are data cores, a core with a pair
 * (the owner) passes packets to cores without one (its workers), and sends what they return.
 *
 *     owner   rx_burst → steer_out → forward lane → worker
 *     worker  steer_ops.rx_burst → rx_vector → core_tx → steer_ops.tx_burst → return lane → owner
 *     owner   steer_turn → core_tx → tx_burst
 *
 * 1. A packet's buffer is the owner's and lies in the owner's arena. Only its reference crosses (struct
 *    steer_ref), in a ring with one producer and one consumer. The kernel maps the owner's buffers for the
 *    worker (KCALL_LEND), at the same address; rings, tables and applications' memory of the owner are not
 *    mapped.
 * 2. A worker has no buffers of its own. It works with those lent to it: the packets passed to it, and
 *    spares. The owner records who has each buffer, lends at most `most` to a worker, and gets back all of
 *    them when the worker's program ends. The pool of a worker has the owner's numbers.
 * 3. The hash of its flow (runtime/flow.h) gives a packet a bucket, and the bucket has one target: a worker
 *    or the owner. Lanes are first in, first out. So the packets of a flow stay in order.
 * 4. A bucket changes its target only when no packet of it is on its way: the owner handles its own packets
 *    at once, and takes all that a lost worker has returned before it handles the next packet.
 * 5. A full forward lane drops as drop_steer_full. A full return lane is a full port to the worker.
 * 6. The owner checks all that a worker writes: buffers that the worker does not have, lengths and
 *    ports out of range are counted as steer_refused.
 *
 * Opening a lane. Each word has one writer, so either program may fail at any time:
 *
 *     worker: ready  owner: open   state
 *     0              0             closed; the worker sets its positions to 0, then ready
 *     1              0             the owner sets its positions to 0, then open, and its buckets
 *     1              1             packets pass
 *     0              1             the worker is gone: the owner takes its buffers back, then clears open
 *
 * A worker transmits nothing by itself, because it has no transmit queue on any port. Its frames are in one
 * piece and need at most a checksum from the device; frames with several holders are copied.
 */
#ifndef RUNTIME_STEER_H
#define RUNTIME_STEER_H

#include "lib/pkt.h"
#include "lib/types.h"

struct published;
struct nic_ops;

#define STEER_WORKERS_MAX 15 /* of one owner: a core cannot keep more of them busy */
#define STEER_SLOTS 1024u    /* of a lane, each way */
#define STEER_SPARE 0xff     /* steer_ref.port: a buffer without a packet */
#define STEER_BUCKETS 256u

/* A buffer that passes, and the packet in it. */
struct steer_ref {
	uint32_t buf;
	uint16_t offset; /* of the frame's first byte in the buffer */
	uint16_t len;
	uint8_t flags; /* enum pkt_flags */
	uint8_t port;  /* to the worker: received by; to the owner: to be sent by; or STEER_SPARE */
	uint8_t interface;
	uint8_t zero[5];
};
_Static_assert(sizeof(struct steer_ref) == 16, "four to a cache line");

/* In the owner's shared memory, one for each worker. */
struct steer_lane {
	uint64_t open;
	uint64_t head;      /* references put into the forward lane */
	uint64_t back_tail; /* references taken from the return lane */
	uint64_t worker;    /* its core number, while open */
} __attribute__((aligned(64)));

/* In a worker's shared memory. */
struct steer_end {
	uint64_t ready;
	uint64_t tail;      /* references taken from the forward lane */
	uint64_t back_head; /* references put into the return lane */
	uint64_t owner, lane; /* the owner's core number and the index of its lane, while ready */
} __attribute__((aligned(64)));

/* In the owner's shared memory: the buffers that may be lent, since the last PORTS_PREPARE. */
struct steer_pool {
	uint64_t base, bytes; /* whole 2 MiB pages; bytes 0: there are too few buffers to lend any */
	uint64_t count, stride;
	uint64_t most; /* buffers that one worker may have */
};

/* --- steer_plan.c --- */

#define STEER_NOBODY 0xff

/*
 * Decides from whom each of n data cores takes packets: owner_of[d] is the index of a core with a pair, or
 * STEER_NOBODY. pair_of[d] is 0xff for a core without a pair. Cores that are not `alive` take from nobody.
 * A worker gets the owner on its NUMA node that has fewest workers, otherwise the one anywhere; among
 * equals the first. No owner has more than STEER_WORKERS_MAX.
 */
void steer_plan(unsigned n, const uint8_t *pair_of, const bool *alive, const unsigned *node, uint8_t *owner_of);

/* --- steer.c: the owner --- */

extern unsigned steer_workers; /* of this core, while it polls: 0 on all cores without any */

/* PORTS_PREPARE: closes all lanes, and counts the packets left in them as drop_restart. `lent` has a byte for
 * each buffer of self.pool; NULL: this core lends nothing. */
void steer_prepare(const struct published *s, uint8_t *lent);
void steer_start(const struct published *s); /* PORTS_RUNNING */
void steer_stop(void);                       /* the ports are released */

/* Passes packets received by one port to workers, or drops them; moves the others to the front of v, in
 * order, and returns how many these are. */
unsigned steer_out(struct pkt *v, unsigned n);

/* Queues what workers have returned, and sees workers come and go. True: something has happened. */
bool steer_turn(void);

/* True: steer_turn has something to do. */
bool steer_waiting(void);

/* --- steer_worker.c --- */

extern const struct nic_ops steer_ops; /* a worker's queue of each port */

/* True if this core takes packets from another, by the plan. */
bool steer_is_worker(const struct published *s);

/* At the start of a program: ends what an earlier one has left. Packets not taken count as taken. */
void steer_worker_restart(void);
void steer_worker_pool(void); /* PORTS_RUNNING: gives self.pool the owner's numbers; no buffers yet */
void steer_worker_stop(void); /* the ports are released: counts packets not taken as drop_restart */
bool steer_worker_turn(void); /* once a turn: opens the lane; returns surplus buffers */
bool steer_worker_waiting(void); /* true: the lane can be opened */

#endif
