/* Dispatches by EtherType to other programs of this object. The program array has its first entries from
 * the object itself. */
#include "tests/bpf/programs/packet.h"

int ip4(struct xdp_md *ctx);
int ip6(struct xdp_md *ctx);
int again(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 4);
	__uint(key_size, sizeof(__u32));
	__array(values, int(struct xdp_md *));
} programs SEC(".maps") = {
	.values = {[0] = ip4, [1] = ip6, [3] = again},
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps");

static __always_inline void called(__u32 which)
{
	__u64 *n = bpf_map_lookup_elem(&calls, &which);
	if (n)
		__sync_fetch_and_add(n, 1);
}

SEC("xdp")
int dispatch(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	switch (take_ethernet(&c)) {
	case bpf_htons(ETH_P_IP): bpf_tail_call(ctx, &programs, 0); break;
	case bpf_htons(ETH_P_IPV6): bpf_tail_call(ctx, &programs, 1); break;
	case bpf_htons(ETH_P_ARP): bpf_tail_call(ctx, &programs, 2); break; /* empty */
	default: bpf_tail_call(ctx, &programs, 3); break;
	}
	return XDP_PASS;
}

SEC("xdp")
int ip4(struct xdp_md *ctx)
{
	called(0);
	return XDP_TX;
}

SEC("xdp")
int ip6(struct xdp_md *ctx)
{
	called(1);
	return XDP_DROP;
}

/* Calls itself until the limit of tail calls ends it. */
SEC("xdp")
int again(struct xdp_md *ctx)
{
	called(3);
	bpf_tail_call(ctx, &programs, 3);
	return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
