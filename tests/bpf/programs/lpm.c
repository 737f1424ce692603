/* A filter by the longest prefix of the source address, IPv4 and IPv6; an entry's value is the action. */
#include "tests/bpf/programs/packet.h"

#ifndef ADDRESS
#define ADDRESS saddr
#endif

struct key4 {
	__u32 prefix_length;
	__be32 address;
};

struct key6 {
	__u32 prefix_length;
	struct in6_addr address;
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 100000);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct key4);
	__type(value, __u32);
} sources4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 10000);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct key6);
	__type(value, __u32);
} sources6 SEC(".maps");

SEC("xdp")
int lpm(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	__u32 *action = 0;
	__be16 protocol = take_ethernet(&c);
	if (protocol == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = take_ip4(&c);
		if (!ip)
			return XDP_DROP;
		struct key4 key = {32, ip->ADDRESS};
		action = bpf_map_lookup_elem(&sources4, &key);
	} else if (protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = cursor_take(&c, sizeof *ip);
		if (!ip)
			return XDP_DROP;
		struct key6 key = {128, ip->ADDRESS};
		action = bpf_map_lookup_elem(&sources6, &key);
	}
	return action ? *action : XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
