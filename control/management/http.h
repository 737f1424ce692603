/*
 * The HTTP server of the control core (docs/configuration.md, `http server`). It serves the pages
 * of control/management/page.h to clients that the access list admits, over the TCP of
 * control/host/tcp_control.h.
 *
 * Everything that a client can cause is bounded:
 *     connections   HTTP_SESSIONS at once, HTTP_PER_SOURCE from one address (IPv6: a /64). A
 *                   further one takes the place of an idle one, or of a busy one from an address
 *                   that holds more (places.h); otherwise it gets 503. The server waits for at most
 *                   HTTP_LEAVING closing connections and resets others, so TCP's table is never
 *                   full
 *     memory        sessions are allocated at the start. Answers are generated as TCP has room.
 *                   An address holds no more TCP buffers than are left for others
 *     time          a head must be complete within HTTP_HEAD_NS. An answer must progress within
 *                   HTTP_STALL_NS and end within HTTP_ANSWER_NS. An idle connection is closed after
 *                   HTTP_IDLE_NS
 *     work          HTTP_WORK_PER_TURN in a turn of the control core: 64 segments of texts that are there, or
 *                   16 generated ones
 *
 * PUT and DELETE change the store of XDP programs and their maps, or what an application's page has; PUT, PATCH and
 * POST change the configuration (page.write). While the configuration states users, all pages but open ones need one
 * (http_auth.h), and changes the role configure. One client at a time does so, from the first byte of its content to
 * the last of its answer; others get 503.
 *
 * The streams may be encrypted (control/management/https.h); the sessions are the same.
 *
 * Deliberately missing: other methods.
 */
#ifndef CONTROL_MANAGEMENT_HTTP_H
#define CONTROL_MANAGEMENT_HTTP_H

#include "control/host/stream.h"
#include "lib/types.h"

#define HTTP_SESSIONS 64
#define HTTP_PER_SOURCE 48
#define HTTP_LEAVING 32
#define HTTP_WORK_PER_TURN 64
#define HTTP_HEAD_NS (10 * SECOND_NS)
#define HTTP_STALL_NS (20 * SECOND_NS)
#define HTTP_ANSWER_NS (300 * SECOND_NS)
#define HTTP_AUTH_NS (60 * SECOND_NS) /* for the check of a password, which may have to wait for its turn */
#define HTTP_IDLE_NS (75 * SECOND_NS) /* longer than Prometheus' usual interval of a minute */

/* Called in control_plane_start: allocates the memory, once. False: there is not enough. */
bool http_prepare(void);

/* Called after tcp_control_start(): forgets all sessions. */
void http_start(void);

/* Listens on a TCP port. TCP must have been started. */
void http_listen(uint16_t port);

/* The server, for streams of other kinds. */
extern const struct stream_app http_stream_app;

/* Does the work that is due and sends parts of answers. Returns core_now_ns() of the next call,
 * UINT64_MAX for none. */
uint64_t http_timer(void);

/* For /metrics. */
struct http_stats {
	uint64_t requests[600 / 100]; /* by the first digit of their status */
	uint64_t refused;  /* connections from addresses that the access list does not name */
	uint64_t full;     /* connections that got 503 or a reset: all sessions were in use */
	uint64_t timeouts; /* connections ended because the client was too slow */
	uint32_t sessions; /* now */
};
extern struct http_stats http_stats;

#endif
