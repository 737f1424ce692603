/* Looks through VLAN tags and extension headers of IPv6, and counts by transport protocol. Malformed
 * packets are dropped. */
#include "tests/bpf/programs/packet.h"

#define EXTENSIONS_MAX 6

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u64);
} protocols SEC(".maps");

struct extension {
	__u8 next, length;
};

/* The transport protocol behind an IPv6 header; -1: malformed or too many headers. */
static __always_inline int take_ip6(struct cursor *c)
{
	struct ipv6hdr *ip = cursor_take(c, sizeof *ip);
	if (!ip || ip->version != 6)
		return -1;
	__u8 next = ip->nexthdr;
	for (int i = 0; i < EXTENSIONS_MAX; i++) {
		struct extension *e = c->at;
		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS &&
		    next != IPPROTO_FRAGMENT)
			return next;
		if ((void *)(e + 1) > c->end)
			return -1;
		unsigned bytes = next == IPPROTO_FRAGMENT ? 8 : (e->length + 1) * 8;
		next = e->next;
		if (!cursor_take(c, bytes))
			return -1;
	}
	return -1;
}

SEC("xdp")
int parse(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	__be16 type = take_ethernet(&c);
	int protocol;
	if (type == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = take_ip4(&c);
		if (!ip)
			return XDP_DROP;
		protocol = ip->protocol;
	} else if (type == bpf_htons(ETH_P_IPV6)) {
		protocol = take_ip6(&c);
		if (protocol < 0)
			return XDP_DROP;
	} else {
		return type ? XDP_PASS : XDP_DROP;
	}
	__u32 key = protocol;
	__u64 *counter = bpf_map_lookup_elem(&protocols, &key);
	if (counter)
		(*counter)++;
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
