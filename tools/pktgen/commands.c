/*
 * The console of the generator. While a run is on that was begun here, a line tells every second how it
 * goes: on a terminal it is written over, so that it stays where it is, else (live=lines on the kernel
 * command line, as the launcher has it when nobody looks) each stays.
 */
#include "tools/pktgen/control.h"

#include "control/inside.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "tools/pktgen/report_out.h"
#include "tools/pktgen/script.h"

typedef unsigned long long ull;

#define LIVE_NS 1000000000ull

static struct {
	struct shell *sh; /* whose command started the run; NULL: nobody's */
	uint64_t next_tsc;
	uint64_t at_tsc;  /* of the line before */
	uint64_t sent, received, bytes;
	unsigned width;   /* characters of that line, to be written over */
} live;

/* --- sums --- */

struct totals {
	uint64_t sent, bytes, received, lost;
};

static void add_up(struct totals *t)
{
	static struct judge_result judged;
	const struct run_order *o = conduct_order();
	memset(t, 0, sizeof *t);
	for (unsigned i = 0; o && i < o->plan.streams; i++) {
		struct run_sent s;
		conduct_sent(i, &s);
		t->sent += s.frames;
		t->bytes += s.bytes;
		if (!o->plan.stream[i].stamped)
			continue;
		conduct_judged(i, &judged);
		t->received += judged.received;
		t->lost += judge_lost(s.frames, &judged);
	}
}

/* Of `what` in `ticks` of the TSC, a second. */
static uint64_t per_second(uint64_t what, uint64_t ticks)
{
	return ticks ? wide_mul_div(what, self.clock.tsc_hz, ticks) : 0;
}

/* Bits on the wire: with FCS, preamble and gap. */
static uint64_t l1_bits(uint64_t frames, uint64_t bytes)
{
	return 8 * (bytes + frames * (PLAN_FCS_BYTES + PLAN_WIRE_BYTES));
}

/* "12.345" of 12,345,678 in millions. */
static const char *millions(char *buf, size_t size, uint64_t n)
{
	fmt_format(buf, size, "%llu.%03llu", (ull)(n / 1000000), (ull)(n / 1000 % 1000));
	return buf;
}

/* --- while it runs --- */

static bool in_lines(void)
{
	char how[8];
	return core_option("live", how, sizeof how) && strcmp(how, "lines") == 0;
}

static void tell_line(void)
{
	char line[160], tx[24], rx[24], bits[24];
	struct totals t;
	uint64_t now = clock_tsc(), ticks = now - live.at_tsc;
	uint64_t begin = conduct_begin_tsc();
	uint64_t ms = begin && now > begin ? clock_ns(&self.clock, now - begin) / 1000000 : 0;
	add_up(&t);
	size_t n = fmt_format(
		line, sizeof line, "%4llu.%llu s  sent %s Mpps, %s Mbit/s  received %s Mpps  not back %llu",
		(ull)ms / 1000, (ull)ms / 100 % 10,
		millions(tx, sizeof tx, per_second(t.sent - live.sent, ticks)),
		millions(bits, sizeof bits,
	                 per_second(l1_bits(t.sent - live.sent, t.bytes - live.bytes), ticks)),
		millions(rx, sizeof rx, per_second(t.received - live.received, ticks)), (ull)t.lost);
	n = n < sizeof line ? n : sizeof line - 1;
	if (in_lines()) {
		shell_print(live.sh, "%s\n", line);
	} else {
		shell_print(live.sh, "\r%s", line);
		for (unsigned i = (unsigned)n; i < live.width; i++)
			shell_write(live.sh, " ", 1);
		live.width = (unsigned)n;
	}
	live.at_tsc = now;
	live.sent = t.sent;
	live.bytes = t.bytes;
	live.received = t.received;
}

static void write_text(void *ctx, const char *text, size_t len)
{
	shell_write(ctx, text, len);
}

