/*
 * DHCP messages that come to the control core although no address of ours is their destination (RFC 2131 4.1). They
 * are those to the client's port, from a server, on an interface that asks for an address, and those of clients to
 * the server's port, on an interface with a relay agent. An interface with neither costs one test, of a packet that
 * would be dropped otherwise.
 */
#ifndef DATAPLANE_DHCP_H
#define DATAPLANE_DHCP_H

#include "dataplane/state.h"

/* Bits of dp_policy.dhcp. */
#define DP_DHCP_CLIENT 1 /* the interface takes its address from a server */
#define DP_DHCP_RELAY 2  /* requests of its link are relayed */

/* See dhcp_is_wanted. */
bool dhcp_is_wanted_on(const struct dp_state *v, unsigned interface, const uint8_t *ip, unsigned len, unsigned on);

static inline unsigned dhcp_on(const struct dp_state *v, unsigned interface)
{
	return __atomic_load_n(&v->policy[interface].dhcp, __ATOMIC_RELAXED);
}

/* Is the IPv4 packet, of which len bytes are there, such a message? Nothing of it has been checked; the answer is
 * true only if ip4_check finds nothing wrong but the source 0.0.0.0, which clients have. */
static inline bool dhcp_is_wanted(const struct dp_state *v, unsigned interface, const uint8_t *ip, unsigned len)
{
	const unsigned on = dhcp_on(v, interface);
	return unlikely(on) && dhcp_is_wanted_on(v, interface, ip, len, on);
}

/* Does an interface without an IPv4 address wait for one? ARP and such messages then pass. */
static inline bool dhcp_awaits(const struct dp_state *v, unsigned interface)
{
	return !v->interface[interface].enabled && dhcp_on(v, interface) & DP_DHCP_CLIENT;
}

#endif
