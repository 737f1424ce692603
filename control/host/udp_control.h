/*
 * UDP of the control core, both families: for clients and servers of the management plane. All
 * datagrams to an address of ours come here, except those to a service that data cores have
 * (dataplane/services.h).
 *
 *     udp_listen       a receiver takes a port
 *     udp_listen_any   the same with an unpredictable ephemeral port, for a client (RFC 6056 3.3.2)
 *     udp_send         a datagram of ours, by the route to its destination
 *
 * A receiver sees only datagrams with a correct length and checksum; it validates all the rest, the
 * sender included. A datagram to a port without a receiver is answered with port unreachable
 * (RFC 1122 4.1.3.1).
 */
#ifndef CONTROL_HOST_UDP_CONTROL_H
#define CONTROL_HOST_UDP_CONTROL_H

#include "net/udp.h"

#define UDP_RECEIVERS 32 /* ports at a time */

/* How a datagram came. */
struct udp_arrival {
	unsigned interface;
	uint8_t ttl;     /* or hop limit */
	bool fragmented; /* it came in fragments */
};

/* Takes a datagram, whose data it must not keep. d->dst may be the broadcast address of a subnet of
 * ours. Returns its fate for the caller to count: CNT_delivered_udp, or why it was dropped.
 * CNT_drop_udp_port: the sender is told that the port is closed. */
typedef enum counter udp_receiver(const struct udp_datagram *d, const struct udp_arrival *from);

/* Gives the port to the receiver. False: another one has it, or UDP_RECEIVERS have been reached. */
bool udp_listen(uint16_t port, udp_receiver *receiver);

/* Gives an unused port from 49152 on to the receiver, and returns it. 0: UDP_RECEIVERS have been
 * reached. */
uint16_t udp_listen_any(udp_receiver *receiver);

/* Closes the port, if it is open. */
void udp_unlisten(uint16_t port);

/* Passes a datagram to us to the receiver of its port. Returns its fate for the caller to count,
 * CNT_drop_udp_port if there is no receiver. Called by input.c and input6.c. */
enum counter udp_control_input(const struct udp_datagram *d, const struct udp_arrival *from);

struct udp_message {
	struct net_addr dst;
	struct net_addr src; /* an address of ours; NET_ADDR_ANY: chosen by the route */
	uint16_t src_port, dst_port;
	unsigned interface; /* the link of a link-local dst; else ignored */
	uint8_t tos, ttl;   /* traffic class, hop limit; ttl 0: the default */
	const void *data;   /* not in local_frame */
	unsigned data_len;
};

/* Sends the datagram, in fragments if necessary; if the neighbour is unknown it waits for ARP or ND.
 * False: there is no route, or no source address, or it is too long for UDP, and nothing is sent.
 * True says nothing about its arrival. */
bool udp_send(const struct udp_message *m);

#endif
