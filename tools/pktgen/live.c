/*
 * Progress of the present run or test. Once a second the figures of all streams are collected, one
 * stream in each turn of the control core, for consoles and for /api/v1/run.json.
 *
 * The console that began a run shows its progress until the end. On a terminal the rows of screen.h
 * are redrawn in place: the cursor goes up before they are written again. A system message that is
 * written in between stays above, and the rows are drawn anew below it. With live=lines on the
 * kernel command line, which the launcher's rfc2544 sets, each second appends a line; a test appends
 * a line for each trial only.
 */
#include "tools/pktgen/live.h"
#include "control/console/serial.h"
#include "control/console/shell.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "tools/pktgen/conduct.h"
#include "tools/pktgen/results.h"
#include "tools/pktgen/runs.h"
#include "tools/pktgen/state.h"
#include "tools/pktgen/trials.h"

#define LIVE_NS 1000000000ull

static struct {
	uint64_t order;     /* number of the order that the figures belong to; 0: none */
	unsigned streams;
	struct screen_row row[PLAN_STREAMS_MAX], all;
	uint64_t row_tsc[PLAN_STREAMS_MAX]; /* when they were taken */
	bool taking;
	bool is_last;       /* the run was over when the collection began */
	unsigned next;      /* stream to be collected next */
	uint64_t due_tsc;   /* when to collect again */
	struct histogram latency; /* of the streams collected so far */

	struct shell *sh;   /* the console that waits for the end, or NULL */
	void (*stop)(void); /* ends the run */
	unsigned rows;      /* on its screen, above the cursor */
	uint32_t logs;      /* its count of system messages (sh->logs) when the rows were written */
} live;

const struct screen_row *live_streams(unsigned *count)
{
	*count = live.streams;
	return live.row;
}

const struct screen_row *live_all(void)
{
	return &live.all;
}

/* --- figures --- */

static uint64_t l1_bits(uint64_t frames, uint64_t bytes)
{
	return 8 * (bytes + frames * (PLAN_FCS_BYTES + PLAN_WIRE_BYTES));
}

/* The rate per second of `what` in `ticks` of the TSC. */
static uint64_t per_second(uint64_t what, uint64_t ticks)
{
	return ticks ? wide_mul_div(what, self.clock.tsc_hz, ticks) : 0;
}

static void begin(void)
{
	const struct run_order *o = conduct_order();
	uint64_t number = o ? o->number : 0;
	if (number != live.order) {
		live.order = number;
		live.streams = o ? o->plan.streams : 0;
		memset(live.row, 0, sizeof live.row);
		memset(&live.all, 0, sizeof live.all);
		for (unsigned i = 0; i < live.streams; i++) {
			live.row[i].name = o->plan.stream[i].name;
			live.row[i].stamped = o->plan.stream[i].stamped;
			live.row_tsc[i] = o->begin_tsc;
		}
	}
	histogram_clear(&live.latency);
	live.taking = true;
	live.is_last = !generator_busy();
	live.next = 0;
}

static void take_judged(struct screen_row *row, unsigned i, uint64_t ticks)
{
	static struct judge_result judged;
	conduct_judged(i, &judged);
	row->rx_fps = per_second(judged.received - row->received, ticks);
	row->rx_bps = per_second(l1_bits(judged.received - row->received,
	                                 judged.bytes - row->received_bytes), ticks);
	row->received = judged.received;
	row->received_bytes = judged.bytes;
	row->missing = judge_lost(row->sent, &judged);
	row->reordered = judged.reordered;
	row->duplicates = judged.duplicates;
	row->corrupted = judged.corrupted;
	histogram_summarize(&judged.latency, &row->latency);
	histogram_merge(&live.latency, &judged.latency);
}

static void take(unsigned i)
{
	struct screen_row *row = &live.row[i];
	struct run_sent sent;
	uint64_t now = clock_tsc(), was = live.row_tsc[i], ticks = now > was ? now - was : 0;
	conduct_sent(i, &sent);
	row->tx_fps = per_second(sent.frames - row->sent, ticks);
	row->tx_bps = per_second(l1_bits(sent.frames - row->sent, sent.bytes - row->bytes), ticks);
	row->sent = sent.frames;
	row->bytes = sent.bytes;
	if (row->stamped)
		take_judged(row, i, ticks);
	live.row_tsc[i] = ticks ? now : was;
}

