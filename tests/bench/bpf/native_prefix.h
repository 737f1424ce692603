/*
 * Makes a program of tests/bpf/programs/, unchanged, a function of C: the peer of its compiled form. GCC's option
 * -include puts this before it, in place of <bpf/bpf_helpers.h>. NATIVE_LOOKUP is how its map is looked up:
 * the same function that the compiled program calls, or for an array the same arithmetic.
 */
#ifndef TESTS_BENCH_BPF_NATIVE_PREFIX_H
#define TESTS_BENCH_BPF_NATIVE_PREFIX_H

#include <linux/bpf.h>

#include "tests/bench/bpf/native.h"

struct native_xdp {
	unsigned char *data, *data_end, *data_meta;
	__u32 ingress_ifindex, rx_queue_index, egress_ifindex;
};
#define xdp_md native_xdp

#define __BPF_HELPERS__
#define SEC(name)
#define __uint(name, value) int (*name)[value]
#define __type(name, type) __typeof__(type) *name
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))

#define ARRAY(key) \
	({ const __u32 i = *(key); void *v = i < 4 ? native_values + 16 * (unsigned long)i : 0; v; })
#define HASH(key) bpf_hash_lookup16(native_map, key)
#define LPM(key) bpf_lpm_lookup(native_map, key)
#define bpf_map_lookup_elem(map, key) NATIVE_LOOKUP(key)
void *bpf_hash_lookup16(const struct bpf_map *map, const void *key);
void *bpf_lpm_lookup(const struct bpf_map *map, const void *key);

#endif
