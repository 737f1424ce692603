/* See events.h. Only its own core writes a ring. */
#include "runtime/events.h"

#include "runtime/shared.h"
#include "lib/fmt.h"
#include "lib/mem.h"

#define SELDOM_NS 1000000000ull

typedef unsigned long long ull;

static const struct {
	const char *name, *word[2];
} events[] = {
#define EVENT_ROW(name, first, second, meaning) {#name, {first, second}},
	CORE_EVENTS(EVENT_ROW)
#undef EVENT_ROW
};

struct event_ring *core_events;
static uint64_t next_tsc[EVENTS]; /* core_event_seldom: earliest time of the next event */

/* The kernel zeroes only the shared memory's header, to keep ring-0 work short. */
void core_events_start(void)
{
	struct event_ring *ring = core_shm_events(self.id);
	if (!core_shm_of(self.id)->events_clean) {
		memset(ring, 0, sizeof *ring);
		shared_store(&core_shm_of(self.id)->events_clean, 1);
	}
	core_events = ring;
}

void core_event(enum core_event_number number, uint64_t first, uint64_t second)
{
	struct event_ring *ring = core_events;
	ring->v[ring->count % EVENTS_PLACES] = (struct event){clock_tsc(), number, {first, second}};
	shared_store(&ring->count, ring->count + 1);
}

void core_event_seldom(enum core_event_number number, uint64_t first, uint64_t second)
{
	if (self.now_tsc < next_tsc[number])
		return;
	next_tsc[number] = self.now_tsc + clock_ticks(&self.clock, SELDOM_NS);
	core_event(number, first, second);
}

bool core_event_next(unsigned core, uint64_t *at, struct event *e)
{
	const struct event_ring *ring = core_shm_events(core);
	if (!shared_load(&core_shm_of(core)->events_clean))
		return false;
	for (uint64_t count; (count = shared_load(&ring->count)) > *at;) {
		if (count - *at > EVENTS_KEPT)
			*at = count - EVENTS_KEPT;
		*e = ring->v[*at % EVENTS_PLACES];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (shared_load(&ring->count) - (*at)++ <= EVENTS_KEPT) /* not overwritten meanwhile */
			return true;
	}
	return false;
}

static size_t word_text(char *text, size_t size, const char *name, uint64_t value)
{
	if (!name[0])
		return 0;
	if (name[0] == '#')
		return fmt_format(text, size, " %s %016llx", name + 1, (ull)value);
	return fmt_format(text, size, " %s %llu", name, (ull)value);
}

size_t core_event_line(const struct event *e, char *line)
{
	const uint64_t us = clock_us(&self.clock, e->tsc - self.info->tsc_boot);
	size_t n = fmt_format(line, CORE_EVENT_LINE, "%6llu.%06llu ", (ull)(us / 1000000),
	                      (ull)(us % 1000000));
	if (e->number < EVENTS) {
		n += fmt_format(line + n, CORE_EVENT_LINE - n, "%s", events[e->number].name);
		for (unsigned i = 0; i < 2; i++)
			n += word_text(line + n, CORE_EVENT_LINE - n, events[e->number].word[i], e->word[i]);
	} else {
		n += fmt_format(line + n, CORE_EVENT_LINE - n, "? %llx %llx %llx", (ull)e->number,
		                (ull)e->word[0], (ull)e->word[1]);
	}
	return n + fmt_format(line + n, CORE_EVENT_LINE - n, "\n");
}
