/*
 * The work of connections in the benchmarks of TCP, over any wire: applications of net/tcp for the
 * client's end, and for a server in the same process.
 *
 *     WORK_RR      request/response: one request outstanding on each connection, or, if `busy` is
 *                  less than their number, on `busy` of them, chosen at random each time
 *     WORK_CRR     connect, one request and its response (none, if size is 0), close; then the next
 *                  These two are HTTP if there is an `ask`: it is the request, and the response has a head,
 *                  which arrives in one segment, before `size` bytes
 *     WORK_SOURCE  sends as much as possible on each connection
 *     WORK_SINK    receives data and discards it
 *     WORK_ECHO    a server: sends back what it receives
 *     WORK_BOTH    a client of an echo server: sends as much as possible, discards what it receives
 *
 * A server's connections arrive by work_listen; work_turn opens a client's.
 */
#ifndef TESTS_BENCH_TCP_TCP_WORK_H
#define TESTS_BENCH_TCP_TCP_WORK_H

#include "net/tcp/tcp.h"
#include "tools/nicsim/wires/histogram.h"
#include "tests/bench/open_loop.h"

#define WORK_HALF_OPEN 256 /* connections being opened at a time: below any SYN limit */
#define WORK_LOCALS 64

enum work_kind { WORK_RR, WORK_CRR, WORK_SOURCE, WORK_SINK, WORK_ECHO, WORK_BOTH };

struct work_conn {
	struct work *work;
	struct tcp_conn *conn;
	uint32_t wanted;    /* missing bytes of the response; 0: idle */
	bool head;          /* the head of an HTTP response is missing */
	uint32_t held;      /* bytes not consumed, because none was expected */
	uint64_t begun_tsc; /* when the request was sent, or the connection begun */
};

struct work {
	/* chosen by the caller */
	enum work_kind kind;
	struct tcp *tcp;
	struct bufpool *pool;
	struct net_addr server;
	uint16_t port;
	uint32_t locals;          /* client addresses: each allows some 60,000 connections */
	struct net_addr local[WORK_LOCALS];
	uint32_t connections;
	uint32_t busy;            /* 0: all */
	uint32_t size;            /* of a request and of its response, bytes */
	const char *ask;          /* an HTTP request; NULL: the request is `size` bytes for an echo server */
	bool other;               /* no echo: the server's responses are as long as the requests, of other bytes */
	uint32_t mss;             /* payload that WORK_SOURCE sends at a time */
	struct histogram *latency; /* of requests, TSC ticks; NULL: not wanted */
	struct open_loop *paced;   /* WORK_RR: requests are sent by work_request only, and their times go
	                            * here; NULL: a response causes the next request */

	/* inside */
	struct work_conn *conn;
	uint32_t begun;           /* connections requested, of those that stay */
	uint32_t opening;
	uint32_t in_flight;
	uint32_t turn;            /* work_request: the connection that it tries first */
	bool running;             /* requests or bytes flow */
	uint64_t random;
	uint8_t *payload;

	/* counted */
	uint64_t established, requests, ended, failed, received_bytes, acked_bytes, unlike;
};

/* Allocates memory for a client's connections (0: a server). */
void work_init(struct work *w);
void work_free(struct work *w);

/* Listens on w->port: a server. */
void work_listen(struct work *w);

/* Sends a request that was due at that TSC on an idle connection; false: there is none. Its
 * response's time counts from then. */
bool work_request(struct work *w, uint64_t due_tsc);

/* Opens missing connections; call once a turn. True when all are established. */
bool work_turn(struct work *w, uint64_t now);

/*
 * Starts or stops a client's requests or bytes. After a stop, data in flight still arrives, and for
 * WORK_SINK as much as fits the window. So a client may pause without any timer of either end
 * expiring.
 */
void work_run(struct work *w, bool run);

#endif
