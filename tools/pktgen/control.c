/* See control.h. */
#include "tools/pktgen/control.h"

#include "control/commit/load.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/serial.h"
#include "dataplane/state.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "tools/pktgen/capture_export.h"
#include "tools/pktgen/commands.h"
#include "tools/pktgen/conduct.h"
#include "tools/pktgen/live.h"
#include "tools/pktgen/pages.h"
#include "tools/pktgen/probe.h"
#include "tools/pktgen/replay_files.h"
#include "tools/pktgen/results.h"
#include "tools/pktgen/runs.h"
#include "tools/pktgen/script/script.h"
#include "tools/pktgen/state.h"
#include "tools/pktgen/trials.h"

/* --- the script --- */

static void refuse(const struct text_error *e)
{
	text_error_format(generator.error, sizeof generator.error, running.config.script.name, e);
	memset(&generator.plan, 0, sizeof generator.plan);
	generator.is_bad = true;
}

static void read_script(void)
{
	const struct config_script *s = &running.config.script;
	struct text_error e;
	memset(&generator.plan, 0, sizeof generator.plan);
	generator.has_script = s->line != 0;
	generator.is_bad = false;
	if (!generator.has_script)
		return;
	if (script_parse(s->text.at, s->text.len, &generator.plan, &e) != E_OK ||
	    script_check_ports(&generator.plan, core_port_count(), &e) != E_OK ||
	    replay_files_measure(&generator.plan, &boot_module, &e) != E_OK)
		refuse(&e);
}

/* Called before each start of the ports. Reads the script; returns the memory for its replays. */
static size_t published_more(void)
{
	read_script();
	return generator.is_bad ? 0 : replay_files_bytes();
}

static void lay_replays(void)
{
	const struct plan_stream *s = generator.plan.stream;
	struct text_error e;
	size_t bytes = replay_files_bytes();
	if (generator.is_bad || bytes == 0)
		return;
	if (dp_get()->plugin_more) {
		replay_files_lay(&generator.plan, &boot_module, dp_get()->plugin_more);
		return;
	}
	while (!s->replay.file[0])
		s++;
	text_fail(&e, s->replay.line, text_of(s->replay.file), "the captures that are replayed take "
	          "%llu MiB, more than the machine has left for them: give it more memory",
	          (unsigned long long)(bytes >> 20) + 1);
	refuse(&e);
}

static void start(void)
{
	conduct_reset();
	lay_replays();
	capture_export_ask();
	runs_no_autostart();
}

static void ports(void)
{
	if (generator.is_bad) {
		console_log("%s", generator.error);
		console_log("the generator has no streams");
	} else if (!generator.has_script && running.applied) {
		console_log("no script was given: the generator has no streams");
	}
	if (core_ports_running() && generator.plan.autostart && generator.runs == 0)
		runs_autostart();
}

/* --- runs --- */

/* The run or the test has ended: takes its results and reports the end, once. */
static void over(void)
{
	if (generator.reported)
		return;
	generator.reported = true;
	results_take();
	commands_over();
}

static void trial_over(const struct rfc2544 *tests, uint32_t trial)
{
	commands_trial(tests, trial);
	results_take();
}

static const struct trials_events events = {.trial = trial_over, .over = over};

static void link(unsigned port, bool up)
{
	if (!up)
		conduct_link_down(port);
}

static uint64_t timer(void)
{
	uint64_t next = runs_turn();
	next = u64_min(next, conduct_turn());
	next = u64_min(next, trials_turn(&events));
	next = u64_min(next, probe_turn());
	if (generator.runs && !generator_busy())
		over();
	next = u64_min(next, commands_turn());
	return u64_min(next, live_turn());
}

const struct app_plugin pktgen_plugin = {
	.start = start,
	.ports = ports,
	.link = link,
	.timer = timer,
	.published_bytes = sizeof(struct run_order),
	.published_more = published_more,
	.shared_bytes = sizeof(struct run_result),
	.commands = pktgen_commands,
	.command_count = PKTGEN_COMMANDS,
	.pages = pktgen_pages,
	.page_count = PKTGEN_PAGES,
	.metrics = pktgen_metrics,
	.takes_script = true,
};
