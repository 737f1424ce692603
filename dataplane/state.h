/*
 * The data-plane state: what data cores read of the control plane, that is interfaces, FIBs and
 * adjacencies. It lies in published memory: the control core writes it, all others only read it.
 *
 * Interfaces are numbered. The first NIC_PORTS_MAX numbers belong to the ports themselves, for
 * untagged frames. The others are VLANs of a port (IEEE 802.1Q), loopbacks, which have no port, and the
 * machine's own interfaces in VLANs of the switch (apps/switch), whose port is known for each frame only.
 * A variable called `interface` holds such a number, `port` the number of a NIC port. A driver
 * writes the port into pkt.interface. Before an application does anything else with a packet, it
 * replaces the port by the input interface and removes the tag (dataplane/vlan.h).
 *
 * A FIB look-up returns a next-hop number: an index into adj[], or a group:
 *     0                        FIB_NH_NONE: no route
 *     NH_LOCAL ... NH_PROHIBIT not forwarded; adj[].state is ADJ_SPECIAL
 *     NH_CONNECTED + interface on the link of that interface, neighbour not known yet
 *     NH_NEIGHBOUR + n         neighbour n of the ARP table
 *     NH_NEIGHBOUR6 + n        neighbour n of the ND table
 *     NH_NEIGHBOUR46 + n       the same neighbour, for IPv4 packets (RFC 8950): its adjacency has
 *                              IPv4's EtherType and MTU
 *     NH_GROUP + g             several next hops: no index; group[g] selects one of the numbers
 *                              above for each flow (dp_member)
 *
 * IPv6's FIB favours the first of NH_NEIGHBOUR6 (fib6_favour): its table never holds NH_NEIGHBOUR.
 *
 * IPv4's FIB also holds neighbours and our own addresses, as /32. IPv6's FIB holds prefixes only.
 * Where it returns NH_CONNECTED, hosts6 tells the neighbours on that link and our own addresses.
 * hosts6 also holds addresses that no prefix covers: our link-local addresses and the groups that
 * we joined (dp_on_link6).
 *
 * Writing an adjacency while others read it (no lock, no version, no second copy):
 * 1. A FORWARD adjacency is never written, except its state word and, for IPv6, its MTU, whose old
 *    value does no harm for a moment.
 * 2. To change one: state = UNRESOLVED, core_quiesce(), write the rest, state = FORWARD (release).
 */
#ifndef DATAPLANE_STATE_H
#define DATAPLANE_STATE_H

#include "dataplane/services.h"
#include "dataplane/mirror_ring.h"
#include "dataplane/sample.h"
#include "dataplane/trace_ring.h"
#include "dataplane/verify.h"
#include "dataplane/xdp.h"
#include "runtime/runtime.h"
#include "net/acl/acl.h"
#include "net/acl/mac.h"
#include "net/ecmp.h"
#include "net/eth.h"
#include "net/fib/fib.h"
#include "net/fib/host6.h"
#include "net/ip.h"
#include "net/ip4.h"
#include "net/match.h"
#include "net/link.h"
#include "net/routing.h"
#include "net/tcp/tcp.h"

#define DP_INTERFACES_MAX 128 /* the numbers fit struct pkt and struct core_msg */
#define DP_PORT_NONE 0xff     /* the port of a loopback */
#define DP_PORT_SWITCH 0xfe   /* of an interface of the switch (dp_is_svi) */
#define DP_LOGICAL_NONE NIC_PORTS_MAX /* no port: a bit that no set of ports has */
#define DP_NAME_MAX 20        /* "port-channel16.4094" */
#define DP_ADDRESSES_MAX 4
#define DP_ADDRESSES6_MAX 13  /* with the link-local one and those from router advertisements */
#define DP_NEIGHBOURS 4096
#define DP_GROUPS 1024

