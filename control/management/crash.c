/*
 * `show crash` and the page /crash: the failure reports that the kernel keeps. First the report of the failure that
 * ended the last boot (kernel/keep.h), then those of the programs that have failed since (kernel/crash.h). On a
 * machine with a disk the reports are kept for the next boot, and shown until a program fails again.
 */
#include "control/management/crash.h"
#include "control/console/shell.h"
#include "dataplane/state.h"
#include "control/management/page.h"
#include "control/storage/storage.h"
#include "lib/fmt.h"
#include "lib/number.h"
#include "lib/rfc3339.h"
#include "runtime/walltime.h"

#define PIECE_MAX (PAGE_ITEM_MAX - 1) /* bytes of reports at a time, without the NUL */
_Static_assert(PIECE_MAX >= CORE_CRASH_PIECE, "there is room for a piece of a report");
_Static_assert(PIECE_MAX <= SHELL_STREAM_PIECE, "a session has room for it");

/* A reader's position; all zero at the start. */
struct crash_at {
	uint32_t before; /* 1 + bytes of the last boot's report printed; 0: nothing */
	bool before_done;
	bool begun;
	uint64_t number; /* of the report in progress, or of the last one printed */
	uint32_t stored; /* bytes printed of the reports of an earlier boot */
	bool no_store;   /* the reports of this boot alone */
	struct core_crash_walk walk;
};
_Static_assert(sizeof(struct crash_at) <= SHELL_STREAM_BYTES, "shell_stream keeps it");
_Static_assert(sizeof(struct crash_at) <= sizeof((struct page_walk *)0)->cursor.own, "the page does");

/* The next piece of the last boot's report, or the line before or after the report. 0: no more. */
static size_t before_piece(struct crash_at *at, char *text)
{
	static const char first[] = "the last boot ended in a failure; its report:\n",
	                  last[] = "end of the last boot's report\n";
	const struct boot_before *b = &self.info->before;
	if (b->bytes == 0 || at->before_done)
		return 0;
	if (at->before == 0) {
		at->before = 1;
		memcpy(text, first, sizeof first - 1);
		return sizeof first - 1;
	}
	const uint32_t reported = at->before - 1, left = (uint32_t)b->bytes - reported;
	const uint32_t n = u32_min(left, PIECE_MAX);
	if (n == 0) {
		at->before_done = true;
		memcpy(text, last, sizeof last - 1);
		return sizeof last - 1;
	}
	memcpy(text, b->text + reported, n);
	at->before += n;
	return n;
}

/* "crash 1: core 2, 12.345 s after boot, 2026-11-29T21:44:05.123Z": the line above a report. The time of day, if it is
 * known, is that of the clock as it is set now. */
static size_t head_line(const struct crash *c, char *text, size_t size)
{
	const uint64_t ms = clock_ns(&self.clock, c->tsc - self.info->tsc_boot) / 1000000;
	const uint64_t utc_ns = walltime_at(clock_ns(&self.clock, c->tsc));
	char utc[RFC3339_MAX];
	return fmt_format(text, size, "crash %llu: core %u, %llu.%03llu s after boot%s%s\n",
	                  (unsigned long long)c->number, c->core, (unsigned long long)(ms / 1000),
	                  (unsigned long long)(ms % 1000), utc_ns ? ", " : "",
	                  utc_ns ? rfc3339_put(utc, utc_ns, 3) : "");
}

static size_t pieces(const struct crash *c, struct core_crash_walk *walk, char *text)
{
	size_t n = 0, piece;
	while (n + CORE_CRASH_PIECE <= PIECE_MAX &&
	       (piece = core_crash_read(c, walk, COREDUMP_PKTS, text + n)) > 0)
		n += piece;
	return n;
}

#define STORED "crash/last"
#define STORED_MOST (128u << 10)
#define STORED_SHARE 8 /* of the store's room, at most */

