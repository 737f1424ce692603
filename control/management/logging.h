/*
 * What the configuration says of the event log: levels, and syslog hosts (RFC 5424 over UDP, RFC 5426).
 *
 * Each host reads the log (control/console/log.h) at its own position, so the log is the queue: a host that cannot be reached
 * costs no memory, and misses what the log has lost meanwhile. Positions outlive the control program, so that the next one
 * sends nothing twice and goes on with what the failed one has left.
 *
 * Pace: while the host's next hop is known, LOGGING_BURST messages a turn. Otherwise a message goes out now and then, which has
 * ARP or ND find the neighbour, and the others wait.
 */
#ifndef CONTROL_MANAGEMENT_LOGGING_H
#define CONTROL_MANAGEMENT_LOGGING_H

#include "control/config/config.h"
#include "lib/types.h"

#define LOGGING_BURST 16
#define LOGGING_RETRY_MIN_NS 1000000000ull /* between messages while the next hop is not known; doubles up to */
#define LOGGING_RETRY_MAX_NS 30000000000ull

/* The running configuration is new, or is in force: at the start, and after a commit. */
void logging_configure(void);

/* A row of the timers in control/control.c. */
uint64_t logging_timer(void);

struct logging_stats {
	struct net_addr addr;
	uint16_t port;
	uint64_t sent;
	uint64_t lost; /* overwritten in the log before they could be sent */
};

/* Of the host number i of the running configuration since the control program started; false: there is none. */
bool logging_stats(unsigned i, struct logging_stats *s);

#endif