enum next_hop {
	NH_NONE = FIB_NH_NONE,
	NH_LOCAL,     /* one of our addresses */
	NH_BROADCAST, /* limited, or directed to a connected subnet */
	NH_MULTICAST,
	NH_NULL0,       /* reject route: dropped, with an ICMP error */
	NH_BLACKHOLE,   /* dropped without an ICMP error */
	NH_UNREACHABLE, /* host unreachable, address unreachable */
	NH_PROHIBIT,    /* communication administratively prohibited */
	NH_CONNECTED = 16,
	NH_NEIGHBOUR = NH_CONNECTED + DP_INTERFACES_MAX,
	NH_NEIGHBOUR6 = NH_NEIGHBOUR + DP_NEIGHBOURS,
	NH_NEIGHBOUR46 = NH_NEIGHBOUR6 + DP_NEIGHBOURS,
	NH_MAX = NH_NEIGHBOUR46 + DP_NEIGHBOURS, /* adjacencies */
	NH_GROUP = NH_MAX,
	NH_LIMIT = NH_GROUP + DP_GROUPS,
};
_Static_assert((uint32_t)NH_LIMIT <= FIB_NH_LIMIT, "fits FIB, and buckets");
_Static_assert((uint32_t)NH_NONE == ECMP_NOBODY, "an empty group is no route");

enum adj_state {
	ADJ_SPECIAL,    /* the next-hop number says what to do */
	ADJ_UNRESOLVED, /* punt the packet to the control core */
	ADJ_FORWARD,
};

struct adj {
	uint8_t header[ETH_HLEN + ETH_TAG_LEN]; /* Ethernet header: destination, source, type;
	                                         * with a tag if the interface is a VLAN */
	uint16_t mtu;             /* bytes of IP packet */
	union {
		struct {
			uint8_t header_bytes; /* length of header: ETH_HLEN, or with the tag */
			uint8_t port;         /* output port */
			uint8_t interface;    /* output interface */
			uint8_t state;        /* enum adj_state */
		};
		uint32_t way; /* these four, to be compared at once: adj_way() */
	};
	/* The neighbour's address, for redirects, in host order. IPv6: the interface identifier of
	 * a link-local address in fe80::/64. 0: no neighbour, or another IPv6 address, or the adjacency
	 * is for IPv4 packets to an IPv6 neighbour. */
	uint64_t gateway;
};
_Static_assert(sizeof(struct adj) == 32, "two to a cache line");
_Static_assert(offsetof(struct adj, port) == offsetof(struct adj, way) + 1 &&
                       offsetof(struct adj, interface) == offsetof(struct adj, way) + 2 &&
                       offsetof(struct adj, state) == offsetof(struct adj, way) + 3,
               "as adj_way_port and the others have it");
_Static_assert(DP_INTERFACES_MAX <= 256 && NIC_PORTS_MAX <= DP_INTERFACES_MAX,
               "struct pkt, interface");
_Static_assert(DP_INTERFACES_MAX <= CORE_INTERFACES_MAX, "drops are counted by interface");
_Static_assert(PKT_VECTOR_MAX <= FIB_BATCH_MAX, "a vector is looked up at once");
_Static_assert(MIRROR_PORTS_MAX == NIC_PORTS_MAX, "a capture counts by port");

/* Adjacencies of equal ways have the same port and interface. One load reads the state with them. */
static inline uint32_t adj_way(const struct adj *a)
{
	return __atomic_load_n(&a->way, __ATOMIC_ACQUIRE);
}

/* Is the neighbour known, and the interface no VLAN? */
static inline bool adj_way_is_plain(uint32_t way)
{
	return (way & 0xff0000ff) == ((uint32_t)ADJ_FORWARD << 24 | ETH_HLEN);
}

/* Is the neighbour known, and the interface a VLAN? */
static inline bool adj_way_is_tagged(uint32_t way)
{
	return (way & 0xff0000ff) == ((uint32_t)ADJ_FORWARD << 24 | (ETH_HLEN + ETH_TAG_LEN));
}

static inline unsigned adj_way_port(uint32_t way) { return way >> 8 & 0xff; }
static inline unsigned adj_way_interface(uint32_t way) { return way >> 16 & 0xff; }

/* An interface. It takes part in IPv4 or IPv6 if it has an address of that version and is not shut
 * down. With `ip unnumbered` it takes part in IPv4 without one. */
