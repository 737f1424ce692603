/*
 * The configuration: from text to `struct config`, and back.
 *
 * The parser is a pure function. It takes any bytes and gives either a complete configuration,
 * checked as a whole, or an error that names the line, the word and the reason: the first, or all of
 * the lines that are wrong by themselves (struct config_wrong).
 * docs/configuration.md is the reference of the dialect.
 *
 * Invariants
 * 1. Nothing half applied: after an error *out is config_default(), which has no interface.
 * 2. Every accepted configuration is consistent: interface subnets do not overlap, every static
 *    neighbour lies on a connected subnet (of IPv6: or is link-local, on a port that takes part) and
 *    is not ours, a next hop neither (off all subnets, it is reached by another route), no address, route or neighbour stands twice, no static
 *    route takes the place of a connected one, no interface of IPv6 has an MTU below 1280, and
 *    every filter is an access list of its version that has a rule.
 * 3. config_print() writes text that parses to the same configuration (line numbers aside).
 * 4. Time is linear in the text: duplicate routes are found by hashing in the caller's scratch.
 *
 *     config.c         lines, the table of statements, those of the machine and of interfaces
 *     config_if.c      which interfaces there are
 *     config_ip4.c     the statements of IPv4; config_ip6.c: of IPv6. config_parse.h: shared
 *     words.c          words that statements of several files have
 *     config_acl.c     access lists
 *     config_management.c   those of the HTTP server, the console over TCP, the captures
 *     config_check.c   what only the whole can tell; config_check6.c: of IPv6
 *     config_print.c   text again
 *
 * What follows a line `script NAME` is no statement but a text for the application, which alone
 * understands it; its lines are counted from 1 again. So a machine that is given one file by its
 * loader gets both by it.
 *
 * Missing on purpose: `no` forms (a file states what is, not what changes: control/config/candidate.h has
 * them).
 */
#ifndef CONTROL_CONFIG_CONFIG_H
#define CONTROL_CONFIG_CONFIG_H

#include "control/config/password.h"
#include "control/text/interface_name.h"
#include "control/text/text.h"
#include "dataplane/services.h"
#include "dataplane/verify.h"
#include "runtime/apps.h"
#include "lib/types.h"
#include "net/acl/acl.h"
#include "net/addr.h"

#define CONFIG_IFS_MAX 128  /* interfaces: of ports, VLANs, loopbacks; equals DP_INTERFACES_MAX */
#define CONFIG_ROUTES_EACH_MAX 16 /* of a prefix */
#define CONFIG_ROUTE_NONE UINT32_MAX
#define CONFIG_DISTANCE_DEFAULT 1 /* of a static route */
#define CONFIG_DISTANCE_MAX 255
#define CONFIG_PORT_ANY UINT32_MAX /* the key of no interface */
#define CONFIG_ADDRESSES_MAX 4
#define CONFIG_NEIGHBOURS6_MAX 64
#define CONFIG_RA_SERVERS_MAX 4
#define CONFIG_ARPS_MAX 64
#define CONFIG_HOSTNAME_SIZE 64
#define CONFIG_DESCRIPTION_SIZE 80
#define CONFIG_SCRIPT_NAME_SIZE 48
#define CONFIG_ACLS_MAX 64
#define CONFIG_ACL_NAME_SIZE 32
#define CONFIG_ACL_RULES_MAX 16000 /* in all lists together */
#define CONFIG_ACL_RULE_TEXT 240   /* bytes of a rule as text, with its NUL */

