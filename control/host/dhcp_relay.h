/* The DHCP relay agents of both families (net/dhcp/relay4.h, relay6.h). */
#ifndef CONTROL_HOST_DHCP_RELAY_H
#define CONTROL_HOST_DHCP_RELAY_H

#include "dataplane/state.h"
#include "net/udp.h"

/* Why messages are dropped: the counters from drop_dhcp_malformed on. */
#define DHCP_DROPS 4

/* Counts of an interface with clients, of IPv4 [0] and IPv6 [1], since the ports started. */
struct dhcp_relay_counts {
	uint64_t requests, replies; /* relayed; a request counts once, whatever the number of servers */
	uint64_t sent;              /* copies of requests that were sent to servers */
	uint64_t drops[DHCP_DROPS]; /* of requests, and of replies to this interface */
};
extern struct dhcp_relay_counts dhcp_relay_counts[DP_INTERFACES_MAX][2];

/* Replies that name no interface of ours with a relay agent. */
extern uint64_t dhcp_relay_strays[2];

/* Begins by running.config, when the tables are there. */
void dhcp_relay_start(void);

/* running.config has changed, and the ports run on. */
void dhcp_relay_changed(void);

/* A client's request to all, with a correct UDP checksum. Returns its fate. */
enum counter dhcp_relay_broadcast(const struct udp_datagram *d, unsigned interface);

#endif
