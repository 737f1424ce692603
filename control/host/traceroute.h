/*
 * The console's traceroute: which routers lead to a host. As Van Jacobson's program it sends UDP datagrams to ports
 * that nobody should listen on, from TRACE_PORT on, one number higher for each, with a TTL of 1, 2 and so on; or ICMP
 * echo requests. A router at which the TTL ends says time exceeded, the host port unreachable. One runs at a time.
 *
 * All probes of a hop leave together, and those of the next hop when they have been answered, or after
 * TRACE_AHEAD_NS; at most TRACE_AHEAD hops wait for answers. Their lines are printed in order.
 */
#ifndef CONTROL_HOST_TRACEROUTE_H
#define CONTROL_HOST_TRACEROUTE_H

#include "control/console/shell.h"
#include "control/host/names.h"
#include "net/icmp4.h"
#include "net/icmp6.h"

#define TRACE_PORT 33434
#define TRACE_HOPS_MAX 64
#define TRACE_PROBES_MAX 5
#define TRACE_AHEAD 4
#define TRACE_AHEAD_NS 100000000ull

struct traceroute_options {
	enum names_family family;
	bool icmp;
	unsigned interface; /* the link if the address is link-local; UINT32_MAX: none was said */
	unsigned hops, probes, timeout_s;
};

/* Marks the shell busy, or prints why not. host: an address or a name. */
void traceroute_start(struct shell *sh, const char *host, const struct traceroute_options *o);

/* An ICMP error, or an echo reply, came from that address. It need not be about a probe. */
void traceroute_error(uint32_t from, const struct icmp4_msg *m);
void traceroute_error6(const struct net_addr *from, const struct icmp6_msg *m);
void traceroute_reply(const struct net_addr *from, uint16_t id, uint16_t seq);

/* Does what is due; returns core_now_ns() of the next step, UINT64_MAX for none. */
uint64_t traceroute_timer(void);

#endif
