/* See print.h. */
#include "control/commit/print.h"

#include "control/config/config.h"
#include "control/config/running.h"
#include "lib/mem.h"
#include "runtime/runtime.h"

struct sink {
	char *to;
	size_t n, room;
	bool full;
};

static void put(void *ctx, const char *text, size_t n)
{
	struct sink *s = ctx;
	s->full |= n > s->room - s->n;
	if (s->full)
		return;
	memcpy(s->to + s->n, text, n);
	s->n += n;
}

size_t print_running(char *to, size_t room)
{
	struct sink s = {.to = to, .room = room};
	struct config_cursor at = {0};
	while (!s.full && config_print_next(&running.config, &at, put, &s))
		core_alive();
	return s.full ? 0 : s.n;
}