struct dp_interface {
	bool enabled;  /* in IPv4 */
	bool enabled6; /* in IPv6 */
	bool link_up; /* changes at any time; an old value costs a few packets */
	bool bundle;  /* `port` is the number of a bundle (runtime/bundle.h), the first of its ports */
	uint8_t port; /* DP_PORT_NONE: a loopback; DP_PORT_SWITCH */
	uint16_t vid; /* VLAN ID; 0: no VLAN */
	uint8_t mac[ETH_ALEN];
	uint16_t mtu;
	uint8_t addresses;
	uint8_t plen[DP_ADDRESSES_MAX];
	/* [0] is the primary one, source of ICMP errors. An interface without address has there the
	 * address that it borrows (interfaces_start). */
	uint32_t addr[DP_ADDRESSES_MAX];
	uint32_t key; /* config_key_name of its name */
};

/* Does the interface take part in IPv4 or IPv6? */
static inline bool dp_in_use(const struct dp_interface *ifp) { return ifp->enabled || ifp->enabled6; }

/* Our usable IPv6 addresses on an interface: none is tentative (RFC 4862 5.4). [0] is the
 * link-local one. To change one: count = 0, core_quiesce(), write the rest, count = the new number
 * (release). */
struct dp_interface6 {
	uint32_t count;
	/* Both change at any time, as routers advertise (RFC 4861 4.6.4, 6.3.4). */
	uint16_t mtu;      /* that of dp_interface, or less */
	uint8_t hop_limit; /* of our own packets, except neighbour discovery */
	uint8_t plen[DP_ADDRESSES6_MAX];
	struct net_addr addr[DP_ADDRESSES6_MAX];
};

/* A capture by data cores (dataplane/mirror.c). Except tail, it changes only while no data core
 * reads it: after core_mirror(0, 0) and core_quiesce(). */
struct dp_capture {
	uint64_t number;        /* differs for each capture, not 0 */
	uint32_t snaplen;       /* bytes kept of a frame */
	struct match match;
	struct match_flow flow; /* the connection that carries the capture: not captured, because
	                         * each of its segments would cause another */
	uint64_t tail[CORES_MAX]; /* of struct mirror_ring, by core; changes at any time */
};

/* A trace by data cores (dataplane/trace.c). Except tail, it changes only while no data core reads
 * it: after core_trace_ports(0) and core_quiesce(). */
struct dp_trace {
	uint64_t number;        /* differs for each trace, not 0 */
	uint32_t count;         /* packets to be followed */
	struct match match;
	struct match_flow flow; /* the connection that carries the trace's text: not followed */
	uint64_t tail[CORES_MAX]; /* of struct trace_ring, by core; changes at any time */
};

/* An access list that filters packets. */
struct dp_filter {
	const struct acl *acl; /* NULL: nothing is filtered */
	uint32_t counts;       /* index of its first counter in dp_counted.filter */
};

/* The same for a list of MAC addresses. */
struct dp_filter_mac {
	const struct acl_mac *acl;
	uint32_t counts;
};

/* The filters of an interface, [0] IPv4's and [1] IPv6's. silent: the router sends no ICMP error
 * about a packet that this interface received and a filter denied. */
struct dp_filters {
	struct dp_filter in[2], out[2];
	struct dp_filter_mac mac; /* of frames that a port of the switch receives */
	bool silent[2];
};

/* The filters of all interfaces. The set in use is not written. To change filters, the control core
 * fills the other set, stores its pointer and calls core_quiesce(); then it may write the old set
 * and the memory of its lists. A data core reads the pointer once per vector, so one set judges all
 * its packets. */
struct dp_filter_set {
	struct dp_filters interface[DP_INTERFACES_MAX];
	bool out[2]; /* has any interface an `out` list? IPv4, IPv6 */
	bool any;    /* has any interface any list? */
};

/* Other policies of an interface, [0] IPv4's and [1] IPv6's. Changed at any time, by single
 * stores. */
