/*
 * The console shell: keys, the row on the terminal, history, running commands; see shell.h.
 *
 * States of escape sequences (ECMA-48). Any control character ends a sequence and is then processed
 * itself:
 *     NONE    ESC → START
 *     START   '[' → CSI   'O' → SS3   ] P X ^ _ → STRING   0x20-0x2f → START   other → NONE
 *     CSI     digits and other parameters → CSI   second '[' (Linux F keys) → ONE   final → NONE
 *     SS3     any → NONE (arrows, Home, End)
 *     STRING  BEL → NONE, ESC → START (its '\' is then swallowed)
 */
#include "control/console/shell.h"

#include "control/console/shell_words.h"
#include "lib/assert.h"
#include "lib/fmt.h"

#define CTRL(letter) ((letter) & 0x1f)
#define BEL '\a'
#define ESC '\x1b'
#define DEL '\x7f'

/* ---- output ---- */

static void flush(struct shell *sh)
{
	if (sh->out_len > 0)
		sh->write(sh, sh->out, sh->out_len);
	sh->out_len = 0;
}

static void put(struct shell *sh, char c)
{
	if (sh->out_len == sizeof sh->out)
		flush(sh);
	sh->out[sh->out_len++] = c;
}

static void put_repeated(struct shell *sh, char c, unsigned n)
{
	for (; n > 0; n--)
		put(sh, c);
}

static void put_text(struct shell *sh, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			put(sh, '\r');
		put(sh, text[i]);
	}
}

void shell_write(struct shell *sh, const char *text, size_t len)
{
	put_text(sh, text, len);
	flush(sh);
}

void shell_print(struct shell *sh, const char *format, ...)
{
	char text[1024];
	__builtin_va_list args;
	__builtin_va_start(args, format);
	size_t n = fmt_vformat(text, sizeof text, format, args);
	__builtin_va_end(args);
	shell_write(sh, text, n < sizeof text ? n : sizeof text - 1);
}

/* ---- the row ---- */

static unsigned prompt_len(const struct shell *sh)
{
	return (unsigned)(strlen(sh->hostname) + strlen(sh->mode)) + 2;
}

/* Characters of the line that fit on the row; the last column stays free for the cursor. */
static unsigned row_room(const struct shell *sh)
{
	return SHELL_COLUMNS - 1 - prompt_len(sh);
}

/* Moves the terminal's cursor within `shown`: left by \b, right by printing characters again. */
static void move_to(struct shell *sh, unsigned to)
{
	if (to < sh->shown_cursor)
		put_repeated(sh, '\b', sh->shown_cursor - to);
	else
		put_text(sh, sh->shown + sh->shown_cursor, to - sh->shown_cursor);
	sh->shown_cursor = to;
}

/* Updates the row to line and cursor, with the shortest plain output. */
static void refresh(struct shell *sh)
{
	unsigned room = row_room(sh);
	if (sh->quiet)
		return;
	if (sh->len <= room)
		sh->scroll = 0;
	else if (sh->cursor < sh->scroll || sh->cursor > sh->scroll + room)
		sh->scroll = sh->cursor > room / 2 ? sh->cursor - room / 2 : 0;
	const char *want = sh->line + sh->scroll;
	unsigned want_len = sh->len - sh->scroll < room ? sh->len - sh->scroll : room;
	unsigned same = 0;
	while (same < want_len && same < sh->shown_len && want[same] == sh->shown[same])
		same++;
	unsigned old_len = sh->shown_len;
	if (same < want_len || same < old_len) {
		move_to(sh, same);
		memcpy(sh->shown, want, want_len);
		sh->shown_len = want_len;
		move_to(sh, want_len);
		if (old_len > want_len) {
			put_repeated(sh, ' ', old_len - want_len);
			put_repeated(sh, '\b', old_len - want_len);
		}
	}
	move_to(sh, sh->cursor - sh->scroll);
}

static void show_prompt(struct shell *sh)
{
	sh->shown_len = sh->shown_cursor = 0;
	sh->prompting = true;
	if (sh->quiet)
		return;
	put_text(sh, sh->hostname, strlen(sh->hostname));
	put_text(sh, sh->mode, strlen(sh->mode));
	put_text(sh, "# ", 2);
	refresh(sh);
}

static void new_line(struct shell *sh)
{
	sh->len = sh->cursor = sh->scroll = 0;
	sh->line[0] = 0;
	sh->history_at = sh->history_count;
	show_prompt(sh);
}

