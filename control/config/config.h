/*
 * The configuration: from text to `struct config`, and back.
 *
 * The parser is a pure function of any bytes. Its result is either a complete configuration,
 * checked as a whole, or an error: line, word and reason. It reports the first error, or all lines
 * that are wrong in themselves (struct config_wrong). docs/configuration.md defines the dialect.
 *
 * Invariants
 * 1. Nothing is half applied: after an error *out is config_default(), which has no interface.
 * 2. Every accepted configuration is consistent:
 *    - interface subnets do not overlap
 *    - every static neighbour is on a connected subnet, or link-local on an interface with IPv6
 *    - no static neighbour and no next hop is an address of this machine
 *    - a next hop off all subnets needs no interface: another route leads to it
 *    - no address, route or neighbour is configured twice
 *    - no static route replaces a connected one
 *    - no interface with IPv6 has an MTU below 1280
 *    - an unnumbered interface has no IPv4 address, and borrows that of an interface which has one
 *    - no two interfaces have the same index of the routing engine, or the same VNI
 *    - if an interface has a VNI and there is an engine, VXLAN has an address at both ends
 *    - every filter names an access list of its IP version that has a rule
 * 3. config_print() writes text that parses to the same configuration (line numbers aside).
 * 4. Time is linear in the text: duplicate routes are found by hashing in the caller's scratch.
 *
 *     config.c              lines and blocks
 *     config_statements.c   the table of statements, and the parsers without a file of their own
 *     config_if.c           the set of interfaces, their names and numbers
 *     config_ip4.c          statements of IPv4; config_ip6.c: of IPv6
 *     config_policy.c       redirects and directed broadcasts
 *     config_acl.c          access lists
 *     config_acl_mac.c      their rules about MAC addresses
 *     config_users.c        users, their roles, keys and tokens
 *     config_management.c   the servers: HTTP and HTTPS, the console over TCP and SSH, captures
 *     config_engine.c       the routing engine
 *     config_xdp.c          programs on ports
 *     config_steer.c        rules that steer received packets to cores
 *     config_lacp.c         link aggregation
 *     config_switch.c       VLANs of the switch's ports, static stations, storm control
 *     config_stp.c          the spanning tree, recovery of disabled ports
 *     config_monitor.c      port mirroring
 *     config_lldp.c         LLDP
 *     config_logging.c      the event log, syslog hosts
 *     config_sflow.c        sFlow
 *     config_time.c         NTP servers, name servers
 *     config_snoop.c        IGMP and MLD snooping
 *     config_dhcp.c         DHCP: the client, the relay agents
 *     words.c               parsers of words that several files use; config_parse.h: shared
 *     config_check.c        checks of the whole; config_check6.c: of IPv6
 *     config_print.c        back to text
 *
 * The lines after `script NAME` are not statements but a text for the application, which alone
 * parses it; its lines count from 1. So a loader that hands over only one file delivers both texts.
 *
 * Missing on purpose: `no` forms, except of what is on by default, such as `no lldp transmit`. A file
 * states what is, not what changes; a candidate (control/config/candidate.h) has them all.
 */
#ifndef CONTROL_CONFIG_CONFIG_H
#define CONTROL_CONFIG_CONFIG_H

#include "control/config/password.h"
#include "control/text/interface_name.h"
#include "control/text/role.h"
#include "control/text/text.h"
#include "dataplane/services.h"
#include "dataplane/verify.h"
#include "runtime/apps.h"
#include "runtime/rules.h"
#include "lib/types.h"
#include "net/acl/acl.h"
#include "net/acl/mac.h"
#include "net/addr.h"
#include "net/dhcp/relay4.h"
#include "net/lacp/lacp.h"
#include "net/stp/stp.h"

