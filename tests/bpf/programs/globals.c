/* Global variables: constants, initialised and zero data, static ones, arrays indexed by the packet. */
#include "tests/bpf/programs/packet.h"

const volatile __u16 first_port = 1000, last_port = 2000;
__u64 budget = 1000000;
__u64 seen, dropped;
static volatile __u32 last_bytes;
static volatile __u32 calls = 7;
static const __u8 weight[16] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 1, 1, 2, 3};
__u64 hit[16];

SEC("xdp")
int globals(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	__sync_fetch_and_add(&seen, 1);
	last_bytes = ctx->data_end - ctx->data;
	calls++;
	if (take_ethernet(&c) != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	struct iphdr *ip = take_ip4(&c);
	if (!ip || ip->protocol != IPPROTO_UDP)
		return XDP_PASS;
	struct udphdr *udp = cursor_take(&c, sizeof *udp);
	if (!udp)
		return XDP_PASS;
	__u16 port = bpf_ntohs(udp->dest);
	if (port < first_port || port > last_port)
		return XDP_PASS;
	hit[port & 15] += weight[port >> 4 & 15];
	if (dropped >= budget)
		return XDP_PASS;
	__sync_fetch_and_add(&dropped, 1);
	bpf_printk("port %d of %d", port, calls);
	return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
