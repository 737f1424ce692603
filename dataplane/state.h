/*
 * What data cores see of the control plane: interfaces, forwarding table, adjacencies. It lies in
 * published memory, written by the control core, read-only for the others.
 *
 * An interface has a number. The first NIC_PORTS_MAX are those of the ports themselves, for frames
 * without a tag; the others are VLANs of a port (IEEE 802.1Q) and loopbacks, which are on no port.
 * Wherever the control plane, and net/ for it, says `port`, it means the number of an interface;
 * drivers and core/ know ports alone. On a data core the application says by which interface a
 * packet came in before it does anything else with it (dataplane/vlan.h): from then on pkt.port is
 * the interface's number, and its frame has no tag.
 *
 * A look-up in a FIB gives a next-hop number, which is an index into adj[], or a group:
 *     0                        FIB_NH_NONE: no route
 *     NH_LOCAL ... NH_PROHIBIT not forwarded; adj[].state is ADJ_SPECIAL
 *     NH_CONNECTED + port      on the link of interface `port`, neighbour not known yet
 *     NH_NEIGHBOUR + n         neighbour n of the ARP table
 *     NH_NEIGHBOUR6 + n        neighbour n of the ND table
 *     NH_GROUP + g             one of several next hops: no index, but group[g] has for each flow the
 *                              number of one of those above (dp_member)
 *
 * IPv4's FIB holds neighbours and our own addresses too, as /32. IPv6's has prefixes alone: where
 * it says NH_CONNECTED, hosts6 knows who of that link is a neighbour, and who is ourselves; it also
 * has what no prefix leads to, our link-local addresses and the groups we joined (dp_next_hop6).
 *
 * Writing an adjacency while others read it (no lock, no version, no second copy):
 * 1. a FORWARD adjacency is never written but for its state word, and IPv6's for the MTU, of which
 *    the old value is as good for a moment;
 * 2. to change one: state = UNRESOLVED, core_quiesce(), write the rest, state = FORWARD (release).
 */
#ifndef DATAPLANE_STATE_H
#define DATAPLANE_STATE_H

#include "dataplane/services.h"
#include "dataplane/mirror_ring.h"
#include "dataplane/trace_ring.h"
#include "dataplane/verify.h"
#include "runtime/runtime.h"
#include "net/acl/acl.h"
#include "net/ecmp.h"
#include "net/eth.h"
#include "net/fib/fib.h"
#include "net/fib/host6.h"
#include "net/ip.h"
#include "net/ip4.h"
#include "net/match.h"
#include "net/tcp/tcp.h"

#define DP_INTERFACES_MAX 128      /* interfaces; their numbers fit struct pkt and struct core_msg */
#define DP_PORT_NONE 0xff   /* the port of a loopback */
#define DP_NAME_MAX 12      /* "eth15.4094" */
#define DP_ADDRESSES_MAX 4
#define DP_ADDRESSES6_MAX 13 /* the link-local one and those of routers' advertisements too */
#define DP_NEIGHBOURS 4096
#define DP_GROUPS 1024

enum next_hop {
	NH_NONE = FIB_NH_NONE,
	NH_LOCAL,     /* one of our addresses */
	NH_BROADCAST, /* limited, or directed to a connected subnet */
	NH_MULTICAST,
	NH_NULL0,       /* refused, and who sends there is told: a reject route */
	NH_BLACKHOLE,   /* nobody is told */
	NH_UNREACHABLE, /* host unreachable, address unreachable */
	NH_PROHIBIT,    /* communication administratively prohibited */
	NH_CONNECTED = 16,
	NH_NEIGHBOUR = NH_CONNECTED + DP_INTERFACES_MAX,
	NH_NEIGHBOUR6 = NH_NEIGHBOUR + DP_NEIGHBOURS,
	NH_MAX = NH_NEIGHBOUR6 + DP_NEIGHBOURS, /* adjacencies */
	NH_GROUP = NH_MAX,
	NH_LIMIT = NH_GROUP + DP_GROUPS,
};
_Static_assert((uint32_t)NH_LIMIT <= FIB_NH_LIMIT, "fits FIB, and buckets");
_Static_assert((uint32_t)NH_NONE == ECMP_NOBODY, "an empty group is no route");

