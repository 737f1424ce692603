/*
 * A host on a tap device: an address of IPv4, of IPv6, or one of each; ARP, neighbour discovery,
 * ICMP, UDP by a callback, and an instance of TCP, in a loop that waits in poll(2) until a frame
 * comes or a timer is due. It shows all that the stack asks of its owner: memory, the time, a way
 * out for packets, a seed.
 *
 *     host.c     the loop, what comes in, the way out        inside.h is between these three
 *     host4.c    IPv4: addresses, ARP, ICMP
 *     host6.c    IPv6: addresses and DAD, neighbour discovery, MLD, ICMPv6
 *     status.c   options, and what a host tells of itself
 *
 * Invariants
 * 1. Every received frame has one fate (net/counters.h): host_status() tells their sum beside the
 *    number of frames, and both must be equal.
 * 2. Without connections all buffers are in the pool.
 * 3. A host is ready, and its program's turns begin, when DAD has passed all IPv6 addresses.
 *
 * Deliberately missing: more than one address of a family (IPv6: and the link-local one) or route,
 * autoconfiguration (net/slaac.h), fragments (dropped and counted; what is sent has DF or fits the
 * link: path MTUs are known to TCP alone).
 */
#ifndef EXAMPLES_HOST_H
#define EXAMPLES_HOST_H

#include "examples/options.h"
#include "examples/tap.h"
#include "net/arp.h"
#include "net/icmp_limit.h"
#include "net/ip.h"
#include "net/nd.h"
#include "net/tcp/tcp.h"
#include "net/udp.h"

struct host;

struct host_options {
	struct tap_options tap;
	struct option_prefix address[OPTION_FAMILIES]; /* of no family: 192.0.2.1/24 */
	struct net_addr gateway[OPTION_FAMILIES];      /* NET_ADDR_ANY: none */
	uint8_t mac[ETH_ALEN];
	bool dad;         /* else addresses are believed to be ours alone */
	uint32_t buffers; /* 0: some */
	bool newreno;
	bool fastopen;
	bool sg;       /* TCP_TX_SG without the other offloads: a packet in pieces is one writev */
	const char *key; /* NULL: from the system; else a number, for runs that are to be alike */
	struct tcp_params tcp;
};

/* For options_read(); what it does not read has a sensible value after host_defaults(). */
const struct option_row *host_options_table(struct host_options *o);
void host_defaults(struct host_options *o);

struct host_ops {
	/*
	 * A datagram for us; p is its packet, p->data its Ethernet header. True: taken, and p with
	 * it (host_reply, host_tx or pkt_free). False: there is nobody at that port. NULL: at none.
	 */
	bool (*udp)(struct host *h, const struct udp_datagram *d, struct pkt *p);
	/* Once a turn. False ends host_run. *wake_us may be brought forward. NULL: none. */
	bool (*turn)(struct host *h, uint64_t now_us, uint64_t *wake_us);
	/* Adds the program's own figures to a status line: ,"name":value. NULL: none. */
	void (*status)(struct host *h, FILE *to);
};

struct host_neigh {
	bool up;
	uint8_t mac[ETH_ALEN];
};

/* What ARP, or neighbour discovery, has found out. */
struct host_neighbours {
	struct host *host;
	const struct host_ip *ip;
	struct host_neigh *at; /* by index of the table */
};

struct host {
	const struct host_ops *ops;
	struct tap tap;
	struct bufpool pool;
	struct counters cnt;
	struct tcp *tcp;
	struct arp arp;
	struct nd nd;
	struct host_neighbours neigh[OPTION_FAMILIES];
	struct icmp_limit icmp_limit;
	struct option_prefix address[OPTION_FAMILIES];
	struct net_addr gateway[OPTION_FAMILIES];
	uint8_t mac[ETH_ALEN];
	bool dad;
	bool ready;
	unsigned tentative; /* addresses that DAD has not passed yet */
	uint32_t mtu;
	uint64_t received; /* frames */
	uint64_t now_us;
};

/* Ends the program, having said why, when it cannot be. */
void host_open(struct host *h, const struct host_options *o, const struct host_ops *ops);

/* Runs until SIGINT, SIGTERM, the end of the device, or ops->turn says so; SIGUSR1 prints the
 * status, and so does the end. */
void host_run(struct host *h);

/* One line of JSON on stdout. */
void host_status(struct host *h);

/* Sends p, PKT_OWN, whose IP packet is complete, to whom it is addressed, and frees it. */
void host_tx(struct host *h, struct pkt *p);

/* The same for an answer that was made in the packet of its question: it begins at `ip` there. */
void host_reply(struct host *h, struct pkt *p, uint8_t *ip);

/* Our address to speak from to `to`; false: we have none of its family. */
bool host_source(const struct host *h, const struct net_addr *to, struct net_addr *from);

/* us of CLOCK_MONOTONIC. */
uint64_t host_now_us(void);

#endif