static void add_up(void)
{
	struct screen_row *all = &live.all;
	*all = (struct screen_row){.name = "all"};
	for (unsigned i = 0; i < live.streams; i++) {
		const struct screen_row *row = &live.row[i];
		all->stamped |= row->stamped;
		all->sent += row->sent;
		all->bytes += row->bytes;
		all->received += row->received;
		all->received_bytes += row->received_bytes;
		all->missing += row->missing;
		all->reordered += row->reordered;
		all->duplicates += row->duplicates;
		all->corrupted += row->corrupted;
		all->tx_fps += row->tx_fps;
		all->tx_bps += row->tx_bps;
		all->rx_fps += row->rx_fps;
		all->rx_bps += row->rx_bps;
	}
	histogram_summarize(&live.latency, &all->latency);
}

/* --- progress --- */

static uint32_t part(uint64_t done, uint64_t whole)
{
	return done < whole ? (uint32_t)wide_mul_div(done, 1000, whole) : 1000;
}

/* The progress of a stream: that of its time or of its frames, whichever ends it first. */
static uint32_t stream_permille(const struct run_order *o, unsigned i, uint64_t elapsed_ns)
{
	const struct plan_limit *limit = &o->plan.stream[i].limit;
	uint64_t ns = limit->ns;
	if (o->end_tsc != UINT64_MAX) {
		uint64_t run_ns = clock_ns(&self.clock, o->end_tsc - o->begin_tsc);
		ns = ns && ns < run_ns ? ns : run_ns;
	}
	uint32_t time = ns ? part(elapsed_ns, ns) : 0;
	uint32_t frames = limit->frames ? part(live.row[i].sent, limit->frames) : 0;
	if (ns == 0 && limit->frames == 0)
		return SCREEN_UNKNOWN;
	return time > frames ? time : frames;
}

/* The progress of a run is that of its slowest stream. */
static uint32_t permille(uint64_t elapsed_ns)
{
	const struct run_order *o = conduct_order();
	uint32_t least = 1000;
	for (unsigned i = 0; i < live.streams; i++) {
		uint32_t its = o->stream[i].send ? stream_permille(o, i, elapsed_ns) : 1000;
		if (its == SCREEN_UNKNOWN)
			return SCREEN_UNKNOWN;
		least = its < least ? its : least;
	}
	return least;
}

void live_progress(struct screen_progress *p)
{
	struct run_sent sent;
	uint64_t now = clock_tsc(), begin_tsc = conduct_begin_tsc();
	conduct_sent_all(&sent);
	uint64_t until = conduct_state() == CONDUCT_RUN ? now : sent.last_tsc;
	const char *pause = trials_pause();
	p->state = pause ? pause : conduct_state_text(conduct_state());
	p->elapsed_ns = 0;
	if (begin_tsc && until > begin_tsc)
		p->elapsed_ns = clock_ns(&self.clock, until - begin_tsc);
	p->permille = conduct_state() < CONDUCT_RUN ? 0 : SCREEN_UNKNOWN;
	if (conduct_state() == CONDUCT_RUN)
		p->permille = permille(p->elapsed_ns);
	else if (conduct_state() > CONDUCT_RUN)
		p->permille = 1000;
}

/* --- the console --- */

static bool in_lines(void)
{
	char how[8];
	return core_option("live", how, sizeof how) && strcmp(how, "lines") == 0;
}

/* Erases the rows. The cursor is then where the first row was. */
static void erase(void)
{
	if (live.rows && live.logs == live.sh->logs)
		shell_print(live.sh, "\x1b[%uA\x1b[J", live.rows);
	live.rows = 0;
}

static void draw_row(const char *line)
{
	shell_print(live.sh, "%s\x1b[K\n", line);
	live.rows++;
}

