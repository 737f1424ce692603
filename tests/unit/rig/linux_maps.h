/*
 * Linux' own maps and programs by bpf(2), to compare ours with. Results are 0 or -errno, as our maps'. In a file
 * apart from ours, because uapi/linux/bpf.h has the same names.
 */
#ifndef TESTS_UNIT_RIG_LINUX_MAPS_H
#define TESTS_UNIT_RIG_LINUX_MAPS_H

#include <stdint.h>

/* May this process use bpf(2)? */
int linux_bpf_allowed(void);

/* A file descriptor, or -errno. */
int linux_map(uint32_t type, uint32_t key_bytes, uint32_t value_bytes, uint32_t entries, uint32_t flags);
int64_t linux_map_update(int map, const void *key, const void *value, uint64_t flags);
int64_t linux_map_lookup(int map, const void *key, void *value);
int64_t linux_map_delete(int map, const void *key);
int64_t linux_map_next(int map, const void *key, void *next);

/* Possible CPUs: so many values has an element of a per-CPU map here, each rounded up to 8 bytes. */
unsigned linux_cpus(void);

/* Loads an XDP program of `count` instructions: a file descriptor; -errno: the verifier's text is on stderr. */
int linux_xdp(const void *insns, uint32_t count);

/* Runs it `repeat` times on a packet of 64 zero bytes; returns nanoseconds a run, *result is what it returned. */
double linux_xdp_run(int program, uint32_t repeat, uint32_t *result);

#endif
