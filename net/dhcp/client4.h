/*
 * The client of DHCP for IPv4 (RFC 2131 4.4, RFC 2132; classless routes of RFC 3442; client identifiers in
 * replies, RFC 6842), with the probe of RFC 5227 2.1 for the address. A function of (message, time): the caller
 * passes messages and the time, sends and installs what struct dhcp_client_ops says, and calls dhcp_client_tick
 * at the deadline.
 *
 *   state        event                       next         what happens
 *   OFF          start                       INIT         at once; RFC 2131 4.4.1's random wait is left out
 *   INIT         t                           SELECTING    DISCOVER to all
 *   SELECTING    OFFER                       REQUESTING   the first acceptable offer is requested, to all
 *                t                           =            DISCOVER again: after 4 s, 8 s, ... 64 s, each ± 1 s (4.1)
 *   REQUESTING   ACK                         PROBING      ARP probes of the address
 *                NAK                         INIT         after 1 s, then as a back-off
 *                t, 4 requests sent          INIT
 *   PROBING      conflict                    INIT         DECLINE to all; at least 10 s later (3.1, step 5)
 *                t, after 3 probes           BOUND        the address is installed
 *   REBOOTING    ACK                         PROBING      or BOUND, if the address is installed
 *                NAK                         INIT         the address is removed
 *                t, 2 requests sent          BOUND        if the lease has not ended (3.2), else INIT, with
 *                                                       the same address
 *   BOUND        T1, up to 1/16 earlier      RENEWING     REQUEST to the server; ARP defends the address (net/arp.h)
 *                link comes up               REBOOTING    REQUEST of the address, to all
 *   RENEWING     ACK                         BOUND        from here on the address stays installed
 *                NAK                         INIT         the address is removed
 *                T2                          REBINDING    REQUEST to all
 *                t                           =            REQUEST again, after half of the time left, at least
 *                                                       60 s (4.4.5)
 *   REBINDING    ACK, NAK, t                 as RENEWING
 *                the lease ends              INIT         the address is removed
 *   any          release                     OFF          RELEASE to the server; the address is removed
 *                the link is down            =            nothing is sent; a lease may end
 *
 * Invariants
 * 1. bound and unbound alternate, except that bound may repeat with other values of the same address.
 * 2. A reply is used only if its xid, hardware address and, if it has one, client identifier are ours.
 *
 * Deliberately missing: DHCPINFORM, authentication (RFC 3118), IPv6-only preferred (RFC 8925), forced renewal
 * (RFC 3203).
 */
#ifndef NET_DHCP_CLIENT4_H
#define NET_DHCP_CLIENT4_H

#include "net/dhcp/dhcp4.h"

#define DHCP_LEASE_ROUTES 8
#define DHCP_LEASE_SERVERS 4  /* name servers, and time servers */
#define DHCP_LEASE_MIN_S 30   /* offers of shorter leases are not accepted */
#define DHCP_LEASE_FOREVER 0xffffffffu
#define DHCP_HOSTNAME_SIZE 64
#define DHCP_DOMAIN_SIZE 128

struct dhcp_lease_route {
	uint32_t prefix, via;
	uint32_t plen;
};

/* What a server lends. Without padding, so that it can be kept byte by byte. */
struct dhcp_lease {
	uint64_t since_ns; /* when the request was sent: the lease begins then (RFC 2131 4.4.1) */
	uint32_t addr, plen, server;
	uint32_t lease_s, t1_s, t2_s; /* from since_ns; DHCP_LEASE_FOREVER */
	uint32_t routes;
	struct dhcp_lease_route route[DHCP_LEASE_ROUTES]; /* with the default route */
	uint32_t dns_count, dns[DHCP_LEASE_SERVERS];
	uint32_t ntp_count, ntp[DHCP_LEASE_SERVERS];
	uint32_t reserved;              /* 0 */
	char domain[DHCP_DOMAIN_SIZE]; /* in lower case, without a dot at its end; empty: none */
};

enum dhcp_client_state {
	DHCP_OFF,
	DHCP_INIT,
	DHCP_SELECTING,
	DHCP_REQUESTING,
	DHCP_PROBING,
	DHCP_REBOOTING,
	DHCP_BOUND,
	DHCP_RENEWING,
	DHCP_REBINDING,
	DHCP_CLIENT_STATES,
};

