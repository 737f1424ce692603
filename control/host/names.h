/*
 * Addresses of names: a stub resolver (net/dns/message.h) that asks the servers of `ip name-server`, in their order,
 * over UDP. A name without a dot gets the domain of `ip domain`. names_learn() gives both where the configuration
 * does not. Answers are kept for their time to live, at most NAMES_KEPT.
 *
 * A question has a random ID and a random port of its own (RFC 5452 9.2). A server has NAMES_WAIT_NS to answer; then,
 * or when it fails, the next one is asked, each NAMES_ROUNDS times. An answer from another address or port, or to
 * another question, is dropped.
 */
#ifndef CONTROL_HOST_NAMES_H
#define CONTROL_HOST_NAMES_H

#include "net/addr.h"
#include "net/dns/message.h"

#define NAMES_AT_ONCE 12 /* lookups */
#define NAMES_KEPT 32
#define NAMES_WAIT_NS 2000000000ull
#define NAMES_ROUNDS 2
/* How long it is believed that a name does not exist. The time to live for that (RFC 2308 5) is not read. */
#define NAMES_NEGATIVE_S 30

enum names_family { NAMES_ANY /* IPv4, or IPv6 if there is none */, NAMES_IP4, NAMES_IP6 };

/* The end of a lookup: the first address, or NULL and the reason, to print behind the name. It may begin another
 * lookup. */
typedef void names_done(void *ctx, const struct net_addr *addr, const char *why);

/* Begins a lookup; `done` is called once, perhaps before this function returns. ctx identifies it for names_cancel;
 * name: an address as text is its own answer. */
void names_lookup(const char *name, enum names_family family, names_done *done, void *ctx);

/* What DHCP servers have said: name servers, of which at most NAMES_LEARNED are used, and the domain (empty: none).
 * Each counts while the configuration has none of its kind. */
#define NAMES_LEARNED 4
void names_learn(const struct net_addr *server, unsigned n, const char *domain);

/* Ends the lookups with that ctx, without calling `done`. */
void names_cancel(const void *ctx);

/* Is the word an address or a name, which need not exist? */
bool names_is_name(const char *word);

/* Does what is due; returns core_now_ns() of the next deadline, UINT64_MAX for none. */
uint64_t names_timer(void);

/* A reader's walk through what is kept; NULL: the end. */
struct names_entry {
	char name[DNS_NAME_MAX];
	enum dns_type type;
	struct dns_answer answer; /* result: DNS_FOUND, DNS_NO_DATA or DNS_NO_NAME */
	uint64_t until_ns;        /* 0: the place is free */
};
const struct names_entry *names_next(unsigned *cursor);
void names_clear(void);

#endif
