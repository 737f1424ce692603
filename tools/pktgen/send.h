/*
 * The sending half of a data core: sends the core's part of the streams of an order (run.h), from
 * prepared frames in the slots of the transmit rings (runtime/runtime.h).
 *
 * A flow has its own buffers, as many as its port has slots. The device owns at most that many
 * frames, so frame n - slots has been sent when its buffer is rewritten for frame n.
 *
 * If a port sends only one flow, of one size, buffer i stays in slot i and no descriptor is
 * rewritten. If all frames of the flow are identical, no frame is rewritten either. With several
 * flows, varying sizes or a replay, the descriptors of a burst are written before it is sent.
 */
#ifndef PKTGEN_SEND_H
#define PKTGEN_SEND_H

#include "tools/pktgen/run.h"

/* Bytes that frames may take of a data core's `room` bytes. */
size_t send_bytes(size_t room);

/* Starts with the ports: no run is in progress and no slot is open. `of`: memory for frames,
 * 64-byte aligned, kept until the next call. */
void send_start(uint8_t *of, size_t bytes);

/* Prepares this core's part of the order. RUN_WHY_NOT, or the reason why stream *stream cannot be
 * sent. *result must be zero; `sent` in it is kept up to date from now on. */
enum run_why send_prepare(const struct run_order *order, struct run_result *result,
                          unsigned *stream);

/* The order's begin_tsc and end_tsc are known: send_turn may be called. */
void send_begin(void);

/* Sends the frames that are due at `now`, the present TSC. False: all frames have been sent and
 * have left the rings, and result->pacing is complete. True: *next is the TSC of the next call, in
 * the past if more is due now. */
bool send_turn(uint64_t now, uint64_t *next);

/* Ends all flows; call send_turn until the rings are empty. */
void send_stop(void);

#endif
