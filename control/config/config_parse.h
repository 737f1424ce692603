/*
 * Shared by the parsers of statements (config_statements.c and config_*.c).
 *
 * A parser gets the words of one line, and the number of the first word after the statement's own.
 * It checks all words, then changes the configuration. The order matters only for errors: a wrong
 * word is reported before a full table. After any error the caller drops the configuration
 * (config.h, invariant 1).
 */
#ifndef CONTROL_CONFIG_CONFIG_PARSE_H
#define CONTROL_CONFIG_CONFIG_PARSE_H

#include "control/config/config.h"
#include "control/text/words.h"

#define CONFIG_STATEMENTS_MAX 160

struct parser {
	struct words w; /* of the line; w.err receives the next error */
	struct config *out;
	const struct config_memory *mem;
	const struct statement *statement;
	struct config_interface *interface; /* of the open block; NULL: none is open */
	struct config_acl *acl;             /* the same for an access list */
	uint32_t sequence; /* the number before a rule; 0: none */
	bool known;  /* `statement` is that of this line, not of an earlier one */
	bool lost;   /* a wrong line should, or may, have opened a block: its lines are skipped */
	bool unsure; /* a line of the open block is wrong */
	bool ended;
	bool script; /* the statement was `script`: the rest of the text is for the application */
	/* Number of the line with the statement; of a statement in a block, the current block's. */
	uint32_t seen[CONFIG_STATEMENTS_MAX];
};

/* Properties of a statement. They determine which line it replaces in a candidate
 * (control/config/candidate.h), and how a commit applies it (control/commit/commit.h). By default
 * it replaces only a line of the same words, and a change restarts the ports. */