/* The next piece of what the last boot has left in the store; 0: no more. */
static size_t stored_piece(struct crash_at *at, char *text)
{
	static const char first[] = "reports of an earlier boot:\n";
	const uint8_t *data;
	size_t n;
	if (at->no_store || storage_get(STORED, &data, &n) != E_OK || at->stored >= n + 1)
		return 0;
	if (at->stored == 0) {
		at->stored = 1;
		memcpy(text, first, sizeof first - 1);
		return sizeof first - 1;
	}
	const uint32_t left = (uint32_t)n + 1 - at->stored, part = u32_min(left, PIECE_MAX);
	memcpy(text, data + at->stored - 1, part);
	at->stored += part;
	return part;
}

/* The next piece of the reports, at most PIECE_MAX bytes. 0: no more. E_NOENT: a later report has
 * replaced the one in progress; the next call begins another report. */
static int next_piece(struct crash_at *at, char *text)
{
	static struct crash c; /* copied again for every piece */
	size_t before = before_piece(at, text);
	if (before > 0)
		return (int)before;
	for (;;) {
		bool there = core_crash_next(at->begun ? at->number - 1 : at->number, &c);
		if (at->begun && (!there || c.number != at->number)) {
			at->begun = false;
			return E_NOENT;
		}
		if (!there) /* the store has a copy of this boot's reports, if there are any */
			return at->number || at->before ? 0 : (int)stored_piece(at, text);
		if (!at->begun) {
			at->number = c.number;
			at->walk = (struct core_crash_walk){0};
			at->begun = true;
			return (int)head_line(&c, text, PIECE_MAX);
		}
		size_t n = pieces(&c, &at->walk, text);
		at->begun = n > 0;
		if (n > 0)
			return (int)n;
	}
}

/* The number of the newest report. */
static uint64_t newest(void)
{
	uint64_t most = 0;
	for (unsigned i = 0; i < CRASHES_MAX; i++)
		most = u64_max(most, __atomic_load_n(&self.info->crash[i].number, __ATOMIC_RELAXED));
	return most;
}

/* All reports as text; a later report may replace one meanwhile, whose rest is then missing. */
static size_t write_all(char *to, size_t room)
{
	struct crash_at at = {.no_store = true};
	size_t n = 0;
	for (int piece = 1; piece && n + PIECE_MAX <= room; n += piece > 0 ? (size_t)piece : 0)
		piece = next_piece(&at, to + n);
	return n;
}

uint64_t crash_timer(void)
{
	static uint64_t kept;
	static bool before;
	const uint64_t number = newest();
	struct storage_status s;
	size_t room;
	if (!storage_present() || (kept == number && (before || self.info->before.bytes == 0)))
		return UINT64_MAX;
	kept = number;
	before = true;
	storage_status(&s);
	char *at = (char *)storage_behind(&room);
	const size_t n = write_all(at, u64_min(u64_min(room, s.most / STORED_SHARE), STORED_MOST));
	if (n)
		(void)storage_put(STORED, at, n, NULL, NULL);
	return UINT64_MAX; /* a failure wakes this core */
}

static bool more_crash(struct shell *sh, void *own)
{
	char text[PIECE_MAX];
	struct crash_at *at = own;
	int n = next_piece(at, text);
	if (n > 0)
		shell_write(sh, text, (size_t)n);
	else if (n < 0)
		shell_print(sh, "%% a later report has replaced this one\n");
	else if (at->number == 0 && at->stored == 0)
		shell_print(sh, "no program has failed since boot\n");
	return n != 0;
}

void show_crash(struct shell *sh)
{
	shell_stream(sh, more_crash);
}

static bool part_crash(struct page_walk *w, struct page_text *t)
{
	char text[PIECE_MAX];
	struct crash_at *at = (void *)w->cursor.own;
	int n = next_piece(at, text);
	if (n > 0)
		fmt_put_bytes(&t->out, text, (size_t)n);
	else if (n < 0)
		t->broken = true;
	else if (at->number == 0 && at->stored == 0)
		page_print(t, "no program has failed since boot\n");
	return n > 0;
}

const page_part page_crash[] = {part_crash, NULL};
