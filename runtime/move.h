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
 *     RELEASE   asks `to` to release the buckets          all of `to` have handled what they held, in order
 *
 * 1. `to` holds each packet of these ports that may be of such a bucket: all whose hash is not known to be of another
 *    one (runtime/bucket_hash.h). Packets of its own flows that it holds needlessly keep their order too. No core both
 *    gives and takes in one move.
 * 2. Packets that the card has assigned to `from` before the table changed arrive within MOVE_SETTLE_NS: the largest
 *    receive buffer is 512 KiB (82599 datasheet, RXPBSIZE), which takes 0.42 ms to drain at 10 Gb/s; of a 1 Gb/s
 *    card 64 KiB at most, 0.53 ms.
 * 3. Bucket 0 does not move, because frames that are not hashed go with it, or with pair 0 (nic_ops.table).
 * 4. `to` holds at most MOVE_HELD_MAX packets and an eighth of its buffers, and a step takes at most MOVE_LATE_NS. Beyond
 *    that the bucket is released early, and counted as moved_early: packets may then be overtaken; none is lost.
 * 5. A core that fails, a port that restarts, and any other request to `to` end the move; `to` handles what it holds.
 *    What a failed core held is counted as drop_restart.
 * 6. There is one move at a time. Nothing moves while data cores take packets from others (steer.h), or if the
 *    application keeps the state of flows on data cores (struct app, moves).
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

/* --- move_data.c: a data core --- */

void move_hold(const struct published *s); /* PORTS_HOLD */
bool move_pass(void);    /* PORTS_PASS, once a turn: true: all has passed */
void move_release(void); /* any other request: handles what is held; forgets PORTS_PASS */

/* A vector that a port has received, while its bit in published.move_in is set. Counts it in a window of balancer.h.
 * Keeps packets that are held, moves the others to the front of v, in order, and returns how many these are. */
unsigned move_look(struct pkt *v, unsigned n, unsigned port);

/* --- move.c: the control core --- */

bool move_busy(void); /* one is under way: move_turn is to be called each turn */
void move_turn(void);
void move_abandon(void); /* a core or a port of it may have failed */
void move_reset(void);   /* all ports start: data cores hold nothing */

/* Plans a move: afresh, then a call for each bucket that goes to a pair. A bucket that is there already stays. NULL: the
 * move has begun, or there is nothing to move. Otherwise nothing has changed; the result is the reason, static text. The
 * buckets exist and their ports may move (core_moves_refused); none is bucket 0. */
void move_plan(void);
void move_plan_bucket(unsigned port, unsigned bucket, unsigned pair);
const char *move_begin(void);

#endif
