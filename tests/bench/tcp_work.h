/*
 * What the benchmarks of TCP let connections do, whatever they go over: applications of net/tcp,
 * for the client's end and for a server in the same process.
 *
 *     WORK_RR      request/response: one request outstanding on each connection, or, where `busy`
 *                  is less than their number, on `busy` of them, chosen anew each time at random
 *     WORK_CRR     connect, one request and its response (none, if size is 0), close; then the next
 *     WORK_SOURCE  sends as much as it may on each connection
 *     WORK_SINK    takes what comes and throws it away
 *     WORK_ECHO    a server: sends back what it gets
 *     WORK_BOTH    a client of an echo server: sends as much as it may, throws away what comes
 *
 * A server's connections come in by work_listen, a client's are opened by work_turn.
 */
#ifndef TESTS_BENCH_TCP_WORK_H
#define TESTS_BENCH_TCP_WORK_H

#include "net/tcp/tcp.h"
#include "tests/bench/histogram.h"

#define WORK_HALF_OPEN 256 /* connections that are being opened at a time: below any SYN limit */
#define WORK_LOCALS 64

enum work_kind { WORK_RR, WORK_CRR, WORK_SOURCE, WORK_SINK, WORK_ECHO, WORK_BOTH };

struct work_conn {
	struct work *work;
	struct tcp_conn *conn;
	uint32_t wanted;    /* bytes of the response that are still to come; 0: idle */
	uint32_t held;      /* bytes that were not consumed, for nothing is to come */
	uint64_t begun_tsc; /* when the request was sent, or the connection begun */
};

struct work {
	/* chosen by the caller */
	enum work_kind kind;
	struct tcp *tcp;
	struct bufpool *pool;
	struct net_addr server;
	uint16_t port;
	uint32_t locals;          /* client addresses: each is good for some 60,000 connections */
	struct net_addr local[WORK_LOCALS];
	uint32_t connections;
	uint32_t busy;            /* 0: all */
	uint32_t size;            /* of a request, bytes */
	uint32_t mss;             /* payload of what WORK_SOURCE gives at a time */
	struct histogram *latency; /* of requests, TSC ticks; NULL: not wanted */

	/* inside */
	struct work_conn *conn;
	uint32_t begun;           /* connections asked for, of those that stay */
	uint32_t opening;
	uint32_t in_flight;
	bool running;             /* requests or bytes flow */
	uint64_t random;
	uint8_t *payload;

	/* counted */
	uint64_t established, requests, ended, failed, received_bytes, acked_bytes, unlike;
};

/* Takes memory for the connections of a client (0: a server). */
void work_init(struct work *w);
void work_free(struct work *w);

/* Listens on w->port: the server. */
void work_listen(struct work *w);

/* Opens what is wanting. To be called once a turn; true when all connections are established. */
bool work_turn(struct work *w, uint64_t now);

/*
 * From now on a client's requests or bytes flow, or do not any more: then what is under way still
 * comes, and of WORK_SINK as much as the window has room for. So a client may pause and no timer of
 * either end expires.
 */
void work_run(struct work *w, bool run);

#endif
