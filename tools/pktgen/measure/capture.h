/*
 * Captures: what ports receive while a run is on.
 *
 * A data core appends a record of each frame that it receives to its own log until the memory is
 * full; further frames are counted. After the run the logs are read as one pcapng file
 * (net/pcapng.h): a section header, the interfaces, the packets of all logs in the order of time,
 * the interfaces' statistics. The file is longer than any buffer, so it is made block by block: a
 * struct capture_place is where a block begins.
 *
 * Invariants
 * 1. A log only grows until it is begun anew: `used` is written last (release), what lies before
 *    it does not change.
 * 2. A core keeps the frames that came first: after one frame without room it keeps no more. If a
 *    port has a limit, each core keeps that many, so the first frames of all cores are kept.
 * 3. The contents of a log are not trusted: a record that exceeds the log, or the bytes that are
 *    kept of a frame, ends the log.
 * 4. A block is a function of file and place: the same place gives the same block.
 * 5. Each call looks at a bounded number of records, however many are left out.
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
