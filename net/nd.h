/*
 * Neighbour discovery for IPv6 (RFC 4861), the states of our own addresses (RFC 4862 5.4, RFC 7527)
 * and the neighbour table of the router's control core: the IPv6 counterpart of net/arp.h, in the
 * same form. Router and prefix discovery build on it, in net/ra.h and net/slaac.h.
 *
 * The module is a function of (packet, time): the caller passes packets and the time, and receives
 * calls of `struct nd_ops`. It allocates nothing; it is not thread-safe.
 *
 * States of a neighbour (RFC 4861 7.3.2 and appendix C). Events: out = nd_output, t = deadline, NA
 * = neighbour advertisement, S and O its flags, MAC = the link-layer address in it, other = not the
 * one we know; MAC heard = from a solicitation, or by nd_learn from a router's message. `up` means
 * that data cores send to it without asking. `pinned`: a route uses it as next hop.
 *
 *   state       event                        next         what happens
 *   FREE        nd_neigh_get                 UNRESOLVED   nothing is sent
 *               MAC heard, is on the link    STALE        (a router: NA too, RFC 9131 4.1)
 *               the same, in a full table    STALE        another neighbour is evicted for it
 *               the same, over the limit     =            ignored
 *   UNRESOLVED  out                          INCOMPLETE   frame queued, solicitation 1 to its group
 *               nd_resolve                   INCOMPLETE   solicitation 1 to its group
 *               last nd_unpin                FREE         removed
 *   INCOMPLETE  out                          =            queued; the oldest is pushed out
 *               t, fewer than max sent       =            next solicitation
 *               t, max sent                  FAILED       queue → unreachable
 *               NA with MAC, S               REACHABLE    up, queue → release
 *               NA with MAC; MAC heard       DELAY        the same; STALE when nothing waits
 *               NA without MAC               =            ignored (7.2.5)
 *   FAILED      out                          =            unreachable at once
 *               NA with MAC; MAC heard       STALE
 *               t (hold-down over)           FREE         removed; UNRESOLVED when pinned
 *   REACHABLE   out                          =            release at once
 *               t, used meanwhile            DELAY        stays up
 *               t, not used                  STALE        down
 *               NA with other MAC, not O     STALE        down; the MAC is not believed
 *   STALE       out                          DELAY        up, release
 *               t                            FREE         removed; pinned: stays
 *   DELAY       t                            PROBE        solicitation 1 to the neighbour itself
 *   PROBE       t, fewer than max sent       =            next one
 *               t, max sent                  INCOMPLETE   down, solicitation 1 to its group: its
 *                                                         MAC may have changed
 *   DELAY,PROBE out                          =            release at once
 *   the four    NA, S, and O or same MAC     REACHABLE    up if the MAC is new
 *   above       NA, O, other MAC, not S      STALE        down, MAC noted
 *               other MAC heard              STALE        down, MAC noted
 *               nd_confirm                   REACHABLE    up if it was STALE
 *   any         nd_set_static                STATIC       up, queue → release; no timers, and ND
 *                                                         messages change nothing
 *   INCOMPLETE  no address of ours on interface   FAILED       no source address; while one is
 *                                                         tentative, it waits for that one
 *
 * STALE is down although RFC 4861 lets packets go in it: data cores forward without asking. The
 * next packet through nd_output starts DELAY, and no packet is lost.
 *
 * States of an address of ours:
 *
 *   TENTATIVE   probes sent, nothing heard   VALID        address_up, unsolicited NAs
 *               NA for it, or another's      DUPLICATE    address_duplicate; never used
 *               probe of it
 *   any         nd_link_up                   TENTATIVE    address_down if it was VALID
 *
 * Invariants
 * 1. Every frame given to nd_output ends in exactly one call of release, unreachable or lost, at
 *    once or later; nd_pending() counts the frames still waiting.
 * 2. up and down alternate for an index, except that up may repeat with a changed MAC. `removed` is
 *    never called between up and down: down comes first.
 * 3. The state is consistent before any op is called, so ops may call back into the module.
 * 4. Strangers cannot exhaust the table (RFC 6583). Neighbours that do not answer are evicted
 *    before STALE ones, and no others are evicted. A scan makes no more entries than nd_may_ask
 *    permits. Stations that announce themselves evict others from a full table at the same rate,
 *    with a separate limit. Messages from an address that is on no subnet of ours make no entry.
 * 5. An address is not used as source, answered for or announced before DAD has passed it.
 *
 * Deliberately missing: redirects (a router MUST NOT follow them, 8.2; as a host we send all
 * packets to the default router, which is no worse than a lost redirect), proxy advertisements and
 * anycast delays (7.2.7, 7.2.8), SEND (RFC 3971), optimistic DAD (RFC 4429), a ReachableTime drawn
 * once per interface: here it is drawn for each confirmation, which spreads probes further.
 */
