/* Counts packets and bytes in an array that each CPU has of its own, and drops the packet: at index 0 IPv4,
 * 1 IPv6, 2 ARP, 3 others. */
#include "tests/bpf/programs/packet.h"

struct counter {
	__u64 packets, bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, struct counter);
} counters SEC(".maps");

SEC("xdp")
int count(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	__u32 bytes = ctx->data_end - ctx->data, key = 3;
	switch (take_ethernet(&c)) {
	case bpf_htons(ETH_P_IP): key = 0; break;
	case bpf_htons(ETH_P_IPV6): key = 1; break;
	case bpf_htons(ETH_P_ARP): key = 2; break;
	}
	struct counter *counter = bpf_map_lookup_elem(&counters, &key);
	if (!counter)
		return XDP_ABORTED;
	counter->packets++;
	counter->bytes += bytes;
	return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
