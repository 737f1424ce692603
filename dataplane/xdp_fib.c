/*
 * bpf_fib_lookup (bpf-helpers(7)): the router's tables for programs: FIB, groups, neighbours. struct
 * fib_params is Linux' struct bpf_fib_lookup (uapi/linux/bpf.h); results are BPF_FIB_LKUP_RET_*.
 *
 * As in Linux: the program asks with the interface that received the packet, or with
 * BPF_FIB_LOOKUP_OUTPUT the one that shall send it. Of a route with several next hops one is chosen for
 * the flow of addresses, protocol and ports (net/ecmp.h), so that the program and the router choose the
 * same. A gateway replaces the destination. Answers:
 *
 *     SUCCESS       ifindex, smac, dmac are set; the packet may be sent with XDP_REDIRECT
 *     BLACKHOLE, UNREACHABLE, PROHIBIT   such a route; null0 is BLACKHOLE
 *     NOT_FWDED     no route, or to the machine itself, a broadcast or a group
 *     FWD_DISABLED  the application is not the router, or the interface does not take part in that
 *                   version of IP
 *     NO_NEIGH      the neighbour is not known: pass the packet, and the router will ask for it
 *     FRAG_NEEDED   tot_len is larger than the MTU; mtu_result has it
 *
 * Deliberately missing: BPF_FIB_LOOKUP_TBID and BPF_FIB_LOOKUP_MARK (there is one table): -22. With
 * BPF_FIB_LOOKUP_DIRECT the result is the same as without: there are no policy rules. h_vlan_* are 0: a
 * VLAN is an interface of its own here, and XDP_REDIRECT to its ifindex adds the tag.
 */
#include "dataplane/state.h"
#include "lib/mem.h"
#include "net/ip6.h"

enum fib_flags { FIB_DIRECT = 1, FIB_OUTPUT = 2, FIB_SKIP_NEIGH = 4, FIB_SRC = 16 };
#define FIB_FLAGS (FIB_DIRECT | FIB_OUTPUT | FIB_SKIP_NEIGH | FIB_SRC)

enum fib_result {
	FIB_SUCCESS, FIB_BLACKHOLE, FIB_UNREACHABLE, FIB_PROHIBIT, FIB_NOT_FWDED, FIB_FWD_DISABLED,
	FIB_UNSUPP_LWT, FIB_NO_NEIGH, FIB_FRAG_NEEDED, FIB_NO_SRC_ADDR,
};

enum fib_family { FAMILY_IP4 = 2, FAMILY_IP6 = 10 }; /* Linux' AF_INET and AF_INET6 */
#define EAFNOSUPPORT (-97)
#define ENODEV (-19)

struct fib_params {
	uint8_t family; /* enum fib_family */
	uint8_t l4_protocol;
	uint16_t sport, dport; /* network order, as are all addresses */
	uint16_t tot_len;      /* of the IP packet, or 0; out: the MTU */
	uint32_t ifindex;
	uint32_t flowinfo;
	uint8_t src[16]; /* IPv4: the first 4 bytes */
	uint8_t dst[16];
	uint16_t h_vlan_proto, h_vlan_tci;
	uint8_t smac[6], dmac[6];
};
_Static_assert(sizeof(struct fib_params) == 64, "struct bpf_fib_lookup");

static uint32_t answer_of(uint32_t nh)
{
	switch (nh) {
	case NH_NULL0:
	case NH_BLACKHOLE: return FIB_BLACKHOLE;
	case NH_UNREACHABLE: return FIB_UNREACHABLE;
	case NH_PROHIBIT: return FIB_PROHIBIT;
	default: return FIB_NOT_FWDED;
	}
}

/* --- which next hop --- */

/* The headers of the flow, for the functions that choose a next hop by them. */
static uint32_t next_hop4(const struct dp_state *v, const struct fib_params *p)
{
	uint8_t ip[IP4_HLEN + 4] = {0x45, 0, 0, sizeof ip};
	ip[9] = p->l4_protocol;
	memcpy(ip + 12, p->src, 4);
	memcpy(ip + 16, p->dst, 4);
	raw16_store(ip + IP4_HLEN, p->sport);
	raw16_store(ip + IP4_HLEN + 2, p->dport);
	return dp_next_hop_flow4(v, ip);
}

