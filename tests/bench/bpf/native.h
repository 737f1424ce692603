/* The programs of tests/bpf/programs/, compiled by GCC as functions of C: see native_prefix.h. */
#ifndef TESTS_BENCH_BPF_NATIVE_H
#define TESTS_BENCH_BPF_NATIVE_H

struct bpf_map;
struct native_xdp; /* with the layout of struct bpf_xdp */

extern const struct bpf_map *native_map;   /* the object's first map */
extern unsigned char *native_values;       /* its values, if it is an array */

int native_drop(struct native_xdp *);
int native_tx(struct native_xdp *);
int native_count(struct native_xdp *);
int native_five_tuple(struct native_xdp *);
int native_lpm(struct native_xdp *);

#endif