enum adj_state {
	ADJ_SPECIAL,    /* look at the number */
	ADJ_UNRESOLVED, /* hand it to the control core */
	ADJ_FORWARD,
};

struct adj {
	uint8_t header[ETH_HLEN + ETH_TAG_LEN]; /* ready to be written: destination, source, a tag if
	                                         * the interface is a VLAN, type */
	uint8_t header_bytes;     /* of it: ETH_HLEN, or with the tag */
	uint8_t port;             /* that it leaves by */
	uint8_t interface;
	uint8_t state;            /* enum adj_state */
	uint16_t mtu;             /* bytes of IP packet */
	/* address of the neighbour, if this is one, in host order; IPv6: the interface identifier of a
	 * link-local one, in fe80::/64; 0: another. What redirects tell. */
	uint64_t gateway;
};
_Static_assert(sizeof(struct adj) == 32, "two to a cache line");
_Static_assert(DP_INTERFACES_MAX <= 256 && NIC_PORTS_MAX <= DP_INTERFACES_MAX,
               "struct pkt, interface");
_Static_assert(DP_INTERFACES_MAX <= CORE_INTERFACES_MAX, "drops are counted by interface");
_Static_assert(PKT_VECTOR_MAX <= FIB_BATCH_MAX, "a vector is looked up at once");
_Static_assert(MIRROR_PORTS_MAX == NIC_PORTS_MAX, "a capture counts by port");

/* An interface. It takes part in a version of IP when it has an address of it, and is not shut
 * down. */
struct dp_interface {
	bool enabled;  /* in IPv4 */
	bool enabled6; /* in IPv6 */
	bool link_up; /* changes at any time; reading it late costs a few packets */
	uint8_t port; /* of the interface; DP_PORT_NONE: it is a loopback */
	uint16_t vid; /* of the VLAN; 0: none */
	uint8_t mac[ETH_ALEN];
	uint16_t mtu;
	uint8_t addresses;
	uint8_t plen[DP_ADDRESSES_MAX];
	uint32_t addr[DP_ADDRESSES_MAX]; /* [0] is the primary one, source of ICMP errors */
	uint32_t key; /* of its name: config_key_name */
};

/* In either version. */
static inline bool dp_in_use(const struct dp_interface *ifp) { return ifp->enabled || ifp->enabled6; }

/* Our IPv6 addresses on an interface that may be used (not tentative, RFC 4862 5.4). To change one:
 * count = 0, core_quiesce(), write the rest, count = as many (release). [0] is the link-local
 * one. */
struct dp_interface6 {
	uint32_t count;
	uint16_t mtu; /* that of dp_interface, or less, as a router says (RFC 4861 4.6.4): at any time */
	uint8_t hop_limit; /* of what we send but discovery; as a router says (6.3.4), at any time */
	uint8_t plen[DP_ADDRESSES6_MAX];
	struct net_addr addr[DP_ADDRESSES6_MAX];
};

/* What a capture asks of data cores (dataplane/mirror.c). Changed only while none looks: core_mirror(0, 0),
 * core_quiesce(). */
struct dp_capture {
	uint64_t number;        /* another one for each, from 1 */
	uint32_t snaplen;       /* bytes that are kept of a frame */
	struct match match;
	struct match_flow flow; /* that carries it: its own segments are left out, or each would make
	                         * another */
	uint64_t tail[CORES_MAX]; /* struct mirror_ring, by core; at any time */
};

/* What a trace asks of data cores (dataplane/trace.c). Changed only while none looks:
 * core_trace_ports(0), core_quiesce(). */
struct dp_trace {
	uint64_t number;        /* another one for each, from 1 */
	uint32_t count;         /* packets to be followed */
	struct match match;
	struct match_flow flow; /* that carries what is told of them, left out as above */
	uint64_t tail[CORES_MAX]; /* struct trace_ring, by core; at any time */
};

/* An access list that filters packets. */
struct dp_filter {
	const struct acl *acl; /* NULL: nothing is filtered */
	uint32_t counts;       /* where its counts begin among dp_counted */
};

/* Those of an interface, [0] IPv4's and [1] IPv6's. Nobody is told of packets of that version that
 * came in by it and were denied, where `silent` is set. */
