/*
 * See tsc.h. CPUID: Intel SDM vol. 2A (leaves 0x15, 0x80000007); leaf 0x40000010 is the timing
 * leaf that VMware defined and KVM took over. 8254: Intel 82C54 data sheet, channel 2, mode 0.
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
#define PIT_COUNT 5966 /* 5.0 ms */
#define PIT_SPIN_MAX 10000000
#define PIT_ROUNDS 3

static uint64_t hz;

static uint64_t hz_from_cpuid(void)
{
	struct cpuid c = cpu_id(0x15, 0); /* a: denominator, b: numerator, c: crystal Hz */
	if (c.a && c.b && c.c)
		return (uint64_t)c.c * c.b / c.a;
	return cpu_is_guest() ? cpu_id(0x40000010, 0).a * 1000ull : 0; /* kHz */
}

/* One run of the 8254: TSC ticks and, by the way, local APIC ticks in PIT_COUNT of its periods. */
static uint64_t pit_round(uint32_t *apic_ticks)
{
	uint8_t gate = in8(PIT_GATE) & 0xfc;
	out8(PIT_GATE, gate);
	out8(PIT_COMMAND, PIT_CH2_MODE0);
	out8(PIT_CHANNEL2, PIT_COUNT & 0xff);
	out8(PIT_CHANNEL2, PIT_COUNT >> 8);
	apic_timer_measure_start();
	uint64_t start = clock_tsc();
	out8(PIT_GATE, gate | 1);
	for (unsigned spin = 0; !(in8(PIT_GATE) & PIT_OUT) && spin < PIT_SPIN_MAX; spin++)
		;
	uint64_t ticks = clock_tsc() - start;
	*apic_ticks = apic_timer_measure_stop();
	out8(PIT_GATE, gate);
	return ticks;
}

void tsc_init(void)
{
	uint64_t best = UINT64_MAX;
	uint32_t best_apic = 0;
	/* A round can only come out too long (we were not looking), so the shortest is right. */
	for (unsigned i = 0; i < PIT_ROUNDS; i++) {
		uint32_t apic_ticks;
		uint64_t ticks = pit_round(&apic_ticks);
		if (ticks < best) {
			best = ticks;
			best_apic = apic_ticks;
		}
	}
	hz = hz_from_cpuid();
	if (hz == 0)
		hz = best * PIT_HZ / PIT_COUNT;
	apic_timer_set_ratio(best_apic, best);
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
