/*
 * The relay agent of DHCP for IPv6 (RFC 8415 19): makes Relay-forward messages, and takes messages out of Relay-reply
 * messages. A pure function of the message; the caller knows interfaces and servers, and sends.
 *
 *     a relay message (RFC 8415 9): octet 0 msg-type, 1 hop-count, 2 link-address, 18 peer-address, 34 options
 *     an option: 2 octets of code, 2 of length, and so many octets
 *
 * Deliberately missing: options of other RFCs that relay agents may add (remote ID, subscriber ID, the client's
 * link-layer address), prefix delegation (19.1.3: no route is made of a delegated prefix), and DHCPv4 over
 * DHCPv6 (RFC 7341).
 */
#ifndef NET_DHCP_RELAY6_H
#define NET_DHCP_RELAY6_H

#include "net/addr.h"
#include "net/counters.h"
#include "net/ip6.h"

#define DHCP6_CLIENT_PORT 546 /* RFC 8415 7.2 */
#define DHCP6_SERVER_PORT 547
#define DHCP6_RELAY_REPLY 13 /* RFC 8415 7.3 */
#define DHCP_RELAY6_HOPS 8 /* HOP_COUNT_LIMIT, RFC 8415 7.6 */
#define DHCP_RELAY6_NAME_MAX 32 /* of an interface, as an interface ID */
#define DHCP_RELAY6_BYTES_MAX 1452 /* of a message that we send: Ethernet carries it unfragmented */

/* All_DHCP_Relay_Agents_and_Servers, ff02::1:2 (RFC 8415 7.1). */
#define DHCP6_ALL_AGENTS IP6(0xff020000, 0, 0, 0x00010002)

/* The client's side of a relayed message. */
struct dhcp_relay6_from {
	struct net_addr peer; /* the sender of the message */
	struct net_addr link; /* a global or unique local address of ours on its link; NET_ADDR_ANY: there is none */
	const char *name;     /* of the interface, which becomes the interface ID */
	unsigned name_len;    /* at most DHCP_RELAY6_NAME_MAX */
};

/* Makes the Relay-forward message of a client's message or of another relay agent's, in `out` of DHCP_RELAY6_BYTES_MAX
 * bytes; *n: its length. CNT_NONE, or why it is not relayed. */
enum counter dhcp_relay6_forward(const struct dhcp_relay6_from *f, const uint8_t *in, unsigned len, uint8_t *out,
                                 unsigned *n);

/* What a Relay-reply message holds. Pointers lead into it. */
struct dhcp_relay6_reply {
	const uint8_t *message; /* for the client, or for another relay agent */
	unsigned len;
	const char *name;       /* the interface ID; NULL: it has none */
	unsigned name_len;
	struct net_addr link, peer;
	uint16_t port;          /* that of the client, or of the relay agent */
};

/* Reads a Relay-reply message. CNT_NONE, or why it is dropped. */
enum counter dhcp_relay6_take(const uint8_t *in, unsigned len, struct dhcp_relay6_reply *out);

#endif
