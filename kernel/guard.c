/*
 * See guard.h. The word is derived from the CPU's random generator, if it has one, from the TSC, and
 * from the duration of a few port accesses. Without a generator the word is secret from an attacker on
 * the network, but not from a program that shares the host's CPU. The code is short, because an
 * instruction takes a microsecond on hosts that emulate ring 0.
 */
#include "kernel/guard.h"

#include "hal/clock.h"
#include "hal/random.h"
#include "kernel/cpu.h"
#include "kernel/panic.h"
#include "kernel/program.h"
#include "lib/siphash.h"

#define PORT_POST 0x80 /* a slow port; reading it has no effect */
#define READINGS 16

uintptr_t __stack_chk_guard;

_Noreturn void __stack_chk_fail(void);

uintptr_t guard_make(void)
{
	const struct random_cpu cpu = random_cpu();
	struct siphash_key key = {0, clock_tsc()};
	uint64_t reading[READINGS];
	random_word(&cpu, &key.k0);
	for (unsigned i = 0; i < READINGS; i++) {
		in8(PORT_POST);
		reading[i] = clock_tsc();
	}
	return siphash24(&key, reading, sizeof reading) & ~0xffull;
}

/* Called by the compiler's code instead of a return. */
void __stack_chk_fail(void)
{
	/* The call may be the last instruction of its function, so the byte before is looked up. */
	uint64_t offset, at = (uint64_t)__builtin_return_address(0) - 1;
	const char *name = kernel_function(at, &offset);
	panic("stack overwritten in %s", name ? name : "?");
}
