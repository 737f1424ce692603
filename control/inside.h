/*
 * The inside of the control plane: what the files of control/ know of each other. All of it runs on
 * the control core and waits for nothing but core_quiesce().
 *
 *     plane.c      the order of the start, timers: plane_hooks
 *     load.c       the configuration that the loader brought
 *     forwarding.c memory of the forwarding tables
 *     interfaces.c interfaces of the view, their routes and links
 *     punt.c       messages of data cores
 *     neighbour.c  ARP table ↔ adjacencies and host routes; neighbour6.c: the same for IPv6
 *     autoconfig.c a host's addresses, routes and MTU by what routers advertise
 *     adjacency.c  what both have in common
 *     routes.c     static routes (routes.h); groups.c: several next hops for one (groups.h)
 *     adopt.c      what the program before this one knew of neighbours
 *     local.c      packets to and from the machine itself; local6.c: those of IPv6
 *     filter.c     access lists (filter.h); policy.c: what else interfaces ask of packets
 *     ping.c       the console's ping
 *     churn.c      routes that change under load, for tests (churn.h)
 *     tcp_control.c   the management's TCP; http.c, remote.c: its HTTP server, the console over it
 *     http_host.c  whether a request is for this machine
 *     servers.c    on which ports these listen
 *     capture.c    captures of what ports receive and send, as a stream over that TCP
 *     trace.c      what becomes of a packet, step by step (trace.h); trace_core.c: on a data core
 *     page.c       pages made while they are sent; metrics.c, api.c, web.c which there are
 *     crash.c      reports of programs that failed
 *     config_hash.c  which configuration runs, in one number
 *     commands.c   console commands; show*.c those that show
 *     configure.c  the console's configuration mode; commit.c from the candidate to what runs,
 *                  journal.c what outlives a program of it
 *
 * The configuration (config.h), its candidate (candidate.h, history.h), the boot module (module.h),
 * the console's line (shell.h) and words in text (text.h) are apart: they know nothing of the
 * machine and are tested without it.
 *
 * plane_start builds in this order: configuration, FIB, ports of the view, local_start,
 * neighbour_start, routes. It does so again in the same memory whenever the ports are restarted.
 *
 * A "frame" below has ETH_HLEN bytes for the Ethernet header, then an IPv4 packet; its length is
 * that of both. It stays the caller's and may be overwritten.
 */
#ifndef CONTROL_INSIDE_H
#define CONTROL_INSIDE_H

#include "control/config.h"
#include "control/module.h"
#include "control/shell.h"
#include "control/view.h"
#include "net/arp.h"
#include "net/icmp4.h"
#include "net/icmp6.h"
#include "net/nd.h"
#include "net/ra.h"
#include "net/slaac.h"

/* --- adopt.c --- */

/* control_hooks.adopt. */
bool adopt_tables(const void *old, size_t bytes);

/* --- config_hash.c --- */

/* Goes on hashing the running configuration; returns when it wants to be called again, nanoseconds,
 * UINT64_MAX: it is done, until there is another configuration. */
uint64_t config_hash_timer(void);

/* --- policy.c --- */

/* Tells the data cores what the configuration's interfaces ask of packets. At any time. */
void policy_set(void);

/* --- plane.c --- */

struct plane {
	struct module module; /* what the loader brought, cut */
	bool configured;   /* the configuration was good and is applied */
	struct config config;      /* that which runs; config_default() when it was not good */
	struct config_memory memory; /* where its routes lie; what the parser needs */
	struct text_error error; /* when not configured */
	struct fib_writer fib, fib6;
	struct host6_writer hosts6;
	bool fib_ready;    /* there was memory for the tables: they, arp and nd may be used */
	unsigned from;     /* interface that the message being served came by; VIEW_IFS_MAX: none is */
	struct arp arp;
	struct nd nd;
	struct ra ra;       /* of a router, */
	struct slaac slaac; /* and of all others */
	uint32_t refused_routes; /* of those that are not in the base (routes_refused): no room */
	uint32_t refused_hosts;  /* did not fit into hosts6 */
	uint64_t waiting;  /* received frames that wait for a neighbour: a gauge */
	bool link_up[VIEW_IFS_MAX]; /* that of an interface: its port's; a loopback's is always */
	struct shell shell; /* of the serial console */
};

