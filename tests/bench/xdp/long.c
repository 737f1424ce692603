/* A filter of 540 flows as code, of some 4,000 instructions: how long it takes to verify and compile. */
#include "tests/bpf/programs/packet.h"

#define FLOW(n) \
	if (ip->saddr == (n) * 2654435761u && udp->dest == (__be16)((n) * 40503u)) \
		return (n) % 3 ? XDP_DROP : XDP_TX;
#define FLOWS_10(n) FLOW(n) FLOW(n + 1) FLOW(n + 2) FLOW(n + 3) FLOW(n + 4) FLOW(n + 5) FLOW(n + 6) FLOW(n + 7) \
	FLOW(n + 8) FLOW(n + 9)
#define FLOWS_100(n) FLOWS_10(n) FLOWS_10(n + 10) FLOWS_10(n + 20) FLOWS_10(n + 30) FLOWS_10(n + 40) \
	FLOWS_10(n + 50) FLOWS_10(n + 60) FLOWS_10(n + 70) FLOWS_10(n + 80) FLOWS_10(n + 90)

SEC("xdp")
int long_filter(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	if (take_ethernet(&c) != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	struct iphdr *ip = take_ip4(&c);
	struct udphdr *udp = ip ? cursor_take(&c, sizeof *udp) : 0;
	if (!udp)
		return XDP_PASS;
	FLOWS_100(1000) FLOWS_100(2000) FLOWS_100(3000) FLOWS_100(4000) FLOWS_100(5000)
	FLOWS_10(6000) FLOWS_10(6010) FLOWS_10(6020) FLOWS_10(6030)
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
