/*
 * ARP (RFC 826, RFC 1122 2.3.2, RFC 5227) and the neighbour table of the router's control core.
 *
 * The module is a function of (frame, time): the caller passes frames and the time, and receives
 * calls of `struct arp_ops`. It allocates nothing; it is not thread-safe.
 *
 * States of a neighbour (events: out = arp_output, heard = an acceptable ARP message from it, t =
 * deadline). `pinned`: a route uses it as next hop (arp_pin), so it is never removed.
 *
 *   state       event                        next         what happens
 *   FREE        arp_neigh_get                UNRESOLVED   nothing is sent
 *   FREE        request to us heard          REACHABLE    up
 *   UNRESOLVED  out                          INCOMPLETE   frame queued, request 1 broadcast
 *               arp_resolve                  INCOMPLETE   request 1 broadcast
 *               last arp_unpin               FREE         removed
 *   INCOMPLETE  out                          =            queued; the oldest is pushed out
 *               t, fewer than max requests   =            next request
 *               t, max requests sent         FAILED       queue → unreachable
 *   REACHABLE   out                          =            release at once
 *               t, used or pinned            PROBE        request 1 unicast
 *               t, neither                   =            waits for the end of its time
 *               arp_used or out after that   PROBE        request 1 unicast
 *               end of its time              FREE         down, removed
 *   PROBE       out                          =            release at once
 *               t, fewer than max requests   =            next unicast request
 *               t, max requests sent         INCOMPLETE   down, request 1 broadcast: its MAC may
 *                                                         have changed
 *   FAILED      out                          =            unreachable at once
 *               t (hold-down over)           FREE         removed; UNRESOLVED when pinned
 *   any of the five above: heard             REACHABLE    up if the MAC is new, queue → release
 *   any         arp_set_static               STATIC       up, queue → release; no timers, and ARP
 *                                                         messages change nothing
 *   INCOMPLETE  no address of ours on interface   FAILED       no source address
 *
 * Invariants
 * 1. Every frame given to arp_output ends in exactly one call of release, unreachable or lost, at
 *    once or later; arp_pending() counts the frames still waiting.
 * 2. up and down alternate for an index, except that up may repeat with a changed MAC. `removed` is
 *    never called between up and down: down comes first.
 * 3. The state is consistent before any op is called, so ops may call back into the module.
 *
 * Deliberately missing: proxy ARP (RFC 1027), answering on one interface for our address on
 * another, and probing an address before use (RFC 5227 2.1: an address configured on a router is
 * announced and defended, not given up).
 */
#ifndef NET_ARP_H
#define NET_ARP_H

#include "lib/bytes.h"
#include "lib/types.h"
#include "net/counters.h"
#include "net/eth.h"
#include "net/icmp_limit.h"
#include "net/neigh_table.h"

#define ARP_FRAME_LEN 42 /* Ethernet header and message; the interface adds padding */
#define ARP_LOCALS_MAX 512

#define ARP_HTYPE_ETHERNET 1
#define ARP_OP_REQUEST 1
#define ARP_OP_REPLY 2

/* The message for Ethernet and IPv4, after the Ethernet header. */
struct arp_message {
	be16_t htype;
	be16_t ptype;
	uint8_t hlen;
	uint8_t plen;
	be16_t op;
	uint8_t sha[ETH_ALEN]; /* sender's hardware and protocol address */
	be32_t spa;
	uint8_t tha[ETH_ALEN]; /* target's */
	be32_t tpa;
} __attribute__((packed));
_Static_assert(sizeof(struct arp_message) == ARP_FRAME_LEN - ETH_HLEN, "wire format");

enum arp_state {
	ARP_FREE,
	ARP_UNRESOLVED,
	ARP_INCOMPLETE,
	ARP_REACHABLE,
	ARP_PROBE,
	ARP_FAILED,
	ARP_STATIC,
};

struct arp_params {
	uint64_t reachable_ns;   /* `arp timeout`: how long a received mapping is valid */
	uint64_t retransmit_ns;  /* between requests; RFC 1122 2.3.2.1: at most one a second */
	uint64_t hold_down_ns;   /* how long frames to a neighbour that did not answer are
	                            refused */
	uint32_t max_probes;     /* requests before giving up, separately for broadcast and
	                            unicast */
	uint32_t ask_rate;       /* new neighbours a second (arp_may_ask), at least 1; also the
	                            limit of evictions */
	uint32_t ask_burst;      /* burst of both limits */
	uint32_t queue;          /* maximum of queued frames per neighbour */
	uint32_t neighbours;     /* size of the table */
	uint32_t pending;        /* maximum of queued frames in all */
	uint32_t frame_max;      /* longest frame to queue, bytes with Ethernet header */
};

