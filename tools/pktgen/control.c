/* See control.h. */
#include "tools/pktgen/control.h"

#include "control/commit/load.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/serial.h"
#include "dataplane/state.h"
#include "control/management/stats.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "tools/pktgen/capture_export.h"
#include "tools/pktgen/probe.h"
#include "tools/pktgen/script/script.h"
#include "tools/pktgen/replay_files.h"

#define MS 1000000ull
#define SETTLE_NS (500 * MS)
#define BURST 64
#define LINKS_NS (10000 * MS) /* a script that starts by itself waits so long for the links */

struct generator generator;

static uint64_t autostart_tsc; /* the script is to start by itself, then at the latest; 0: not */

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
	    traces_measure(&generator.plan, &boot_module, &e) != E_OK)
		refuse(&e);
}

/* The script is read when the plane asks what memory its traces take. */
static size_t snapshot_more(void)
{
	read_script();
	return generator.is_bad ? 0 : traces_bytes();
}

static void lay_traces(void)
{
	const struct plan_stream *s = generator.plan.stream;
	struct text_error e;
	size_t bytes = traces_bytes();
	if (generator.is_bad || bytes == 0)
		return;
	if (view_get()->extension_more) {
		traces_lay(&generator.plan, &boot_module, view_get()->extension_more);
		return;
	}
	while (!s->replay.file[0])
		s++;
	text_fail(&e, s->replay.line, text_of(s->replay.file), "the captures that are replayed take "
	          "%llu MiB, which the machine does not have for them: give it more memory",
	          (unsigned long long)(bytes >> 20) + 1);
	refuse(&e);
}

static void start(void)
{
	conduct_reset();
	lay_traces();
	captures_ask();
	autostart_tsc = 0;
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
		autostart_tsc = clock_tsc() + clock_ticks(&self.clock, LINKS_NS);
}

/* --- runs --- */

uint32_t generator_burst(void)
{
	uint64_t n = core_option_number("tx-burst", BURST);
	return n >= 1 && n <= RUN_BURST_MAX ? (uint32_t)n : BURST;
}

bool generator_busy(void)
{
	return conduct_busy() || trials_on();
}

static const char *cannot_start(void)
{
	if (generator.is_bad)
		return generator.error;
	if (generator.plan.streams == 0)
		return "there are no streams: the machine was given no script";
	if (trials_on())
		return "a test is on: `rfc2544 stop` ends it";
	if (conduct_busy())
		return "a run is on: `stop` ends it";
	return NULL;
}

static void begun(bool testing)
{
	generator.runs++;
	generator.begun_ns = stats_uptime_ns();
	generator.testing = testing;
	generator.reported = false;
}

const char *generator_test(void)
{
	const char *why = cannot_start();
	autostart_tsc = 0;
	if (!why)
		why = trials_start();
	if (!why)
		begun(true);
	return why;
}

const char *generator_start(uint64_t ns)
{
	const char *why = cannot_start();
	if (why)
		return why;
	if (generator.plan.has_rfc2544)
		return "the streams of rfc2544 have no rate of their own: `rfc2544 start` begins "
		       "its tests";
	autostart_tsc = 0;
	struct plan *plan = &generator.plan;
	const struct conduct_request r = {
		.plan = plan,
		.frames = ns ? 0 : plan->limit.frames,
		.ns = ns ? ns : plan->limit.ns,
		.settle_ns = SETTLE_NS,
		.burst = generator_burst(),
	};
	why = probe_start(plan);
	if (why)
		return why;
	begun(false);
	conduct_start(&r);
	return NULL;
}

void generator_stop(void)
{
	autostart_tsc = 0;
	trials_stop();
	conduct_stop();
}

void generator_over(void)
{
	if (generator.reported)
		return;
	generator.reported = true;
	results_take();
	commands_over();
}

static void link(unsigned port, bool up)
{
	if (!up)
		conduct_link_down(port);
}

/* A script that says so starts by itself, as soon as its links are up. */
static uint64_t autostart_turn(void)
{
	if (autostart_tsc == 0)
		return UINT64_MAX;
	if (conduct_links_up(&generator.plan) || clock_tsc() >= autostart_tsc) {
		bool tests = generator.plan.has_rfc2544;
		const char *why = tests ? generator_test() : generator_start(0);
		if (why)
			console_log("the script does not start: %s", why);
		return self.now_tsc;
	}
	return self.now_tsc + clock_ticks(&self.clock, 10 * MS);
}

static uint64_t timer(void)
{
	uint64_t next = autostart_turn();
	next = u64_min(next, conduct_turn());
	next = u64_min(next, trials_turn());
	next = u64_min(next, probe_turn());
	if (generator.runs && !generator_busy())
		generator_over();
	next = u64_min(next, commands_turn());
	return u64_min(next, live_turn());
}

const struct app_extension pktgen_extension = {
	.start = start,
	.ports = ports,
	.link = link,
	.timer = timer,
	.snapshot_bytes = sizeof(struct run_order),
	.snapshot_more = snapshot_more,
	.shared_bytes = sizeof(struct run_result),
	.commands = pktgen_commands,
	.command_count = PKTGEN_COMMANDS,
	.pages = pktgen_pages,
	.page_count = PKTGEN_PAGES,
	.metrics = pktgen_metrics,
	.takes_script = true,
};
