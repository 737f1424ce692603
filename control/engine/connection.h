/*
 * What the two TCP connections of the routing engine have in common: zebra's (engine.c) and bfdd's
 * (bfd.c). The module that owns a connection parses and answers; this one has the buffers, the reasons
 * of an end, the figures, and the times at which what is stale has to go.
 *
 *     DOWN   --engine_connection_begin--> UP
 *     UP     --engine_connection_abort--> DOWN
 *
 * TCP's callbacks only note that a connection is over, because input that came before is served first;
 * the owner's timer then aborts it.
 *
 * Invariants
 * 1. in_at <= in_len <= in_bytes; owed octets of the input have not been consumed for TCP.
 * 2. conn is NULL if there is none, or if it is over and its input is not all served.
 */
#ifndef CONTROL_ENGINE_CONNECTION_H
#define CONTROL_ENGINE_CONNECTION_H

#include "lib/pkt.h"
#include "lib/types.h"

struct tcp_conn;

/* For the console and /metrics. */
struct engine_connection_stats {
	bool up;
	uint64_t since_ns; /* the state; 0: since the start */
	uint64_t connections, foreign; /* accepted; reset because of their address */
	uint64_t malformed;            /* closed for malformed input */
	const char *closed; /* why the last connection ended; NULL: none has */
};

struct engine_connection {
	/* --- set by the owner --- */
	const char *label;      /* between "routing engine: " and the text on the console */
	const char *closed, *silent, *reset; /* reasons: the other end's FIN, a time-out, its reset */
	struct engine_connection_stats *stats;
	void (*ended)(void);    /* the state is DOWN */
	uint8_t *in, *out;
	uint32_t in_bytes;

	uint32_t in_len, in_at; /* in[in_at] to in[in_len - 1] have not been served yet */
	uint32_t owed;          /* octets received and not consumed for TCP */
	size_t out_len;         /* octets of out that have not been sent */
	struct tcp_conn *conn;
	bool session;           /* there is a connection, or input of one */
	const char *over;       /* why it is over; NULL: it is not */
	uint64_t cut_ns;        /* DOWN: when the connection ended; 0: nothing is held */
	uint64_t up_ns;         /* UP: when it began */
	bool settled;           /* settle-time has passed since */
};

/* Is a connection wanted, and does it come from the configured engine? Otherwise it is counted as
 * foreign. */
bool engine_connection_admits(struct engine_connection *e, bool wanted, struct tcp_conn *c);

/* `c` is the connection from now on; its end is noticed by keep-alives. */
void engine_connection_begin(struct engine_connection *e, struct tcp_conn *c);

/* Ends it at once; input that has not been served is lost. */
void engine_connection_abort(struct engine_connection *e, const char *why);

/* The ports have restarted: TCP has forgotten the connection. */
void engine_connection_forget(struct engine_connection *e);

/* TCP's callbacks. They ignore other connections. */
void engine_connection_data(struct engine_connection *e, struct tcp_conn *c, struct pkt *p);
void engine_connection_fin(struct engine_connection *e, struct tcp_conn *c);
void engine_connection_closed(struct engine_connection *e, struct tcp_conn *c, int why);

/* Sends of `out` what TCP takes. */
void engine_connection_send(struct engine_connection *e);

/* The first n octets that are owed have been served: TCP may receive as many. */
void engine_connection_consume(struct engine_connection *e, uint32_t n);

/* True once in each state, when what is stale has to go: settle-time after a connection began, hold-time
 * after it ended. Otherwise *due_ns is when that will be, UINT64_MAX: never. */
bool engine_connection_settles(struct engine_connection *e, uint64_t now_ns, uint64_t *due_ns);

struct config;

/* Do two configurations name the engine's interfaces differently? */
bool engine_indices_differ(const struct config *a, const struct config *b);

#endif
