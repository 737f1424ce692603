/*
 * bpf_csum_diff(): the difference of two checksums, as bpf-helpers(7) has it.
 */
#ifndef BPF_CSUM_H
#define BPF_CSUM_H

#include "lib/types.h"

/*
 * The sum `seed` without the bytes at `from` and with those at `to`, folded to 16 bits and not
 * complemented; sums are raw, as lib/csum.h says. The sizes must be multiples of 4: otherwise -22
 * (EINVAL). Either may be 0. Linux folds the result since 6.13; the Internet checksum made from it is the same.
 */
int64_t bpf_csum_diff(const void *from, uint64_t from_bytes, const void *to, uint64_t to_bytes, uint32_t seed);

#endif
