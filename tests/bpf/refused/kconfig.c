/* Depends on the configuration of a kernel, though weakly. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

extern int CONFIG_HZ __kconfig __weak;

SEC("xdp")
int kconfig(struct xdp_md *ctx)
{
	return CONFIG_HZ == 100 ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
