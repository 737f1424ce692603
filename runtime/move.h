/*
 * Moves buckets of the ports' indirection tables (runtime/buckets.h) from the data cores that poll some pairs, `from`,
 * to others, `to`, without loss and in order: no packet of a flow overtakes another one. A move is of one bucket or of
 * many, of one port or of several.
 *
 *     step      the control core                          leaves when
 *     HOLD      asks `to` to hold the buckets             all of `to` do
 *     SETTLE    sets the tables (nic_ops.table)           MOVE_SETTLE_NS later
 *     PASS      asks `from` to pass what they have        each ring was empty once, or has been taken whole; then the
 *                                                         devices have sent all that they had been given (tx_pending)
 *     PUNTS                                               this core has taken what `from` had punted by then
 *     FLOWS     asks `from` to give the application's     all are given and taken, or one is refused
 *               state of flows, `to` to take it           (only if the application has `flows`)
 *     RELEASE   asks `to` to release the buckets          all of `to` have handled what they held, in order
 *
 * 1. `to` holds each packet of these ports that may be of such a bucket: all whose hash is not known to be of another
 *    one (runtime/bucket_hash.h). Packets of its own flows that it holds needlessly keep their order too. No core both
 *    gives and takes in one move.
 * 2. Packets that the card has assigned to `from` before the table changed arrive within MOVE_SETTLE_NS: the largest
 *    receive buffer is 512 KiB (82599 datasheet, RXPBSIZE), which takes 0.42 ms to drain at 10 Gb/s; of a 1 Gb/s
 *    card 64 KiB at most, 0.53 ms. A hypervisor promises nothing: its queues for a virtio_net device (a tap's, say)
 *    may keep packets for longer while it is short of CPU time. Such a packet may be overtaken.
 * 3. Bucket 0 does not move, because frames that are not hashed go with it, or with pair 0 (nic_ops.table).
 * 4. `to` holds at most MOVE_HELD_MAX packets and an eighth of its buffers, and a step takes at most MOVE_LATE_NS,
 *    FLOWS as long without progress. Beyond that the bucket is released early, and counted as moved_early: packets
 *    may then be overtaken; none is lost.
 * 5. A core that fails, a port that restarts, and any other request to `to` end the move; `to` handles what it holds.
 *    What a failed core held is counted as drop_restart.
 * 6. There is one move at a time. Nothing moves while data cores take packets from others (steer.h), or if the
 *    application keeps state of flows on data cores that does not move (struct app, moves).
 *
 * Of an application that has `flows` (struct app_flows), such as TCP connections:
 *
 * 7. A flow has state, but no port: its packets may come by another port from now on. So a move is of the buckets
 *    of one number on all ports, whose tables are of one size, from one core to one other, and the packet's hash
 *    alone says which flows move. A port that restarts alone keeps its table. Packets that rules steer (rules.h) do
 *    not follow the table, so nothing moves while there are rules. Packets whose hash cards do not agree on
 *    (bucket_hash.h: IPv6 with extension headers) may miss their flow afterwards.
 * 8. While a move is open (published.move_open), `from` may not have the state of a flow of the bucket from FLOWS
 *    on, `to` until RELEASE, and another core never: core_flow_elsewhere(). Afterwards `from` does not have it either,
 *    and for MOVE_STRAY_NS it expects packets of the bucket that were late (2).
 * 9. If a flow is not taken, `from` gives no more, and the bucket goes back in the same steps, `from` and `to` having
 *    changed places. What `to` holds meanwhile it handles when it is asked to PASS: then packets of flows that it does
 *    not have are lost, and their senders repeat them. It is counted as moves_undone.
 * 10. What (5) ends begins again at HOLD once ports and cores run as before: the tables stay, and the state of
 *     flows follows. Until then 8 holds. A new control program does the same with its predecessor's move
 *     (published.move_open).
 *
 * Without a move this costs data cores nothing: the port's bit in published.looked_at, which they read for every
 * vector, is 0.
 */
#ifndef RUNTIME_MOVE_H
#define RUNTIME_MOVE_H

#include "lib/pkt.h"
#include "lib/types.h"

struct published;

#define MOVE_HELD_MAX 2048u
#define MOVE_SETTLE_NS 1000000ull
#define MOVE_LATE_NS 1000000000ull
#define MOVE_STRAY_NS 5000000000ull

/* --- move_data.c: a data core --- */

void move_hold(const struct published *s); /* PORTS_HOLD */
bool move_pass(void);    /* PORTS_PASS, once a turn: true: all has passed */
bool move_give(void);    /* PORTS_GIVE, PORTS_TAKE, likewise */
bool move_take(void);
bool move_release(void); /* PORTS_RELEASE, likewise: has the state of all its flows now; handles what is held */
void move_other(void);   /* any other request: handles what is held */
void move_forget(void);  /* the application starts, and has no flows */

/* A vector that a port has received, while its bit in published.move_in is set. Counts it in a window of balancer.h.
 * Keeps packets that are held, moves the others to the front of v, in order, and returns how many these are. */
unsigned move_look(struct pkt *v, unsigned n, unsigned port);

/* --- move.c: the control core --- */

bool move_busy(void); /* one is under way: move_turn is to be called each turn */
void move_turn(void);
void move_abandon(void); /* a core or a port of it may have failed */
void move_reset(void);   /* all ports start: data cores hold nothing */

uint32_t move_ports_that_may(void); /* whose buckets can move (core_moves_refused), one bit each */

/* Plans a move: afresh, then a call for each bucket that goes to a pair. A bucket that is there already stays.
 * NULL: the move has begun, or there is nothing to move. Otherwise nothing has changed; the result is the reason,
 * static text. The buckets exist and their ports may move (core_moves_refused); none is bucket 0. Not for an
 * application with `flows`. */
void move_plan(void);
void move_plan_bucket(unsigned port, unsigned bucket, unsigned pair);
const char *move_begin(void);

#endif
