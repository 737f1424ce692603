/*
 * Intel SDM vol. 3A, chapter 10 (APIC) and 10.12 (x2APIC); 82093AA I/O APIC data sheet;
 * 8259A for the masking. Register numbers are the xAPIC offsets; x2APIC has them as MSRs
 * 0x800 + offset / 16.
 */
#include "kernel/apic.h"

#include "hal/clock.h"
#include "hal/mmio.h"
#include "kernel/cpu.h"
#include "kernel/vm.h"
#include "lib/assert.h"

#define LAPIC_ID 0x20
#define LAPIC_TPR 0x80
#define LAPIC_EOI 0xb0
#define LAPIC_SVR 0xf0
#define LAPIC_SVR_ENABLE 0x100
#define LAPIC_ICR 0x300
#define LAPIC_ICR_HIGH 0x310
#define LAPIC_ICR_PENDING (1u << 12)
#define LAPIC_LVT_TIMER 0x320
#define LAPIC_LVT_LINT0 0x350
#define LAPIC_LVT_LINT1 0x360
#define LAPIC_LVT_ERROR 0x370
#define LAPIC_LVT_MASKED (1u << 16)
#define LAPIC_LVT_TSC_DEADLINE (2u << 17)
#define LAPIC_TIMER_INIT 0x380
#define LAPIC_TIMER_NOW 0x390
#define LAPIC_TIMER_DIVIDE 0x3e0
#define LAPIC_TIMER_DIVIDE_BY_1 0xb

#define ICR_INIT 0x4500u    /* INIT, level assert */
#define ICR_STARTUP 0x4600u /* start-up, level assert */
#define ICR_FIXED 0x4000u
#define ICR_NMI 0x4400u
#define ICR_SPIN_MAX 1000000

#define APIC_BASE_ENABLE (1ull << 11)
#define APIC_BASE_X2APIC (1ull << 10)

#define IOAPIC_SELECT 0x00
#define IOAPIC_WINDOW 0x10
#define IOAPIC_VERSION 1
#define IOAPIC_REDIRECTION 0x10
#define IOAPIC_LOW_ACTIVE (1u << 13)
#define IOAPIC_LEVEL (1u << 15)
#define IOAPIC_MASKED (1u << 16)

#define CLASS_WAKES (VECTOR_WAKE >> 4)
_Static_assert(VECTOR_SERIAL >> 4 == CLASS_WAKES && VECTOR_DEADLINE >> 4 > CLASS_WAKES,
               "the task priority separates the deadline from the others");

static bool x2apic, tsc_deadline;
static volatile uint8_t *lapic; /* xAPIC registers */
static uint64_t timer_ratio; /* timer ticks per TSC tick, 32 fraction bits */

static uint32_t lapic_read(unsigned reg)
{
	return x2apic ? (uint32_t)msr_read(MSR_X2APIC + reg / 16) : mmio_read32(lapic + reg);
}

static void lapic_write(unsigned reg, uint32_t v)
{
	if (x2apic)
		msr_write(MSR_X2APIC + reg / 16, v);
	else
		mmio_write32(lapic + reg, v);
}

static void pic_silence(void)
{
	/* Remap to vectors outside the exceptions (a spurious IRQ7 may still arrive), then mask all. */
	static const uint8_t words[][2] = {{0x20, 0x11}, {0xa0, 0x11}, {0x21, 0xf0}, {0xa1, 0xf8},
	                                   {0x21, 0x04}, {0xa1, 0x02}, {0x21, 0x01}, {0xa1, 0x01},
	                                   {0x21, 0xff}, {0xa1, 0xff}};
	for (unsigned i = 0; i < ARRAY_LEN(words); i++)
		out8(words[i][0], words[i][1]);
}

void apic_init(const struct acpi *acpi)
{
	pic_silence();
	struct cpuid c = cpu_id(1, 0);
	x2apic = c.c >> 21 & 1;
	tsc_deadline = c.c >> 24 & 1;
	if (!x2apic)
		lapic = vm_map_device(acpi->lapic, PAGE_BYTES);
}

bool apic_is_x2apic(void)
{
	return x2apic;
}

void apic_enable(void)
{
	uint64_t base = msr_read(MSR_APIC_BASE) | APIC_BASE_ENABLE;
	msr_write(MSR_APIC_BASE, base);
	if (x2apic)
		msr_write(MSR_APIC_BASE, base | APIC_BASE_X2APIC);
	lapic_write(LAPIC_TPR, CLASS_WAKES << 4);
	/* SVR comes before the LVT. INIT leaves the APIC software-disabled, and the mask bits of the LVT
	 * cannot be cleared in that state (Intel SDM vol. 3A, 10.4.7.2); a masked timer wakes no core. */
	lapic_write(LAPIC_SVR, LAPIC_SVR_ENABLE | VECTOR_SPURIOUS);
	lapic_write(LAPIC_LVT_LINT0, LAPIC_LVT_MASKED);
	lapic_write(LAPIC_LVT_LINT1, LAPIC_LVT_MASKED);
	lapic_write(LAPIC_LVT_ERROR, LAPIC_LVT_MASKED);
	lapic_write(LAPIC_TIMER_DIVIDE, LAPIC_TIMER_DIVIDE_BY_1);
	lapic_write(LAPIC_LVT_TIMER, VECTOR_DEADLINE | (tsc_deadline ? LAPIC_LVT_TSC_DEADLINE : 0));
	assert(!(lapic_read(LAPIC_LVT_TIMER) & LAPIC_LVT_MASKED));
}

