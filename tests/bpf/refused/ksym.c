/* Reads a variable of the kernel. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

extern const void jiffies __ksym;

SEC("xdp")
int ksym(struct xdp_md *ctx)
{
	return (long)&jiffies & 1 ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
