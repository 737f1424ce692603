/*
 * What the configuration says of the event log: levels, and syslog hosts (RFC 5424 over UDP, RFC 5426, or TLS, RFC
 * 5425).
 *
 * Each host reads the log (control/console/log.h) at its own position, so the log is the queue: a host that cannot be
 * reached costs no memory, and misses what the log has lost meanwhile. Positions outlive the control program, so that
 * the next one sends nothing twice by UDP and goes on with what the failed one has left. By TLS a position is that of
 * the first message which TCP has not acknowledged, so the next connection begins with what the last one may have
 * lost.
 *
 * Pace by UDP: while the host's next hop is known, LOGGING_BURST messages a turn. Otherwise a message goes out now
 * and then, which has ARP or ND find the neighbour, and the others wait. By TLS: what the connection has room for. A
 * connection that fails is followed by another one after LOGGING_RETRY_MIN_NS, which doubles up to
 * LOGGING_RETRY_MAX_NS until one has lasted.
 */
#ifndef CONTROL_MANAGEMENT_LOGGING_H
#define CONTROL_MANAGEMENT_LOGGING_H

#include "control/config/config.h"
#include "lib/types.h"

#define LOGGING_BURST 16
/* The pause between messages while the next hop is not known, and between connections: at least, and at most. */
#define LOGGING_RETRY_MIN_NS 1000000000ull
#define LOGGING_RETRY_MAX_NS 30000000000ull

/* The running configuration is new, or is in force: at the start, and after a commit. */
void logging_configure(void);

/* A row of the timers in control/control.c. */
uint64_t logging_timer(void);

struct logging_stats {
	const char *name;     /* "": it has an address only */
	struct net_addr addr; /* NET_ADDR_ANY: the name has not been found yet */
	uint16_t port;
	uint64_t sent; /* TLS: given to the connection, again after it was lost */
	uint64_t lost; /* overwritten in the log before they could be sent */
	bool tls;
	const char *version;  /* of TLS, of the connection, static; NULL: there is none */
	uint64_t connected;   /* connections that were established */
	uint64_t failed;      /* that ended or could not be established, and names that were not found */
	const char *why;      /* of the last one, static; NULL: none since the last connection, or at all */
};

/* Of the host number i of the running configuration since it was configured, or the control program started; false:
 * there is none. */
bool logging_stats(unsigned i, struct logging_stats *s);

#endif
