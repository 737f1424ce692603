/*
 * MLD, the listener's half (RFC 3810; RFC 2710 towards an old querier), for the link-local groups
 * that neighbour discovery listens to: switches that snoop forward a group only where a report was
 * heard, so without it nobody could resolve us.
 *
 * A function of (packet, time) like net/arp.h. Every listener here wants a group from any source:
 * filter mode EXCLUDE with an empty list.
 *
 *   event                                what happens
 *   first mld_join of a group            report "changed to EXCLUDE {}", and once more within 1 s
 *   last mld_leave                       report "changed to INCLUDE {}", and once more within 1 s
 *   query, for the group or for all      report "is EXCLUDE {}" after a random part of its delay
 *   the querier is of version 1          the same as its Report and Done, for 260 s after its last
 *                                        query; a report of another listener serves for ours
 *
 * Invariant: a group has an entry while somebody has joined it or a leave has still to be sent.
 *
 * Deliberately missing: sources (a query for some sources of a group is answered as one for the
 * group, which says more than was asked), the router's half (no multicast is routed here), several
 * groups in one report.
 */
#ifndef NET_MLD_H
#define NET_MLD_H

#include "lib/types.h"
#include "net/addr.h"
#include "net/counters.h"
#include "net/eth.h"
#include "net/icmp6.h"
#include "net/ip6.h"

#define MLD_GROUPS_MAX 1408
#define MLD_PORTS_MAX 128
#define MLD_FRAME_MAX (ETH_HLEN + IP6_HLEN + IP6_ROUTER_ALERT_HLEN + 28)

#define MLD_ROBUSTNESS 2                        /* RFC 3810 9.1: times a change is reported */
#define MLD_UNSOLICITED_NS 1000000000ull        /* 9.11 */
#define MLD_OLDER_QUERIER_NS 260000000000ull    /* 9.12: 2 * 125 s + 10 s */

struct mld_ops {
	/* Send this frame (complete) out of the port. */
	void (*tx)(void *ctx, unsigned port, const uint8_t *frame, unsigned len);
	/* Who sends on the port: its MAC and a valid link-local address, or the unspecified one as
	 * long as there is none (RFC 3590 4). False: nobody can. */
	bool (*source)(void *ctx, unsigned port, struct net_addr *addr, uint8_t *mac);
	/* Uniform in 0 .. below - 1. */
	uint32_t (*random)(void *ctx, uint32_t below);
	/* Add n to a counter: mld_tx_report. */
	void (*count)(void *ctx, enum counter counter, unsigned n);
};

/* --- private from here on, laid open for sizes only --- */

struct mld_group {
	struct net_addr addr;
	uint64_t change_at; /* valid while changes_left */
	uint64_t answer_at; /* valid while answer */
	uint32_t joins;     /* 0: leaving */
	uint8_t port;
	uint8_t changes_left;
	bool answer;
};

struct mld {
	const struct mld_ops *ops;
	void *ctx;
	struct mld_group group[MLD_GROUPS_MAX];
	uint32_t groups;
	uint64_t v1_until[MLD_PORTS_MAX];
};

/* --- public --- */

void mld_init(struct mld *m, const struct mld_ops *ops, void *ctx);

/* Listens to a group on a port; joins count. The first report goes out at at_ns. The group of all
 * nodes and those of a lesser scope are never reported (RFC 3810 6). E_NOMEM: too many groups. */
int mld_join(struct mld *m, unsigned port, const struct net_addr *group, uint64_t at_ns);

/* Takes one join back; of a group that is not joined nothing. */
void mld_leave(struct mld *m, unsigned port, const struct net_addr *group, uint64_t now_ns);

bool mld_is_joined(const struct mld *m, unsigned port, const struct net_addr *group);

/* The link came up: all groups of the port are reported anew, from at_ns on. */
void mld_link_up(struct mld *m, unsigned port, uint64_t at_ns);

/* An MLD message (icmp6_input said ICMP6_KIND_MLD) in the packet at ip. Returns its fate. */
enum counter mld_input(struct mld *m, unsigned port, const uint8_t *ip, const struct ip6_upper *up,
                       const struct icmp6_msg *msg, uint64_t now_ns);

/* Does what is due. */
void mld_tick(struct mld *m, uint64_t now_ns);

/* When mld_tick is needed next; UINT64_MAX: not before something else happens. */
uint64_t mld_deadline(const struct mld *m);

#endif
