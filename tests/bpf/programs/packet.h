/* What the programs of this folder share: headers of packets with the checks that a verifier needs. */
#ifndef TESTS_BPF_PROGRAMS_PACKET_H
#define TESTS_BPF_PROGRAMS_PACKET_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define VLAN_MAX 2 /* tags that are looked through */

struct vlan_tag {
	__be16 tci;
	__be16 protocol;
};

/* A place in the packet. */
struct cursor {
	void *at, *end;
};

static __always_inline struct cursor cursor_begin(struct xdp_md *ctx)
{
	return (struct cursor){(void *)(long)ctx->data, (void *)(long)ctx->data_end};
}

/* The header of `bytes` bytes at the cursor, which moves behind it; NULL: the packet is shorter. */
static __always_inline void *cursor_take(struct cursor *c, unsigned bytes)
{
	void *header = c->at;
	if (header + bytes > c->end)
		return 0;
	c->at = header + bytes;
	return header;
}

/* Moves behind Ethernet's header and VLAN tags; returns the EtherType, in network order, or 0. */
static __always_inline __be16 take_ethernet(struct cursor *c)
{
	struct ethhdr *eth = cursor_take(c, sizeof *eth);
	if (!eth)
		return 0;
	__be16 protocol = eth->h_proto;
#pragma unroll
	for (int i = 0; i < VLAN_MAX; i++) {
		if (protocol != bpf_htons(ETH_P_8021Q) && protocol != bpf_htons(ETH_P_8021AD))
			break;
		struct vlan_tag *tag = cursor_take(c, sizeof *tag);
		if (!tag)
			return 0;
		protocol = tag->protocol;
	}
	return protocol;
}

/* Moves behind an IPv4 header with its options. */
static __always_inline struct iphdr *take_ip4(struct cursor *c)
{
	struct iphdr *ip = c->at;
	if ((void *)(ip + 1) > c->end || ip->version != 4 || ip->ihl < 5)
		return 0;
	return cursor_take(c, ip->ihl * 4);
}

#endif
