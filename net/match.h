/*
 * Which frames somebody wants to see, who captures them for instance: a list of terms, of which
 * each asks one thing of a frame. The words for them are control/match_words.h's.
 *
 * Terms are put together from left to right, `and` and `or` binding alike, as pcap-filter(7) has
 * it: a or b and c is (a or b) and c. Nothing of a frame is believed: what it is too short for it
 * does not have, and what it does not have no term finds in it, so that `not` is true of it.
 *
 * Missing: parentheses; comparisons of bytes; names of hosts; the address of the link layer.
 */
#ifndef NET_MATCH_H
#define NET_MATCH_H

#include "lib/types.h"
#include "net/addr.h"

#define MATCH_TERMS_MAX 8

enum match_kind {
	MATCH_TYPE,  /* number: the EtherType, behind tags */
	MATCH_VLAN,  /* number: the VLAN of the outer tag (IEEE 802.1Q); MATCH_ANY: there is a tag */
	MATCH_PROTO, /* number: the protocol, of IPv6 behind extension headers */
	MATCH_NET,   /* addr, plen: of IPv4 or IPv6, or of what an ARP message is about */
	MATCH_PORT,  /* number: of TCP, UDP or SCTP; a fragment but the first has none */
};

#define MATCH_ANY 0xffff

enum match_way { MATCH_EITHER, MATCH_SRC, MATCH_DST };

struct match_term {
	uint8_t kind; /* enum match_kind */
	uint8_t way;  /* enum match_way, of addresses and ports */
	bool not;
	bool or;      /* with what the terms before say; else: and */
	uint8_t plen; /* of the 128 bits of addr; the family is that of addr */
	uint16_t number;
	struct net_addr addr;
};

/* No terms: all frames, of `vlan`. */
struct match {
	uint16_t vlan; /* of these alone whose outer tag is a customer's (0x8100) of it; 0: any */
	unsigned terms;
	struct match_term term[MATCH_TERMS_MAX];
};

/* A TCP connection. */
struct match_flow {
	struct net_addr a, b;
	uint16_t a_port, b_port;
};

/* What a frame says. */
struct match_frame {
	uint16_t type;
	uint16_t vlan;     /* MATCH_ANY: there is no tag */
	bool service;      /* that is of a provider (0x88a8) */
	uint16_t proto;    /* MATCH_ANY: it is not known */
	bool has_addr, has_port;
	uint16_t src_port, dst_port;
	struct net_addr src, dst;
};

/* Takes apart the frame of which len bytes are there. */
void match_read(struct match_frame *f, const uint8_t *frame, unsigned len);

bool match_is(const struct match *m, const struct match_frame *f);

/* Is it a segment of that connection, in either direction? */
bool match_is_flow(const struct match_flow *flow, const struct match_frame *f);

#endif
