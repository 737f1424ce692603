/*
 * ICMP for IPv4 (RFC 792, 1122 3.2.2, 1812 4.3): errors with their rules, echo. The rate limit of
 * errors is net/icmp_limit.h.
 *
 * Packets are whole IPv4 packets of any alignment; packets passed in have passed ip4_check.
 *
 * Deliberately missing: timestamp and address mask replies, source quench (RFC 6633 forbids it),
 * router discovery.
 */
#ifndef NET_ICMP4_H
#define NET_ICMP4_H

#include "lib/types.h"
#include "net/counters.h"

#define ICMP4_HLEN 8
#define ICMP4_ERROR_MAX 576 /* RFC 1812 4.3.2.3: limit of the IP packet that carries an error */

enum icmp4_type {
	ICMP4_ECHO_REPLY = 0,
	ICMP4_UNREACH = 3,
	ICMP4_REDIRECT = 5,
	ICMP4_ECHO = 8,
	ICMP4_TIME_EXCEEDED = 11,
	ICMP4_PARAM_PROBLEM = 12,
};

/* Codes of ICMP4_UNREACH (RFC 792, RFC 1812 5.2.7.1). */
enum icmp4_unreach {
	ICMP4_UNREACH_NET = 0,
	ICMP4_UNREACH_HOST = 1,
	ICMP4_UNREACH_PROTO = 2,
	ICMP4_UNREACH_PORT = 3,
	ICMP4_UNREACH_FRAG = 4, /* rest: next-hop MTU, RFC 1191 4 */
	ICMP4_UNREACH_PROHIBITED = 13, /* administratively prohibited, RFC 1812 5.2.7.1 */
};

#define ICMP4_REDIRECT_HOST 1 /* the only code of ICMP4_REDIRECT sent (RFC 1812 5.2.7.2); rest:
                                 address of the gateway */

#define ICMP4_TIME_TTL 0        /* codes of ICMP4_TIME_EXCEEDED: in transit */
#define ICMP4_TIME_REASSEMBLY 1 /* in reassembly */

/*
 * May an ICMP error be sent about this packet? RFC 1122 3.2.2, RFC 1812 4.3.2.7: not about an ICMP
 * error, a later fragment, or a packet to a broadcast or multicast address, and only to a source
 * that is a single host. The caller must also check what only it knows: the frame was addressed to
 * one station, and neither address is the broadcast of a connected subnet. len: bytes present at
 * orig_ip. An ICMP message of unknown type counts as an error, so that two routers cannot answer
 * each other.
 */
bool icmp4_error_allowed(const uint8_t *orig_ip, unsigned len);

/* An error to be sent; addresses and words in host order. */
struct icmp4_error {
	uint32_t src;  /* our address */
	uint32_t rest; /* second word: the MTU (fragmentation needed), pointer << 24 (parameter
	                  problem), the gateway (redirect), else 0 */
	uint8_t type, code;
};

/*
 * Builds the whole IPv4 packet of an ICMP error about the packet at orig_ip, of which orig_len
 * bytes are there. It goes to the packet's source and quotes the packet, up to its total length.
 * TTL 64, precedence 6 (RFC 1812 4.3.2.5), DF with identification 0 (RFC 6864). Its length is at
 * most ICMP4_ERROR_MAX and at most room. out must not overlap orig_ip. Returns the length, or 0 if
 * room cannot hold the ICMP header and the original's header with 8 bytes (RFC 792).
 */
unsigned icmp4_error_build(uint8_t *out, unsigned room, const uint8_t *orig_ip, unsigned orig_len,
                           const struct icmp4_error *e);

/* The counter for sent errors of this type and code. */
enum counter icmp4_error_counter(uint8_t type, uint8_t code);

enum icmp4_kind {
	ICMP4_KIND_ECHO_REQUEST,
	ICMP4_KIND_ECHO_REPLY,
	ICMP4_KIND_ERROR,
	ICMP4_KIND_OTHER,
};

/* An ICMP message to the machine itself; pointers point into the packet. */
struct icmp4_msg {
	enum icmp4_kind kind;
	uint8_t type, code;
	uint16_t id, seq;       /* echo only, host order */
	uint32_t rest;          /* second header word, host order */
	const uint8_t *data;    /* after the 8-byte header: echo data or the quoted packet */
	unsigned data_len;
};

/*
 * Validates the ICMP message in the packet at ip (len bytes present, not a fragment) and classifies
 * it. Returns CNT_delivered_icmp for echo requests, echo replies and errors (an error then quotes a
 * complete header); CNT_drop_icmp_malformed (too short, checksum, bad quotation) or
 * CNT_drop_icmp_type. Fills *out unless malformed.
 */
enum counter icmp4_input(const uint8_t *ip, unsigned len, struct icmp4_msg *out);

/*
 * Turns a valid echo request (by icmp4_input; len bytes present) in place into its reply: addresses
 * swapped, type and code 0, TTL 64, DF clear, checksums updated, TOS and identification kept. The
 * destination must be one of our unicast addresses; the caller does not answer broadcasts (RFC 1122
 * 3.2.2.6 permits that). IP options are overwritten with End of Option List and thus not returned:
 * RFC 1122 3.2.2.6 says record route SHOULD be returned updated.
 */
void icmp4_echo_reply_make(uint8_t *ip, unsigned len);

struct icmp4_echo {
	uint32_t src, dst;
	uint16_t id, seq;
	uint16_t data_len; /* bytes of pattern after the header */
	uint8_t ttl;
	bool df;
};

/* Builds an echo request, a whole IPv4 packet. Returns its length, 0 if room is too small. */
unsigned icmp4_echo_request_build(uint8_t *out, unsigned room, const struct icmp4_echo *e);

#endif
