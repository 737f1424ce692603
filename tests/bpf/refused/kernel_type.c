/* A CO-RE relocation of a type that only a running kernel has, in the second of two programs. */
#include <linux/types.h>

struct xdp_md;
struct net_device {
	int ifindex;
} __attribute__((preserve_access_index));

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int innocent(struct xdp_md *ctx)
{
	return 2;
}

SEC("xdp")
int device(struct xdp_md *ctx)
{
	return bpf_core_field_exists(((struct net_device *)0)->ifindex) ? 1 : 2;
}

char _license[] SEC("license") = "Dual BSD/GPL";
