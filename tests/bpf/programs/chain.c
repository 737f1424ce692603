/* Two programs with a place in a chain, as libxdp's macro XDP_RUN_CONFIG describes it in BTF: a struct of
 * pointers to arrays whose lengths are the numbers. */
#include "tests/bpf/programs/packet.h"

SEC("xdp")
int early(struct xdp_md *ctx)
{
	return XDP_PASS;
}

struct {
	__uint(priority, 5);
	__uint(XDP_PASS, 1);
	__uint(XDP_DROP, 1);
} _early SEC(".xdp_run_config");

SEC("xdp")
int late(struct xdp_md *ctx)
{
	return XDP_PASS;
}

struct {
	__uint(priority, 90);
	__uint(XDP_TX, 1);
} _late SEC(".xdp_run_config");

SEC("xdp")
int ordinary(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
