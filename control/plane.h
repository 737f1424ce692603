/*
 * The control plane that all applications share: configuration, addresses, routes, neighbours,
 * the machine's own ICMP and UDP, console. It runs on the control core; what data cores need of
 * it is published in the view (control/view.h).
 *
 * plane.c      start from the configuration, timers, messages: plane_hooks
 * neighbour.c  ARP table ↔ adjacencies and host routes
 * local.c      packets to and from the machine itself
 * commands.c   console commands; show.c those that show
 */
#ifndef CONTROL_PLANE_H
#define CONTROL_PLANE_H

#include "control/config.h"
#include "control/shell.h"
#include "control/view.h"
#include "net/arp.h"
#include "net/icmp4.h"

struct plane {
	bool configured;   /* the configuration was good and is applied */
	struct config config;
	struct config_error error; /* when not configured */
	struct fib4_writer fib;
	bool fib_ready;
	struct arp arp;
	uint32_t refused_routes; /* did not fit into the table */
	uint64_t waiting;  /* received frames that wait for a neighbour: a gauge */
	bool link_up[NIC_PORTS_MAX];
	struct shell shell;
};

extern struct plane plane;

/* The control half of struct app. It understands enum punt_kind and sends enum inject_kind (view.h). */
extern const struct control_hooks plane_hooks;

/* --- neighbour.c --- */

/*
 * Frames given to ARP carry, where their Ethernet header will be, where they come from: what
 * becomes of a received frame is its fate, what becomes of our own is not.
 */
enum frame_origin { FRAME_TRANSIT, FRAME_OWN };

int neighbour_start(void);
uint64_t neighbour_timer(void); /* core_now_ns() of the next deadline */

/* A link went up or down, after ARP has been told: adjacencies forward only into links that are up. */
void neighbour_link(unsigned port, bool up);

/* Sends a frame (Ethernet header space, IPv4 packet) to next hop `nh` of a look-up for dst. */
void neighbour_output(uint32_t nh, uint32_t dst, uint8_t *frame, unsigned len,
                      enum frame_origin origin);

/* The neighbour's next-hop number, made if need be; NH_NULL0 when the table is full. */
uint32_t neighbour_next_hop(unsigned port, uint32_t ip);

/* --- local.c --- */

/* A packet to one of our addresses; returns its fate. */
enum counter local_input(const struct core_msg *m);

/* Sends an IPv4 packet of our own; `frame` has Ethernet header space before it. */
void local_output(uint8_t *frame, unsigned len);

/* Sends an ICMP error about a packet that was received, if one is allowed and the rate permits. */
void local_error(const uint8_t *ip, unsigned len, uint8_t type, uint8_t code);

/* Our source address towards dst; 0: no route. */
uint32_t local_source(uint32_t dst);

void local_start(void);

/* The console's ping: one at a time. Results are printed on the shell. */
void ping_start(struct shell *sh, uint32_t dst, unsigned times, unsigned bytes);
void ping_reply(uint32_t from, const struct icmp4_msg *m, uint8_t ttl);
void ping_error(uint32_t from, const struct icmp4_msg *m);
uint64_t ping_timer(void); /* core_now_ns() of its next step */

/* --- commands.c, show.c --- */

extern const struct shell_command plane_commands[];
extern const unsigned plane_command_count;

void show_interfaces(struct shell *sh, int argc, char **argv);
void show_route(struct shell *sh, int argc, char **argv);
void show_arp(struct shell *sh, int argc, char **argv);
void show_counters(struct shell *sh, int argc, char **argv);
void show_cores(struct shell *sh, int argc, char **argv);
void show_version(struct shell *sh, int argc, char **argv);
void show_config(struct shell *sh, int argc, char **argv);

/* A line on the console that belongs to no command. */
void plane_log(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
