/*
 * BFD for the routing engine: FRRouting's bfdd states sessions by its data plane protocol
 * (net/bfd/dplane.h), and Hayate runs them (net/bfd/session.h). docs/routing-engine.md says how.
 *
 *     bfd.c           the TCP server, what becomes of sessions without a connection
 *     bfd_sessions.c  the sessions: their packets and timers
 *
 * bfdd connects from the engine's address; other connections are reset, and a new one replaces the
 * old one. If the configuration says so, Hayate connects as well, while there is no connection: bfdd
 * then listens. States:
 *
 *     DOWN   --connection, of either side--> UP
 *     UP     --cut, FIN, malformed message, new connection--> DOWN; the sessions run on, as stale ones
 *     UP     settle-time after the connection: sessions that are still stale end
 *     DOWN   hold-time after the cut: all sessions end
 *
 * bfdd sets its view of a session to Down when it states the session, so every statement is answered
 * with the present state. A session that has gone down and up again since bfdd was told is reported
 * as Down first.
 *
 * Everything that the engine can cause is bounded:
 *     connections  one
 *     sessions     ENGINE_BFD_SESSIONS, each of at least ENGINE_BFD_LEAST_US between packets
 *     work         ENGINE_BFD_MESSAGES messages in a turn of the control core
 *     output       TCP's window closes while there is no room for another answer
 *
 * Time. Sessions run on the control core, so their packets are as punctual as its turns. A session
 * expires only after every packet has been served that data cores had handed over by the end of its
 * detection time (core_punt_mark): a late control core finds no false failure.
 *
 * Invariants
 * 1. A malformed message closes the connection; nothing of it is applied.
 * 2. A session that is not accepted is counted under a name (enum engine_bfd_refusal).
 * 3. The local discriminators of all sessions differ, and so do their (peer, local address,
 *    interface, kind).
 *
 * The sessions do not outlive a restart of the ports or of the control program: bfdd connects again
 * and states them.
 */
#ifndef CONTROL_ENGINE_BFD_H
#define CONTROL_ENGINE_BFD_H

#include "control/config/config.h"
#include "control/engine/connection.h"
#include "net/bfd/dplane.h"
#include "net/bfd/session.h"

#define ENGINE_BFD_SESSIONS 256
#define ENGINE_BFD_LEAST_US 10000u
#define ENGINE_BFD_MESSAGES 64

/* Why a stated session does not run: name, description. */
#define ENGINE_BFD_REFUSALS(X) \
	X(FLAGS, "flags", "unknown flag") \
	X(DISCRIMINATOR, "discriminator", "local discriminator 0") \
	X(ADDRESS, "address", "an address that is no unicast address, or of the wrong IP version") \
	X(INTERFACE, "interface", "link-local address on an interface without index") \
	X(INTERVAL, "interval", "interval below 10 ms") \
	X(MULTIPLIER, "multiplier", "detection multiplier 0") \
	X(DUPLICATE, "duplicate", "same peer, local address and interface as another session") \
	X(FULL, "full", "too many sessions")

enum engine_bfd_refusal {
	ENGINE_BFD_ACCEPTED,
#define ENGINE_BFD_REFUSAL_ENUM(name, word, text) ENGINE_BFD_REFUSED_##name,
	ENGINE_BFD_REFUSALS(ENGINE_BFD_REFUSAL_ENUM)
#undef ENGINE_BFD_REFUSAL_ENUM
	ENGINE_BFD_REFUSALS_END,
};

const char *engine_bfd_refusal_name(enum engine_bfd_refusal r);

/* For `show bfd` and /metrics. */
struct engine_bfd_stats {
	struct engine_connection_stats connection;
	uint64_t messages;
	uint64_t unknown; /* sessions to be deleted, or asked for, that there are not */
	uint64_t refused[ENGINE_BFD_REFUSALS_END];
	uint64_t unsent;  /* packets that had no source address, or no route by their interface */
	uint64_t late_us; /* the longest that a periodic packet was late */
};
extern struct engine_bfd_stats engine_bfd_stats;

#define ENGINE_BFD_ANYWHERE 0xff /* instead of an interface */

struct engine_bfd_session {
	struct bfd_session s;
	struct net_addr peer;
	struct net_addr local;  /* NET_ADDR_ANY: chosen for each packet by the route */
	uint8_t interface;      /* the only one for its packets, or ENGINE_BFD_ANYWHERE */
	uint8_t least_ttl;      /* of a received packet */
	uint16_t source_port;
	bool used, multihop;
	bool stale;             /* not stated since bfdd connected */
	bool tell;              /* bfdd must be told its state */
	bool fell;              /* it has left Up since bfdd was told Up */
	bool remote;            /* the peer's values have changed since */
	uint8_t down_diag;      /* of the last time it left Up; valid if downs */
	uint32_t ups, downs;
	uint64_t told_ns, changed_ns, down_ns;
	uint64_t rx_packets, tx_packets;
};

/* Session n < ENGINE_BFD_SESSIONS; NULL: there is none of that number. */
const struct engine_bfd_session *engine_bfd_session(unsigned n);

/* At the start and before a commit: takes the memory, once. False: there is not enough. */
bool engine_bfd_prepare(void);

/* Listens on a TCP port. TCP must have been started. */
void engine_bfd_listen(uint16_t port);

/* Before tcp_control_stop(): forgets the connection and the sessions. */
void engine_bfd_stop(void);

/* Before a restart of the ports or of the machine that is known in advance: tells the peers that the
 * sessions are administratively down, and resets the connection. why: as engine_leave. */
void engine_bfd_leave(const char *why);

/* A commit replaces the running configuration by `next`. */
void engine_bfd_change(const struct config *next);

/* Does the work that is due. Returns core_now_ns() of the next call, UINT64_MAX for none. */
uint64_t engine_bfd_timer(void);

#endif