#define CONFIG_IFS_MAX 128  /* ports, VLANs, loopbacks, the switch's; equals DP_INTERFACES_MAX */
#define CONFIG_ROUTES_EACH_MAX 16 /* of a prefix */
#define CONFIG_ROUTE_NONE UINT32_MAX
#define CONFIG_DISTANCE_DEFAULT 1 /* of a static route */
#define CONFIG_DISTANCE_MAX 255
#define CONFIG_INTERFACE_ANY UINT32_MAX /* the key of no interface */
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
#define CONFIG_RA_INTERVAL_DEFAULT_S 600 /* MaxRtrAdvInterval, RFC 4861 6.2.1 */
#define CONFIG_RA_INTERVAL_MIN_S 4
#define CONFIG_RA_INTERVAL_MAX_S 1800
#define CONFIG_RA_LIFETIME_MAX_S 9000 /* AdvDefaultLifetime, RFC 4861 6.2.1 */
#define CONFIG_ARP_TIMEOUT_DEFAULT_S 1200
#define CONFIG_ARP_TIMEOUT_MAX_S 86400
#define CONFIG_IDLE_SPIN_MAX_US 1000000
#define CONFIG_CORES_MINIMUM_MAX 64 /* NIC_PAIRS_MAX */
#define CONFIG_CORES_WAKE_UP_MIN_US 10
#define CONFIG_CORES_WAKE_UP_MAX_US 1000000
#define CONFIG_CORES_WAKE_UP_DEFAULT_US 50
#define CONFIG_ICMP_RATE_DEFAULT 1000 /* ICMP errors a second */
#define CONFIG_ICMP_RATE_MAX 1000000
#define CONFIG_ICMP_BURST_DEFAULT 50
#define CONFIG_ICMP_BURST_MAX 100000
#define CONFIG_HTTP_PORT_DEFAULT 80
#define CONFIG_HTTPS_PORT_DEFAULT 443
#define CONFIG_SSH_PORT_DEFAULT 22
#define CONFIG_CERTIFICATE_SIZE 64 /* name of a file, with NUL (control/text/module.h) */
#define CONFIG_CONSOLE_PORT_DEFAULT 23
#define CONFIG_CAPTURE_PORT_DEFAULT 5555
#define CONFIG_USERS_MAX 16
#define CONFIG_USER_SIZE 21      /* a name and its NUL */
#define CONFIG_USER_KEYS_MAX 32  /* of all users */
#define CONFIG_TOKENS_MAX 32     /* of all users */
#define CONFIG_SSH_BLOB_MAX 104  /* bytes of a key */
#define CONFIG_ENGINE_PORT_DEFAULT 2620
#define CONFIG_ENGINE_BFD_PORT_DEFAULT 50700
#define CONFIG_ENGINE_HOLD_DEFAULT_S 3600
#define CONFIG_ENGINE_SETTLE_DEFAULT_S 120
#define CONFIG_ENGINE_TIME_MAX_S 86400
#define CONFIG_ENGINE_ROUTES_MAX 100000000
#define CONFIG_ENGINE_INDEX_MAX 2147483647 /* ifindex of Linux is an int */
#define CONFIG_ACCESS_MAX 16 /* prefixes of a server's access list */
#define CONFIG_HTTP_HOSTS_MAX 16
#define CONFIG_NTP_SERVERS_MAX 8  /* NTP_SERVERS_MAX */
#define CONFIG_NAME_SERVERS_MAX 4
#define CONFIG_NTP_POLL_MIN 4 /* NTP_POLL_MIN to NTP_POLL_MAX */
#define CONFIG_NTP_POLL_MAX 10
#define CONFIG_NTP_POLL_MIN_DEFAULT 6
#define CONFIG_NTP_POLL_MAX_DEFAULT 10
#define CONFIG_HTTP_HOST_SIZE 128 /* the statement then fits into a line of the console */
#define CONFIG_AGING_DEFAULT_S 300 /* Ageing Time, 802.1Q 8.8.3: 10 to 1,000,000 */
#define CONFIG_AGING_MIN_S 10
#define CONFIG_AGING_MAX_S 1000000
#define CONFIG_LLDP_TIMER_MAX_S 3600 /* msgTxInterval, IEEE 802.1AB 9.2.5.7 */
#define CONFIG_LLDP_HOLD_MAX_S 65535
#define CONFIG_WEB_PORT 80
#define CONFIG_WEB_LOG_SAMPLE_MAX 1000000
#define CONFIG_TCP_CONNECTIONS_MAX 4194304 /* of a data core */

enum config_idle { CONFIG_IDLE_AUTO, CONFIG_IDLE_POLL, CONFIG_IDLE_SLEEP };

/* In all of these structs `line` is the number of the configuring line, for later errors; 0: none.
 * IPv4 addresses and prefixes are in host byte order. */
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
	union {
		struct acl_rule rule;    /* first: the larger one */
		struct acl_mac_rule mac; /* of a list of MAC addresses */
	};
	uint32_t sequence;
	uint32_t line;
};

enum config_acl_kind { CONFIG_ACL_IP4, CONFIG_ACL_IP6, CONFIG_ACL_MAC, CONFIG_ACL_KINDS };

/* An access list. Its rules do not include the implicit deny at the end, nor what IPv6 implicitly
 * permits before that (control/forwarding/filter.c). */
struct config_acl {
	char name[CONFIG_ACL_NAME_SIZE];
	uint32_t line;
	uint32_t first, rules; /* range in config.acl_rules; at least one rule */
	enum config_acl_kind kind;
};

/* Where a list filters: its kind and the direction. */
enum config_filter_direction {
	CONFIG_FILTER_IN4,
	CONFIG_FILTER_OUT4,
	CONFIG_FILTER_IN6,
	CONFIG_FILTER_OUT6,
	CONFIG_FILTER_IN_MAC,
	CONFIG_FILTERS,
};

struct config_filter {
	char name[CONFIG_ACL_NAME_SIZE]; /* of a list of that kind; empty: no filter */
	uint32_t line;
};

struct config_interface {
	uint32_t key; /* its name as a number: config_key_parse */
	bool present; /* has an interface block */
	bool shutdown;
	uint8_t address_count;
	uint16_t mtu; /* 0: not configured */
	uint32_t line, mtu_line;
	struct config_address address[CONFIG_ADDRESSES_MAX]; /* [0] is the primary one */
	char description[CONFIG_DESCRIPTION_SIZE];
	uint32_t lender; /* `ip unnumbered`: key of the interface whose address it borrows */
	uint32_t lender_line; /* 0: it borrows none */
	uint32_t dhcp_line;     /* `ip address dhcp` (config_dhcp_client); 0: not configured */
	uint32_t relay_line[2]; /* of a server of the relay agent, IPv4's and IPv6's; 0: it has none */

	bool ipv6;       /* IPv6 is enabled: `ipv6 enable` or any address */
	bool autoconfig; /* `ipv6 address autoconfig`: from router advertisements */
	uint32_t ipv6_line, autoconfig_line, link_local_line;
	uint8_t address6_count;
	struct config_address6 address6[CONFIG_ADDRESSES_MAX];
	struct net_addr link_local6; /* NET_ADDR_ANY: made from the MAC address */

