/* Compiled with types of a kernel, as with vmlinux.h: each access to the context and to headers is a CO-RE
 * relocation. */
#include <linux/types.h>

enum { XDP_ABORTED, XDP_DROP, XDP_PASS };
#define ETH_P_IP 0x0800
#define IPPROTO_UDP 17

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct xdp_md {
	__u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex;
};

struct ethhdr {
	__u8 h_dest[6], h_source[6];
	__be16 h_proto;
};

struct iphdr {
	__u8 ihl : 4, version : 4;
	__u8 tos;
	__be16 tot_len, id, frag_off;
	__u8 ttl, protocol;
	__sum16 check;
	__be32 saddr, daddr;
};
#pragma clang attribute pop

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int core(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = data + sizeof *eth;
	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->version != 4)
		return XDP_PASS;
	if (bpf_core_field_exists(ctx->egress_ifindex) && ctx->ingress_ifindex == 0)
		return XDP_ABORTED;
	return ip->protocol == IPPROTO_UDP ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
