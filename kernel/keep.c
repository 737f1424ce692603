/* See keep.h. */
#include "kernel/keep.h"

#include "kernel/console.h"
#include "kernel/cpu.h"
#include "kernel/report.h"
#include "lib/mem.h"

#define KEEP_BYTES 8192 /* linker.ld reserves as much */
#define KEEP_HEAD 24
#define KEEP_MAGIC 0x646e652074736c20ull

struct keep {
	uint64_t magic, sum;
	uint64_t bytes; /* of the text */
	char text[KEEP_BYTES - KEEP_HEAD];
};
_Static_assert(sizeof(struct keep) == KEEP_BYTES, "linker.ld");
_Static_assert(BOOT_BEFORE_MAX == KEEP_BYTES - KEEP_HEAD, "keep_take copies all of it");

extern struct keep kernel_keep;
static bool begun;
static uint64_t told; /* bytes of the last boot's report, still in kernel_keep.text */

/* FNV-1a over the text. */
static uint64_t sum(const struct keep *k)
{
	uint64_t h = 0xcbf29ce484222325;
	for (uint64_t i = 0; i < k->bytes; i++)
		h = (h ^ (uint8_t)k->text[i]) * 0x100000001b3;
	return h;
}

static void forget(void)
{
	kernel_keep.magic = 0;
	kernel_keep.bytes = 0;
}

void keep_begin(void)
{
	if (!begun)
		forget();
	begun = true;
}

void keep_add(const char *text, size_t bytes)
{
	struct keep *k = &kernel_keep;
	if (!begun)
		return;
	/* Read once: a core that is about to be stopped may be appending at the same time. */
	size_t at = __atomic_load_n(&k->bytes, __ATOMIC_RELAXED);
	k->bytes = report_add(k->text, sizeof k->text, at, text, bytes);
}

void keep_end(void)
{
	struct keep *k = &kernel_keep;
	if (!begun || k->bytes == 0)
		return;
	k->sum = sum(k);
	k->magic = KEEP_MAGIC;
	cpu_flush(k, sizeof *k); /* a hard reset discards the caches */
}

void keep_tell(void)
{
	const struct keep *k = &kernel_keep;
	if (k->magic != KEEP_MAGIC || k->bytes > sizeof k->text || k->sum != sum(k))
		return;
	console_print("--- the last boot ended in a failure; its report:\n");
	console_write(k->text, k->bytes);
	console_print("--- end of the last boot's report\n");
	told = k->bytes;
	forget();
}

void keep_take(struct boot_before *to)
{
	if (begun)
		return;
	memcpy(to->text, kernel_keep.text, told);
	to->bytes = told;
}
