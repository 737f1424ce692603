/*
 * Bytes from a terminal (control/console/shell.h): any keys, control sequences and words. The shell's
 * invariants hold after each, it prints plain text only, and commands get as many arguments as they
 * take.
 */
#include "tests/fuzz/input.h"

#include "control/console/shell.h"

static struct shell shell;

static void any(struct shell *sh)
{
	for (unsigned i = 0; i < sh->argc; i++)
		assert(strlen(sh->argv[i]) > 0 && strlen(sh->argv[i]) <= SHELL_LINE_MAX);
	assert(sh->argv[sh->argc] == NULL && sh == &shell && shell_runs(sh));
	shell_print(sh, "%u words\n", sh->argc);
}

static void one_to_three(struct shell *sh)
{
	assert(sh->argc >= 1 && sh->argc <= 3);
	any(sh);
}

static void none(struct shell *sh)
{
	assert(sh->argc == 0);
	any(sh);
}

static void cancel(struct shell *sh)
{
	shell_done(sh);
}

static void lasting(struct shell *sh)
{
	any(sh);
	shell_set_busy(sh, cancel);
}

static bool take(struct shell *sh, const char *line, size_t n)
{
	assert(shell_runs(sh) && n <= SHELL_LINE_MAX);
	for (size_t i = 0; line && i < n; i++)
		assert(line[i] >= ' ' && line[i] <= '~');
	if (line && n == 1)
		shell_set_busy(sh, cancel);
	return line && n > 1;
}

static void stop(struct shell *sh)
{
	assert(!shell_is_busy(sh));
}

static void paste(struct shell *sh)
{
	any(sh);
	shell_take_lines(sh, take, stop);
}

static void help(struct shell *sh)
{
	any(sh);
	shell_help(sh);
}

static const struct shell_command commands[] = {
	{"show", NULL, "what this machine knows", NULL},
	{"show ip", NULL, "IPv4", NULL},
	{"show ip route", "[PREFIX]", "routes", any},
	{"show ipv6", "", "IPv6", none},
	{"ping", "A.B.C.D [count N]", "echo requests", one_to_three},
	{"wait", NULL, "goes on", lasting},
	{"redo", "WORD...", "any words", any},
	{"paste", NULL, "takes lines", paste},
	{"#", "~rule", "a rule", any},
	{"no #", NULL, "no rule", none},
	{"help", NULL, "this list", help},
};

static void check(struct shell *sh, const char *text, size_t len)
{
	assert(sh == &shell && len > 0);
	for (size_t i = 0; i < len; i++)
		assert((text[i] >= ' ' && text[i] <= '~') || memchr("\r\n\b\a", text[i], 4));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	shell_init(&shell, commands, ARRAY_LEN(commands), check);
	shell_set_hostname(&shell, "r1");
	shell_start(&shell);
	for (size_t i = 0; i < size; i++) {
		if (data[i] == 0 && shell_is_busy(&shell))
			shell_done(&shell);
		else if (data[i] == 0xff)
			shell_log(&shell, "a line of somebody else's");
		shell_input(&shell, (char)data[i]);
		assert(shell.len <= SHELL_LINE_MAX && shell.cursor <= shell.len);
		assert(shell.shown_len < SHELL_COLUMNS && shell.shown_cursor <= shell.shown_len);
		for (unsigned k = 0; k < shell.len; k++)
			assert(shell.line[k] >= ' ' && shell.line[k] <= '~');
	}
	return 0;
}
