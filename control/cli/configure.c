/* See configure.h. */
#include "control/config/running.h"
#include "control/cli/configure.h"

#include "control/commit/commit.h"
#include "control/config/config_parse.h"
#include "control/cli/commands.h"
#include "control/cli/roles.h"
#include "control/cli/storage_commands.h"
#include "control/commit/record.h"
#include "control/storage/storage.h"
#include "control/config/config.h"
#include "control/console/log.h"
#include "control/console/shell.h"
#include "control/management/remote.h"
#include "control/management/users.h"
#include "lib/fmt.h"
#include "lib/mem.h"

#define CONFIRM_DEFAULT_MIN 10
#define CONFIRM_MAX_MIN 1440
#define ROLLBACK_MOST 99
#define ROWS_MAX 512
#define NO_WORDS_MAX 40 /* bytes of "no " and a statement's words */
#define ARGS_MAX 160    /* bytes of what follows them in its syntax */

/* --- the candidate --- */

/* The candidate. NULL: there is none, and the reason was printed. */
static struct candidate *candidate_of(struct shell *sh)
{
	const char *why;
	struct candidate *c = commit_candidate(&why);
	if (!c)
		shell_print(sh, "%% %s\n", why);
	return c;
}

/* Prints in place of a line with a secret, for a user who may not see that. False: the line has none. */
static bool print_hidden(struct shell *sh, const char *sign, struct text line)
{
	struct text public;
	if (remote_role(sh) >= ROLE_CONFIGURE || !config_hides(line, &public))
		return false;
	shell_print(sh, "%s! %.*s: not shown\n", sign, (int)public.len, public.at);
	return true;
}

void configure_print(void *ctx, const char *text, size_t len)
{
	char shown[80];
	if (print_hidden(ctx, "", (struct text){text, len}))
		return;
	/* A script may contain bytes that a terminal must not get. */
	for (size_t n; len > 0; text += n, len -= n) {
		n = len < sizeof shown ? len : sizeof shown;
		for (size_t i = 0; i < n; i++)
			shown[i] = text_is_printable(text[i]) || text[i] == '\n' ? text[i] : ' ';
		shell_write(ctx, shown, n);
	}
}

static void print_line(void *ctx, char sign, struct text line)
{
	const char prefix[2] = {sign, 0};
	if (!print_hidden(ctx, prefix, line))
		shell_print(ctx, "%c%.*s\n", sign, (int)line.len, line.at);
}

/* Of print_restarting. */
struct restarts {
	struct shell *shell;
	char block[CANDIDATE_LINE_MAX]; /* the open block's line, until it has been printed */
};

static void print_restarting(void *ctx, char sign, struct text line)
{
	struct restarts *r = ctx;
	if (sign == ' ') {
		fmt_format(r->block, sizeof r->block, "%.*s", (int)line.len, line.at);
	} else if (commit_line_restarts(sign, line)) {
		if (r->block[0] && line.at[0] == ' ')
			shell_print(r->shell, " %s\n", r->block);
		r->block[0] = 0;
		print_line(r->shell, sign, line);
	}
}

/* --- show configuration, show | compare --- */

struct candidate_stream {
	const struct candidate *c; /* NULL: not begun */
	uint32_t number, changes;  /* running.number and c->changes at the start */
	struct candidate_walk at;
};
_Static_assert(sizeof(struct candidate_stream) <= SHELL_STREAM_BYTES, "shell_stream keeps it");
_Static_assert(2 + CANDIDATE_LINE_MAX <= SHELL_STREAM_PIECE, "a session has room for it");

/* True if the output can continue; otherwise prints why not. */
static bool goes_on(struct shell *sh, struct candidate_stream *s)
{
	if (!s->c) {
		s->c = candidate_of(sh);
		if (!s->c)
			return false;
		s->number = running.number;
		s->changes = s->c->changes;
	}
	if (s->number == running.number && s->changes == s->c->changes)
		return true;
	shell_print(sh, "%% the candidate has changed meanwhile\n");
	return false;
}

static bool more_candidate(struct shell *sh, void *at)
{
	struct candidate_stream *s = at;
	return goes_on(sh, s) && candidate_print_next(s->c, &s->at, configure_print, sh);
}

