/* The console of the generator: its commands, and the lines printed when a trial, a run or a test
 * ends. */
#include "tools/pktgen/commands.h"
#include "control/console/shell.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "tools/pktgen/capture_export.h"
#include "tools/pktgen/conduct.h"
#include "tools/pktgen/live.h"
#include "tools/pktgen/pages.h"
#include "tools/pktgen/report/report_out.h"
#include "tools/pktgen/results.h"
#include "tools/pktgen/runs.h"
#include "tools/pktgen/script/script.h"
#include "tools/pktgen/state.h"
#include "tools/pktgen/trials.h"

typedef unsigned long long ull;

/* --- the end of a trial, of a run, of a test --- */

void commands_trial(const struct rfc2544 *tests, uint32_t i)
{
	const struct trial *w = &tests->trial[i].what;
	const struct trial_result *got = &tests->trial[i].result;
	char burst[40] = "";
	if (w->frames)
		fmt_format(burst, sizeof burst, "  burst %llu", (ull)w->frames);
	live_say("trial %u: %s %u bytes %u.%03u %%%s  sent %llu lost %llu  %s%s", i + 1,
	         report_test(w->test), w->size + PLAN_FCS_BYTES, w->rate / 1000, w->rate % 1000, burst,
	         (ull)got->sent, (ull)trial_lost(got), got->flaw ? "invalid: " : "",
	         trial_flaw_text(got->flaw));
}

static void say_test(void)
{
	const struct rfc2544 *tests = trials();
	unsigned invalid = 0;
	for (uint32_t i = 0; i < tests->trials; i++)
		invalid += tests->trial[i].result.flaw != TRIAL_VALID;
	if (*trials_error())
		live_say("the test failed: %s", trials_error());
	live_say("the test is over: %u trials, %u invalid; `show report` shows the results",
	         tests->trials, invalid);
}

void commands_over(void)
{
	if (generator.testing)
		say_test();
	else if (conduct_state() == CONDUCT_FAILED && !live_is_watched())
		live_say("the run is over: failed: %s", conduct_error());
	else if (!live_is_watched())
		live_say("the run is over: %s; `show report` shows the results",
		         conduct_flaw() == TRIAL_VALID ? "valid" : "invalid");
}

/* --- a report or a capture on the console: a piece a turn, so none waits for the terminal --- */

#define OUTPUT_PIECE 2048

static struct {
	struct shell *sh;   /* NULL: there is no output */
	bool (*more)(void); /* writes a piece; false: the output has ended, or is broken off */
	bool broken;        /* off, because a newer report or capture has replaced it */
	enum report_form form; /* of a report */
	bool marked;        /* lines mark its beginning and its end */
	uint32_t number;    /* of the report or the capture */
	uint64_t at;        /* the next byte */
} output;

static bool report_more(void)
{
	const char *text;
	size_t n = report_piece(output.form, output.number, output.at, &text);
	n = n < OUTPUT_PIECE ? n : OUTPUT_PIECE;
	shell_write(output.sh, text, n);
	output.at += n;
	output.broken = output.number != results_number();
	return n != 0;
}

static bool capture_more(void)
{
	enum capture_export_have have = capture_export_lines(output.sh, output.number, &output.at);
	output.broken = have == CAPTURE_EXPORT_GONE;
	return have == CAPTURE_EXPORT_PIECE || have == CAPTURE_EXPORT_LATER;
}

uint64_t commands_turn(void)
{
	if (!output.sh)
		return UINT64_MAX;
	if (output.more())
		return self.now_tsc;
	struct shell *sh = output.sh;
	output.sh = NULL;
	if (output.marked)
		shell_print(sh, output.broken ? "\n--- cut off: no longer available\n" : "\n--- end\n");
	shell_done(sh);
	return UINT64_MAX;
}

static void output_cancel(struct shell *sh)
{
	output.sh = NULL;
	shell_done(sh);
}

/* name: of the file, for the lines that mark it; NULL: no marks, because the text is for people. */
static void output_begin(struct shell *sh, bool (*more)(void), uint32_t number, const char *name)
{
	output.sh = sh;
	output.more = more;
	output.number = number;
	output.at = 0;
	output.marked = name != NULL;
	if (name)
		shell_print(sh, "--- %s\n", name);
	shell_set_busy(sh, output_cancel);
}