struct dp_policy {
	uint8_t verify[2]; /* enum verify: source verification */
	bool redirects[2]; /* does it send ICMP redirects? */
	bool directed; /* does it send directed broadcasts that other interfaces received? */
	uint8_t dhcp;  /* DP_DHCP_CLIENT, DP_DHCP_RELAY (dataplane/dhcp.h) */
	uint16_t routing; /* protocols handed to the routing engine: one bit for each enum
	                   * routing_protocol (dataplane/to_engine.h) */
};

/* A group of next hops (control/forwarding/groups.h). Changed at any time by single stores. */
struct dp_group {
	struct ecmp_group table;
	uint16_t member[ECMP_MEMBERS_MAX]; /* NH_NONE after the last */
};

struct dp_state {
	uint64_t started; /* TSC when this state was made, different each time */
	uint32_t ifs; /* all interface numbers are below this; some may be unused (dp_exists) */
	uint32_t tagged; /* bit p: port p has VLANs, or is in a bundle */
	/* Port channels (control/link/bundle.c). logical[p] changes at any time. */
	uint32_t bundled;                /* bit p: port p is in a bundle */
	uint8_t logical[NIC_PORTS_MAX];  /* the number of the bundle that collects from the port; of a port in
	                                  * no bundle its own; DP_LOGICAL_NONE: its frames are dropped */
	uint8_t bundle_interface[NIC_PORTS_MAX]; /* of a port's bundle, for untagged frames; 0: it has none */
	struct dp_interface interface[DP_INTERFACES_MAX];
	struct dp_interface6 interface6[DP_INTERFACES_MAX];
	const struct dp_filter_set *filters; /* in use: one of filter_set; see dp_filters */
	struct dp_filter_set filter_set[2];
	uint32_t filter_counts; /* counters of all lists when data cores start */
	struct dp_policy policy[DP_INTERFACES_MAX];
	uint8_t link_protocols[NIC_PORTS_MAX]; /* that a port takes, one bit each (dataplane/link_control.h); at
	                                        * any time */
	uint32_t icmp_rate;  /* errors per second and data core; this and icmp_burst at any time */
	uint32_t icmp_burst;
	struct services services;
	uint32_t tcp_connections; /* per data core; 0: as many as its memory allows */
	union {
		struct {
			uint16_t http_port; /* TCP ports of the management, on the control core; 0:
			                     * none. All change at any time */
			uint16_t https_port;
			uint16_t console_port;
			uint16_t ssh_port;
			uint16_t capture_port;
			uint16_t engine_port;
			uint16_t bfd_port;
			uint16_t client_port; /* the first of those of the connections that the
			                       * control core opens; all above are, too */
		};
		uint64_t management[2]; /* all of them */
	};
	uint32_t engine_addr; /* of the routing engine, if it has VXLAN; 0: it has none. Changes at
	                       * any time */
	uint32_t sample_rate; /* one of so many packets is sampled (sample.h); 0: none; at any time */
	struct dp_capture capture;
	struct dp_trace trace;
	struct dp_xdp xdp;
	void *plugin_data; /* of the plug-in (control/management/plugin.h); NULL: none */
	void *plugin_more;
	const struct fib *fib; /* these three have the same address in every address space */
	const struct fib *fib6;
	const struct host6 *hosts6;
	bool avx2;          /* may data cores use it? */
	bool groups;        /* has there been any group? */
	uint64_t flow_seed; /* of the flow hash */
	struct dp_group group[DP_GROUPS];
	struct adj adj[NH_MAX] __attribute__((aligned(64)));
	uint8_t vlan[NIC_PORTS_MAX][ETH_VID_MAX + 1]; /* the interface of a port's VLAN; 0: none */
	char name[DP_INTERFACES_MAX][DP_NAME_MAX]; /* see dp_name */
};

/* The data-plane state. Valid on every core once the ports have started. */
static inline struct dp_state *dp_get(void)
{
	size_t bytes;
	return core_published_area(&bytes);
}

/* The filters in use. */
static inline const struct dp_filter_set *dp_filters(const struct dp_state *v)
{
	return __atomic_load_n(&v->filters, __ATOMIC_ACQUIRE);
}

/* Is a correct TCP segment to one of our addresses, not a fragment, for the management? An
 * application with TCP of its own on data cores punts such segments (ingress_punt_kind4,
 * ingress_punt_kind6). The TCP header begins at octet `at` of the packet. */