static bool more_differences(struct shell *sh, void *at)
{
	struct candidate_stream *s = at;
	return goes_on(sh, s) && candidate_compare_next(s->c, &s->at, print_line, sh);
}

void show_candidate(struct shell *sh)
{
	shell_stream(sh, more_candidate);
}

void show_compare(struct shell *sh)
{
	shell_stream(sh, more_differences);
}

/* --- errors and history --- */

void show_history(struct shell *sh)
{
	const struct history_version *v;
	shell_print(sh, "%-8s %10s %s\n", "rollback", "age_s", "replaced by");
	for (unsigned n = 1; (v = commit_version(n)) != NULL; n++)
		shell_print(sh, "%-8u %10llu %s%s%s\n", n,
		            (unsigned long long)((core_now_ns() - v->until_ns) / SECOND_NS), v->by,
		            v->comment[0] ? ": " : "", v->comment);
}

/* Prints `REASON, at "WORD"`, and the line of the error unless it is the typed one. */
static void say_error(struct shell *sh, const struct candidate *c, const struct text_error *e,
                      struct text typed)
{
	shell_print(sh, "%% %s%s%s%s\n", e->reason, e->word[0] ? ", at \"" : "", e->word,
	            e->word[0] ? "\"" : "");
	if (c->fault[0] && !(typed.len == strlen(c->fault) &&
	                     memcmp(typed.at, c->fault, typed.len) == 0))
		shell_print(sh, "  line %u: %s\n", e->line, c->fault);
}

/* --- statements --- */

static void set_place(struct shell *sh, const char *block)
{
	const struct statement *s = config_statement_of(text_of(block));
	const bool list = s && (s->how & STATEMENT_LIST);
	fmt_format(sh->place, sizeof sh->place, "%s", block);
	shell_set_mode(sh, list ? "(config-acl)" : block[0] ? "(config-if)" : "(config)");
}

/* Opens or ends a block after a line was entered. */
static void follow(struct shell *sh, struct text line)
{
	char block[CANDIDATE_LINE_MAX];
	fmt_format(block, sizeof block, "%s", sh->place);
	candidate_follow(line, block);
	set_place(sh, block);
}

/* Enters a statement, with "no" or without: the words of its row, with the typed number in place of
 * '#', and the arguments as typed. */
static void enter(struct shell *sh)
{
	struct candidate *c = candidate_of(sh);
	const struct text more = shell_arguments(sh);
	struct text_error err;
	char line[CANDIDATE_LINE_MAX];
	if (!c)
		return;
	const char *words = shell_running(sh)->words;
	const struct text number = shell_number(sh);
	const size_t before = text_find(text_of(words), '#');
	const bool numbered = words[before] == '#';
	fmt_format(line, sizeof line, "%.*s%.*s%s%s%.*s", (int)before, words,
	           numbered ? (int)number.len : 0, numbered ? number.at : "",
	           words + before + numbered, more.len ? " " : "", (int)more.len, more.at);
	if (candidate_enter(c, text_of(sh->place), text_of(line), &err) != E_OK) {
		say_error(sh, c, &err, text_of(line));
		return;
	}
	follow(sh, text_of(line));
}

/* --- commands of the mode --- */

static void resequence(struct shell *sh)
{
	struct candidate *c = candidate_of(sh);
	struct text_error err;
	uint32_t start = CONFIG_ACL_SEQUENCE_STEP, step = CONFIG_ACL_SEQUENCE_STEP;
	if (!c)
		return;
	if ((sh->argc > 1 && text_parse_u32(text_of(sh->argv[1]), 1, CONFIG_ACL_SEQUENCE_MAX, &start) != E_OK) ||
	    (sh->argc > 2 && text_parse_u32(text_of(sh->argv[2]), 1, CONFIG_ACL_SEQUENCE_MAX, &step) != E_OK))
		shell_print(sh, "%% the first number and the step are numbers from 1 to %u\n",
		            CONFIG_ACL_SEQUENCE_MAX);
	else if (candidate_resequence(c, text_of(sh->argv[0]), start, step, &err) != E_OK)
		say_error(sh, c, &err, text_of(sh->argv[0]));
}

_Static_assert(USERS_WHO_SIZE <= HISTORY_BY_SIZE, "who() fits");

