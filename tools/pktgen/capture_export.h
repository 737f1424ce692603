/*
 * The captures of the last run or trial, on the control core: what the data cores' logs hold, as
 * one pcapng file, once the run is over. The next order is its end.
 *
 * The file is made while it is read, by up to HTTP_SESSIONS readers and the console at once, each
 * in its own place.
 */
#ifndef PKTGEN_CAPTURE_EXPORT_H
#define PKTGEN_CAPTURE_EXPORT_H

#include "control/management/page.h"
#include "control/console/shell.h"

/* The script has been read, the ports are about to start: data cores keep memory for what it
 * wants. */
void captures_ask(void);

/* NULL: there is a file; or why there is none. */
const char *captures_missing(void);

/* Of the file that is there: another one after each order. */
uint32_t captures_number(void);

/* Bytes of the logs that it is made of. */
uint64_t captures_bytes(void);

enum captures_have {
	CAPTURES_PIECE,
	CAPTURES_LATER, /* nothing yet: the place is being looked for */
	CAPTURES_END,
	CAPTURES_GONE,  /* there is another file, or none */
};

/* What the file of that number has from byte `at` on: *len bytes, valid until the next call. */
enum captures_have captures_piece(uint32_t number, uint64_t at, const char **text, size_t *len);

/* What was captured, by port. */
void captures_show(struct shell *sh);

/* A few lines of the file in base64 (RFC 4648 4), from *at on, which goes on. */
enum captures_have captures_lines(struct shell *sh, uint32_t number, uint64_t *at);

#endif