/* The run as it stands, by the words of the report. */
static void print_run(struct shell *sh)
{
	static struct judge_result judged;
	static struct pace_result paced;
	struct report run = {0};
	struct report_stream stream;
	results_run(&run);
	report_text_verdict(&run, write_text, sh);
	for (unsigned i = 0; i < run.streams; i++) {
		results_stream(i, &stream, &judged, &paced);
		report_text_stream(&stream, write_text, sh);
	}
}

/* --- the end of a trial, of a run, of a test --- */

/* A line that stays: behind the one that is written over, or, when no command waits, as a message. */
static void say(const char *format, ...) PRINTF_LIKE(1, 2);

static void say(const char *format, ...)
{
	char line[200];
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(line, sizeof line, format, args);
	__builtin_va_end(args);
	if (!live.sh) {
		plane_log("%s", line);
		return;
	}
	shell_print(live.sh, "%s%-*s\n", live.width ? "\r" : "", (int)live.width, line);
	live.width = 0;
}

void live_trial(const struct rfc2544 *tests, uint32_t i)
{
	const struct trial *w = &tests->trial[i].what;
	const struct trial_result *got = &tests->trial[i].result;
	char burst[40] = "";
	if (w->frames)
		fmt_format(burst, sizeof burst, "  burst %llu", (ull)w->frames);
	say("trial %u: %s %u bytes %u.%03u %%%s  sent %llu lost %llu  %s%s", i + 1,
	    report_test(w->test), w->size + PLAN_FCS_BYTES, w->rate / 1000, w->rate % 1000, burst,
	    (ull)got->sent, (ull)trial_lost(got), got->flaw ? "invalid: " : "",
	    trial_flaw_text(got->flaw));
	live.sent = live.received = live.bytes = 0; /* the next trial counts from 0 */
	live.at_tsc = clock_tsc();
}

static void say_test(void)
{
	const struct rfc2544 *tests = trials();
	unsigned invalid = 0;
	for (uint32_t i = 0; i < tests->trials; i++)
		invalid += tests->trial[i].result.flaw != TRIAL_VALID;
	if (*trials_error())
		say("the test failed: %s", trials_error());
	say("the test is over: %u trials, %u invalid; `show report` tells what came of them",
	    tests->trials, invalid);
}

void live_over(void)
{
	if (generator.testing)
		say_test();
	else if (conduct_state() == CONDUCT_FAILED && !live.sh)
		say("the run is over: failed: %s", conduct_error());
	else if (!live.sh)
		say("the run is over: %s; `show report` tells what came of it",
		    conduct_flaw() == TRIAL_VALID ? "valid" : "invalid");
}

/* --- a report on the console: a piece a turn, so that nothing waits for the terminal --- */

#define OUTPUT_PIECE 2048

static struct {
	struct shell *sh;
	enum report_form form;
	uint32_t number;
	uint64_t at;
} output;

static uint64_t output_turn(void)
{
	const char *text;
	if (!output.sh)
		return UINT64_MAX;
	size_t n = report_piece(output.form, output.number, output.at, &text);
	if (n) {
		n = n < OUTPUT_PIECE ? n : OUTPUT_PIECE;
		shell_write(output.sh, text, n);
		output.at += n;
		return self.now_tsc;
	}
	struct shell *sh = output.sh;
	output.sh = NULL;
	if (output.form != REPORT_TEXT)
		shell_print(sh, "\n--- end\n");
	shell_done(sh);
	return UINT64_MAX;
}

static void output_cancel(struct shell *sh)
{
	output.sh = NULL;
	shell_done(sh);
}

static void show_report(struct shell *sh, int argc, char **argv)
{
	static const char *const words[] = {[REPORT_JSON] = "json", [REPORT_HTML] = "html"};
	enum report_form form = REPORT_TEXT;
	if (argc == 1) {
		form = strcmp(argv[0], words[REPORT_HTML]) == 0 ? REPORT_HTML : REPORT_JSON;
		if (strcmp(argv[0], words[form]) != 0) {
			shell_print(sh, "the forms are json and html\n");
			return;
		}
	}
	if (!results() || output.sh) {
		shell_print(sh, results() ? "a report is being shown\n" : "no run and no test yet\n");
		return;
	}
	if (form != REPORT_TEXT)
		shell_print(sh, "--- report.%s\n", words[form]);
	output.sh = sh;
	output.form = form;
	output.number = results_number();
	output.at = 0;
	shell_set_busy(sh, output_cancel);
}

