/*
 * MLD, the listener part (RFC 3810; RFC 2710 with an old querier), for the link-local groups of
 * neighbour discovery. Snooping switches forward a group only where a report was heard, so without
 * MLD nobody could resolve our addresses.
 *
 * A function of (packet, time) like net/arp.h. Every listener here accepts a group from any source:
 * filter mode EXCLUDE with an empty list.
 *
 *   event                                what happens
 *   first mld_join of a group            report "changed to EXCLUDE {}", and once more within 1 s
 *   last mld_leave                       report "changed to INCLUDE {}", and once more within 1 s
 *   query, for the group or for all      report "is EXCLUDE {}" after a random part of its delay
 *   the querier is of version 1          the same as its Report and Done, for 260 s after its last
 *                                        query; a report of another listener replaces ours
 *
 * Invariant: a group has an entry while it is joined or a leave has still to be reported.
 *
 * Deliberately missing: sources (a query for some sources of a group is answered as one for the
 * group, which reports more than was asked), the router part (multicast is not routed here),
 * several groups in one report.
 */
#ifndef NET_MLD_H
#define NET_MLD_H

#include "lib/types.h"
#include "net/addr.h"
#include "net/counters.h"
#include "net/eth.h"
#include "net/icmp6.h"
#include "net/ip6.h"

#define MLD_GROUPS_MAX 1536
#define MLD_INTERFACES_MAX 128
#define MLD_FRAME_MAX (ETH_HLEN + IP6_HLEN + IP6_ROUTER_ALERT_HLEN + 28)

#define MLD_ROBUSTNESS 2                        /* RFC 3810 9.1: number of reports per change */
#define MLD_UNSOLICITED_NS 1000000000ull        /* 9.11 */
#define MLD_OLDER_QUERIER_NS 260000000000ull    /* 9.12: 2 * 125 s + 10 s */

struct mld_ops {
	/* Sends this complete frame from the interface. */
	void (*tx)(void *ctx, unsigned interface, const uint8_t *frame, unsigned len);
	/* The sender on the interface: its MAC and a valid link-local address, or the unspecified
	 * address while there is none (RFC 3590 4). False: none can send. */
	bool (*source)(void *ctx, unsigned interface, struct net_addr *addr, uint8_t *mac);
	/* Returns a uniform random number in 0 .. below - 1. */
	uint32_t (*random)(void *ctx, uint32_t below);
	/* Adds n to a counter: mld_tx_report. */
	void (*count)(void *ctx, enum counter counter, unsigned n);
};

/* --- private from here on, public only for sizes --- */

struct mld_group {
	struct net_addr addr;
	uint64_t change_at; /* valid if changes_left */
	uint64_t answer_at; /* valid if answer */
	uint32_t joins;     /* 0: leaving */
	uint8_t interface;
	uint8_t changes_left;
	bool answer;
};

struct mld {
	const struct mld_ops *ops;
	void *ctx;
	struct mld_group group[MLD_GROUPS_MAX];
	uint32_t groups;
	uint64_t v1_until[MLD_INTERFACES_MAX];
};

/* --- public --- */

void mld_init(struct mld *m, const struct mld_ops *ops, void *ctx);

/* Joins a group on an interface; joins are counted. The first report is sent at at_ns. The
 * all-nodes group and groups of smaller scope are never reported (RFC 3810 6). E_NOMEM: too many
 * groups. */
int mld_join(struct mld *m, unsigned interface, const struct net_addr *group, uint64_t at_ns);

/* Drops one join; no effect on a group that is not joined. */
void mld_leave(struct mld *m, unsigned interface, const struct net_addr *group, uint64_t now_ns);

bool mld_is_joined(const struct mld *m, unsigned interface, const struct net_addr *group);

/* The link came up: all groups of the interface are reported again, from at_ns on. */
void mld_link_up(struct mld *m, unsigned interface, uint64_t at_ns);

/* Handles an MLD message (ICMP6_KIND_MLD by icmp6_input) in the packet at ip. Returns its fate. */
enum counter mld_input(struct mld *m, unsigned interface, const uint8_t *ip,
                       const struct ip6_upper *up, const struct icmp6_msg *msg, uint64_t now_ns);

/* Does all work due. */
void mld_tick(struct mld *m, uint64_t now_ns);

/* When mld_tick is needed next; UINT64_MAX: no timer is armed. */
uint64_t mld_deadline(const struct mld *m);

#endif
