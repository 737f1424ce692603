/* Accepted: a weak symbol of the kernel is the number 0, and a program for another hook may use what an XDP
 * program may not. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

extern const void jiffies __ksym __weak;
extern const void init_task __ksym;

SEC("tc")
int other(struct __sk_buff *skb)
{
	return (long)&init_task & 1;
}

SEC("xdp")
int weak(struct xdp_md *ctx)
{
	return &jiffies ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