/* The user of this shell and the peer's address, or the serial console. */
static const char *who(const struct shell *sh, char buf[HISTORY_BY_SIZE])
{
	struct net_addr peer;
	if (remote_peer(sh, &peer))
		return users_who(buf, remote_user(sh), &peer);
	return "the console";
}

static enum commit_effect check(struct shell *sh, struct candidate *c)
{
	struct text_error err;
	struct restarts r = {.shell = sh};
	enum commit_effect effect = commit_check(&err);
	if (effect == COMMIT_REFUSED) {
		say_error(sh, c, &err, text_of(""));
	} else if (effect == COMMIT_RESTART) {
		shell_print(sh, "the ports restart for this, and forward nothing for some milliseconds:\n");
		candidate_compare(c, print_restarting, &r);
	}
	return effect;
}

/* Commits. confirm_ns: time in which the commit must be confirmed; 0: none is needed. COMMIT_REFUSED: nothing was
 * done. */
static enum commit_effect commit_now(struct shell *sh, struct candidate *c, uint64_t confirm_ns)
{
	char by[HISTORY_BY_SIZE];
	const bool unconfirmed = commit_unconfirmed_s() > 0;
	enum commit_effect effect = check(sh, c);
	if (effect == COMMIT_NOTHING && unconfirmed && !confirm_ns) {
		commit_confirm(who(sh, by));
		shell_print(sh, "confirmed\n");
	} else if (effect == COMMIT_NOTHING) {
		shell_print(sh, "nothing has changed\n");
	} else if (effect == COMMIT_REFUSED) {
		shell_print(sh, "nothing is committed\n");
	} else if (confirm_ns && unconfirmed) {
		effect = COMMIT_REFUSED;
		shell_print(sh, "%% the last commit waits to be confirmed: do that first, by commit\n");
	} else if (!commit_apply(effect, who(sh, by), confirm_ns)) {
		effect = COMMIT_REFUSED;
		shell_print(sh, "%% too much has changed to be rolled back; nothing is committed\n");
	} else {
		shell_print(sh, "committed%s\n", effect == COMMIT_RESTART ? ", the ports restart" : "");
		if (confirm_ns)
			shell_print(sh, "it is rolled back in %llu s unless commit confirms it\n",
			            (unsigned long long)(confirm_ns / SECOND_NS));
	}
	return effect;
}

/* Commits, and writes the startup configuration once it is in force. */
static void commit_startup(struct shell *sh)
{
	struct candidate *c = candidate_of(sh);
	const uint32_t number = running.number;
	if (!c)
		return;
	if (!storage_present()) {
		shell_print(sh, "%% there is no store: show storage\n");
		return;
	}
	const enum commit_effect effect = commit_now(sh, c, 0);
	if (effect == COMMIT_RESTART)
		write_after_commit(sh, number);
	else if (effect != COMMIT_REFUSED)
		write_memory(sh);
}

static void commit_command(struct shell *sh)
{
	struct candidate *c = candidate_of(sh);
	if (c)
		(void)commit_now(sh, c, 0);
}

static void commit_with_comment(struct shell *sh)
{
	char comment[HISTORY_COMMENT_SIZE];
	const struct text typed = shell_arguments(sh);
	fmt_format(comment, sizeof comment, "%.*s", (int)typed.len, typed.at);
	commit_comment(comment);
	commit_command(sh);
	commit_comment(""); /* of no later commit, if this one was refused */
}

static void commit_check_command(struct shell *sh)
{
	struct candidate *c = candidate_of(sh);
	if (!c)
		return;
	enum commit_effect effect = check(sh, c);
	if (effect != COMMIT_REFUSED)
		shell_print(sh, "%s\n", effect == COMMIT_NOTHING ? "nothing has changed"
		                                                : "it may be committed");
}

/* "MINUTES" or "SECONDSs". */
static void commit_confirmed(struct shell *sh)
{
	struct candidate *c = candidate_of(sh);
	uint32_t n = CONFIRM_DEFAULT_MIN;
	struct text time = text_of(sh->argc == 1 ? sh->argv[0] : "");
	const bool seconds = time.len > 0 && time.at[time.len - 1] == 's';
	time.len -= seconds;
	if (sh->argc == 1 && text_parse_u32(time, 1, seconds ? 60 * CONFIRM_MAX_MIN : CONFIRM_MAX_MIN,
	                                &n) != E_OK)
		shell_print(sh, "%% the time is a number of minutes, 1 to %d, or of seconds, such as 30s\n",
		            CONFIRM_MAX_MIN);
	else if (c)
		(void)commit_now(sh, c, n * (seconds ? 1 : 60) * SECOND_NS);
}

