/*
 * A connection moves from one instance to another, usually on another core, while its peer notices
 * nothing: no segment is lost for good, none is sent twice, nothing is reset.
 *
 *     old instance                             new instance
 *     tcp_move_begin   freezes it
 *     tcp_move_write   messages    -------->   tcp_move_read    builds it, then runs it
 *     tcp_move_ended   frees it    <--------   its owner answers: id, taken or not
 *                      or goes on
 *
 * The owners carry messages and answers, in order, and decide which connections move. Messages
 * contain no address and no buffer number: each core may have memory of its own. An idle connection
 * takes one message of less than TCP_MOVE_MSG_MIN bytes; queued data makes further ones, of any
 * size from TCP_MOVE_MSG_MIN bytes on.
 *
 * Invariants
 * 1. At any time at most one instance sends for a connection, or answers for it. Between
 *    tcp_move_begin and tcp_move_ended the old instance keeps all state but uses none of it. The
 *    new instance uses nothing before the last message.
 * 2. Whatever is refused stays with the old instance, which goes on with tcp_move_ended(…, false).
 *    An old owner that does not know whether the new one took the connection has to wait for the
 *    answer. If the new core fails, its instance is gone with its memory, and the old owner may go
 *    on: bytes acknowledged meanwhile are lost to the stream, and RFC 9293 then ends it.
 * 3. tcp_move_read believes no message. Its memory belongs to another core, which may have failed
 *    and may still write. Each field is copied once, then checked; a refusal has a name and leaves
 *    nothing behind.
 *
 * Segments of a connection that arrive at the wrong instance must not be reset. tcp_ops.elsewhere
 * says so to both instances; such segments are dropped (drop_tcp_elsewhere), and the peer sends
 * them again. An owner that holds them back until the move has ended avoids even that.
 *
 * Both instances are given the times of one clock, or the move counts as instantaneous. Listeners
 * do not move: each instance has its own. SYN cookies made by one instance are valid at another if
 * both have one key and one clock, and the other was told tcp_cookies_expect().
 */
#ifndef NET_TCP_MOVE_H
#define NET_TCP_MOVE_H

#include "net/tcp/tcp.h"

#define TCP_MOVE_MSG_MIN 2032 /* bytes; the least room of a message */
#define TCP_MOVE_APP_MAX 1280 /* bytes of the application's own state */
#define TCP_MOVE_APP_BUSY UINT32_MAX

/* The part of an application whose connections can move. Position in the table is its name in
 * messages, so all instances have the same table. */
struct tcp_move_app {
	const struct tcp_app *app;

	/* Writes the application's state of c to `to`, TCP_MOVE_APP_MAX bytes; returns how many. It
	 * makes no call for c from now on until `left`. TCP_MOVE_APP_BUSY: not now, for it holds
	 * what does not fit, like received buffers. NULL: no bytes. */
	uint32_t (*leave)(struct tcp_conn *c, uint8_t *to);

	/* The move has ended. taken: the application releases what it keeps for c, which is invalid
	 * after the call. Otherwise the connection goes on here. May be NULL. */
	void (*left)(struct tcp_conn *c, bool taken);

	/* c has arrived with n bytes, which another core wrote and nobody has checked; tcp_arg is
	 * NULL. An application that would consume more than tcp_unconsumed(), now or when data is
	 * acknowledged, has to refuse. May call all functions of tcp.h. False: refused; the
	 * application keeps nothing of c. NULL: connections without bytes are taken, if all that
	 * they received is consumed. */
	bool (*join)(struct tcp_conn *c, const uint8_t *from, uint32_t n);
};

/* Names the applications whose connections can move; the table stays valid. */
void tcp_move_apps(struct tcp *t, const struct tcp_move_app *apps, uint32_t n);

