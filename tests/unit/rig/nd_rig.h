/*
 * What the tests of neighbour and router discovery share: one struct nd with the ops of
 * neigh_rig.h, and constructed messages.
 *
 * In texts: us, ll, us1, ll1 are our global and link-local addresses on ports 0 and 1; n5 is
 * 2001:db8::5 and l5 fe80::5; g:5 is the solicited-node group of an address that ends in 5; any,
 * all, routers, mld are the well-known ones.
 */
#ifndef TESTS_UNIT_RIG_ND_RIG_H
#define TESTS_UNIT_RIG_ND_RIG_H

#include "tests/unit/rig/neigh_rig.h"

#include "lib/csum.h"
#include "net/nd.h"
#include "net/nd_wire.h"

#define GLOBAL(n) IP6(0x20010db8, 0, 0, n)      /* on port 0 */
#define GLOBAL1(n) IP6(0x20010db8, 1, 0, n)     /* on port 1 */
#define LINK(n) IP6(0xfe800000, 0, 0, n)
#define US GLOBAL(1)
#define US1 GLOBAL1(1)
#define LL IP6(0xfe800000, 0, 0x000000ff, 0xfe000001)
#define LL1 IP6(0xfe800000, 0, 0x000000ff, 0xfe000002)

extern struct nd nd;
extern struct nd_params params; /* set before the set-up of a test that needs others */
extern unsigned counted[CNT_MAX];

const char *name_of(const struct net_addr *addr); /* valid until four more have been named */

/* A table of 4, queues of 3, 8 frames in all, without start delay, two ports with addresses that
 * are VALID and announced at 10 s. rig_bare: no addresses yet. */
int rig_set_up(void **state);
int rig_bare(void **state);
int rig_host(void **state); /* bare, and not a router */
int rig_tear_down(void **state);

/* Ticks at each deadline up to t; fails if one does not advance. */
void run_to(uint64_t t);

void output(int i, uint8_t mark, uint64_t t);

/* A message to be made; fields left at zero have sensible values. */
struct message {
	unsigned type, code;
	struct net_addr src, dst, target;
	const uint8_t *source_mac, *target_mac, *nonce;
	uint8_t flags;        /* in an advertisement */
	uint8_t hop_limit;    /* 0: 255 */
	const uint8_t *tail;  /* further options, or everything behind the 8 octets of an RS, */
	unsigned tail_len;
	const uint8_t *body;  /* replaces everything: the message, */
	unsigned body_len;
	bool alert;           /* with router alert before it */
	bool fragment;        /* pretend that it arrived in a fragment */
	const uint8_t *eth_src; /* NULL: mac_a */
};

/* Makes the frame; returns its length. */
unsigned make_frame(uint8_t *frame, const struct message *m);

typedef enum counter taker(unsigned port, const uint8_t *frame, const struct ip6_upper *up,
                           const struct icmp6_msg *m, uint64_t t);
/* Passes it to `take` on the path of received packets, in exactly its length, for ASan. */
enum counter deliver(taker *take, unsigned port, const struct message *m, uint64_t t);

enum counter take_nd(unsigned port, const uint8_t *frame, const struct ip6_upper *up,
                     const struct icmp6_msg *m, uint64_t t);

#define input(port, t, ...) deliver(take_nd, port, &(struct message){__VA_ARGS__}, t)

#endif
