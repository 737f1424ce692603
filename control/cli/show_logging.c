/* `show logging`: the messages that the event log keeps (control/console/log.h), the newest last. */
#include "control/cli/show_logging.h"

#include "control/console/log.h"
#include "control/console/shell.h"
#include "control/management/log_store.h"
#include "control/management/logging.h"
#include "control/storage/storage.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

#define PIECE_LINES 2
_Static_assert(PIECE_LINES * (LOG_LINE + 1) <= SHELL_STREAM_PIECE, "a session has room for them");

typedef unsigned long long ull;

struct stream {
	uint64_t at;    /* number of the next message */
	uint64_t end;   /* behind the last one */
	uint64_t level; /* messages of this level and more urgent ones */
};
_Static_assert(sizeof(struct stream) <= SHELL_STREAM_BYTES, "shell_stream keeps it");

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
	char line[LOG_LINE];
	const struct log_record *r = NULL;
	for (unsigned n = 0; n < PIECE_LINES && (r = next(own)); n++)
		shell_print(sh, "%s\n", log_record_line(line, r));
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

static void show_host(struct shell *sh, const struct logging_stats *h)
{
	char addr[FMT_ADDR_MAX];
	const bool known = !net_addr_is_any(&h->addr);
	fmt_addr(addr, h->addr.w);
	shell_print(sh, "logging host: %s%s%s%s port %u, sent %llu, lost %llu\n", h->name[0] ? h->name : addr,
	            h->name[0] && known ? " (" : "", h->name[0] && known ? addr : "", h->name[0] && known ? ")" : "",
	            h->port, (ull)h->sent, (ull)h->lost);
	if (h->tls)
		shell_print(sh, "  %s, connections %llu, failures %llu\n",
		            h->version ? h->version : "TLS: not connected",
		            (ull)h->connected, (ull)h->failed);
	if (h->why)
		shell_print(sh, "  last failure: %s\n", h->why);
}

static void show_head(struct shell *sh)
{
	struct logging_stats h;
	const struct log_levels *l = log_levels();
	const struct log_stats *c = log_stats();
	uint64_t messages = 0;
	for (unsigned i = 0; i < LOG_LEVELS; i++)
		messages += c->messages[i];
	show_level(sh, "logging console", l->console);
	show_level(sh, "logging buffered", l->buffered);
	for (unsigned i = 0; logging_stats(i, &h); i++)
		show_host(sh, &h);
	shell_print(sh, "messages: %llu, repeated: %llu, suppressed: %llu\n\n", (ull)messages, (ull)c->repeated,
	            (ull)c->suppressed);
}

struct stored_stream {
	uint64_t at; /* bytes that have been shown */
};

/* A piece of the text on the disk. A write between two pieces may move it, so that lines are missing or come twice. */
static bool more_stored(struct shell *sh, void *own)
{
	struct stored_stream *s = own;
	const uint8_t *text;
	size_t bytes;
	if (storage_get(LOG_STORE_NAME, &text, &bytes) != E_OK || s->at >= bytes)
		return false;
	const size_t n = u64_min(bytes - s->at, SHELL_STREAM_PIECE / 2);
	shell_write(sh, (const char *)text + s->at, n);
	s->at += n;
	return s->at < bytes;
}

static void show_stored(struct shell *sh)
{
	if (!storage_present())
		shell_print(sh, "nothing is stored: there is no disk with a partition of Hayate's\n");
	else
		shell_stream(sh, more_stored);
}

void show_logging(struct shell *sh)
{
	const int buffered = log_levels()->buffered;
	struct stream s = {log_first_shown(), log_head(), (uint64_t)(buffered == LOG_NONE ? 0 : buffered)};
	uint32_t last = 0;
	if (sh->argc == 1 && strcmp(sh->argv[0], "stored") == 0) {
		show_stored(sh);
		return;
	}
	if (!read_arguments(sh, &s, &last)) {
		shell_print(sh, "%% show logging [LEVEL] [last N], or show logging stored: a level is a number from "
		                "0 to 7, or a word such as warnings; N is 1 to %u\n", LOG_RECORDS);
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
