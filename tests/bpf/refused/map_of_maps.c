/* A map of maps. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} first SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct inner);
} outer SEC(".maps") = {.values = {&first}};

SEC("xdp")
int map_of_maps(struct xdp_md *ctx)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&outer, &zero) ? XDP_PASS : XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
