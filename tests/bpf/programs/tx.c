/* Sends every frame back, with its MAC addresses exchanged. */
#include "tests/bpf/programs/packet.h"

SEC("xdp")
int tx(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	struct ethhdr *eth = cursor_take(&c, sizeof *eth);
	if (!eth)
		return XDP_DROP;
	unsigned char mac[ETH_ALEN];
	__builtin_memcpy(mac, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, mac, ETH_ALEN);
	return XDP_TX;
}

char _license[] SEC("license") = "Dual BSD/GPL";