static void say_rollback(struct shell *sh, uint32_t n, int error)
{
	if (error == E_NOENT)
		shell_print(sh, "%% there is no configuration %u commits ago\n", n);
	else if (error != E_OK)
		shell_print(sh, "%% the changes since %u commits ago are more than a candidate holds\n", n);
}

/* One from before the start of this program, on the disk. */
static void restore_record(struct shell *sh, uint32_t n)
{
	struct text_error err;
	struct record r;
	if (!commit_record_find(n, &r))
		say_rollback(sh, n, E_NOENT);
	else if (r.config.len == 0)
		shell_print(sh, "%% the configuration of commit %u was too long to be recorded\n", r.number);
	else if (commit_restore(r.config, &err) != E_OK)
		shell_print(sh, "%% the configuration of commit %u: %s\n", r.number, err.reason);
}

static void rollback(struct shell *sh)
{
	uint32_t n = 1;
	if (sh->argc == 1 && text_parse_u32(text_of(sh->argv[0]), 0, ROLLBACK_MOST, &n) != E_OK)
		shell_print(sh, "%% a number from 0, the running configuration, to %d\n", ROLLBACK_MOST);
	else if (candidate_of(sh) && (n == 0 || commit_version(n)))
		say_rollback(sh, n, commit_rollback(n));
	else if (candidate_of(sh))
		restore_record(sh, n);
}

static void discard(struct shell *sh)
{
	if (candidate_of(sh))
		commit_rollback(0);
}

/* Leaves the configuration mode. */
static void leave(struct shell *sh)
{
	const char *why;
	const struct candidate *c = commit_candidate(&why);
	sh->place[0] = 0;
	shell_set_mode(sh, "");
	commands_set(sh);
	if (c && candidate_changed(c))
		shell_print(sh, "the candidate has changes that are not committed; they stay in it\n");
}

static void end(struct shell *sh)
{
	leave(sh);
}

static void exit_command(struct shell *sh)
{
	if (sh->place[0])
		set_place(sh, "");
	else
		leave(sh);
}

static void session_ends(struct shell *sh, const char *by)
{
	const char *why;
	const struct candidate *c = sh->mode[0] ? commit_candidate(&why) : NULL;
	if (c && candidate_changed(c))
		log_event(LOG_NOTICE, "CONFIG",
		          "configuration: %s left changes in the candidate that are not committed", by);
	sh->mode[0] = sh->place[0] = 0;
}

/* --- the table of the mode --- */

static const struct shell_command own[] = {
	{"show", NULL, "the candidate configuration", show_candidate},
	{"show |", NULL, "part of it", NULL},
	{"show | compare", NULL, "what differs from the configuration that runs", show_compare},
	{"commit", NULL, "puts the candidate into force, or confirms the last commit",
	 commit_command},
	{"commit comment", "TEXT...", "commits, with a comment for the history", commit_with_comment},
	{"commit startup", NULL, "commits, and makes it the startup configuration", commit_startup},
	{"commit check", NULL, "checks the candidate and shows what a commit would restart",
	 commit_check_command},
	{"commit confirmed", "[MINUTES | SECONDSs]",
	 "commits, and rolls back unless a commit confirms it in time", commit_confirmed},
	{"rollback", "[N]", "makes the candidate the configuration N commits ago", rollback},
	{"resequence", "NAME [START [STEP]]", "renumbers the rules of an access list", resequence},
	{"discard", NULL, "makes the candidate the configuration that runs", discard},
	{"exit", NULL, "leaves the block, or the mode", exit_command},
	{"end", NULL, "leaves the mode", end},
	{"no", NULL, "removes all statements that begin with these words", NULL},
};