/* Ends the row, which keeps the typed line; the next output starts below it. */
static void leave_row(struct shell *sh)
{
	sh->prompting = false;
	if (sh->quiet)
		return;
	move_to(sh, sh->shown_len);
	put_text(sh, "\n", 1);
}

static void erase_row(struct shell *sh)
{
	if (sh->quiet)
		return;
	put(sh, '\r');
	put_repeated(sh, ' ', prompt_len(sh) + sh->shown_len);
	put(sh, '\r');
}

void shell_log(struct shell *sh, const char *text)
{
	size_t n = strlen(text);
	bool prompting = sh->prompting;
	sh->logs++;
	if (prompting)
		erase_row(sh);
	put_text(sh, text, n);
	if (n == 0 || text[n - 1] != '\n')
		put_text(sh, "\n", 1);
	if (prompting)
		show_prompt(sh);
	flush(sh);
}

/* ---- editing ---- */

static void bell(struct shell *sh)
{
	if (!sh->quiet)
		put(sh, BEL);
}

static void set_line(struct shell *sh, const char *text)
{
	sh->len = (unsigned)strlen(text);
	assert(sh->len <= SHELL_LINE_MAX);
	memcpy(sh->line, text, sh->len + 1);
	sh->cursor = sh->len;
}

/* Inserts text at the cursor; rings the bell and inserts nothing if it does not fit. */
static void insert(struct shell *sh, const char *text, size_t n)
{
	if (n > SHELL_LINE_MAX - sh->len) {
		bell(sh);
		return;
	}
	memmove(sh->line + sh->cursor + n, sh->line + sh->cursor, sh->len - sh->cursor + 1);
	memcpy(sh->line + sh->cursor, text, n);
	sh->len += (unsigned)n;
	sh->cursor += (unsigned)n;
}

/* Removes the bytes from `from` up to `to` from the line and leaves the cursor at `from`. */
static void cut(struct shell *sh, unsigned from, unsigned to)
{
	memmove(sh->line + from, sh->line + to, sh->len - to + 1);
	sh->len -= to - from;
	sh->cursor = from;
}

static void cut_word(struct shell *sh)
{
	unsigned from = sh->cursor;
	while (from > 0 && sh->line[from - 1] == ' ')
		from--;
	while (from > 0 && sh->line[from - 1] != ' ')
		from--;
	cut(sh, from, sh->cursor);
}

static char *history_entry(struct shell *sh, unsigned i)
{
	return sh->history[(sh->history_first + i) % SHELL_HISTORY];
}

static void history_add(struct shell *sh)
{
	unsigned n = sh->history_count;
	if (n > 0 && strcmp(history_entry(sh, n - 1), sh->line) == 0)
		return;
	if (n == SHELL_HISTORY)
		sh->history_first = (sh->history_first + 1) % SHELL_HISTORY;
	else
		n = ++sh->history_count;
	memcpy(history_entry(sh, n - 1), sh->line, sh->len + 1);
}

/* Shows entry `at` of the history. Saves the line being typed as the last entry. */
static void history_show(struct shell *sh, unsigned at)
{
	if (at > sh->history_count) { /* including UINT_MAX, one before the oldest */
		bell(sh);
		return;
	}
	if (sh->history_at == sh->history_count)
		memcpy(sh->typed, sh->line, sh->len + 1);
	sh->history_at = at;
	set_line(sh, at == sh->history_count ? sh->typed : history_entry(sh, at));
}

static struct text before_cursor(const struct shell *sh)
{
	return (struct text){sh->line, sh->cursor};
}

/* Prints a list below the row, then the prompt and the line again. */
static void show_list(struct shell *sh)
{
	leave_row(sh);
	shell_list_next(sh, before_cursor(sh));
	show_prompt(sh);
}

static void complete(struct shell *sh)
{
	struct text add;
	bool whole;
	unsigned fits = shell_complete(sh, before_cursor(sh), &add, &whole);
	if (fits > 1 && add.len == 0) {
		show_list(sh);
		return;
	}
	if (fits == 0) {
		bell(sh);
		return;
	}
	char text[SHELL_LINE_MAX + 1];
	size_t n = add.len < SHELL_LINE_MAX ? add.len : SHELL_LINE_MAX;
	memcpy(text, add.at, n);
	if (whole && (sh->cursor == sh->len || sh->line[sh->cursor] != ' '))
		text[n++] = ' ';
	insert(sh, text, n);
}

