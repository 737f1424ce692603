/* See trace_points.h. */
#include "control/forwarding/trace_points.h"

#include "dataplane/state.h"
#include "lib/mem.h"
#include "lib/number.h"

#define STORY_NS (10 * SECOND_NS) /* how long one lasts: neighbours are given up within 3 s */

static struct trace_stories *on; /* of the present or the last trace; NULL: none yet */
static bool is_on; /* a trace may end between trace_message() and trace_leave() */

void trace_points_begin(struct trace_stories *stories)
{
	on = stories;
	is_on = true;
	memset(on->story, 0, sizeof on->story);
}

void trace_points_end(void) { is_on = false; }

struct trace_story *trace_story_of(unsigned core, uint16_t key)
{
	struct trace_story *free = NULL;
	for (unsigned i = 0; i < TRACE_STORIES; i++) {
		struct trace_story *s = &on->story[i];
		if (s->used && s->core == core && s->key == key)
			return s;
		if (!s->used && !free)
			free = s;
	}
	if (free)
		*free = (struct trace_story){.used = true, .core = (uint8_t)core, .key = key,
		                             .due_ns = core_now_ns() + STORY_NS};
	return free;
}

bool trace_story_is_whole(const struct trace_story *s)
{
	return s->recorded && s->served >= s->record.messages && !s->waiting;
}

static void add(struct trace_story *s, enum trace_kind kind, uint32_t number, uint32_t more)
{
	if (s->more.n < TRACE_MORE)
		s->more.note[s->more.n++] = (struct trace_note){.kind = (uint8_t)kind, .number = number,
		                                                .more = more};
}

/* Notes what has been counted since the level began or resumed. */
static void add_counted(struct trace_level *l)
{
	for (unsigned c = 0; c < CNT_MAX; c++) {
		uint64_t n = self.counters->v[c] - l->before.v[c];
		if (n && !trace_is_transport((enum counter)c))
			add(l->story, TRACE_COUNTED, c, (uint32_t)n);
	}
}

static bool enter(struct trace_story *s)
{
	if (!s || on->depth == TRACE_DEPTH_MAX)
		return false;
	if (on->depth)
		add_counted(&on->level[on->depth - 1]);
	on->level[on->depth++] = (struct trace_level){s, *self.counters};
	return true;
}

bool trace_message(const struct core_msg *m)
{
	uint16_t core = m->core, key = m->traced;
	if (!is_on || core >= self.info->cores)
		return false;
	struct trace_story *s = trace_story_of(core, key);
	if (!enter(s))
		return false;
	s->served++;
	add(s, TRACE_PUNTED, m->kind, 0);
	return true;
}

void trace_mark(uint8_t *mark)
{
	memset(mark, 0, TRACE_MARK);
	if (!on || on->depth == 0)
		return;
	struct trace_story *s = on->level[on->depth - 1].story;
	s->waiting++;
	mark[0] = (uint8_t)(1 + (s - on->story));
	mark[1] = s->core;
	raw16_store(mark + 2, s->key);
}

/* The story of a frame that waited, by its mark; NULL: none, or it has ended. */
static struct trace_story *marked(const uint8_t *mark)
{
	if (!is_on || mark[0] == 0 || mark[0] > TRACE_STORIES)
		return NULL;
	struct trace_story *s = &on->story[mark[0] - 1];
	return s->used && s->core == mark[1] && s->key == raw16_load(mark + 2) ? s : NULL;
}

bool trace_resume(const uint8_t *mark, enum trace_end end)
{
	struct trace_story *s = marked(mark);
	if (!enter(s))
		return false;
	s->waiting--;
	if (end != TRACE_LOST)
		add(s, TRACE_SENT, end == TRACE_OWN_SENT, 0);
	return true;
}

void trace_leave(void)
{
	struct trace_level *inner = &on->level[--on->depth];
	add_counted(inner);
	if (on->depth)
		inner[-1].before = *self.counters; /* the inner story has them */
	else if (inner->story->waiting)
		add(inner->story, TRACE_WAITS, 0, 0);
}

