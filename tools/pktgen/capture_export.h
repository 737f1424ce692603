/*
 * The captures of the last run or trial, on the control core: the data cores' logs as one pcapng
 * file. The file exists from the end of the run to the next order.
 *
 * Blocks of the file are made when they are read. Up to HTTP_SESSIONS readers and the console read
 * at the same time, each at its own place.
 */
#ifndef PKTGEN_CAPTURE_EXPORT_H
#define PKTGEN_CAPTURE_EXPORT_H

#include "control/management/page.h"
#include "control/console/shell.h"

/* Tells the data cores which ports the script captures, so that they reserve memory. To be called
 * after the script has been read and before the ports start. */
void capture_export_ask(void);

/* NULL if there is a file, else the reason why there is none. */
const char *capture_export_missing(void);

/* The number of the present file; it changes with each order. */
uint32_t capture_export_number(void);

/* Bytes used in the logs that the file is made of. */
uint64_t capture_export_bytes(void);

enum capture_export_have {
	CAPTURE_EXPORT_PIECE,
	CAPTURE_EXPORT_LATER, /* nothing yet, the search for the place continues: call again */
	CAPTURE_EXPORT_END,
	CAPTURE_EXPORT_GONE,  /* there is another file, or none */
};

/* A piece of file `number` from byte `at` on: *len bytes at *text, valid until the next call. */
enum capture_export_have capture_export_piece(uint32_t number, uint64_t at, const char **text,
                                              size_t *len);

/* Prints the counts of captured frames by port, and the memory used. */
void capture_export_show(struct shell *sh);

/* Prints a few lines of the file in base64 (RFC 4648 4) from byte *at on, and advances *at. */
enum capture_export_have capture_export_lines(struct shell *sh, uint32_t number, uint64_t *at);

#endif
