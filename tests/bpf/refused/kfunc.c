/* Calls a function of the kernel. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

extern int bpf_xdp_metadata_rx_hash(const struct xdp_md *ctx, __u32 *hash) __ksym;

SEC("xdp")
int kfunc(struct xdp_md *ctx)
{
	__u32 hash = 0;
	return bpf_xdp_metadata_rx_hash(ctx, &hash) ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
