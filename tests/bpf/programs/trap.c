/* Passes everything; a datagram to port 7777 starts another program, whose code tests damage. */
#include "tests/bpf/programs/packet.h"

int sprung(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__array(values, int(struct xdp_md *));
} programs SEC(".maps") = {
	.values = {[0] = sprung},
};

SEC("xdp")
int trap(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	struct iphdr *ip = take_ethernet(&c) == bpf_htons(ETH_P_IP) ? take_ip4(&c) : 0;
	struct udphdr *udp = ip && ip->protocol == IPPROTO_UDP ? cursor_take(&c, sizeof *udp) : 0;
	if (udp && udp->dest == bpf_htons(7777))
		bpf_tail_call(ctx, &programs, 0);
	return XDP_PASS;
}

SEC("xdp")
int sprung(struct xdp_md *ctx)
{
	volatile __u32 n = 7;
	n = n + 1;
	return n == 8 ? XDP_DROP : XDP_ABORTED;
}

char _license[] SEC("license") = "Dual BSD/GPL";
