/*
 * Reports of failed programs (kernel/crash.h), read from the kernel's memory. The kernel may be writing
 * one at the same time: a copy is valid if its number has not changed.
 *
 * The control core prints the reports of data cores. A serial line takes a tenth of a second for one, and the
 * failed core shall forward again long before that. From the time when a data core's packets go to others until it
 * polls again (recovery.c), printing waits. The kernel itself prints the reports of the control core.
 */
#include "runtime/shared.h"
#include "abi/kcall.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

#define PACKETS_PRINTED 8 /* of the packets received last; show crash prints all */

static bool read_slot(unsigned slot, struct crash *to)
{
	const struct crash *from = &self.info->crash[slot];
	uint64_t number = __atomic_load_n(&from->number, __ATOMIC_ACQUIRE);
	if (!number)
		return false;
	memcpy(to, from, sizeof *to);
	to->bytes = u32_min(to->bytes, sizeof to->text);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&from->number, __ATOMIC_RELAXED) == number;
}

/* Copies the report with the smallest number that `wanted` accepts; returns its slot, CRASHES_MAX if
 * there is none. */
static unsigned read_first(bool (*wanted)(unsigned slot, uint64_t number, const uint64_t *than),
                           const uint64_t *than, struct crash *to)
{
	for (;;) {
		uint64_t least = UINT64_MAX;
		unsigned found = CRASHES_MAX;
		for (unsigned i = 0; i < CRASHES_MAX; i++) {
			uint64_t number = shared_load(&self.info->crash[i].number);
			if (number && number < least && wanted(i, number, than)) {
				least = number;
				found = i;
			}
		}
		if (found == CRASHES_MAX || (read_slot(found, to) && to->number == least))
			return found;
	}
}

static bool is_later(unsigned slot, uint64_t number, const uint64_t *after)
{
	(void)slot;
	return number > *after;
}

bool core_crash_next(uint64_t after, struct crash *to)
{
	return read_first(is_later, &after, to) < CRASHES_MAX;
}

size_t core_crash_read(const struct crash *c, struct core_crash_walk *at, unsigned most, char *text)
{
	if (at->text == c->bytes)
		return core_crash_piece(c, at->piece++, most, text);
	uint32_t n = u32_min(c->bytes - at->text, CORE_CRASH_PIECE);
	memcpy(text, c->text + at->text, n);
	at->text += n;
	return n;
}

/* Prints line by line, so output of other cores comes only between lines. */
static void print_lines(const char *text)
{
	char line[256];
	size_t n = 0;
	for (; *text; text++) {
		if (*text != '\n') {
			line[n++] = *text;
			if (n < sizeof line - 2 && text[1])
				continue;
		}
		line[n++] = '\r';
		line[n++] = '\n';
		core_console_write(line, n);
		n = 0;
	}
}

/* Prints whole lines, a NUL after them. The console, once it is open, takes them as one log line: the row that is being
 * typed goes on below. */
static void print(const char *text)
{
	if (!control_log(text))
		print_lines(text);
}

/* Prints the part of a report that the kernel has not printed. For our own failures this is only the
 * program's data. */
static void print_crash(const struct crash *c)
{
	static char text[CRASH_TEXT_MAX + 4 * CORE_CRASH_PIECE];
	bool ours = c->core >= self.info->cores || self.info->core[c->core].roles & CORE_CONTROL;
	size_t n = 0;
	if (!ours) {
		text[n++] = '\n'; /* apart from what came before */
		memcpy(text + n, c->text, c->bytes);
		n += c->bytes;
		if (text[n - 1] != '\n')
			text[n++] = '\n';
	}
	for (unsigned i = 0;; i++) {
		if (n > sizeof text - CORE_CRASH_PIECE) {
			text[n] = 0;
			print(text);
			n = 0;
		}
		size_t more = core_crash_piece(c, i, PACKETS_PRINTED, text + n);
		if (!more)
			break;
		if (ours && i == 0)
			core_log("*** what the program of core %u had left:", c->core);
		n += more;
	}
	text[n] = 0;
	if (n)
		print(text);
}

/* The number of reports that were overwritten in this slot before they were printed. Slot 0 holds the
 * first report only; the others rotate (kernel/crash.c). */
static uint64_t written_over(unsigned slot, uint64_t number, uint64_t printed)
{
	const uint64_t turn = CRASHES_MAX - 1;
	uint64_t expected = printed ? printed + turn : slot + 1;
	return slot && number > expected ? (number - expected) / turn : 0;
}

static bool is_unprinted(unsigned slot, uint64_t number, const uint64_t *printed)
{
	return number != printed[slot];
}

/* The event log gets one line; the report itself is printed. */
static void note_crash(const struct crash *c)
{
	char line[96];
	fmt_format(line, sizeof line, "core %u: its program failed and was started again: report %llu of show crash",
	           c->core, (unsigned long long)c->number);
	(void)control_event(LOG_CRIT, line);
}

void crash_turn(void)
{
	static struct crash c;
	uint64_t *printed = core_shm_of(self.id)->crash_printed; /* survives a restart of this program */
	unsigned slot;
	while (!restart_busy() && !recovery_is_coming() &&
	       (slot = read_first(is_unprinted, printed, &c)) < CRASHES_MAX) {
		uint64_t lost = written_over(slot, c.number, printed[slot]);
		if (lost)
			core_log_at(LOG_WARNING, "reports of %llu failures are missing here", (unsigned long long)lost);
		printed[slot] = c.number;
		core_event(EVENT_crash, c.core, c.number);
		note_crash(&c);
		print_crash(&c);
	}
}
