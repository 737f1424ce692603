/*
 * The inside of the control plane: what the files of control/ know of each other. All of it runs on
 * the control core and waits for nothing but core_quiesce().
 *
 *     plane.c      start from the configuration, timers, messages: plane_hooks
 *     neighbour.c  ARP table ↔ adjacencies and host routes
 *     local.c      packets to and from the machine itself
 *     ping.c       the console's ping
 *     commands.c   console commands; show.c, show_tcp.c those that show
 *
 * The configuration (config.h), the console's line (shell.h) and words in text (text.h) are apart:
 * they know nothing of the machine and are tested without it.
 *
 * plane_start builds in this order: configuration, FIB, ports of the view, local_start,
 * neighbour_start, routes. It does so again in the same memory whenever the ports are restarted.
 *
 * A "frame" below has ETH_HLEN bytes for the Ethernet header, then an IPv4 packet; its length is that
 * of both. It stays the caller's and may be overwritten.
 */
#ifndef CONTROL_INSIDE_H
#define CONTROL_INSIDE_H

#include "control/config.h"
#include "control/shell.h"
#include "control/view.h"
#include "net/arp.h"
#include "net/icmp4.h"

/* --- plane.c --- */

struct plane {
	bool configured;   /* the configuration was good and is applied */
	struct config config;      /* config_default() when it was not */
	struct config_error error; /* when not configured */
	struct fib_writer fib;
	bool fib_ready;    /* there was memory for the tables: fib and arp may be used */
	struct arp arp;
	uint32_t refused_routes; /* did not fit into the table */
	uint64_t waiting;  /* received frames that wait for a neighbour: a gauge */
	bool link_up[NIC_PORTS_MAX];
	struct shell shell;
};

extern struct plane plane;

/* A line on the console that belongs to no command; 255 characters at most. */
void plane_log(const char *format, ...) PRINTF_LIKE(1, 2);

/* --- neighbour.c --- */

/* Where a frame given to ARP comes from: what becomes of a received one is its fate, what becomes
 * of our own is not. */
enum frame_origin { FRAME_TRANSIT, FRAME_OWN };

/* Makes the ARP table anew, with our addresses and the configured neighbours. E_NOMEM. */
int neighbour_start(void);

/* Does what is due; returns core_now_ns() of the next deadline, UINT64_MAX for none. */
uint64_t neighbour_timer(void);

/* A link went up or down, and ARP has been told: adjacencies forward only into links that are up. */
void neighbour_link(unsigned port, bool up);

/* The next-hop number of the neighbour, made if need be; NH_NULL0 when the table is full. */
uint32_t neighbour_next_hop(unsigned port, uint32_t ip);

/* Sends a frame to nh, the next hop that a look-up of dst gave, NH_CONNECTED or above; it may have
 * to wait for ARP. A received one is counted, whatever becomes of it. pair: the queue pair to leave
 * by, or PAIR_ANY. */
#define PAIR_ANY 0xff
void neighbour_output(uint32_t nh, uint32_t dst, uint8_t *frame, unsigned len,
                      enum frame_origin origin, unsigned pair);

/* --- local.c --- */

void local_start(void);

/* A packet to one of our addresses. Returns its fate, for the caller to count. */
enum counter local_input(const struct core_msg *m);

/* Sends a frame of our own by the route to its destination. Its buffer holds ETH_FRAME_MIN bytes at
 * least. One that cannot leave is counted as originated_drop_tx. */
void local_output(uint8_t *frame, unsigned len);

/* Sends an ICMP error (without a second header word) about the received packet of which len bytes
 * are at ip, if one is allowed and the rate permits. The packet has passed ip4_check. */
void local_error(const uint8_t *ip, unsigned len, uint8_t type, uint8_t code);

/* Our source address towards dst; dst itself when it is ours; 0: no route. */
uint32_t local_source(uint32_t dst);

/* --- ping.c --- */

/* Begins to send `times` requests with `bytes` of data and marks the shell busy, or says why not.
 * What comes of it is printed there. Only for a shell that is not busy: there is one ping. */
void ping_start(struct shell *sh, uint32_t dst, unsigned times, unsigned bytes);

/* An echo reply, or an ICMP error, came from that address: maybe ping's. */
void ping_reply(uint32_t from, const struct icmp4_msg *m, uint8_t ttl);
void ping_error(uint32_t from, const struct icmp4_msg *m);

/* Does what is due; returns core_now_ns() of the next step, UINT64_MAX for none. */
uint64_t ping_timer(void);

/* --- commands.c, show.c --- */

extern const struct shell_command plane_commands[];
extern const unsigned plane_command_count;

void show_interfaces(struct shell *sh, int argc, char **argv);
void show_route(struct shell *sh, int argc, char **argv);
void show_arp(struct shell *sh, int argc, char **argv);
void show_counters(struct shell *sh, int argc, char **argv);
void show_cores(struct shell *sh, int argc, char **argv);
void show_tcp(struct shell *sh, int argc, char **argv);
void show_version(struct shell *sh, int argc, char **argv);
void show_config(struct shell *sh, int argc, char **argv);

#endif
