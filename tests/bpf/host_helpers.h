/* Helpers that move the packet, for tests on the host: bpf_xdp_adjust_head, _meta, _tail, bpf_xdp_load_bytes,
 * bpf_xdp_store_bytes, with Linux' rules for the generic XDP buffer. */
#ifndef TESTS_BPF_HOST_HELPERS_H
#define TESTS_BPF_HOST_HELPERS_H

#include "bpf/program.h"

extern unsigned host_meta_max; /* bytes of metadata; kernels differ in it */

/* Puts them into the table of all helpers. */
void host_helpers(bpf_helper *helpers);

#endif
