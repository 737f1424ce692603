/*
 * control/shell*.c: keystrokes in, exactly these bytes out; and a small terminal which shows that
 * whatever is typed, the row looks like the line.
 */
#include "tests/unit/rig/host.h"

#include "control/console/shell.h"

#define P "r1# "
#define UP "\x1b[A"
#define DOWN "\x1b[B"
#define RIGHT "\x1b[C"
#define LEFT "\x1b[D"

static struct shell shell;
static char out[1 << 16];
static size_t out_len;
static char ran[256];

static void note(const char *name)
{
	size_t n = (size_t)snprintf(ran, sizeof ran, "%s", name);
	for (unsigned i = 0; i < shell.argc; i++)
		n += (size_t)snprintf(ran + n, sizeof ran - n, ",%s", shell.argv[i]);
	assert_null(shell.argv[shell.argc]);
}

#define COMMAND(name) \
	static void name(struct shell *sh) \
	{ \
		assert_ptr_equal(sh, &shell); \
		note(#name); \
	}
COMMAND(show_ip_route)
COMMAND(show_ip_interface)
COMMAND(show_ipv6)
COMMAND(show_version)
COMMAND(reload)
COMMAND(echo_any)

static void say(struct shell *sh)
{
	note("say");
	shell_print(sh, "one %d\ntwo\n", 1);
}

static unsigned cancelled;

static void cancel_ping(struct shell *sh)
{
	cancelled++;
	shell_print(sh, "cancelled\n");
	shell_done(sh);
}

static void ping(struct shell *sh)
{
	note("ping");
	shell_set_busy(sh, cancel_ping);
	if (strcmp(sh->argv[0], "127.0.0.1") == 0)
		shell_done(sh);
}

/* Takes lines until an empty one, which leaves the shell busy, or "end". */
static bool take_line(struct shell *sh, const char *line, size_t n)
{
	snprintf(ran, sizeof ran, "%.*s", (int)(line ? n : 8), line ? line : "too long");
	if (n == 0)
		shell_set_busy(sh, cancel_ping);
	else
		shell_print(sh, "taken\n");
	return n && strcmp(ran, "end") != 0;
}

static void stop_taking(struct shell *sh)
{
	cancelled++;
	shell_print(sh, "stopped\n");
}

static void paste(struct shell *sh)
{
	shell_take_lines(sh, take_line, stop_taking);
}

static void help(struct shell *sh)
{
	shell_help(sh);
}

static const struct shell_command commands[] = {
	{"show", NULL, "what this machine knows", NULL},
	{"show ip", NULL, "IPv4", NULL},
	{"show ip route", "[PREFIX]", "routes", show_ip_route},
	{"show ip interface", NULL, "addresses", show_ip_interface},
	{"show ipv6", "", "IPv6", show_ipv6},
	{"show version", NULL, "build", show_version},
	{"ping", "A.B.C.D [count N]", "echo requests", ping},
	{"reload", NULL, "start again", reload},
	{"redo", "WORD...", "any words", echo_any},
	{"say", NULL, "two lines", say},
	{"lines", NULL, "takes lines", paste},
	{"help", NULL, "this list", help},
};

static void collect(struct shell *sh, const char *text, size_t len)
{
	assert_true(sh == &shell && len > 0 && out_len + len < sizeof out);
	memcpy(out + out_len, text, len);
	out_len += len;
	out[out_len] = 0;
}

static void start(void)
{
	shell_init(&shell, commands, ARRAY_LEN(commands), collect);
	shell_set_hostname(&shell, "r1");
	out_len = 0;
	ran[0] = 0;
	cancelled = 0;
	shell_input(&shell, 'x'); /* too early: ignored */
	assert_int_equal(out_len, 0);
	shell_start(&shell);
	assert_string_equal(out, P);
	out_len = 0;
	out[0] = 0;
}

static void type(const char *keys)
{
	out_len = 0;
	out[0] = 0;
	for (; *keys; keys++)
		shell_input(&shell, *keys);
}

static void expect(const char *keys, const char *text)
{
	type(keys);
	assert_string_equal(out, text);
}

/* The keys run exactly this, as recorded by note(); "" for nothing. */
static void expect_run(const char *keys, const char *what)
{
	ran[0] = 0;
	type(keys);
	assert_string_equal(ran, what);
}

/* Lines that a command takes: not shown, not in the history, erased. */
static void test_take_lines(void **state)
{
	char line[SHELL_LINE_MAX + 2];
	(void)state;
	start();
	expect("lines\r", "lines\r\n");
	assert_true(shell_takes_lines(&shell) && shell_runs(&shell) && !shell_is_busy(&shell));
	expect("se?cr\tet" UP "\x01", "");
	expect("\r", "taken\r\n");
	assert_string_equal(ran, "se?cret");
	for (unsigned i = 0; i < sizeof shell.line; i++)
		assert_int_equal(shell.line[i], 0);
	expect("\n", ""); /* of \r\n */
	expect("ax\bb\x7f\x7f\x7f\x7fyes\n", "taken\r\n");
	assert_string_equal(ran, "yes");
	memset(line, 'x', SHELL_LINE_MAX);
	line[SHELL_LINE_MAX] = 0;
	expect(line, "");
	expect("\r", "taken\r\n");
	assert_string_equal(ran, line);
	line[SHELL_LINE_MAX] = 'x';
	line[SHELL_LINE_MAX + 1] = 0;
	expect(line, "");
	expect("\r", "taken\r\n");
	assert_string_equal(ran, "too long");
	out_len = 0;
	shell_log(&shell, "a line");
	assert_string_equal(out, "a line\r\n");
	expect("end\r", "taken\r\n" P);
	expect("lines\r", "lines\r\n");
	expect("half\x03", "^C\r\nstopped\r\n" P);
	assert_int_equal(cancelled, 1);
	assert_int_equal(shell.line[0], 0);
	expect(UP, "lines"); /* the history */
	expect("\r\r", "\r\n"); /* the empty line leaves it busy */
	assert_true(shell_is_busy(&shell) && !shell_takes_lines(&shell));
	expect("\x03", "^C\r\ncancelled\r\n" P);
	expect_run("lines\rsay\rend\rsay\r", "say");
	assert_string_equal(out, "lines\r\ntaken\r\ntaken\r\n" P "say\r\none 1\r\ntwo\r\n" P);
}

static void test_line_ends(void **state)
{
	(void)state;
	start();
	expect("\r", "\r\n" P);
	expect("\n", ""); /* the \n of \r\n */
	expect("\n", "\r\n" P);
	expect("\r\n\r\n", "\r\n" P "\r\n" P);
	expect("\r\r", "\r\n" P "\r\n" P);
	expect("\n\n", "\r\n" P); /* the first belongs to the preceding \r */
	expect("   \r", "   \r\n" P);
	expect("! note\r", "! note\r\n" P);
	expect("say\r", "say\r\none 1\r\ntwo\r\n" P);
}

static void test_editing(void **state)
{
	(void)state;
	start();
	expect("abc", "abc");
	expect("\x7f", "\b \b");
	expect("\b", "\b \b");
	expect("\b\b", "\b \b"); /* nothing left for the second */
	expect("ad" LEFT, "ad\b");
	expect("b", "bd\b");
	expect("c", "cd\b");
	expect("\x01", "\b\b\b");
	expect(RIGHT, "a");
	expect("\x05", "bcd");
	expect(RIGHT, "");
	expect("\x1bOD", "\b");
	expect("\x1b[3~", " \b"); /* delete */
	expect("\x1b[H", "\b\b\b");
	expect("\x1b[4~", "abc");
	expect(" de  fg", " de  fg");
	expect("\x17", "\b\b  \b\b");
	expect("\x17", "\b\b\b\b    \b\b\b\b");
	expect("\x15", "\b\b\b\b    \b\b\b\b");
	expect("\x17\x15\x0b", "");
	expect("say", "say");
	expect(LEFT LEFT "\x0b", "\b\b  \b\b");
	expect("\x0c", "\r\n" P "s");
	expect("\x03", "^C\r\n" P);
	assert_int_equal(shell.len, 0);
	expect("\x15", "");
	expect("xy" LEFT "\x03", "xy\by^C\r\n" P);
	/* Ctrl-U removes only what is before the cursor. */
	expect_run("junk say" LEFT LEFT LEFT "\x15\r", "say");
	expect("\xff\x80\x01\x02", "");
	shell_input(&shell, 0);
	assert_int_equal(out_len, 0);
}

static void test_escapes(void **state)
{
	(void)state;
	start();
	expect("\x1b[15~\x1b[1;5Z\x1b[?25h\x1b[[A\x1bOP\x1b(B\x1b]0;title\a\x1bPq\x1b\\\x1b=", "");
	expect("a", "a");
	expect("\x1b[99999999999999999999~", "");
	expect("\x1b\x1b[D", "\b");
	expect("\x05\x1b[12\x03", "a^C\r\n" P); /* a control character ends a sequence */
	expect("\x1b]never ends\r", "\r\n" P);
	expect("b", "b");
}

static void test_history(void **state)
{
	(void)state;
	start();
	expect(UP, "\a");
	expect("say\r", "say\r\none 1\r\ntwo\r\n" P);
	type("reload\rreload\r\r");
	expect("typ", "typ");
	expect(UP, "\b\b\breload");
	expect(UP, "\b\b\b\b\b\bsay   \b\b\b");
	expect(UP, "\a");
	expect(DOWN, "\b\b\breload");
	expect(DOWN, "\b\b\b\b\b\btyp   \b\b\b");
	expect(DOWN, "\a");
	type("\x15" UP UP);
	expect_run("\r", "say");
	for (int i = 0; i < 40; i++) {
		char line[32];
		snprintf(line, sizeof line, "redo %d\r", i);
		type(line);
	}
	for (int i = 39; i >= 24; i--) {
		char line[32];
		snprintf(line, sizeof line, "redo %d", i);
		type("\x10"); /* Ctrl-P */
		assert_string_equal(shell.line, line);
	}
	expect("\x10", "\a");
	for (int i = 0; i < 16; i++)
		type("\x0e"); /* Ctrl-N */
	assert_string_equal(shell.line, "");
}

static void test_commands(void **state)
{
	(void)state;
	start();
	expect_run("show ip route\r", "show_ip_route");
	expect_run("sh ip ro\r", "show_ip_route");
	expect_run("SH Ip R 10.0.0.0/8\r", "show_ip_route,10.0.0.0/8");
	expect_run("  sh   ip   i  \r", "show_ip_interface");
	expect_run("sh ipv\r", "show_ipv6");
	expect_run("sh v\r", "show_version");
	expect_run("ping 127.0.0.1\r", "ping,127.0.0.1");
	expect_run("p 127.0.0.1 count 3\r", "ping,127.0.0.1,count,3");
	expect_run("redo a b c d e f g h i j k l m n o\r", "echo_any,a,b,c,d,e,f,g,h,i,j,k,l,m,n,o");

	expect("show\r", "show\r\n% incomplete command; type ? after it to see what may follow\r\n" P);
	expect("ping\r", "ping\r\n% incomplete command; type ? after it to see what may follow\r\n" P);
	expect("redo\r", "redo\r\n% incomplete command; type ? after it to see what may follow\r\n" P);
	expect("show foo bar\r", "show foo bar\r\n         ^\r\n% unknown word \"foo\"\r\n" P);
	expect("  bad\r", "  bad\r\n      ^\r\n% unknown word \"bad\"\r\n" P);
	expect("reload now\r", "reload now\r\n           ^\r\n% unknown word \"now\"\r\n" P);
	expect("sh ip r 1 2\r", "sh ip r 1 2\r\n              ^\r\n% unknown word \"2\"\r\n" P);
	expect("re\r", "re\r\n    ^\r\n% ambiguous word \"re\"; it may be\r\n"
	               "  reload               start again\r\n"
	               "  redo                 any words\r\n" P);
	for (int i = 0; i <= SHELL_WORDS_MAX; i++)
		type("a ");
	type("\r");
	assert_non_null(strstr(out, "% too many words; at most 48"));
	type("help\r");
	assert_non_null(strstr(out, "  show ip route [PREFIX]               routes\r\n"));
	assert_null(strstr(out, "what this machine"));
}

static void test_help_key(void **state)
{
	(void)state;
	start();
	expect("show ?", "show \r\n"
	                 "  ip                   IPv4\r\n"
	                 "  ipv6                 IPv6\r\n"
	                 "  version              build\r\n" P "show ");
	expect("i?", "i\r\n"
	             "  ip                   IPv4\r\n"
	             "  ipv6                 IPv6\r\n" P "show i");
	expect("p r?", "p r\r\n"
	               "  route                routes\r\n" P "show ip r");
	expect(" ?", " \r\n"
	             "  [PREFIX]             routes\r\n"
	             "  <cr>                 routes\r\n" P "show ip r ");
	expect("1?", "1\r\n"
	             "  [PREFIX]             routes\r\n" P "show ip r 1");
	expect(" ?", " \r\n"
	             "  <cr>                 \r\n" P "show ip r 1 ");
	expect("\x15", "\b\b\b\b\b\b\b\b\b\b\b\b            \b\b\b\b\b\b\b\b\b\b\b\b");
	expect("ping ?", "ping \r\n  A.B.C.D [count N]    echo requests\r\n" P "ping ");
	expect("1.2.3.4 ?", "1.2.3.4 \r\n  [count N]            echo requests\r\n"
	                    "  <cr>                 \r\n" P "ping 1.2.3.4 ");
	type("\x15");
	expect("re ?", "re \r\n% ambiguous word \"re\"\r\n" P "re ");
	type("\x15");
	expect("zz ?", "zz \r\n% nothing fits here\r\n" P "zz ");
	type("\x15");
	expect("zz?", "zz\r\n% nothing fits here\r\n" P "zz");
	type("\x15");
	/* In the middle of the line: for the text before the cursor, which stays. */
	expect("sh x" LEFT "\b?", "sh x\b\bx \b\bx\r\n  show                 what this machine knows"
	                          "\r\n" P "shx\b");
	type("\x15\x0b");
	type("?");
	assert_non_null(strstr(out, "  show                 what this machine knows\r\n  ping"));
	type("a a a a a a a a a a a a a a a a a a ?");
	assert_non_null(strstr(out, "% nothing fits here"));
}

static void test_complete(void **state)
{
	(void)state;
	start();
	expect("sh\t", "show ");
	expect("v\t", "version ");
	expect("\t", "\a");
	type("\x15");
	expect("re\t", "re\r\n  reload               start again\r\n"
	               "  redo                 any words\r\n" P "re");
	type("\x15");
	expect("SHO\t", "SHOw ");
	expect("i\t", "ip");
	type("\t"); /* ip or ipv6 */
	assert_string_equal(shell.line, "SHOw ip");
	expect("v\t", "v6 ");
	expect_run("\r", "show_ipv6");
	expect("zz\t", "zz\a");
	type("\x15");
	expect("ping 1\t", "ping 1\a");
	type("\x15");
	type("sh ip\x01\x1b[C\x1b[C\t"); /* no second blank is added before a blank */
	assert_string_equal(shell.line, "show ip");
}

static void test_long_line(void **state)
{
	(void)state;
	start();
	char line[1000];
	memset(line, 'x', sizeof line);
	line[SHELL_LINE_MAX] = 0;
	type(line);
	assert_null(strchr(out, '\a'));
	expect("y", "\a");
	expect("\x01y", out); /* nor at the start */
	assert_int_equal(out[out_len - 1], '\a');
	assert_int_equal(shell.len, SHELL_LINE_MAX);
	expect_run("\r", "");
	type("\x10\x7f\x7f\x7f");
	assert_int_equal(shell.len, SHELL_LINE_MAX - 3);
	/* Completion that does not fit. */
	char near_full[SHELL_LINE_MAX + 1];
	memset(near_full, ' ', SHELL_LINE_MAX);
	memcpy(near_full + SHELL_LINE_MAX - 2, "sh", 3);
	type("\x15");
	type(near_full);
	type("\t");
	assert_int_equal(out[out_len - 1], '\a');
	assert_int_equal(shell.len, SHELL_LINE_MAX);
	/* An unknown word that has scrolled out of the row is reported without a mark. */
	type("\x15");
	char unknown[128];
	memset(unknown, ' ', 100);
	memcpy(unknown, "bad", 3);
	unknown[99] = '\r';
	unknown[100] = 0;
	type(unknown);
	assert_non_null(strstr(out, "% unknown word \"bad\""));
	assert_null(strchr(out, '^'));
}

static void test_busy(void **state)
{
	(void)state;
	start();
	expect("ping 1.2.3.4\r", "ping 1.2.3.4\r\n");
	assert_true(shell.busy);
	expect("\nreload\r\x1b[A\t?", "");
	out_len = 0;
	shell_print(&shell, "reply %d\n", 1);
	assert_string_equal(out, "reply 1\r\n");
	out_len = 0;
	shell_log(&shell, "eth0 is up");
	assert_string_equal(out, "eth0 is up\r\n");
	expect("\x03", "^C\r\ncancelled\r\n" P);
	assert_int_equal(cancelled, 1);
	assert_false(shell.busy);
	expect("\x03", "^C\r\n" P);
	assert_int_equal(cancelled, 1);
	assert_string_equal(ran, "ping,1.2.3.4");
	type("ping 1.2.3.4\r");
	out_len = 0;
	shell_done(&shell);
	assert_string_equal(out, P);
	shell_done(&shell); /* a second call changes nothing */
	assert_string_equal(out, P);
	expect("ping 127.0.0.1\r", "ping 127.0.0.1\r\n" P); /* done before run() returned */
}

/* A script: no prompt, no echo, no mark below a word; output and errors as ever. */
static void test_quiet(void **state)
{
	(void)state;
	start();
	shell_set_quiet(&shell);
	expect("say\n", "one 1\r\ntwo\r\n");
	expect("s\x7fsay\r\n", "one 1\r\ntwo\r\n");
	expect("nonsense\n", "% unknown word \"nonsense\"\r\n");
	expect("\n\n! note\n", "");
	out_len = 0;
	out[0] = 0;
	shell_set_hostname(&shell, "r2");
	assert_string_equal(out, "");
	expect("ping 1.2.3.4\n", "");
	out_len = 0;
	out[0] = 0;
	shell_done(&shell);
	assert_string_equal(out, "");
	expect("say\n", "one 1\r\ntwo\r\n");
}

static void test_log(void **state)
{
	(void)state;
	start();
	type("sho ip" LEFT LEFT);
	out_len = 0;
	shell_log(&shell, "link\nup\n");
	assert_string_equal(out, "\r          \rlink\r\nup\r\n" P "sho ip\b\b");
	expect("w", "wip\b\b");
	type("\x15\x0b");
	out_len = 0;
	shell_set_hostname(&shell, "lab");
	assert_string_equal(out, "\r    \rlab# ");
	out_len = 0;
	shell_log(&shell, "");
	assert_string_equal(out, "\r     \r\r\nlab# ");
	char text[3000];
	memset(text, 'a', sizeof text);
	text[sizeof text - 1] = 0;
	out_len = 0;
	shell_log(&shell, text); /* longer than any buffer */
	assert_int_equal(out_len, 1 + 5 + 1 + 2999 + 2 + 5);
	out_len = 0;
	shell_print(&shell, "%s", text);
	assert_int_equal(out_len, 1023);
}

/* A terminal of one row suffices. Only output of commands may wrap: if the edited line did,
 * check_row() would find the row different. */
static char row[SHELL_COLUMNS + 1];
static unsigned col;

static void terminal(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		switch (text[i]) {
		case '\r':
			col = 0;
			break;
		case '\n':
			memset(row, ' ', SHELL_COLUMNS);
			break;
		case '\b':
			assert_true(col > 0);
			col--;
			break;
		case '\a':
			break;
		default:
			assert_true(text[i] >= 0x20 && text[i] < 0x7f);
			if (col == SHELL_COLUMNS) {
				memset(row, ' ', SHELL_COLUMNS);
				col = 0;
			}
			row[col++] = text[i];
			break;
		}
	}
}