	bool ra_suppress, ra_managed, ra_other, ra_lifetime_said;
	uint32_t ra_interval_s; /* 0: not configured */
	uint32_t ra_lifetime_s;
	uint32_t ra_lifetime_line;
	uint8_t ra_server_count;
	struct net_addr ra_server[CONFIG_RA_SERVERS_MAX];

	struct config_filter filter[CONFIG_FILTERS];
	uint8_t verify[2]; /* enum verify, for IPv4 and IPv6 */
	uint32_t verify_line[2];
	bool redirects[2]; /* sends redirects, of IPv4 and IPv6, to hosts with a better first hop */
	uint32_t redirects_line[2];
	bool directed; /* forwards directed broadcasts to its subnets */
	uint32_t directed_line;
	uint32_t engine_index; /* its ifindex on the routing engine; 0: not configured */
	uint32_t engine_line;
	uint32_t engine_vni; /* its network in VXLAN to the engine; 0: none */
	uint32_t engine_vni_line;
	uint16_t engine_protocols; /* one bit for each enum routing_protocol; 0: not configured */
	uint32_t engine_protocols_line;
	bool lldp_no_transmit, lldp_no_receive; /* of a port */
	bool sflow;                             /* likewise: it is sampled */
	bool deny_silently, deny_silently6; /* no ICMP error for packets received here and denied */
};

/* A route has a next hop, or discards packets in one of these ways. */
enum config_route_kind {
	CONFIG_ROUTE_VIA,
	CONFIG_ROUTE_NULL0, /* in the order of enum next_hop (dataplane/state.h), from NH_NULL0 on */
	CONFIG_ROUTE_BLACKHOLE,
	CONFIG_ROUTE_UNREACHABLE,
	CONFIG_ROUTE_PROHIBIT,
	CONFIG_ROUTE_KINDS,
};

/* A prefix may have up to CONFIG_ROUTES_EACH_MAX routes. config_finish chains them: the chain
 * begins with the first one in the text; the order of the others is undefined. */
struct config_route {
	uint32_t prefix;
	uint32_t next_hop; /* 0: none */
	uint32_t line;
	uint32_t more;     /* number of the next route of this prefix, plus one; 0: none */
	uint8_t plen;
	uint8_t kind;      /* enum config_route_kind */
	uint8_t distance;  /* all usable routes of the least distance are used */
	bool follows;      /* an earlier route has the same prefix */
};

struct config_arp {
	uint32_t addr;
	uint32_t line;
	uint8_t mac[6];
	uint8_t reserved[2]; /* 0, so that copies are equal byte by byte */
};

struct config_route6 {
	struct net_addr prefix;
	struct net_addr next_hop; /* NET_ADDR_ANY: none */
	uint32_t line;
	uint32_t more;
	uint32_t interface; /* key of the next hop's interface; CONFIG_INTERFACE_ANY: none */
	uint8_t plen;
	uint8_t kind;
	uint8_t distance;
	bool follows;
};

struct config_neighbour6 {
	struct net_addr addr;
	uint32_t line;
	uint32_t interface; /* key of its interface */
	uint8_t mac[6];
};

/* Clients of this prefix may connect to a management server. */
struct config_access {
	struct net_addr prefix; /* of either family; plen counts all 128 bits */
	uint32_t line;
	uint8_t plen;
};

struct config_access_list {
	struct config_access row[CONFIG_ACCESS_MAX];
	unsigned count; /* 0: nobody may connect */
};

/* A host by address or DNS name: one that HTTP requests may name, besides the machine's addresses and hostname, or
 * a server. */
struct config_http_host {
	struct net_addr addr;             /* valid if `name` is empty */
	uint32_t line;
	char name[CONFIG_HTTP_HOST_SIZE]; /* in lower case, without a dot at its end */
};

/* Servers of time, and of names. */
struct config_ntp_server {
	struct config_http_host host;
	bool prefer, iburst;
	uint8_t poll_min, poll_max; /* log2 of seconds */
};
struct config_time {
	struct config_ntp_server server[CONFIG_NTP_SERVERS_MAX];
	unsigned servers;
	struct net_addr name_server[CONFIG_NAME_SERVERS_MAX];
	uint32_t name_server_line[CONFIG_NAME_SERVERS_MAX];
	unsigned name_servers;
	char domain[CONFIG_HTTP_HOST_SIZE]; /* for names without a dot; empty: none */
};

/* A user. Without a password he logs in by his keys and tokens only. */
struct config_user {
	char name[CONFIG_USER_SIZE];
	enum role role; /* ROLE_NONE: not stated; a configuration that was checked has none such */
	bool has_password;
	struct password_hash password;
	uint32_t line, role_line;
};

enum config_ssh_type { CONFIG_SSH_ED25519, CONFIG_SSH_P256, CONFIG_SSH_TYPES };

struct config_ssh_key {
	uint8_t user; /* number of the user */
	enum config_ssh_type type;
	char text[(CONFIG_SSH_BLOB_MAX + 2) / 3 * 4 + 1]; /* base64 of the key (RFC 4253 6.6), which has this type */
	uint32_t line;
};

struct config_token {
	uint8_t user;
	uint8_t hash[SHA256_BYTES]; /* of the token */
	uint32_t line;
};

