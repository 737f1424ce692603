/*
 * See crash.h. Readers take no lock. A report's number is 0 while the report is being written, and is
 * written last. A reader that finds the same number before and after has read one consistent report
 * (control/management/crash.c).
 */
#include "kernel/crash.h"

#include "hal/clock.h"
#include "kernel/core.h"
#include "kernel/report.h"

static uint64_t begun; /* reports so far */
static bool writing[CRASHES_MAX];
static uint64_t number[CRASHES_MAX]; /* number of the report being written in each slot */

struct crash *crash_begin(unsigned core)
{
	uint64_t n = __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
	size_t slot = n == 1 ? 0 : 1 + (n - 2) % (CRASHES_MAX - 1);
	struct crash *k = &boot_info->crash[slot];
	if (__atomic_exchange_n(&writing[slot], true, __ATOMIC_ACQUIRE))
		return NULL;
	__atomic_store_n(&k->number, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* number = 0 before any other word of the report */
	number[slot] = n;
	k->tsc = clock_tsc();
	k->core = core;
	k->bytes = 0;
	k->code = 0;
	k->parts = k->pkts = k->events.count = 0;
	return k;
}

void crash_add(struct crash *k, const char *text, size_t bytes)
{
	if (!k)
		return;
	k->bytes = (uint32_t)report_add(k->text, sizeof k->text, k->bytes, text, bytes);
}

void crash_end(struct crash *k)
{
	if (!k)
		return;
	size_t slot = (size_t)(k - boot_info->crash);
	__atomic_store_n(&k->number, number[slot], __ATOMIC_RELEASE);
	__atomic_store_n(&writing[slot], false, __ATOMIC_RELEASE);
}
