/*
 * The sending half of a data core: what it sends of the streams of an order (run.h), by prepared
 * frames in the slots of the transmit rings (runtime/runtime.h).
 *
 * A flow has as many frames as its port has slots, in memory of its own: at most as many frames as
 * there are slots are the device's, so when frame n is to be made anew from the buffer of frame
 * n - slots, that one has been sent.
 *
 * A port with one flow has buffer i in slot i for good, as long as nothing else is sent by it, and
 * no descriptor is written again; frames that are all alike are not looked at either. With several
 * flows, or sizes that vary, the descriptors of a burst are written before it.
 */
#ifndef PKTGEN_SEND_H
#define PKTGEN_SEND_H

#include "tools/pktgen/run.h"

/* Of `room` bytes that a data core has, those that frames may take. */
size_t send_bytes(size_t room);

/* The ports were started: nothing is going on, and no slot is ours. Frames are to lie in this memory,
 * 64-byte aligned. */
void send_start(uint8_t *of, size_t bytes);

/* Prepares what this core is to send of the order; RUN_WHY_NOT, or why it cannot, *stream being
 * which. *result is zero, and its `sent` is kept up from now on. */
enum run_why send_prepare(const struct run_order *order, struct run_result *result,
                          unsigned *stream);

/* The order's begin_tsc and end_tsc are known: send_turn may be called. */
void send_begin(void);

/* Sends what is due by `now`, the TSC of just now. False: all has been sent and has left the rings,
 * and result->pacing tells how. True: *next is the TSC at which more is due, in the past if it is
 * now. */
bool send_turn(uint64_t now, uint64_t *next);

/* Sends no more. */
void send_stop(void);

#endif