/* ---- running ---- */

/* Prints a mark below a word of the line, which is on the row above. */
static void mark(struct shell *sh, struct text word)
{
	unsigned offset = (unsigned)(word.at - sh->line);
	if (sh->quiet || offset < sh->scroll || offset >= sh->scroll + sh->shown_len)
		return;
	put_repeated(sh, ' ', prompt_len(sh) + offset - sh->scroll);
	put_text(sh, "^\n", 2);
}

static void run_command(struct shell *sh, const struct shell_match *m, const struct text *words,
                        unsigned n)
{
	const struct shell_command *c = m->command;
	char copy[SHELL_LINE_MAX + 1];
	char *argv[SHELL_WORDS_MAX + 1];
	memcpy(copy, sh->line, sh->len + 1);
	for (unsigned i = 0; i < n; i++) {
		argv[i] = copy + (words[i].at - sh->line);
		argv[i][words[i].len] = 0;
	}
	argv[n] = NULL;
	const char *end = sh->line + sh->len;
	sh->arguments = n > 0 ? (struct text){words[0].at, (size_t)(end - words[0].at)}
	                      : (struct text){end, 0};
	sh->running = c;
	sh->number = m->number;
	sh->in_command = true;
	sh->argc = n;
	sh->argv = argv;
	c->run(sh);
	sh->in_command = false;
}

static void run_line(struct shell *sh)
{
	struct text words[SHELL_WORDS_MAX];
	struct shell_match m;
	unsigned n = shell_split((struct text){sh->line, sh->len}, words);
	if (n == 0 || words[0].at[0] == '!' || words[0].at[0] == '#')
		return;
	history_add(sh);
	if (n > SHELL_WORDS_MAX) {
		shell_print(sh, "%% too many words; at most %d\n", SHELL_WORDS_MAX);
		return;
	}
	enum shell_result r = shell_resolve(sh, words, n, &m);
	struct text bad = words[m.bad];
	switch (r) {
	case SHELL_FOUND:
		if (!sh->may || sh->may(sh, m.command))
			run_command(sh, &m, words + m.depth, n - m.depth);
		break;
	case SHELL_INCOMPLETE:
		shell_print(sh, "%% incomplete command; type ? after it to see what may follow\n");
		break;
	case SHELL_UNKNOWN:
		mark(sh, bad);
		shell_print(sh, "%% unknown word \"%.*s\"\n", (int)bad.len, bad.at);
		break;
	case SHELL_AMBIGUOUS:
		mark(sh, bad);
		shell_print(sh, "%% ambiguous word \"%.*s\"; it may be\n", (int)bad.len, bad.at);
		shell_list_keywords(sh, &m, bad);
		break;
	}
}

static void end_line(struct shell *sh)
{
	leave_row(sh);
	flush(sh);
	run_line(sh);
	if (!sh->busy && !sh->take)
		new_line(sh);
}

static void erase_line(struct shell *sh)
{
	memset(sh->line, 0, sizeof sh->line);
	sh->len = sh->cursor = 0;
	sh->too_long = false;
}

/* Ends the taking of lines. */
static void stop_taking(struct shell *sh)
{
	sh->take = NULL;
	erase_line(sh);
	if (!sh->busy)
		new_line(sh);
}

/* A key of a line that a command takes. */
static void take_key(struct shell *sh, char c, bool after_cr)
{
	if (c == CTRL('C')) {
		void (*cancel)(struct shell *) = sh->cancel;
		sh->cancel = NULL;
		shell_write(sh, "^C\n", 3);
		cancel(sh);
		stop_taking(sh);
	} else if ((c == '\r' || c == '\n') && !(c == '\n' && after_cr)) {
		sh->in_command = true;
		const bool more = sh->take(sh, sh->too_long ? NULL : sh->line, sh->len);
		sh->in_command = false;
		erase_line(sh);
		if (!more)
			stop_taking(sh);
	} else if ((c == DEL || c == CTRL('H')) && sh->len) {
		sh->line[--sh->len] = 0;
	} else if (text_is_printable(c)) {
		sh->too_long |= sh->len == SHELL_LINE_MAX;
		if (!sh->too_long)
			sh->line[sh->len++] = c;
	}
}

