/*
 * Boot, from the loader to the core programs. Each step depends on those before it: console, traps,
 * memory, ACPI, APIC, clock, other cores, devices, memory of the cores, programs. Once the programs
 * run, the kernel only serves calls and faults (ARCHITECTURE.md, Kernel).
 */
#include "hal/clock.h"
#include "kernel/acpi.h"
#include "kernel/apic.h"
#include "kernel/audit.h"
#include "kernel/boot.h"
#include "kernel/console.h"
#include "kernel/core.h"
#include "kernel/cpu.h"
#include "kernel/fbcon.h"
#include "kernel/guard.h"
#include "kernel/hardware.h"
#include "kernel/intr.h"
#include "kernel/iommu.h"
#include "kernel/keep.h"
#include "kernel/numa.h"
#include "kernel/panic.h"
#include "kernel/partition.h"
#include "kernel/pci.h"
#include "kernel/program.h"
#include "kernel/rtc.h"
#include "kernel/smp.h"
#include "kernel/trap.h"
#include "kernel/tsc.h"
#include "kernel/watchdog.h"
#include "lib/cmdline.h"
#include "lib/mem.h"

static struct boot boot;
static struct acpi acpi;
static uint64_t tsc_at_start;

/* Intel SDM vol. 2A, CPUID, leaves 0x80000002 to 4: 48 characters. */
static void read_cpu_name(char name[64])
{
	for (uint32_t i = 0; i < 3; i++) {
		struct cpuid c = cpu_id(0x80000002 + i, 0);
		memcpy(name + 16 * i, &c, 16);
	}
}

static void make_boot_info(void)
{
	boot_info = vm_phys(vm_take_zeroed_pages(sizeof *boot_info, "what the cores are told"));
	boot_info->tsc_boot = tsc_at_start;
	boot_info->tsc_hz = tsc_hz();
	boot_info->clock_ns = rtc_read(&acpi);
	boot_info->clock_tsc = clock_tsc();
	boot_info->tsc_invariant = tsc_is_invariant();
	boot_info->hypervisor = cpu_is_guest();
	boot_info->image_bytes = vm_image_bytes();
	memcpy(boot_info->cmdline, boot.cmdline, sizeof boot.cmdline);
	memcpy(boot_info->loader, boot.loader, sizeof boot.loader);
	fmt_format(boot_info->build_id, sizeof boot_info->build_id, "%s", kernel_build_id);
	read_cpu_name(boot_info->cpu);
	keep_take(&boot_info->before);
}

static void learn_nodes(void)
{
	if (!acpi.srat)
		return;
	if (numa_parse_srat(acpi.srat, acpi.srat_bytes) != E_OK)
		console_print("numa: the SRAT is malformed, or too large: all memory counts as one node's\n");
	else if (acpi.slit && numa_parse_slit(acpi.slit, acpi.slit_bytes) != E_OK)
		console_print("numa: the SLIT is malformed: all nodes count as equally far\n");
	vm_ram_learn_nodes();
}

/* The rest of the boot, on core 0's own stack. */
_Noreturn static void boot_on_core_stack(void)
{
	core_setup(&cores[0]);
	trap_use_stacks();
	cores[0].apic_id = apic_id();
	tsc_init();
	make_boot_info();
	if (!boot_info->tsc_invariant && !boot_info->hypervisor)
		console_print("tsc: not invariant on this CPU; times may drift\n");
	unsigned n = smp_start(&acpi, (unsigned)cmdline_number(boot.cmdline, "cores", CORES_MAX));
	const struct iommu_units *units = iommu_find(&acpi);
	pci_init(&acpi, units, &boot, boot_info);
	hardware_describe(&boot_info->hardware, &acpi, units, &boot);
	program_init();
	watchdog_init();
	iommu_tell_nodes();
	iommu_prepare();
	intr_prepare();
	n = intr_cores(n);
	partition_cores(n, &boot);
	intr_start(&acpi);
	if (cmdline_number(boot.cmdline, "test", 0) == 1)
		audit_address_spaces(n, true);
	console_print("hayate: %u core%s, %llu MiB, TSC %llu MHz, %s, %s\n", n, n == 1 ? "" : "s",
	              (unsigned long long)(vm_total() >> 20),
	              (unsigned long long)(tsc_hz() / 1000000),
	              apic_is_x2apic() ? "x2APIC" : "xAPIC", boot_info->loader);
	smp_release();
	program_run(&cores[0]);
}

_Noreturn void kmain(enum boot_loader loader, uint64_t info);
_Noreturn void kmain(enum boot_loader loader, uint64_t info)
{
	char panic_word[8];
	tsc_at_start = clock_tsc();
	__stack_chk_guard = guard_make(); /* safe here: kmain never returns, so it never compares */
	console_init();
	trap_init();
	core_load_tables(&cores[0]); /* from here on every fault is reported */
	boot_parse(&boot, loader, info);
	machine_set_exit_port((uint16_t)cmdline_number(boot.cmdline, "debug-exit", 0));
	if (cmdline_option(boot.cmdline, "panic", panic_word, sizeof panic_word))
		machine_set_panic(panic_word);
	vm_init(&boot);
	fbcon_init(&boot.fb);
	console_print("hayate: build %s\n", kernel_build_id);
	keep_tell();
	acpi_init(&acpi, &boot);
	console_choose(&acpi, &boot);
	learn_nodes();
	apic_init(&acpi);
	vm_map_stack(0);
	__asm__ volatile("movq %0, %%rsp\n\t"
	                 "xorl %%ebp, %%ebp\n\t"
	                 "call *%1"
	                 :
	                 : "r"(STACK_BASE + STACK_TRAP_TOP), "r"(boot_on_core_stack)
	                 : "memory");
	__builtin_unreachable();
}
