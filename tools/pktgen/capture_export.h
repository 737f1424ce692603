/*
 * The captures of the last run or trial, on the control core: the data cores' logs as one pcapng
 * file. The file exists from the end of the run to the next order.
 *
 * The file is made while it is read. Up to HTTP_SESSIONS readers and the console read it at once,
 * each at its own place.
 */
#ifndef PKTGEN_CAPTURE_EXPORT_H
#define PKTGEN_CAPTURE_EXPORT_H

#include "control/management/page.h"
#include "control/console/shell.h"

/* To be called when the script has been read, before the ports start: data cores keep memory for
 * the captures that it asks for. */
void capture_export_ask(void);

/* NULL: there is a file; or why there is none. */
const char *capture_export_missing(void);

/* Of the file that is there: another one after each order. */
uint32_t capture_export_number(void);

/* Bytes of the logs that it is made of. */
uint64_t capture_export_bytes(void);

enum capture_export_have {
	CAPTURE_EXPORT_PIECE,
	CAPTURE_EXPORT_LATER, /* nothing yet: the place is being looked for */
	CAPTURE_EXPORT_END,
	CAPTURE_EXPORT_GONE,  /* there is another file, or none */
};

/* What the file of that number has from byte `at` on: *len bytes, valid until the next call. */
enum capture_export_have capture_export_piece(uint32_t number, uint64_t at, const char **text,
                                              size_t *len);

/* What was captured, by port. */
void capture_export_show(struct shell *sh);

/* A few lines of the file in base64 (RFC 4648 4), from *at on, which goes on. */
enum capture_export_have capture_export_lines(struct shell *sh, uint32_t number, uint64_t *at);

#endif
