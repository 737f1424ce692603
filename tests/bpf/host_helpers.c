/*
 * Helpers that move the packet: see host_helpers.h. They are written apart from the data plane's, after
 * bpf-helpers(7).
 */
#include <stdint.h>
#include <string.h>

#include "bpf/helpers.h"
#include "bpf/xdp.h"
#include "tests/bpf/host_helpers.h"

#define ETHERNET 14
#define EINVAL_ ((uint64_t)-22)
#define EACCES_ ((uint64_t)-13)
#define HELPER(name) static uint64_t name(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
#define UNUSED(r) ((void)(r))

unsigned host_meta_max = 255;

static struct bpf_xdp *xdp_of(uint64_t r1)
{
	return (struct bpf_xdp *)(uintptr_t)r1;
}

HELPER(adjust_head)
{
	UNUSED(r3), UNUSED(r4), UNUSED(r5);
	struct bpf_xdp *x = xdp_of(r1);
	const int64_t offset = (int32_t)r2, meta = x->data - x->data_meta;
	if (x->data - x->start + offset < meta || offset > x->data_end - x->data - ETHERNET)
		return EINVAL_;
	memmove(x->data_meta + offset, x->data_meta, (size_t)meta);
	x->data_meta += offset;
	x->data += offset;
	return 0;
}

HELPER(adjust_meta)
{
	UNUSED(r3), UNUSED(r4), UNUSED(r5);
	struct bpf_xdp *x = xdp_of(r1);
	const int64_t offset = (int32_t)r2, meta = x->data - x->data_meta - offset;
	if (meta < 0 || x->data - x->start < meta)
		return EINVAL_;
	if (meta % 4 || meta > host_meta_max)
		return EACCES_;
	x->data_meta += offset;
	return 0;
}

HELPER(adjust_tail)
{
	UNUSED(r3), UNUSED(r4), UNUSED(r5);
	struct bpf_xdp *x = xdp_of(r1);
	const int64_t offset = (int32_t)r2;
	if (offset > x->end - x->data_end || x->data_end - x->data + offset < ETHERNET)
		return EINVAL_;
	if (offset > 0)
		memset(x->data_end, 0, (size_t)offset);
	x->data_end += offset;
	return 0;
}

static bool inside(const struct bpf_xdp *x, uint64_t offset, uint64_t bytes)
{
	const uint64_t length = (uint64_t)(x->data_end - x->data);
	return offset <= 0xffff && bytes <= 0xffff && offset + bytes <= length;
}

HELPER(load_bytes)
{
	UNUSED(r5);
	const struct bpf_xdp *x = xdp_of(r1);
	const uint32_t offset = (uint32_t)r2, bytes = (uint32_t)r4;
	if (!inside(x, offset, bytes))
		return EINVAL_; /* and the memory stays as it is */
	memcpy((void *)(uintptr_t)r3, x->data + offset, bytes);
	return 0;
}

HELPER(store_bytes)
{
	UNUSED(r5);
	const struct bpf_xdp *x = xdp_of(r1);
	const uint32_t offset = (uint32_t)r2, bytes = (uint32_t)r4;
	if (!inside(x, offset, bytes))
		return EINVAL_;
	memcpy(x->data + offset, (const void *)(uintptr_t)r3, bytes);
	return 0;
}

void host_helpers(bpf_helper *helpers)
{
	helpers[BPF_FN_XDP_ADJUST_HEAD] = adjust_head;
	helpers[BPF_FN_XDP_ADJUST_META] = adjust_meta;
	helpers[BPF_FN_XDP_ADJUST_TAIL] = adjust_tail;
	helpers[BPF_FN_XDP_LOAD_BYTES] = load_bytes;
	helpers[BPF_FN_XDP_STORE_BYTES] = store_bytes;
}