#define ARP_PARAMS_DEFAULT \
	((struct arp_params){ \
		.reachable_ns = 300000000000ull, \
		.retransmit_ns = 1000000000ull, \
		.hold_down_ns = 5000000000ull, \
		.max_probes = 3, \
		.ask_rate = 1000, \
		.ask_burst = 256, \
		.queue = 64, \
		.neighbours = 4096, \
		.pending = 512, \
		.frame_max = 1518, \
	})

/* RFC 5227 1.1 */
#define ARP_ANNOUNCE_NUM 2
#define ARP_ANNOUNCE_INTERVAL_NS 2000000000ull
#define ARP_DEFEND_INTERVAL_NS 10000000000ull

/* All ops are called from within module functions; ctx is the argument of arp_init. Frames passed
 * to ops belong to the module; they are valid and writable only during the call. */
struct arp_ops {
	/* Sends this ARP frame (ARP_FRAME_LEN bytes, complete) from the interface. */
	void (*tx)(void *ctx, unsigned interface, const uint8_t *frame, unsigned len);
	/* The neighbour was resolved, or its MAC has changed. */
	void (*up)(void *ctx, unsigned index, const uint8_t *mac);
	/* No longer resolved; frames for it must be passed to arp_output again. */
	void (*down)(void *ctx, unsigned index);
	/* The frame may be sent: the caller writes the Ethernet header and sends it. */
	void (*release)(void *ctx, unsigned index, uint8_t *frame, unsigned len);
	/* Resolution failed: the caller counts drop_neigh_unreachable and sends ICMP host
	 * unreachable. */
	void (*unreachable)(void *ctx, unsigned index, uint8_t *frame, unsigned len);
	/* The frame was pushed out of the queue or cannot wait: the caller counts
	 * drop_neigh_queue. */
	void (*lost)(void *ctx, unsigned index, uint8_t *frame, unsigned len);
	/* Adds n to a counter: arp_tx_request, arp_tx_reply, arp_conflict, arp_limited. */
	void (*count)(void *ctx, enum counter counter, unsigned n);
	/* The index is being freed. On return it must no longer be in use: the caller removes its
	 * /32 and waits for the data cores' quiescence. The index is reused as late as possible. */
	void (*removed)(void *ctx, unsigned index);
	/* Have frames been sent to the neighbour lately without arp_output? Asked before a full
	 * table evicts it. NULL: never. Must not call the module. */
	bool (*in_use)(void *ctx, unsigned index);
	/* Another station, with this MAC, claims our address on the interface. Once in RFC 5227's
	 * DEFEND_INTERVAL, when the address is defended. NULL: not reported. */
	void (*conflict)(void *ctx, unsigned interface, uint32_t ip, const uint8_t *mac);
};

/* A neighbour as returned by the iterator. */
struct arp_entry {
	uint32_t ip;
	unsigned index;
	unsigned interface;
	enum arp_state state;
	uint8_t mac[ETH_ALEN]; /* last known; zero if never resolved */
	bool pinned;
	unsigned pending;      /* queued frames */
	uint64_t age_ns;       /* since it was last heard; 0 for STATIC and never heard */
};

/* --- private from here on, public only for sizes --- */

struct arp_local {
	uint64_t announce_at;
	uint64_t defended_at; /* valid if `defended` */
	uint32_t ip;
	uint8_t interface;
	uint8_t plen;
	uint8_t announce_left;
	bool defended;
	uint8_t mac[ETH_ALEN];
};

struct arp {
	struct arp_params params;
	const struct arp_ops *ops;
	void *ctx;
	struct neigh_table table; /* evictable: FAILED, UNRESOLVED; INCOMPLETE; REACHABLE and not
	                             `wanted` */
	struct icmp_limit asks, swaps; /* arp_may_ask; evictions for stations that ask for us */
	struct arp_local local[ARP_LOCALS_MAX];
	uint32_t locals;
};

/* --- public --- */

/* Bytes of memory that arp_init needs for these parameters. */
size_t arp_memory_bytes(const struct arp_params *params);

/*
 * Makes an empty table in mem (8-byte aligned, lent by the caller as long as the table exists). All
 * ops except in_use are required. E_INVAL: a parameter is 0 or out of range; E_NOMEM: too few
 * bytes.
 */
int arp_init(struct arp *a, const struct arp_params *params, void *mem, size_t bytes,
             const struct arp_ops *ops, void *ctx);

/*
 * Adds one of our addresses on an interface, with its subnet; an interface may have several. The
 * next arp_tick calls announce it (RFC 5227 2.3). Adding it again sets plen and mac. E_NOMEM,
 * E_INVAL.
 */
int arp_add_local(struct arp *a, unsigned interface, uint32_t ip, unsigned plen,
                  const uint8_t *mac);

