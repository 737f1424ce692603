/*
 * The progress of a run as text: rows of a table for a terminal, or one line at a time for a log.
 * live.c collects the figures and moves the cursor.
 *
 * Invariants
 * 1. A row is printable ASCII without an end of line. It has at most SCREEN_COLUMNS - 1 characters,
 *    so that no terminal wraps it; longer rows are cut.
 * 2. Columns do not move: large figures lose digits.
 */
#ifndef PKTGEN_REPORT_SCREEN_H
#define PKTGEN_REPORT_SCREEN_H

#include "tools/pktgen/measure/histogram.h"
#include "tools/pktgen/measure/rfc2544.h"

#define SCREEN_COLUMNS 80
#define SCREEN_STREAMS 18 /* rows of streams; with all other rows they fit a screen of 24 */

/* A stream, or all of them together. */
struct screen_row {
	const char *name;
	bool stamped;               /* false: its received frames are not judged */
	uint64_t sent, bytes;       /* without FCS */
	uint64_t received, received_bytes, missing, reordered, duplicates, corrupted;
	uint64_t tx_fps, tx_bps, rx_fps, rx_bps; /* of the last second or so; bits on the wire */
	struct histogram_summary latency;
};

/* The progress of a run. */
#define SCREEN_UNKNOWN UINT32_MAX
struct screen_progress {
	const char *state;
	uint64_t elapsed_ns;
	uint32_t permille; /* SCREEN_UNKNOWN: the run has no limit */
};

/* Nanoseconds left, if the run continues at the same pace. permille is 1 to 1000. */
uint64_t screen_left_ns(const struct screen_progress *p);

/* Each writes one row to line[SCREEN_COLUMNS] and returns its length. */
unsigned screen_head(char *line, const struct screen_progress *p);
unsigned screen_titles(char *line);
unsigned screen_row(char *line, const struct screen_row *row);
unsigned screen_more(char *line, unsigned streams); /* the number of streams without a row */
unsigned screen_trial(char *line, uint32_t number, const struct trial *trial,
                      const struct rfc2544_bounds *bounds);

/* One line with all figures, for a log that gets a line each second. line has SCREEN_LINE bytes. */
#define SCREEN_LINE 200
unsigned screen_line(char *line, const struct screen_progress *p, const struct screen_row *all);

#endif
