/*
 * Streams of kind tls (control/host/stream.h): TLS sessions (control/crypto/tls.h) over plain streams: those that
 * one server accepts, HTTPS, and those that clients open.
 *
 * Everything that a client of the server can cause is bounded:
 *     sessions    TLS_SESSIONS at once, TLS_PER_SOURCE from one address (IPv6: a /64). When all are in
 *                 use, a further connection takes the place of the oldest handshake, or of a session that was
 *                 silent for TLS_SILENT_NS, of the source that holds most; otherwise it is reset
 *     memory      buffers are allocated at the start, sessions in the libraries' heap, which is fixed
 *     time        a handshake must end within TLS_HANDSHAKE_NS, a closing session within TLS_CLOSE_NS
 *     work        handshakes stop for this turn once they have taken TLS_TURN_NS, which is after one
 *                 step with public keys at most, and rest for as long as they took
 *
 * Sessions that are opened here have TLS_CLIENTS places of their own, and the same bounds of time and work.
 */
#ifndef CONTROL_MANAGEMENT_TLS_STREAM_H
#define CONTROL_MANAGEMENT_TLS_STREAM_H

#include "control/crypto/tls.h"
#include "control/host/stream.h"
#include "runtime/runtime.h"

#define TLS_SESSIONS 16
#define TLS_PER_SOURCE 12
#define TLS_CLIENTS 6
#define TLS_HANDSHAKE_NS (10 * SECOND_NS)
#define TLS_SILENT_NS (5 * SECOND_NS)
#define TLS_CLOSE_NS (15 * SECOND_NS)
#define TLS_TURN_NS (SECOND_NS / 5000)

/* Allocates the memory of the server, once, and starts the libraries. False: not possible; crypto_why() may say
 * why. */
bool tls_stream_prepare(void);

/* Before tcp_control_stop(): forgets all sessions, without telling their applications. */
void tls_stream_stop(void);

/* Listens on a TCP port, for the one server of this kind. */
void tls_stream_listen(uint16_t port, const struct stream_app *app);

/*
 * Begins to open a session: as stream_connect(), and then a handshake as a client. The certificate of the peer must
 * be as `peer` says, whose addr is that of `to` if it is not stated, and whose time of day is filled in.
 *
 * NULL: nothing has begun, and *why says why, for people. Otherwise connected() tells that the session is encrypted
 * and that the peer has been verified, or closed() that there is none; then stream_why() has the reason.
 */
struct stream *tls_stream_connect(const struct stream_target *to, const struct tls_peer *peer,
                                  const struct stream_app *app, void *arg, const char **why);

/* "TLSv1.3", of an open session; a static text. */
const char *tls_stream_version(const struct stream *s);

/* Handshakes, and data of all sessions. Returns core_now_ns() of the next call, UINT64_MAX for none. */
uint64_t tls_stream_timer(void);

/* To be asked after the server's timer, which may have taken data and so made room for more. */
uint64_t tls_stream_deadline(void);

struct tls_stats {
	uint64_t handshakes[2];         /* completed: TLS 1.2, 1.3 */
	uint64_t failed[TLS_FAILURES];  /* handshakes and sessions */
	uint64_t full;                  /* connections or handshakes that ended because all sessions were in use */
	uint64_t timeouts;              /* handshakes that took too long */
	uint64_t cut;                   /* of clients: handshakes in which the peer closed or reset the connection */
	uint64_t longest_ns;            /* step of a handshake */
	uint32_t sessions, shaking;     /* now; of them, in a handshake, or before it */
};
extern struct tls_stats tls_stats, tls_client_stats;

/* All that failed, and those that took too long. */
uint64_t tls_failed(const struct tls_stats *t);

#endif