struct dp_filters {
	struct dp_filter in[2], out[2];
	bool silent[2];
};

/* All of them. While data cores look it is not written: to change one, another set is made, its
 * pointer stored, and this one written, and the memory of its lists used, after core_quiesce(). So
 * who reads the pointer once a vector judges each packet by what was in force at one time. */
struct dp_filter_set {
	struct dp_filters interface[DP_INTERFACES_MAX];
	bool out[2]; /* is there any `out`, of IPv4, of IPv6 */
};

/* What an interface asks of packets beyond that, [0] IPv4's and [1] IPv6's. Changed at any time, by
 * single stores. */
struct dp_policy {
	uint8_t verify[2]; /* enum verify: of their sources */
	bool redirects[2]; /* are senders told of a better first hop? */
	bool directed; /* do broadcasts from elsewhere leave by it to its subnets? */
};

/* Several next hops (control/forwarding/groups.h). Changed at any time by single stores. */
struct dp_group {
	struct ecmp_group table;
	uint16_t member[ECMP_MEMBERS_MAX]; /* all of them; NH_NONE behind the last */
};

struct dp_state {
	uint64_t started; /* TSC: when all this was made, another one each time */
	uint32_t ifs; /* interfaces: their numbers are below that. Not all need be there: dp_exists */
	uint32_t tagged; /* a bit for each port that has VLANs */
	struct dp_interface interface[DP_INTERFACES_MAX];
	struct dp_interface6 interface6[DP_INTERFACES_MAX];
	const struct dp_filter_set *filters; /* one of the two; dp_filters */
	struct dp_filter_set filter_set[2];
	uint32_t filter_counts; /* how many counts all lists have when data cores start */
	struct dp_policy policy[DP_INTERFACES_MAX];
	uint32_t icmp_rate;  /* errors a second and data core; this and the next at any time */
	uint32_t icmp_burst;
	struct services services;
	uint32_t tcp_connections; /* of a data core; 0: by its memory */
	uint16_t http_port;  /* TCP ports of the management, on the control core; 0: there is none. These
	                      * three at any time */
	uint16_t console_port;
	uint16_t capture_port;
	struct dp_capture capture;
	struct dp_trace trace;
	void *plugin_data; /* of the application's (control/management/plugin.h); NULL: none */
	void *plugin_more;
	const struct fib *fib; /* these three at the same address in every address space */
	const struct fib *fib6;
	const struct host6 *hosts6;
	bool groups;        /* has there been any group? */
	uint64_t flow_seed; /* of the hash of flows */
	struct dp_group group[DP_GROUPS];
	struct adj adj[NH_MAX] __attribute__((aligned(64)));
	uint8_t vlan[NIC_PORTS_MAX][ETH_VID_MAX + 1]; /* interface of a port's VLAN; 0: there is none */
	char name[DP_INTERFACES_MAX][DP_NAME_MAX]; /* of an interface, in text */
};

/* The data-plane state; valid on every core once the ports have started. */
static inline struct dp_state *dp_get(void)
{
	size_t bytes;
	return core_published_area(&bytes);
}

/* The filters that are in force. */
static inline const struct dp_filter_set *dp_filters(const struct dp_state *v)
{
	return __atomic_load_n(&v->filters, __ATOMIC_ACQUIRE);
}

/* Whether a correct TCP segment to one of our addresses, no fragment, is the management's: for an
 * application that has TCP of its own on its data cores, to hand over (ingress_punt_kind4, ingress_punt_kind6). Its header
 * begins at octet `at` of the packet. */
static inline bool dp_is_management(const struct dp_state *v, const uint8_t *ip, unsigned at)
{
	const uint16_t http = __atomic_load_n(&v->http_port, __ATOMIC_RELAXED);
	const uint16_t console = __atomic_load_n(&v->console_port, __ATOMIC_RELAXED);
	const uint16_t capture = __atomic_load_n(&v->capture_port, __ATOMIC_RELAXED);
	if (likely(!(http | console | capture)) || ip_total_len(ip) < at + 4)
		return false;
	uint16_t port = be16_load(ip + at + 2);
	return port && (port == http || port == console || port == capture);
}

/* Is there an interface of that number? */
static inline bool dp_exists(const struct dp_state *v, unsigned port)
{
	return port < v->ifs && v->interface[port].mtu;
}

