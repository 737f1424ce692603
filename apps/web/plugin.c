/* See plugin.h. */
#include "apps/web/plugin.h"

#include "apps/web/log.h"
#include "apps/web/log_kept.h"
#include "apps/web/pages.h"
#include "apps/web/published.h"
#include "apps/web/store.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "dataplane/state.h"
#include "lib/number.h"
#include "runtime/runtime.h"

static void start(void)
{
	struct web_published *w = dp_get()->plugin_data;
	if (!w)
		return;
	w->log_sample = running.config.web_log_sample;
	w->port = running.config.web_port ? running.config.web_port : CONFIG_WEB_PORT;
	store_publish(w);
}

static unsigned long long kib(uint64_t bytes) { return (bytes + 1023) >> 10; }

static uint64_t memory_of(const struct site *s) { return s->archive_bytes + s->bytes; }

static void ports(void)
{
	struct store_state s;
	store_look(&s);
	if (*store_boot_problem())
		log_event(LOG_ERR, "SITE", "site: %s", store_boot_problem());
	if (s.site)
		log_event(LOG_INFO, "SITE", "site: %u files, %llu KiB%s", s.site->served, kib(memory_of(s.site)),
		            s.site->left_out ? "; some are left out, see `show web`" : "");
	else if (!*store_boot_problem())
		log_event(LOG_WARNING, "SITE", "no site was given: all requests are answered by 503");
}

static void changed(void)
{
	struct web_published *w = dp_get()->plugin_data;
	if (w)
		__atomic_store_n(&w->log_sample, running.config.web_log_sample, __ATOMIC_RELAXED);
}

static void show_left_out(struct shell *sh, const struct site *s)
{
	const uint32_t named = u32_min(s->left_out, SITE_OMISSIONS_MAX);
	shell_print(sh, "left out    %u\n", s->left_out);
	for (uint32_t i = 0; i < named; i++)
		shell_print(sh, "  %s: %s\n", s->omission[i].name, s->omission[i].why);
	if (s->left_out > named)
		shell_print(sh, "  and %u more\n", s->left_out - named);
}

static void show_site(struct shell *sh, const struct store_state *s)
{
	shell_print(sh, "files       %u\n", s->site->served);
	show_left_out(sh, s->site);
	shell_print(sh, "memory      %llu KiB\n", kib(memory_of(s->site)));
	if (s->number)
		shell_print(sh, "source      upload %llu\n", (unsigned long long)s->number);
	else
		shell_print(sh, "source      boot module\n");
}

static void show_web(struct shell *sh)
{
	const struct web_published *w = dp_get()->plugin_data;
	struct store_state s;
	struct counters all;
	if (!w) {
		shell_print(sh, "not enough memory\n");
		return;
	}
	store_look(&s);
	core_counters(&all);
	shell_print(sh, "port        %u\n", w->port);
	if (s.site)
		show_site(sh, &s);
	else
		shell_print(sh, "site        none\n");
	if (s.retired)
		shell_print(sh, "before      %llu KiB, %llu answers\n", kib(memory_of(s.retired)), (unsigned long long)s.answers);
	shell_print(sh, "room        %llu KiB%s\n", kib(s.room), s.loading ? ", an upload takes more" : "");
	shell_print(sh, "requests    %llu\n", (unsigned long long)all.v[CNT_web_requests]);
}

/* A plug-in's deadline is a TSC value. */
static uint64_t timer(void)
{
	struct web_published *w = dp_get()->plugin_data;
	const uint64_t due = store_turn(), now = core_now_ns();
	if (w && core_ports_running() && log_take_all(w))
		return self.now_tsc;
	return due == UINT64_MAX ? due : core_tsc_after(due > now ? due - now : 0);
}

static const struct shell_command commands[] = {
	{"show web", NULL, "the site that is served", show_web},
	{"show web log", NULL, "the last lines of the access log", show_web_log},
};

const struct app_plugin web_plugin = {
	.memory = store_open,
	.start = start,
	.ports = ports,
	.changed = changed,
	.timer = timer,
	.published_bytes = sizeof(struct web_published),
	.shared_bytes = sizeof(struct web_core),
	.commands = commands,
	.command_count = ARRAY_LEN(commands),
	.pages = web_pages,
	.page_count = WEB_PAGES,
};