extern struct plane plane;

/* Counts the fate of the received packet being served. */
static inline void plane_fate(enum counter c) { count_at(plane.from, c); }

/* A line on the console that belongs to no command; 255 characters at most. */
void plane_log(const char *format, ...) PRINTF_LIKE(1, 2);

static inline size_t whole_pages(size_t bytes)
{
	return align_up(bytes, 4096);
}

/* Room for `want` things of that size at *at, which holds *max: kept, or, since private memory is
 * never given back, taken anew for some more. What lay there is lost. False: there is no memory, and
 * nothing has changed. */
bool plane_grow(void **at, uint32_t *max, size_t want, size_t each);

/* --- load.c --- */

/* Makes plane.config of the configuration that the loader brought, or the default one where that is
 * bad. Once. False: there is no memory even for an empty one. */
bool load_start(void);

/* What the machine says of a configuration, with that application, beyond config_parse: E_INVAL. */
int load_check(const struct config *c, enum core_app_number app, struct text_error *err);

/* What was good is not to be applied after all, for what plane.error says. */
void load_withdraw(void);

/* Tells what is wrong with it. */
void load_report(void);

/* --- forwarding.c --- */

#define TABLES_LEAST (4u << 20) /* bytes of the snapshot, at least, where there is as much */
#define ROUTES_MAX (1u << 20)

/* Makes the forwarding tables, empty, behind the view's `used` bytes. Their memory is taken once.
 * False: there is not enough. */
bool forwarding_start(struct view *v, size_t used);

/* Is there memory for the tables of a configuration? For those of IPv6 and of neighbours it is taken,
 * and kept. *as_it_is: the ports need not be restarted for that. */
bool forwarding_room(const struct config *c, bool *as_it_is);

/* Bytes of the snapshot in use: before the forwarding tables, and theirs. */
void forwarding_snapshot_used(size_t *before, size_t *tables);

/* --- interfaces.c --- */

/* The MTU of a port: that configured, or the usual one if the device takes that (VIRTIO 1.2 5.1.4.1:
 * no more). */
unsigned interface_mtu(const struct config *c, unsigned port);

/* Fills the view's interfaces; then, when the tables are there, enters the routes that follow from
 * their addresses, and the configuration's. */
void interfaces_start(struct view *v);
void interfaces_routes(const struct view *v);

/* The link of a port is up or down, and so is that of its interfaces. */
void interfaces_link(unsigned port, bool up);

/* --- punt.c --- */

/* control_hooks.msg. */
void punt_input(const struct core_msg *m);

/* --- neighbour.c --- */

/* Where a frame given to ARP comes from: what becomes of a received one is its fate, what becomes
 * of our own is not. */
enum frame_origin { FRAME_TRANSIT, FRAME_OWN };

/* Makes the ARP table anew, with our addresses and the configured neighbours. E_NOMEM. */
int neighbour_start(void);

/* While the ports run: the static neighbours of `next` take the place of those of plane.config,
 * both versions', and its ARP timeout counts for whom is heard from now on. Their interfaces and
 * addresses are the same. */
void neighbour_change(const struct config *next);

/* Does what is due; returns core_now_ns() of the next deadline, UINT64_MAX for none. */
uint64_t neighbour_timer(void);

/* A link went up or down, and ARP has been told: adjacencies forward only into links that are
 * up. */
void neighbour_link(unsigned port, bool up);

/* A route to that very address has gone: if it is a neighbour's, it leads there again. */
void neighbour_uncover(uint32_t ip);

/* The next-hop number of the neighbour, made if need be; NH_NULL0 when the table is full. */
uint32_t neighbour_next_hop(unsigned port, uint32_t ip);

/* Sends a frame to nh, the next hop that a look-up of dst gave, NH_CONNECTED or above; it may have
 * to wait for ARP. A received one is counted, whatever becomes of it. pair: the queue pair to leave
 * by, or PAIR_ANY. */