struct config_users {
	struct config_user user[CONFIG_USERS_MAX];
	struct config_ssh_key key[CONFIG_USER_KEYS_MAX];
	struct config_token token[CONFIG_TOKENS_MAX];
	unsigned count, keys, tokens;
};

/* The HTTP server (control/management/http.h). */
struct config_http {
	uint16_t port, tls_port; /* 0: no server; with either there is an access list */
	uint32_t line, tls_line;
	char certificate[CONFIG_CERTIFICATE_SIZE]; /* a file of the boot module, for tls_port; "": the machine's own */
	uint32_t certificate_line;
	struct config_access_list access;
	struct config_http_host host[CONFIG_HTTP_HOSTS_MAX];
	unsigned hosts;
};

/* The console over TCP (control/management/remote.h). */
struct config_console {
	uint16_t port; /* 0: no server; otherwise there are an access list and a password */
	uint32_t line;
	uint32_t password_line; /* 0: no password */
	struct password_hash password;
	struct config_access_list access;
};

/* The SSH server (control/management/ssh.h). */
struct config_ssh {
	uint16_t port; /* 0: no server; otherwise there are an access list, and users or a password */
	uint32_t line;
	struct config_access_list access;
};

/* The capture server (control/monitor/capture.h). */
struct config_capture {
	uint16_t port; /* 0: no server; otherwise there is an access list */
	uint32_t line;
	struct config_access_list access;
};

/* The routing engine, whose routes come by FPM (control/engine/engine.h). */
struct config_engine {
	struct net_addr addr; /* the only address that may connect; valid if line is not 0 */
	uint32_t line;        /* 0: there is no engine */
	uint32_t other_line;  /* of the first of the statements below; 0: none */
	uint32_t source;      /* our address in VXLAN; 0: the one in the engine's subnet */
	uint32_t source_line;
	uint16_t port;        /* TCP port that the server listens on */
	uint8_t distance;     /* of all its routes; 0: by protocol */
	bool acknowledge;
	uint32_t hold_s;      /* routes stay for so long without a connection */
	uint32_t settle_s;    /* and so long after a new connection, unless stated again */
	uint32_t routes_max;  /* 0: no limit but the tables' */
	uint16_t bfd_port;    /* TCP port for bfdd (control/engine/bfd.h); 0: none */
	bool bfd_connect;     /* connects to this port of the engine, too */
};

/* A text for the application. */
struct config_script {
	struct text text; /* points into the parsed text */
	uint32_t line;    /* of the statement; 0: no script */
	char name[CONFIG_SCRIPT_NAME_SIZE]; /* of its file, for errors */
};

/* A program on a port (control/programs/), in the order of the text. */
#define CONFIG_XDP_MAX 64      /* of all ports */
#define CONFIG_XDP_EACH_MAX 10 /* of one; equals DP_XDP_CHAIN_MAX */
#define CONFIG_OBJECT_SIZE 32  /* with a NUL */
#define CONFIG_PROGRAM_SIZE 64 /* likewise; equals BPF_NAME */
struct config_xdp {
	uint32_t interface; /* key of its name */
	uint32_t line;
	char object[CONFIG_OBJECT_SIZE];
	char program[CONFIG_PROGRAM_SIZE]; /* "": the object's first */
};

/* A rule that steers what a port receives to data cores: by port, then in the order of the text. */
#define CONFIG_STEER_MAX CORE_RULES_MAX
#define CONFIG_STEER_TEXT 192 /* as text, with a NUL */
struct config_steer {
	uint32_t interface; /* key of its name */
	uint32_t line;
	uint32_t core, last; /* first and last of the group */
	bool management;     /* all packets to the router itself: match is zero (control/forwarding/steer_rules.c) */
	struct nic_rule match; /* all but its pairs */
};

/* A port in the spanning tree; what it lacks is the default of net/stp/stp.h. */
enum config_portfast {
	CONFIG_PORTFAST_AUTO, /* an edge if no bridge is heard */
	CONFIG_PORTFAST_EDGE, /* an edge from the start */
	CONFIG_PORTFAST_OFF,  /* no edge */
};

struct config_stp_port {
	uint32_t cost;        /* 0: from the link's speed */
	uint8_t priority;     /* CONFIG_STP_PORT_PRIORITY unless configured */
	enum stp_link_type link_type;
	enum config_portfast portfast;
	bool guard;           /* BPDU guard */
};
#define CONFIG_STP_PORT_PRIORITY 128 /* table 17-2 of 802.1D-2004 */

/* The spanning tree of the switch. */
struct config_stp {
	uint32_t line;       /* of its first statement outside of interface blocks; 0: it has none */
	uint32_t times_line; /* of the last statement that sets a time; 0: none does */
	bool off;            /* `spanning-tree mode none` */
	bool recovers;       /* BPDU guard ends after recovery_s */
	bool storm_recovers; /* so does the shutdown by storm control */
	uint32_t recovery_s;
	struct stp_params bridge;
};
#define CONFIG_RECOVERY_DEFAULT_S 300
#define CONFIG_RECOVERY_MIN_S 30
#define CONFIG_RECOVERY_MAX_S 86400