/* Removes our addresses on an interface. Its neighbours stay: see arp_flush_interface. */
void arp_clear_local(struct arp *a, unsigned interface);

/* Announces the interface's addresses again from the next arp_tick on, after its link came up. */
void arp_announce(struct arp *a, unsigned interface);

/*
 * Finds or adds the neighbour; sends nothing. Returns its index, which is valid until `removed`, or
 * E_NOMEM if the table is full and nothing can be evicted (count drop_neigh_table). A full table
 * evicts the neighbour that has been FAILED or UNRESOLVED for longest. If there is none, it evicts
 * the oldest that is INCOMPLETE, or known only because it asked for us and not sent to since.
 * Pinned, static and answering neighbours stay. Frames waiting for an evicted neighbour are lost.
 */
int arp_neigh_get(struct arp *a, unsigned interface, uint32_t ip);

/* Must be asked before arp_neigh_get for a packet to a new neighbour. False (counted as
 * arp_limited) if there were so many lately that a scan of the subnet is likely (RFC 6583 6.1,
 * written for IPv6, also applies here). Next hops of routes need not ask. */
bool arp_may_ask(struct arp *a, uint64_t now_ns);

/* Finds a neighbour without adding it; E_NOENT. */
int arp_neigh_find(const struct arp *a, unsigned interface, uint32_t ip);

/* Pins are counted. A pinned neighbour is not removed and, once resolved, is kept resolved. The
 * last arp_unpin removes it at once if it is UNRESOLVED. */
void arp_pin(struct arp *a, unsigned index);
void arp_unpin(struct arp *a, unsigned index);

/*
 * Sends a frame to that neighbour. The frame has room for the Ethernet header in front and stays
 * the caller's; it is copied if it must wait. Invariant 1 describes its fate.
 */
void arp_output(struct arp *a, unsigned index, uint8_t *frame, unsigned len, uint64_t now_ns);

/* Begins to resolve an UNRESOLVED neighbour without a frame; nothing else in other states. */
void arp_resolve(struct arp *a, unsigned index, uint64_t now_ns);

/*
 * Processes a received ARP frame. The caller has checked that the EtherType is ARP and the
 * destination MAC is ours or broadcast. Returns its fate: delivered_arp or drop_arp_*;
 * drop_port_down if the interface has no address.
 */
enum counter arp_input(struct arp *a, unsigned interface, const uint8_t *frame, unsigned len,
                       uint64_t now_ns);

/* Does all work due. Returns arp_deadline(). */
uint64_t arp_tick(struct arp *a, uint64_t now_ns);

/* When arp_tick is needed next; UINT64_MAX: no timer is armed. Any other function may bring the
 * deadline forward. */
uint64_t arp_deadline(const struct arp *a);

/* Data cores have sent to this neighbour since they were last asked. */
void arp_used(struct arp *a, unsigned index, uint64_t now_ns);

/* The interface went down: queued frames become unreachable. Neighbours other than STATIC are
 * removed or, if pinned, UNRESOLVED. */
void arp_flush_interface(struct arp *a, unsigned interface);

/* Adds a static neighbour; returns its index, E_NOMEM or E_INVAL (mac is not a station's, or the
 * interface or address is invalid). */
int arp_set_static(struct arp *a, unsigned interface, uint32_t ip, const uint8_t *mac);

/*
 * Restores a mapping known until a moment ago, for example to the previous program: the neighbour
 * becomes REACHABLE and is asked soon, all such neighbours within some seconds. STATIC ones stay.
 * Returns its index, E_NOMEM or E_INVAL (mac is not a station's).
 */
int arp_restore(struct arp *a, unsigned interface, uint32_t ip, const uint8_t *mac,
                uint64_t now_ns);

/* Removes a neighbour in any state (`clear arp`, `no arp …`): as arp_flush_interface, for one
 * neighbour and also for STATIC. E_NOENT. */
int arp_forget(struct arp *a, unsigned interface, uint32_t ip);

/* Address and interface of a neighbour that is not FREE. */
static inline uint32_t arp_neigh_ip(const struct arp *a, unsigned index)
{
	return net_addr_to_ip4(&a->table.neigh[index].addr);
}

static inline unsigned arp_neigh_interface(const struct arp *a, unsigned index)
{
	return a->table.neigh[index].interface;
}

/* Walks the table by index; *cursor starts at 0. False after the last. */
bool arp_next(const struct arp *a, unsigned *cursor, uint64_t now_ns, struct arp_entry *out);

/* The number of queued frames. */
static inline uint32_t arp_pending(const struct arp *a) { return a->table.pending; }

/* "reachable" and so on, for `show arp`. */
const char *arp_state_name(enum arp_state state);

#endif