#ifndef NET_ND_H
#define NET_ND_H

#include "lib/siphash.h"
#include "lib/types.h"
#include "net/addr.h"
#include "net/counters.h"
#include "net/eth.h"
#include "net/icmp6.h"
#include "net/icmp_limit.h"
#include "net/ip6.h"
#include "net/mld.h"
#include "net/neigh_table.h"

#define ND_INTERFACES_MAX MLD_INTERFACES_MAX
#define ND_LOCALS_MAX 1280
#define ND_NEIGHBOUR_FRAME_MAX (ETH_HLEN + IP6_HLEN + 24 + 8 + 8)

enum nd_state {
	ND_FREE,
	ND_UNRESOLVED,
	ND_INCOMPLETE,
	ND_REACHABLE,
	ND_STALE,
	ND_DELAY,
	ND_PROBE,
	ND_FAILED,
	ND_STATIC,
};

enum nd_address_state {
	ND_TENTATIVE,
	ND_VALID,
	ND_DUPLICATE,
};

/* IsRouter of RFC 4861 5.1, or unknown: a solicitation does not carry the information. */
enum nd_role {
	ND_ROLE_UNKNOWN,
	ND_ROLE_HOST,
	ND_ROLE_ROUTER,
};

struct nd_params {
	uint64_t reachable_ns;   /* BaseReachableTime (RFC 4861 10): a confirmation is valid for 0.5
	                            to 1.5 of it */
	uint64_t retransmit_ns;  /* RetransTimer */
	uint64_t delay_ns;       /* DELAY_FIRST_PROBE_TIME */
	uint64_t stale_ns;       /* how long an unused STALE neighbour is kept */
	uint64_t hold_down_ns;   /* how long frames to a neighbour that did not answer are
	                            refused */
	uint64_t start_delay_ns; /* MAX_RTR_SOLICITATION_DELAY: for the first probe and report on a
	                            link */
	uint32_t max_solicits;   /* MAX_MULTICAST_SOLICIT, MAX_UNICAST_SOLICIT */
	uint32_t dad_transmits;  /* DupAddrDetectTransmits (RFC 4862 5.1); 0: no DAD */
	uint32_t solicit_rate;   /* new neighbours a second (nd_may_ask), at least 1; also the limit
	                            of evictions */
	uint32_t solicit_burst;  /* burst of each limit */
	uint32_t queue;          /* maximum of queued frames per neighbour */
	uint32_t neighbours;     /* size of the table */
	uint32_t pending;        /* maximum of queued frames in all */
	uint32_t frame_max;      /* longest frame to queue, bytes with Ethernet header */
	bool router;             /* we forward: sent as IsRouter in our advertisements */
	struct siphash_key key;  /* secret and random: for the hash, nonces and random times */
};

#define ND_PARAMS_DEFAULT \
	((struct nd_params){ \
		.reachable_ns = 30000000000ull, \
		.retransmit_ns = 1000000000ull, \
		.delay_ns = 5000000000ull, \
		.stale_ns = 600000000000ull, \
		.hold_down_ns = 5000000000ull, \
		.start_delay_ns = 1000000000ull, \
		.max_solicits = 3, \
		.dad_transmits = 1, \
		.solicit_rate = 200, \
		.solicit_burst = 64, \
		.queue = 64, \
		.neighbours = 4096, \
		.pending = 512, \
		.frame_max = 1518, \
	})

#define ND_ANNOUNCE_NUM 3 /* MAX_NEIGHBOR_ADVERTISEMENT (RFC 4861 10) */

/* All ops are called from within module functions; ctx is the argument of nd_init. Frames passed to
 * ops belong to the module; they are valid and writable only during the call. */