static inline bool dp_is_management(const struct dp_state *v, const uint8_t *ip, unsigned at)
{
	const uint64_t any = __atomic_load_n(&v->management[0], __ATOMIC_RELAXED) |
	                     __atomic_load_n(&v->management[1], __ATOMIC_RELAXED);
	if (likely(!any) || ip_total_len(ip) < at + 4)
		return false;
	const uint16_t port = be16_load(ip + at + 2);
	const uint16_t client = __atomic_load_n(&v->client_port, __ATOMIC_RELAXED);
	if (client && port >= client)
		return service_of(&v->services, SERVICE_TCP, port) == SERVICES;
	const uint16_t *const server[] = {&v->http_port, &v->https_port, &v->console_port, &v->ssh_port,
	                                  &v->capture_port, &v->engine_port, &v->bfd_port};
	bool found = false;
	for (unsigned i = 0; i < ARRAY_LEN(server); i++)
		found |= port && port == __atomic_load_n(server[i], __ATOMIC_RELAXED);
	return found;
}

/* Is there an interface of that number? */
static inline bool dp_exists(const struct dp_state *v, unsigned interface)
{
	return interface < v->ifs && v->interface[interface].mtu;
}

static inline bool dp_is_loopback(const struct dp_interface *ifp)
{
	return ifp->port == DP_PORT_NONE;
}

/* Is it the machine's own interface in a VLAN of the switch (switch virtual interface)? */
static inline bool dp_is_svi(const struct dp_interface *ifp) { return ifp->port == DP_PORT_SWITCH; }

/* Is it a bundle's own interface, that of its untagged frames? */
static inline bool dp_is_bundle(const struct dp_state *v, unsigned interface)
{
	return v->interface[interface].bundle && v->interface[interface].vid == 0;
}

/* Does the interface exist, and has it a link, on which there may be neighbours? */
static inline bool dp_has_link(const struct dp_state *v, unsigned interface)
{
	return dp_exists(v, interface) && !dp_is_loopback(&v->interface[interface]);
}

/* Is the link of the interface up? A loopback's always is. */
static inline bool dp_link_is_up(const struct dp_state *v, unsigned interface)
{
	return __atomic_load_n(&v->interface[interface].link_up, __ATOMIC_RELAXED);
}

/* "eth0", "eth0.100" or "lo0". */
static inline const char *dp_name(const struct dp_state *v, unsigned interface)
{
	return v->name[interface];
}

/* The interface by which packets to next hop nh leave; -1: none. nh is not a group. */
static inline int dp_interface_of(const struct dp_state *v, uint32_t nh)
{
	return nh < NH_CONNECTED ? -1 : v->adj[nh].interface;
}

/* Is nh the link of an interface, without a neighbour? */
static inline bool dp_is_connected(uint32_t nh)
{
	return nh - NH_CONNECTED < DP_INTERFACES_MAX;
}

static inline bool dp_is_group(uint32_t nh) { return nh >= NH_GROUP; }

/* The word for a next hop below NH_CONNECTED: "local", "null0" and so on. */
const char *dp_special(uint32_t nh);

/* Member i of group nh at present; NH_NONE after the last. */
static inline uint32_t dp_member_at(const struct dp_state *v, uint32_t nh, unsigned i)
{
	return i < ECMP_MEMBERS_MAX
	               ? __atomic_load_n(&v->group[nh - NH_GROUP].member[i], __ATOMIC_RELAXED)
	               : (uint32_t)NH_NONE;
}

/* The next hop of group nh for a flow with that hash; may be NH_NONE. */
static inline uint32_t dp_member(const struct dp_state *v, uint32_t nh, uint32_t hash)
{
	return ecmp_member(&v->group[nh - NH_GROUP].table, hash);
}

/* The next hop of a checked IPv4 packet to be forwarded. */
static inline uint32_t dp_next_hop_flow4(const struct dp_state *v, const uint8_t *ip)
{
	uint32_t nh = fib4_lookup(v->fib, ip4_dst(ip));
	return unlikely(dp_is_group(nh)) ? dp_member(v, nh, ecmp_hash4(v->flow_seed, ip)) : nh;
}

