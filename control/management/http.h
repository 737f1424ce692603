/*
 * The HTTP server of the control core (docs/configuration.md, `http server`): pages of
 * control/management/page.h for those whom the access list admits, over TCP of control/host/tcp_control.h.
 *
 * Everything a client can make it do is bounded:
 *     connections   HTTP_SESSIONS at once, HTTP_PER_SOURCE of an address (IPv6: a /64). The next
 *                   takes the place of one that is idle, or that of one at work of an address that
 *                   has more (places.h); else it gets 503. HTTP_LEAVING connections that are being
 *                   closed are waited for, others are reset, so TCP's table is never full
 *     memory        a session's, taken at the start; answers are made as room to send appears.
 *                   An address has no more buffers of TCP's than are left for others
 *     time          a head has HTTP_HEAD_NS, whatever drips in; an answer must get on within
 *                   HTTP_STALL_NS and end within HTTP_ANSWER_NS; silence ends after HTTP_IDLE_NS
 *     work          HTTP_PIECES_PER_TURN pieces of answers in a turn of the control core
 *
 * Deliberately missing: TLS, passwords (the access list is all), methods but GET and HEAD.
 */
#ifndef CONTROL_MANAGEMENT_HTTP_H
#define CONTROL_MANAGEMENT_HTTP_H

#include "lib/types.h"

#define HTTP_SESSIONS 64
#define HTTP_PER_SOURCE 48
#define HTTP_LEAVING 32
#define HTTP_PIECES_PER_TURN 16
#define HTTP_HEAD_NS (10 * SECOND_NS)
#define HTTP_STALL_NS (20 * SECOND_NS)
#define HTTP_ANSWER_NS (300 * SECOND_NS)
#define HTTP_IDLE_NS (75 * SECOND_NS) /* longer than Prometheus' usual interval of a minute */

/* In control_plane_start: takes the memory, once. False: there is not enough. */
bool http_prepare(void);

/* tcp_control_start() was called: there are no sessions. */
void http_start(void);

/* On a TCP port, of an instance that has started. */
void http_listen(uint16_t port);

/* Does what is due, and some of what is owed. core_now_ns() of the next time; UINT64_MAX: none. */
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
