/* No XDP program: a classifier, and a tracing program. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("tc")
int classify(struct __sk_buff *skb)
{
	return 0;
}

SEC("fentry/something")
int trace(void *ctx)
{
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