#define CONFIG_MTU_DEFAULT 1500
#define CONFIG_MTU_MIN 68 /* RFC 791: every module must forward 68 octets unfragmented */
#define CONFIG_MTU_MAX 9198
#define CONFIG_MTU_IP6_MIN 1280 /* RFC 8200 5 */
#define CONFIG_RA_INTERVAL_DEFAULT_S 600 /* RFC 4861 6.2.1: MaxRtrAdvInterval, */
#define CONFIG_RA_INTERVAL_MIN_S 4
#define CONFIG_RA_INTERVAL_MAX_S 1800
#define CONFIG_RA_LIFETIME_MAX_S 9000 /* AdvDefaultLifetime */
#define CONFIG_ARP_TIMEOUT_DEFAULT_S 1200
#define CONFIG_ARP_TIMEOUT_MAX_S 86400
#define CONFIG_ICMP_RATE_DEFAULT 1000 /* ICMP errors a second */
#define CONFIG_ICMP_RATE_MAX 1000000
#define CONFIG_ICMP_BURST_DEFAULT 50
#define CONFIG_ICMP_BURST_MAX 100000
#define CONFIG_HTTP_PORT_DEFAULT 80
#define CONFIG_CONSOLE_PORT_DEFAULT 23
#define CONFIG_CAPTURE_PORT_DEFAULT 5555
#define CONFIG_ACCESS_MAX 16 /* prefixes of a server's access list */
#define CONFIG_HTTP_HOSTS_MAX 16
#define CONFIG_HTTP_HOST_SIZE 128 /* a statement fits into a line of the console */
#define CONFIG_TCP_CONNECTIONS_MAX 4194304 /* of a data core */

enum config_idle { CONFIG_IDLE_AUTO, CONFIG_IDLE_POLL, CONFIG_IDLE_SLEEP };

/* In all of these `line` is the line that said so, for errors found later; 0: none did. IPv4's
 * addresses and prefixes are in host byte order. */
struct config_address {
	uint32_t addr;
	uint32_t line;
	uint8_t plen;
};

struct config_address6 {
	struct net_addr addr;
	uint32_t line;
	uint8_t plen;
};

/* One line of an access list. */
struct config_acl_rule {
	struct acl_rule rule;
	uint32_t sequence;
	uint32_t line;
};

/* An access list. What it denies at its end without saying so, and of IPv6 permits before that, is
 * not among its rules (control/forwarding/filter.c). */
struct config_acl {
	char name[CONFIG_ACL_NAME_SIZE];
	uint32_t line;
	uint32_t first, rules; /* of config.acl_rules; one at least */
	bool six;
};

/* Where a list filters, by version and direction. */
enum config_filter_way {
	CONFIG_FILTER_IN4,
	CONFIG_FILTER_OUT4,
	CONFIG_FILTER_IN6,
	CONFIG_FILTER_OUT6,
	CONFIG_FILTERS,
};

struct config_filter {
	char name[CONFIG_ACL_NAME_SIZE]; /* of a list of that version; empty: there is none */
	uint32_t line;
};

struct config_interface {
	uint32_t key; /* its name, as config_key_parse has it */
	bool present; /* has an interface block */
	bool shutdown;
	uint8_t address_count;
	uint16_t mtu; /* 0: not said */
	uint32_t line, mtu_line;
	struct config_address address[CONFIG_ADDRESSES_MAX]; /* [0] is the primary one */
	char description[CONFIG_DESCRIPTION_SIZE];

	bool ipv6;       /* takes part in IPv6: `ipv6 enable`, or any address */
	bool autoconfig; /* `ipv6 address autoconfig`: by routers' advertisements */
	uint32_t ipv6_line, autoconfig_line, link_local_line;
	uint8_t address6_count;
	struct config_address6 address6[CONFIG_ADDRESSES_MAX];
	struct net_addr link_local6; /* NET_ADDR_ANY: made from the MAC address */

	bool ra_suppress, ra_managed, ra_other, ra_lifetime_said;
	uint32_t ra_interval_s; /* 0: not said */
	uint32_t ra_lifetime_s;
	uint32_t ra_lifetime_line;
	uint8_t ra_server_count;
	struct net_addr ra_server[CONFIG_RA_SERVERS_MAX];