/* Rules of an access list with a number. Rules without one are ordinary statements. */
#define RULE_ARGS "~PROTO SOURCE [PORTS] DESTINATION [...]"
static const struct shell_command numbered[] = {
	{"#", NULL, "a rule with this number, in an access list", NULL},
	{"# permit", RULE_ARGS, "sets the rule with this number", enter},
	{"# deny", RULE_ARGS, "sets the rule with this number", enter},
	{"no #", NULL, "removes the rule with this number", enter},
	{"no # permit", RULE_ARGS, "removes the rule with this number", enter},
	{"no # deny", RULE_ARGS, "removes the rule with this number", enter},
};

struct table {
	struct shell_command row[ROWS_MAX];
	unsigned rows, fixed; /* the first `fixed` rows do not depend on the application */
	char no[CONFIG_STATEMENTS_MAX][NO_WORDS_MAX];
	char args[CONFIG_STATEMENTS_MAX][ARGS_MAX];
};

static struct table *table; /* NULL: the mode has not been entered yet */

static void add_row(struct table *t, struct shell_command row)
{
	assert(t->rows < ROWS_MAX);
	t->row[t->rows++] = row;
}

static void add_statements(struct table *t)
{
	unsigned count;
	const struct statement *s = config_statements(&count);
	for (unsigned i = 0; i < count; i++) {
		if (s[i].how & STATEMENT_NOT_TYPED)
			continue;
		const size_t own_words = strlen(s[i].words);
		const bool more = strlen(s[i].syntax) > own_words;
		fmt_format(t->args[i], sizeof t->args[i], "~%s", more ? s[i].syntax + own_words + 1 : "");
		add_row(t, (struct shell_command){s[i].words, more ? t->args[i] : NULL, s[i].syntax,
		                                  enter});
		if (memcmp(s[i].words, "no ", 3) == 0)
			continue;
		fmt_format(t->no[i], sizeof t->no[i], "no %s", s[i].words);
		add_row(t, (struct shell_command){t->no[i], "~[...]", s[i].syntax, enter});
	}
}

/* Allocates the table and fills in the rows that do not change. */
static bool take_table(void)
{
	if (table)
		return true;
	table = core_private_alloc(sizeof *table);
	if (!table)
		return false;
	for (unsigned i = 0; i < ARRAY_LEN(own); i++)
		add_row(table, own[i]);
	for (unsigned i = 0; i < ARRAY_LEN(numbered); i++)
		add_row(table, numbered[i]);
	add_statements(table);
	table->fixed = table->rows;
	return true;
}

/* The mode's own commands, the statements, and the other commands, unless the mode has one with the
 * same words. */
static const struct shell_command *commands_of_mode(unsigned *count)
{
	unsigned all;
	const struct shell_command *others = commands_all(&all);
	table->rows = table->fixed;
	for (unsigned i = 0; i < all; i++) {
		unsigned k = 0;
		while (k < ARRAY_LEN(own) && strcmp(own[k].words, others[i].words) != 0)
			k++;
		if (k == ARRAY_LEN(own))
			add_row(table, others[i]);
	}
	*count = table->rows;
	return table->row;
}

void commands_set(struct shell *sh)
{
	unsigned count;
	const struct shell_command *rows = sh->mode[0] ? commands_of_mode(&count)
	                                               : commands_all(&count);
	shell_set_commands(sh, rows, count);
}

void configure(struct shell *sh)
{
	const struct candidate *c = candidate_of(sh);
	if (sh->argc == 1 && !text_begins_word(text_of(sh->argv[0]), text_of("terminal"))) {
		shell_print(sh, "%% unknown word \"%s\"\n", sh->argv[0]);
		return;
	}
	if (!c)
		return;
	if (!take_table()) {
		shell_print(sh, "%% there is not enough memory to change the configuration\n");
		return;
	}
	set_place(sh, "");
	commands_set(sh);
	if (candidate_changed(c))
		shell_print(sh, "the candidate has changes that are not committed: show | compare\n");
	if (commit_unconfirmed_s())
		shell_print(sh, "the last commit is rolled back in %llu s unless commit confirms it\n",
		            (unsigned long long)commit_unconfirmed_s());
}

bool configure_is_own(const struct shell_command *c)
{
	return table && c >= table->row && c < table->row + table->fixed;
}

static void session_opens(struct shell *sh)
{
	shell_set_guard(sh, roles_allow);
	commands_set(sh);
}

const struct remote_console configure_console = {.open = session_opens, .close = session_ends};
