/*
 * Messages of a DNS stub resolver (RFC 1035 4): a question, and what an answer says about it. Names are text:
 * labels of letters, digits, hyphens and underscores with dots between them, none at the end. Letter case does
 * not count (RFC 4343).
 *
 * An answer counts only if it repeats the ID and the question (RFC 5452 9.1); its sender and port are for the
 * caller to compare. Of its answer section the addresses (A, RFC 1035 3.4.1; AAAA, RFC 3596) of the name count,
 * or of the name at the end of the chain of aliases (CNAME) that begins with it. All else is ignored, the
 * additional section too.
 *
 * Work is bounded: at most DNS_RECORDS_MAX records are looked at, DNS_ALIASES_MAX aliases followed, and a
 * pointer of a compressed name (4.1.4) must point before the labels that it follows, so that no name is a loop.
 *
 * Deliberately missing: EDNS(0), DNSSEC, and TCP, which RFC 7766 5 demands of stub resolvers too. An
 * answer that does not fit into 512 bytes is truncated, and does not count.
 */
#ifndef NET_DNS_MESSAGE_H
#define NET_DNS_MESSAGE_H

#include "net/addr.h"
#include "net/counters.h"

#define DNS_PORT 53
#define DNS_MESSAGE_MAX 512 /* of UDP, RFC 1035 4.2.1 */
#define DNS_NAME_MAX 254    /* characters with NUL: 253 take 255 bytes in a message (3.1) */
#define DNS_ADDRESSES_MAX 4 /* of an answer; the others are ignored */
#define DNS_RECORDS_MAX 64
#define DNS_ALIASES_MAX 8
#define DNS_TTL_MAX_S 86400u

enum dns_type { DNS_A = 1, DNS_CNAME = 5, DNS_AAAA = 28 };

enum dns_result {
	DNS_FOUND,     /* there are addresses */
	DNS_NO_DATA,   /* the name exists, an address of that family does not */
	DNS_NO_NAME,   /* it does not exist (RCODE 3) */
	DNS_FAILED,    /* the server cannot say: another RCODE, or a chain that leads to nothing */
	DNS_TRUNCATED, /* the answer is too long for UDP */
};

struct dns_answer {
	enum dns_result result;
	uint32_t ttl_s; /* the least of those used, at most DNS_TTL_MAX_S; valid with DNS_FOUND */
	unsigned addresses;
	struct net_addr address[DNS_ADDRESSES_MAX];
};

/* Writes a question for that name. Returns its length; 0: it is no name. */
unsigned dns_question(uint8_t out[DNS_MESSAGE_MAX], uint16_t id, const char *name, enum dns_type type);

/* Reads an answer to that question. CNT_NONE: *a is filled; CNT_drop_dns_malformed; CNT_drop_dns_question: it answers
 * another question. */
enum counter dns_answer(const uint8_t *data, unsigned len, uint16_t id, const char *name, enum dns_type type,
                        struct dns_answer *a);

#endif