static void draw(void)
{
	char line[SCREEN_COLUMNS];
	struct screen_progress p;
	struct trial trial;
	struct rfc2544_bounds bounds;
	uint32_t number;
	unsigned shown = live.streams < SCREEN_STREAMS ? live.streams : SCREEN_STREAMS;
	if (live.rows && live.logs == live.sh->logs)
		shell_print(live.sh, "\x1b[%uA", live.rows);
	live.rows = 0;
	live.logs = live.sh->logs;
	if (trials_now(&number, &trial, &bounds)) {
		screen_trial(line, number, &trial, &bounds);
		draw_row(line);
	}
	live_progress(&p);
	screen_head(line, &p);
	draw_row(line);
	if (shown) {
		screen_titles(line);
		draw_row(line);
	}
	for (unsigned i = 0; i < shown; i++) {
		screen_row(line, &live.row[i]);
		draw_row(line);
	}
	if (shown < live.streams) {
		screen_more(line, live.streams - shown);
		draw_row(line);
	}
	if (live.streams > 1) {
		screen_row(line, &live.all);
		draw_row(line);
	}
	/* the present run may have fewer streams than the one before it had */
	shell_print(live.sh, "\x1b[J");
}

static void tell_line(void)
{
	char line[SCREEN_LINE];
	struct screen_progress p;
	live_progress(&p);
	screen_line(line, &p, &live.all);
	shell_print(live.sh, "%s\n", line);
}

static void tell(void)
{
	if (!live.sh)
		return;
	if (!in_lines())
		draw();
	else if (!generator.testing && conduct_state() == CONDUCT_RUN)
		tell_line();
}

void live_write(void *sh, const char *text, size_t len)
{
	shell_write(sh, text, len);
}

void live_report(struct shell *sh)
{
	static struct judge_result judged;
	static struct pace_result paced;
	struct report run = {0};
	struct report_stream stream;
	struct report_probe probe;
	results_run(&run);
	report_text_verdict(&run, live_write, sh);
	for (unsigned i = 0; i < run.streams; i++) {
		results_stream(i, &stream, &judged, &paced);
		report_text_stream(&stream, live_write, sh);
	}
	if (results_probe(&probe))
		report_text_probe(&probe, live_write, sh);
}

void live_say(const char *format, ...)
{
	char line[200];
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(line, sizeof line, format, args);
	__builtin_va_end(args);
	if (!live.sh) {
		console_log("%s", line);
		return;
	}
	erase();
	shell_print(live.sh, "%s\n", line);
}

/* Returns the prompt to the console. */
static void let_go(void)
{
	struct shell *sh = live.sh;
	erase();
	live.sh = NULL;
	shell_done(sh);
}

/* A remote console that disconnects is cancelled by a Ctrl-C too, and is not valid after that. The
 * machine's own console stays, and shows the results of the run. */
static void cancel(struct shell *sh)
{
	live.stop();
	live.rows = 0; /* the rows stay, because "^C" was written below them */
	if (sh != &serial_console)
		let_go();
}

void live_watch(struct shell *sh, void (*stop)(void))
{
	live.sh = sh;
	live.stop = stop;
	live.rows = 0;
	live.due_tsc = clock_tsc() + clock_ticks(&self.clock, LIVE_NS);
	shell_set_busy(sh, cancel);
}

bool live_is_watched(void)
{
	return live.sh != NULL;
}

/* --- the turn --- */

static uint64_t end_of_run(void)
{
	if (live.sh && !generator.testing) {
		erase();
		live_report(live.sh);
	}
	if (live.sh)
		let_go();
	return UINT64_MAX;
}

uint64_t live_turn(void)
{
	if (generator.runs == 0)
		return UINT64_MAX;
	if (!live.taking && !generator_busy() && live.is_last)
		return end_of_run();
	if (!live.taking && generator_busy() && clock_tsc() < live.due_tsc)
		return live.due_tsc;
	if (!live.taking)
		begin();
	if (live.next < live.streams && conduct_order() && conduct_order()->number == live.order) {
		take(live.next++);
		return self.now_tsc;
	}
	add_up();
	live.taking = false;
	live.due_tsc = clock_tsc() + clock_ticks(&self.clock, LIVE_NS);
	if (!live.is_last)
		tell();
	return self.now_tsc;
}
