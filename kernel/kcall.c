/* Serves the calls of abi/kcall.h. All arguments are untrusted and checked. */
#include "abi/kcall.h"

#include "hal/clock.h"
#include "kernel/apic.h"
#include "kernel/console.h"
#include "kernel/core.h"
#include "kernel/cpu.h"
#include "kernel/intr.h"
#include "kernel/iommu.h"
#include "kernel/lend.h"
#include "kernel/panic.h"
#include "kernel/partition.h"
#include "kernel/pci.h"
#include "kernel/pci_errors.h"
#include "kernel/program.h"
#include "kernel/regions.h"
#include "kernel/selftest.h"
#include "kernel/trap.h"
#include "kernel/watchdog.h"

#define LOG_CHUNK 256
#define CONSOLE_LOOKS 50 /* a second, for keys of a serial port without interrupt */
/* The control core polls for keys a hundred times a second, and prints its progress while it reads a million lines,
 * so it calls the kernel much more often. */
#define SILENT_S 30

static int64_t serve_log(const struct core *c, uint64_t text, uint64_t bytes)
{
	char chunk[LOG_CHUNK];
	for (uint64_t done = 0; done < bytes;) {
		size_t n = bytes - done < LOG_CHUNK ? bytes - done : LOG_CHUNK;
		if (!vm_copy_from_user(c->space, chunk, text + done, n))
			return E_INVAL;
		console_write(chunk, n);
		done += n;
	}
	return E_OK;
}

/*
 * While ring 3 runs, the local APIC holds back all interrupts but the watchdog's. One that arrived since the
 * program last checked is pending there and ends the halt at once, so no wake-up is lost.
 */
static int64_t serve_sleep(struct core *c, uint64_t tsc)
{
	if (tsc && clock_tsc() >= tsc)
		return E_OK;
	if (c->id == 0 && console_is_polled()) {
		const uint64_t look = clock_tsc() + boot_info->tsc_hz / CONSOLE_LOOKS;
		tsc = tsc && tsc < look ? tsc : look;
	}
	boot_info->sleep[c->id].asleep = 1;
	apic_deadline(tsc);
	apic_take_wakes(true);
	cpu_wait_for_interrupt();
	apic_take_wakes(false);
	watchdog_resume(c);
	boot_info->sleep[c->id].asleep = 0;
	return E_OK;
}

static int64_t serve_wake(uint64_t core)
{
	if (core >= boot_info->cores)
		return E_INVAL;
	apic_send(cores[core].apic_id, VECTOR_WAKE);
	return E_OK;
}

/* True if the core runs and its program has not called the kernel for SILENT_S seconds. */
static bool is_silent(const struct core *c)
{
	uint64_t since = clock_tsc() - __atomic_load_n(&c->called_tsc, __ATOMIC_RELAXED);
	return boot_info->status[c->id].state == CORE_RUNNING && !boot_info->sleep[c->id].asleep &&
	       since / boot_info->tsc_hz >= SILENT_S;
}

static int64_t serve_restart(struct core *c, uint64_t core)
{
	bool control = boot_info->core[c->id].roles & CORE_CONTROL;
	if (core >= boot_info->cores || !(control || (core == 0 && core != c->id)))
		return E_INVAL;
	if (!control && !is_silent(&cores[core]))
		return E_AGAIN;
	if (core == c->id)
		program_run(c);
	__atomic_store_n(&cores[core].restart_asked, true, __ATOMIC_RELEASE);
	apic_send_nmi(cores[core].apic_id);
	return E_OK;
}

static int64_t serve_config_hash(const struct core *c, uint64_t hash)
{
	if (!(boot_info->core[c->id].roles & CORE_CONTROL))
		return E_INVAL;
	boot_info->config_hash = hash;
	return E_OK;
}

/* Copies the text at ring 3's address `from`, cut at size - 1 bytes or at the first unreadable byte;
 * "?" if it is empty or unreadable. */
