/*
 * Captures (docs/console.md, `capture`): the frames that ports receive and send, as a live stream
 * of pcapng over the management's TCP (control/host/tcp_control.h).
 *
 * The console's `capture` waits for a reader: the next connection to the port of `capture server`.
 * From then on data cores copy frames into their rings (dataplane/mirror.c), and the control core
 * sends them in order of time. There is one capture and one reader at a time; other connections are
 * reset.
 *
 *     IDLE --capture--> WAITING --reader--> ON --count, Ctrl-C--> ENDING --all sent, FIN--> CLOSING
 *     any --reader gone, stalled, ports restarted--> IDLE
 *
 * Everything that a reader can cause is bounded:
 *     access   the access list, which is mandatory; connections are reset while no capture waits
 *     memory   a ring of each data core, and a store of blocks on the control core, which the first
 *              capture takes. While a reader is slow, the store fills first, then the rings. A frame that
 *              finds no room in its ring is lost and counted: in the stream, with the next frame, and in
 *              the console's last line
 *     buffers  half of the control core's, for TCP (a buffer for each segment)
 *     time     a reader that takes nothing for CAPTURE_STALL_NS is reset
 *     work     CAPTURE_TURN_NS, and the time for 16 KiB of blocks, in a turn of the control core
 *
 * Deliberately missing: encryption; two captures at once; frames that slots send
 * (runtime/runtime.h).
 */
#ifndef CONTROL_MONITOR_CAPTURE_H
#define CONTROL_MONITOR_CAPTURE_H

#include "control/console/shell.h"

#define CAPTURE_STALL_NS (60 * SECOND_NS)
#define CAPTURE_TURN_NS 50000

/* Called in control_plane_start: allocates the memory, once. False: there is not enough. */
bool capture_prepare(void);

/* Listens on a TCP port. TCP must have been started. */
void capture_listen(uint16_t port);

/* Called before tcp_control_stop(): ends the capture. */
void capture_stop(void);

/* Does the work that is due. Returns core_now_ns() of the next call, UINT64_MAX for none. */
uint64_t capture_timer(void);

/* The command: `capture ethN|all [in|out] [snaplen N] [count N] [FILTER]`. */
void capture_command(struct shell *sh);

#endif
