/* See log.h. */
#include "control/console/log.h"

#include "control/console/serial.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "lib/rfc3339.h"
#include "lib/siphash.h"
#include "runtime/runtime.h"
#include "runtime/walltime.h"

#define FACILITIES 32 /* with a limit of their own; the others share one */
#define TOKEN_NS (SECOND_NS / LOG_PER_S)

/* A place of the ring. The seal is a hash of all that follows: a program that failed has not written it by chance. */
struct place {
	uint64_t seal;
	struct log_record record; /* number 0: none */
};

/* What outlives the control program. */
struct ring {
	uint64_t cleared, cleared_again; /* log_clear(); valid if they are equal */
	struct place place[LOG_RECORDS];
};

static const struct siphash_key seal_key = {0x6879617465206c6f, 0x67206d6573736167};

/* Of a facility. */
struct budget {
	const char *facility;
	uint64_t tokens, since_ns; /* tokens as of that time */
	uint64_t suppressed;
};

static struct {
	struct ring *ring; /* NULL: no memory, or not yet looked for */
	bool looked;
	uint64_t next; /* number */
	struct log_levels levels;
	struct log_stats stats;
	struct budget budget[FACILITIES + 1];
	unsigned budgets;
	uint64_t repeats;         /* of the newest message, not yet told */
	uint64_t repeats_since_ns;
} kept_log = {.next = 1, .levels = {LOG_DEBUG, LOG_DEBUG, LOG_NONE}};

/* --- the ring --- */

static uint64_t seal_of(const struct place *p) { return siphash24(&seal_key, &p->record, sizeof p->record) | 1; }

static struct place *place_of(uint64_t number) { return &kept_log.ring->place[number % LOG_RECORDS]; }

/* A message of the previous program is kept if it is whole. */
static bool is_sound(const struct place *p, unsigned i)
{
	const struct log_record *r = &p->record;
	return p->seal == seal_of(p) && r->number && r->number % LOG_RECORDS == i && r->level < LOG_LEVELS &&
	       !r->facility[LOG_FACILITY - 1] && !r->text[LOG_TEXT - 1];
}

static void take_over(void)
{
	for (unsigned i = 0; i < LOG_RECORDS; i++) {
		struct place *p = &kept_log.ring->place[i];
		if (is_sound(p, i))
			kept_log.next = u64_max(kept_log.next, p->record.number + 1);
		else
			*p = (struct place){.seal = 0};
	}
	for (unsigned i = 0; i < LOG_RECORDS; i++) /* a damaged number cannot be far from the others */
		if (kept_log.ring->place[i].record.number + LOG_RECORDS < kept_log.next)
			kept_log.ring->place[i].record.number = 0;
}

/* Finds the ring of the previous program, or takes memory for one. */
static bool is_open(void)
{
	size_t bytes;
	if (kept_log.looked)
		return kept_log.ring != NULL;
	kept_log.looked = true;
	kept_log.ring = core_persist_find(CORE_PERSIST_LOG, &bytes);
	if (kept_log.ring && bytes >= sizeof *kept_log.ring)
		take_over();
	else
		kept_log.ring = core_persist_alloc(CORE_PERSIST_LOG, sizeof *kept_log.ring);
	return kept_log.ring != NULL;
}

void log_open(void)
{
	kept_log.looked = kept_log.ring != NULL;
	if (!is_open())
		console_log("not enough memory for the event log: there is none");
}

static void put(enum log_level level, const char *facility, const char *text)
{
	kept_log.stats.messages[level]++;
	if (!is_open())
		return;
	struct place *p = place_of(kept_log.next);
	p->seal = 0;
	__asm__ volatile("" ::: "memory"); /* a program that fails from here on leaves no seal */
	p->record = (struct log_record){.number = kept_log.next, .level = level, .utc_ns = walltime_ns(),
	                                .since_boot_ns = clock_ns(&self.clock, clock_tsc() - self.info->tsc_boot)};
	fmt_format(p->record.facility, LOG_FACILITY, "%s", facility);
	fmt_format(p->record.text, LOG_TEXT, "%s", text);
	__asm__ volatile("" ::: "memory");
	p->seal = seal_of(p);
	kept_log.next++;
}

uint64_t log_head(void)
{
	(void)is_open();
	return kept_log.next;
}

const struct log_record *log_next(uint64_t *at)
{
	if (!is_open())
		return NULL;
	if (*at + LOG_RECORDS < kept_log.next)
		*at = kept_log.next - LOG_RECORDS;
	for (; *at < kept_log.next; ++*at) {
		const struct log_record *r = &place_of(*at)->record;
		if (r->number && r->number == *at) {
			++*at;
			return r;
		}
	}
	return NULL;
}

void log_clear(void)
{
	if (!is_open())
		return;
	kept_log.ring->cleared = kept_log.next;
	kept_log.ring->cleared_again = kept_log.next;
}

uint64_t log_first_shown(void)
{
	const bool valid = is_open() && kept_log.ring->cleared == kept_log.ring->cleared_again &&
	                   kept_log.ring->cleared <= kept_log.next;
	return valid ? kept_log.ring->cleared : 0;
}

/* --- limits --- */

static struct budget *budget_of(const char *facility)
{
	for (unsigned i = 0; i < kept_log.budgets; i++)
		if (strcmp(kept_log.budget[i].facility, facility) == 0)
			return &kept_log.budget[i];
	struct budget *b = &kept_log.budget[kept_log.budgets];
	if (!b->facility)
		*b = (struct budget){facility, LOG_BURST, core_now_ns(), 0};
	if (kept_log.budgets < FACILITIES)
		kept_log.budgets++;
	return b;
}

