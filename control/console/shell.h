/*
 * The console shell: bytes from a terminal in, text for it out.
 *
 * It knows no device and no command. The caller feeds bytes to shell_input(), supplies a table of
 * commands, and receives output through a callback. The shell never waits: a long command marks it
 * busy and ends later, from the caller's loop, with shell_done().
 *
 * Terminals differ, so output is plain: printable ASCII, \r, \n, \b and BEL. The line being edited
 * is one row; a line longer than the row scrolls sideways. An editing key changes only `line` and
 * `cursor`. `shown` holds the contents of the row, and `refresh` prints the difference.
 *
 * Invariants
 * 1. len <= SHELL_LINE_MAX, cursor <= len: a key that would break this rings the bell.
 * 2. While prompting, the row shows the prompt and `shown`, and the terminal's cursor is at
 *    prompt + shown_cursor. The row is never full, so no terminal wraps it.
 * 3. Only printable ASCII enters `line`.
 *
 * shell.c: keys, row, history, running commands. shell_words.c: parsing of commands, `?` and TAB.
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
#define SHELL_STREAM_BYTES 64 /* position of a command in its output */
#define SHELL_DEPTH_MAX 6 /* keywords of a command */

struct shell;

/*
 * One row of the caller's table. A row without run is not a command but the help text of a word
 * that begins several commands: {"show", NULL, "what this machine knows", NULL}.
 */
struct shell_command {
	const char *words; /* keywords, single blanks between: "show ip route"; # is any number */
	/* Arguments, to be shown and counted. NULL or "": none. "[PREFIX]": none or one.
	 * "A.B.C.D [count N]": one to three. A last "...": any more. Arguments that begin with '~'
	 * are only shown: the shell passes any number, and the command checks them. */
	const char *args;
	const char *help; /* one line */
	/* Finds its arguments in sh->argv, as many as `args` allows. */
	void (*run)(struct shell *sh);
};

/* Writes output of the shell to the terminal: len > 0 bytes, line ends already \r\n. */
typedef void (*shell_write_fn)(struct shell *sh, const char *text, size_t len);

enum shell_escape {
	SHELL_ESC_NONE,
	SHELL_ESC_START,  /* after ESC */
	SHELL_ESC_CSI,    /* after ESC [ */
	SHELL_ESC_ONE,    /* one more byte to swallow */
	SHELL_ESC_SS3,    /* after ESC O */
	SHELL_ESC_STRING, /* in ESC ] … BEL and similar strings */
};

/* All fields but argc, argv and place are private. */
struct shell {
	const struct shell_command *commands;
	unsigned command_count;
	shell_write_fn write;
	bool (*may)(struct shell *sh, const struct shell_command *c); /* NULL: every command may run */
	char hostname[SHELL_HOSTNAME_SIZE];

	char mode[SHELL_MODE_SIZE]; /* between hostname and # of the prompt */
	char place[SHELL_PLACE_SIZE]; /* the mode's commands keep their position here */
	const struct shell_command *running; /* valid while in_command, as are the next four */
	unsigned argc;                       /* arguments, without the command's keywords */
	char **argv;                         /* the arguments and a NULL */
	struct text arguments;               /* the arguments as typed */
	struct text number;                  /* typed for the command's keyword #, if it has one */

	bool busy; /* a command continues after its run() */
	bool in_command;
	bool prompting; /* the prompt is on the terminal's last row */
	bool quiet; /* shell_set_quiet */
	bool last_was_cr;
	uint32_t logs;  /* number of shell_log calls, for a command that redraws its output */
	void (*cancel)(struct shell *sh);
	bool streams; /* the owner calls shell_more */
	bool (*more)(struct shell *sh, void *at); /* NULL: no command streams output */
	bool (*take)(struct shell *sh, const char *line, size_t n); /* NULL: no command takes lines */
	bool too_long; /* the line that it is to take */
	uint64_t more_at[SHELL_STREAM_BYTES / 8]; /* its position */

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

	char out[128]; /* output not yet passed to write */
	unsigned out_len;
};

/* Initializes a shell, which prints nothing before shell_start. commands must outlive it. */
void shell_init(struct shell *sh, const struct shell_command *commands, unsigned command_count,
                shell_write_fn write);

