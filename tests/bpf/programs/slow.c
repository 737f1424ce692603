/* A loop of many rounds, each with a state of its own: most of the steps that the verifier may take. */
#include "tests/bpf/programs/packet.h"

#define ROUNDS 40000

SEC("xdp")
int slow(struct xdp_md *ctx)
{
	__u32 ones = 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < ROUNDS; i++)
		ones += bpf_get_prandom_u32() & 1;
	return ones > ROUNDS ? XDP_ABORTED : XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
