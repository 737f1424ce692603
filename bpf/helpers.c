/*
 * The prototypes of the helpers: bpf-helpers(7), and for the maps that a helper accepts Linux' rules for
 * programs (Documentation/bpf/map_*.rst):
 *
 * - A program reads device and socket maps, but only the control core writes them. Program arrays, CPU
 *   maps and ring buffers have no values that a program could look up.
 * - bpf_tail_call and the two that give reserved memory back return nothing.
 * - bpf_trace_printk takes at most three numbers behind its format. A register that the program did not
 *   set is printed as it is. The helper must not follow an argument as an address.
 *
 * Deliberately missing: helpers that call back into the program (bpf_loop, bpf_for_each_map_elem,
 * bpf_timer_*), spin locks, dynptrs, and sockets.
 */
#include "bpf/helpers.h"
#include "bpf/program.h"

#define TYPE(t) (1u << BPF_MAP_##t)
#define STORED (TYPE(HASH) | TYPE(ARRAY) | TYPE(PERCPU_HASH) | TYPE(PERCPU_ARRAY) | TYPE(LRU_HASH) | \
	TYPE(LRU_PERCPU_HASH) | TYPE(LPM_TRIE))
#define PORTS (TYPE(DEVMAP) | TYPE(DEVMAP_HASH) | TYPE(XSKMAP))

#define ANY BPF_ARG_ANY
#define CONTEXT BPF_ARG_CONTEXT
#define MAP BPF_ARG_MAP

static const struct bpf_proto protos[BPF_HELPERS] = {
	[BPF_FN_MAP_LOOKUP] = {.name = "bpf_map_lookup_elem", .args = {MAP, BPF_ARG_KEY},
		.returns = BPF_RETURN_VALUE_OR_NULL, .packet_memory = true, .map_types = STORED | PORTS},
	[BPF_FN_MAP_UPDATE] = {.name = "bpf_map_update_elem", .args = {MAP, BPF_ARG_KEY, BPF_ARG_VALUE, ANY},
		.packet_memory = true, .map_types = STORED},
	[BPF_FN_MAP_DELETE] = {.name = "bpf_map_delete_elem", .args = {MAP, BPF_ARG_KEY},
		.packet_memory = true, .map_types = STORED},
	[BPF_FN_KTIME_GET_NS] = {.name = "bpf_ktime_get_ns"},
	[BPF_FN_TRACE_PRINTK] = {.name = "bpf_trace_printk",
		.args = {BPF_ARG_MEM, BPF_ARG_CONST_SIZE, BPF_ARG_OPTIONAL, BPF_ARG_OPTIONAL, BPF_ARG_OPTIONAL}},
	[BPF_FN_GET_PRANDOM_U32] = {.name = "bpf_get_prandom_u32"},
	[BPF_FN_GET_SMP_PROCESSOR_ID] = {.name = "bpf_get_smp_processor_id"},
	[BPF_FN_TAIL_CALL] = {.name = "bpf_tail_call", .args = {CONTEXT, MAP, ANY},
		.returns = BPF_RETURN_NOTHING, .map_types = TYPE(PROG_ARRAY)},
	[BPF_FN_REDIRECT] = {.name = "bpf_redirect", .args = {ANY, ANY}},
	[BPF_FN_PERF_EVENT_OUTPUT] = {.name = "bpf_perf_event_output",
		.args = {CONTEXT, MAP, ANY, BPF_ARG_MEM, BPF_ARG_SIZE_OR_ZERO}, .map_types = TYPE(PERF_EVENT_ARRAY)},
	[BPF_FN_CSUM_DIFF] = {.name = "bpf_csum_diff",
		.args = {BPF_ARG_MEM_OR_NULL, BPF_ARG_SIZE_OR_ZERO, BPF_ARG_MEM_OR_NULL, BPF_ARG_SIZE_OR_ZERO, ANY},
		.packet_memory = true},
	[BPF_FN_XDP_ADJUST_HEAD] = {.name = "bpf_xdp_adjust_head", .args = {CONTEXT, ANY}, .moves_packet = true},
	[BPF_FN_REDIRECT_MAP] = {.name = "bpf_redirect_map", .args = {MAP, ANY, ANY}, .map_types = PORTS | TYPE(CPUMAP)},
	[BPF_FN_XDP_ADJUST_META] = {.name = "bpf_xdp_adjust_meta", .args = {CONTEXT, ANY}, .moves_packet = true},
	[BPF_FN_XDP_ADJUST_TAIL] = {.name = "bpf_xdp_adjust_tail", .args = {CONTEXT, ANY}, .moves_packet = true},
	[BPF_FN_FIB_LOOKUP] = {.name = "bpf_fib_lookup", .args = {CONTEXT, BPF_ARG_MEM_BOTH, BPF_ARG_SIZE, ANY},
		.packet_memory = true},
	[BPF_FN_KTIME_GET_BOOT_NS] = {.name = "bpf_ktime_get_boot_ns"},
	[BPF_FN_RINGBUF_OUTPUT] = {.name = "bpf_ringbuf_output", .args = {MAP, BPF_ARG_MEM, BPF_ARG_SIZE_OR_ZERO, ANY},
		.map_types = TYPE(RINGBUF)},
	[BPF_FN_RINGBUF_RESERVE] = {.name = "bpf_ringbuf_reserve", .args = {MAP, BPF_ARG_CONST_SIZE, ANY},
		.returns = BPF_RETURN_RESERVED_OR_NULL, .map_types = TYPE(RINGBUF)},
	[BPF_FN_RINGBUF_SUBMIT] = {.name = "bpf_ringbuf_submit", .args = {BPF_ARG_RESERVED, ANY},
		.returns = BPF_RETURN_NOTHING},
	[BPF_FN_RINGBUF_DISCARD] = {.name = "bpf_ringbuf_discard", .args = {BPF_ARG_RESERVED, ANY},
		.returns = BPF_RETURN_NOTHING},
	[BPF_FN_KTIME_GET_COARSE_NS] = {.name = "bpf_ktime_get_coarse_ns"},
	[BPF_FN_XDP_GET_BUFF_LEN] = {.name = "bpf_xdp_get_buff_len", .args = {CONTEXT}},
	[BPF_FN_XDP_LOAD_BYTES] = {.name = "bpf_xdp_load_bytes", .args = {CONTEXT, ANY, BPF_ARG_MEM_WRITE, BPF_ARG_SIZE}},
	[BPF_FN_XDP_STORE_BYTES] = {.name = "bpf_xdp_store_bytes", .args = {CONTEXT, ANY, BPF_ARG_MEM, BPF_ARG_SIZE},
		.writes_packet = true},
};

const struct bpf_proto *bpf_proto(uint32_t id)
{
	return id < BPF_HELPERS && protos[id].name ? &protos[id] : NULL;
}
