/* See clock.h and docs/console.md. */
#include "control/cli/clock.h"

#include "lib/fmt.h"
#include "lib/rfc3339.h"
#include "runtime/runtime.h"
#include "runtime/walltime.h"

static const char *source_word(void)
{
	static const char *const words[] = {
		[WALLTIME_NONE] = "none", [WALLTIME_CMOS] = "CMOS clock", [WALLTIME_CONSOLE] = "console",
		[WALLTIME_NTP] = "NTP"};
	return words[walltime_source()];
}

void show_clock(struct shell *sh)
{
	char text[RFC3339_MAX];
	shell_print(sh, "time    %s\n", walltime_known() ? rfc3339_put(text, walltime_ns(), 6) : "not known");
	shell_print(sh, "source  %s\n", source_word());
}

void clock_set_command(struct shell *sh)
{
	char text[RFC3339_MAX];
	uint64_t ns;
	/* a date and a time of UTC, in one word by RFC 3339 or in two */
	if (sh->argc == 1)
		fmt_format(text, sizeof text, "%s", sh->argv[0]);
	else
		fmt_format(text, sizeof text, "%s %sZ", sh->argv[0], sh->argv[1]);
	if (!rfc3339_read(text, &ns) || ns == 0) {
		shell_print(sh, "the time is like 2026-11-29T21:44:05Z, or 2026-11-29 21:44:05 of UTC; 1970 to 2554\n");
		return;
	}
	walltime_set(ns, clock_tsc(), WALLTIME_CONSOLE);
	show_clock(sh);
}
