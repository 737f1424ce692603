/* `show events`: the events that are kept (runtime/events.h), core by core, the newest last. */
#include "control/cli/show.h"
#include "control/console/shell.h"
#include "lib/mem.h"
#include "runtime/events.h"
#include "runtime/runtime.h"

#define PIECE_LINES 8
_Static_assert(PIECE_LINES * (CORE_EVENT_LINE + 4) <= SHELL_STREAM_PIECE, "a session has room for them");

struct events_stream {
	uint64_t at; /* number of the event */
	uint64_t core;
};
_Static_assert(sizeof(struct events_stream) <= SHELL_STREAM_BYTES, "shell_stream keeps it");

static bool show_next(struct shell *sh, unsigned core, uint64_t *at)
{
	char line[CORE_EVENT_LINE];
	struct event e;
	if (!core_event_next(core, at, &e))
		return false;
	core_event_line(&e, line);
	shell_print(sh, "%-3u %s", core, line);
	return true;
}

static bool more_events(struct shell *sh, void *own)
{
	struct events_stream *s = own;
	for (unsigned n = 0; n < PIECE_LINES && s->core < self.info->cores; n++)
		if (!show_next(sh, (unsigned)s->core, &s->at))
			*s = (struct events_stream){.core = s->core + 1};
	return s->core < self.info->cores;
}

static void show_core(struct shell *sh, const char *number)
{
	uint64_t at = 0;
	uint32_t core;
	if (text_parse_u32(text_of(number), 0, self.info->cores - 1, &core) != E_OK) {
		shell_print(sh, "core takes a number from 0 to %u\n", self.info->cores - 1);
		return;
	}
	for (unsigned n = 0; n < EVENTS_KEPT && show_next(sh, core, &at); n++)
		;
}

void show_events(struct shell *sh)
{
	if (sh->argc == 0)
		shell_stream(sh, more_events);
	else if (sh->argc == 2 && strcmp(sh->argv[0], "core") == 0)
		show_core(sh, sh->argv[1]);
	else
		shell_print(sh, "%% show events takes no argument, or: core N\n");
}
