/*
 * Lines that data cores print (core_log). The kernel prints them at once. Each core also keeps its last LINES_KEPT
 * in its shared memory, and the control core takes them into the event log. Like a ring of events
 * (runtime/events.h), a ring of lines outlives the program of its core; the control core notes in its own shared
 * memory how far it has read, so a restart of its program repeats no line. What another core writes is untrusted.
 */
#include "runtime/shared.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

/* The kernel zeroes only the shared memory's header, to keep ring-0 work short. */
void lines_start(void)
{
	if (core_shm_of(self.id)->lines_clean)
		return;
	memset(core_shm_lines(self.id), 0, sizeof(struct line_ring));
	shared_store(&core_shm_of(self.id)->lines_clean, 1);
}

void lines_note(enum log_level level, const char *text)
{
	struct line_ring *ring = core_shm_lines(self.id);
	struct core_line *line = &ring->v[ring->count % LINES_PLACES];
	line->level = level;
	fmt_format(line->text, sizeof line->text, "%s", text);
	shared_store(&ring->count, ring->count + 1);
	core_wake_control();
}

/* Copies the next kept line of the core, from number *at on, and moves *at behind it. */
static bool next(unsigned core, uint64_t *at, struct core_line *line)
{
	const struct line_ring *ring = core_shm_lines(core);
	for (uint64_t count; (count = shared_load(&ring->count)) > *at;) {
		if (count - *at > LINES_KEPT)
			*at = count - LINES_KEPT;
		*line = ring->v[*at % LINES_PLACES];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (shared_load(&ring->count) - (*at)++ <= LINES_KEPT) /* not overwritten meanwhile */
			return true;
	}
	return false;
}

void lines_turn(void)
{
	struct core_line line;
	uint64_t *read = core_shm_of(self.id)->lines_read;
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const unsigned c = data_core(d);
		if (c == self.id || !shared_load(&core_shm_of(c)->lines_clean))
			continue;
		for (unsigned n = 0; n < LINES_KEPT && next(c, &read[c], &line); n++) {
			line.text[sizeof line.text - 1] = 0;
			(void)control_event(line.level < LOG_LEVELS ? (enum log_level)line.level : LOG_NOTICE,
			                    line.text);
		}
	}
}
