/*
 * Reports by HTTP and on the console, captures by HTTP, and the generator's rows of /metrics.
 *
 * report.h writes a whole report at once, but a reader takes it in pieces. So a report is written
 * again for each window of WINDOW_BYTES, and only the window that begins at the reader's place is
 * kept. A report of a usual test is one or two windows long. If a newer report replaces the one
 * that is being read, the reader's copy is cut off and the reader must ask again.
 */
#include "tools/pktgen/pages.h"
#include "control/console/serial.h"
#include "dataplane/state.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "tools/pktgen/capture_export.h"
#include "tools/pktgen/conduct.h"
#include "tools/pktgen/live.h"
#include "tools/pktgen/report/report_out.h"
#include "tools/pktgen/results.h"
#include "tools/pktgen/runs.h"
#include "tools/pktgen/state.h"
#include "tools/pktgen/trials.h"

typedef unsigned long long ull;

#define WINDOW_BYTES (128u * 1024)
#define PIECE 1024 /* of a page's item */
_Static_assert(PIECE <= PAGE_ITEM_MAX, "an item has to fit");

static struct {
	char *text;
	bool told; /* the lack of memory has been logged */
	enum report_form form;
	uint32_t number; /* of the results; 0: the window is empty */
	uint64_t from, to; /* bytes of the report that the window holds */
} window;

/* A report_write that keeps the bytes of the window. ctx: place of `text` in the report. */
static void keep(void *ctx, const char *text, size_t len)
{
	uint64_t *at = ctx, start = *at;
	uint64_t begin = start, end = start + len, last = window.from + WINDOW_BYTES;
	*at = end;
	if (begin < window.from)
		begin = window.from;
	if (end > last)
		end = last;
	if (begin >= end)
		return;
	memcpy(window.text + (begin - window.from), text + (begin - start), end - begin);
	window.to = end;
}

size_t report_piece(enum report_form form, uint32_t number, uint64_t at, const char **text)
{
	static void (*const writers[])(const struct report *, report_write *, void *) = {
		[REPORT_TEXT] = report_text, [REPORT_JSON] = report_json,
		[REPORT_HTML] = report_html,
	};
	if (!window.text)
		window.text = core_private_alloc(WINDOW_BYTES);
	if (!window.text && !window.told)
		console_log("there is not enough memory to write reports");
	window.told = !window.text;
	if (!window.text || !results() || number != results_number())
		return 0;
	if (window.number != number || window.form != form || at < window.from || at >= window.to) {
		uint64_t written = 0;
		window.number = number;
		window.form = form;
		window.from = window.to = at;
		writers[form](results(), keep, &written);
	}
	*text = window.text + (at - window.from);
	return (size_t)(window.to - at);
}

/* --- pages: the cursor is the number of the report or the capture, and the place in it --- */

#define PLACE_BITS 40

static uint32_t number_at(const struct page_walk *w)
{
	return (uint32_t)(w->cursor.n >> PLACE_BITS);
}

static uint64_t place_at(const struct page_walk *w)
{
	return w->cursor.n & ((1ull << PLACE_BITS) - 1);
}

/* Writes as much of the n bytes as there is room for, as one item, and advances the cursor. */
static bool put_piece(struct page_walk *w, struct page_text *t, const char *text, size_t n)
{
	const size_t room = t->out.size - t->out.used - 1;
	n = n < PIECE ? n : PIECE;
	n = n < room ? n : room;
	fmt_put_bytes(&t->out, text, n);
	t->out.full = n == 0;
	w->cursor.n += n;
	return true;
}

static bool part(enum report_form form, struct page_walk *w, struct page_text *t)
{
	const char *text;
	if (w->item == 0)
		w->cursor.n = (uint64_t)results_number() << PLACE_BITS;
	size_t n = report_piece(form, number_at(w), place_at(w), &text);
	if (n)
		return put_piece(w, t, text, n);
	t->broken = w->item && number_at(w) != results_number();
	if (w->item == 0)
		page_print(t, "there is no report\n");
	return false;
}

static bool part_capture(struct page_walk *w, struct page_text *t)
{
	const char *text;
	if (w->item == 0 && capture_export_missing()) {
		page_print(t, "there is no capture: %s\n", capture_export_missing());
		return false;
	}
	if (w->item == 0)
		w->cursor.n = (uint64_t)capture_export_number() << PLACE_BITS;
	size_t n = 0;
	enum capture_export_have have = capture_export_piece(number_at(w), place_at(w), &text, &n);
	t->later = have == CAPTURE_EXPORT_LATER;
	t->broken = have == CAPTURE_EXPORT_GONE;
	return t->later || (have == CAPTURE_EXPORT_PIECE && put_piece(w, t, text, n));
}

