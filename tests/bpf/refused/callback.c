/* Gives the address of a function to a helper. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

static int each(__u32 index, void *context)
{
	*(int *)context += index;
	return 0;
}

SEC("xdp")
int callback(struct xdp_md *ctx)
{
	int sum = 0;
	bpf_loop(10, each, &sum, 0);
	return sum == 45 ? XDP_PASS : XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
