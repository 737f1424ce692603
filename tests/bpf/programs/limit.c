/* Limits the packets of each source address by a token bucket. */
#include "tests/bpf/programs/packet.h"

#define BURST 100
#define NS_A_TOKEN 1000000

struct bucket {
	__u64 last_ns, tokens;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __be32);
	__type(value, struct bucket);
} buckets SEC(".maps");

SEC("xdp")
int limit(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	if (take_ethernet(&c) != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	struct iphdr *ip = take_ip4(&c);
	if (!ip)
		return XDP_DROP;
	__be32 source = ip->saddr;
	__u64 now = bpf_ktime_get_ns();
	struct bucket *b = bpf_map_lookup_elem(&buckets, &source);
	if (!b) {
		struct bucket full = {now, BURST - 1};
		bpf_map_update_elem(&buckets, &source, &full, BPF_ANY);
		return XDP_PASS;
	}
	__u64 tokens = b->tokens + (now - b->last_ns) / NS_A_TOKEN;
	if (tokens > BURST)
		tokens = BURST;
	if (tokens == 0)
		return XDP_DROP;
	b->last_ns = now;
	b->tokens = tokens - 1;
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
