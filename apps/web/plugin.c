/* See plugin.h. */
#include "apps/web/plugin.h"

#include "apps/web/log.h"
#include "apps/web/log_kept.h"
#include "apps/web/published.h"
#include "control/commit/load.h"
#include "control/config/running.h"
#include "control/console/serial.h"
#include "dataplane/state.h"
#include "runtime/runtime.h"

#define SITE_FILE "site" /* of the boot module */

static struct site_count needed; /* bytes 0: no site */

static bool archive(struct text *data)
{
	return module_file(&boot_module, text_of(SITE_FILE), data);
}

static size_t published_more(void)
{
	struct site_error err;
	struct text data;
	needed = (struct site_count){0};
	if (!archive(&data))
		return 0;
	if (site_measure(data.at, data.len, &needed, &err, core_alive) != E_OK) {
		console_log("site: byte %llu of the archive: %s", (unsigned long long)err.at, err.why);
		needed = (struct site_count){0};
	}
	return needed.bytes;
}

static void start(void)
{
	struct dp_state *v = dp_get();
	struct web_published *w = v->plugin_data;
	struct text data;
	if (!w)
		return;
	w->log_sample = running.config.web_log_sample;
	w->port = running.config.web_port ? running.config.web_port : CONFIG_WEB_PORT;
	if (!needed.bytes || !v->plugin_more || !archive(&data))
		return;
	struct site *s = v->plugin_more;
	site_build(s, data.at, data.len, &needed, core_alive);
	w->site = s;
}

static void ports(void)
{
	const struct web_published *w = dp_get()->plugin_data;
	struct text data;
	if (w && w->site)
		console_log("site: %u files, %llu KiB%s", w->site->files, (unsigned long long)(w->site->bytes + 1023) >> 10,
		            w->site->left_out ? "; some are left out, see `show web`" : "");
	else if (needed.bytes)
		console_log("site: %llu MiB are more than the machine has left for it: give it more memory",
		            (unsigned long long)(needed.bytes >> 20) + 1);
	else if (!archive(&data))
		console_log("no site was given: all requests are answered by 503");
}

static void changed(void)
{
	struct web_published *w = dp_get()->plugin_data;
	if (w)
		__atomic_store_n(&w->log_sample, running.config.web_log_sample, __ATOMIC_RELAXED);
}

static uint64_t timer(void)
{
	struct web_published *w = dp_get()->plugin_data;
	return w && core_ports_running() && log_take_all(w) ? self.now_tsc : UINT64_MAX;
}

static void show_web(struct shell *sh)
{
	const struct web_published *w = dp_get()->plugin_data;
	if (!w) {
		shell_print(sh, "not enough memory\n");
		return;
	}
	shell_print(sh, "port        %u\n", w->port);
	if (!w->site) {
		shell_print(sh, "site        none\n");
		return;
	}
	shell_print(sh, "files       %u\n", w->site->files);
	shell_print(sh, "left out    %u\n", w->site->left_out);
	shell_print(sh, "memory      %llu KiB\n", (unsigned long long)(w->site->bytes + 1023) >> 10);
	struct counters all;
	core_counters(&all);
	shell_print(sh, "requests    %llu\n", (unsigned long long)all.v[CNT_web_requests]);
}

static const struct shell_command commands[] = {
	{"show web", NULL, "the site that is served", show_web},
	{"show web log", NULL, "the last lines of the access log", show_web_log},
};

static const struct page pages[] = {
	{.path = "/access.log", .type = "text/plain; charset=utf-8", .parts = log_page},
};

const struct app_plugin web_plugin = {
	.start = start,
	.ports = ports,
	.changed = changed,
	.timer = timer,
	.published_bytes = sizeof(struct web_published),
	.published_more = published_more,
	.shared_bytes = sizeof(struct web_core),
	.commands = commands,
	.command_count = ARRAY_LEN(commands),
	.pages = pages,
	.page_count = ARRAY_LEN(pages),
};
