/* Passes everything; several programs in several sections: each function is a program of its own. */
#include "tests/bpf/programs/packet.h"

SEC("xdp")
int pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

SEC("xdp")
int aborted(struct xdp_md *ctx)
{
	return XDP_ABORTED;
}

SEC("xdp/named")
int named(struct xdp_md *ctx)
{
	return XDP_PASS;
}

SEC("xdp.frags")
int frags(struct xdp_md *ctx)
{
	return XDP_PASS;
}

SEC("xdp_old_style")
int old_style(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
