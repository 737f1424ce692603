/*
 * Helpers that need nothing but maps, the packet and the number of the core, in the form in which compiled code
 * calls them: bpf-helpers(7).
 */
#include "bpf/csum.h"
#include "bpf/helpers.h"
#include "bpf/maps/map.h"
#include "bpf/xdp.h"

#define POINTER(type, r) ((type *)(uintptr_t)(r))
#define MAP(r) POINTER(const struct bpf_map, r)
#define HELPER(name) \
	static uint64_t name(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
#define UNUSED(r) ((void)(r))

HELPER(map_lookup)
{
	UNUSED(r3), UNUSED(r4), UNUSED(r5);
	return (uintptr_t)bpf_map_lookup(MAP(r1), POINTER(const void, r2));
}

HELPER(map_update)
{
	UNUSED(r5);
	return (uint64_t)bpf_map_update(MAP(r1), POINTER(const void, r2), POINTER(const void, r3), r4);
}

HELPER(map_delete)
{
	UNUSED(r3), UNUSED(r4), UNUSED(r5);
	return (uint64_t)bpf_map_delete(MAP(r1), POINTER(const void, r2));
}

HELPER(get_smp_processor_id)
{
	UNUSED(r1), UNUSED(r2), UNUSED(r3), UNUSED(r4), UNUSED(r5);
	return bpf_core;
}

HELPER(csum_diff)
{
	return (uint64_t)bpf_csum_diff(POINTER(const void, r1), (uint32_t)r2, POINTER(const void, r3), (uint32_t)r4,
	                               (uint32_t)r5);
}

HELPER(perf_event_output)
{
	const struct bpf_xdp *xdp = POINTER(const struct bpf_xdp, r1);
	return (uint64_t)bpf_perf_output(MAP(r2), r3, POINTER(const void, r4), r5, xdp->data,
	                                 (uint64_t)(xdp->data_end - xdp->data));
}

HELPER(ringbuf_output)
{
	UNUSED(r5);
	return (uint64_t)bpf_ring_output(MAP(r1), POINTER(const void, r2), r3, r4);
}

HELPER(ringbuf_reserve)
{
	UNUSED(r4), UNUSED(r5);
	return r3 ? 0 : (uintptr_t)bpf_ring_reserve(MAP(r1), r2); /* no flags are defined */
}

HELPER(ringbuf_submit)
{
	UNUSED(r2), UNUSED(r3), UNUSED(r4), UNUSED(r5);
	bpf_ring_commit(POINTER(void, r1), false);
	return 0;
}

HELPER(ringbuf_discard)
{
	UNUSED(r2), UNUSED(r3), UNUSED(r4), UNUSED(r5);
	bpf_ring_commit(POINTER(void, r1), true);
	return 0;
}

void bpf_map_helpers(bpf_helper *helpers)
{
	helpers[BPF_FN_MAP_LOOKUP] = map_lookup;
	helpers[BPF_FN_MAP_UPDATE] = map_update;
	helpers[BPF_FN_MAP_DELETE] = map_delete;
	helpers[BPF_FN_GET_SMP_PROCESSOR_ID] = get_smp_processor_id;
	helpers[BPF_FN_CSUM_DIFF] = csum_diff;
	helpers[BPF_FN_PERF_EVENT_OUTPUT] = perf_event_output;
	helpers[BPF_FN_RINGBUF_OUTPUT] = ringbuf_output;
	helpers[BPF_FN_RINGBUF_RESERVE] = ringbuf_reserve;
	helpers[BPF_FN_RINGBUF_SUBMIT] = ringbuf_submit;
	helpers[BPF_FN_RINGBUF_DISCARD] = ringbuf_discard;
}
