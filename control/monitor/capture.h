/*
 * Captures (docs/console.md, `capture`): what ports receive and send, as a stream of pcapng over
 * the management's TCP (control/host/tcp_control.h), while it happens.
 *
 * The console's `capture` says what is wanted, and waits; who connects to the port of `capture
 * server` is the reader, from then on data cores copy (dataplane/mirror.c), and what lies in their rings
 * goes out by the order of time. There is one capture at a time, and one reader: others are reset.
 *
 *     IDLE --capture--> WAITING --reader--> ON --count, Ctrl-C--> ENDING --all sent, FIN--> CLOSING
 *     any --reader gone, stalled, ports restarted--> IDLE
 *
 * Everything a reader can make it do is bounded:
 *     who      the access list, which there has to be; nobody is heard while no capture waits
 *     memory   a ring of each data core; a frame that finds no room is lost, and counted: in the
 *              stream, with the next one, and in what the console says at the end
 *     time     a reader that takes nothing for CAPTURE_STALL_NS is given up
 *     work     CAPTURE_BLOCKS_PER_TURN frames in a turn of the control core
 *
 * Deliberately missing: encryption; two captures at once; what slots send (runtime/runtime.h).
 */
#ifndef CONTROL_MONITOR_CAPTURE_H
#define CONTROL_MONITOR_CAPTURE_H

#include "control/console/shell.h"

#define CAPTURE_STALL_NS (60 * SECOND_NS)
#define CAPTURE_BLOCKS_PER_TURN 64

/* In control_plane_start: takes the memory, once. False: there is not enough. */
bool capture_prepare(void);

/* On a TCP port, of an instance that has started. */
void capture_listen(uint16_t port);

/* Before tcp_control_stop(): the end of what is under way. */
void capture_stop(void);

/* Does what is due. core_now_ns() of the next time; UINT64_MAX: none. */
uint64_t capture_timer(void);

/* The command: `capture ethN|all [in|out] [snaplen N] [count N] [FILTER]`. */
void capture_command(struct shell *sh);

#endif