#define PAIR_ANY 0xff
void neighbour_output(uint32_t nh, uint32_t dst, uint8_t *frame, unsigned len,
                      enum frame_origin origin, unsigned pair);

/* Takes memory for a table as that configuration wants it, if there is none yet; the next
 * neighbour_start uses it. False: there is not enough. */
bool neighbour_room(const struct config *c);

/* The longest frame that may wait, bytes: the usual one, or, where an interface takes longer ones,
 * the longest of all, so that memory is taken anew but once. */
uint32_t neighbour_frame_max(const struct config *c);
#define NEIGHBOUR_PENDING_MIN 64 /* so many frames can wait, however little memory there is */

/* --- neighbour6.c: the same for IPv6; the addresses, as on the wire --- */

/* Makes the ND table anew, with our addresses, which DAD then looks at, the configured neighbours
 * and what is advertised. E_NOMEM. */
int neighbour6_start(void);

/* As neighbour_room. */
bool neighbour6_room(const struct config *c);

/* IPv6's part of neighbour_change. */
void neighbour6_change(const struct config *next);

uint64_t neighbour6_tick(uint64_t now_ns);
void neighbour6_link(unsigned port, bool up);
uint32_t neighbour6_next_hop(unsigned port, const struct net_addr *addr);
void neighbour6_output(uint32_t nh, const struct net_addr *dst, uint8_t *frame, unsigned len,
                       enum frame_origin origin, unsigned pair);

/* --- autoconfig.c: for applications that are no routers --- */

/* Forgets all; the ND table has just been made. */
void autoconfig_init(void);

/* The port takes what its routers advertise. As slaac_start. */
int autoconfig_start(unsigned port);

/* One of our addresses may be used from now on, or no longer: sees to a way by which packets to it
 * find hosts6 or us. */
void autoconfig_address(unsigned port, const struct net_addr *addr, bool up);

/* Is this route, which fib6 has, an advertisement's? */
bool autoconfig_made(const struct net_addr *prefix, unsigned plen);

/* --- local.c --- */

void local_start(void);

/* ICMP errors are limited as this configuration says, the control core's and those of data cores. */
void local_limit(const struct config *c);

/* Where packets of ours are built, the longest too; used by one function of local.c or local6.c at
 * a time. */
#define LOCAL_FRAME_BYTES (ETH_HLEN + IP6_PACKET_MAX)
extern uint8_t local_frame[LOCAL_FRAME_BYTES];

/* May one more ICMP error of either family go now? */
bool local_error_permitted(void);

/* A packet to one of our addresses. Returns its fate for the caller to count, or CNT_NONE: it has
 * been counted, or is a fragment that waits for others. */
enum counter local_input(const struct core_msg *m);

/* Sends a frame of our own by the route to its destination, in fragments if need be. Its buffer
 * holds ETH_FRAME_MIN bytes at least. One that cannot leave is counted as originated_drop_tx. */
void local_output(uint8_t *frame, unsigned len);

/* Sends an ICMP error (without a second header word) about the received packet of which len bytes
 * are at ip, if one is allowed and the rate permits. The packet has passed ip4_check. */
void local_error(const uint8_t *ip, unsigned len, uint8_t type, uint8_t code);

/* Our source address towards dst; dst itself when it is ours; 0: no route. */
uint32_t local_source(uint32_t dst);

/* A message with an ICMP error, of either version, that quotes a TCP segment: to the data cores, of
 * which one has the connection (RFC 1122 4.2.3.9). */
void local_tell_tcp(const struct core_msg *m);

/* --- local6.c: the same for IPv6. `port`: the link that is meant where an address is link-local --- */

/* CNT_NONE: a fragment that waits for others. */
enum counter local6_input(const struct core_msg *m);
void local6_output(uint8_t *frame, unsigned len, unsigned port);

/* rest: as in struct icmp6_error. port: that the packet came by. */
void local6_error(unsigned port, const uint8_t *ip, unsigned len, uint8_t type, uint8_t code,
                  uint32_t rest);

