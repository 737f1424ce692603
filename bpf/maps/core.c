/*
 * The number of this core, in a file of its own: see core.h.
 */
#include "bpf/maps/core.h"

BPF_CORE_STORAGE uint32_t bpf_core;
