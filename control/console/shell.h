/*
 * The console shell: bytes from a terminal in, text for it out.
 *
 * It knows no device and no command: the caller feeds bytes to shell_input(), gives a table of
 * commands, and gets output by a callback. It never waits; a command that takes long marks the
 * shell busy and finishes it later from the caller's loop.
 *
 * Terminals differ, so output is plain: printable ASCII, \r, \n, \b and BEL. The line being edited
 * is one row; a line longer than the row scrolls sideways. What stands on the row is kept in
 * `shown`, and every edit emits the difference (`refresh`), so that each editing key is only a
 * change of `line` and `cursor`.
 *
 * Invariants
 * 1. len <= SHELL_LINE_MAX, cursor <= len: a key that would break this rings the bell.
 * 2. While prompting, the row shows the prompt and `shown`, the terminal's cursor stands at
 *    prompt + shown_cursor, and the row is never full (no terminal wraps it).
 * 3. Only printable ASCII enters `line`.
 *
 * shell.c: keys, row, history, running. shell_words.c: from words to commands, `?` and TAB.
 *
 * Missing on purpose: a pager, quoting (no command takes blanks in an argument), UTF-8.
 */
#ifndef CONTROL_CONSOLE_SHELL_H
#define CONTROL_CONSOLE_SHELL_H

#include "control/text/text.h"
#include "lib/types.h"

#define SHELL_LINE_MAX 200
#define SHELL_HISTORY 16
#define SHELL_COLUMNS 80
#define SHELL_HOSTNAME_SIZE 64
#define SHELL_WORDS_MAX 48 /* a description of 79 characters has up to 40 */
#define SHELL_MODE_SIZE 16
#define SHELL_PLACE_SIZE 256
#define SHELL_STREAM_BYTES 64 /* for a command to know where its output is */
#define SHELL_DEPTH_MAX 6 /* keywords of a command */

struct shell;

/*
 * One row of the caller's table. A row whose run is NULL is no command but the help text of a word
 * that begins several: {"show", NULL, "what this machine knows", NULL}.
 */
struct shell_command {
	const char *words; /* keywords, single blanks between: "show ip route"; # is any number */
	/* Arguments for a person and for counting them: NULL or "" when none, "[PREFIX]" may be
	 * missing, "A.B.C.D [count N]" takes one to three, a last "..." takes any more. What begins
	 * with '~' is for a person alone: the command takes any number, and judges itself. */
	const char *args;
	const char *help; /* one line */
	/* Finds its arguments, as many as `args` allows, in sh->argv. */
	void (*run)(struct shell *sh);
};

/* Takes what the shell prints, len > 0 bytes, ready for the terminal. */
typedef void (*shell_write_fn)(struct shell *sh, const char *text, size_t len);

enum shell_escape {
	SHELL_ESC_NONE,
	SHELL_ESC_START,  /* after ESC */
	SHELL_ESC_CSI,    /* after ESC [ */
	SHELL_ESC_ONE,    /* one more byte to swallow */
	SHELL_ESC_SS3,    /* after ESC O */
	SHELL_ESC_STRING, /* in ESC ] … BEL and its like */
};

/* All fields are private but argc, argv and place. */
struct shell {
	const struct shell_command *commands;
	unsigned command_count;
	shell_write_fn write;
	char hostname[SHELL_HOSTNAME_SIZE];

	char mode[SHELL_MODE_SIZE]; /* between hostname and # of the prompt */
	char place[SHELL_PLACE_SIZE]; /* of the mode's commands: where they are */
	const struct shell_command *running; /* this and what follows while in_command */
	unsigned argc;                       /* arguments, without the command's keywords */
	char **argv;                         /* they, and a NULL */
	struct text arguments;               /* they as typed */
	struct text number;                  /* typed for its keyword #, if it has one */

