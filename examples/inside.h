/*
 * What host.c knows of the two versions of IP: each is a table of functions, host4.c and host6.c,
 * and nothing else asks which one a packet is of.
 */
#ifndef EXAMPLES_INSIDE_H
#define EXAMPLES_INSIDE_H

#include "examples/host.h"

struct host_ip {
	uint16_t eth_type;
	/* Enters our address, if there is one; `key` is random. */
	void (*start)(struct host *h, const struct siphash_key *key);
	/* A frame to our station, or to several, with a packet of this version. True: taken, and
	 * counted in its fate. False: it is a segment for TCP, and the caller's. */
	bool (*input)(struct host *h, struct pkt *p);
	/* The neighbour that is the way to where the packet at ip goes; E_NOENT: there is none. */
	int (*next_hop)(struct host *h, const uint8_t *ip);
	/* The frame waits for it. */
	void (*output)(struct host *h, unsigned index, uint8_t *frame, unsigned len);
	/* Something was sent to it. */
	void (*used)(struct host *h, unsigned index);
	/* Tells the sender of p that nobody is at its port, and drops p. */
	void (*refuse_port)(struct host *h, struct pkt *p);
	/* Does what is due; returns when it is needed again, ns. */
	uint64_t (*tick)(struct host *h);
};
extern const struct host_ip host_ip4, host_ip6;

static inline void host_count(struct host *h, enum counter c)
{
	h->cnt.v[c]++;
}

/* The end of a received packet. */
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

/* Zeroed. */
void *host_memory(size_t bytes);

/* An ICMP error may go: counts those that may not. */
bool host_may_complain(struct host *h, bool allowed);

/* A datagram to us: p->data + ETH_HLEN passes udp_check's conditions. */
void host_udp(struct host *h, struct pkt *p);

/* What is the same in struct arp_ops and struct nd_ops; ctx is a struct host_neighbours. */
void host_op_tx(void *ctx, unsigned port, const uint8_t *frame, unsigned len);
void host_op_up(void *ctx, unsigned index, const uint8_t *mac);
void host_op_down(void *ctx, unsigned index);
void host_op_release(void *ctx, unsigned index, uint8_t *frame, unsigned len);
void host_op_lost(void *ctx, unsigned index, uint8_t *frame, unsigned len);
void host_op_count(void *ctx, enum counter counter, unsigned n);
void host_op_removed(void *ctx, unsigned index);

#define HOST_NEIGHBOURS 256 /* of each family */

#endif