static void read_text(const struct core *c, char *text, size_t size, uint64_t from)
{
	size_t n = 0;
	while (n + 1 < size && vm_copy_from_user(c->space, text + n, from + n, 1) && text[n])
		n++;
	text[n] = '\0';
	if (n == 0)
		fmt_format(text, size, "?");
}

_Noreturn static void serve_assert(struct trap_frame *f, const struct core *c)
{
	char expr[100], file[60], what[200];
	read_text(c, expr, sizeof expr, f->rdi);
	read_text(c, file, sizeof file, f->rsi);
	fmt_format(what, sizeof what, "assertion failed: %s, %s:%u", expr, file, (unsigned)f->rdx);
	fault_in_program(f, what);
}

_Noreturn static void serve_smashed(struct trap_frame *f)
{
	char what[120];
	uint64_t offset;
	const char *name = program_function(f->rdi, &offset);
	fmt_format(what, sizeof what, "stack overwritten in %s", name ? name : "?");
	fault_in_program(f, what);
}

void kcall_serve(struct trap_frame *f)
{
	struct core *c = core_self();
	int64_t result = E_INVAL;
	__atomic_store_n(&c->called_tsc, clock_tsc(), __ATOMIC_RELAXED);
	switch (f->rax) {
	case KCALL_LOG:
		result = serve_log(c, f->rdi, f->rsi);
		break;
	case KCALL_CONSOLE_READ:
		result = console_read();
		break;
	case KCALL_SLEEP:
		result = serve_sleep(c, f->rdi);
		break;
	case KCALL_WAKE:
		result = serve_wake(f->rdi);
		break;
	case KCALL_EXIT:
		machine_exit((unsigned)f->rdi);
	case KCALL_REBOOT:
		machine_reboot();
	case KCALL_PCI_READ:
		result = pci_config_read(f->rdi, f->rsi, f->rdx);
		break;
	case KCALL_PCI_WRITE:
		result = pci_config_write(f->rdi, f->rsi & 0xffff, f->rsi >> 16, (uint32_t)f->rdx);
		break;
	case KCALL_MSIX_ROUTE:
		if (f->rdx < boot_info->cores)
			result = intr_route(f->rdi, f->rsi, cores[f->rdx].apic_id);
		break;
	case KCALL_DMA_LOOK:
		if (boot_info->core[c->id].roles & CORE_CONTROL)
			result = iommu_look();
		break;
	case KCALL_DMA_RESERVE:
		result = iommu_reserve(c->id, f->rdi, f->rsi, f->rdx);
		break;
	case KCALL_PCI_ERRORS:
		if (boot_info->core[c->id].roles & CORE_CONTROL)
			result = pci_errors_look();
		break;
	case KCALL_TEST_DMA:
		result = iommu_test(f->rdi, f->rsi);
		break;
	case KCALL_TEST_PANIC:
		result = selftest_panic(f->rdi);
		break;
	case KCALL_SHARE:
		if (boot_info->core[c->id].roles & CORE_CONTROL)
			result = partition_share(f->rdi);
		break;
	case KCALL_REGION:
		if (boot_info->core[c->id].roles & CORE_CONTROL)
			result = regions_add(f->rdi, f->rsi, f->rdx);
		break;
	case KCALL_LEND:
		if (boot_info->core[c->id].roles & CORE_CONTROL)
			result = lend_serve(f->rdi, f->rsi, f->rdx);
		break;
	case KCALL_CODE_WRITE:
		if (boot_info->core[c->id].roles & CORE_CONTROL)
			result = regions_code_write(c, f->rdi, f->rsi, f->rdx);
		break;
	case KCALL_CONFIG_HASH:
		result = serve_config_hash(c, f->rdi);
		break;
	case KCALL_ASSERT:
		serve_assert(f, c);
	case KCALL_SMASHED:
		serve_smashed(f);
	case KCALL_RESTART:
		result = serve_restart(c, f->rdi);
		break;
	default:
		break;
	}
	f->rax = (uint64_t)result;
}