/* The next hop of the machine's own packets to dst. */
static inline uint32_t dp_next_hop4(const struct dp_state *v, uint32_t dst)
{
	uint32_t nh = fib4_lookup(v->fib, dst);
	const struct net_addr to = net_addr_ip4(dst);
	return unlikely(dp_is_group(nh)) ? dp_member(v, nh, ecmp_hash_to(v->flow_seed, &to)) : nh;
}

/* nh: the result of a fib6 look-up of addr, 16 bytes in network order. If nh is one of our links,
 * returns the entry of hosts6 for addr on that link, if there is one; else nh. */
static inline uint32_t dp_host6(const struct dp_state *v, uint32_t nh, const uint8_t *addr)
{
	if (!dp_is_connected(nh))
		return nh;
	uint32_t host = host6_lookup(v->hosts6, nh - NH_CONNECTED, addr);
	return host == NH_NONE ? nh : host;
}

/* The next hop of a checked IPv6 packet to be forwarded. Its destination is as for dp_next_hop6. */
static inline uint32_t dp_next_hop_flow6(const struct dp_state *v, const uint8_t *ip)
{
	const uint8_t *dst = ip + IP6_HLEN - sizeof(struct net_addr);
	uint32_t nh = fib6_lookup(v->fib6, dst);
	if (unlikely(dp_is_group(nh)))
		nh = dp_member(v, nh, ecmp_hash6(v->flow_seed, ip));
	return dp_host6(v, nh, dst);
}

/* The next hop of the machine's own packets to dst: an IPv6 address, 16 bytes in network order,
 * that is neither link-local nor a group. Those depend on the interface: dp_on_link6. */
static inline uint32_t dp_next_hop6(const struct dp_state *v, const uint8_t *dst)
{
	uint32_t nh = fib6_lookup(v->fib6, dst);
	const struct net_addr to = net_addr_load(dst);
	if (unlikely(dp_is_group(nh)))
		nh = dp_member(v, nh, ecmp_hash_to(v->flow_seed, &to));
	return dp_host6(v, nh, dst);
}

/* The same for any address on the link of `interface`. NH_NONE: a group that we have not joined. */
static inline uint32_t dp_on_link6(const struct dp_state *v, unsigned interface, const uint8_t *dst)
{
	uint32_t host = host6_lookup(v->hosts6, interface, dst);
	return host != NH_NONE || dst[0] == 0xff ? host : NH_CONNECTED + interface;
}

/* Selects our source address for a packet to dst by `interface`: for a link-local dst a link-local
 * address, else one of wider scope, if necessary from another interface. Among several, one whose
 * prefix covers dst is preferred (RFC 6724 5, rules 2, 5 and 8). Without an address of that scope:
 * any address of this interface. False: there is none. */
bool dp_source6(const struct dp_state *v, unsigned interface, const struct net_addr *dst,
                struct net_addr *src);

/* The interface for a packet from src to a link-local dst: the one that has address src, preferably
 * with dst as a known neighbour. If none has src, or src is NULL: the first with that neighbour.
 * DP_INTERFACES_MAX: none. (If two links have the same two addresses, the first is taken.) */
unsigned dp_link_of6(const struct dp_state *v, const struct net_addr *src,
                     const struct net_addr *dst);

/* The IPv6 MTU of the link by which a packet to dst leaves; a router may have lowered it. For a
 * link-local dst, whose link is not known here, and without a route: the least of all links. */
unsigned dp_mtu6(const struct dp_state *v, const struct net_addr *dst);

/* Bytes of the largest IP packet that every link carries: the least MTU of the interfaces in
 * use. */
unsigned dp_mtu(const struct dp_state *v);

/* Gives one of our own packets the hop limit of the link of `interface`, by which it leaves. */
static inline void dp_hop_limit6(const struct dp_state *v, unsigned interface, uint8_t *ip)
{
	const struct dp_interface6 *ifp = &v->interface6[interface];
	ip6_hop_limit_set(ip, __atomic_load_n(&ifp->hop_limit, __ATOMIC_RELAXED));
}

