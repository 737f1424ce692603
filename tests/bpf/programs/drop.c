/* Drops everything. */
#include "tests/bpf/programs/packet.h"

SEC("xdp")
int drop(struct xdp_md *ctx)
{
	return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