uint64_t live_turn(void)
{
	uint64_t next = output_turn();
	if (!live.sh)
		return next;
	if (generator_busy()) {
		bool each = !generator.testing || !in_lines();
		if (each && conduct_state() == CONDUCT_RUN && clock_tsc() >= live.next_tsc) {
			tell_line();
			live.next_tsc = clock_tsc() + clock_ticks(&self.clock, LIVE_NS);
		}
		return next; /* conduct_turn is called often enough */
	}
	struct shell *sh = live.sh;
	if (live.width)
		shell_print(sh, "\n");
	if (!generator.testing)
		print_run(sh);
	live.sh = NULL;
	shell_done(sh);
	return next;
}

/* --- commands --- */

static void cancel(struct shell *sh)
{
	(void)sh;
	generator_stop(); /* live_turn reports and gives the console back */
}

static void watch(struct shell *sh)
{
	memset(&live, 0, sizeof live);
	live.sh = sh;
	live.at_tsc = clock_tsc();
	live.next_tsc = live.at_tsc + clock_ticks(&self.clock, LIVE_NS);
	shell_set_busy(sh, cancel);
}

static void start(struct shell *sh, int argc, char **argv)
{
	uint32_t seconds = 0;
	if (argc == 1 && text_parse_u32(text_of(argv[0]), 1, 1000000, &seconds) != E_OK) {
		shell_print(sh, "SECONDS must be a number from 1 to 1000000\n");
		return;
	}
	const char *why = generator_start(seconds * 1000000000ull);
	if (why) {
		shell_print(sh, "%s\n", why);
		return;
	}
	watch(sh);
}

static void rfc2544_start(struct shell *sh, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	const char *why = generator_test();
	if (why)
		shell_print(sh, "%s\n", why);
	else
		watch(sh);
}

static void stop(struct shell *sh, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (!generator_busy())
		shell_print(sh, "no run is on\n");
	generator_stop();
}

static void show_run(struct shell *sh, int argc, char **argv)
{
	static const char *const words[] = {
		[CONDUCT_IDLE] = "no run yet",       [CONDUCT_RESOLVE] = "asking for neighbours",
		[CONDUCT_ORDER] = "preparing frames", [CONDUCT_RUN] = "sending",
		[CONDUCT_SETTLE] = "waiting for what is under way", [CONDUCT_DONE] = "done",
		[CONDUCT_FAILED] = "failed",
	};
	(void)argc;
	(void)argv;
	if (generator.is_bad)
		shell_print(sh, "%s\n", generator.error);
	if (generator.testing)
		shell_print(sh, "test: %u trials%s\n", trials()->trials, trials_on() ? " so far" : "");
	shell_print(sh, "run %llu: %s\n", (ull)generator.runs, words[conduct_state()]);
	if (conduct_state() >= CONDUCT_RUN)
		print_run(sh);
}

static void show_script(struct shell *sh, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (generator.is_bad)
		shell_print(sh, "%s\n", generator.error);
	script_print(&generator.plan, write_text, sh);
}

const struct shell_command pktgen_commands[PKTGEN_COMMANDS] = {
	{"start", "[SECONDS]", "sends what the script says; Ctrl-C ends", start},
	{"stop", NULL, "ends the run; `show run` tells what came of it", stop},
	{"show run", NULL, "the generator: state, and what was sent, lost, and how long it took", show_run},
	{"rfc2544", NULL, "the script's tests of RFC 2544", NULL},
	{"rfc2544 start", NULL, "begins them; Ctrl-C ends", rfc2544_start},
	{"rfc2544 stop", NULL, "ends them; `show report` tells what came of them", stop},
	{"show report", "[FORM]", "of the last run or test: text, or FORM json or html", show_report},
	{"show script", NULL, "the streams", show_script},
};