/*
 * Use of next hops by a data core: the value of core_now_ns() >> 30 when each was last used. The
 * control core keeps used neighbours alive.
 */
struct dp_used {
	uint32_t second[NH_MAX];
};

/* The state of a data core's TCP, for `show tcp`: a copy made from time to time
 * (dataplane/tcp_data.c). */
#define DP_TCP_LISTED 128
#define DP_TCP_STATES (TCP_TIME_WAIT + 1)
struct dp_tcp {
	uint32_t sequence; /* odd while it is being written */
	uint32_t capacity; /* most connections possible; 0: this core has no TCP */
	uint32_t count[DP_TCP_STATES]; /* connections by enum tcp_state */
	uint32_t listed; /* entries of info */
	struct tcp_info info[DP_TCP_LISTED]; /* of some connections */
};

/* Traffic of an interface that is not a port; bytes are counted without tags. A port has counters
 * of its own (struct nic_counters). */
struct dp_carried {
	uint64_t rx_pkts, rx_bytes, tx_pkts, tx_bytes;
};

/* The start of a data core's core_shared_area(), read by other cores. */
struct dp_shared {
	struct dp_used used;
	struct dp_tcp tcp;
	struct sample_ring samples;
};

/* That of this core. */
static inline struct dp_shared *dp_shared(void)
{
	size_t bytes;
	struct dp_shared *s = core_shared_area(&bytes);
	assert(sizeof *s <= bytes);
	return s;
}
_Static_assert(sizeof(struct dp_shared) <= CORE_SHARED_ZEROED, "all zero when a program starts");

/* That of another core. */
static inline const struct dp_shared *dp_shared_of(unsigned core)
{
	return core_shared_area_of(core);
}

/*
 * The next part of the area: counts since the data-plane state was made. A restart of the core's
 * program keeps them, because sums over the cores must not decrease. They include the counts of
 * access lists, for each rule and for packets that match none. There is room for these twice: lists
 * that replace others have counters apart from theirs (control/forwarding/filter.c).
 */