	struct config_filter filter[CONFIG_FILTERS];
	uint8_t verify[2]; /* enum verify, of IPv4 and of IPv6, */
	uint32_t verify_line[2]; /* and where it says so */
	bool redirects[2]; /* tells senders of a better first hop, */
	uint32_t redirects_line[2];
	bool directed; /* lets directed broadcasts out to its subnets */
	uint32_t directed_line;
	bool deny_silently, deny_silently6; /* no ICMP about what came in here and is denied */
};

/* Where a route leads: to a next hop, or nowhere, in one of these ways. */
enum config_route_kind {
	CONFIG_ROUTE_VIA,
	CONFIG_ROUTE_NULL0, /* in the order of enum next_hop (dataplane/state.h), from NH_NULL0 on */
	CONFIG_ROUTE_BLACKHOLE,
	CONFIG_ROUTE_UNREACHABLE,
	CONFIG_ROUTE_PROHIBIT,
	CONFIG_ROUTE_KINDS,
};

/* A prefix may have several routes, CONFIG_ROUTES_EACH_MAX at most. config_finish chains them: the
 * first in the text leads to the others, in any order. */
struct config_route {
	uint32_t prefix;
	uint32_t next_hop; /* 0: it leads nowhere */
	uint32_t line;
	uint32_t more;     /* number of the next one of this prefix, plus one; 0: there is none */
	uint8_t plen;
	uint8_t kind;      /* enum config_route_kind */
	uint8_t distance;  /* the least of those that can be used is used; of several, all are */
	bool follows;      /* another one of this prefix comes before it */
};

struct config_arp {
	uint32_t addr;
	uint32_t line;
	uint8_t mac[6];
	uint8_t reserved[2]; /* 0: so that a copy is the same byte by byte */
};

struct config_route6 {
	struct net_addr prefix;
	struct net_addr next_hop; /* NET_ADDR_ANY: it leads nowhere */
	uint32_t line;
	uint32_t more;
	uint32_t port; /* key of the next hop's interface; CONFIG_PORT_ANY where there is none */
	uint8_t plen;
	uint8_t kind;
	uint8_t distance;
	bool follows;
};

struct config_neighbour6 {
	struct net_addr addr;
	uint32_t line;
	uint32_t port; /* key of its interface */
	uint8_t mac[6];
};

/* Who may connect to a server of the management. */
struct config_access {
	struct net_addr prefix; /* of either family; plen counts all of its 128 bits */
	uint32_t line;
	uint8_t plen;
};

struct config_access_list {
	struct config_access row[CONFIG_ACCESS_MAX];
	unsigned count; /* 0: nobody may */
};

/* What a request may be for beside the machine's addresses and its hostname. */
struct config_http_host {
	struct net_addr addr;             /* where `name` is empty */
	uint32_t line;
	char name[CONFIG_HTTP_HOST_SIZE]; /* in lower case, without a dot at its end */
};

/* The HTTP server (control/management/http.h). */
struct config_http {
	uint16_t port; /* 0: there is none; else there is an access list */
	uint32_t line;
	struct config_access_list access;
	struct config_http_host host[CONFIG_HTTP_HOSTS_MAX];
	unsigned hosts;
};

/* The console over TCP (control/management/remote.h). */
struct config_console {
	uint16_t port; /* 0: there is none; else there are an access list and a password */
	uint32_t line;
	uint32_t password_line; /* 0: there is no password */
	struct password_hash password;
	struct config_access_list access;
};

/* The server of captures (control/monitor/capture.h). */
struct config_capture {
	uint16_t port; /* 0: there is none; else there is an access list */
	uint32_t line;
	struct config_access_list access;
};

/* A text for the application. */
struct config_script {
	struct text text; /* in the text that was parsed */
	uint32_t line;    /* of the statement; 0: there is none */
	char name[CONFIG_SCRIPT_NAME_SIZE]; /* of its file, for errors */
};

