/*
 * The twin of bpf/maps/core.h: on the host a thread stands for a core, and BPF_STEP calls what a test
 * has put into bpf_step, which may abandon the operation by longjmp; BPF_LOOK calls bpf_look.
 */
#ifndef BPF_MAPS_CORE_H
#define BPF_MAPS_CORE_H

#include "lib/types.h"

#define BPF_CORE_STORAGE _Thread_local
extern BPF_CORE_STORAGE uint32_t bpf_core;

__attribute__((weak)) _Thread_local void (*bpf_step)(void);
__attribute__((weak)) _Thread_local void (*bpf_look)(void);
#define BPF_STEP() \
	do { \
		if (bpf_step) \
			bpf_step(); \
	} while (0)
#define BPF_LOOK() \
	do { \
		if (bpf_look) \
			bpf_look(); \
	} while (0)

#endif
