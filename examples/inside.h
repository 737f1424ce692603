/*
 * The interface between host.c and the two versions of IP. Each version is a table of functions, in
 * host4.c and host6.c; no other code depends on the version of a packet.
 */
#ifndef EXAMPLES_INSIDE_H
#define EXAMPLES_INSIDE_H

#include "examples/host.h"

struct host_ip {
	uint16_t eth_type;
	/* Starts the protocol and configures our address, if there is one; `key` is random. */
	void (*start)(struct host *h, const struct siphash_key *key);
	/* Handles a unicast frame to us, or a multicast frame, with a packet of this version. True: its
	 * fate is counted, and p is consumed. False: it is a segment for TCP, and p stays the caller's. */
	bool (*input)(struct host *h, struct pkt *p);
	/* Index of the next hop's neighbour for the packet at ip; E_NOENT: no route. */
	int (*next_hop)(struct host *h, const uint8_t *ip);
	/* Queues a frame until the neighbour is resolved. */
	void (*output)(struct host *h, unsigned index, uint8_t *frame, unsigned len);
	/* A packet was sent to the neighbour. */
	void (*used)(struct host *h, unsigned index);
	/* Sends a port unreachable error to the sender of p, and drops p. */
	void (*refuse_port)(struct host *h, struct pkt *p);
	/* Does the work that is due; returns the time of the next call, in ns. */
	uint64_t (*tick)(struct host *h);
};
extern const struct host_ip host_ip4, host_ip6;

static inline void host_count(struct host *h, enum counter c)
{
	h->cnt.v[c]++;
}

/* Counts the fate of a received packet and frees it. */
static inline void host_drop(struct host *h, struct pkt *p, enum counter fate)
{
	host_count(h, fate);
	pkt_free(&h->pool, p);
}

static inline uint64_t host_now_ns(const struct host *h)
{
	return h->now_us * 1000;
}

_Noreturn void host_fail(const char *why);

/* Zeroed memory; ends the program if there is none. */
void *host_memory(size_t bytes);

/* True if an ICMP error may be sent: it is `allowed` and within the rate limit. Else counts why not. */
bool host_may_complain(struct host *h, bool allowed);

/* Handles a datagram to us; the IP packet at p->data + ETH_HLEN meets udp_check's preconditions. */
void host_udp(struct host *h, struct pkt *p);

/* The functions common to struct arp_ops and struct nd_ops; ctx is a struct host_neighbours. */
void host_op_tx(void *ctx, unsigned port, const uint8_t *frame, unsigned len);
void host_op_up(void *ctx, unsigned index, const uint8_t *mac);
void host_op_down(void *ctx, unsigned index);
void host_op_release(void *ctx, unsigned index, uint8_t *frame, unsigned len);
void host_op_lost(void *ctx, unsigned index, uint8_t *frame, unsigned len);
void host_op_count(void *ctx, enum counter counter, unsigned n);
void host_op_removed(void *ctx, unsigned index);

#define HOST_NEIGHBOURS 256 /* of each family */

#endif