#define DP_FILTER_COUNTS_EACH 16384
#define DP_FILTER_COUNTS (2 * DP_FILTER_COUNTS_EACH)
struct dp_counted {
	uint64_t started; /* dp_state.started when the counts were zeroed */
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

/* To be called in data_start and data_tables. Zeroes the counts, unless they belong to the present
 * data-plane state already. */
void dp_counted_start(void);

/* The following bytes of the area belong to the application, whose plug-in reads them
 * (control/management/plugin.h). */
#define DP_SHARED_BYTES (CORE_SHARED_ZEROED + sizeof(struct dp_counted))

static inline void *dp_plugin_shared(void)
{
	return (uint8_t *)dp_shared() + DP_SHARED_BYTES;
}

static inline const void *dp_plugin_shared_of(unsigned core)
{
	return (const uint8_t *)core_shared_area_of(core) + DP_SHARED_BYTES;
}

/* The bytes of its ring for a capture. The generator has its results in the area too (tools/pktgen/run.h). */
static inline uint32_t mirror_ring_bytes(void)
{
	return core_app_number() == CORE_APP_pktgen ? MIRROR_RING_BYTES_LEAST : MIRROR_RING_BYTES;
}

/* The ring for a capture, at the end of this core's shared area. */
static inline struct mirror_ring *mirror_ring_own(void)
{
	size_t bytes;
	uint8_t *area = core_shared_area(&bytes);
	const size_t ring = sizeof(struct mirror_ring) + mirror_ring_bytes();
	assert(ring <= bytes);
	return (struct mirror_ring *)(void *)(area + bytes - ring);
}

/* That of another core. */
static inline const struct mirror_ring *mirror_ring_of(unsigned core)
{
	size_t bytes;
	core_shared_area(&bytes);
	const uint8_t *area = core_shared_area_of(core);
	return (const void *)(area + bytes - sizeof(struct mirror_ring) - mirror_ring_bytes());
}

/* The ring for a trace, before the ring for a capture. */
static inline struct trace_ring *dp_trace_ring(void)
{
	return (struct trace_ring *)(void *)((uint8_t *)mirror_ring_own() - sizeof(struct trace_ring));
}

static inline const struct trace_ring *dp_trace_ring_of(unsigned core)
{
	const uint8_t *behind = (const uint8_t *)mirror_ring_of(core);
	return (const void *)(behind - sizeof(struct trace_ring));
}

/* What this core says of XDP programs, before the ring for a trace. */
static inline struct dp_xdp_shared *dp_xdp_shared(void)
{
	return (struct dp_xdp_shared *)(void *)((uint8_t *)dp_trace_ring() - sizeof(struct dp_xdp_shared));
}

static inline const struct dp_xdp_shared *dp_xdp_shared_of(unsigned core)
{
	const uint8_t *behind = (const uint8_t *)dp_trace_ring_of(core);
	return (const void *)(behind - sizeof(struct dp_xdp_shared));
}
_Static_assert(sizeof(struct dp_xdp_shared) % 8 == 0 && sizeof(struct trace_ring) % 8 == 0,
               "one lies behind the other");

/* The bytes between: the most that an application may ask for. */
static inline size_t dp_plugin_room(void)
{
	size_t bytes;
	core_shared_area(&bytes);
	return bytes - DP_SHARED_BYTES - sizeof(struct mirror_ring) - mirror_ring_bytes() - sizeof(struct trace_ring) -
	       sizeof(struct dp_xdp_shared);
}

/* Messages from data cores (core_msg.kind); arg is the next-hop number. Places of the punt ring are
 * reserved for each kind (runtime/ring.c). */
enum punt_kind {
	PUNT_ARP,     /* an ARP frame */
	PUNT_ND,      /* a neighbour or router discovery message for the machine itself */
	PUNT_LOCAL,   /* any other IP packet for the machine itself */
	PUNT_TCP,     /* a segment for the machine itself that does not begin a connection */
	PUNT_BFD,     /* a single-hop BFD packet for the machine itself, from the link */
	PUNT_BFD_MULTIHOP, /* a multihop BFD packet for the machine itself */
	PUNT_FRAGMENT, /* a fragment for the machine itself */
	PUNT_RESOLVE, /* to be forwarded once its neighbour is known; TTL is decremented already */
	PUNT_OWN,     /* one of our own packets, which waits for its neighbour (core_punt_own) */
	PUNT_VXLAN,   /* a VXLAN packet of the routing engine */
	PUNT_ENGINE,  /* + enum routing_protocol: a frame for the routing engine */
	PUNT_LINK = PUNT_ENGINE + ROUTING_PROTOCOLS_END, /* + enum link_protocol: a frame of that protocol */
	PUNT_APP = PUNT_LINK + LINK_PROTOCOLS, /* for the application's control part (punt_application), without a tag;
	                                        * arg is its own but for PUNT_APP_OWN */
	PUNT_END,
};
#define PUNT_APP_OWN 0x10000u /* of PUNT_APP's arg: a copy, which has no fate */
#define PUNT_KINDS PUNT_ENGINE /* kinds that each port has for itself */
#define PUNT_WHOLE (PUNT_END - PUNT_KINDS) /* the others, whose rate is limited before */

/* Messages to data cores. */
enum inject_kind {
	INJECT_TX,    /* a complete frame: send it */
	INJECT_APP,   /* for the application's data_msg; arg: enum dp_app_msg, or its own */
	INJECT_FAULT, /* for tests: arg is an enum test_fault (test_fault.h) */
};

enum dp_app_msg {
	APP_TCP_ERROR, /* a checked frame with an ICMP error about one of our TCP segments */
	APP_BRIDGE,    /* + VLAN: a frame of ours, without a tag, for a station in that VLAN of the switch */
};

/* dataplane/mirror.c: control_hooks.mirror. */
void mirror_vector(const struct pkt *v, unsigned n, unsigned port, bool out);

/* dataplane/trace.c: control_hooks.trace. */
void trace_vector(struct pkt *v, unsigned n, unsigned port);

/* dataplane/inject.c: control_hooks.inject. kind: enum inject_kind. */
void inject_frame(struct pkt *p, uint32_t kind, uint32_t arg);

#endif
