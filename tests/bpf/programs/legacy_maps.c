/* Maps as objects had them before BTF: a struct of five numbers for each in the section `maps`. */
#include "tests/bpf/programs/packet.h"

struct bpf_map_def {
	unsigned type, key_size, value_size, max_entries, map_flags;
};

struct bpf_map_def SEC("maps") packets = {
	.type = BPF_MAP_TYPE_PERCPU_ARRAY,
	.key_size = sizeof(__u32),
	.value_size = sizeof(__u64),
	.max_entries = 1,
};

struct bpf_map_def SEC("maps") sockets = {
	.type = BPF_MAP_TYPE_XSKMAP,
	.key_size = sizeof(int),
	.value_size = sizeof(int),
	.max_entries = 64,
};

SEC("xdp_socket")
int socket_program(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&packets, &zero);
	if (n)
		++*n;
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "Dual BSD/GPL";