struct nd_ops {
	/* Sends this complete frame from the interface. */
	void (*tx)(void *ctx, unsigned interface, const uint8_t *frame, unsigned len);
	/* The neighbour was resolved, or its MAC has changed. */
	void (*up)(void *ctx, unsigned index, const uint8_t *mac);
	/* Frames for the neighbour must be passed to nd_output again. */
	void (*down)(void *ctx, unsigned index);
	/* The frame may be sent: the caller writes the Ethernet header and sends it. */
	void (*release)(void *ctx, unsigned index, uint8_t *frame, unsigned len);
	/* Resolution failed: the caller counts drop_neigh_unreachable and sends ICMPv6 address
	 * unreachable. */
	void (*unreachable)(void *ctx, unsigned index, uint8_t *frame, unsigned len);
	/* The frame was pushed out of the queue or cannot wait: the caller counts
	 * drop_neigh_queue. */
	void (*lost)(void *ctx, unsigned index, uint8_t *frame, unsigned len);
	/* Adds n to a counter: nd_*, mld_tx_report. */
	void (*count)(void *ctx, enum counter counter, unsigned n);
	/* The index is being freed. On return it must no longer be in use: the caller removes its
	 * /128 and waits for the data cores' quiescence. The index is reused as late as
	 * possible. */
	void (*removed)(void *ctx, unsigned index);
	/* An address of ours may be used from now on, or no longer. */
	void (*address_up)(void *ctx, unsigned interface, const struct net_addr *addr);
	void (*address_down)(void *ctx, unsigned interface, const struct net_addr *addr);
	/* The address belongs to another station (mac, or NULL if the message had none): the caller
	 * tells the operator. It was not up. For the link-local address RFC 4862 5.4.5 requires
	 * IPv6 to be disabled. */
	void (*address_duplicate)(void *ctx, unsigned interface, const struct net_addr *addr,
	                          const uint8_t *mac);
};

/* A neighbour as returned by the iterator. */
struct nd_entry {
	struct net_addr addr;
	unsigned index;
	unsigned interface;
	enum nd_state state;
	uint8_t mac[ETH_ALEN]; /* last known; zero if never resolved */
	bool pinned;
	enum nd_role role;
	unsigned pending;      /* queued frames */
	uint64_t age_ns;       /* since it was last confirmed; 0 for STATIC and never confirmed */
};

/* An address of ours as returned by the iterator. */
struct nd_address {
	struct net_addr addr;
	unsigned interface;
	unsigned plen;
	enum nd_address_state state;
	bool anycast;
};

/* --- private from here on, public only for sizes --- */

struct nd_local {
	struct net_addr addr;
	uint64_t at;           /* time of the next probe or announcement */
	uint8_t interface;
	uint8_t plen;
	uint8_t state;         /* enum nd_address_state */
	uint8_t probes_left;
	uint8_t announce_left; /* VALID only */
	bool anycast;
	bool looped;           /* one of our probes has come back since DAD began */
	uint8_t mac[ETH_ALEN];
	uint8_t nonce[6];      /* of the last probe */
};

struct nd_interface {
	uint64_t reachable_ns;  /* BaseReachableTime and RetransTimer, possibly set by a router */
	uint64_t retransmit_ns;
};

struct nd {
	struct nd_params params;
	const struct nd_ops *ops;
	void *ctx;
	struct neigh_table table; /* evictable: first those that do not answer, then STALE ones */
	struct mld mld;
	struct icmp_limit solicits; /* nd_may_ask */
	struct icmp_limit swaps;    /* evictions for stations that announce themselves */
	struct icmp_limit adverts;  /* solicited advertisements to all nodes */
	struct nd_interface interface[ND_INTERFACES_MAX];
	struct nd_local local[ND_LOCALS_MAX];
	uint32_t locals;
	uint32_t router_changes;
	uint64_t drawn; /* count of random numbers drawn */
};

/* --- public: setup --- */

/* Bytes of memory that nd_init needs for these parameters. */
size_t nd_memory_bytes(const struct nd_params *params);

/*
 * Makes an empty table in mem (8-byte aligned, lent by the caller as long as the table exists). All
 * ops are required. E_INVAL: a parameter is 0 or out of range; E_NOMEM: too few bytes.
 */
int nd_init(struct nd *nd, const struct nd_params *params, void *mem, size_t bytes,
            const struct nd_ops *ops, void *ctx);

/*
 * Adds one of our addresses on an interface, with the prefix length of its subnet (128: none). It
 * is TENTATIVE; nd_tick runs DAD and then calls address_up. The link-local address
 * (ip6_link_local_of) is added the same way and should be the first. Adding an address again sets
 * plen and mac; a new MAC is announced (RFC 4861 7.2.6). E_NOMEM, E_INVAL.
 */
