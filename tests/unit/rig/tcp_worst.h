/*
 * The streams that cost a TCP the most: a peer that keeps to the letter of the RFCs, and chooses what
 * it sends and acknowledges so that every look-up has the longest way. One instance of net/tcp, and
 * that peer, by hand; for tests/unit/net/tcp/test_tcp_worst.c, which counts what the instance looks at, and
 * tests/bench/tcp/stack_bench.c, which measures its time.
 *
 * The application of the instance sends without end and keeps nothing that it receives.
 */
#ifndef TESTS_UNIT_RIG_TCP_WORST_H
#define TESTS_UNIT_RIG_TCP_WORST_H

#include "lib/pkt.h"
#include "net/counters.h"
#include "net/tcp/tcp.h"
#include "net/tcp/wire.h"

#define WORST_MSS 48 /* the least that is obeyed (net/tcp/open.c) */

struct worst {
	struct tcp *tcp;
	struct tcp_conn *conn;
	struct bufpool pool;
	struct counters cnt;
	void *mem, *bufs;
	uint32_t *stack;
	uint64_t now_us;
	uint32_t una, end; /* of what the instance has sent: acknowledged, and behind the last byte */
	uint32_t next;     /* the peer's next byte in order */
	uint32_t delivered; /* bytes of the peer's, to the application, which knows what they have to be */
	uint32_t frames;   /* sent by the instance */
};

/* An instance with `buffers` and one connection; snd_buf bytes are to be sent. */
void worst_begin(struct worst *w, uint32_t buffers, uint32_t rcv_buf, uint32_t snd_buf);
void worst_end(struct worst *w);

/* The peer acknowledges until as much is outstanding as snd_buf allows; chunks of WORST_MSS, about. */
void worst_fill(struct worst *w);

/* One segment comes in, as a vector of its own: len bytes of the peer's stream that begin `at` bytes
 * behind the next in order, and n blocks of SACK. */
void worst_segment(struct worst *w, uint32_t at, uint32_t len, const struct tcp_sack *sacks,
                   unsigned n);

/* The peer acknowledges up to w->una + bytes. */
void worst_ack(struct worst *w, uint32_t bytes);

#endif