/* All are called from within module functions. */
struct dhcp_client_ops {
	/* Sends a message, from src (0: no address) to dst, both in host order; 255.255.255.255 is the link's
	 * broadcast. */
	void (*send)(void *ctx, uint32_t src, uint32_t dst, const uint8_t *message, unsigned n);
	/* Sends an ARP probe for the address (RFC 5227 1.1). */
	void (*probe)(void *ctx, uint32_t addr);
	/* The address is ours, and its values are these. False: it cannot be used here; the server is told by DECLINE. */
	bool (*bound)(void *ctx, const struct dhcp_lease *lease);
	/* The address of the last lease is not ours any more. why: for people. */
	void (*unbound)(void *ctx, const char *why);
	uint32_t (*random)(void *ctx);
};

struct dhcp_client_counts {
	uint64_t sent, received; /* messages; those that were used */
	uint64_t naks, declines, timeouts; /* leases refused, conflicts, leases that ended */
};

struct dhcp_client {
	const struct dhcp_client_ops *ops;
	void *ctx;
	uint8_t mac[6];
	char hostname[DHCP_HOSTNAME_SIZE]; /* empty: none is sent */
	enum dhcp_client_state state;
	bool installed;          /* the lease's address */
	uint32_t xid;
	uint64_t due_ns;         /* UINT64_MAX: never */
	uint64_t began_ns;       /* of `secs` */
	uint64_t sent_ns;        /* the last request */
	unsigned tries;          /* messages sent in this state; probes */
	unsigned failures;       /* since the last lease: the wait in INIT grows with these */
	unsigned declined;       /* likewise */
	uint16_t secs;           /* of the last message */
	struct dhcp_lease lease; /* valid from REQUESTING on; of OFF and INIT the address that was ours last, 0: none */
	struct dhcp_client_counts counts;
};

/* Sets a client that is off. hostname: NULL for none. */
void dhcp_client_init(struct dhcp_client *c, const struct dhcp_client_ops *ops, void *ctx, const uint8_t *mac,
                      const char *hostname);

/* Begins. `address`: one that was ours before the machine restarted, which is asked for (4.4.2); 0: none. */
void dhcp_client_start(struct dhcp_client *c, uint32_t address, uint64_t now_ns);

/* Continues with a lease that is still ours, of the program before; installs it. False: it has ended or is
 * invalid, and the client has begun anew. */
bool dhcp_client_resume(struct dhcp_client *c, const struct dhcp_lease *lease, uint64_t now_ns);

/* Gives the address back, and is off. */
void dhcp_client_release(struct dhcp_client *c, uint64_t now_ns);

/* Asks the server now, as at T1; without a lease it begins again. */
void dhcp_client_renew(struct dhcp_client *c, uint64_t now_ns);

/* The link has come up: it may be another one. */
void dhcp_client_link_up(struct dhcp_client *c, uint64_t now_ns);

/* A message for the client's port from that address. CNT_delivered_dhcp, or why it is dropped. */
enum counter dhcp_client_input(struct dhcp_client *c, const uint8_t *message, unsigned len, uint64_t now_ns);

/* An ARP message on the link with this sender (probe: 0) and target: another station with our address, or that
 * wants it. mac: the sender's. */
void dhcp_client_arp(struct dhcp_client *c, uint32_t sender, uint32_t target, const uint8_t *mac, uint64_t now_ns);

/* Does what is due. Returns the next deadline, UINT64_MAX: none. */
uint64_t dhcp_client_tick(struct dhcp_client *c, uint64_t now_ns);

/* The same while the link is down: a lease may end, and nothing is sent. */
uint64_t dhcp_client_tick_down(struct dhcp_client *c, uint64_t now_ns);

/* "bound" and so on. */
const char *dhcp_client_state_name(enum dhcp_client_state state);

/* Reads the lease in an OFFER or ACK. False: it is not acceptable. */
bool dhcp_lease_read(const uint8_t *message, const struct dhcp4_options *o, struct dhcp_lease *out);

/* Is this a domain, as text with a NUL, that dhcp_lease_read could have read? */
bool dhcp_lease_has_domain(const struct dhcp_lease *l);

/* When the lease ends; UINT64_MAX: never. */
uint64_t dhcp_lease_end_ns(const struct dhcp_lease *l);

#endif
