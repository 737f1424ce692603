/*
 * A host on a tap device: one address, ARP, ICMP, UDP by a callback, and an instance of TCP, in a
 * loop that waits in poll(2) until a frame comes or a timer is due. It shows all that the stack
 * asks of its owner: memory, the time, a way out for packets, a seed.
 *
 * Invariants
 * 1. Every received frame has one fate (net/counters.h): host_status() tells their sum beside the
 *    number of frames, and both must be equal.
 * 2. Without connections all buffers are in the pool.
 *
 * Deliberately missing: more than one address or route, fragments (dropped and counted; what is
 * sent has DF or fits).
 */
#ifndef EXAMPLES_HOST_H
#define EXAMPLES_HOST_H

#include "examples/options.h"
#include "examples/tap.h"
#include "net/arp.h"
#include "net/icmp4.h"
#include "net/icmp_limit.h"
#include "net/tcp/tcp.h"
#include "net/ip4.h"
#include "net/udp.h"

struct host;

struct host_options {
	struct tap_options tap;
	struct option_prefix address;
	uint32_t gateway; /* 0: none */
	uint8_t mac[ETH_ALEN];
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
	 * it (host_reply or pkt_free). False: there is nobody at that port. NULL: at none.
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

struct host {
	const struct host_ops *ops;
	struct tap tap;
	struct bufpool pool;
	struct counters cnt;
	struct tcp *tcp;
	struct arp arp;
	struct host_neigh *neigh; /* by index of arp */
	struct icmp_limit icmp_limit;
	struct option_prefix address;
	uint32_t gateway;
	uint8_t mac[ETH_ALEN];
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

/* Sends the packet p, whose IP packet is complete, to whom it is addressed, and frees it. */
void host_tx(struct host *h, struct pkt *p);

/* us of CLOCK_MONOTONIC. */
uint64_t host_now_us(void);

/* For an application's callbacks. */
static inline struct net_addr host_addr(const struct host *h)
{
	return net_addr_ip4(h->address.addr);
}

#endif