static bool part_text(struct page_walk *w, struct page_text *t)
{
	return part(REPORT_TEXT, w, t);
}

static bool part_json(struct page_walk *w, struct page_text *t)
{
	return part(REPORT_JSON, w, t);
}

static bool part_html(struct page_walk *w, struct page_text *t)
{
	return part(REPORT_HTML, w, t);
}

/* --- /api/v1/run.json: progress of the present run --- */

static void json_latency(struct page_text *t, const struct histogram_summary *s)
{
	char mean[REPORT_NUMBER];
	page_print(t, ",\"latency\":{\"count\":%llu,\"min_ns\":%llu,\"mean_ns\":%s,\"p50_ns\":%llu,"
	           "\"p90_ns\":%llu,\"p99_ns\":%llu,\"p99_9_ns\":%llu,\"p99_99_ns\":%llu,"
	           "\"max_ns\":%llu}", (ull)s->count, (ull)s->min,
	           report_fixed(mean, s->mean_ps, 3), (ull)s->p[P50], (ull)s->p[P90],
	           (ull)s->p[P99], (ull)s->p[P99_9], (ull)s->p[P99_99], (ull)s->max);
}

static void json_row(struct page_text *t, const struct screen_row *row)
{
	page_print(t, "{\"name\":\"%s\",\"sent\":%llu,\"sent_bytes\":%llu,\"tx_fps\":%llu,"
	           "\"tx_l1_bps\":%llu,\"stamped\":%s", row->name, (ull)row->sent, (ull)row->bytes,
	           (ull)row->tx_fps, (ull)row->tx_bps, row->stamped ? "true" : "false");
	if (row->stamped) {
		page_print(t, ",\"received\":%llu,\"received_bytes\":%llu,\"rx_fps\":%llu,"
		           "\"rx_l1_bps\":%llu,\"missing\":%llu,\"reordered\":%llu,"
		           "\"duplicates\":%llu,\"corrupted\":%llu", (ull)row->received,
		           (ull)row->received_bytes, (ull)row->rx_fps, (ull)row->rx_bps,
		           (ull)row->missing, (ull)row->reordered, (ull)row->duplicates,
		           (ull)row->corrupted);
		json_latency(t, &row->latency);
	}
	page_print(t, "}");
}

static void json_bound(struct page_text *t, const char *name, bool known, uint64_t value,
                       bool frames)
{
	char text[REPORT_NUMBER] = "null";
	if (known)
		report_fixed(text, value, frames ? 0 : 3);
	page_print(t, ",\"%s\":%s", name, text);
}

static void json_trial(struct page_text *t)
{
	struct rfc2544_bounds bounds;
	struct trial trial;
	uint32_t number;
	page_print(t, ",\"trial\":");
	if (!trials_now(&number, &trial, &bounds)) {
		page_print(t, "null");
		return;
	}
	bool frames = trial.frames > 0;
	page_print(t, "{\"trial\":%u,\"test\":\"%s\",\"size\":%u,\"attempt\":%u,\"repeat\":%u",
	           number, report_test(trial.test), trial.size + PLAN_FCS_BYTES, trial.attempt,
	           trial.repeat);
	json_bound(t, "rate_percent", true, trial.rate, false);
	json_bound(t, "frames", frames, trial.frames, true);
	json_bound(t, "passes", bounds.has_low, bounds.low, frames);
	json_bound(t, "fails", bounds.has_high, bounds.high, frames);
	page_print(t, "}");
}

static void json_head(struct page_text *t)
{
	struct screen_progress p;
	live_progress(&p);
	page_print(t, "{\"run\":%llu,\"busy\":%s,\"state\":\"%s\",\"elapsed_ns\":%llu",
	           (ull)generator.runs, generator_busy() ? "true" : "false", p.state,
	           (ull)p.elapsed_ns);
	json_bound(t, "progress", p.permille != SCREEN_UNKNOWN, p.permille, false);
	json_trial(t);
	page_print(t, ",\"error\":");
	page_json(t, conduct_state() == CONDUCT_FAILED ? conduct_error() : "");
	page_print(t, ",\"streams\":[");
}

