/* Reports packets through a ring buffer: TCP's SYNs by reserve and submit, UDP by output. */
#include "tests/bpf/programs/packet.h"

struct event {
	__u64 time_ns;
	__u32 core, bytes;
	__be32 source, destination;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} events SEC(".maps");

static __always_inline void fill(struct event *e, struct xdp_md *ctx, __be32 source, __be32 destination)
{
	e->time_ns = bpf_ktime_get_ns();
	e->core = bpf_get_smp_processor_id();
	e->bytes = ctx->data_end - ctx->data;
	e->source = source;
	e->destination = destination;
}

SEC("xdp")
int ring(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	if (take_ethernet(&c) != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	struct iphdr *ip = take_ip4(&c);
	if (!ip)
		return XDP_DROP;
	if (ip->protocol == IPPROTO_TCP) {
		struct tcphdr *tcp = cursor_take(&c, sizeof *tcp);
		if (!tcp || !tcp->syn)
			return XDP_PASS;
		struct event *e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
		if (!e)
			return XDP_PASS;
		fill(e, ctx, ip->saddr, ip->daddr);
		if (tcp->ack)
			bpf_ringbuf_discard(e, 0);
		else
			bpf_ringbuf_submit(e, 0);
	} else if (ip->protocol == IPPROTO_UDP) {
		struct event e = {};
		fill(&e, ctx, ip->saddr, ip->daddr);
		bpf_ringbuf_output(&events, &e, sizeof e, 0);
	}
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