/* A port of the switch. By default an access port of VLAN 1. */
#define CONFIG_VID_DEFAULT 1
#define CONFIG_VID_WORDS (4096 / 64)
#define CONFIG_VID_LIST 200       /* characters of a list of VLANs */
#define CONFIG_MAC_LIMIT_MAX 1000000
#define CONFIG_STORMS 3             /* classes of storm control */
#define CONFIG_STORM_MAX 1000000000 /* frames a second */
struct config_switchport {
	uint32_t line;     /* of its first statement; 0: it has none */
	bool trunk;        /* else an access port */
	bool no_native;    /* a trunk that takes no untagged frames */
	bool unknown_multicast; /* takes groups without listeners too */
	bool lists;        /* a trunk that carries `allowed`; else all VLANs */
	uint16_t access, native; /* 0: CONFIG_VID_DEFAULT, and never that */
	uint32_t limit;    /* of learned addresses; 0: none */
	bool storm_shutdown; /* a port beyond a level is disabled; else frames are dropped only */
	uint32_t storm[CONFIG_STORMS]; /* broadcast, multicast, unknown unicast: frames a second; 0: no limit */
	uint64_t allowed[CONFIG_VID_WORDS]; /* a bit for each VLAN */
	struct config_stp_port stp;
};

/* LLDP. Times of 0 are not configured. */
struct config_lldp {
	bool run;
	uint16_t timer_s; /* between frames */
	uint16_t hold_s;  /* the time to live that is announced */
	uint32_t hold_line;
};

/* The event log, and hosts that it is sent to (docs/logging.md). */
#define CONFIG_LOG_HOSTS_MAX 4
#define CONFIG_LOG_FACILITY_DEFAULT 7 /* local7 */
struct config_log_level {
	uint32_t line; /* 0: not configured: all messages */
	uint8_t level; /* enum log_level */
	bool off;
};
struct config_log_host {
	struct config_http_host host; /* with the line of the statement */
	uint16_t port;
	uint8_t level;    /* enum log_level */
	uint8_t facility; /* 0 to 7: local0 to local7 */
	bool tls;         /* else UDP */
	bool pinned;      /* TLS: its certificate must have that fingerprint; else one of config.trust */
	uint8_t fingerprint[SHA256_BYTES];
};
struct config_logging {
	struct config_log_level console, buffered;
	struct config_log_host host[CONFIG_LOG_HOSTS_MAX];
	unsigned hosts;
	uint32_t source; /* key of the interface whose address is the source, if the line is not 0 */
	uint32_t source_line;
};

/* sFlow. 0: not configured. */
#define CONFIG_COLLECTORS_MAX 2
#define CONFIG_SFLOW_RATE_DEFAULT 2048
#define CONFIG_SFLOW_RATE_MAX 16777215
#define CONFIG_SFLOW_INTERVAL_DEFAULT_S 20
#define CONFIG_SFLOW_INTERVAL_MAX_S 3600
struct config_collector {
	uint32_t line;
	struct net_addr addr;
	uint16_t port;
};
struct config_sflow {
	struct config_collector collector[CONFIG_COLLECTORS_MAX];
	unsigned collectors;
	uint32_t rate;       /* one of so many packets is sampled */
	uint32_t interval_s; /* between counter samples */
};

/* IGMP and MLD snooping, by family: 0 is IPv4, 1 IPv6. All zero: on, and no querier. */
#define CONFIG_SNOOPS 2
#define CONFIG_QUERY_INTERVAL_DEFAULT_S 125
struct config_snoop {
	uint32_t line;       /* of its first statement; 0: it has none */
	bool off;
	bool querier;        /* in VLANs in which the machine has an interface */
	uint32_t interval_s; /* between queries; 0: CONFIG_QUERY_INTERVAL_DEFAULT_S, and never that */
	uint64_t vlan_off[CONFIG_VID_WORDS]; /* a bit for each VLAN, as the others */
	uint64_t vlan_querier[CONFIG_VID_WORDS];
	uint64_t fast_leave[CONFIG_VID_WORDS];
};

/* A port that leads to a multicast router. */
#define CONFIG_MROUTERS_MAX 64
struct config_mrouter {
	uint32_t line;
	uint32_t port;
	uint16_t vid;
	uint8_t family;
};

/* An interface that asks a DHCP server for its address. */
#define CONFIG_DHCP_CLIENTS_MAX 8
#define CONFIG_DHCP_DISTANCE_DEFAULT 254
#define CONFIG_DHCP_TEXT 128 /* the statement, with a NUL */
struct config_dhcp_client {
	uint32_t interface; /* key of its name */
	uint32_t line;
	uint32_t distance;  /* of the default route and the other routes that the server names */
	char hostname[CONFIG_HOSTNAME_SIZE]; /* that the server is told; empty: none */
};

/* A server of an interface's relay agent. */
#define CONFIG_RELAYS_MAX 256
#define CONFIG_RELAYS_EACH_MAX 8 /* of an interface and a family */
struct config_relay {
	struct net_addr server; /* of either family */
	uint32_t interface;     /* key of the clients' interface */
	uint32_t link;          /* key of the interface of a link-local server; CONFIG_INTERFACE_ANY: it is none */
	uint32_t line;
};

struct config_dhcp {
	struct config_dhcp_client client[CONFIG_DHCP_CLIENTS_MAX]; /* by interface */
	unsigned clients;
	struct config_relay relay[CONFIG_RELAYS_MAX]; /* by interface, then in the order of the text */
	unsigned relays;
	uint8_t hops; /* of `ip dhcp relay maximum-hops`; 0: DHCP_RELAY4_HOPS_MAX, and never that */
	bool insert;  /* option 82 */
	enum dhcp_relay4_policy policy;
};

