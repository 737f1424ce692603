/*
 * The server side of Telnet (RFC 854, 855), as far as a console needs it: takes bytes from the
 * network and returns keys and answers. No TCP, no clock, no memory except struct telnet.
 *
 * telnet_hello() offers two options; no others are supported:
 *     ECHO (RFC 857)  the server shows the input; the client does not (so neither side shows a
 *                     password) and sends each key when it is pressed
 *     SUPPRESS GO AHEAD (RFC 858)
 *
 * States of our options (RFC 1143, without its queue, because we never change our own offer):
 *     OFFERED   DO -> ON          DONT -> OFF
 *     ON        DO -> ON          DONT -> OFF, answered by WONT
 *     OFF       DO -> ON, answered by WILL     DONT -> OFF
 * For other options each DO is answered by WONT and each WILL by DONT, once per option, so the
 * answers are finite whatever the peer sends. WONT and DONT of an option that is off change nothing
 * and are not answered.
 *
 * A client without Telnet (nc) never agrees to ECHO and gets no echo, like an NVT.
 *
 * Deliberately missing: the Synch signal (its commands are handled in sequence with the data, and
 * preceding data does not wait long: control/management/remote.c), and with it DM; AO, GA, NOP, which clients
 * do not send to a console; the content of subnegotiations.
 */
#ifndef NET_TELNET_H
#define NET_TELNET_H

#include "lib/types.h"

/* Result of a byte, beside keys 0 to 255. */
enum telnet_event {
	TELNET_NOTHING = 256,
	TELNET_INTERRUPT,     /* IP, or BRK */
	TELNET_ARE_YOU_THERE,
	TELNET_ERASE_CHARACTER,
	TELNET_ERASE_LINE,
};

enum telnet_option_state { TELNET_OFFERED, TELNET_ON, TELNET_OFF };

/* All fields are private. */
struct telnet {
	uint8_t state;
	uint8_t verb;               /* WILL, WONT, DO or DONT; its option follows */
	bool after_cr;              /* the last received byte was CR */
	bool put_cr;                /* the last sent byte was CR */
	uint8_t echo, go_ahead;     /* enum telnet_option_state of our options */
	uint32_t refused[2][256 / 32]; /* options for which [0] WONT, [1] DONT was sent */
};

#define TELNET_HELLO_MAX 6
#define TELNET_ANSWER_MAX 3

/* Initializes t, writes the first bytes to send, and returns their length. */
unsigned telnet_hello(struct telnet *t, uint8_t to[TELNET_HELLO_MAX]);

/* Processes a byte. Returns a key (every end of line is one '\r'; a lone '\n' stays '\n') or an
 * enum telnet_event. *answer bytes, often 0, are to be sent. */
unsigned telnet_input(struct telnet *t, uint8_t byte, uint8_t to[TELNET_ANSWER_MAX],
                      unsigned *answer);

/* True if we echo the input. */
static inline bool telnet_echoes(const struct telnet *t)
{
	return t->echo == TELNET_ON;
}

/* Encodes n bytes of text for the network (RFC 854: IAC is doubled, and a CR that does not end a
 * line is followed by NUL), at most 2 n + 1 bytes; returns how many. */
size_t telnet_put(struct telnet *t, uint8_t *to, const char *text, size_t n);

#endif
