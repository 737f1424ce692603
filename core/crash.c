/*
 * Reports of programs that failed (kernel/crash.h), read where the kernel keeps them. It may be writing
 * one meanwhile: a copy counts when its number has not changed.
 *
 * The report of a data core goes out on the console from here: a serial line takes a tenth of a second
 * for it, and the core that has failed is to forward again long before. While one is helped to
 * (revive.c) that comes first. Of the control core's own failures the kernel has printed the report.
 */
#include "core/outbox.h"
#include "hal/kcall.h"
#include "lib/mem.h"

static bool read_slot(unsigned slot, struct crash *to)
{
	const struct crash *from = &self.info->crash[slot];
	uint64_t number = __atomic_load_n(&from->number, __ATOMIC_ACQUIRE);
	if (!number)
		return false;
	memcpy(to, from, sizeof *to);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&from->number, __ATOMIC_RELAXED) == number &&
	       to->bytes <= sizeof to->text;
}

bool core_crash_next(uint64_t after, struct crash *to)
{
	static struct crash c;
	bool any = false;
	for (unsigned i = 0; i < CRASHES_MAX; i++)
		if (shared_load(&self.info->crash[i].number) > after && read_slot(i, &c) &&
		    c.number > after && (!any || c.number < to->number)) {
			*to = c;
			any = true;
		}
	return any;
}

/* Line by line: what other data cores print comes in between, not amid one. */
static void print(const struct crash *c)
{
	char line[256] = "\r\n";
	size_t n = 2;
	for (uint32_t i = 0; i < c->bytes; i++) {
		if (c->text[i] != '\n') {
			line[n++] = c->text[i];
			if (n < sizeof line - 2 && i + 1 < c->bytes)
				continue;
		}
		line[n++] = '\r';
		line[n++] = '\n';
		core_console_write(line, n);
		n = 0;
	}
}

/* How many failures before this one, in its place, have not been printed: the first place has the first
 * failure alone, the others have the rest by turns (kernel/crash.c). */
static uint64_t written_over(unsigned slot, uint64_t number, uint64_t printed)
{
	const uint64_t turn = CRASHES_MAX - 1;
	uint64_t expected = printed ? printed + turn : slot + 1;
	return slot && number > expected ? (number - expected) / turn : 0;
}

/* The place of the oldest report that has not been printed; CRASHES_MAX: there is none. */
static unsigned next_to_print(const uint64_t *printed, struct crash *to)
{
	static struct crash c;
	unsigned found = CRASHES_MAX;
	for (unsigned i = 0; i < CRASHES_MAX; i++)
		if (shared_load(&self.info->crash[i].number) != printed[i] && read_slot(i, &c) &&
		    c.number != printed[i] && (found == CRASHES_MAX || c.number < to->number)) {
			*to = c;
			found = i;
		}
	return found;
}

void crash_turn(void)
{
	static struct crash c;
	uint64_t *printed = outbox_of(self.id)->crash_printed; /* a restart of ours forgets none */
	unsigned slot;
	while (!revive_busy() && (slot = next_to_print(printed, &c)) < CRASHES_MAX) {
		uint64_t lost = written_over(slot, c.number, printed[slot]);
		if (lost)
			core_log("reports of %llu failures are missing here", (unsigned long long)lost);
		printed[slot] = c.number;
		if (c.core < self.info->cores && !(self.info->core[c.core].roles & CORE_CONTROL))
			print(&c);
	}
}
