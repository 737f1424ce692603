/*
 * Connections of the web server on a data core: requests in, answers out.
 *
 * A connection has 64 bytes of its own (struct conn). What takes more is in one of a few hundred slots, and a
 * connection has one only while the head of a request is incomplete, or while the rest of a text or several
 * ranges wait for room. If all are taken, the connection that has been in the middle of a head for the longest
 * time is reset: slow clients crowd out each other.
 *
 * Time: a head, its first byte to its last, may take SERVE_HEAD_MS; between two requests SERVE_IDLE_MS may
 * pass. While an answer is being sent, the peer must acknowledge something every SERVE_SENDING_MS, and
 * SERVE_RATE bytes a second on average after the first SERVE_SENDING_MS. A connection that we have closed is
 * read, and what comes is dropped, for SERVE_LINGER_MS: without that a reset could destroy the answer on its
 * way (RFC 9112 9.6).
 *
 * A connection moves to another core (dataplane/tcp_move.h) with the bytes of its incomplete head, which are
 * parsed anew there, or with its position in an answer, and requests that wait behind it. What does not fit
 * into TCP_MOVE_APP_MAX stays.
 *
 * Requests that arrive while an answer is being sent wait in their buffers, and the TCP window closes for them.
 */
#ifndef APPS_WEB_SERVE_H
#define APPS_WEB_SERVE_H

#include "apps/web/published.h"
#include "runtime/runtime.h"

#define SERVE_HEAD_MS 10000
#define SERVE_IDLE_MS 60000
#define SERVE_SENDING_MS 30000
#define SERVE_LINGER_MS 5000
#define SERVE_RATE 512

#define SERVE_CONN_BYTES 64 /* for each connection of TCP */

/* Bytes of the slots, for data_bytes. */
size_t serve_slots_bytes(size_t room);

/* Begins without connections: `conns` is the memory for `count` of them, `slots` that of serve_slots_bytes().
 * Listens on `port` of this core's instance of TCP. */
void serve_start(void *conns, uint32_t count, void *slots, size_t slots_bytes, uint16_t port);

/* Where the sites are published from now on (published.h); NULL: there are none. Answers go on from a place
 * that has the same site as before; others end. */
void serve_sites(const struct web_published *w);

/* Ends what has taken too long, and what the control core wants ended; true: there was something. TCP's clock
 * must be right (tcp_data_timer). */
bool serve_expire(void);

/* The TSC of the next such end; UINT64_MAX: none. */
uint64_t serve_deadline(void);

#endif
