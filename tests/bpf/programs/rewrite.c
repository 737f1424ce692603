/* Programs that write into the packet in every way, leaving its bytes as they were, and one that reads only:
 * after which of them may the card's judgement of a checksum count? */
#include "tests/bpf/programs/packet.h"

int store(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__array(values, int(struct xdp_md *));
} programs SEC(".maps") = {
	.values = {[0] = store},
};

struct address {
	__u8 byte[ETH_ALEN];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, struct address);
	__type(value, __u64);
} seen SEC(".maps");

/* No write: a map's value, under a key in the packet. */
SEC("xdp")
int look(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	struct ethhdr *eth = cursor_take(&c, sizeof *eth);
	__u64 *n = eth ? bpf_map_lookup_elem(&seen, eth->h_source) : 0;
	if (n)
		__sync_fetch_and_add(n, 1);
	return XDP_PASS;
}

SEC("xdp")
int store(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	volatile struct ethhdr *eth = cursor_take(&c, sizeof *eth);
	if (eth)
		eth->h_source[5] = eth->h_source[5];
	return XDP_PASS;
}

SEC("xdp")
int store_bytes(struct xdp_md *ctx)
{
	__u8 source[ETH_ALEN];
	if (bpf_xdp_load_bytes(ctx, ETH_ALEN, source, sizeof source) == 0)
		bpf_xdp_store_bytes(ctx, ETH_ALEN, source, sizeof source);
	return XDP_PASS;
}

SEC("xdp")
int head(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, 0) ? XDP_ABORTED : XDP_PASS;
}

SEC("xdp")
int jump(struct xdp_md *ctx)
{
	bpf_tail_call(ctx, &programs, 0);
	return XDP_ABORTED;
}

char _license[] SEC("license") = "Dual BSD/GPL";