struct config {
	char hostname[CONFIG_HOSTNAME_SIZE];
	enum core_app_number application;
	enum config_idle idle;
	uint32_t arp_timeout_s;
	uint32_t icmp_rate;  /* errors a second; 0: none are sent */
	uint32_t icmp_burst; /* errors at once after a pause */
	struct services services;  /* services_default() when application is CORE_APP_echo and none
	                              is stated */
	uint32_t tcp_connections;  /* of a data core; 0: not said */
	struct config_http http;
	struct config_console console;
	struct config_capture capture;
	struct config_script script;
	struct config_interface interface[CONFIG_IFS_MAX]; /* by number, ports first */
	unsigned interfaces; /* numbers in use, the ports' always */
	struct config_arp arp[CONFIG_ARPS_MAX];
	unsigned arp_count;
	struct config_route *routes; /* config_memory.routes, in the order of the text */
	uint32_t route_count;
	struct config_neighbour6 neighbour6[CONFIG_NEIGHBOURS6_MAX];
	unsigned neighbour6_count;
	struct config_route6 *routes6; /* config_memory.routes6 */
	uint32_t route6_count;
	struct config_acl acl[CONFIG_ACLS_MAX];
	unsigned acl_count;
	struct config_acl_rule *acl_rules; /* config_memory.acl_rules, list by list */
	uint32_t acl_rule_count;
};

/* The lines that are wrong, in the order of the text. Not among them is what only a wrong line before
 * makes wrong: the lines of a block that it should have opened, or may have (config.c, lost). */
#define CONFIG_WRONG_MAX 20
struct config_wrong {
	uint32_t count; /* of all; the first CONFIG_WRONG_MAX are told */
	struct text_error row[CONFIG_WRONG_MAX];
};

/* Memory the caller lends. routes is part of the result. scratch is free again on return, but that
 * of config_finish has what config_route_first looks at. */
struct config_memory {
	struct config_route *routes;
	uint32_t route_max;
	struct config_route6 *routes6;
	uint32_t route6_max;
	struct config_acl_rule *acl_rules;
	uint32_t acl_rule_max;
	uint32_t *scratch;
	uint32_t scratch_words; /* at least config_scratch_words() of both maxima, together */
	/* Told how many lines have been read, each CONFIG_PROGRESS_LINES; or NULL. */
	void (*progress)(uint32_t lines);
	/* Filled by config_read, which then reads on behind a wrong line; NULL: the first ends it. What is
	 * wrong with the whole is not among them. */
	struct config_wrong *wrong;
};
#define CONFIG_PROGRESS_LINES 1000

/* Words of scratch for a configuration of up to `routes` routes: a power of two. */
static inline uint32_t config_scratch_words(uint32_t routes)
{
	uint32_t words = 16;
	while (words / 2 < routes && words < 1u << 31)
		words *= 2;
	return words;
}

/* Lines of a text that begin with "ip", with "ipv6", and as rules of access lists do: no fewer than
 * it has routes of each family, and rules. Their memory is taken by need. */
struct config_lines {
	uint32_t ip, ipv6, rules;
};
struct config_lines config_count_lines(const char *text, size_t len);

/* What an empty text says: hostname hayate, application router, no interface. */
void config_default(struct config *out);

/*
 * Parses len bytes of text. Returns 0, or E_INVAL with the first error in *err and *out =
 * config_default().
 * out->routes points into mem.
 */
int config_parse(const char *text, size_t len, const struct config_memory *mem, struct config *out,
                 struct text_error *err);

/* The two halves of it. Reads the statements alone: *out may be wrong as a whole, and after an
 * error it is read up to there. */
int config_read(const char *text, size_t len, const struct config_memory *mem, struct config *out,
                struct text_error *err);

/* What the whole says, of a configuration that was read, or put together: the interfaces of next
 * hops (IPv6's that were not named), the services that are implied; or E_INVAL. mem->scratch is
 * used. */
int config_finish(struct config *c, const struct config_memory *mem, struct text_error *err);

/* Number of the first route of a prefix, CONFIG_ROUTE_NONE: there is none; with the scratch that
 * config_finish has just been lent for this configuration. */