static bool part_run(struct page_walk *w, struct page_text *t)
{
	unsigned streams;
	const struct screen_row *row = live_streams(&streams);
	if (w->item == 0) {
		json_head(t);
		return true;
	}
	if (w->item > streams) {
		page_print(t, "],\n\"all\":");
		json_row(t, live_all());
		page_print(t, "}\n");
		return false;
	}
	page_print(t, "%s\n", w->item > 1 ? "," : "");
	json_row(t, &row[w->item - 1]);
	return true;
}

static unsigned status(void)
{
	return results() ? 200 : 404;
}

static unsigned status_capture(void)
{
	return capture_export_missing() ? 404 : 200;
}

#define NO_STORE "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
/* The page contains its script, its style and its data (CSP 3). */
#define HTML_FIELDS NO_STORE "Referrer-Policy: no-referrer\r\nContent-Security-Policy: " \
	"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " \
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"

#define CAPTURE_NS (3600 * SECOND_NS) /* enough for gigabytes on a slow path */
#define CAPTURE_FIELDS NO_STORE "Content-Disposition: attachment; filename=capture.pcapng\r\n"

static const page_part parts_capture[] = {part_capture, NULL};
static const page_part parts_text[] = {part_text, NULL}, parts_json[] = {part_json, NULL},
                       parts_html[] = {part_html, NULL}, parts_run[] = {part_run, NULL};

const struct page pktgen_pages[PKTGEN_PAGES] = {
	{.path = "/report", .type = "text/html; charset=utf-8", .fields = HTML_FIELDS,
	 .parts = parts_html, .status = status},
	{.path = "/report.json", .type = "application/json", .fields = NO_STORE,
	 .parts = parts_json, .status = status},
	{.path = "/report.txt", .type = "text/plain; charset=utf-8", .fields = NO_STORE,
	 .parts = parts_text, .status = status},
	{.path = "/api/v1/run.json", .type = "application/json", .fields = NO_STORE,
	 .parts = parts_run},
	{.path = "/capture.pcapng", .type = "application/octet-stream", .fields = CAPTURE_FIELDS,
	 .parts = parts_capture, .status = status_capture, .answer_ns = CAPTURE_NS},
};

/* --- /metrics: the present run or trial --- */

enum row { ROW_SENT, ROW_RECEIVED, ROW_LOST, ROW_REORDERED, ROW_DUPLICATES, ROW_CORRUPTED, ROWS };

static const struct {
	const char *name, *type, *help;
} rows[ROWS] = {
	[ROW_SENT] = {"sent_packets_total", "counter", "Frames of the stream sent in this run"},
	[ROW_RECEIVED] = {"received_packets_total", "counter",
	                  "Frames of the stream received, without duplicates"},
	[ROW_LOST] = {"lost_packets", "gauge", "Frames sent and not received, or still in flight"},
	[ROW_REORDERED] = {"reordered_packets_total", "counter",
	                   "Received frames that a later one overtook"},
	[ROW_DUPLICATES] = {"duplicate_packets_total", "counter", "Copies of received frames"},
	[ROW_CORRUPTED] = {"corrupted_packets_total", "counter", "Frames with a wrong checksum"},
};

static uint64_t value(enum row row, unsigned stream)
{
	static struct judge_result judged;
	struct run_sent sent;
	conduct_sent(stream, &sent);
	if (row == ROW_SENT)
		return sent.frames;
	conduct_judged(stream, &judged);
	switch (row) {
	case ROW_RECEIVED:
		return judged.received;
	case ROW_LOST:
		return judge_lost(sent.frames, &judged);
	case ROW_REORDERED:
		return judged.reordered;
	case ROW_DUPLICATES:
		return judged.duplicates;
	default:
		return judged.corrupted;
	}
}

bool pktgen_metrics(struct page_walk *w, struct page_text *t)
{
	const struct run_order *o = conduct_order();
	const unsigned streams = o ? o->plan.streams : 0;
	const unsigned row = w->item / (1 + streams), i = w->item % (1 + streams);
	if (row >= ROWS)
		return false;
	if (i == 0)
		page_print(t, "# HELP hayate_pktgen_%s %s\n# TYPE hayate_pktgen_%s %s\n",
		           rows[row].name, rows[row].help, rows[row].name, rows[row].type);
	else if (row == ROW_SENT || o->plan.stream[i - 1].stamped)
		page_print(t, "hayate_pktgen_%s{stream=\"%s\"} %llu\n", rows[row].name,
		           o->plan.stream[i - 1].name, (ull)value(row, i - 1));
	return true;
}
