/*
 * The generator on the control core: the script, runs one after another, what they found.
 *
 *     control.c   the plan, one run or a whole test at a time, by conduct.h
 *     commands.c  the console: start, stop, show, and the line that tells how a run goes
 *     pages.c     JSON, /metrics, the report as a page
 */
#ifndef PKTGEN_CONTROL_H
#define PKTGEN_CONTROL_H

#include "control/extension.h"
#include "tools/pktgen/conduct.h"
#include "tools/pktgen/plan.h"

extern const struct app_extension pktgen_extension;

/* --- control.c --- */

/* The plan of the script; no streams when there is none, or it is wrong: then `error` says why. */
struct generator {
	struct plan plan;
	bool has_script, is_bad;
	char error[320];
	uint64_t runs;   /* begun since the machine started */
	bool reported;   /* the end of the present one has been told */
};
extern struct generator generator;

/* Begins what the script says, for ns nanoseconds, 0: as long as it says. NULL, or why not. */
const char *generator_start(uint64_t ns);
void generator_stop(void);

/* --- commands.c --- */

#define PKTGEN_COMMANDS 4
extern const struct shell_command pktgen_commands[PKTGEN_COMMANDS];

/* Tells how the run goes to whom it may concern; called every now and then. Returns the TSC of the next
 * call. */
uint64_t live_turn(void);

#endif
