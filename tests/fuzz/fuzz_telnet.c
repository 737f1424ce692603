/*
 * Bytes of a Telnet client (net/telnet.h): whatever arrives, answers are whole commands about
 * options, they come to an end, and repeated requests for an option change nothing. Our output
 * follows the same rules: a client that parses it recovers the text.
 */
#include "tests/fuzz/input.h"

#include "lib/mem.h"
#include "net/telnet.h"

enum { SB = 250, WILL = 251, WONT = 252, DO = 253, DONT = 254, IAC = 255 };

/* Reads with `t`; returns the bytes of answers. */
static size_t read_all(struct telnet *t, const uint8_t *data, size_t size)
{
	size_t answers = 0;
	for (size_t i = 0; i < size; i++) {
		uint8_t answer[TELNET_ANSWER_MAX];
		unsigned n, event = telnet_input(t, data[i], answer, &n);
		assert(event <= TELNET_ERASE_LINE);
		assert(n == 0 || (n == 3 && event == TELNET_NOTHING));
		if (n == 3) {
			bool ours = answer[2] == 1 || answer[2] == 3;
			assert(answer[0] == IAC);
			assert(answer[1] == WONT || answer[1] == DONT || (ours && answer[1] == WILL));
			assert(answer[2] == data[i]);
		}
		answers += n;
	}
	return answers;
}

/* A peer that takes whatever we say for its own user's wish, and repeats it to us. Two such ends of
 * a faulty program would never stop (RFC 1143); this end does. */
static void no_loop(struct telnet *t)
{
	uint8_t answer[TELNET_ANSWER_MAX] = {IAC, DO, 1};
	unsigned n = 3, turns = 0;
	while (n == 3) {
		uint8_t back[3] = {IAC, answer[1] == WILL || answer[1] == WONT ? DONT : WONT, answer[2]};
		for (unsigned i = 0; i < 3; i++)
			telnet_input(t, back[i], answer, &n);
		assert(++turns < 4);
	}
}

static void text_goes_through(const uint8_t *data, size_t size)
{
	static struct telnet to, from;
	uint8_t hello[TELNET_HELLO_MAX], answer[TELNET_ANSWER_MAX];
	unsigned n;
	telnet_hello(&to, hello);
	telnet_hello(&from, hello);
	size_t cut = size / 3;
	uint8_t *wire = malloc(2 * size + 2);
	size_t len = telnet_put(&to, wire, (const char *)data, cut);
	assert(len <= 2 * cut + 1);
	len += telnet_put(&to, wire + len, (const char *)data + cut, size - cut);
	assert(len <= 2 * size + 1);
	bool after_cr = false;
	size_t at = 0;
	for (size_t i = 0; i < len; i++) {
		unsigned event = telnet_input(&from, wire[i], answer, &n);
		if (event == TELNET_NOTHING)
			continue;
		while (at < size && after_cr && data[at] == '\n')
			at++, after_cr = false; /* an end of line is one key */
		assert(at < size && event == data[at]);
		after_cr = data[at++] == '\r';
	}
	assert(at == size || (at + 1 == size && after_cr && data[at] == '\n'));
	free(wire);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct telnet t;
	uint8_t hello[TELNET_HELLO_MAX];
	assert(telnet_hello(&t, hello) == TELNET_HELLO_MAX);
	size_t first = read_all(&t, data, size);
	assert(first <= size);
	/* Ends whatever is open, so that the same bytes mean the same again. */
	read_all(&t, (const uint8_t *)"\xff\xf0\xff\xf0", 4);
	size_t again = read_all(&t, data, size), once_more;
	read_all(&t, (const uint8_t *)"\xff\xf0\xff\xf0", 4);
	once_more = read_all(&t, data, size);
	assert(once_more <= again); /* only changes about our own options are left */
	no_loop(&t);
	text_goes_through(data, size);
	return 0;
}
