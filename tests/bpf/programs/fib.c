/* A router by bpf_fib_lookup, both families: what the tables answer goes into a map; a packet that may be
 * forwarded is sent by bpf_redirect. */
#include "tests/bpf/programs/packet.h"

#define AF_INET 2
#define AF_INET6 10

struct answer {
	__s64 result;
	__u32 ifindex, mtu;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct answer);
} last SEC(".maps");

static __always_inline int route(struct xdp_md *ctx, struct ethhdr *eth, struct bpf_fib_lookup *ask)
{
	__u32 key = 0;
	ask->ifindex = ctx->ingress_ifindex;
	long result = bpf_fib_lookup(ctx, ask, sizeof *ask, 0);
	struct answer *answer = bpf_map_lookup_elem(&last, &key);
	if (answer)
		*answer = (struct answer){result, ask->ifindex, ask->mtu_result};
	if (result != BPF_FIB_LKUP_RET_SUCCESS)
		return XDP_PASS;
	__builtin_memcpy(eth->h_dest, ask->dmac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, ask->smac, ETH_ALEN);
	return bpf_redirect(ask->ifindex, 0);
}

static __always_inline int route4(struct xdp_md *ctx, struct cursor *c)
{
	struct bpf_fib_lookup ask = {.family = AF_INET};
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = take_ip4(c);
	if (!ip || (void *)(eth + 1) > c->end || ip->ttl <= 1)
		return XDP_PASS;
	ask.l4_protocol = ip->protocol;
	ask.tos = ip->tos;
	ask.tot_len = bpf_ntohs(ip->tot_len);
	ask.ipv4_src = ip->saddr;
	ask.ipv4_dst = ip->daddr;
	int action = route(ctx, eth, &ask);
	if (action == XDP_REDIRECT) { /* RFC 1624: one less in the upper byte of a word */
		__u32 check = ip->check + bpf_htons(0x0100);
		ip->check = check + (check >= 0xffff);
		ip->ttl--;
	}
	return action;
}

static __always_inline int route6(struct xdp_md *ctx, struct cursor *c)
{
	struct bpf_fib_lookup ask = {.family = AF_INET6};
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct ipv6hdr *ip = cursor_take(c, sizeof *ip);
	if (!ip || (void *)(eth + 1) > c->end || ip->hop_limit <= 1)
		return XDP_PASS;
	ask.l4_protocol = ip->nexthdr;
	ask.flowinfo = *(__be32 *)ip & bpf_htonl(0x0fffffff);
	ask.tot_len = bpf_ntohs(ip->payload_len) + sizeof *ip;
	__builtin_memcpy(ask.ipv6_src, &ip->saddr, sizeof ask.ipv6_src);
	__builtin_memcpy(ask.ipv6_dst, &ip->daddr, sizeof ask.ipv6_dst);
	int action = route(ctx, eth, &ask);
	if (action == XDP_REDIRECT)
		ip->hop_limit--;
	return action;
}

SEC("xdp")
int fib(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	switch (take_ethernet(&c)) {
	case bpf_htons(ETH_P_IP): return route4(ctx, &c);
	case bpf_htons(ETH_P_IPV6): return route6(ctx, &c);
	default: return XDP_PASS;
	}
}

char _license[] SEC("license") = "Dual BSD/GPL";
