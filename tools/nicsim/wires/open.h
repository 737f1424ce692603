/*
 * Wires by their names on the command line (docs/nicsim.md). To add a wire: one file with its
 * struct wire_ops and a function NAME_open, declared here; a row in kinds[] (open.c); --help
 * (options.c).
 */
#ifndef NICSIM_WIRES_OPEN_H
#define NICSIM_WIRES_OPEN_H

#include "tools/nicsim/wires/wire.h"

#define WIRE_WORDS 24

/* "KIND:ARGUMENT;KEY=VALUE;…", split into words. */
struct wire_spec {
	char text[512];
	const char *argument; /* "" if there is none */
	const char *option[WIRE_WORDS];
	unsigned options;
	unsigned port;
	uint8_t mac[6]; /* of the model on this wire */
};

/* Opens a wire for `port`; NULL after a message on stderr. */
struct wire *wire_open(const char *text, unsigned port, const uint8_t mac[6]);

/* Called when all ports are open: every cable must have its other end. False after a message. */
bool wires_complete(void);

/* For wires: reports an error in an option or in the wire; returns NULL. */
struct wire *wire_bad(const struct wire_spec *s, const char *word, const char *what);

/* Each opens one kind of wire, whose ops->close frees it; NULL after wire_bad. */
struct wire *tap_open(const struct wire_spec *s);
struct wire *tap_fd_open(const struct wire_spec *s);
struct wire *link_open(const struct wire_spec *s);
struct wire *pcap_open(const struct wire_spec *s);
struct wire *stream_open(const struct wire_spec *s);
struct wire *gen_open(const struct wire_spec *s);
struct wire *sink_open(const struct wire_spec *s);
struct wire *none_open(const struct wire_spec *s);

bool links_complete(void);

/* "start", "stop" or options of a running generator. Returns NULL, or an error text. Modifies
 * `text`. */
const char *gen_command(struct wire *w, char *text);

/* Replaces the impairments (impair.h) of frames sent from this end of a link. Returns NULL, or an
 * error text. Modifies `text`. */
const char *link_command(struct wire *w, char *text);

#endif
