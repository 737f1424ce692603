/* Sends IPv4 packets on by a map of ports: index 0 of `ports`; IPv6 by interface number. */
#include "tests/bpf/programs/packet.h"

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 64);
	__uint(key_size, sizeof(int));
	__uint(value_size, sizeof(int));
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, struct bpf_devmap_val);
} by_number SEC(".maps");

SEC("xdp")
int redirect(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	switch (take_ethernet(&c)) {
	case bpf_htons(ETH_P_IP): return bpf_redirect_map(&ports, 0, XDP_PASS);
	case bpf_htons(ETH_P_IPV6): return bpf_redirect_map(&by_number, ctx->ingress_ifindex, XDP_DROP);
	case bpf_htons(ETH_P_ARP): return bpf_redirect(ctx->ingress_ifindex, 0);
	}
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