static inline bool dp_is_loopback(const struct dp_interface *ifp)
{
	return ifp->port == DP_PORT_NONE;
}

/* Does it exist, and may there be neighbours? */
static inline bool dp_has_link(const struct dp_state *v, unsigned port)
{
	return dp_exists(v, port) && !dp_is_loopback(&v->interface[port]);
}

/* Is the link of interface n up? A loopback's is always. */
static inline bool dp_link_is_up(const struct dp_state *v, unsigned n)
{
	return __atomic_load_n(&v->interface[n].link_up, __ATOMIC_RELAXED);
}

/* "eth0", "eth0.100" or "lo0". */
static inline const char *dp_name(const struct dp_state *v, unsigned port) { return v->name[port]; }

/* The interface by which next hop nh leaves; -1: by none. */
static inline int dp_interface_of(const struct dp_state *v, uint32_t nh)
{
	return nh < NH_CONNECTED ? -1 : v->adj[nh].interface;
}

/* On the link of an interface, no neighbour named. */
static inline bool dp_is_connected(uint32_t nh)
{
	return nh - NH_CONNECTED < DP_INTERFACES_MAX;
}

static inline bool dp_is_group(uint32_t nh) { return nh >= NH_GROUP; }

/* "local", "null0" and so on, of a next hop below NH_CONNECTED. */
const char *dp_special(uint32_t nh);

/* Member i of a group, as it is now; NH_NONE: it has no more. */
static inline uint32_t dp_member_at(const struct dp_state *v, uint32_t nh, unsigned i)
{
	return i < ECMP_MEMBERS_MAX
	               ? __atomic_load_n(&v->group[nh - NH_GROUP].member[i], __ATOMIC_RELAXED)
	               : (uint32_t)NH_NONE;
}

/* The next hop for a flow of that hash, of a group; it may be NH_NONE. */
static inline uint32_t dp_member(const struct dp_state *v, uint32_t nh, uint32_t hash)
{
	return ecmp_member(&v->group[nh - NH_GROUP].table, hash);
}

/* The next hop of a checked IPv4 packet on its way through. */
static inline uint32_t dp_next_hop_flow4(const struct dp_state *v, const uint8_t *ip)
{
	uint32_t nh = fib4_lookup(v->fib, ip4_dst(ip));
	return unlikely(dp_is_group(nh)) ? dp_member(v, nh, ecmp_hash4(v->flow_seed, ip)) : nh;
}

/* The next hop of all that the machine itself sends to dst. */
static inline uint32_t dp_next_hop4(const struct dp_state *v, uint32_t dst)
{
	uint32_t nh = fib4_lookup(v->fib, dst);
	const struct net_addr to = net_addr_ip4(dst);
	return unlikely(dp_is_group(nh)) ? dp_member(v, nh, ecmp_hash_to(v->flow_seed, &to)) : nh;
}

/* What fib6 said of an IPv6 address, 16 bytes as on the wire, or if that is a link of ours, what is
 * known of the host on it. */
static inline uint32_t dp_host6(const struct dp_state *v, uint32_t nh, const uint8_t *addr)
{
	if (!dp_is_connected(nh))
		return nh;
	uint32_t host = host6_lookup(v->hosts6, nh - NH_CONNECTED, addr);
	return host == NH_NONE ? nh : host;
}

/* The next hop of a checked IPv6 packet on its way through, to such an address as below. */
static inline uint32_t dp_next_hop_flow6(const struct dp_state *v, const uint8_t *ip)
{
	const uint8_t *dst = ip + IP6_HLEN - sizeof(struct net_addr);
	uint32_t nh = fib6_lookup(v->fib6, dst);
	if (unlikely(dp_is_group(nh)))
		nh = dp_member(v, nh, ecmp_hash6(v->flow_seed, ip));
	return dp_host6(v, nh, dst);
}

/* The next hop of what the machine itself sends to an IPv6 address, 16 bytes as on the wire, that is neither link-local nor a group:
 * those are known by port only, dp_on_link6. */
