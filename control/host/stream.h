/*
 * Streams: what a management server needs of a connection, whatever carries it. A server is a struct
 * stream_app; it does not know the kind of its streams:
 *
 *     plain   a TCP connection of the control core (tcp_control.h), made by stream_listen() or
 *             stream_connect()
 *     others  their struct stream lies in the room that makes them, with stream_ops of its own. An
 *             encrypted stream is an application of the plain one below it
 *
 * Callbacks come in this order: accept, then data, acked and fin in any order, then closed. One that
 * stream_connect() opens begins with connected instead, or with closed if it fails. After closed, or
 * after the application's stream_abort, the stream does not exist; closed is not called for an abort.
 * When the ports of the machine restart, streams that were opened are told of it by closed (stream_stop).
 *
 * Received bytes: data() answers how many it took. They count against the peer's window until
 * stream_consumed(), which may be called within data(). An application's window is what it takes
 * before it consumes anything: TCP_CONTROL_RCV_BUF, or what stream_set_rcv_buf says. A kind that has
 * decrypted more than the application took keeps the rest and offers it again after
 * stream_consumed(), but not within that call. A plain stream keeps nothing: if less was taken, which
 * the window rules out, it resets the connection.
 *
 * Callbacks run within the instance's calls (net/tcp/tcp.h) or a timer of the control core. They may
 * call all functions below. Units: bytes. No call waits.
 */
#ifndef CONTROL_HOST_STREAM_H
#define CONTROL_HOST_STREAM_H

#include "lib/types.h"
#include "net/tcp/tcp.h"

struct stream;

/* Events of a stream. data is required, and accept for stream_listen(). */
struct stream_app {
	/* May this peer connect? Asked first, before a kind that encrypts does anything for it; the stream is
	 * that of the connection, for stream_info() alone. False: it is reset. Or NULL: every peer may. */
	bool (*admit)(const struct stream *s);

	/* The connection is established, and encrypted if the kind is. False: it is reset. */
	bool (*accept)(struct stream *s);

	/* The stream of stream_connect() is established, and encrypted if the kind is. Or NULL. */
	void (*connected)(struct stream *s);

	/* n (1 or more) received bytes, the callee's until it returns. Returns how many it took. */
	uint32_t (*data)(struct stream *s, const uint8_t *data, uint32_t n);

	/* The peer has acknowledged data. bytes 0: stream_send had taken less than there was room for,
	 * because buffers had run out; now it may take more. Not for all kinds in the units of
	 * stream_send. */
	void (*acked)(struct stream *s, uint32_t bytes);

	/* The peer sends no more. This side can still send. */
	void (*fin)(struct stream *s);

	/* The stream has ended, for a reason of tcp_app.closed; stream_why() has it as text. */
	void (*closed)(struct stream *s, int why);
};

/* What a kind does for the functions below, which say what each is. */
struct stream_ops {
	uint32_t (*send)(struct stream *s, const void *data, uint32_t n);
	uint32_t (*room)(const struct stream *s);
	void (*consumed)(struct stream *s, uint32_t n);
	void (*close)(struct stream *s);
	void (*abort)(struct stream *s);
	void (*info)(const struct stream *s, struct tcp_info *info);
	void (*set_rcv_buf)(struct stream *s, uint32_t bytes);
	const char *(*why)(const struct stream *s); /* NULL, or it returns NULL: nothing beyond stream_app.closed */
};

struct stream {
	const struct stream_ops *ops; /* of its kind */
	const struct stream_app *app;
	void *arg;                    /* the application's; NULL at first */
};

/* Takes the memory of TCP and of streams, once. False: there is not enough. */
bool stream_prepare(void);

/* When the ports run: starts TCP, without connections, unless it has been started since
 * tcp_control_stop(). stream_prepare() has returned true. */
void stream_start(void);

/* Listens on a TCP port for plain streams. TCP must have been started, the port be free, and *app be
 * constant. tcp_unlisten() ends it. */
void stream_listen(uint16_t port, const struct stream_app *app);

/* Before tcp_control_stop(): the streams of stream_connect() end, E_RESET. */
void stream_stop(void);

/* A connection to open. */
struct stream_target {
	struct net_addr remote;
	struct net_addr local; /* an address of ours, of remote's family; NET_ADDR_ANY: chosen by the route */
	uint16_t port;         /* of remote */
};

#define STREAM_CLIENTS 8 /* streams of stream_connect() at once */

/*
 * Begins to open a plain stream. The first one has TCP take its memory. *app must be constant.
 * NULL: not now, and nothing has changed; *error says why, and stream_error_text() as text:
 *     E_AGAIN   the ports do not run, or there are STREAM_CLIENTS already
 *     E_NOMEM   there is no memory
 *     E_NOENT   there is no route, or no source address; or remote is link-local
 * Later failures come by closed(): E_REFUSED, E_TIMEOUT (20 s without an answer), E_RESET.
 */
struct stream *stream_connect(const struct stream_target *to, const struct stream_app *app, void *arg,
                              int *error);

/* What an error of stream_connect() or closed() means. Static. */
const char *stream_error_text(int error);

/* Streams of stream_connect(): those that were established, and those that failed, by reason. */
enum stream_end { STREAM_NO_ROUTE, STREAM_REFUSED, STREAM_TIMEOUT, STREAM_RESET, STREAM_NO_ROOM, STREAM_ENDS };
struct stream_stats {
	uint64_t established;
	uint64_t failed[STREAM_ENDS]; /* refused, timeout, reset: also after they were established */
};
extern struct stream_stats stream_stats;
const char *stream_end_word(enum stream_end e); /* for metrics; static */

/* The streams of stream_listen() and stream_connect(), in no particular order. *cursor is 0 at first; NULL: there are
 * no more. Streams may end during the walk. */
struct stream *stream_next(uint32_t *cursor);

/* Copies and sends up to n bytes and returns the bytes taken: fewer if there is no room or no buffer,
 * 0 also if this side has closed. */
static inline uint32_t stream_send(struct stream *s, const void *data, uint32_t n)
{
	return s->ops->send(s, data, n);
}

/* Bytes that stream_send would take now. */
static inline uint32_t stream_room(const struct stream *s)
{
	return s->ops->room(s);
}

/* The application has finished with n bytes that it took, or takes: the window opens by n. */
static inline void stream_consumed(struct stream *s, uint32_t n)
{
	s->ops->consumed(s, n);
}

/* Closes this side behind the data that was sent. The stream still receives. */
static inline void stream_close(struct stream *s)
{
	s->ops->close(s);
}

/* Ends the stream at once with a reset of its connection; `closed` is not called. */
static inline void stream_abort(struct stream *s)
{
	s->ops->abort(s);
}

/* The state of the TCP connection that carries it. */
static inline void stream_info(const struct stream *s, struct tcp_info *info)
{
	s->ops->info(s, info);
}

/* Within closed(): why, for people. Static. */
static inline const char *stream_why(const struct stream *s, int error)
{
	const char *why = s->ops->why ? s->ops->why(s) : NULL;
	return why ? why : stream_error_text(error);
}

/* See tcp_set_rcv_buf(). */
static inline void stream_set_rcv_buf(struct stream *s, uint32_t bytes)
{
	s->ops->set_rcv_buf(s, bytes);
}

#endif
