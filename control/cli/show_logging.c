/* `show logging`: the messages that the event log keeps (control/console/log.h), the newest last. */
#include "control/cli/show_logging.h"

#include "control/console/log.h"
#include "control/console/shell.h"
#include "control/management/logging.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "lib/rfc3339.h"

#define LINE_MAX (LOG_TEXT + LOG_FACILITY + 48)
#define PIECE_LINES 2
_Static_assert(PIECE_LINES * (LINE_MAX + 1) <= SHELL_STREAM_PIECE, "a session has room for them");

typedef unsigned long long ull;

struct stream {
	uint64_t at;    /* number of the next message */
	uint64_t end;   /* behind the last one */
	uint64_t level; /* messages of this level and more urgent ones */
};
_Static_assert(sizeof(struct stream) <= SHELL_STREAM_BYTES, "shell_stream keeps it");

/* "%LINK-5-UPDOWN": the facility with the level in it; without a mnemonic "%ARP-4". */
static void put_tag(struct fmt_buf *b, const struct log_record *r)
{
	const char *dash = r->facility;
	while (*dash && *dash != '-')
		dash++;
	fmt_put(b, "%%%.*s-%u%s", (int)(dash - r->facility), r->facility, (unsigned)r->level, dash);
}

static void show_record(struct shell *sh, const struct log_record *r)
{
	char line[LINE_MAX], time[RFC3339_MAX];
	struct fmt_buf b = {line, sizeof line, 0, false};
	const uint64_t us = r->since_boot_ns / 1000;
	if (r->utc_ns)
		fmt_put(&b, "%s ", rfc3339_put(time, r->utc_ns, 6));
	else
		fmt_put(&b, "%6llu.%06llu ", (ull)(us / 1000000), (ull)(us % 1000000));
	put_tag(&b, r);
	fmt_put(&b, ": %s", r->text);
	shell_print(sh, "%s\n", line);
}

static const struct log_record *next(struct stream *s)
{
	const struct log_record *r;
	while ((r = log_next(&s->at)) && r->number < s->end)
		if ((uint64_t)r->level <= s->level)
			return r;
	return NULL;
}

static bool more(struct shell *sh, void *own)
{
	const struct log_record *r = NULL;
	for (unsigned n = 0; n < PIECE_LINES && (r = next(own)); n++)
		show_record(sh, r);
	return r != NULL;
}

/* Moves the beginning to the last n messages of the level. */
static void keep_last(struct stream *s, uint64_t n)
{
	struct stream all = *s;
	uint64_t count = 0;
	while (next(&all))
		count++;
	for (; count > n; count--)
		(void)next(s);
}

/* The arguments; false: they are wrong. */
static bool read_arguments(struct shell *sh, struct stream *s, uint32_t *last)
{
	unsigned i = 0;
	if (i < sh->argc && log_level_of(sh->argv[i]) != LOG_LEVELS)
		s->level = log_level_of(sh->argv[i++]);
	if (i < sh->argc && strcmp(sh->argv[i], "last") == 0 && i + 1 < sh->argc &&
	    text_parse_u32(text_of(sh->argv[i + 1]), 1, LOG_RECORDS, last) == E_OK)
		i += 2;
	return i == sh->argc;
}

static void show_level(struct shell *sh, const char *what, int level)
{
	shell_print(sh, "%s: %s\n", what, level == LOG_NONE ? "off" : log_level_word((enum log_level)level));
}

static void show_head(struct shell *sh)
{
	char addr[FMT_ADDR_MAX];
	struct logging_stats h;
	const struct log_levels *l = log_levels();
	const struct log_stats *c = log_stats();
	uint64_t messages = 0;
	for (unsigned i = 0; i < LOG_LEVELS; i++)
		messages += c->messages[i];
	show_level(sh, "logging console", l->console);
	show_level(sh, "logging buffered", l->buffered);
	for (unsigned i = 0; logging_stats(i, &h); i++)
		shell_print(sh, "logging host: %s port %u, sent %llu, lost %llu\n", fmt_addr(addr, h.addr.w), h.port, (ull)h.sent,
		            (ull)h.lost);
	shell_print(sh, "messages: %llu, repeated: %llu, suppressed: %llu\n\n", (ull)messages, (ull)c->repeated,
	            (ull)c->suppressed);
}

void show_logging(struct shell *sh)
{
	const int buffered = log_levels()->buffered;
	struct stream s = {log_first_shown(), log_head(), (uint64_t)(buffered == LOG_NONE ? 0 : buffered)};
	uint32_t last = 0;
	if (!read_arguments(sh, &s, &last)) {
		shell_print(sh, "%% show logging [LEVEL] [last N]: a level is a number from 0 to 7, or a word such as "
		                "warnings; N is 1 to %u\n", LOG_RECORDS);
		return;
	}
	if (sh->argc == 0)
		show_head(sh);
	if (buffered == LOG_NONE)
		return;
	if (last)
		keep_last(&s, last);
	shell_stream_from(sh, more, &s, sizeof s);
}

void clear_logging(struct shell *sh)
{
	(void)sh;
	log_clear();
}