enum tcp_move {
	TCP_MOVE_TAKEN,    /* the last message: the connection runs here; answer: taken */
	TCP_MOVE_MORE,     /* further messages follow; no answer yet */
	TCP_MOVE_SKIPPED,  /* rest of a connection that was refused; no answer */
	/* refused; answer: not taken */
	TCP_MOVE_FORMAT,   /* no message, of another version or cut off */
	TCP_MOVE_ORDER,    /* not the message that follows the one before */
	TCP_MOVE_RECORD,   /* variables that no connection has */
	TCP_MOVE_QUEUE,    /* send queue does not fit the variables */
	TCP_MOVE_RANGES,   /* data out of order does not fit the variables */
	TCP_MOVE_APP,      /* application unknown, or it refused */
	TCP_MOVE_EXISTS,   /* a connection of these addresses and ports exists */
	TCP_MOVE_FULL,     /* no free connection */
	TCP_MOVE_BUFFERS,  /* too few buffers */
	TCP_MOVE_COUNT
};

/* The name of a result, for a console; never NULL. */
const char *tcp_move_name(enum tcp_move m);

/* A connection on its way out. The owner may forget it after the last tcp_move_write. */
struct tcp_move_out {
	struct tcp *tcp;
	struct tcp_conn *c;
	uint64_t id;        /* names the move in its messages and in the answer */
	uint32_t buf, done; /* next buffer, bytes of it that are written */
	uint32_t range;
	uint16_t part;
	uint8_t stage;
	bool named;         /* its description is written */
	uint32_t app, app_bytes;
	uint8_t app_state[TCP_MOVE_APP_MAX];
};

/*
 * Freezes c and calls `leave` of its application. Must not be called from a callback. Errors, which
 * change nothing: E_NOTSUP: the application of c is not in the table. E_AGAIN: the application is
 * busy with c. E_INVAL: c has ended or moves already.
 */
int tcp_move_begin(struct tcp_move_out *o, struct tcp_conn *c);

/* Writes the next message, at most `room` bytes, at least TCP_MOVE_MSG_MIN; any alignment. Returns
 * its bytes; 0: all have been written. */
uint32_t tcp_move_write(struct tcp_move_out *o, void *msg, uint32_t room);

/*
 * The new owner's answer, or the old one's decision to stop. taken: frees the connection without a
 * segment and without `closed`. Otherwise it goes on, unless another one of the same addresses
 * exists by now: then it ends (E_RESET), without a segment. False: no such move; nothing happens.
 */
bool tcp_move_ended(struct tcp *t, uint64_t id, bool taken);

/* A connection on its way in; one for each source of messages. All zero at first. */
struct tcp_move_in {
	struct tcp_conn *c; /* being built; NULL: none */
	uint64_t id;        /* of the last message: for the answer */
	uint64_t refused;   /* rest of this one is skipped */
	uint64_t shift_us;  /* added to its times */
	uint32_t shift_ms;
	uint32_t q_end, sacked;
	uint32_t chunks, pieces; /* still missing */
	uint32_t buf, got;  /* buffer being filled */
	uint32_t app, app_bytes;
	uint32_t head[5];   /* description of that buffer */
	uint16_t part;
	uint8_t armed;
	bool filling;
	uint8_t app_state[TCP_MOVE_APP_MAX];
};

/* Takes a message of `len` bytes, any alignment, which stays the caller's. The result says whether
 * and what to answer for in->id. Must not be called from a callback. */
enum tcp_move tcp_move_read(struct tcp *t, struct tcp_move_in *in, const void *msg, uint32_t len,
                            uint64_t now_us);

/* Drops a connection that is incomplete because its source has failed. */
void tcp_move_drop(struct tcp *t, struct tcp_move_in *in);

/* Until when answers to SYN cookies of this instance may arrive, us; 0: none are out. */
uint64_t tcp_cookies_until(const struct tcp *t);

/* Such answers may arrive here until then: another instance with the same key made the cookies. */
void tcp_cookies_expect(struct tcp *t, uint64_t until_us);

#endif
