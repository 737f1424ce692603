/*
 * See tsc.h. CPUID: Intel SDM vol. 2A (leaves 0x15, 0x80000007). Leaf 0x40000010 is the timing leaf
 * that VMware defined and KVM adopted. 8254: Intel 82C54 data sheet, channel 2, mode 0.
 */
#include "kernel/tsc.h"

#include "hal/barrier.h"
#include "hal/clock.h"
#include "kernel/apic.h"
#include "kernel/cpu.h"

#define PIT_HZ 1193182ull
#define PIT_CHANNEL2 0x42
#define PIT_COMMAND 0x43
#define PIT_CH2_MODE0 0xb0 /* channel 2, low then high byte, interrupt on terminal count */
#define PIT_GATE 0x61      /* bit 0 gate of channel 2, bit 1 speaker, bit 5 its output */
#define PIT_OUT 0x20
#define PIT_COUNT 2386 /* 2.0 ms; a busy host hardly lets a guest run longer without interruption */
#define PIT_SPIN_MAX 10000000
#define PIT_ROUNDS_MAX 50

static uint64_t hz;

static uint64_t hz_from_cpuid(void)
{
	struct cpuid c = cpu_id(0x15, 0); /* a: denominator, b: numerator, c: crystal Hz */
	if (c.a && c.b && c.c)
		return (uint64_t)c.c * c.b / c.a;
	return cpu_is_guest() ? cpu_id(0x40000010, 0).a * 1000ull : 0; /* kHz */
}

/* One measurement: the 8254 counts PIT_COUNT periods while the local APIC's timer runs. */
struct round {
	uint64_t tsc;      /* TSC ticks in PIT_COUNT periods, or more */
	uint64_t apic_tsc; /* this many TSC ticks, or fewer, ... */
	uint32_t apic;     /* ... equal this many timer ticks */
};

/*
 * A host may preempt this CPU at any point. Each interval therefore starts before and ends after the
 * event that it measures. The gate is always open, because QEMU's 8254 ignores it; writing the upper
 * byte of the count starts the count.
 */
static struct round measure(void)
{
	struct round r;
	uint8_t gate = in8(PIT_GATE) & 0xfc;
	out8(PIT_GATE, gate | 1);
	out8(PIT_COMMAND, PIT_CH2_MODE0);
	out8(PIT_CHANNEL2, PIT_COUNT & 0xff);
	uint64_t apic_start = clock_tsc();
	apic_timer_measure_start();
	uint64_t start = clock_tsc();
	out8(PIT_CHANNEL2, PIT_COUNT >> 8);
	for (unsigned spin = 0; !(in8(PIT_GATE) & PIT_OUT) && spin < PIT_SPIN_MAX; spin++)
		;
	r.tsc = clock_tsc() - start;
	r.apic = apic_timer_measure_stop();
	r.apic_tsc = clock_tsc() - apic_start;
	out8(PIT_GATE, gate);
	return r;
}

void tsc_init(void)
{
	struct round best = measure();
	uint64_t second = UINT64_MAX; /* the second-shortest round */
	/* Preemption can only make a round too long, so the shortest is right once another agrees with
	 * it. For the APIC's timer an error in this direction means an early wake-up. */
	for (unsigned i = 1; i < PIT_ROUNDS_MAX && second - best.tsc > best.tsc / 256; i++) {
		struct round r = measure();
		uint64_t longer = r.tsc > best.tsc ? r.tsc : best.tsc;
		best.tsc = r.tsc < best.tsc ? r.tsc : best.tsc;
		second = longer < second ? longer : second;
		if (r.apic_tsc < best.apic_tsc) {
			best.apic_tsc = r.apic_tsc;
			best.apic = r.apic;
		}
	}
	hz = hz_from_cpuid();
	if (hz == 0)
		hz = best.tsc * PIT_HZ / PIT_COUNT;
	apic_timer_set_ratio(best.apic, best.apic_tsc);
}

uint64_t tsc_hz(void)
{
	return hz;
}

bool tsc_is_invariant(void)
{
	return cpu_id(0x80000007, 0).d >> 8 & 1;
}

void tsc_wait_us(uint64_t us)
{
	uint64_t end = clock_tsc() + us * hz / 1000000;
	while (clock_tsc() < end)
		cpu_relax();
}
