/*
 * The captures of the last run or trial, on the control core: what the data cores' logs hold, as
 * one pcapng file, once the run is over. The next order is its end.
 *
 * The file is made while it is read, by up to HTTP_SESSIONS readers and the console at once, each
 * in its own place.
 */
#ifndef PKTGEN_CAPTURES_H
#define PKTGEN_CAPTURES_H

#include "control/page.h"
#include "control/shell.h"

/* The script has been read, the ports are about to start: data cores keep memory for what it
 * wants. */
void captures_ask(void);

/* NULL: there is a file; or why there is none. */
const char *captures_missing(void);

/* Of the file that is there: another one after each order. */
uint32_t captures_number(void);

/* Bytes of the logs that it is made of. */
uint64_t captures_bytes(void);

/* What the file of that number has from byte `at` on; 0: no more, or it is gone. Valid until the
 * next call. */
size_t captures_piece(uint32_t number, uint64_t at, const char **text);

/* What was captured, by port. */
void captures_show(struct shell *sh);

/* A few lines of the file in base64 (RFC 4648 4), from *at on, which goes on. False: there is no
 * more. */
bool captures_lines(struct shell *sh, uint32_t number, uint64_t *at);

#endif
