/*
 * The number of the core that runs this: own[bpf_core] of a map is its memory. Set once at the start of a
 * core's program, before anything of bpf/maps/ is called.
 *
 * In the image a plain variable is one a core (ARCHITECTURE.md, invariant 1). On the host a thread
 * stands for a core, and tests/host/bpf/maps/core.h takes this header's place.
 *
 * BPF_STEP stands before every store to memory that cores share, BPF_LOOK before a load. They are nothing; the twin
 * lets a test abandon an operation there, as a core does that dies, or have another core act in between.
 */
#ifndef BPF_MAPS_CORE_H
#define BPF_MAPS_CORE_H

#include "lib/types.h"

#define BPF_CORE_STORAGE
extern BPF_CORE_STORAGE uint32_t bpf_core;

#define BPF_STEP() ((void)0)
#define BPF_LOOK() ((void)0)

#endif