/* A session of port mirroring on the switch. Ports are bits. */
#define CONFIG_MONITORS 4
struct config_monitor {
	uint32_t line; /* of its first statement; 0: it has none */
	uint16_t rx, tx; /* sources: of received frames, of sent ones */
	bool has_destination;
	uint8_t destination; /* a port */
};

/* The switch ports of struct config: the ports', then the port channels'. */
#define CONFIG_SWITCHPORTS (CONFIG_PORTS_MAX + CONFIG_CHANNELS_MAX)

/* A port's part in link aggregation. */
struct config_member {
	uint32_t line;   /* of `channel-group`, or of the first of the others; 0: none of them */
	uint8_t channel; /* 0: the port is in none */
	uint8_t mode;    /* enum lacp_mode */
	bool fast;       /* `lacp rate fast` */
	bool has_priority;
	uint16_t priority; /* if has_priority */
};

/* A static entry of the switch's forwarding database. */
#define CONFIG_MACS_MAX 256
struct config_mac {
	uint32_t line;
	uint32_t port; /* key of a port or a port channel */
	uint16_t vid;
	uint8_t mac[6];
};

struct config {
	char hostname[CONFIG_HOSTNAME_SIZE];
	enum core_app_number application;
	enum config_idle idle;
	uint32_t idle_spin_us; /* 0: not configured, adaptive */
	bool steering_off; /* receive packet steering */
	bool balance_off;  /* load balancing by moving buckets */
	uint32_t cores_minimum; /* queue pairs that keep flows at low load; 0: all */
	uint32_t cores_wake_up_us; /* if cores_minimum is set */
	uint32_t arp_timeout_s;
	uint32_t icmp_rate;  /* errors a second; 0: no errors are sent */
	uint32_t icmp_burst; /* errors at once after a pause */
	struct services services;  /* services_default() if application is CORE_APP_echo and none is
	                              configured */
	uint32_t tcp_connections;  /* of a data core; 0: not configured */
	uint32_t web_log_sample;   /* of the application web: one of so many requests is logged; 0: none */
	uint16_t web_port;         /* of the application web; 0: not configured, CONFIG_WEB_PORT */
	struct config_users users;
	struct config_http http;
	struct config_console console;
	struct config_ssh ssh;
	struct config_capture capture;
	struct config_engine engine;
	struct config_script script;
	struct config_interface interface[CONFIG_IFS_MAX]; /* by number, ports first */
	unsigned interfaces; /* numbers in use; always includes all ports */
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
	struct config_xdp xdp[CONFIG_XDP_MAX];
	unsigned xdp_count;
	struct config_steer steer[CONFIG_STEER_MAX];
	unsigned steer_count;
	struct config_switchport switchport[CONFIG_SWITCHPORTS]; /* see config_switchport */
	struct config_member member[CONFIG_PORTS_MAX];
	uint8_t min_links[CONFIG_CHANNELS_MAX + 1]; /* by port channel; 0: not configured */
	uint32_t lacp_priority;      /* of the system, if the line is not 0 */
	uint32_t lacp_priority_line;
	struct config_stp stp;
	struct config_snoop snoop[CONFIG_SNOOPS];
	struct config_mrouter mrouter[CONFIG_MROUTERS_MAX];
	unsigned mrouter_count;
	struct config_mac mac[CONFIG_MACS_MAX];
	unsigned mac_count;
	struct config_lldp lldp;
	struct config_dhcp dhcp;
	struct config_logging logging;
	struct config_time time;
	/* a file of the boot module: authorities for TLS connections that the machine opens; "": none */
	char trust[CONFIG_CERTIFICATE_SIZE];
	uint32_t trust_line;
	struct config_sflow sflow;
	struct config_monitor monitor[CONFIG_MONITORS]; /* by number less one */
	uint32_t aging_s; /* of learned addresses; 0: they stay */
	uint32_t aging_line; /* 0: not configured */
};

/* The wrong lines, in the order of the text. Lines that are wrong only because of an earlier wrong
 * line are left out: those of a block that it should, or may, have opened (config.c, is_lost). */
#define CONFIG_WRONG_MAX 20
struct config_wrong {
	uint32_t count; /* of all wrong lines; only the first CONFIG_WRONG_MAX are recorded */
	struct text_error row[CONFIG_WRONG_MAX];
};

/* Memory that the caller lends. The result points into routes, routes6 and acl_rules. scratch is
 * free on return, but config_route_first needs it as config_finish has left it. */
struct config_memory {
	struct config_route *routes;
	uint32_t route_max;
	struct config_route6 *routes6;
	uint32_t route6_max;
	struct config_acl_rule *acl_rules;
	uint32_t acl_rule_max;
	uint32_t *scratch;
	uint32_t scratch_words; /* at least the sum of config_scratch_words() of both maxima */
	/* Called with the number of lines read, every CONFIG_PROGRESS_LINES; or NULL. */
	void (*progress)(uint32_t lines);
	/* Filled by config_read, which then continues after a wrong line; NULL: it stops at the
	 * first. Errors of the whole (config_check) are not recorded. */
	struct config_wrong *wrong;
};
#define CONFIG_PROGRESS_LINES 1000

/* Words of scratch for up to `routes` routes of one family: a power of two. */
static inline uint32_t config_scratch_words(uint32_t routes)
{
	uint32_t words = 16;
	while (words / 2 < routes && words < 1u << 31)
		words *= 2;
	return words;
}

