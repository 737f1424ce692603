/* Reports packets by bpf_perf_event_output: a header, and behind it the beginning of the packet. */
#include "tests/bpf/programs/packet.h"

#define CAUGHT 34

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 128);
	__type(key, __u32);
	__type(value, __u32);
} events SEC(".maps");

struct head {
	__u32 cookie, bytes;
};

SEC("xdp")
int perf(struct xdp_md *ctx)
{
	struct head head = {0xfeedbeef, ctx->data_end - ctx->data};
	bpf_perf_event_output(ctx, &events, (__u64)CAUGHT << 32 | BPF_F_CURRENT_CPU, &head, sizeof head);
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