static void refill(struct budget *b)
{
	const uint64_t more = (core_now_ns() - b->since_ns) / TOKEN_NS;
	b->tokens = u64_min(b->tokens + more, LOG_BURST);
	b->since_ns += more * TOKEN_NS;
}

static bool may_send(struct budget *b)
{
	refill(b);
	if (b->tokens == 0) {
		b->suppressed++;
		kept_log.stats.suppressed++;
		return false;
	}
	b->tokens--;
	return true;
}

/* The newest message; NULL: there is none. */
static const struct log_record *newest(void)
{
	const struct log_record *r = is_open() && kept_log.next > 1 ? &place_of(kept_log.next - 1)->record : NULL;
	return r && r->number == kept_log.next - 1 ? r : NULL;
}

static void tell_repeats(void)
{
	char text[64];
	const struct log_record *r = newest();
	const uint64_t n = kept_log.repeats;
	kept_log.repeats = 0;
	if (!n || !r)
		return;
	const enum log_level level = r->level;
	char facility[LOG_FACILITY];
	memcpy(facility, r->facility, sizeof facility);
	fmt_format(text, sizeof text, "last message repeated %llu time%s", (unsigned long long)n, n == 1 ? "" : "s");
	put(level, facility, text);
}

static void tell_suppressed(struct budget *b)
{
	char text[96];
	fmt_format(text, sizeof text, "%llu messages of %s were too many, and are lost",
	           (unsigned long long)b->suppressed,
	           b == &kept_log.budget[FACILITIES] ? "several facilities" : b->facility);
	b->suppressed = 0;
	tell_repeats();
	put(LOG_WARNING, "LOGGING-LOST", text);
	if (kept_log.levels.console >= (int)LOG_WARNING)
		console_log("%s", text);
}

/* Does the newest message say the same? */
static bool repeats(enum log_level level, const char *facility, const char *text)
{
	const struct log_record *r = newest();
	if (!r || r->level != level || strcmp(r->facility, facility) != 0 || strcmp(r->text, text) != 0)
		return false;
	if (kept_log.repeats++ == 0)
		kept_log.repeats_since_ns = core_now_ns();
	kept_log.stats.repeated++;
	return true;
}

/* --- messages --- */

static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			*text = '?';
}

/* Records a message. True: the console is to print it. */
static bool take(enum log_level level, const char *facility, char *text)
{
	const int others = kept_log.levels.others, buffered = kept_log.levels.buffered;
	const int wanted = others > buffered ? others : buffered;
	struct budget *b = budget_of(facility);
	if ((int)level > wanted && (int)level > kept_log.levels.console)
		return false;
	if (!may_send(b))
		return false;
	if (b->suppressed)
		tell_suppressed(b);
	make_printable(text);
	if ((int)level <= wanted && !repeats(level, facility, text)) {
		tell_repeats();
		put(level, facility, text);
	}
	return (int)level <= kept_log.levels.console;
}

void log_event(enum log_level level, const char *facility, const char *format, ...)
{
	char text[LOG_TEXT];
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(text, sizeof text, format, args);
	__builtin_va_end(args);
	if (take(level, facility, text))
		console_log("%s", text);
}

bool log_runtime(enum log_level level, const char *line)
{
	char text[LOG_TEXT];
	fmt_format(text, sizeof text, "%s", line);
	return take(level < LOG_LEVELS ? level : LOG_NOTICE, "SYSTEM", text);
}

uint64_t log_timer(void)
{
	uint64_t due = UINT64_MAX;
	const uint64_t now = core_now_ns();
	if (kept_log.repeats && now >= kept_log.repeats_since_ns + LOG_REPEAT_NS)
		tell_repeats();
	if (kept_log.repeats)
		due = kept_log.repeats_since_ns + LOG_REPEAT_NS;
	for (unsigned i = 0; i <= FACILITIES; i++) {
		struct budget *b = &kept_log.budget[i];
		if (!b->suppressed)
			continue;
		refill(b);
		if (b->tokens >= LOG_BURST / 2)
			tell_suppressed(b);
		else
			due = u64_min(due, now + (LOG_BURST / 2 - b->tokens) * TOKEN_NS);
	}
	return due;
}

/* --- text --- */

static void put_tag(struct fmt_buf *b, const struct log_record *r)
{
	const char *dash = r->facility;
	while (*dash && *dash != '-')
		dash++;
	fmt_put(b, "%%%.*s-%u%s", (int)(dash - r->facility), r->facility, (unsigned)r->level, dash);
}

char *log_record_line(char buf[LOG_LINE], const struct log_record *r)
{
	char time[RFC3339_MAX];
	struct fmt_buf b = {buf, LOG_LINE, 0, false};
	const unsigned long long us = r->since_boot_ns / 1000;
	if (r->utc_ns)
		fmt_put(&b, "%s ", rfc3339_put(time, r->utc_ns, 6));
	else
		fmt_put(&b, "%6llu.%06llu ", us / 1000000, us % 1000000);
	put_tag(&b, r);
	fmt_put(&b, ": %s", r->text);
	return buf;
}

/* --- levels --- */

void log_set_levels(const struct log_levels *levels) { kept_log.levels = *levels; }

const struct log_levels *log_levels(void) { return &kept_log.levels; }

const struct log_stats *log_stats(void) { return &kept_log.stats; }