/* Numbers of lines that begin with "ip", with "ipv6", and like rules of access lists: upper bounds
 * of a text's routes of each family and of its rules, for the size of their memory. */
struct config_lines {
	uint32_t ip, ipv6, rules;
};
struct config_lines config_count_lines(const char *text, size_t len);

/* The configuration of an empty text: hostname hayate, application router, no interface. */
void config_default(struct config *out);

/*
 * Parses and checks len bytes of text: config_read, then config_finish. Returns 0, or E_INVAL with
 * the first error in *err and *out = config_default(). out->routes points into mem.
 */
int config_parse(const char *text, size_t len, const struct config_memory *mem, struct config *out,
                 struct text_error *err);

/* Parses only the statements: *out may be inconsistent as a whole. After E_INVAL *out holds the
 * statements read so far. */
int config_read(const char *text, size_t len, const struct config_memory *mem, struct config *out,
                struct text_error *err);

/* Completes and checks a configuration that was read or assembled. It finds the interfaces of IPv6
 * next hops that name none, checks the whole (config_check), and adds implied services. Uses
 * mem->scratch. Returns 0, or E_INVAL with *err. */
int config_finish(struct config *c, const struct config_memory *mem, struct text_error *err);

/* Number of the first route of a prefix; CONFIG_ROUTE_NONE: there is none. `scratch` must be as the
 * last config_finish of this configuration has left it. */
uint32_t config_route_first(const struct config *c, const uint32_t *scratch, uint32_t prefix,
                            unsigned plen);
uint32_t config_route6_first(const struct config *c, const uint32_t *scratch,
                             const struct net_addr *prefix, unsigned plen);

/*
 * The numbers of all IPv4 routes, those together whose prefixes begin with the same 16 bits, and these in the order
 * of the text. Who enters them into tables in this order finds in the caches what the route before has used.
 * NULL: they are fewer than CONFIG_NEAR, and fit the caches in any order. The numbers lie in scratch, in which
 * config_route_first then finds nothing any more.
 */
#define CONFIG_NEAR (1u << 16)
const uint32_t *config_routes_near(const struct config *c, uint32_t *scratch, uint32_t scratch_words);

/* "null0" and so on; NULL for CONFIG_ROUTE_VIA. */
const char *config_route_word(enum config_route_kind kind);

/* Checks the configuration as a whole (invariant 2) and chains routes; scratch as in config_memory.
 * It calls config_check6 and the other config_check_* below. All return 0, or E_INVAL with *err. */
int config_check(const struct config *c, uint32_t *scratch, uint32_t scratch_words,
                 struct text_error *err);

/* The checks of IPv6, with the rest of scratch. */
int config_check6(const struct config *c, uint32_t *scratch, uint32_t scratch_words,
                  struct text_error *err);

/* Refuses statements that do not apply to loopbacks. */
int config_check_interfaces(const struct config *c, struct text_error *err);

/* Checks the management servers and the routing engine. */
int config_check_management(const struct config *c, struct text_error *err);

/* Checks users. */
int config_check_users(const struct config *c, struct text_error *err);

/* Checks programs on ports. */
int config_check_xdp(const struct config *c, struct text_error *err);

/* Checks rules that steer. */
int config_check_steer(const struct config *c, struct text_error *err);

/* Checks sessions of port mirroring. */
int config_check_monitor(const struct config *c, struct text_error *err);

/* Is the port the destination of a session? */
bool config_monitor_sends(const struct config *c, unsigned port);

/* Checks the statements of the switch. */
int config_check_switch(const struct config *c, struct text_error *err);

/* Checks the relations of the spanning tree's times. */
int config_check_stp(const struct config *c, struct text_error *err);

/* Checks servers of time and names. */
int config_check_time(const struct config *c, struct text_error *err);

/* Checks the times of LLDP. */
int config_check_lldp(const struct config *c, struct text_error *err);

/* Checks the event log's statements. */
int config_check_logging(const struct config *c, struct text_error *err);

/* Time between LLDP frames, and the time to live that they announce. */
uint16_t config_lldp_timer_s(const struct config *c);
uint16_t config_lldp_hold_s(const struct config *c);

/* Checks the statements of DHCP. */
int config_check_dhcp(const struct config *c, struct text_error *err);

/* What the interface of that key asks a DHCP server; NULL: nothing. */
const struct config_dhcp_client *config_dhcp_client(const struct config *c, uint32_t key);

/* Its statement as text, and the word of a policy. */
void config_dhcp_text(const struct config_dhcp_client *d, char buf[CONFIG_DHCP_TEXT]);
const char *config_dhcp_policy_word(enum dhcp_relay4_policy policy);

/* Checks the statements of snooping. */
int config_check_snoop(const struct config *c, struct text_error *err);

/* Checks link aggregation: each port channel has a block and a port, and a port in one has no statements that
 * belong to its port channel. */
int config_check_lacp(const struct config *c, struct text_error *err);

/* The port channel of a port; 0: it is in none. The first port of a port channel, whose number is that of
 * the bundle; -1: it has none. The logical port that a port belongs to: the first of its port channel, or
 * itself. */
unsigned config_channel_of(const struct config *c, unsigned port);
int config_channel_port(const struct config *c, unsigned channel);
unsigned config_logical(const struct config *c, unsigned port);

/* Is the logical port shut down? */
bool config_logical_shut(const struct config *c, unsigned port);

/* The block of the port, or of its port channel; NULL: a port channel without one. */
const struct config_interface *config_logical_interface(const struct config *c, unsigned port);