/* Our source address towards dst, dst itself when it is ours; false: there is no way. */
bool local6_source(const struct net_addr *dst, unsigned port, struct net_addr *src);

/* A packet from a data core whose neighbour is not known yet. Its fate comes when it leaves the
 * neighbour's queue. */
void local6_resolve(const struct core_msg *m, enum frame_origin origin);

/* --- ping.c --- */

/* Begins to send `times` requests with `bytes` of data and marks the shell busy, or says why not.
 * What comes of it is printed there. There is one ping: another console's has to end first. port:
 * the link meant where dst is link-local. */
void ping_start(struct shell *sh, const struct net_addr *dst, unsigned port, unsigned times,
                unsigned bytes);

/* An echo reply, or an ICMP error, came from that address: maybe ping's. */
void ping_reply(uint32_t from, const struct icmp4_msg *m, uint8_t ttl);
void ping_error(uint32_t from, const struct icmp4_msg *m);
void ping_reply6(const struct net_addr *from, const struct icmp6_msg *m, uint8_t hop_limit);
void ping_error6(const struct net_addr *from, const struct icmp6_msg *m);

/* Does what is due; returns core_now_ns() of the next step, UINT64_MAX for none. */
uint64_t ping_timer(void);

/* --- commands.c, show.c --- */

/* All commands: ours, and, once it is known, those of the application. */
const struct shell_command *commands_all(unsigned *count);

void show_interfaces(struct shell *sh, int argc, char **argv);
void show_arp(struct shell *sh, int argc, char **argv);
void show_neighbours6(struct shell *sh, int argc, char **argv);
void show_ip_brief(struct shell *sh, int argc, char **argv);
void show_ipv6_brief(struct shell *sh, int argc, char **argv);
void show_cores(struct shell *sh, int argc, char **argv);
void show_tcp(struct shell *sh, int argc, char **argv);
void show_crash(struct shell *sh, int argc, char **argv);
void show_events(struct shell *sh, int argc, char **argv);
void show_version(struct shell *sh, int argc, char **argv);
void show_config(struct shell *sh, int argc, char **argv);

/* --- show_memory.c --- */

/* The private memory that was taken since the note before was for this, says `show memory`; `what` is
 * constant. */
void memory_note(const char *what);
extern const char memory_later[]; /* for that which is taken while the ports run */
void show_memory(struct shell *sh, int argc, char **argv);

/* --- show_counters.c --- */

void show_counters(struct shell *sh, int argc, char **argv);
void show_interfaces_counters(struct shell *sh, int argc, char **argv);
void show_interfaces_drops(struct shell *sh, int argc, char **argv);
void show_interfaces_rates(struct shell *sh, int argc, char **argv);
void clear_counters(struct shell *sh, int argc, char **argv);

/* `show interfaces rates`; returns core_now_ns() of its end, UINT64_MAX for none. */
uint64_t rates_timer(void);

/* --- show_route.c --- */

void show_route(struct shell *sh, int argc, char **argv);
void show_route6(struct shell *sh, int argc, char **argv);
void show_route_idle(struct shell *sh, int argc, char **argv);
void show_route6_idle(struct shell *sh, int argc, char **argv);

/* --- show_summary.c --- */

void show_route_summary(struct shell *sh, int argc, char **argv);
void show_route6_summary(struct shell *sh, int argc, char **argv);

/* Counts on; as rates_timer. */
uint64_t summary_timer(void);

/* --- servers.c --- */

/* In plane_start: memory for those of the configuration, and their ports in the view. */
void servers_prepare(struct view *v);

/* The ports run: TCP begins, without connections, and they listen. */
void servers_start(void);

/* Is there each that the configuration wants? Between servers_prepare and the next change of it. */
bool servers_are_there(void);

/* Is there memory for the servers that a commit opens? It is taken then. */
bool servers_room(const struct config *next);

/* Opens, moves and closes them, as the configuration that is to run has them; servers_room has said
 * yes. */
void servers_change(const struct config *next);

#endif
