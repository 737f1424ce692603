/*
 * What the parsers of statements share (config_statements.c and config_*.c).
 *
 * A parser gets the words of one line and the number of the first that is not the statement's own.
 * It looks at all of them, then changes the configuration: after a failure nothing is kept anyhow
 * (config.h, invariant 1), but the order makes sure that an error is found before a table is full.
 */
#ifndef CONTROL_CONFIG_CONFIG_PARSE_H
#define CONTROL_CONFIG_CONFIG_PARSE_H

#include "control/config/config.h"
#include "control/text/words.h"

#define CONFIG_STATEMENTS_MAX 64

struct parser {
	struct words w; /* of the line; w.err: for the next error */
	struct config *out;
	const struct config_memory *mem;
	const struct statement *statement;
	struct config_interface *interface; /* of the open block, or NULL */
	struct config_acl *acl;             /* the same of an access list */
	uint32_t sequence; /* the number before a rule; 0: none */
	bool known;  /* `statement` is this line's, not that of one before */
	bool lost;   /* behind a wrong line that opens a block, or may: what belongs into it is passed over */
	bool unsure; /* a line of the open block is wrong */
	bool ended;
	bool script; /* the statement was `script`: what follows is not ours */
	/* Line that held the statement; of those in a block, in this one. */
	uint32_t seen[CONFIG_STATEMENTS_MAX];
};

/* How statements of one kind stand together: what a new one takes the place of in a candidate
 * (control/config/candidate.h), and what it takes to put it into force (control/commit/commit.h). By default
 * they stand beside each other, unless they are the same word for word, and a change of one
 * restarts the ports. */
enum statement_how {
	STATEMENT_ONCE = 1,        /* sets one value: the new one takes the place of the old one */
	STATEMENT_BY_1 = 2,        /* so, of those with the same word behind the statement's own */
	STATEMENT_BY_2 = 4,        /* with the same two */
	STATEMENT_UNLESS_LAST = 8, /* sets one value, unless it ends in the word `secondary` */
	STATEMENT_IF_LAST = 16,    /* sets one value where it ends in the word `link-local` */
	STATEMENT_LIVE = 32,       /* in force without a restart of the ports */
	STATEMENT_ROUTE = 64,      /* a route: there may be a million */
	STATEMENT_OPENS = 128,     /* begins a block */
	STATEMENT_NOT_TYPED = 256, /* belongs into a file, not into a candidate */
	STATEMENT_BY_LAST = 512,   /* as STATEMENT_BY_1, with the same last word */
	STATEMENT_NAMED = 1024,    /* has names among its words, of which the case counts */
	STATEMENT_LIST = 2048,     /* opens an access list, whose lines are */
	STATEMENT_RULE = 4096,     /* rules, told apart by the number before them */
	STATEMENT_HOST = 8192,     /* has a name of DNS, which has one form */
};

struct statement {
	const char *words;
	const char *syntax;
	/* `first` is the number of the word after the statement's own. */
	int (*parse)(struct parser *p, unsigned first);
	bool in_interface;
	unsigned how; /* enum statement_how */
};

/* The table of statements. */
const struct statement *config_statements(unsigned *count);

/* The statement that this line is one of, by its first words; NULL: none. */
const struct statement *config_statement_of(struct text line);

/* The statement with the most words that the line of p begins with; NULL: none, and as many as *best
 * fit one at most. */
const struct statement *config_statement_find(const struct parser *p, unsigned *best);

/* Then: says what may stand where the line departs from all of them, and fails. */
int config_statement_unknown(struct parser *p, unsigned matched);

/* --- words.c: words of statements in several files; all return 0, or fail --- */

#define IP4_WANTED \
	"an IPv4 address (four decimal numbers 0 to 255 without leading zeros, such as 192.0.2.1)"
#define IP6_WANTED "an IPv6 address such as 2001:db8::1"

/* Word i is the name of an interface. */
int config_parse_port(struct parser *p, unsigned i, uint32_t *key);

/* Word i is the MAC address of a neighbour. */
int config_parse_mac(struct parser *p, unsigned i, uint8_t mac[6]);

/* Word i is an address. */
int config_parse_ip4(struct parser *p, unsigned i, uint32_t *out);
int config_parse_ip6(struct parser *p, unsigned i, struct net_addr *out);

