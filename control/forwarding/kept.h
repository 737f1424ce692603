/*
 * Memory of the routing base while a routing engine is configured. It survives the control program
 * (core_persist_alloc), so that the engine's routes outlive a restart of this program and of the ports:
 * routes.c makes the next base beside the one in force, and fills it with the engine's routes of that
 * one (control/engine/engine.c, engine_resume).
 *
 *     page of the header | half | half         the base in force is in one of the halves
 *
 *     kept_open     the base in force is the one that is left
 *     kept_begin    memory for the next base: the other half, or a new piece if the halves are too small
 *     kept_close    what is left has been read
 *     kept_end      data cores forward by the next base: it is in force
 *
 * Invariants
 * 1. A base that is left stays in force until kept_end: a program that gives up before leaves it to the
 *    next one. Exception: a base that needs larger halves.
 * 2. The memory is untrusted input. The header is sealed by a hash; what the halves contain is for
 *    rib_left_next to check.
 * 3. A program that fails between kept_open and kept_close is the last one that reads that base: reading
 *    it may be the cause.
 *
 * A route costs nothing here but the slot of a second base, 11 bytes for IPv4.
 */
#ifndef CONTROL_FORWARDING_KEPT_H
#define CONTROL_FORWARDING_KEPT_H

#include "net/rib/rib.h"
#include "dataplane/state.h"

/* What the forwarding table of IPv6 has for the engine's prefixes. */
struct kept_six {
	uint32_t routes; /* so many of them, */
	uint64_t bytes;  /* and of nodes */
};

/* A base that is left. */
struct kept_left {
	void *memory; /* NULL: there is none */
	struct rib_size size;
	struct kept_six six;
	uint32_t key[DP_INTERFACES_MAX]; /* of the interface of each number (struct dp_interface) */
};

/* In control_plane_start. wanted: an engine is configured; otherwise nothing is left. */
void kept_open(bool wanted);

/* The base that is left, between kept_open and kept_close. */
const struct kept_left *kept_left(void);
void kept_close(void);

/* Memory for a base of that size, with any contents; NULL: not enough. */
void *kept_begin(const struct rib_size *size);

/* The base in that memory, of that size, is in force from now on. */
void kept_end(const void *memory, const struct rib_size *size, struct kept_six six);

/* The base is in other memory now: none is in force. */
void kept_forget(void);

/* The connection of the engine: our address and its port. A program that has lost it can thus tell the
 * engine's TCP. Port 0: there is none. */
void kept_note_connection(const struct net_addr *local, uint16_t port);
uint16_t kept_connection(struct net_addr *local);

#endif
