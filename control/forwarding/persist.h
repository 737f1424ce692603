/*
 * Memory of the routing base while a routing engine is configured. It survives the control program
 * (core_persist_alloc), so that the engine's routes outlive a restart of this program and of the ports:
 * routes.c makes the next base beside the one in force, and fills it with the engine's routes of that
 * one (control/engine/engine.c, engine_resume).
 *
 *     page of the header | half | half         the base in force is in one of the halves
 *
 *     persist_open    the base in force becomes the previous one
 *     persist_begin   memory for the next base: the other half, or a new piece if the halves are too
 *                     small
 *     persist_close   the previous base has been read
 *     persist_commit  data cores forward by the next base: it is in force
 *
 * Invariants
 * 1. The previous base stays in force until persist_commit: a program that gives up before leaves it to
 *    the next one. Exception: a base that needs larger halves.
 * 2. The memory is untrusted input. The header is sealed by a hash; what the halves contain is for
 *    rib_previous_next to check.
 * 3. A program that fails between persist_open and persist_close is the last one that reads that base:
 *    reading it may be the cause.
 *
 * A route costs nothing here but the slot of a second base, 11 bytes for IPv4.
 */
#ifndef CONTROL_FORWARDING_PERSIST_H
#define CONTROL_FORWARDING_PERSIST_H

#include "net/rib/rib.h"
#include "dataplane/state.h"

/* What the forwarding table of IPv6 has for the engine's prefixes. */
struct persist_six {
	uint32_t routes; /* so many of them, */
	uint64_t bytes;  /* and of nodes */
};

/* The previous base. */
struct persist_base {
	void *memory; /* NULL: there is none */
	struct rib_size size;
	struct persist_six six;
	uint32_t key[DP_INTERFACES_MAX]; /* of the interface of each number (struct dp_interface) */
};

/* In control_plane_start. wanted: an engine is configured; otherwise there is no previous base. */
void persist_open(bool wanted);

/* Between persist_open and persist_close. */
const struct persist_base *persist_previous(void);
void persist_close(void);

/* Memory for a base of that size, with any contents; NULL: not enough. */
void *persist_begin(const struct rib_size *size);

/* The base in that memory, of that size, is in force from now on. */
void persist_commit(const void *memory, const struct rib_size *size, struct persist_six six);

/* The base is in other memory now: none is in force. */
void persist_forget(void);

/* The connection of the engine: our address and its port. A program that has lost it can thus tell the
 * engine's TCP. Port 0: there is none. */
void persist_note_connection(const struct net_addr *local, uint16_t port);
uint16_t persist_connection(struct net_addr *local);

#endif
