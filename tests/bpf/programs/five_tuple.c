/* A filter: drops the IPv4 flows that are in a hash, and counts in the entry. */
#include "tests/bpf/programs/packet.h"

#ifndef FLOWS
#define FLOWS 10000
#endif

struct flow {
	__be32 source, destination;
	__be16 source_port, destination_port;
	__u8 protocol;
	__u8 zero[3];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FLOWS);
	__type(key, struct flow);
	__type(value, __u64);
} blocked SEC(".maps");

SEC("xdp")
int five_tuple(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	struct flow flow = {};
	if (take_ethernet(&c) != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	struct iphdr *ip = take_ip4(&c);
	if (!ip || ip->frag_off & bpf_htons(0x1fff))
		return XDP_PASS;
	flow.source = ip->saddr;
	flow.destination = ip->daddr;
	flow.protocol = ip->protocol;
	if (ip->protocol == IPPROTO_TCP || ip->protocol == IPPROTO_UDP) {
		struct udphdr *udp = cursor_take(&c, sizeof *udp);
		if (!udp)
			return XDP_DROP;
		flow.source_port = udp->source;
		flow.destination_port = udp->dest;
	}
	__u64 *hits = bpf_map_lookup_elem(&blocked, &flow);
	if (!hits)
		return XDP_PASS;
	__sync_fetch_and_add(hits, 1);
	return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
