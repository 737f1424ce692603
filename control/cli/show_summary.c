/*
 * `show ip route summary`, `show ipv6 route summary`: the number of prefixes of each length. A
 * table may have a million, and one walk through it would block the console and, with one CPU, the
 * traffic. So each turn of the control core counts some prefixes, and the result is printed when
 * all are counted. One summary runs at a time, like ping.c. A route that is added or removed
 * meanwhile may be counted or not.
 */
#include "control/cli/show.h"
#include "control/console/shell.h"
#include "control/forwarding/tables.h"
#include "control/forwarding/routes.h"
#include "lib/mem.h"

#define PREFIXES_PER_TURN 2048 /* under a millisecond */
#define LENGTHS 129

static struct {
	struct shell *sh; /* NULL: no summary runs */
	bool six;
	struct fib_cursor cursor;
	uint32_t count[LENGTHS]; /* by length */
} summary;

static void cancel(struct shell *sh)
{
	summary.sh = NULL;
	shell_done(sh);
}

static void start(struct shell *sh, bool six)
{
	if (!forwarding.ready) {
		shell_print(sh, "no table\n");
		return;
	}
	if (summary.sh) {
		shell_print(sh, "another console waits for a summary\n");
		return;
	}
	memset(&summary, 0, sizeof summary);
	summary.sh = sh;
	summary.six = six;
	shell_set_busy(sh, cancel);
}

void show_route_summary(struct shell *sh)
{
	start(sh, false);
}

void show_route6_summary(struct shell *sh)
{
	start(sh, true);
}

/* Counts the next prefix; false: there is none. */
static bool count_next(void)
{
	struct fib4_route four;
	struct fib6_route six;
	if (!forwarding.ready ||
	    !(summary.six ? fib6_next(&forwarding.fib6, &summary.cursor, &six)
	                  : fib4_next(&forwarding.fib, &summary.cursor, &four)))
		return false;
	summary.count[summary.six ? six.plen : four.plen]++;
	return true;
}

static void finish(void)
{
	struct shell *sh = summary.sh;
	uint32_t sum = 0;
	shell_print(sh, "%-6s %10s\n", "length", "prefixes");
	for (unsigned plen = 0; plen < LENGTHS; plen++) {
		if (summary.count[plen])
			shell_print(sh, "%-6u %10u\n", plen, summary.count[plen]);
		sum += summary.count[plen];
	}
	shell_print(sh, "%u prefixes", sum);
	if (routes_refused())
		shell_print(sh, ", %u refused: table full", routes_refused());
	shell_print(sh, "\n");
	cancel(sh);
}

uint64_t summary_timer(void)
{
	if (!summary.sh)
		return UINT64_MAX;
	for (unsigned i = 0; i < PREFIXES_PER_TURN; i++)
		if (!count_next()) {
			finish();
			return UINT64_MAX;
		}
	return core_now_ns();
}
