/*
 * The relay agent of DHCP and BOOTP for IPv4 (RFC 1542 4.1, RFC 2131), with the relay agent information option
 * (RFC 3046): what it changes in a message. A pure function of the message; the caller knows interfaces and
 * servers, and sends.
 *
 *     a client's request      giaddr becomes our address on the interface, hops grows by one, option 82 is added if
 *                             that is configured; then it goes to the servers of that interface
 *     a server's reply        goes to the client on the interface whose address giaddr is, without our option 82
 *
 * Deliberately missing: the threshold of RFC 1542 4.1.1 for `secs` (it is 0, the default), and sub-options of option 82
 * other than the circuit ID.
 */
#ifndef NET_DHCP_RELAY4_H
#define NET_DHCP_RELAY4_H

#include "net/dhcp/dhcp4.h"

#define DHCP_RELAY4_HOPS_MAX 16 /* RFC 1542 4.1.1 */
#define DHCP_RELAY4_CIRCUIT_MAX 32

/* What becomes of a client's request that has option 82 although no relay agent is named in it. */
enum dhcp_relay4_policy {
	DHCP_RELAY4_DROP, /* RFC 3046 2.1.1: it comes from an untrusted circuit */
	DHCP_RELAY4_KEEP,
	DHCP_RELAY4_REPLACE, /* by our own, or by none if we add none */
	DHCP_RELAY4_POLICIES,
};

struct dhcp_relay4 {
	uint32_t giaddr;     /* our address on the client's interface */
	unsigned hops_max;   /* a request with more hops is dropped */
	bool insert;         /* adds option 82 */
	enum dhcp_relay4_policy policy;
	const char *circuit; /* the circuit ID, at most DHCP_RELAY4_CIRCUIT_MAX characters */
	unsigned circuit_len;
};

/* Is it a request, or a reply? CNT_NONE; else the message is too short, or neither. *op is DHCP4_REQUEST or
 * DHCP4_REPLY. */
enum counter dhcp_relay4_check(const uint8_t *in, unsigned len, uint8_t *op);

/* Makes the request that goes to the servers, in `out` of DHCP4_BYTES_MAX bytes; *n: its length. *without:
 * option 82 was to be added, but there was no room (RFC 3046 2.1). CNT_NONE, or why it is not relayed. A giaddr
 * that is set must not be one of ours: the caller has checked that. */
enum counter dhcp_relay4_request(const struct dhcp_relay4 *r, const uint8_t *in, unsigned len, uint8_t *out,
                                 unsigned *n, bool *without);

/* Where a reply goes on the client's link. */
struct dhcp_relay4_to {
	uint32_t addr;  /* 255.255.255.255, or the client's */
	uint8_t mac[6]; /* all ones, or the client's */
};

/* Makes the reply that goes to the client, likewise. */
enum counter dhcp_relay4_reply(const struct dhcp_relay4 *r, const uint8_t *in, unsigned len, uint8_t *out, unsigned *n,
                               struct dhcp_relay4_to *to);

#endif
