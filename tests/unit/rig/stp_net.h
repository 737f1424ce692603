/*
 * A network of bridges of net/stp in virtual time. LANs connect their ports: a cable has two, a hub
 * more. A LAN delivers a frame to its other ports after a random delay, in order for each sender, or
 * loses it. The network watches for loops after every change of a port's state.
 */
#ifndef TESTS_UNIT_RIG_STP_NET_H
#define TESTS_UNIT_RIG_STP_NET_H

#include "tests/unit/rig/host.h"

#include "net/stp/stp.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

#define NET_BRIDGES_MAX 24u
#define NET_LANS_MAX 96u
#define LAN_PORTS_MAX 6u
#define FLIGHT_MAX 8192u

struct lan {
	unsigned ports;
	unsigned bridge[LAN_PORTS_MAX], port[LAN_PORTS_MAX];
	bool up;
	bool deaf[LAN_PORTS_MAX];         /* this port hears nothing: a link of one direction */
	uint64_t last_ns[LAN_PORTS_MAX];  /* arrival of the last frame that this port sent */
};

/* A frame in flight. */
struct flight {
	uint64_t at_ns, serial;
	unsigned bridge, port, lan, epoch;
	uint8_t frame[STP_FRAME_LEN];
};

struct net_bridge {
	struct stp stp;
	bool old;   /* an STP bridge of before 2001: does not know RST BPDUs */
	bool frozen; /* its core is held up: no ticks, and frames wait */
	int lan[STP_PORTS_MAX]; /* -1: nothing is plugged in */
	enum stp_state state[STP_PORTS_MAX]; /* as told by ops->state */
	unsigned flushed[STP_PORTS_MAX], sent[STP_PORTS_MAX], guarded[STP_PORTS_MAX];
	unsigned changes; /* of port states */
};

struct net {
	unsigned bridges, lans;
	struct net_bridge bridge[NET_BRIDGES_MAX];
	struct lan lan[NET_LANS_MAX];
	unsigned epoch[NET_LANS_MAX]; /* frames sent before a link went down are lost */
	struct flight flight[FLIGHT_MAX];
	unsigned flights;
	uint64_t serial;
	uint64_t now_ns;
	uint64_t delay_min_ns, delay_max_ns;
	unsigned loss_percent;
	bool looped;
	uint64_t loop_since_ns, loop_longest_ns;
	unsigned loops;        /* how many there were */
};

/* Bridge i has the address 02:00:00:00:00:i+1. Returns the number of the new
 * bridge, with all ports unplugged. */
unsigned net_bridge_add(struct net *n, const struct stp_params *params);

void net_init(struct net *n); /* no bridges; delays of 10 to 100 us, no loss */

/* A cable between two ports, 1 Gbit/s full duplex, and plugged in: its number. Ports: the first free
 * one of each bridge. */
unsigned net_cable(struct net *n, unsigned a, unsigned b);

/* A hub without ports; net_hub_join plugs the first free port of a bridge in, half duplex. */
unsigned net_hub(struct net *n);
void net_hub_join(struct net *n, unsigned lan, unsigned bridge);

/* Both ends see it at once. */
void net_lan_up(struct net *n, unsigned lan, bool up);

/* Runs all events until that time, or for that long. */
void net_run_until(struct net *n, uint64_t at_ns);
void net_run(struct net *n, uint64_t ns);

/* Runs until net_is_tree, at most that long; returns how long it took, UINT64_MAX: it did not. */
uint64_t net_settle(struct net *n, uint64_t limit_ns);

/* Compares the network with an oracle: each connected set of bridges has the best bridge as root and
 * least costs, each LAN one designated port, and ports that forward are a tree that spans the set. On a
 * difference *why says which. */
bool net_is_tree(const struct net *n, const char **why);

/* Fails the test with the reason. */
void net_assert_tree(const struct net *n);

#endif
