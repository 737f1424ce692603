/*
 * A frame filter, for example for captures: a list of terms, each of which tests one property of a
 * frame. control/text/match_words.h defines the words for them.
 *
 * Terms combine from left to right, with equal precedence of `and` and `or`, as in pcap-filter(7):
 * a or b and c is (a or b) and c. Frames are untrusted. A frame too short for a field does not have
 * it; a term on a missing field is false, so its `not` is true.
 *
 * Missing: parentheses; byte comparisons; host names; link-layer addresses.
 */
#ifndef NET_MATCH_H
#define NET_MATCH_H

#include "lib/types.h"
#include "net/addr.h"

#define MATCH_TERMS_MAX 8

enum match_kind {
	MATCH_TYPE,  /* number: the EtherType, after any tags */
	MATCH_VLAN,  /* number: the VLAN of the outer tag (IEEE 802.1Q); MATCH_ANY: there is a tag */
	MATCH_PROTO, /* number: the protocol, for IPv6 after extension headers */
	MATCH_NET,   /* addr, plen: IPv4 or IPv6 addresses, or those in an ARP message */
	MATCH_PORT,  /* number: TCP, UDP or SCTP port; later fragments have none */
};

#define MATCH_ANY 0xffff

enum match_direction { MATCH_EITHER, MATCH_SRC, MATCH_DST };

struct match_term {
	uint8_t kind; /* enum match_kind */
	uint8_t direction; /* enum match_direction, for addresses and ports */
	bool not;
	bool or;      /* combine with the preceding terms by `or`; else by `and` */
	uint8_t plen; /* of the 128 bits of addr; addr determines the family */
	uint16_t number;
	struct net_addr addr;
};

/* Without terms: all frames, of `vlan`. */
struct match {
	uint16_t vlan; /* only frames whose outer tag is a customer tag (0x8100) with this VLAN; 0:
	                  any */
	unsigned terms;
	struct match_term term[MATCH_TERMS_MAX];
};

/* A TCP connection. */
struct match_flow {
	struct net_addr a, b;
	uint16_t a_port, b_port;
};

/* The fields of a frame. */
struct match_frame {
	uint16_t type;
	uint16_t vlan;     /* MATCH_ANY: no tag */
	bool service;      /* the tag is a provider tag (0x88a8) */
	uint16_t proto;    /* MATCH_ANY: unknown */
	bool has_addr, has_port;
	uint16_t src_port, dst_port;
	struct net_addr src, dst;
};

/* True if the frame, of which len bytes are there, matches and is not a segment of that connection. The
 * result is that of match_read(), match_is() and !match_is_flow(), most of which is skipped for untagged
 * IPv4 without options, because data cores call this for each frame. */
bool match_wants(const struct match *m, const struct match_flow *except, const uint8_t *frame, unsigned len);

/* Parses a frame of which len bytes are there. */
void match_read(struct match_frame *f, const uint8_t *frame, unsigned len);

bool match_is(const struct match *m, const struct match_frame *f);

/* True for a segment of that connection, in either direction. */
bool match_is_flow(const struct match_flow *flow, const struct match_frame *f);

#endif
