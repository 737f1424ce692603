/* net/telnet: input as keys by RFC 854, answers to options (RFC 855, 857, 858, 1143), output. */
#include "tests/unit/rig/host.h"

#include "net/telnet.h"

#define BRK "\xf3"
#define IP "\xf4"
#define AO "\xf5"
#define AYT "\xf6"
#define EC "\xf7"
#define EL "\xf8"
#define SB "\xfa"
#define SE "\xf0"
#define NOP "\xf1"
#define DM "\xf2"
#define WILL "\xfb"
#define WONT "\xfc"
#define DO "\xfd"
#define DONT "\xfe"
#define IAC "\xff"
#define ECHO "\x01"
#define SGA "\x03"
#define TTYPE "\x18"
#define NAWS "\x1f"

static struct telnet t;
static char keys[1024];          /* events as letters: I A C L */
static uint8_t answers[4096];
static unsigned answers_len;

static void begin(void)
{
	uint8_t hello[TELNET_HELLO_MAX];
	unsigned n = telnet_hello(&t, hello);
	assert_int_equal(n, 6);
	assert_memory_equal(hello, IAC WILL ECHO IAC WILL SGA, 6);
	assert_false(telnet_echoes(&t));
}

static void input(const char *bytes, size_t n)
{
	size_t key = 0;
	answers_len = 0;
	for (size_t i = 0; i < n; i++) {
		uint8_t answer[TELNET_ANSWER_MAX];
		unsigned len, event = telnet_input(&t, (uint8_t)bytes[i], answer, &len);
		memcpy(answers + answers_len, answer, len);
		answers_len += len;
		switch (event) {
		case TELNET_NOTHING: break;
		case TELNET_INTERRUPT: keys[key++] = 'I'; break;
		case TELNET_ARE_YOU_THERE: keys[key++] = 'A'; break;
		case TELNET_ERASE_CHARACTER: keys[key++] = 'C'; break;
		case TELNET_ERASE_LINE: keys[key++] = 'L'; break;
		default:
			assert_in_range(event, 0, 255);
			keys[key++] = (char)event;
		}
	}
	keys[key] = 0;
}

#define EXPECT(bytes, wanted, answer) do { \
	input(bytes, sizeof(bytes) - 1); \
	assert_string_equal(keys, wanted); \
	assert_int_equal(answers_len, sizeof(answer) - 1); \
	assert_memory_equal(answers, answer, sizeof(answer) - 1); \
} while (0)

static void line_ends(void **state)
{
	(void)state;
	begin();
	EXPECT("a\r\nb\r\0c\rd\ne\n\r\r\n", "a\rb\rc\rd\ne\n\r\r", "");
	EXPECT("\r", "\r", "");
	EXPECT("\n\n", "\n", ""); /* the first belongs to the preceding CR */
	EXPECT("\r" IAC NOP "\n", "\r", ""); /* also with a command in between */
}

static void commands(void **state)
{
	(void)state;
	begin();
	EXPECT("a" IAC IP "b" IAC BRK "c" IAC AYT IAC EC IAC EL IAC AO IAC NOP IAC DM "d", "aIbIcACLd", "");
	EXPECT("x" IAC IAC "y", "x\xffy", "");
	EXPECT(IAC SB TTYPE "\0xterm" IAC IAC "\r\n" IAC SE "z", "z", "");
	EXPECT(IAC SB NAWS "never ended " IAC IP "q", "Iq", "");
	EXPECT(IAC SB NAWS "never ended " IAC WILL NAWS "q", "q", IAC DONT NAWS);
}

static void our_options(void **state)
{
	(void)state;
	begin();
	EXPECT(IAC DO SGA IAC DO ECHO, "", "");
	assert_true(telnet_echoes(&t));
	EXPECT(IAC DO ECHO IAC DO SGA, "", ""); /* already so: no loop */
	EXPECT(IAC DONT ECHO, "", IAC WONT ECHO);
	assert_false(telnet_echoes(&t));
	EXPECT(IAC DONT ECHO, "", "");
	EXPECT(IAC DO ECHO, "", IAC WILL ECHO);
	assert_true(telnet_echoes(&t));
	begin();
	EXPECT(IAC DONT ECHO IAC DONT SGA, "", ""); /* our offer was refused */
	assert_false(telnet_echoes(&t));
}

static void other_options(void **state)
{
	(void)state;
	begin();
	EXPECT(IAC WILL TTYPE IAC WILL NAWS IAC DO TTYPE, "",
	       IAC DONT TTYPE IAC DONT NAWS IAC WONT TTYPE);
	EXPECT(IAC WILL TTYPE IAC DO TTYPE IAC WONT TTYPE IAC DONT TTYPE, "", "");
	EXPECT(IAC WILL ECHO, "", IAC DONT ECHO); /* the peer must not echo to us */
	EXPECT(IAC WONT "\x77" IAC DONT "\x77", "", "");
	EXPECT(IAC DO IAC IAC WILL IAC "k", "k", IAC WONT IAC IAC DONT IAC); /* option 255, EXOPL */
}

/* Whatever arrives, however often: answers about other options come to an end, and for our own
 * there is one for each change of mind. */
static void answers_end(void **state)
{
	(void)state;
	unsigned total = 0, changes = 0;
	seed_random("answers_end");
	begin();
	for (int i = 0; i < 200000; i++) {
		static const uint8_t verbs[] = {0xfb, 0xfc, 0xfd, 0xfe};
		char request[3] = {(char)0xff, (char)verbs[random_below(4)], (char)random64()};
		bool ours = request[2] == 1 || request[2] == 3;
		changes += ours && (uint8_t)request[1] >= 0xfd;
		input(request, 3);
		total += answers_len;
		assert_true(answers_len <= 3);
	}
	assert_true(total <= 3 * (512 + changes));
	assert_true(total >= 3 * 500);
}

static const char *out(const char *text, size_t n, size_t *len)
{
	static uint8_t to[256];
	*len = telnet_put(&t, to, text, n);
	assert_true(*len <= 2 * n + 1);
	return (const char *)to;
}

static void sending(void **state)
{
	(void)state;
	size_t n;
	begin();
	assert_memory_equal(out("a\r\nb", 4, &n), "a\r\nb", 4);
	assert_int_equal(n, 4);
	assert_memory_equal(out("a\rb\xff\r", 5, &n), "a\r\0b\xff\xff\r", 7);
	assert_int_equal(n, 7);
	assert_memory_equal(out("\n\r", 2, &n), "\n\r", 2); /* the preceding CR is part of a line end */
	assert_memory_equal(out("\xff", 1, &n), "\0\xff\xff", 3);
	assert_int_equal(n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_ends),     cmocka_unit_test(commands),
		cmocka_unit_test(our_options),   cmocka_unit_test(other_options),
		cmocka_unit_test(answers_end),   cmocka_unit_test(sending),
	};
	return cmocka_run_group_tests_name("telnet", tests, NULL, NULL);
}
