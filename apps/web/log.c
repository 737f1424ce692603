/* See log.h: a data core's side. */
#include "apps/web/log.h"

#include "lib/mem.h"
#include "lib/number.h"
#include "net/tcp/tcp.h"
#include "runtime/runtime.h"

static const uint32_t off;
const uint32_t *log_sample = &off;
static const struct web_published *published;
static uint32_t skipped; /* requests since the last one of which it was the turn */

static struct web_core *own(void) { return dp_plugin_shared(); }

void log_start(const struct web_published *w, bool fresh)
{
	published = w;
	log_sample = w ? &w->log_sample : &off;
	if (fresh)
		shared_store(&own()->head, w ? shared_load(&w->taken[self.id]) : 0);
}

/* The first bytes of a text, with NUL if there is room for it. */
static void put(char *to, size_t size, const char *text, size_t n)
{
	n = n < size ? n : size;
	memcpy(to, text, n);
	if (n < size)
		to[n] = 0;
}

COLD void log_note(const struct tcp_conn *c, const struct http_request *r, unsigned status, uint64_t bytes)
{
	struct web_core *o = own();
	const uint64_t head = o->head;
	struct tcp_info i;
	if (++skipped < __atomic_load_n(log_sample, __ATOMIC_RELAXED))
		return;
	skipped = 0;
	if (head - shared_load(&published->taken[self.id]) >= LOG_SLOTS) {
		count(CNT_web_log_lost);
		return;
	}
	struct log_entry *e = &o->slot[head % LOG_SLOTS];
	tcp_info(c, &i);
	e->us = core_now_us();
	e->bytes = bytes;
	e->peer = i.remote;
	e->status = status;
	put(e->line, sizeof e->line, r->line, r->line_bytes);
	put(e->referer, sizeof e->referer, r->field[HTTP_REFERER], strlen(r->field[HTTP_REFERER]));
	put(e->agent, sizeof e->agent, r->field[HTTP_USER_AGENT], strlen(r->field[HTTP_USER_AGENT]));
	shared_store(&o->head, head + 1);
	core_wake_control();
}
