/*
 * Start of the other cores: INIT, 10 ms, SIPI (Intel SDM vol. 3A, 8.4.4.1). Each takes a ticket
 * (boot/ap.asm), which becomes its number. They are started one by one, so their numbers follow the
 * order of ACPI's table and are the same at each boot. If one does not start, all the remaining ones
 * are started at once.
 *
 * Cores whose APIC IDs fit eight bits come first, because they can be interrupted without an IOMMU
 * (kernel/intr.h). Without an x2APIC no interprocessor interrupt reaches the others, which then stay off.
 */
#include "kernel/smp.h"

#include "hal/barrier.h"
#include "hal/clock.h"
#include "kernel/apic.h"
#include "kernel/console.h"
#include "kernel/core.h"
#include "kernel/cpu.h"
#include "kernel/program.h"
#include "kernel/tsc.h"
#include "lib/mem.h"

#define INIT_US 10000      /* from INIT to SIPI */
#define AP_START_US 2000000 /* longest wait for a core; a host may be busy */

extern const uint8_t ap_trampoline[], ap_trampoline_end[];
extern volatile uint32_t ap_ticket;

uint64_t ap_stacks[CORES_MAX];
static bool released;
static struct core *ending; /* the core that ends the machine; NULL: none */
static volatile uint64_t ap_tsc[CORES_MAX]; /* TSC that each core read at its start; 0: not started */

/* First C code of another core, on its own trap stack. */
_Noreturn void ap_main(uint32_t ticket);
_Noreturn void ap_main(uint32_t ticket)
{
	struct core *c = &cores[ticket];
	c->id = ticket;
	core_setup(c);
	c->apic_id = apic_id();
	ap_tsc[ticket] = clock_tsc();
	while (!__atomic_load_n(&released, __ATOMIC_ACQUIRE))
		cpu_relax();
	if (ticket >= boot_info->cores)
		cpu_halt_forever(); /* started too late: it has no address space */
	program_run(c);
}

/* Appends the APIC IDs from `least` to `most` of other cores, up to `limit` in all. */
static unsigned append_ids(uint32_t *ids, unsigned n, unsigned limit, const struct acpi *acpi, uint32_t least,
                           uint32_t most)
{
	for (unsigned i = 0; i < acpi->cores && n < limit; i++)
		if (acpi->apic_ids[i] != apic_id() && acpi->apic_ids[i] >= least && acpi->apic_ids[i] <= most)
			ids[n++] = acpi->apic_ids[i];
	return n;
}

/* Lists the APIC IDs of the cores to start; at most `limit` cores including this one. */
static unsigned list_others(uint32_t ids[CORES_MAX], const struct acpi *acpi, unsigned limit)
{
	limit = limit < CORES_MAX ? limit : CORES_MAX;
	limit = limit ? limit - 1 : 0;
	unsigned n = append_ids(ids, 0, limit, acpi, 0, APIC_ID_SHORT_MAX);
	unsigned all = append_ids(ids, n, limit, acpi, APIC_ID_SHORT_MAX + 1, UINT32_MAX);
	if (apic_is_x2apic() || all == n)
		return all;
	console_print("smp: %u of %u cores are not used: their APIC IDs are above %u, and the CPU has no x2APIC\n",
	              all - n, all + 1, APIC_ID_SHORT_MAX);
	return n;
}

static bool has_come(unsigned ticket)
{
	uint64_t patience = AP_START_US * (tsc_hz() / 1000000), since = clock_tsc();
	while (!ap_tsc[ticket] && clock_tsc() - since < patience)
		cpu_relax();
	return ap_tsc[ticket] != 0;
}

/* Returns the number of cores that have started, this one included, up to the first missing ticket. */
static unsigned start_others(const uint32_t *ids, unsigned others)
{
	unsigned sent = 0, n = 1;
	for (unsigned i = 0; i < others; i++)
		apic_send_init(ids[i]);
	tsc_wait_us(INIT_US);
	do {
		apic_send_sipi(ids[sent++], vm_low_page());
		n += has_come(n);
	} while (n == sent + 1 && sent < others);
	while (sent < others)
		apic_send_sipi(ids[sent++], vm_low_page());
	while (n <= others && has_come(n))
		n++;
	return n;
}

unsigned smp_start(const struct acpi *acpi, unsigned limit)
{
	uint32_t ids[CORES_MAX];
	unsigned others = list_others(ids, acpi, limit), want = others + 1;
	if (others == 0)
		return 1;
	if (vm_low_page() == 0) {
		console_print("smp: %u of %u cores are not used: no memory below 640 KiB is free for their start\n", others,
		              want);
		return 1;
	}
	memcpy(vm_phys(vm_low_page()), ap_trampoline, (size_t)(ap_trampoline_end - ap_trampoline));
	ap_ticket = 1;
	for (unsigned i = 1; i < want; i++) {
		vm_map_stack(i);
		ap_stacks[i] = STACK_BASE + i * STACK_SLOT + STACK_TRAP_TOP;
	}
	uint64_t before = clock_tsc();
	unsigned n = start_others(ids, others);
	uint64_t after = clock_tsc();
	for (unsigned i = 1; i < n; i++)
		if (ap_tsc[i] < before || ap_tsc[i] > after)
			console_print("tsc: core %u is out of step with core 0\n", i);
	if (n < want)
		console_print("smp: %u of %u cores did not start\n", want - n, want);
	return n;
}

void smp_release(void)
{
	__atomic_store_n(&released, true, __ATOMIC_RELEASE);
}

void smp_stop_others(void)
{
	if (!boot_info || boot_info->cores < 2)
		return; /* no other core is in use yet */
	struct core *first = NULL, *self = core_self();
	if (!__atomic_compare_exchange_n(&ending, &first, self, false, __ATOMIC_SEQ_CST,
	                                 __ATOMIC_SEQ_CST)) {
		if (first == self)
			return;
		cpu_halt_forever();
	}
	for (unsigned i = 0; i < boot_info->cores; i++)
		if (&cores[i] != self)
			apic_send_nmi(cores[i].apic_id);
}

void smp_stop_if_asked(void)
{
	struct core *first = __atomic_load_n(&ending, __ATOMIC_SEQ_CST);
	if (first && first != core_self())
		cpu_halt_forever();
}