uint32_t config_route_first(const struct config *c, const uint32_t *scratch, uint32_t prefix,
                            unsigned plen);
uint32_t config_route6_first(const struct config *c, const uint32_t *scratch,
                             const struct net_addr *prefix, unsigned plen);

/* "null0" and so on; NULL: it leads to a next hop. */
const char *config_route_word(enum config_route_kind kind);

/* Checks what only the whole can tell (invariant 2), and chains routes. scratch as in
 * config_memory. */
int config_check(const struct config *c, uint32_t *scratch, uint32_t scratch_words,
                 struct text_error *err);

/* The same for IPv6, which config_check calls. */
int config_check6(const struct config *c, uint32_t *scratch, uint32_t scratch_words,
                  struct text_error *err);

/* And for what an interface may have. */
int config_check_interfaces(const struct config *c, struct text_error *err);

/* And for the servers of the management. */
int config_check_management(const struct config *c, struct text_error *err);

/* And for access lists. */
int config_check_acl(const struct config *c, struct text_error *err);

/* Do both say the same, number and words? */
bool config_acl_same(const struct config_acl_rule *a, const struct config_acl_rule *b);

/* Numbers the rules of a list anew. E_INVAL: the last number would be too large, and nothing has
 * changed. */
#define CONFIG_ACL_SEQUENCE_STEP 10
#define CONFIG_ACL_SEQUENCE_MAX 2147483647u
int config_acl_resequence(struct config *c, const struct config_acl *l, uint32_t start,
                          uint32_t step);

/* The list of that name, or NULL. */
const struct config_acl *config_acl_find(const struct config *c, const char *name);

/* A rule of a list of that version as the line that says it; returns buf. */
char *config_acl_rule_text(char buf[CONFIG_ACL_RULE_TEXT], const struct config_acl_rule *line,
                           bool six);

/* The name of interface n; returns buf. */
char *config_name(char buf[CONFIG_IF_NAME_SIZE], const struct config *c, unsigned n);

/* The number of that interface, -1: it has no block (a port always has a number). */
int config_number(const struct config *c, uint32_t key);

/* What an interface is: a loopback, or a port's, or a VLAN's of it (0: none). */
bool config_is_loopback(const struct config_interface *i);
unsigned config_if_port(const struct config_interface *i);
unsigned config_if_vid(const struct config_interface *i);

/* Number of the interface one of whose subnets holds addr, or -1. Shutdown does not matter. */
int config_connected6(const struct config *c, const struct net_addr *addr);

/* May that address connect? */
bool config_admits(const struct config_access_list *l, const struct net_addr *addr);

typedef void (*config_write_fn)(void *ctx, const char *text, size_t len);

/* Writes the configuration as text, in pieces, each one line with its '\n'. What it writes is
 * printable ASCII, but for what stands in a script. */
void config_print(const struct config *c, config_write_fn write, void *ctx);

/* The same a few lines at a time, for who has no room for all of it: CONFIG_PRINT_NEXT_MAX bytes at
 * most. The cursor is all zero at first; the configuration stays as it is. False: that was the
 * end. */
enum config_part {
	CONFIG_PART_MACHINE,
	CONFIG_PART_LISTS,
	CONFIG_PART_ROUTES,
	CONFIG_PART_ROUTES6,
	CONFIG_PART_END,
	CONFIG_PART_SCRIPT,
	CONFIG_PARTS,
};

struct config_cursor {
	uint32_t part; /* enum config_part */
	uint32_t n, line; /* its own */
};
#define CONFIG_PRINT_NEXT_MAX 1280
bool config_print_next(const struct config *c, struct config_cursor *at, config_write_fn write,
                       void *ctx);

/* Parts of it: all but the routes, the script and the line `end`; a route. */
void config_print_statements(const struct config *c, config_write_fn write, void *ctx);
void config_print_route(const struct config_route *r, config_write_fn write, void *ctx);
void config_print_route6(const struct config_route6 *r, config_write_fn write, void *ctx);

#endif
