/* Counts by source address in hashes, one of each kind, without atomic instructions where the map is per
 * CPU. */
#include "tests/bpf/programs/packet.h"

struct counter {
	__u64 packets, bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, __be32);
	__type(value, struct counter);
} sources SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 512);
	__type(key, __be32);
	__type(value, struct counter);
} recent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_PERCPU_HASH);
	__uint(max_entries, 512);
	__type(key, __be32);
	__type(value, __u64);
} recent_here SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counter);
} total SEC(".maps");

SEC("xdp")
int per_cpu(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	__u64 bytes = ctx->data_end - ctx->data;
	__u32 zero = 0;
	struct counter *all = bpf_map_lookup_elem(&total, &zero);
	if (!all)
		return XDP_ABORTED;
	all->packets++;
	all->bytes += bytes;
	if (take_ethernet(&c) != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	struct iphdr *ip = take_ip4(&c);
	if (!ip)
		return XDP_DROP;
	__be32 source = ip->saddr;
	struct counter first = {1, bytes}, *n = bpf_map_lookup_elem(&sources, &source);
	if (n) {
		n->packets++;
		n->bytes += bytes;
	} else {
		bpf_map_update_elem(&sources, &source, &first, BPF_NOEXIST);
	}
	n = bpf_map_lookup_elem(&recent, &source);
	if (n) {
		__sync_fetch_and_add(&n->packets, 1);
		__sync_fetch_and_add(&n->bytes, bytes);
	} else {
		bpf_map_update_elem(&recent, &source, &first, BPF_ANY);
	}
	__u64 one = 1, *here = bpf_map_lookup_elem(&recent_here, &source);
	if (here)
		++*here;
	else
		bpf_map_update_elem(&recent_here, &source, &one, BPF_ANY);
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
