/*
 * What the files of net/lacp share (IEEE 802.1AX-2014 6.4). Variables, timers and states have the names of
 * the standard, so that the machines can be read beside it. A run function makes transitions until its
 * machine has none, and returns whether it has made one. A block that ends in an unconditional transition
 * goes on to the next state.
 */
#ifndef NET_LACP_INSIDE_H
#define NET_LACP_INSIDE_H

#include "lib/number.h"
#include "net/lacp/lacp.h"

/* 6.4.4, ns */
#define LACP_SECOND 1000000000ull
#define FAST_PERIODIC_TIME (1 * LACP_SECOND)
#define SLOW_PERIODIC_TIME (30 * LACP_SECOND)
#define SHORT_TIMEOUT_TIME (3 * LACP_SECOND)
#define LONG_TIMEOUT_TIME (90 * LACP_SECOND)
#define CHURN_DETECTION_TIME (60 * LACP_SECOND)
#define AGGREGATE_WAIT_TIME (2 * LACP_SECOND)

#define LACP_NEVER UINT64_MAX

#define FOR_EACH_PORT(l, p) \
	for (struct lacp_port *p = (l)->port; p < (l)->port + (l)->ports; p++)

/* Machines; *_begin is what BEGIN does. */
void lacp_receive_begin(struct lacp_port *p);
void lacp_mux_begin(struct lacp_port *p);
void lacp_churn_begin(struct lacp_port *p);
void lacp_transmit_begin(struct lacp_port *p);
bool lacp_receive_run(const struct lacp *l, struct lacp_port *p);
bool lacp_periodic_run(const struct lacp *l, struct lacp_port *p);
bool lacp_select_run(struct lacp *l);
bool lacp_mux_run(struct lacp *l, struct lacp_port *p);
void lacp_churn_run(const struct lacp *l, struct lacp_port *p);
void lacp_transmit_run(struct lacp *l, struct lacp_port *p);

/* Takes a LACPDU: the state CURRENT of the Receive machine. */
void lacp_receive_pdu(const struct lacp *l, struct lacp_port *p, const struct lacp_pdu *pdu);

/* When the port may send its next LACPDU. */
uint64_t lacp_transmit_allowed(const struct lacp_port *p);

/* Answers a marker. False: too many in this second. */
bool lacp_transmit_marker(struct lacp *l, struct lacp_port *p, const uint8_t *marker);

/* Can the link not be aggregated (6.4.14.1 h)? */
bool lacp_select_is_individual(const struct lacp_port *p);

/* Does the port hear its own system? */
bool lacp_select_is_looped(const struct lacp_port *p);

/* Does the operator say that the port may aggregate, without the protocol? */
static inline bool is_on(const struct lacp_port *p) { return p->params.mode == LACP_ON; }

/* Is the timer due? A due timer is stopped. */
static inline bool timer_expired(const struct lacp *l, uint64_t *deadline)
{
	if (*deadline > l->now_ns)
		return false;
	*deadline = LACP_NEVER;
	return true;
}

static inline bool end_has(const struct lacp_end *e, unsigned state) { return (e->state & state) == state; }

static inline void end_set(struct lacp_end *e, unsigned state, bool on)
{
	e->state = (uint8_t)(on ? e->state | state : e->state & ~state);
}

/* Do both name the same port of the same system with the same key, and the same of `state`? */
static inline bool end_equal(const struct lacp_end *a, const struct lacp_end *b, unsigned state)
{
	return a->port == b->port && a->port_priority == b->port_priority && eth_equal(a->system, b->system) &&
	       a->system_priority == b->system_priority && a->key == b->key &&
	       ((a->state ^ b->state) & state) == 0;
}

#endif