int nd_add_local(struct nd *nd, unsigned interface, const struct net_addr *addr, unsigned plen,
                 const uint8_t *mac, uint64_t now_ns);

/* Adds an anycast address (RFC 4291 2.6, such as the subnet-router address): no DAD (RFC 4862 5.4),
 * up with the next nd_tick, advertised without override, and never used as source. */
int nd_add_anycast(struct nd *nd, unsigned interface, const struct net_addr *addr,
                   const uint8_t *mac, uint64_t now_ns);

/* Makes an added TENTATIVE address VALID without DAD and announces it: until a moment ago it was
 * VALID in another program, for which DAD had passed it. E_NOENT. */
int nd_keep_local(struct nd *nd, unsigned interface, const struct net_addr *addr, uint64_t now_ns);

/* Removes an address of ours, or all of an interface; calls address_down for those that were up.
 * Neighbours stay: see nd_flush_interface. E_NOENT. */
int nd_remove_local(struct nd *nd, unsigned interface, const struct net_addr *addr,
                    uint64_t now_ns);
void nd_clear_local(struct nd *nd, unsigned interface, uint64_t now_ns);

/* The interface's link came up: its addresses, including duplicates, are TENTATIVE again (RFC
 * 4862 5.4: other stations may be there), and its groups are reported again. */
void nd_link_up(struct nd *nd, unsigned interface, uint64_t now_ns);

/* Sets the times of an interface's link from a router's advertisement (RFC 4861 6.3.4); 0:
 * unchanged. */
void nd_set_times(struct nd *nd, unsigned interface, uint64_t reachable_ns, uint64_t retransmit_ns);

/* True for a VALID address of ours on the interface. */
bool nd_is_local(const struct nd *nd, unsigned interface, const struct net_addr *addr);

/* A VALID link-local address of the interface and its MAC (each pointer may be NULL); false: none.
 */
bool nd_link_local(const struct nd *nd, unsigned interface, struct net_addr *addr, uint8_t *mac);

/* The best VALID source address of the interface for dst: on dst's subnet, else of its scope (RFC
 * 6724 5, rules 2 and 8, as far as there is a choice). False: none. */
bool nd_source(const struct nd *nd, unsigned interface, const struct net_addr *dst,
               struct net_addr *src);

/* Walks our addresses; *cursor starts at 0. False after the last. */
bool nd_local_next(const struct nd *nd, unsigned *cursor, struct nd_address *out);

/* --- public: neighbours, as in net/arp.h --- */

/*
 * Finds or adds the neighbour; sends nothing. Returns its index, which is valid until `removed`, or
 * E_NOMEM if the table is full and nothing can be evicted (count drop_neigh_table).
 */
int nd_neigh_get(struct nd *nd, unsigned interface, const struct net_addr *addr);

/* Must be asked before nd_neigh_get for a packet to a new neighbour. False (counted as nd_limited)
 * if there were so many lately that a scan of the subnet is likely (RFC 6583). The caller then
 * drops the packet (drop_neigh_table) and makes no entry. Next hops of routes need not ask. */
bool nd_may_ask(struct nd *nd, uint64_t now_ns);

/* Finds a neighbour without adding it; E_NOENT. */
int nd_neigh_find(const struct nd *nd, unsigned interface, const struct net_addr *addr);

/* Pins are counted. A pinned neighbour is not removed. The last nd_unpin removes it at once if it
 * is UNRESOLVED. */
void nd_pin(struct nd *nd, unsigned index);
void nd_unpin(struct nd *nd, unsigned index);

/*
 * Sends a frame to that neighbour. The frame has room for the Ethernet header in front and stays
 * the caller's; it is copied if it must wait. Invariant 1 describes its fate.
 */
void nd_output(struct nd *nd, unsigned index, uint8_t *frame, unsigned len, uint64_t now_ns);

/* As nd_output without a frame, for an UNRESOLVED or STALE neighbour; nothing in other states. */
void nd_resolve(struct nd *nd, unsigned index, uint64_t now_ns);

/*
 * Processes a received message of neighbour discovery or MLD to us or to a group
 * (nd_is_group_ours), given as whole frame with the results of ip6_upper and icmp6_input
 * (ICMP6_KIND_ND, ICMP6_KIND_MLD). Router solicitations and advertisements go to ra_input or
 * slaac_input instead. Returns its fate.
 */