static uint32_t next_hop6(const struct dp_state *v, const struct fib_params *p, unsigned interface)
{
	uint8_t ip[IP6_HLEN + 4] = {0};
	const struct net_addr dst = net_addr_load(p->dst);
	if (ip6_is_link_local(&dst) || ip6_is_multicast(&dst))
		return dp_on_link6(v, interface, p->dst);
	raw32_store(ip, p->flowinfo); /* the traffic class does not count */
	ip[0] = 0x60 | (ip[0] & 0xf);
	be16_store(ip + 4, 4);
	ip[6] = p->l4_protocol;
	memcpy(ip + 8, p->src, 16);
	memcpy(ip + 24, p->dst, 16);
	raw16_store(ip + IP6_HLEN, p->sport);
	raw16_store(ip + IP6_HLEN + 2, p->dport);
	return dp_next_hop_flow6(v, ip);
}

/* --- the answer --- */

/* The address of the neighbour, if it is another than the destination. */
static void put_gateway(struct fib_params *p, uint32_t nh, const struct adj *a)
{
	if (nh >= NH_NEIGHBOUR && nh < NH_NEIGHBOUR6) {
		be32_store(p->dst, (uint32_t)a->gateway);
	} else if (nh >= NH_NEIGHBOUR6 && a->gateway) { /* link-local: struct adj */
		p->family = FAMILY_IP6;
		memset(p->dst, 0, sizeof p->dst);
		p->dst[0] = 0xfe;
		p->dst[1] = 0x80;
		be32_store(p->dst + 8, (uint32_t)(a->gateway >> 32));
		be32_store(p->dst + 12, (uint32_t)a->gateway);
	}
}

/* Our address for the source; false: the interface has none. */
static bool put_source(const struct dp_state *v, struct fib_params *p, unsigned interface)
{
	const struct dp_interface *ifp = &v->interface[interface];
	const struct net_addr dst = net_addr_load(p->dst);
	struct net_addr src;
	if (p->family == FAMILY_IP4) {
		be32_store(p->src, ifp->addr[0]);
		return ifp->addr[0] != 0;
	}
	if (!dp_source6(v, interface, &dst, &src))
		return false;
	net_addr_store(p->src, &src);
	return true;
}

static uint32_t answer(const struct dp_state *v, struct fib_params *p, uint32_t nh, uint64_t flags)
{
	const struct adj *a = &v->adj[nh];
	const unsigned interface = a->interface;
	const unsigned mtu = a->mtu;
	if (p->tot_len && p->tot_len > mtu) {
		p->tot_len = (uint16_t)mtu;
		return FIB_FRAG_NEEDED;
	}
	p->ifindex = dp_ifindex(interface);
	if (flags & FIB_SRC && !put_source(v, p, interface))
		return FIB_NO_SRC_ADDR;
	put_gateway(p, nh, a);
	p->h_vlan_proto = p->h_vlan_tci = 0;
	p->tot_len = (uint16_t)mtu;
	if (flags & FIB_SKIP_NEIGH)
		return FIB_SUCCESS;
	if (dp_is_connected(nh) || __atomic_load_n(&a->state, __ATOMIC_ACQUIRE) != ADJ_FORWARD)
		return FIB_NO_NEIGH;
	eth_copy(p->dmac, a->header);
	eth_copy(p->smac, a->header + ETH_ALEN);
	return FIB_SUCCESS;
}

uint64_t xdp_fib_lookup(uint64_t r1, uint64_t r2, uint64_t bytes, uint64_t flags, uint64_t unused)
{
	struct fib_params *p = (struct fib_params *)(uintptr_t)r2;
	const struct dp_state *v = dp_get();
	(void)r1, (void)unused;
	if ((uint32_t)bytes < sizeof *p || (uint32_t)flags & ~(uint32_t)FIB_FLAGS)
		return (uint64_t)(int64_t)BPF_EINVAL;
	const unsigned interface = dp_interface_of_index(p->ifindex);
	if (interface >= DP_INTERFACES_MAX || !dp_exists(v, interface))
		return (uint64_t)(int64_t)ENODEV;
	if (p->family != FAMILY_IP4 && p->family != FAMILY_IP6)
		return (uint64_t)(int64_t)EAFNOSUPPORT;
	const bool six = p->family == FAMILY_IP6;
	const struct dp_interface *ifp = &v->interface[interface];
	if (core_app_number() != CORE_APP_router || !(six ? ifp->enabled6 : ifp->enabled))
		return FIB_FWD_DISABLED;
	const uint32_t nh = six ? next_hop6(v, p, interface) : next_hop4(v, p);
	if (nh < NH_CONNECTED || nh >= NH_MAX || v->adj[nh].state == ADJ_SPECIAL)
		return answer_of(nh);
	if (flags & FIB_OUTPUT && v->adj[nh].interface != interface)
		return FIB_NOT_FWDED; /* no route by that interface */
	return answer(v, p, nh, flags);
}
