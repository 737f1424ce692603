/*
 * Captures: the frames that ports receive during a run.
 *
 * A data core appends a record of each received frame to its own log until the memory is full.
 * Further frames are only counted. After the run the logs are read as one pcapng file
 * (net/pcapng.h): a section header, the interfaces, the packets of all logs in the order of time,
 * and the interfaces' statistics. The file is longer than any buffer, so it is made block by block.
 * A struct capture_place says where in the file a block begins.
 *
 * Invariants
 * 1. Until it is reset a log only grows: bytes before `used` do not change, and `used` is written
 *    last (release).
 * 2. A core keeps the first frames: after a frame without room it keeps no more. If a port has a
 *    limit, each core keeps that many, so the port's first frames are among those kept.
 * 3. The contents of a log are not trusted. A record that exceeds the log, or keeps more bytes than
 *    its frame or the plan has, ends the log.
 * 4. A block is a function of file and place: the same place gives the same block.
 * 5. Each call examines a bounded number of records.
 */
#ifndef PKTGEN_MEASURE_CAPTURE_H
#define PKTGEN_MEASURE_CAPTURE_H

#include "lib/pkt.h"
#include "net/pcapng.h"
#include "tools/pktgen/plan.h"

#define CAPTURE_LOGS_MAX 256
#define CAPTURE_BLOCK_MAX (PLAN_FRAME_MAX + PCAPNG_OTHER_MAX)

/* --- logs --- */

/* Frames of a port during the capture. */
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

/* Stands before the kept bytes of the frame, which are padded to a multiple of 8. */
struct capture_record {
	uint64_t ns;
	uint16_t len;  /* the frame's, without FCS */
	uint16_t kept; /* bytes in the log, from the first of the frame on */
	uint8_t port;
	uint8_t reserved[3];
};
_Static_assert(sizeof(struct capture_record) == 16, "records are 8-byte aligned");

/* Logs n frames that the port has received at now_ns. */
void capture_vector(struct capture_log *log, const struct plan_capture *what, const struct pkt *v,
                    unsigned n, unsigned port, uint64_t now_ns);

/* --- the file --- */

struct capture_file {
	uint64_t epoch_ns; /* time of the records that is 0 in the file */
	struct plan_capture port[PLAN_PORTS_MAX];
	uint64_t bps[PLAN_PORTS_MAX]; /* speed of the port; 0: not known */
	unsigned logs;
	struct capture_log log[CAPTURE_LOGS_MAX];
};

struct capture_place {
	uint64_t at;    /* offset in the file at which the block begins */
	unsigned stage; /* the kind of block */
	unsigned port;  /* of an interface or statistics block */
	unsigned log;   /* of a packet; CAPTURE_LOGS_MAX: the packet is not found yet */
	uint64_t ns;    /* of the last packet before this place */
	uint64_t next[CAPTURE_LOGS_MAX]; /* offset of the next record in each log */
	uint64_t given[PLAN_PORTS_MAX];  /* packets of the port before this place */
};

/* Sets *p to the beginning of the file. */
void capture_begin(struct capture_place *p);

/* Writes the block of the place into out (CAPTURE_BLOCK_MAX bytes). Returns its length; 0: this is
 * the file's end, or capture_next must first go on looking for the packet. */
size_t capture_block(const struct capture_file *f, const struct capture_place *p, uint8_t *out);
bool capture_is_end(const struct capture_place *p);

/* Moves *p to the next place; len is the length of the block at this one. */
void capture_next(const struct capture_file *f, struct capture_place *p, size_t len);

#endif