static void interrupt(struct shell *sh)
{
	if (sh->busy) {
		void (*cancel)(struct shell *) = sh->cancel;
		sh->cancel = NULL;
		if (cancel == NULL)
			return;
		shell_write(sh, "^C\n", 3);
		cancel(sh);
		return;
	}
	move_to(sh, sh->shown_len);
	put_text(sh, "^C\n", 3);
	new_line(sh);
}

void shell_set_busy(struct shell *sh, void (*cancel)(struct shell *sh))
{
	assert(sh->in_command);
	sh->busy = true;
	sh->cancel = cancel;
}

void shell_take_lines(struct shell *sh, bool (*take)(struct shell *sh, const char *line, size_t n),
                      void (*cancel)(struct shell *sh))
{
	assert(sh->in_command && !sh->busy);
	sh->take = take;
	sh->cancel = cancel;
	erase_line(sh);
}

static void stop_stream(struct shell *sh)
{
	sh->more = NULL;
	shell_done(sh);
}

void shell_stream_from(struct shell *sh, bool (*more)(struct shell *sh, void *at), const void *at, size_t bytes)
{
	assert(bytes <= sizeof sh->more_at);
	memset(sh->more_at, 0, sizeof sh->more_at);
	memcpy(sh->more_at, at, bytes);
	if (sh->streams) {
		sh->more = more;
		shell_set_busy(sh, stop_stream);
		return;
	}
	while (more(sh, sh->more_at))
		;
}

void shell_stream(struct shell *sh, bool (*more)(struct shell *sh, void *at))
{
	shell_stream_from(sh, more, "", 0);
}

void shell_set_quiet(struct shell *sh)
{
	sh->quiet = true;
}

void shell_set_streams(struct shell *sh)
{
	sh->streams = true;
}

void shell_more(struct shell *sh)
{
	if (!sh->more(sh, sh->more_at))
		stop_stream(sh);
	flush(sh);
}

void shell_done(struct shell *sh)
{
	if (!sh->busy)
		return;
	sh->busy = false;
	sh->cancel = NULL;
	if (sh->in_command) /* end_line(), when run() has returned, starts the new line */
		return;
	new_line(sh);
	flush(sh);
}

void shell_help(struct shell *sh)
{
	for (unsigned i = 0; i < sh->command_count; i++) {
		const struct shell_command *c = &sh->commands[i];
		char usage[64];
		if (c->run == NULL)
			continue;
		bool args = c->args != NULL && c->args[0] != 0;
		fmt_format(usage, sizeof usage, "%s%s%s", c->words, args ? " " : "",
		           args ? c->args + (c->args[0] == '~') : "");
		shell_print(sh, "  %-36s %s\n", usage, c->help);
	}
}

/* ---- keys ---- */

/* An arrow or editing key: `final` is the sequence's last byte, param the number before it. */
static void special_key(struct shell *sh, char final, unsigned param)
{
	if (final == '~') {
		static const char as[] = {[1] = 'H', [3] = 'd', [4] = 'F', [7] = 'H', [8] = 'F'};
		final = param < sizeof as ? as[param] : 0;
	}
	switch (final) {
	case 'A':
		history_show(sh, sh->history_at - 1);
		break;
	case 'B':
		history_show(sh, sh->history_at + 1);
		break;
	case 'C':
		sh->cursor += sh->cursor < sh->len;
		break;
	case 'D':
		sh->cursor -= sh->cursor > 0;
		break;
	case 'H':
		sh->cursor = 0;
		break;
	case 'F':
		sh->cursor = sh->len;
		break;
	case 'd':
		if (sh->cursor < sh->len)
			cut(sh, sh->cursor, sh->cursor + 1);
		break;
	default: /* no editing key */
		break;
	}
}

static void control_key(struct shell *sh, char c)
{
	switch (c) {
	case CTRL('A'):
		sh->cursor = 0;
		break;
	case CTRL('E'):
		sh->cursor = sh->len;
		break;
	case CTRL('H'):
	case DEL:
		if (sh->cursor > 0)
			cut(sh, sh->cursor - 1, sh->cursor);
		break;
	case CTRL('K'):
		cut(sh, sh->cursor, sh->len);
		break;
	case CTRL('L'):
		leave_row(sh);
		show_prompt(sh);
		break;
	case CTRL('N'):
		history_show(sh, sh->history_at + 1);
		break;
	case CTRL('P'):
		history_show(sh, sh->history_at - 1);
		break;
	case CTRL('U'):
		cut(sh, 0, sh->cursor);
		break;
	case CTRL('W'):
		cut_word(sh);
		break;
	case '\t':
		complete(sh);
		break;
	default:
		break;
	}
}