static void to_terminal(struct shell *sh, const char *text, size_t len)
{
	(void)sh;
	terminal(text, len);
}

static void check_row(void)
{
	char want[SHELL_COLUMNS + 1];
	memset(want, ' ', SHELL_COLUMNS);
	unsigned prompt = (unsigned)strlen(shell.hostname) + 2;
	unsigned room = SHELL_COLUMNS - 1 - prompt;
	unsigned n = shell.len - shell.scroll < room ? shell.len - shell.scroll : room;
	memcpy(want, shell.hostname, prompt - 2);
	want[prompt - 2] = '#';
	memcpy(want + prompt, shell.line + shell.scroll, n);
	assert_memory_equal(row, want, SHELL_COLUMNS);
	assert_int_equal(col, prompt + shell.cursor - shell.scroll);
	assert_true(shell.len <= SHELL_LINE_MAX && shell.cursor <= shell.len);
	assert_int_equal(strlen(shell.line), shell.len);
}

static void test_random_keys(void **state)
{
	(void)state;
	seed_random("test_random_keys");
	static const char *const keys[] = {
		UP, DOWN, LEFT, RIGHT, LEFT, LEFT, "\x7f", "\t", "?", "\r", "\r\n", "\x01", "\x05",
		"\x15", "\x17", "\x03", "\x0b", "\x0c", "\x1b[3~", "\x1b[H", " ", " ", "show ", "ip ",
		"sh", "r", "ping 127.0.0.1 ", "redo ", "lines", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ",
		"the quick brown fox jumps ", "\x1b[", "\x1b", "\x1b]x", "!", "reload"};
	start();
	shell.write = to_terminal;
	memset(row, ' ', SHELL_COLUMNS);
	col = 0;
	terminal(P, strlen(P));
	for (int i = 0; i < 300000; i++) {
		if (random_below(8) == 0)
			shell_input(&shell, (char)random64());
		const char *key = keys[random_below(ARRAY_LEN(keys))];
		for (; *key; key++)
			shell_input(&shell, *key);
		if (random_below(64) == 0)
			shell_log(&shell, "eth0: link up");
		if (random_below(256) == 0)
			shell_set_hostname(&shell, random_below(2) ? "r1"
			                   : "a-rather-long-name-of-a-machine-that-goes-"
			                     "up-to-the-very-limit-there-is");
		if (shell.busy)
			shell_done(&shell);
		if (shell_takes_lines(&shell))
			shell_input(&shell, '\x03');
		check_row();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_ends), cmocka_unit_test(test_editing),
		cmocka_unit_test(test_escapes),   cmocka_unit_test(test_history),
		cmocka_unit_test(test_commands),  cmocka_unit_test(test_help_key),
		cmocka_unit_test(test_complete),  cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_busy),      cmocka_unit_test(test_log),
		cmocka_unit_test(test_quiet),     cmocka_unit_test(test_take_lines),
		cmocka_unit_test(test_random_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
