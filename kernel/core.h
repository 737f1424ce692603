/* The cores of the machine as the kernel sees them: descriptor tables, stacks, programs. */
#ifndef KERNEL_CORE_H
#define KERNEL_CORE_H

#include "abi/boot_info.h"
#include "kernel/vm.h"
#include "kernel/watchdog.h"
#include "lib/types.h"

/* Intel SDM vol. 3A, 7.7: 64-bit TSS. */
struct tss {
	uint32_t reserved0;
	uint64_t rsp0, rsp1, rsp2;
	uint64_t reserved1;
	uint64_t ist[7];
	uint64_t reserved2;
	uint16_t reserved3, io_map;
} __attribute__((packed));
_Static_assert(sizeof(struct tss) == 104, "SDM 3A, figure 7-11");

struct core {
	_Alignas(64) unsigned id; /* no cache line belongs to two cores */
	uint32_t apic_id;
	vm_space_t space;
	uint64_t gdt[8] __attribute__((aligned(16)));
	struct tss tss;
	uint64_t fault_window_tsc; /* start of the period in which faults_recent were counted */
	unsigned faults_recent;
	struct crash *crash; /* the report that this core is writing; NULL: none, or it is not kept */
	uint64_t called_tsc; /* time of the program's last call to the kernel, or of its start */
	struct watchdog watchdog;
	bool restart_asked; /* set by another core before it sends an NMI; cleared by the owner */
};

extern struct core cores[CORES_MAX];

/* The structure that the programs read, mapped writable for the kernel. NULL until kmain has
 * calibrated the clock. */
extern struct boot_info *boot_info;

/* The core that runs this code, derived from its stack pointer. */
struct core *core_self(void);

/* False while core 0 still runs on the boot stack; core_self() is invalid then. */
bool core_has_stack(void);

/* Loads the descriptor tables of the calling core, as needed for an exception at ring 0. They lie in
 * the image, so they are valid under both the boot page tables and the final ones. */
void core_load_tables(struct core *c);

/* Loads the tables, sets the control registers, and enables machine checks and the local APIC. */
void core_setup(struct core *c);

#endif
