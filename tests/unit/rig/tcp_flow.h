/*
 * Applications of the property tests: two ends of a connection that send each other bytes known by
 * their position, read as their plan says, close, abort, and check every callback.
 *
 * What is checked, for each end:
 * 1. The bytes received are those that the other end sent, from the first on, with none missing. No
 *    more of them wait for the application than rcv_buf (tcp_flow.c, on_data).
 * 2. What is acknowledged was delivered at the other end before, and is acknowledged once.
 * 3. connected or accept comes first, then data, acked, fin; closed at most once and nothing after
 *    it; no callback about a connection during a call about the same connection.
 * 4. closed(E_OK): all of our data was acknowledged, all of theirs was received, followed by their
 *    FIN.
 * 5. An error has a cause: an end aborted or refused, or the plan allows a timeout.
 */
#ifndef TESTS_UNIT_RIG_TCP_FLOW_H
#define TESTS_UNIT_RIG_TCP_FLOW_H

#include "tests/unit/rig/tcp_rig.h"

enum reader {
	READ_NOW,   /* frees and consumes at once */
	READ_LATE,  /* keeps the buffers; frees and consumes them one by one later */
	READ_ODD,   /* frees at once, consumes in odd amounts later */
	READ_ECHO,  /* sends the buffers back, consumes what is acknowledged */
};

struct end_plan {
	uint64_t bytes;       /* to send; READ_ECHO: what is received */
	uint32_t write_max;   /* one write: 1 to this many; 0: 65536 */
	uint32_t pkt_percent; /* share of writes by tcp_send_pkt */
	uint32_t outside_percent; /* share of the other writes by tcp_send_outside */
	uint32_t pause_us;    /* longest pause between writes */
	enum reader reader;
	uint32_t read_us;     /* READ_LATE, READ_ODD: most time until it reads */
	uint32_t read_max;    /* READ_ODD: most bytes at once */
	bool wait_fin;        /* closes only after the peer has */
	bool nodelay, keepalive;
	bool refuse;          /* accept returns false */
	bool abort_in_accept;
	bool close_in_data;   /* at the first data: sends no more */
	bool urgent;          /* marks some writes */
	uint64_t abort_us;    /* this long after its start, 0: never */
	uint64_t abort_bytes; /* after this many bytes received, 0: never */
	uint32_t chaos_ppm;   /* share of callbacks that do something unexpected */
};

/* How an end ended: E_OK, an enum error, or one of these. */
enum { END_NEVER = 100, END_OPEN, END_ABORTED, END_REFUSED };

struct end {
	struct flow *flow;
	unsigned side;        /* 0: the end that connects */
	struct end_plan plan;
	struct chance chance;
	struct tcp_conn *c;
	uint32_t key;         /* of its bytes */
	uint64_t sent, acked, received, held;
	uint32_t held_max;    /* rcv_buf, at its largest */
	bool away;            /* its connection moves: no call about it */
	bool established, closing, fin_seen, timer_write, timer_read;
	bool starved;         /* tcp_send took less than the free space: acked() has to tell */
	int how;
	unsigned busy;        /* calls about the connection in progress */
	uint64_t ended_us;
	struct persistent *kept_first, *kept_last;
};

struct flow_plan {
	struct end_plan end[2];
	uint16_t port[2];     /* of client and server; client 0: an ephemeral one */
	uint64_t start_us;    /* from now */
	bool fastopen;
	uint32_t first_bytes; /* given to tcp_connect */
	bool may_fail;        /* an error needs no cause */
	bool simultaneous;    /* both connect */
	unsigned host[2];     /* 0 and 1, unless set */
};

struct flow {
	struct flows *all;
	struct flow_plan plan;
	struct end end[2];
	bool started;
	uint64_t started_us;
};

struct flows {
	struct rig *rig;
	struct flow **flow;
	unsigned count, room, started, open;
	struct flow **by_port[RIG_HOSTS]; /* indexed by the client's port */
	unsigned accepts, connects;
	const uint8_t *pattern;
};

struct flows *flows_new(struct rig *r);

/* A listener on that host's port. */
void flows_listen(struct flows *a, unsigned host, uint16_t port, bool fastopen);

/* Connections of these applications can move to and from that host (net/tcp/move.h). */
void flows_movable(struct flows *a, unsigned host);

/* Adds a flow, which begins by itself, or when a chaotic callback begins it. */
struct flow *flow_add(struct flows *a, const struct flow_plan *p);

/* True if nothing is open and no flow waits to be started. */
bool flows_done(void *flows);

/* Checks how they ended, and frees them. */
void flows_end(struct flows *a);

/* Lets time pass until they are done and the instances at rest; checks; ends the rig. */
void flows_finish(struct flows *a, uint64_t limit_us);

#endif
