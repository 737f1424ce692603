/*
 * The server's side of Telnet (RFC 854, 855), as much as a console needs: bytes from the network
 * in, keys and answers out. No TCP, no clock, no memory but struct telnet.
 *
 * We offer two options in telnet_hello() and take part in no other:
 *     ECHO (RFC 857)  what is typed is shown by us, so a client shows it not (a password is seen by
 *                     neither) and sends each key when it is pressed
 *     SUPPRESS GO AHEAD (RFC 858)
 *
 * Of ours, by option (RFC 1143, without its queue: we change our mind about nothing):
 *     OFFERED   DO -> ON          DONT -> OFF
 *     ON        DO -> ON          DONT -> OFF, answered by WONT
 *     OFF       DO -> ON, answered by WILL     DONT -> OFF
 * Of others each DO is answered by WONT and each WILL by DONT, once an option: whatever a peer
 * says, the answers come to an end. WONT and DONT of what is off change nothing and are not
 * answered.
 *
 * Who knows no Telnet (nc) never agrees to ECHO: it gets none, as an NVT does.
 *
 * Deliberately missing: the Synch signal (its commands come in their place between the data, and
 * nothing in front of them waits long: control/remote.c), and with it DM; AO, GA, NOP, which nobody
 * sends to a console; what subnegotiations say.
 */
#ifndef NET_TELNET_H
#define NET_TELNET_H

#include "lib/types.h"

/* What a byte comes to, beside those of 0 to 255 that are keys. */
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
	uint8_t verb;               /* WILL, WONT, DO or DONT, whose option is to come */
	bool after_cr;              /* the last byte in was CR */
	bool put_cr;                /* the last byte out was CR */
	uint8_t echo, go_ahead;     /* enum telnet_option_state of what we offer */
	uint32_t refused[2][256 / 32]; /* options: [0] WONT has been said, [1] DONT */
};

#define TELNET_HELLO_MAX 6
#define TELNET_ANSWER_MAX 3

/* Begins; writes what is to be said first, and returns its length. */
unsigned telnet_hello(struct telnet *t, uint8_t to[TELNET_HELLO_MAX]);

/* Takes a byte: a key (an end of line is one '\r', however it is written; '\n' if it stands alone),
 * or an enum telnet_event. *answer bytes are to be sent, often 0. */
unsigned telnet_input(struct telnet *t, uint8_t byte, uint8_t to[TELNET_ANSWER_MAX],
                      unsigned *answer);

/* Shall we show what is typed? */
static inline bool telnet_echoes(const struct telnet *t)
{
	return t->echo == TELNET_ON;
}

/* Writes n bytes of text as they go over the network (RFC 854: IAC is doubled, a CR that ends no
 * line is followed by NUL), at most 2 n + 1 of them; returns how many. */
size_t telnet_put(struct telnet *t, uint8_t *to, const char *text, size_t n);

#endif