/* The switch port that a port is, or that its port channel is. */
const struct config_switchport *config_switchport(const struct config *c, unsigned port);

/* The logical port of a static entry; -1: a port channel without ports. */
int config_mac_port(const struct config *c, const struct config_mac *m);

/* Does the port carry that VLAN? The VLAN of its untagged frames; 0: it takes none. */
bool config_switch_carries(const struct config *c, unsigned port, unsigned vid);
unsigned config_switch_untagged(const struct config *c, unsigned port);

/* Writes a set of VLANs as a list, which is cut if it is too long; returns buf. */
char *config_vid_list(char buf[CONFIG_VID_LIST + 1], const uint64_t *set);

/* Writes such a rule as the words behind `steer`; returns buf. */
char *config_steer_text(char buf[CONFIG_STEER_TEXT], const struct config_steer *s);

/* May an object of the store have that name? */
bool config_is_object_name(struct text w);

/* Checks access lists and filters. */
int config_check_acl(const struct config *c, struct text_error *err);

/* True if both rules, of lists of that kind, have the same number and the same contents. */
bool config_acl_same(const struct config_acl_rule *a, const struct config_acl_rule *b, enum config_acl_kind kind);

/* The word for lists of that kind: ip, ipv6 or mac. */
const char *config_acl_word(enum config_acl_kind kind);

/* Renumbers the rules of a list. E_INVAL: the last number would be too large; nothing changes. */
#define CONFIG_ACL_SEQUENCE_STEP 10
#define CONFIG_ACL_SEQUENCE_MAX 2147483647u
int config_acl_resequence(struct config *c, const struct config_acl *l, uint32_t start,
                          uint32_t step);

/* The list of that name, or NULL. */
const struct config_acl *config_acl_find(const struct config *c, const char *name);

/* Writes a rule of a list of that kind as a line; returns buf. */
char *config_acl_rule_text(char buf[CONFIG_ACL_RULE_TEXT], const struct config_acl_rule *line,
                           enum config_acl_kind kind);

/* The interface's index on the routing engine: the configured one, else its VNI; 0: none. */
uint32_t config_engine_index_of(const struct config_interface *i);

/* The protocols that the interface hands to the engine, one bit for each enum routing_protocol. */
unsigned config_engine_protocols_of(const struct config_interface *i);

/* The addresses of VXLAN between us and the engine; 0: there is no such engine. */
uint32_t config_engine_remote(const struct config *c);
uint32_t config_engine_source_of(const struct config *c);

/* Writes the name of interface number n; returns buf. */
char *config_name(char buf[CONFIG_IF_NAME_SIZE], const struct config *c, unsigned n);

/* The number of the interface with that key; -1: it has no block. A port always has a number. */
int config_number(const struct config *c, uint32_t key);

/* The kind of an interface: loopback or not; interface of a VLAN of the switch or not; the NIC port, of the
 * others (of a port channel its first, CONFIG_PORTS_MAX: it has none); on a port channel or not; the VLAN,
 * 0: none. */
bool config_is_loopback(const struct config_interface *i);
bool config_is_svi(const struct config_interface *i);
unsigned config_if_port(const struct config *c, const struct config_interface *i);
bool config_is_channel(const struct config_interface *i);
unsigned config_if_vid(const struct config_interface *i);

/* The number of the interface from which n borrows its IPv4 address; -1: none. */
int config_lender(const struct config *c, unsigned n);

/* Number of the interface, shut down or not, with a subnet that contains addr; -1: there is
 * none. */
int config_connected6(const struct config *c, const struct net_addr *addr);

/* The user of that name; the user with a token of that hash. NULL: there is none. */
const struct config_user *config_user(const struct config *c, struct text name);
const struct config_user *config_token_user(const struct config *c, const uint8_t hash[SHA256_BYTES]);

/* Writes the key as it is sent, RFC 4253 6.6; returns its bytes. */
int config_ssh_key_blob(const struct config_ssh_key *k, uint8_t blob[CONFIG_SSH_BLOB_MAX]);
const char *config_ssh_type(enum config_ssh_type type);

/* True if the line has the hash of a password or a token, which only users that may configure see (password.h).
 * *shown is the line before it. */
bool config_hides(struct text line, struct text *shown);

/* True if a client of that address may connect. */
bool config_admits(const struct config_access_list *l, const struct net_addr *addr);

typedef void (*config_write_fn)(void *ctx, const char *text, size_t len);

/* Writes the configuration as text in pieces, each of them one line with its '\n'. The text is
 * printable ASCII, except the script. */
void config_print(const struct config *c, config_write_fn write, void *ctx);

/* Writes the next few lines of config_print, at most CONFIG_PRINT_NEXT_MAX bytes, for a caller with
 * little room. The cursor is all zero at first. The configuration must not change meanwhile. False:
 * that was the end. */
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
	uint32_t n, line; /* position in the part */
};
#define CONFIG_PRINT_NEXT_MAX 1280
bool config_print_next(const struct config *c, struct config_cursor *at, config_write_fn write,
                       void *ctx);

/* Parts of config_print: all but the routes, the line `end` and the script; one route. */
void config_print_statements(const struct config *c, config_write_fn write, void *ctx);
void config_print_route(const struct config_route *r, config_write_fn write, void *ctx);
void config_print_route6(const struct config_route6 *r, config_write_fn write, void *ctx);

#endif