static void show_report(struct shell *sh)
{
	static const char *const words[] = {[REPORT_JSON] = "json", [REPORT_HTML] = "html"};
	enum report_form form = REPORT_TEXT;
	if (sh->argc == 1) {
		form = strcmp(sh->argv[0], words[REPORT_HTML]) == 0 ? REPORT_HTML : REPORT_JSON;
		if (strcmp(sh->argv[0], words[form]) != 0) {
			shell_print(sh, "the forms are json and html\n");
			return;
		}
	}
	if (!results() || output.sh) {
		shell_print(sh, "%s\n", results() ? "a report or a capture is being shown"
		                                  : "no run and no test yet");
		return;
	}
	output.form = form;
	output_begin(sh, report_more, results_number(),
	             form == REPORT_TEXT ? NULL : form == REPORT_JSON ? "report.json" : "report.html");
}

/* Bytes: a byte on a serial line takes microseconds, for which the control core waits. */
#define CAPTURE_ON_CONSOLE (8ull << 20)

static void show_capture(struct shell *sh)
{
	if (capture_export_missing()) {
		shell_print(sh, "there is no capture: %s\n", capture_export_missing());
		return;
	}
	if (sh->argc == 0) {
		capture_export_show(sh);
		return;
	}
	if (strcmp(sh->argv[0], "base64") != 0)
		shell_print(sh, "the form is base64\n");
	else if (output.sh)
		shell_print(sh, "a report or a capture is being shown\n");
	else if (capture_export_bytes() > CAPTURE_ON_CONSOLE)
		shell_print(sh, "the capture takes %llu MiB, and the console shows %llu at most: get "
		            "/capture.pcapng by HTTP\n", (ull)(capture_export_bytes() >> 20),
		            CAPTURE_ON_CONSOLE >> 20);
	else
		output_begin(sh, capture_more, capture_export_number(), "capture.pcapng");
}

/* --- commands --- */

static void start(struct shell *sh)
{
	uint32_t seconds = 0;
	if (sh->argc == 1 && text_parse_u32(text_of(sh->argv[0]), 1, 1000000, &seconds) != E_OK) {
		shell_print(sh, "SECONDS must be a number from 1 to 1000000\n");
		return;
	}
	const char *why = generator_start(seconds * 1000000000ull);
	if (why) {
		shell_print(sh, "%s\n", why);
		return;
	}
	live_watch(sh, generator_stop);
}

static void rfc2544_start(struct shell *sh)
{
	const char *why = generator_test();
	if (why)
		shell_print(sh, "%s\n", why);
	else
		live_watch(sh, generator_stop);
}

static void stop(struct shell *sh)
{
	if (!generator_busy())
		shell_print(sh, "no run is on\n");
	generator_stop();
}

static void show_run(struct shell *sh)
{
	if (generator.is_bad)
		shell_print(sh, "%s\n", generator.error);
	if (generator.testing)
		shell_print(sh, "test: %u trials%s\n", trials()->trials,
		            trials_on() ? " so far" : "");
	shell_print(sh, "run %llu: %s\n", (ull)generator.runs, conduct_state_text(conduct_state()));
	if (conduct_state() >= CONDUCT_RUN)
		live_report(sh);
}

static void show_script(struct shell *sh)
{
	if (generator.is_bad)
		shell_print(sh, "%s\n", generator.error);
	script_print(&generator.plan, live_write, sh);
}

const struct shell_command pktgen_commands[PKTGEN_COMMANDS] = {
	{"start", "[SECONDS]", "sends the script's streams; Ctrl-C ends the run", start},
	{"stop", NULL, "ends the run; `show run` shows its results", stop},
	{"show run", NULL, "state, frames sent and lost, duration", show_run},
	{"rfc2544", NULL, "the script's tests of RFC 2544", NULL},
	{"rfc2544 start", NULL, "starts the tests; Ctrl-C ends them", rfc2544_start},
	{"rfc2544 stop", NULL, "ends the tests; `show report` shows the results", stop},
	{"show report", "[FORM]", "the last run or test as text; FORM: json or html", show_report},
	{"show capture", "[FORM]", "captured frames by port; FORM base64: the pcapng file",
	 show_capture},
	{"show script", NULL, "the script as parsed", show_script},
};
