/*
 * The routing engine: FRRouting's zebra, whose routes enter the forwarding table. It connects by
 * TCP and sends the Forwarding Plane Manager stream (net/fpm/fpm.h). docs/routing-engine.md says
 * how to run it.
 *
 *     engine.c       the TCP server, what becomes of routes without a connection
 *     connection.c   what this connection and that of bfdd (bfd.h) have in common
 *     apply.c        the messages of a frame, as one change of the routes
 *     hops.c         next hops and distances of the engine as those of routes
 *     tags.c         which routes use a next-hop object
 *
 * One connection at a time, from the one configured address; others are reset. A new connection
 * from that address replaces the old one, because zebra reconnects after a cut that this side may
 * not have seen. States:
 *
 *     DOWN     --connection--> UP
 *     UP       --cut, FIN, malformed frame, new connection--> DOWN; the routes stay, as stale ones
 *     UP       settle-time after the connection: routes that are still stale are removed
 *     DOWN     hold-time after the cut: all routes are removed
 *
 * A start of the control plane, after a fault or for a restart of the ports, begins with DOWN and the
 * routes that the former base has left, as stale ones (engine_resume).
 *
 * zebra sends no mark at the end of its table, so only time tells when it has stated everything.
 *
 * Everything that the engine can cause is bounded:
 *     connections   one
 *     memory        all is taken when the engine is configured
 *     work          ENGINE_MESSAGES_PER_TURN in a turn of the control core, or one frame; stale
 *                   routes in slices. The TCP window closes while 128 KiB wait
 *     output        acknowledgements beyond ENGINE_OUT_BYTES are dropped and counted; input never
 *                   waits for output
 *
 * Invariants
 * 1. A frame is checked as a whole (fpm_check) before its first message is applied. A malformed one
 *    closes the connection, and nothing of it is applied.
 * 2. A frame is one change: a prefix that it deletes and then adds is never without a route.
 * 3. A message that is not applied is counted under a name: enum fpm_skip or enum engine_refusal.
 *
 * Deliberately missing: tables other than Linux's main one, MPLS, SRv6, VXLAN.
 */
#ifndef CONTROL_ENGINE_ENGINE_H
#define CONTROL_ENGINE_ENGINE_H

#include "control/config/config.h"
#include "control/engine/connection.h"
#include "net/fpm/fpm.h"

#define ENGINE_MESSAGES_PER_TURN 256 /* 0.3 ms */
#define ENGINE_STALE_PER_TURN 512
#define ENGINE_OUT_BYTES 524288 /* some 7,000 acknowledgements */
#define ENGINE_OBJECTS 4096  /* next-hop objects */
#define ENGINE_MEMBERS 16384 /* of all groups */

/* Why a route or an object that net/fpm has decoded is not installed: name, description. */
#define ENGINE_REFUSALS(X) \
	X(TABLE, "table", "route of another table than main") \
	X(DESTINATION, "destination", "multicast, loopback or link-local destination") \
	X(FAMILY, "gateway_family", "IPv4 next hop of an IPv6 route") \
	X(HIDDEN, "gateway_hidden", "IPv6 next hop that FRR before 10.6 states as 169.254.0.1") \
	X(LINK_LOCAL, "link_local", "link-local next hop on an interface without index") \
	X(INTERFACE, "interface", "route to an interface without index, or one that takes no part") \
	X(OWN, "own_address", "next hop that is an address of this machine") \
	X(OBJECT, "nexthop_missing", "next-hop object that is not known") \
	X(EMPTY, "no_hops", "route without usable next hop") \
	X(MAXIMUM, "maximum", "more routes than the configuration allows") \
	X(FULL, "table_full", "no room in the tables") \
	X(OBJECTS_FULL, "nexthops_full", "too many next-hop objects")

enum engine_refusal {
	ENGINE_REFUSED_NOT,
#define ENGINE_REFUSAL_ENUM(name, word, text) ENGINE_REFUSED_##name,
	ENGINE_REFUSALS(ENGINE_REFUSAL_ENUM)
#undef ENGINE_REFUSAL_ENUM
	ENGINE_REFUSALS_END,
};

const char *engine_refusal_name(enum engine_refusal r);

#define ENGINE_KINDS (FPM_SKIPPED + 1)
const char *engine_kind_name(enum fpm_kind k);

/* For `show routing engine` and /metrics. */
struct engine_stats {
	struct engine_connection_stats connection;
	uint64_t octets, frames;
	uint64_t kind[ENGINE_KINDS];            /* messages by kind */
	uint64_t set[FPM_PROTOCOLS_END];        /* routes stated, by protocol */
	uint64_t skip[FPM_SKIPS_END];           /* not applied: by net/fpm */
	uint64_t refused[ENGINE_REFUSALS_END];  /* and here */
	uint64_t acks, acks_failed, acks_lost; /* sent as installed, as failed; dropped: no room */
	uint64_t stale_removed;
};
extern struct engine_stats engine_stats;

/* At the start and before a commit: takes the memory, once. False: there is not enough. */
bool engine_prepare(void);

/* Listens on a TCP port. TCP must have been started. */
void engine_listen(uint16_t port);

/* Before tcp_control_stop() and routes_start(): forgets the connection. */
void engine_stop(void);

/* In control_plane_start, after all other sources of routes: the routes that the base before has left
 * (control/forwarding/persist.h) are in the present one, as stale ones. */
void engine_resume(void);

/* Before a restart of the ports or of the machine that is known in advance: resets the connection, so
 * that zebra connects again after it and sends everything. why: as the reason of the disconnection. */
void engine_leave(const char *why);

/* A commit replaces the running configuration by `next`. */
void engine_change(const struct config *next);

/* Does the work that is due. Returns core_now_ns() of the next call, UINT64_MAX for none. */
uint64_t engine_timer(void);

#endif
