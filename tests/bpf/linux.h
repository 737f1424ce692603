/*
 * Programs and maps of Linux, by bpf(2): the oracle of the differential test.
 *
 * No type of bpf/ is used here: <linux/bpf.h> defines the same names.
 */
#ifndef TESTS_BPF_LINUX_H
#define TESTS_BPF_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if this process may load programs into this kernel. */
bool linux_allows_bpf(void);
/* True if the kernel knows the instructions of clang's -mcpu=v4. */
bool linux_knows_v4(void);
/* The most bytes of metadata that bpf_xdp_adjust_meta makes: 32 in older kernels, 255 in newer ones. */
unsigned linux_meta_max(void);
/*
 * Two faults of Linux' verifier, by programs of a dozen instructions that show them; true: the kernel has the
 * fault not. RFC 9669 5.3: a fetch overwrites the source register with what was in memory, and CMPXCHG
 * zero-extends the value that it loads into R0.
 */
bool linux_fetch_is_load(void);
bool linux_cmpxchg_extends(void);
/* A tail call to an empty slot does not count towards the limit. It does in the interpreter of Linux
 * 6.1. */
bool linux_empty_slots_are_free(void);
/* 1000 * major + minor of the kernel's release. */
unsigned linux_release(void);

/* Each returns a descriptor, which the caller closes, or -errno. */
int linux_map(uint32_t type, uint32_t key_bytes, uint32_t value_bytes, uint32_t entries, uint32_t flags);
/* An XDP program: instructions of 8 bytes, with descriptors of maps in them. In why: the last words of the
 * verifier's log. */
int linux_load(const void *insns, uint32_t count, char *why, size_t why_bytes);

/* Runs it once on a packet of *bytes bytes. *packet becomes what it left, from data_meta on, at most `room`
 * bytes of it. -errno. */
int linux_run(int program, uint8_t *packet, uint32_t *bytes, uint32_t room, uint32_t *result);

/* As bpf(2): 0 or -errno. The value of a per-CPU map is an array: a value, rounded up to 8 bytes, for each of
 * linux_cpus(). */
int linux_map_lookup(int map, const void *key, void *value);
int linux_map_update(int map, const void *key, const void *value);
/* The key behind `key`, or the first one if it is NULL. */
int linux_map_next(int map, const void *key, void *next);
int linux_map_delete(int map, const void *key);
unsigned linux_cpus(void);

/* A ring buffer, mapped for this process: it is the only reader. */
struct linux_ring {
	uint64_t *consumer;
	const uint64_t *producer;
	const uint8_t *data; /* twice, one behind the other */
	uint32_t bytes;
};
bool linux_ring_open(struct linux_ring *ring, int map, uint32_t bytes);
/* Takes the oldest record, discarded ones left out; NULL: there is none. It stays where it is until programs write
 * a whole ring more. */
const void *linux_ring_next(struct linux_ring *ring, uint32_t *bytes);

#endif
