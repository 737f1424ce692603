/* Metadata from a program to the one behind it in a chain. */
#include "tests/bpf/programs/packet.h"

#define MARK 0x6d61726b

/* Puts the length of the frame and a mark before it. */
SEC("xdp")
int put(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_meta(ctx, -8))
		return XDP_ABORTED;
	__u32 *meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 2) > (void *)(long)ctx->data)
		return XDP_ABORTED;
	meta[0] = MARK;
	meta[1] = ctx->data_end - ctx->data;
	return XDP_PASS;
}

/* Returns frames with the right metadata to their sender; others pass. */
SEC("xdp")
int get(struct xdp_md *ctx)
{
	__u32 *meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 2) > (void *)(long)ctx->data)
		return XDP_PASS;
	return meta[0] == MARK && meta[1] == ctx->data_end - ctx->data ? XDP_TX : XDP_ABORTED;
}

/* Sizes that Linux refuses, too; then all that is possible. */
SEC("xdp")
int sizes(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_meta(ctx, 4) == 0 || bpf_xdp_adjust_meta(ctx, -6) == 0 ||
	    bpf_xdp_adjust_meta(ctx, -36) == 0)
		return XDP_ABORTED;
	if (bpf_xdp_adjust_meta(ctx, -32) || bpf_xdp_adjust_meta(ctx, 32))
		return XDP_ABORTED;
	return XDP_PASS;
}

/* Starts of the frame that are refused: behind its last Ethernet header, and so far that the sum overflows. */
SEC("xdp")
int heads(struct xdp_md *ctx)
{
	const int bytes = ctx->data_end - ctx->data;
	if (bpf_xdp_adjust_head(ctx, bytes - 13) == 0 || bpf_xdp_adjust_head(ctx, 0x7ffffff2) == 0 ||
	    bpf_xdp_adjust_head(ctx, 0x7fffffff) == 0 || bpf_xdp_adjust_head(ctx, -0x7fffffff - 1) == 0)
		return XDP_ABORTED;
	return bpf_xdp_adjust_head(ctx, bytes - 14) || bpf_xdp_adjust_head(ctx, 14 - bytes) ? XDP_ABORTED : XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