/* Replaces the table of commands. The shell must not be busy; a command may do so in its run(). */
void shell_set_commands(struct shell *sh, const struct shell_command *commands,
                        unsigned command_count);

/* Asks `may` before each command. False: it does not run, and the reason has been printed. */
void shell_set_guard(struct shell *sh, bool (*may)(struct shell *sh, const struct shell_command *c));

/* Redraws the prompt if it is on the terminal. Cuts names longer than 63 characters. */
void shell_set_hostname(struct shell *sh, const char *hostname);

/* Sets the text after the hostname, such as "(config)", from the next prompt on; empty at first. */
void shell_set_mode(struct shell *sh, const char *mode);

/* In run(): the command's row of the table; the text typed after its keywords, with all blanks; the
 * word typed for the keyword # among them. */
static inline const struct shell_command *shell_running(const struct shell *sh)
{
	return sh->running;
}

static inline struct text shell_arguments(const struct shell *sh)
{
	return sh->arguments;
}

static inline struct text shell_number(const struct shell *sh)
{
	return sh->number;
}

/* For a script instead of a terminal: only commands and errors print. Called before shell_start. */
void shell_set_quiet(struct shell *sh);

/* Prints the first prompt. */
void shell_start(struct shell *sh);

/* Processes one byte from the terminal. Runs the command when the byte ends a line. */
void shell_input(struct shell *sh, char c);

/* Output of a command; \n becomes \r\n. shell_print cuts its text at 1023 bytes. */
void shell_write(struct shell *sh, const char *text, size_t len);
void shell_print(struct shell *sh, const char *format, ...) PRINTF_LIKE(2, 3);

/* Prints a log line, above the prompt and the partial input. */
void shell_log(struct shell *sh, const char *text);

/*
 * Called in run(): the command continues after run() returns, and input is ignored until
 * shell_done(). Ctrl-C calls cancel (at most once; may be NULL), which may call shell_done().
 */
void shell_set_busy(struct shell *sh, void (*cancel)(struct shell *sh));
void shell_done(struct shell *sh);

/*
 * Called last in run(): prints long output in pieces. Each call of more() prints one and returns
 * false after the last. `at` is SHELL_STREAM_BYTES of state for more(), at first zero.
 * After shell_set_streams the shell is busy until all is printed or Ctrl-C ends it. Otherwise
 * shell_stream prints everything before it returns.
 */
#define SHELL_STREAM_PIECE 1300 /* bytes of a piece at most */
void shell_stream(struct shell *sh, bool (*more)(struct shell *sh, void *at));

/* The same from another state than zero: `bytes` of it, at most SHELL_STREAM_BYTES. */
void shell_stream_from(struct shell *sh, bool (*more)(struct shell *sh, void *at), const void *at, size_t bytes);

/* shell_set_streams: the owner has room for only one piece at a time. While shell_has_more(), it
 * calls shell_more() whenever there is room for a piece, in which each \n takes two bytes. */
void shell_set_streams(struct shell *sh);
void shell_more(struct shell *sh);
static inline bool shell_has_more(const struct shell *sh)
{
	return sh->more != NULL;
}

/*
 * Called last in run(): the command takes the lines that follow, which are not shown and do not get into the history,
 * such as a key. take() gets each without its end; NULL: it had more than SHELL_LINE_MAX characters. The line is
 * erased behind it. False: that was the last; it may have called shell_set_busy(). Ctrl-C calls cancel instead.
 */
void shell_take_lines(struct shell *sh, bool (*take)(struct shell *sh, const char *line, size_t n),
                      void (*cancel)(struct shell *sh));

static inline bool shell_takes_lines(const struct shell *sh)
{
	return sh->take != NULL;
}

static inline bool shell_is_busy(const struct shell *sh)
{
	return sh->busy;
}

/* True if output now comes from a command; else it is the line being typed. */
static inline bool shell_runs(const struct shell *sh)
{
	return sh->in_command || sh->busy || sh->take;
}

/* Prints all commands with their help, for a `help` command. */
void shell_help(struct shell *sh);

#endif
