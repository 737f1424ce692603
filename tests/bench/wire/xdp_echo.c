/*
 * The XDP peer of the UDP benchmark: a datagram to port 7 leaves by the device that received it,
 * with addresses and ports swapped; everything else goes to the kernel. The checksums stay right,
 * because they do not depend on the order of the swapped fields. Built by clang -target bpf, loaded
 * by `ip link`.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>

#define SECTION(name) __attribute__((section(name), used))
#define BE16(x) ((__u16)__builtin_bswap16(x))

SECTION("xdp") int echo(struct xdp_md *context)
{
	void *start = (void *)(unsigned long)context->data;
	void *end = (void *)(unsigned long)context->data_end;
	struct ethhdr *eth = start;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);
	if ((void *)(udp + 1) > end || eth->h_proto != BE16(ETH_P_IP) || ip->ihl != 5 ||
	    ip->protocol != 17 || udp->dest != BE16(7))
		return XDP_PASS;
	unsigned char mac[ETH_ALEN];
	__builtin_memcpy(mac, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, mac, ETH_ALEN);
	__be32 address = ip->daddr;
	ip->daddr = ip->saddr;
	ip->saddr = address;
	__be16 port = udp->dest;
	udp->dest = udp->source;
	udp->source = port;
	return XDP_TX;
}

SECTION("license") char licence[] = "GPL";