/* An address with its length: "A.B.C.D/LEN" in one word or "A.B.C.D MASK" in two, from word *i on,
 * which moves behind them; "X:X::X/LEN" as word i. */
int config_parse_subnet(struct parser *p, unsigned *i, uint32_t *addr, unsigned *plen);
int config_parse_subnet6(struct parser *p, unsigned i, struct net_addr *addr, unsigned *plen);

/* The same without host bits. */
int config_ip4_prefix(struct parser *p, unsigned *i, uint32_t *prefix, unsigned *plen);
int config_ip6_prefix(struct parser *p, unsigned i, struct net_addr *prefix, unsigned *plen);

/* The words from i on are "reachable-via (rx | any) allow-default", the interface's line of that
 * version. */
int config_parse_verify(struct parser *p, unsigned i, bool six);

/* --- of config_statements.c, that config.c asks for --- */

int config_exit(struct parser *p, unsigned i);
int config_script(struct parser *p, unsigned i);

/* --- config_if.c --- */

int config_interface(struct parser *p, unsigned i);

/* Gives interfaces their numbers; all have been read. */
void config_order(struct config *c);

/* --- config_ip4.c: the end of a route of either version --- */

/* Words i and behind are a distance, or nothing. */
int config_parse_distance(struct parser *p, unsigned i, uint8_t *distance);

/* What word i says of where a route leads; CONFIG_ROUTE_VIA: it is none of these words. */
enum config_route_kind config_parse_kind(const struct parser *p, unsigned i);

/* --- its statements --- */

int config_ip4_address(struct parser *p, unsigned i);
int config_ip4_route(struct parser *p, unsigned i);
int config_ip4_arp(struct parser *p, unsigned i);
int config_ip4_arp_timeout(struct parser *p, unsigned i);
int config_ip4_icmp(struct parser *p, unsigned i);
int config_ip4_verify(struct parser *p, unsigned i);

/* --- of config_ip6.c --- */

int config_ip6_enable(struct parser *p, unsigned i);
int config_ip6_address(struct parser *p, unsigned i);
int config_ip6_autoconfig(struct parser *p, unsigned i);
int config_ip6_ra_suppress(struct parser *p, unsigned i);
int config_ip6_ra_interval(struct parser *p, unsigned i);
int config_ip6_ra_lifetime(struct parser *p, unsigned i);
int config_ip6_ra_managed(struct parser *p, unsigned i);
int config_ip6_ra_other(struct parser *p, unsigned i);
int config_ip6_ra_dns(struct parser *p, unsigned i);
int config_ip6_route(struct parser *p, unsigned i);
int config_ip6_neighbour(struct parser *p, unsigned i);
int config_ip6_verify(struct parser *p, unsigned i);

/* --- of config_acl.c --- */

/* In an access list: takes the number of a rule off the words of the line. */
int config_acl_sequence(struct parser *p);
int config_acl_list4(struct parser *p, unsigned i);
int config_acl_list6(struct parser *p, unsigned i);
int config_acl_rule(struct parser *p, unsigned i);
int config_acl_group4(struct parser *p, unsigned i);
int config_acl_group6(struct parser *p, unsigned i);
int config_acl_silent4(struct parser *p, unsigned i);
int config_acl_silent6(struct parser *p, unsigned i);
int config_acl_tell4(struct parser *p, unsigned i);
int config_acl_tell6(struct parser *p, unsigned i);

/* --- of config_policy.c --- */

int config_ip4_redirects(struct parser *p, unsigned i);
int config_ip6_redirects(struct parser *p, unsigned i);
int config_no_ip4_redirects(struct parser *p, unsigned i);
int config_no_ip6_redirects(struct parser *p, unsigned i);
int config_ip4_directed(struct parser *p, unsigned i);
int config_no_ip4_directed(struct parser *p, unsigned i);

/* --- of config_management.c --- */

int config_http_server(struct parser *p, unsigned i);
int config_http_access(struct parser *p, unsigned i);
int config_http_host(struct parser *p, unsigned i);
int config_console_server(struct parser *p, unsigned i);
int config_console_access(struct parser *p, unsigned i);
int config_console_password(struct parser *p, unsigned i);
int config_capture_server(struct parser *p, unsigned i);
int config_capture_access(struct parser *p, unsigned i);

#endif