	bool busy; /* a command goes on after its run() */
	bool in_command;
	bool prompting; /* the prompt is on the terminal's last row */
	bool last_was_cr;
	uint32_t logs;  /* lines of shell_log so far: for a command that draws in place */
	void (*cancel)(struct shell *sh);
	bool streams; /* the owner calls shell_more */
	bool (*more)(struct shell *sh, void *at); /* NULL: no command goes on so */
	uint64_t more_at[SHELL_STREAM_BYTES / 8]; /* where it is */

	char line[SHELL_LINE_MAX + 1];
	unsigned len, cursor;

	char shown[SHELL_COLUMNS];
	unsigned shown_len, shown_cursor;
	unsigned scroll; /* offset in line of the first character shown */

	char history[SHELL_HISTORY][SHELL_LINE_MAX + 1]; /* ring; oldest at history_first */
	unsigned history_first, history_count;
	unsigned history_at; /* 0 oldest … history_count: the line being typed, kept in `typed` */
	char typed[SHELL_LINE_MAX + 1];

	enum shell_escape escape;
	unsigned escape_param;

	char out[128]; /* output on its way to write */
	unsigned out_len;
};

/* Makes a silent shell. commands must outlive it. */
void shell_init(struct shell *sh, const struct shell_command *commands, unsigned command_count,
                shell_write_fn write);

/* Another table of commands from now on; not while a command runs, unless it is that command who
 * says so. */
void shell_set_commands(struct shell *sh, const struct shell_command *commands,
                        unsigned command_count);

/* Redraws the prompt when it is on the terminal. Names longer than 63 are cut. */
void shell_set_hostname(struct shell *sh, const char *hostname);

/* What the prompt says behind the hostname, "(config)", from the next one on; it is "" at first. */
void shell_set_mode(struct shell *sh, const char *mode);

/* In run(): the row of the table, and what was typed behind its keywords, blanks and all. */
static inline const struct shell_command *shell_running(const struct shell *sh)
{
	return sh->running;
}

static inline struct text shell_arguments(const struct shell *sh)
{
	return sh->arguments;
}

/* And what was typed for the keyword # among them. */
static inline struct text shell_number(const struct shell *sh)
{
	return sh->number;
}

/* Prints the first prompt. */
void shell_start(struct shell *sh);

/* One byte from the terminal. Runs a command when it ends a line. */
void shell_input(struct shell *sh, char c);

/* Output of a command; \n becomes \r\n. shell_print cuts its text at 1023 bytes. */
void shell_write(struct shell *sh, const char *text, size_t len);
void shell_print(struct shell *sh, const char *format, ...) PRINTF_LIKE(2, 3);

/* A line that belongs to no command: appears above the prompt and the partial input. */
void shell_log(struct shell *sh, const char *text);

/*
 * Called in run(): the command goes on when run() returns, and input is ignored until
 * shell_done(). Ctrl-C calls cancel (at most once, may be NULL), which may call shell_done().
 */
void shell_set_busy(struct shell *sh, void (*cancel)(struct shell *sh));
void shell_done(struct shell *sh);

/*
 * In run(), as its last act: long output, a piece with each call of more(), which returns false when
 * that was the last. at: SHELL_STREAM_BYTES of its own, zero at first. Where the owner has room for
 * so much at a time only (shell_set_streams), the shell is busy until all is printed or somebody
 * interrupts; else it is printed at once.
 */
#define SHELL_STREAM_PIECE 1300 /* bytes of a piece at most */
void shell_stream(struct shell *sh, bool (*more)(struct shell *sh, void *at));

/* The owner calls shell_more() whenever there is room for a piece (with its line ends twice as long)
 * and shell_has_more(). */
void shell_set_streams(struct shell *sh);
void shell_more(struct shell *sh);
static inline bool shell_has_more(const struct shell *sh)
{
	return sh->more != NULL;
}

static inline bool shell_is_busy(const struct shell *sh)
{
	return sh->busy;
}

/* Does what is written now come from a command? Else it is the line being typed. */
static inline bool shell_runs(const struct shell *sh)
{
	return sh->in_command || sh->busy;
}

/* Prints all commands with their help: the body of a `help` command. */
void shell_help(struct shell *sh);

#endif
