/*
 * The sending half of a data core: it sends its part of the streams of an order (run.h) from
 * prepared frames in the slots of the transmit rings (runtime/runtime.h).
 *
 * A flow has its own buffers, as many as its port has slots. The device owns at most that many
 * frames, so frame n - slots has been sent when its buffer is rewritten for frame n.
 *
 * While a port sends one flow and nothing else, buffer i stays in slot i and no descriptor is
 * rewritten. If all its frames are the same bytes, the frames are not touched either. With several
 * flows, or with varying sizes, the descriptors of a burst are written before it is sent.
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