enum statement_how {
	STATEMENT_ONCE = 1,        /* sets one value: replaces the old statement */
	STATEMENT_BY_1 = 2,        /* replaces one with the same first argument */
	STATEMENT_BY_2 = 4,        /* replaces one with the same first two arguments */
	STATEMENT_UNLESS_LAST = 8, /* sets one value, unless its last word is `secondary` */
	STATEMENT_IF_LAST = 16,    /* sets one value if its last word is `link-local` */
	STATEMENT_LIVE = 32,       /* applied without a restart of the ports */
	STATEMENT_ROUTE = 64,      /* a route: there may be a million */
	STATEMENT_OPENS = 128,     /* begins a block */
	STATEMENT_NOT_TYPED = 256, /* allowed in a file, not in a candidate */
	STATEMENT_BY_LAST = 512,   /* replaces one with the same last word */
	STATEMENT_NAMED = 1024,    /* has names among its words, which are case-sensitive */
	STATEMENT_LIST = 2048,     /* opens an access list */
	STATEMENT_RULE = 4096,     /* a rule of an access list, identified by its number */
	STATEMENT_HOST = 8192,     /* has a DNS name, which has a canonical form */
	STATEMENT_USER = 16384,    /* sets one value of its first argument, if its second is `role` */
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

/* The statement that the first words of this line select; NULL: none. */
const struct statement *config_statement_of(struct text line);

/* The statement with the most words that the line of p begins with, *best words; NULL: none, and
 * *best is the largest number of words that match a statement. */
const struct statement *config_statement_find(const struct parser *p, unsigned *best);

/* Called if there is none: fails with the words allowed after the first `matched` words. */
int config_statement_unknown(struct parser *p, unsigned matched);

/* --- words.c: words of statements in several files; all return 0, or fail --- */

#define IP4_WANTED \
	"an IPv4 address (four decimal numbers 0 to 255 without leading zeros, such as 192.0.2.1)"
#define IP6_WANTED "an IPv6 address such as 2001:db8::1"

/* Word i: the name of an interface. */
int config_parse_interface(struct parser *p, unsigned i, uint32_t *key);

/* Word i: the MAC address of a neighbour. */
int config_parse_mac(struct parser *p, unsigned i, uint8_t mac[6]);

/* Word i: an address. */
int config_parse_ip4(struct parser *p, unsigned i, uint32_t *out);
int config_parse_ip6(struct parser *p, unsigned i, struct net_addr *out);

/* An address with its prefix length. IPv4: "A.B.C.D/LEN" or the two words "A.B.C.D MASK" at word
 * *i; *i moves past them. IPv6: "X:X::X/LEN" at word i. */
int config_parse_subnet(struct parser *p, unsigned *i, uint32_t *addr, unsigned *plen);
int config_parse_subnet6(struct parser *p, unsigned i, struct net_addr *addr, unsigned *plen);

/* The same; fails if host bits are set. */
int config_ip4_prefix(struct parser *p, unsigned *i, uint32_t *prefix, unsigned *plen);
int config_ip6_prefix(struct parser *p, unsigned i, struct net_addr *prefix, unsigned *plen);

/* Is it a unicast address that is not link-local, so that no interface has to be named with it? */
bool config_is_host(const struct net_addr *a);

/* Parses a word as an address or a DNS name, in canonical form; false: it is neither. */
bool config_read_host(struct text w, struct config_http_host *h);

/* Words from i on: "reachable-via (rx | any) allow-default", for IPv6 (six) or IPv4. */
int config_parse_verify(struct parser *p, unsigned i, bool six);

/* --- of config_statements.c --- */

/* Word i: the name of a host. */
int config_parse_hostname(struct parser *p, unsigned i, char out[CONFIG_HOSTNAME_SIZE]);

int config_exit(struct parser *p, unsigned i);
int config_script(struct parser *p, unsigned i);

/* --- config_if.c --- */

int config_interface(struct parser *p, unsigned i);

/* Numbers the interfaces, after all have been read. */
void config_order(struct config *c);

/* --- config_ip4.c: the end of a route of either version --- */

/* Words from i on: a distance, or none for the default. */
int config_parse_distance(struct parser *p, unsigned i, uint8_t *distance);

/* Word i: null0, blackhole and so on; CONFIG_ROUTE_VIA: another word. */
enum config_route_kind config_parse_kind(const struct parser *p, unsigned i);

/* --- its statements --- */

int config_ip4_address(struct parser *p, unsigned i);
int config_ip4_unnumbered(struct parser *p, unsigned i);
int config_ip4_route(struct parser *p, unsigned i);

/* The text begins with a line `ip route PREFIX/LENGTH NEXT-HOP`, spelt in the usual way and right: its bytes with the
 * '\n', and the route is taken, as config_ip4_route would. 0: another line, or a wrong one. p->w.line is its number. */
size_t config_ip4_usual_route(struct parser *p, struct text text);
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

/* In an access list: removes the number of a rule from the words of the line. */
int config_acl_sequence(struct parser *p);
int config_acl_list4(struct parser *p, unsigned i);
int config_acl_list6(struct parser *p, unsigned i);
int config_acl_rule(struct parser *p, unsigned i);
int config_acl_group4(struct parser *p, unsigned i);
int config_acl_group6(struct parser *p, unsigned i);
int config_acl_list_mac(struct parser *p, unsigned i);
int config_acl_group_mac(struct parser *p, unsigned i);
int config_acl_silent4(struct parser *p, unsigned i);
int config_acl_silent6(struct parser *p, unsigned i);
int config_acl_tell4(struct parser *p, unsigned i);
int config_acl_tell6(struct parser *p, unsigned i);

/* --- of config_monitor.c --- */

int config_monitor(struct parser *p, unsigned i);

/* --- of config_acl_mac.c --- */

struct fmt_buf;

#define CONFIG_ACL_MAC_RULE "SOURCE DESTINATION [ETHERTYPE] [vlan N]"

/* The words of a rule from i on. *r is zero but for `permit`. */
int config_acl_mac_rule(struct parser *p, unsigned i, struct acl_mac_rule *r);
/* Writes them. */
void config_acl_mac_text(struct fmt_buf *w, const struct acl_mac_rule *r);
bool config_acl_mac_same(const struct acl_mac_rule *a, const struct acl_mac_rule *b);

/* --- of config_policy.c --- */

int config_ip4_redirects(struct parser *p, unsigned i);
int config_ip6_redirects(struct parser *p, unsigned i);
int config_no_ip4_redirects(struct parser *p, unsigned i);
int config_no_ip6_redirects(struct parser *p, unsigned i);
int config_ip4_directed(struct parser *p, unsigned i);
int config_no_ip4_directed(struct parser *p, unsigned i);

/* --- of config_users.c --- */

int config_username(struct parser *p, unsigned i);

/* --- of config_management.c --- */

int config_http_server(struct parser *p, unsigned i);
int config_https_server(struct parser *p, unsigned i);
int config_https_certificate(struct parser *p, unsigned i);
int config_trust_certificate(struct parser *p, unsigned i);
int config_http_access(struct parser *p, unsigned i);
int config_http_host(struct parser *p, unsigned i);
int config_console_server(struct parser *p, unsigned i);
int config_console_access(struct parser *p, unsigned i);
int config_console_password(struct parser *p, unsigned i);
int config_ssh_server(struct parser *p, unsigned i);
int config_ssh_access(struct parser *p, unsigned i);
int config_capture_server(struct parser *p, unsigned i);
int config_capture_access(struct parser *p, unsigned i);

/* Checks the TCP port of a server whose statements begin with the word `name`. */
int config_check_server(const struct config *c, const char *name, uint16_t port, uint32_t line,
                        struct text_error *err);

/* --- of config_engine.c --- */

int config_engine_address(struct parser *p, unsigned i);
int config_engine_port(struct parser *p, unsigned i);
int config_engine_distance(struct parser *p, unsigned i);
int config_engine_hold(struct parser *p, unsigned i);
int config_engine_settle(struct parser *p, unsigned i);
int config_engine_maximum(struct parser *p, unsigned i);
int config_engine_acknowledge(struct parser *p, unsigned i);
int config_engine_source(struct parser *p, unsigned i);
int config_engine_bfd(struct parser *p, unsigned i);
int config_engine_index(struct parser *p, unsigned i);
int config_engine_vni(struct parser *p, unsigned i);
int config_engine_protocols(struct parser *p, unsigned i);

/* --- config_xdp.c --- */

int config_xdp(struct parser *p, unsigned i);

/* --- of config_switch.c --- */

int config_switch_mode(struct parser *p, unsigned i);
int config_switch_access(struct parser *p, unsigned i);
int config_switch_native(struct parser *p, unsigned i);
int config_switch_allowed(struct parser *p, unsigned i);
int config_switch_limit(struct parser *p, unsigned i);
int config_switch_aging(struct parser *p, unsigned i);
int config_switch_static(struct parser *p, unsigned i);
int config_switch_storm_broadcast(struct parser *p, unsigned i);
int config_switch_storm_multicast(struct parser *p, unsigned i);
int config_switch_storm_unicast(struct parser *p, unsigned i);
int config_switch_storm_action(struct parser *p, unsigned i);

/* Word i: the number of a VLAN. */
int config_parse_vid(struct parser *p, unsigned i, uint16_t *vid);

/* --- of config_snoop.c: of IPv4, and of IPv6 --- */

int config_snoop_off4(struct parser *p, unsigned i);
int config_snoop_off6(struct parser *p, unsigned i);
int config_snoop_querier4(struct parser *p, unsigned i);
int config_snoop_querier6(struct parser *p, unsigned i);
int config_snoop_interval4(struct parser *p, unsigned i);
int config_snoop_interval6(struct parser *p, unsigned i);
int config_snoop_vlan4(struct parser *p, unsigned i);
int config_snoop_vlan6(struct parser *p, unsigned i);
int config_snoop_unknown(struct parser *p, unsigned i);

/* The switch port of the open block; NULL: it is not of a port, which has been reported. i: the number of the
 * word after the statement's own. */
struct config_switchport *config_switchport_of(struct parser *p, unsigned i);

/* --- of config_stp.c --- */

int config_stp_mode(struct parser *p, unsigned i);
int config_stp_priority(struct parser *p, unsigned i);
int config_stp_hello(struct parser *p, unsigned i);
int config_stp_max_age(struct parser *p, unsigned i);
int config_stp_forward(struct parser *p, unsigned i);
int config_stp_hold(struct parser *p, unsigned i);
int config_stp_cost(struct parser *p, unsigned i);
int config_stp_port_priority(struct parser *p, unsigned i);
int config_stp_link_type(struct parser *p, unsigned i);
int config_stp_portfast(struct parser *p, unsigned i);
int config_stp_guard(struct parser *p, unsigned i);
int config_stp_recovery(struct parser *p, unsigned i);
int config_stp_interval(struct parser *p, unsigned i);

/* --- of config_time.c --- */

int config_ntp_server(struct parser *p, unsigned i);
int config_name_server(struct parser *p, unsigned i);
int config_domain(struct parser *p, unsigned i);

/* --- of config_logging.c --- */

int config_logging_console(struct parser *p, unsigned i);
int config_logging_buffered(struct parser *p, unsigned i);
int config_logging_host(struct parser *p, unsigned i);
int config_logging_source(struct parser *p, unsigned i);

/* --- of config_sflow.c --- */

int config_sflow_collector(struct parser *p, unsigned i);
int config_sflow_rate(struct parser *p, unsigned i);
int config_sflow_interval(struct parser *p, unsigned i);
int config_sflow_enable(struct parser *p, unsigned i);
int config_no_sflow_enable(struct parser *p, unsigned i);

/* --- of config_lldp.c --- */

int config_lldp_run(struct parser *p, unsigned i);
int config_lldp_timer(struct parser *p, unsigned i);
int config_lldp_holdtime(struct parser *p, unsigned i);
int config_lldp_transmit(struct parser *p, unsigned i);
int config_lldp_receive(struct parser *p, unsigned i);
int config_no_lldp_transmit(struct parser *p, unsigned i);
int config_no_lldp_receive(struct parser *p, unsigned i);

/* --- of config_dhcp.c --- */

int config_dhcp_address(struct parser *p, unsigned i);
int config_dhcp_helper(struct parser *p, unsigned i);
int config_dhcp_relay6(struct parser *p, unsigned i);
int config_dhcp_information(struct parser *p, unsigned i);
int config_dhcp_policy(struct parser *p, unsigned i);
int config_dhcp_hops(struct parser *p, unsigned i);

/* --- of config_lacp.c --- */

int config_lacp_group(struct parser *p, unsigned i);
int config_lacp_rate(struct parser *p, unsigned i);
int config_lacp_port_priority(struct parser *p, unsigned i);
int config_lacp_system_priority(struct parser *p, unsigned i);
int config_lacp_min_links(struct parser *p, unsigned i);

/* --- of config_steer.c --- */

int config_steer(struct parser *p, unsigned i);

/* Checks the routing engine; 0, or E_INVAL with *err. */
int config_check_engine(const struct config *c, struct text_error *err);

#endif
