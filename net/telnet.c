/* See telnet.h. */
#include "net/telnet.h"

#include "lib/mem.h"

/* RFC 854, "Telnet command structure" */
enum command {
	SE = 240,
	BRK = 243,
	IP = 244,
	AYT = 246,
	EC = 247,
	EL = 248,
	SB = 250,
	WILL = 251,
	WONT = 252,
	DO = 253,
	DONT = 254,
	IAC = 255,
};

enum option { OPTION_ECHO = 1, OPTION_SUPPRESS_GO_AHEAD = 3 };

/* DATA: text. COMMAND: after IAC. OPTION: after IAC and a verb. SUB: in a subnegotiation.
 * SUB_COMMAND: after an IAC in a subnegotiation. */
enum state { DATA, COMMAND, OPTION, SUB, SUB_COMMAND };

static unsigned say(uint8_t *to, enum command verb, uint8_t option)
{
	to[0] = IAC;
	to[1] = (uint8_t)verb;
	to[2] = option;
	return 3;
}

unsigned telnet_hello(struct telnet *t, uint8_t to[TELNET_HELLO_MAX])
{
	memset(t, 0, sizeof *t);
	unsigned n = say(to, WILL, OPTION_ECHO);
	return n + say(to + n, WILL, OPTION_SUPPRESS_GO_AHEAD);
}

/* Answers DO or DONT of an option that we offer. */
static unsigned ours(uint8_t *option_state, bool on, uint8_t option, uint8_t *to)
{
	enum telnet_option_state was = (enum telnet_option_state)*option_state;
	*option_state = on ? TELNET_ON : TELNET_OFF;
	if (on && was == TELNET_OFF)
		return say(to, WILL, option);
	return !on && was == TELNET_ON ? say(to, WONT, option) : 0;
}

/* Refuses WILL or DO of an option that we do not support. */
static unsigned refuse(struct telnet *t, enum command verb, uint8_t option, uint8_t *to)
{
	uint32_t *said = &t->refused[verb == DONT][option / 32], bit = (uint32_t)1 << option % 32;
	if (*said & bit)
		return 0;
	*said |= bit;
	return say(to, verb, option);
}

static unsigned negotiate(struct telnet *t, uint8_t option, uint8_t *to)
{
	bool asks_us = t->verb == DO || t->verb == DONT;
	if (asks_us && option == OPTION_ECHO)
		return ours(&t->echo, t->verb == DO, option, to);
	if (asks_us && option == OPTION_SUPPRESS_GO_AHEAD)
		return ours(&t->go_ahead, t->verb == DO, option, to);
	if (t->verb == DO)
		return refuse(t, WONT, option, to);
	return t->verb == WILL ? refuse(t, DONT, option, to) : 0;
}

/* Handles the byte after IAC. */
static unsigned command(struct telnet *t, uint8_t byte)
{
	t->state = DATA;
	switch (byte) {
	case IAC:
		return byte; /* data: 255 */
	case WILL:
	case WONT:
	case DO:
	case DONT:
		t->verb = byte;
		t->state = OPTION;
		return TELNET_NOTHING;
	case SB:
		t->state = SUB;
		return TELNET_NOTHING;
	case BRK:
	case IP:
		return TELNET_INTERRUPT;
	case AYT:
		return TELNET_ARE_YOU_THERE;
	case EC:
		return TELNET_ERASE_CHARACTER;
	case EL:
		return TELNET_ERASE_LINE;
	default:
		return TELNET_NOTHING;
	}
}

/* RFC 854, "The NVT printer and keyboard": CR LF ends a line, CR NUL is a CR. Both mean Enter
 * here. */
static unsigned data(struct telnet *t, uint8_t byte)
{
	bool second = t->after_cr && (byte == '\n' || byte == 0);
	t->after_cr = byte == '\r';
	return second ? TELNET_NOTHING : byte;
}

unsigned telnet_input(struct telnet *t, uint8_t byte, uint8_t to[TELNET_ANSWER_MAX],
                      unsigned *answer)
{
	*answer = 0;
	switch ((enum state)t->state) {
	case DATA:
		if (byte != IAC)
			return data(t, byte);
		t->state = COMMAND;
		return TELNET_NOTHING;
	case COMMAND:
		return command(t, byte);
	case OPTION:
		t->state = DATA;
		*answer = negotiate(t, byte, to);
		return TELNET_NOTHING;
	case SUB:
		t->state = byte == IAC ? SUB_COMMAND : SUB;
		return TELNET_NOTHING;
	case SUB_COMMAND:
		if (byte == SE || byte == IAC) {
			t->state = byte == SE ? DATA : SUB;
			return TELNET_NOTHING;
		}
		return command(t, byte); /* the subnegotiation was not terminated */
	}
	return TELNET_NOTHING;
}

size_t telnet_put(struct telnet *t, uint8_t *to, const char *text, size_t n)
{
	size_t at = 0;
	for (size_t i = 0; i < n; i++) {
		uint8_t byte = (uint8_t)text[i];
		if (t->put_cr && byte != '\n')
			to[at++] = 0;
		if (byte == IAC)
			to[at++] = IAC;
		to[at++] = byte;
		t->put_cr = byte == '\r';
	}
	return at;
}
