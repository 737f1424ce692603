/* See runs.h. */
#include "control/console/serial.h"
#include "tools/pktgen/runs.h"

#include "control/management/stats.h"
#include "tools/pktgen/conduct.h"
#include "tools/pktgen/probe.h"
#include "tools/pktgen/state.h"
#include "tools/pktgen/trials.h"

#define MS 1000000ull
#define SETTLE_NS (500 * MS)
#define LINKS_NS (10000 * MS)

static uint64_t autostart_tsc; /* latest time of the automatic start; 0: there is none */

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

void runs_autostart(void)
{
	autostart_tsc = clock_tsc() + clock_ticks(&self.clock, LINKS_NS);
}

void runs_no_autostart(void)
{
	autostart_tsc = 0;
}

uint64_t runs_turn(void)
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