static inline uint32_t dp_next_hop6(const struct dp_state *v, const uint8_t *dst)
{
	uint32_t nh = fib6_lookup(v->fib6, dst);
	const struct net_addr to = net_addr_load(dst);
	if (unlikely(dp_is_group(nh)))
		nh = dp_member(v, nh, ecmp_hash_to(v->flow_seed, &to));
	return dp_host6(v, nh, dst);
}

/* The same for an address on the link of `port`, whatever kind; NH_NONE: we are not in that
 * group. */
static inline uint32_t dp_on_link6(const struct dp_state *v, unsigned port, const uint8_t *dst)
{
	uint32_t host = host6_lookup(v->hosts6, port, dst);
	return host != NH_NONE || dst[0] == 0xff ? host : NH_CONNECTED + port;
}

/* Our address to speak from, by `port`, to dst: link-local to link-local, else a wider one, of
 * another port if this one has none, and of several that on whose subnet dst is (RFC 6724 5, rules
 * 2, 5 and 8). False: IPv6 has none. */
bool dp_source6(const struct dp_state *v, unsigned port, const struct net_addr *dst,
                  struct net_addr *src);

/* The port on whose link a link-local address is known as a neighbour's, for a packet from `src`:
 * the one that has that address, if it is ours; else any. DP_INTERFACES_MAX: none. (Of two links with
 * the same two addresses the first is taken.) */
unsigned dp_link_of6(const struct dp_state *v, const struct net_addr *src,
                       const struct net_addr *dst);

/* The MTU of the link by which a packet to dst leaves, as a router may have told; to a link-local
 * dst, of which the link is not known here, the least of all. */
unsigned dp_mtu6(const struct dp_state *v, const struct net_addr *dst);

/* Bytes of an IP packet that every link carries: the least MTU of the interfaces in use. */
unsigned dp_mtu(const struct dp_state *v);

/* Gives a packet of ours that leaves by the port the hop limit of its link. */
static inline void dp_hop_limit6(const struct dp_state *v, unsigned port, uint8_t *ip)
{
	ip6_hop_limit_set(ip, __atomic_load_n(&v->interface6[port].hop_limit, __ATOMIC_RELAXED));
}

/*
 * Use of neighbours, by data core: the second (of core_now_ns() >> 30) in which a next hop was
 * last used. The control core keeps neighbours alive by it.
 */
struct dp_used {
	uint32_t second[NH_MAX];
};

/* The TCP of a data core, for `show tcp`: a copy made now and then (dataplane/tcp_data.c). */
#define DP_TCP_LISTED 128
#define DP_TCP_STATES (TCP_TIME_WAIT + 1)
struct dp_tcp {
	uint32_t sequence; /* odd while it is being written */
	uint32_t capacity; /* connections there is room for; 0: this core has no TCP */
	uint32_t count[DP_TCP_STATES]; /* connections by enum tcp_state */
	uint32_t listed;
	struct tcp_info info[DP_TCP_LISTED]; /* some of them */
};

/* What an interface that is no port has carried: frames without their tags. A port counts for
 * itself (struct nic_counters). */
struct dp_carried {
	uint64_t rx_pkts, rx_bytes, tx_pkts, tx_bytes;
};

/* What a data core shows the others, in its core_shared_area(). */
struct dp_shared {
	struct dp_used used;
	struct dp_tcp tcp;
};

/* This core's own. */
static inline struct dp_shared *dp_shared(void)
{
	size_t bytes;
	struct dp_shared *s = core_shared_area(&bytes);
	assert(sizeof *s <= bytes);
	return s;
}
_Static_assert(sizeof(struct dp_shared) <= CORE_SHARED_ZEROED, "all zero when a program starts");

/* Another core's. */
static inline const struct dp_shared *dp_shared_of(unsigned core)
{
	return core_shared_area_of(core);
}

/*
 * Behind that is what it has counted since the ports started, which a restart of its program alone
 * shall not take away: whoever adds it up, and knows what there was, would find less. With it are the
 * counts of access lists, of each rule and of what no rule matches: twice, for lists that take the
 * place of others count apart from them (control/forwarding/filter.c).
 */
#define DP_FILTER_COUNTS_EACH 16384
#define DP_FILTER_COUNTS (2 * DP_FILTER_COUNTS_EACH)
struct dp_counted {
	uint64_t started; /* dp.started of when it was zeroed */
	struct dp_carried carried[DP_INTERFACES_MAX]; /* by interface */
	uint64_t filter[DP_FILTER_COUNTS];
};

