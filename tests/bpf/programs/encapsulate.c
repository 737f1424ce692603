/* Moves the packet's ends: IPv4 into IPv4, its reverse, a cut packet, and metadata. */
#include "tests/bpf/programs/packet.h"

#define OUTER_SOURCE bpf_htonl(0xc0000201)
#define OUTER_DESTINATION bpf_htonl(0xc0000202)

static __always_inline __u16 checksum(struct iphdr *ip)
{
	__u64 sum = bpf_csum_diff(0, 0, (__be32 *)ip, sizeof *ip, 0);
#pragma unroll
	for (int i = 0; i < 3; i++)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

SEC("xdp")
int encapsulate(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(struct iphdr)))
		return XDP_ABORTED;
	struct cursor c = cursor_begin(ctx);
	struct ethhdr *eth = cursor_take(&c, sizeof *eth);
	struct iphdr *outer = cursor_take(&c, sizeof *outer);
	if (!eth || !outer)
		return XDP_ABORTED;
	struct ethhdr *old = (void *)eth + sizeof *outer;
	if ((void *)(old + 1) > c.end)
		return XDP_ABORTED;
	__u16 bytes = c.end - (void *)outer;
	__builtin_memmove(eth, old, sizeof *eth);
	__builtin_memset(outer, 0, sizeof *outer);
	outer->version = 4;
	outer->ihl = 5;
	outer->ttl = 64;
	outer->protocol = IPPROTO_IPIP;
	outer->tot_len = bpf_htons(bytes);
	outer->saddr = OUTER_SOURCE;
	outer->daddr = OUTER_DESTINATION;
	outer->check = checksum(outer);
	return XDP_TX;
}

SEC("xdp")
int decapsulate(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	struct ethhdr *eth = cursor_take(&c, sizeof *eth);
	struct iphdr *outer = cursor_take(&c, sizeof *outer);
	if (!eth || !outer || eth->h_proto != bpf_htons(ETH_P_IP) || outer->protocol != IPPROTO_IPIP ||
	    outer->ihl != 5)
		return XDP_PASS;
	struct ethhdr copy = *eth;
	if (bpf_xdp_adjust_head(ctx, sizeof(struct iphdr)))
		return XDP_ABORTED;
	c = cursor_begin(ctx);
	eth = cursor_take(&c, sizeof *eth);
	if (!eth)
		return XDP_ABORTED;
	*eth = copy;
	return XDP_PASS;
}

SEC("xdp")
int cut(struct xdp_md *ctx)
{
	int bytes = ctx->data_end - ctx->data;
	if (bytes > 128 && bpf_xdp_adjust_tail(ctx, 128 - bytes))
		return XDP_ABORTED;
	return XDP_TX;
}

SEC("xdp")
int mark(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(__u32)))
		return XDP_PASS;
	__u32 *meta = (void *)(long)ctx->data_meta;
	void *data = (void *)(long)ctx->data;
	if ((void *)(meta + 1) > data)
		return XDP_ABORTED;
	*meta = ctx->rx_queue_index + 1;
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
