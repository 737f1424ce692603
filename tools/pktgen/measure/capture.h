/*
 * Captures: what ports receive while a run is on.
 *
 * A data core appends what it receives to a log of its own: a record for each frame, until the
 * memory is full; what comes then is counted. When the run is over who reads the logs gets them
 * as one pcapng file (net/pcapng.h): a section header, the interfaces, the packets of all logs in
 * the order of time, the interfaces' statistics. The file is longer than any buffer, so it is made
 * block by block: a struct capture_place is where one begins.
 *
 * Invariants
 * 1. A log only grows until it is begun anew: `used` is written last (release), what lies before
 *    it does not change.
 * 2. A core keeps what came first: after one frame that found no room nothing more is kept. Of a
 *    port with a limit each core keeps as many, so the first ones of all cores are there.
 * 3. Of a log's memory nothing is believed: a record that does not lie within it, or keeps more
 *    than is kept of a frame, is its end.
 * 4. A block is a function of file and place: who asks again gets the same.
 * 5. No call looks at more than a bounded number of records, however many nobody wants.
 */
#ifndef PKTGEN_MEASURE_CAPTURE_H
#define PKTGEN_MEASURE_CAPTURE_H

#include "lib/pkt.h"
#include "net/pcapng.h"
#include "tools/pktgen/plan.h"

#define CAPTURE_LOGS_MAX 64
#define CAPTURE_BLOCK_MAX (PLAN_FRAME_MAX + PCAPNG_OTHER_MAX)

/* --- logs --- */

/* Frames of a port, while it was captured. */
struct capture_count {
	uint64_t received;
	uint64_t kept;
	uint64_t no_room;
};

/* Written by one data core, read by the control core. */
struct capture_log {
	uint8_t *memory; /* 8-byte aligned */
	uint64_t bytes;
	uint64_t used;
	struct capture_count port[PLAN_PORTS_MAX];
};

/* Ahead of the bytes that were kept, which are filled up to a multiple of 8. */
struct capture_record {
	uint64_t ns;
	uint16_t len;  /* the frame's, without FCS */
	uint16_t kept; /* its first bytes */
	uint8_t port;
	uint8_t reserved[3];
};
_Static_assert(sizeof(struct capture_record) == 16, "records are 8-byte aligned");

/* n frames that the port has received. */
void capture_vector(struct capture_log *log, const struct plan_capture *what, const struct pkt *v,
                    unsigned n, unsigned port, uint64_t now_ns);

/* --- the file --- */

struct capture_file {
	uint64_t epoch_ns; /* of the records' time; it is 0 in the file */
	struct plan_capture port[PLAN_PORTS_MAX];
	uint64_t bps[PLAN_PORTS_MAX]; /* 0: not known */
	unsigned logs;
	struct capture_log log[CAPTURE_LOGS_MAX];
};

struct capture_place {
	uint64_t at;    /* of the file: where its block begins */
	unsigned stage; /* what the block is */
	unsigned port;  /* or: */
	unsigned log;   /* of the record that it is about; CAPTURE_LOGS_MAX: none was found yet */
	uint64_t ns;    /* of the last record */
	uint64_t next[CAPTURE_LOGS_MAX]; /* in each log the next record */
	uint64_t given[PLAN_PORTS_MAX];  /* packets of the port before this place */
};

/* The beginning of the file. */
void capture_begin(struct capture_place *p);

/* The block of that place, into CAPTURE_BLOCK_MAX bytes. Returns its length; 0: it is yet to be
 * looked for, by capture_next, or this is the file's end. */
size_t capture_block(const struct capture_file *f, const struct capture_place *p, uint8_t *out);
bool capture_is_end(const struct capture_place *p);

/* Goes on to the place behind that block of `len` bytes. */
void capture_next(const struct capture_file *f, struct capture_place *p, size_t len);

#endif