enum counter nd_input(struct nd *nd, unsigned interface, const uint8_t *frame,
                      const struct ip6_upper *up, const struct icmp6_msg *m, uint64_t now_ns);

/* True if the interface listens to this group: all nodes, or a joined one. */
bool nd_is_group_ours(const struct nd *nd, unsigned interface, const struct net_addr *group);

/* Joins and leaves a group on an interface for another module (all routers; RFC 4861 6.2.2). */
int nd_join(struct nd *nd, unsigned interface, const struct net_addr *group, uint64_t now_ns);
void nd_leave(struct nd *nd, unsigned interface, const struct net_addr *group, uint64_t now_ns);

/*
 * A router discovery message from addr carried its MAC (RFC 4861 6.2.6, 6.3.4); NULL: it had none.
 * router: true for an advertisement; a solicitation shows that the sender is a host.
 */
void nd_learn(struct nd *nd, unsigned interface, const struct net_addr *addr, const uint8_t *mac,
              bool router, uint64_t now_ns);

/*
 * Restores a mapping that a previous program knew until a moment ago: the neighbour is in use at
 * once and in DELAY, so it is asked soon. STATIC ones stay. Returns its index, E_NOMEM or E_INVAL
 * (mac is not a station's, or addr is on no subnet of ours).
 */
int nd_restore(struct nd *nd, unsigned interface, const struct net_addr *addr, const uint8_t *mac,
               uint64_t now_ns);

/* Does all work due. Returns nd_deadline(). */
uint64_t nd_tick(struct nd *nd, uint64_t now_ns);

/* When nd_tick is needed next; UINT64_MAX: no timer is armed. Any other function may bring the
 * deadline forward. */
uint64_t nd_deadline(const struct nd *nd);

/* Data cores have sent to this neighbour since they were last asked. */
void nd_used(struct nd *nd, unsigned index);

/* An upper layer received an acknowledgement from this neighbour (RFC 4861 7.3.1). */
void nd_confirm(struct nd *nd, unsigned index, uint64_t now_ns);

/* The interface went down: queued frames become unreachable. Neighbours other than STATIC are
 * removed or, if pinned, UNRESOLVED. */
void nd_flush_interface(struct nd *nd, unsigned interface);

/* Adds a static neighbour; returns its index, E_NOMEM or E_INVAL (mac is not a station's, addr not
 * unicast). */
int nd_set_static(struct nd *nd, unsigned interface, const struct net_addr *addr,
                  const uint8_t *mac);

/* Removes a neighbour in any state: as nd_flush_interface, for one neighbour and also for STATIC.
 * E_NOENT. */
int nd_forget(struct nd *nd, unsigned interface, const struct net_addr *addr);

/* Address, interface, state and role of a neighbour. */
static inline struct net_addr nd_neigh_addr(const struct nd *nd, unsigned index)
{
	return nd->table.neigh[index].addr;
}

static inline unsigned nd_neigh_interface(const struct nd *nd, unsigned index)
{
	return nd->table.neigh[index].interface;
}

static inline enum nd_state nd_neigh_state(const struct nd *nd, unsigned index)
{
	return (enum nd_state)nd->table.neigh[index].state;
}

static inline enum nd_role nd_neigh_role(const struct nd *nd, unsigned index)
{
	return (enum nd_role)nd->table.neigh[index].role;
}

/* Increments when a router's state changes or a neighbour's role changes; users then choose a
 * router again (RFC 4861 6.3.6). */
static inline uint32_t nd_router_changes(const struct nd *nd) { return nd->router_changes; }

/* Walks the table by index; *cursor starts at 0. False after the last. */
bool nd_next(const struct nd *nd, unsigned *cursor, uint64_t now_ns, struct nd_entry *out);

/* The number of queued frames. */
static inline uint32_t nd_pending(const struct nd *nd) { return nd->table.pending; }

/* Names for display: "reachable" and so on, for `show ipv6 neighbors`; "tentative" and so on. */
const char *nd_state_name(enum nd_state state);
const char *nd_address_state_name(enum nd_address_state state);

/* A uniform random number in 0 .. below - 1, derived from the key: for random times in net/ra.h and
 * net/slaac.h. */
uint32_t nd_random(struct nd *nd, uint32_t below);

#endif
