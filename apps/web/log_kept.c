/* See log.h and log_kept.h: the control core's side. */
#include "apps/web/log_kept.h"

#include "apps/web/log.h"
#include "lib/number.h"
#include "runtime/runtime.h"
#include "runtime/walltime.h"

/* True: there may be more. */
static bool take(struct web_published *w, unsigned core)
{
	const struct web_core *o = dp_plugin_shared_of(core);
	uint64_t tail = w->taken[core], head = shared_load(&o->head);
	if (head - tail > LOG_SLOTS) /* its program has restarted, or writes nonsense */
		tail = head;
	const uint64_t end = tail + u64_min(head - tail, LOG_TAKE);
	for (; tail != end; tail++)
		w->kept[w->logged++ % LOG_KEPT] = o->slot[tail % LOG_SLOTS];
	shared_store(&w->taken[core], tail);
	return tail != head;
}

bool log_take_all(struct web_published *w)
{
	bool more = false;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		more |= take(w, self.info->first_data_core + d);
	return more;
}

/* Entry number n, or the oldest that is kept behind it. *n moves behind it. NULL: there is none. */
static const struct log_entry *next_entry(uint64_t *n)
{
	const struct web_published *w = dp_get()->plugin_data;
	if (!w)
		return NULL;
	const uint64_t oldest = w->logged > LOG_KEPT ? w->logged - LOG_KEPT : 0;
	*n = u64_max(*n, oldest);
	return *n < w->logged ? &w->kept[(*n)++ % LOG_KEPT] : NULL;
}

/* When the request came, since 1970; if the time of day is not known, as if the boot had been the beginning of 1970. */
static uint64_t seconds_of(const struct log_entry *e)
{
	return (walltime_known() ? walltime_at(e->us * 1000) : e->us * 1000) / SECOND_NS;
}

static bool more_lines(struct shell *sh, void *at)
{
	char line[LOG_LINE_MAX];
	const struct log_entry *e = next_entry(at);
	if (!e)
		return false;
	shell_print(sh, "%s\n", log_line(line, e, seconds_of(e)));
	return true;
}

void show_web_log(struct shell *sh)
{
	const struct web_published *w = dp_get()->plugin_data;
	if (w && !w->log_sample)
		shell_print(sh, "the log is off: `web access-log`\n");
	shell_stream(sh, more_lines);
}

/* An item may be written twice: its entry follows from the one before it, cursor.own[0]. */
static bool lines(struct page_walk *walk, struct page_text *t)
{
	char line[LOG_LINE_MAX];
	uint64_t *own = walk->cursor.own;
	if (own[1] != walk->item) { /* the item before has been written */
		own[1] = walk->item;
		own[0] = own[2];
	}
	own[2] = own[0];
	const struct log_entry *e = next_entry(&own[2]);
	if (!e)
		return false;
	page_print(t, "%s\n", log_line(line, e, seconds_of(e)));
	return true;
}

const page_part log_page[] = {lines, NULL};