void apic_take_wakes(bool take)
{
	cr8_write(take ? 0 : CLASS_WAKES);
}

uint32_t apic_id(void)
{
	return x2apic ? lapic_read(LAPIC_ID) : lapic_read(LAPIC_ID) >> 24;
}

void apic_eoi(void)
{
	lapic_write(LAPIC_EOI, 0);
}

static void icr_write(uint32_t id, uint32_t low)
{
	if (x2apic) {
		/* SDM 10.12.3: WRMSR to x2APIC registers is not serialising, so a fence is needed. */
		__asm__ volatile("mfence" : : : "memory");
		msr_write(MSR_X2APIC + LAPIC_ICR / 16, (uint64_t)id << 32 | low);
		return;
	}
	lapic_write(LAPIC_ICR_HIGH, id << 24);
	lapic_write(LAPIC_ICR, low);
	for (unsigned i = 0; i < ICR_SPIN_MAX && lapic_read(LAPIC_ICR) & LAPIC_ICR_PENDING; i++)
		;
}

void apic_send(uint32_t id, enum vector vector)
{
	icr_write(id, ICR_FIXED | vector);
}

void apic_send_nmi(uint32_t id)
{
	icr_write(id, ICR_NMI);
}

void apic_send_init(uint32_t id)
{
	icr_write(id, ICR_INIT);
}

void apic_send_sipi(uint32_t id, uint64_t page)
{
	icr_write(id, ICR_STARTUP | (uint32_t)(page >> 12));
}

static uint32_t ioapic_read(volatile uint8_t *io, unsigned reg)
{
	mmio_write32(io + IOAPIC_SELECT, reg);
	return mmio_read32(io + IOAPIC_WINDOW);
}

static void ioapic_write(volatile uint8_t *io, unsigned reg, uint32_t v)
{
	mmio_write32(io + IOAPIC_SELECT, reg);
	mmio_write32(io + IOAPIC_WINDOW, v);
}

static volatile uint8_t *ioapic_map(const struct acpi *acpi, unsigned n)
{
	return vm_map_device(acpi->ioapic[n].addr, PAGE_BYTES);
}

bool apic_has_serial(const struct acpi *acpi, unsigned n)
{
	uint32_t pins = (ioapic_read(ioapic_map(acpi, n), IOAPIC_VERSION) >> 16 & 0xff) + 1;
	uint32_t first = acpi->ioapic[n].first_gsi;
	return acpi->com1_gsi >= first && acpi->com1_gsi - first < pins;
}

/* MADT flags: polarity 3 = active low, trigger 3 = level; 0 = ISA default. */
bool apic_serial_is_level(const struct acpi *acpi)
{
	return (acpi->com1_flags >> 2 & 3) == 3;
}

void apic_route_serial(const struct acpi *acpi, unsigned n, uint64_t route)
{
	volatile uint8_t *io = ioapic_map(acpi, n);
	uint32_t pin = acpi->com1_gsi - acpi->ioapic[n].first_gsi, low = (uint32_t)route | VECTOR_SERIAL;
	low |= (acpi->com1_flags & 3) == 3 ? IOAPIC_LOW_ACTIVE : 0;
	low |= apic_serial_is_level(acpi) ? IOAPIC_LEVEL : 0;
	ioapic_write(io, IOAPIC_REDIRECTION + 2 * pin, IOAPIC_MASKED);
	ioapic_write(io, IOAPIC_REDIRECTION + 2 * pin + 1, (uint32_t)(route >> 32));
	ioapic_write(io, IOAPIC_REDIRECTION + 2 * pin, low);
}

void apic_timer_measure_start(void)
{
	lapic_write(LAPIC_TIMER_DIVIDE, LAPIC_TIMER_DIVIDE_BY_1);
	lapic_write(LAPIC_LVT_TIMER, LAPIC_LVT_MASKED | VECTOR_DEADLINE);
	lapic_write(LAPIC_TIMER_INIT, UINT32_MAX);
}

uint32_t apic_timer_measure_stop(void)
{
	uint32_t passed = UINT32_MAX - lapic_read(LAPIC_TIMER_NOW);
	lapic_write(LAPIC_TIMER_INIT, 0);
	apic_enable();
	return passed;
}

void apic_timer_set_ratio(uint32_t timer_ticks, uint64_t tsc_ticks)
{
	timer_ratio = ((uint64_t)timer_ticks << 32) / tsc_ticks;
}

void apic_deadline(uint64_t tsc)
{
	if (tsc_deadline) {
		msr_write(MSR_TSC_DEADLINE, tsc);
		return;
	}
	uint64_t now = clock_tsc(), count = 0;
	if (tsc) {
		count = tsc > now ? (uint64_t)((unsigned __int128)(tsc - now) * timer_ratio >> 32) : 1;
		count = count ? count : 1;
		count = count < UINT32_MAX ? count : UINT32_MAX; /* an early wake-up is harmless */
	}
	lapic_write(LAPIC_TIMER_INIT, (uint32_t)count);
}

uint64_t apic_msi_address(uint32_t id)
{
	return 0xfee00000u | (id & 0xff) << 12;
}

uint32_t apic_msi_data(void)
{
	return VECTOR_WAKE;
}