static inline struct dp_counted *dp_counted(void)
{
	return (struct dp_counted *)(void *)((uint8_t *)dp_shared() + CORE_SHARED_ZEROED);
}

static inline const struct dp_counted *dp_counted_of(unsigned core)
{
	const uint8_t *shared = core_shared_area_of(core);
	return (const struct dp_counted *)(const void *)(shared + CORE_SHARED_ZEROED);
}

/* In data_start: it begins at zero, unless the ports have gone on since it did. */
void dp_counted_start(void);

/* What is left of it is the application's, for whom reads it to show (control/management/plugin.h). */
#define DP_SHARED_BYTES (CORE_SHARED_ZEROED + sizeof(struct dp_counted))

static inline void *dp_plugin_shared(void)
{
	return (uint8_t *)dp_shared() + DP_SHARED_BYTES;
}

static inline const void *dp_plugin_shared_of(unsigned core)
{
	return (const uint8_t *)core_shared_area_of(core) + DP_SHARED_BYTES;
}

/* At its end a data core has a ring for a capture. */
static inline struct mirror_ring *mirror_ring_own(void)
{
	size_t bytes;
	uint8_t *area = core_shared_area(&bytes);
	assert(sizeof(struct mirror_ring) <= bytes);
	return (struct mirror_ring *)(void *)(area + bytes - sizeof(struct mirror_ring));
}

/* Another core's. */
static inline const struct mirror_ring *mirror_ring_of(unsigned core)
{
	size_t bytes;
	core_shared_area(&bytes);
	const uint8_t *area = core_shared_area_of(core);
	return (const void *)(area + bytes - sizeof(struct mirror_ring));
}

/* And before that one for a trace. */
static inline struct trace_ring *dp_trace_ring(void)
{
	return (struct trace_ring *)(void *)((uint8_t *)mirror_ring_own() - sizeof(struct trace_ring));
}

static inline const struct trace_ring *dp_trace_ring_of(unsigned core)
{
	const uint8_t *behind = (const uint8_t *)mirror_ring_of(core);
	return (const void *)(behind - sizeof(struct trace_ring));
}

/* Bytes between: most that an application may ask for. */
static inline size_t dp_plugin_room(void)
{
	size_t bytes;
	core_shared_area(&bytes);
	return bytes - DP_SHARED_BYTES - sizeof(struct mirror_ring) - sizeof(struct trace_ring);
}

/* Messages from data cores (core_msg.kind); arg is the next-hop number. Each kind has a part of the
 * ring to itself (runtime/ring.c). */
enum punt_kind {
	PUNT_ARP,     /* an ARP frame */
	PUNT_ND,      /* a message of neighbour or router discovery, for the machine itself */
	PUNT_LOCAL,   /* any other IP packet for the machine itself */
	PUNT_TCP,     /* a segment for the machine itself that does not begin a connection */
	PUNT_FRAGMENT, /* a fragment for the machine itself */
	PUNT_RESOLVE, /* to be forwarded once its neighbour is known; TTL is already taken down */
	PUNT_OWN,     /* a packet of ours that waits for its neighbour (core_punt_own) */
};
#define PUNT_KINDS (PUNT_OWN + 1)

/* Messages to data cores. */
enum inject_kind {
	INJECT_TX,    /* a complete frame: send it */
	INJECT_APP,   /* to the application's data_msg; arg is an enum dp_app_msg */
	INJECT_FAULT, /* for tests: arg is an enum test_fault (test_fault.h) */
};

enum dp_app_msg {
	APP_TCP_ERROR, /* a frame with an ICMP error about a TCP segment of ours, checked */
};

/* dataplane/mirror.c: control_hooks.mirror, for a capture. */
void mirror_vector(const struct pkt *v, unsigned n, unsigned port, bool out);

/* dataplane/trace.c: control_hooks.trace. */
void trace_vector(struct pkt *v, unsigned n, unsigned port);

/* dataplane/inject.c: control_hooks.inject, of enum inject_kind. */
void inject_frame(struct pkt *p, uint32_t kind, uint32_t arg);

#endif