/* Adds c to the current escape sequence, if any. True: c is part of a sequence. */
static bool escape_input(struct shell *sh, char c)
{
	enum shell_escape state = sh->escape;
	sh->escape = SHELL_ESC_NONE;
	if (c == ESC) {
		sh->escape = SHELL_ESC_START;
		return true;
	}
	if (state == SHELL_ESC_STRING) {
		bool goes_on = c != BEL && c != '\r' && c != '\n' && c != CTRL('C');
		sh->escape = goes_on ? SHELL_ESC_STRING : SHELL_ESC_NONE;
		return goes_on || c == BEL;
	}
	if (state == SHELL_ESC_NONE || (uint8_t)c < 0x20)
		return false;
	switch (state) {
	case SHELL_ESC_START:
		sh->escape_param = 0;
		if (c == '[')
			sh->escape = SHELL_ESC_CSI;
		else if (c == 'O')
			sh->escape = SHELL_ESC_SS3;
		else if (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_')
			sh->escape = SHELL_ESC_STRING;
		else if (c < 0x30 && c >= 0x20)
			sh->escape = SHELL_ESC_START;
		break;
	case SHELL_ESC_CSI:
		if (c >= '0' && c <= '9' && sh->escape_param < 1000)
			sh->escape_param = sh->escape_param * 10 + (unsigned)(c - '0');
		if (c == '[')
			sh->escape = SHELL_ESC_ONE;
		else if (c < 0x40)
			sh->escape = SHELL_ESC_CSI;
		else if (!sh->busy && !sh->take)
			special_key(sh, c, sh->escape_param);
		break;
	case SHELL_ESC_SS3:
		if (!sh->busy && !sh->take)
			special_key(sh, c, 0);
		break;
	default: /* ONE: swallowed */
		break;
	}
	return true;
}

static void key(struct shell *sh, char c)
{
	bool after_cr = sh->last_was_cr;
	sh->last_was_cr = c == '\r';
	if (escape_input(sh, c))
		return;
	if (sh->take)
		take_key(sh, c, after_cr);
	else if (c == CTRL('C'))
		interrupt(sh);
	else if (sh->busy || (c == '\n' && after_cr))
		return;
	else if (c == '\r' || c == '\n')
		end_line(sh);
	else if (c == '?')
		show_list(sh);
	else if (text_is_printable(c))
		insert(sh, &c, 1);
	else
		control_key(sh, c);
}

void shell_input(struct shell *sh, char c)
{
	if (!sh->prompting && !sh->busy && !sh->take) /* before shell_start() */
		return;
	key(sh, c);
	if (sh->prompting)
		refresh(sh);
	flush(sh);
}

void shell_set_hostname(struct shell *sh, const char *hostname)
{
	size_t n = strlen(hostname);
	n = n < SHELL_HOSTNAME_SIZE ? n : SHELL_HOSTNAME_SIZE - 1;
	bool prompting = sh->prompting;
	if (prompting)
		erase_row(sh);
	memcpy(sh->hostname, hostname, n);
	sh->hostname[n] = 0;
	if (prompting)
		show_prompt(sh);
	flush(sh);
}

void shell_set_mode(struct shell *sh, const char *mode)
{
	size_t n = strlen(mode);
	assert(n < sizeof sh->mode && !sh->prompting);
	memcpy(sh->mode, mode, n + 1);
}

void shell_start(struct shell *sh)
{
	new_line(sh);
	flush(sh);
}

void shell_set_commands(struct shell *sh, const struct shell_command *commands,
                        unsigned command_count)
{
	assert(!sh->busy);
	sh->commands = commands;
	sh->command_count = command_count;
}

void shell_set_guard(struct shell *sh, bool (*may)(struct shell *sh, const struct shell_command *c))
{
	sh->may = may;
}

void shell_init(struct shell *sh, const struct shell_command *commands, unsigned command_count,
                shell_write_fn write)
{
	memset(sh, 0, sizeof *sh);
	sh->commands = commands;
	sh->command_count = command_count;
	sh->write = write;
	shell_set_hostname(sh, "hayate");
}
