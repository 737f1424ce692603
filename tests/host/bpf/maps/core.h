/*
 * The twin of bpf/maps/core.h: on the host a thread stands for a core.
 */
#ifndef BPF_MAPS_CORE_H
#define BPF_MAPS_CORE_H

#include "lib/types.h"

#define BPF_CORE_STORAGE _Thread_local
extern BPF_CORE_STORAGE uint32_t bpf_core;

#endif
