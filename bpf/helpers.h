/*
 * The helpers that programs may call, by their numbers in Linux' uapi/linux/bpf.h, and the types of
 * their arguments, which the verifier checks. The prototypes are those of bpf-helpers(7).
 *
 * The table says nothing about how a helper works. Helpers on maps and checksums are in bpf/maps/ and
 * bpf/helpers.c; those that need the machine (time, output, FIB) are dataplane/'s, and a host test has
 * its own.
 */
#ifndef BPF_HELPERS_H
#define BPF_HELPERS_H

#include "lib/types.h"

enum bpf_helper_id {
	BPF_FN_MAP_LOOKUP = 1,
	BPF_FN_MAP_UPDATE = 2,
	BPF_FN_MAP_DELETE = 3,
	BPF_FN_KTIME_GET_NS = 5,
	BPF_FN_TRACE_PRINTK = 6,
	BPF_FN_GET_PRANDOM_U32 = 7,
	BPF_FN_GET_SMP_PROCESSOR_ID = 8,
	BPF_FN_TAIL_CALL = 12,
	BPF_FN_REDIRECT = 23,
	BPF_FN_PERF_EVENT_OUTPUT = 25,
	BPF_FN_CSUM_DIFF = 28,
	BPF_FN_XDP_ADJUST_HEAD = 44,
	BPF_FN_REDIRECT_MAP = 51,
	BPF_FN_XDP_ADJUST_META = 54,
	BPF_FN_XDP_ADJUST_TAIL = 65,
	BPF_FN_FIB_LOOKUP = 69,
	BPF_FN_KTIME_GET_BOOT_NS = 125,
	BPF_FN_RINGBUF_OUTPUT = 130,
	BPF_FN_RINGBUF_RESERVE = 131,
	BPF_FN_RINGBUF_SUBMIT = 132,
	BPF_FN_RINGBUF_DISCARD = 133,
	BPF_FN_KTIME_GET_COARSE_NS = 160,
	BPF_FN_XDP_GET_BUFF_LEN = 188,
	BPF_FN_XDP_LOAD_BYTES = 189,
	BPF_FN_XDP_STORE_BYTES = 190,
	BPF_HELPERS = 212, /* numbers below this */
};

/* What an argument must be. A size argument belongs to the memory argument before it. */
enum bpf_arg {
	BPF_ARG_NONE,
	BPF_ARG_ANY,          /* any initialised register */
	BPF_ARG_OPTIONAL,     /* any register, initialised or not: a number that is only printed */
	BPF_ARG_CONTEXT,
	BPF_ARG_MAP,          /* a map of the types in struct bpf_proto.map_types */
	BPF_ARG_KEY,          /* readable memory of the map's key_bytes */
	BPF_ARG_VALUE,        /* readable memory of the map's value_bytes */
	BPF_ARG_MEM,          /* readable memory */
	BPF_ARG_MEM_OR_NULL,  /* the same, or the number 0 when the size is 0 */
	BPF_ARG_MEM_WRITE,    /* memory that the helper fills; need not be initialised */
	BPF_ARG_MEM_BOTH,     /* initialised memory that the helper reads and writes */
	BPF_ARG_SIZE,         /* 1 or more */
	BPF_ARG_SIZE_OR_ZERO,
	BPF_ARG_CONST_SIZE,   /* a size known to the verifier: bpf_ringbuf_reserve's */
	BPF_ARG_RESERVED,     /* memory from bpf_ringbuf_reserve; the call gives it back */
};

enum bpf_return {
	BPF_RETURN_NUMBER,
	BPF_RETURN_VALUE_OR_NULL,    /* a value of the map */
	BPF_RETURN_RESERVED_OR_NULL, /* reserved memory; must be given back on every path */
	BPF_RETURN_NOTHING,          /* R0 is not initialised afterwards */
};

struct bpf_proto {
	const char *name; /* as in bpf-helpers(7), such as bpf_map_lookup_elem; NULL: no helper */
	uint8_t args[5];  /* enum bpf_arg */
	uint8_t returns;  /* enum bpf_return */
	bool moves_packet; /* pointers into the packet are invalid after it */
	bool writes_packet; /* it changes the packet's bytes; moves_packet and memory arguments that it fills do too */
	bool packet_memory; /* memory arguments may lie in the packet: pkt_access of Linux' prototypes */
	uint32_t map_types; /* 1 << enum bpf_map_type, of the argument BPF_ARG_MAP */
};

/* The prototype; NULL: there is no helper of that number here. */
const struct bpf_proto *bpf_proto(uint32_t id);

#endif
