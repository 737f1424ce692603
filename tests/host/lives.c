/* See lives.h. Kept memory lies in a file in memory, mapped at an address that nothing else
 * uses. */
#define _GNU_SOURCE
#include "tests/host/lives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/shared.h"
#include "tests/host/lines.h"
#include "tests/host/refuse.h"

#define REGION_AT 0x200000000000ull
#define REGION_BYTES (512ull << 20) /* untouched pages cost nothing */
#define PAGE_BYTES 4096u
#define VARIABLE "HAYATE_LIVES" /* the file's number, in a later life */
#define ARGUMENTS_MAX 32

struct saved {
	struct boot_info info;
	uint64_t tsc, refuse_n;
	bool refuse_on;
};

static uint8_t *region;
static size_t taken;
static int file;

static void open_region(void)
{
	const char *number = getenv(VARIABLE);
	void *const at = (void *)(uintptr_t)REGION_AT;
	file = number ? atoi(number) : memfd_create("lives", 0);
	if (file < 0 || ftruncate(file, REGION_BYTES) != 0 ||
	    mmap(at, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0) != at)
		broken("no memory that outlives the program");
	region = at;
	taken = (sizeof(struct saved) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

void *lives_memory(size_t bytes)
{
	if (!region)
		open_region();
	void *p = region + taken;
	taken += (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	if (taken > REGION_BYTES)
		broken("no more memory that outlives the program");
	return p;
}

bool lives_go_on(struct boot_info *info, uint64_t *tsc)
{
	const struct saved *s = (const struct saved *)(const void *)region;
	const uint64_t config = info->config;
	if (!getenv(VARIABLE))
		return false;
	*info = s->info;
	info->config = config;
	info->status[0].faults++;
	*tsc = s->tsc;
	refuse(REFUSE_MEMORY, s->refuse_n, s->refuse_on);
	return true;
}

/* The arguments of this process, in an allocation that lasts. */
static char **arguments(void)
{
	static char text[PAGE_BYTES], *word[ARGUMENTS_MAX];
	FILE *f = fopen("/proc/self/cmdline", "rb");
	size_t len = f ? fread(text, 1, sizeof text - 1, f) : 0, n = 0;
	for (size_t i = 0; i < len && n < ARGUMENTS_MAX - 1; i += strlen(text + i) + 1)
		word[n++] = text + i;
	if (f)
		fclose(f);
	return word;
}

void lives_end(const struct boot_info *info, uint64_t tsc, uint64_t n, bool on)
{
	struct saved *s = (struct saved *)(void *)region;
	char number[16];
	if (!region)
		broken("this machine has one life");
	*s = (struct saved){.info = *info, .tsc = tsc, .refuse_n = n, .refuse_on = on};
	snprintf(number, sizeof number, "%d", file);
	setenv(VARIABLE, number, 1);
	fflush(stdout);
	execv("/proc/self/exe", arguments());
	broken("it does not begin anew");
}

void lives_data_core(void)
{
	struct core_shm *o = core_shm_of(data_core(0));
	const struct published *s = published_header();
	shared_store(&o->parked, 1);
	if (s->phase[0] == PORTS_PREPARE)
		shared_store(&o->restarted, 0);
	shared_store(&o->epoch, s->asked[0]);
}
