/*
 * The source of frames on Linux, run by BPF_PROG_TEST_RUN with BPF_F_TEST_XDP_LIVE_FRAMES: gives each frame the
 * next destination, 198.19.x.y, in the order of drivers/null/null.c, and sends it by the device. No program
 * of the benchmark looks at the checksum, which is not renewed.
 */
#include "tests/bpf/programs/packet.h"

#define STRIDE 40503 /* see null.c */

static __u16 low;

SEC("xdp")
int source(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	if (take_ethernet(&c) != bpf_htons(ETH_P_IP))
		return XDP_DROP;
	struct iphdr *ip = take_ip4(&c);
	if (!ip)
		return XDP_DROP;
	low += STRIDE;
	ip->daddr = bpf_htonl(198u << 24 | 19u << 16 | low);
	return XDP_TX;
}

char _license[] SEC("license") = "Dual BSD/GPL";
