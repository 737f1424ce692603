/* The result is the last byte of the IPv4 source address; other packets pass. `change` also counts in the UDP source
 * port. */
#include "tests/bpf/programs/packet.h"

static __always_inline int result(struct xdp_md *ctx, int by)
{
	struct cursor c = cursor_begin(ctx);
	if (take_ethernet(&c) != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	struct iphdr *ip = take_ip4(&c);
	struct udphdr *udp = ip ? cursor_take(&c, sizeof *udp) : 0;
	if (!udp)
		return XDP_PASS;
	if (by)
		udp->source = bpf_htons(bpf_ntohs(udp->source) + by);
	return bpf_ntohl(ip->saddr) & 0xff;
}

SEC("xdp")
int keep(struct xdp_md *ctx)
{
	return result(ctx, 0);
}

SEC("xdp")
int change(struct xdp_md *ctx)
{
	return result(ctx, 1);
}

char _license[] SEC("license") = "Dual BSD/GPL";
