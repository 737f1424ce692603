/*
 * A host on a tap device: one IPv4 address, one IPv6 address, or both; ARP, neighbour discovery, ICMP,
 * UDP by a callback, and an instance of TCP. Its loop waits in poll(2) until a frame arrives or a timer
 * is due. The host shows what the stack needs from its owner: memory, the time, output of packets, and
 * a seed.
 *
 *     host.c     the loop, input, output                     these three share inside.h
 *     host4.c    IPv4: addresses, ARP, ICMP
 *     host6.c    IPv6: addresses and DAD, neighbour discovery, MLD, ICMPv6
 *     status.c   options and status output
 *
 * Invariants
 * 1. Every received frame has one fate (net/counters.h): host_status() prints the sum of fates and the
 *    number of frames, which must be equal.
 * 2. Without connections all buffers are in the pool.
 * 3. A host is ready, and its program's turns begin, once all IPv6 addresses have passed DAD.
 *
 * Deliberately missing: more than one address of a family (IPv6 has the link-local one as well) or
 * route; autoconfiguration (net/slaac.h); fragments. Received fragments are dropped and counted; sent
 * packets have DF or fit the link, because only TCP knows path MTUs.
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
	struct option_prefix address[OPTION_FAMILIES]; /* without any address: 192.0.2.1/24 */
	struct net_addr gateway[OPTION_FAMILIES];      /* NET_ADDR_ANY: none */
	uint8_t mac[ETH_ALEN];
	uint32_t dad_transmits; /* as Linux' sysctl; 0: addresses are used without duplicate address detection */
	uint32_t buffers; /* 0: a default */
	bool newreno;
	bool fastopen;
	bool sg;       /* TCP_TX_SG without the other offloads: a packet in pieces is one writev */
	const char *key; /* NULL: from the system; else a number, for reproducible runs */
	struct tcp_params tcp;
};

/* The table for options_read(). host_defaults() sets the defaults first. */
const struct option_row *host_options_table(struct host_options *o);
void host_defaults(struct host_options *o);

struct host_ops {
	/*
	 * A datagram for us; p is its packet, p->data its Ethernet header. True: accepted, and p passes
	 * to the callee (host_reply, host_tx or pkt_free). False: the port is closed. NULL: all ports
	 * are closed.
	 */
	bool (*udp)(struct host *h, const struct udp_datagram *d, struct pkt *p);
	/* Called once a turn. False ends host_run. It may set *wake_us to an earlier time. NULL: none. */
	bool (*turn)(struct host *h, uint64_t now_us, uint64_t *wake_us);
	/* Adds the program's own values to a status line: ,"name":value. NULL: none. */
	void (*status)(struct host *h, FILE *to);
};

struct host_neigh {
	bool up;
	uint8_t mac[ETH_ALEN];
};

/* The results of ARP or neighbour discovery. */
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
	uint32_t dad_transmits;
	bool ready;
	unsigned tentative; /* addresses that have not passed DAD yet */
	uint32_t mtu;
	uint64_t received; /* frames */
	uint64_t now_us;
};

/* Opens a host. On failure prints the reason and ends the program. */
void host_open(struct host *h, const struct host_options *o, const struct host_ops *ops);

/* Runs until SIGINT, SIGTERM, the end of the device, or ops->turn returns false. Prints the status at
 * the end and on SIGUSR1. */
void host_run(struct host *h);

/* Prints one line of JSON on stdout. */
void host_status(struct host *h);

/* Sends p, with PKT_OWN and a complete IP packet, to its destination, and frees it. */
void host_tx(struct host *h, struct pkt *p);

/* Sends an answer that was built in the packet of its request; its IP header is at `ip`. */
void host_reply(struct host *h, struct pkt *p, uint8_t *ip);

/* Our source address for packets to `to`; false: we have none of its family. */
bool host_source(const struct host *h, const struct net_addr *to, struct net_addr *from);

/* Microseconds of CLOCK_MONOTONIC. */
uint64_t host_now_us(void);

#endif
