/* Writes into datagrams for one port which version of the program has seen them: a constant of its data, a
 * constant of its code, and how often a program did so. A test puts other numbers in place of VERSION. */
#include "tests/bpf/programs/packet.h"

#define PORT 20000
#define VERSION 0x76657273

struct mark {
	__u32 number; /* the sender's */
	__u32 data, code, times;
};

const volatile __u32 version = VERSION;

SEC("xdp")
int mark(struct xdp_md *ctx)
{
	struct cursor c = cursor_begin(ctx);
	if (take_ethernet(&c) != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	struct iphdr *ip = take_ip4(&c);
	if (!ip || ip->protocol != IPPROTO_UDP)
		return XDP_PASS;
	struct udphdr *udp = cursor_take(&c, sizeof *udp);
	struct mark *m = udp && udp->dest == bpf_htons(PORT) ? cursor_take(&c, sizeof *m) : 0;
	if (!m)
		return XDP_PASS;
	__u32 code;
	asm volatile("%0 = %1" : "=r"(code) : "i"(VERSION));
	m->data = version;
	m->code = code;
	m->times++;
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
