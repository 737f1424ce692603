/* Functions that the compiler does not inline: static ones, which lie in .text, a global one, one that
 * calls another, and one that two programs call. */
#include "tests/bpf/programs/packet.h"

static __noinline __u32 fold(__u64 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static __noinline __u32 mix(__u32 a, __u32 b)
{
	__u64 sum = (__u64)a * 2654435761u + b;
	return fold(sum) ^ fold(sum >> 7);
}

__noinline int bucket(__u32 source, __u32 destination)
{
	return mix(source, destination) % 16;
}

static __noinline int step(struct xdp_md *ctx, __u32 port)
{
	if (port == 0)
		return XDP_ABORTED;
	return fold(port + ctx->rx_queue_index) & 1 ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
int functions(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	if (take_ethernet(&c) != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	struct iphdr *ip = take_ip4(&c);
	if (!ip)
		return XDP_DROP;
	return bucket(ip->saddr, ip->daddr) < 8 ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
int by_port(struct xdp_md *ctx)
{
	return step(ctx, ctx->ingress_ifindex);
}

char _license[] SEC("license") = "Dual BSD/GPL";
