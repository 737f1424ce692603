/*
 * Test traffic: the format of a generator's frames, and the judgement of those that come back, on
 * any port.
 *
 * A frame is Ethernet, IPv4 without options, UDP, and a payload that begins with struct stamp;
 * after the stamp, byte i of the frame is pattern[i]. The stamp's 16-bit words sum to zero (`check`
 * ensures this), so a frame's UDP checksum depends only on addresses, ports and length, and a
 * correct UDP checksum verifies the stamp as well.
 *
 * A stream belongs to the generator of one port. Its numbers begin at `first` and increase by one,
 * so lost = sent - received.
 */
#ifndef NICSIM_WIRES_JUDGE_H
#define NICSIM_WIRES_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/nicsim/frame.h"
#include "tools/nicsim/packet/sum.h"

struct json;

#define STREAMS      16
#define STAMP_MAGIC  0x4e53 /* "SN" in memory */
#define STAMP_AT     42     /* from the start of the frame */
#define JUDGE_WINDOW 65536  /* how many numbers back a duplicate is recognised */

struct stamp {
	uint16_t magic, stream;
	uint64_t number;
	uint32_t ns; /* low 32 bits of the time it was sent */
	uint16_t check;
} __attribute__((packed));

struct stream {
	bool used;
	uint64_t first, sent; /* written by the generator: the next number is first + sent */
	uint64_t received, bytes, reordered, duplicates, corrupted, stale;
	uint64_t next; /* 1 + the highest number received */
	uint64_t seen[JUDGE_WINDOW / 64];
};

extern struct stream streams[STREAMS];
extern uint8_t pattern[FRAME_MAX];
extern bool judge_fours; /* the CPU has AVX2, with which judge_frames is faster */

/* The findings of a judging wire, over all streams. */
struct judge {
	uint64_t judged;   /* frames of this process's generators */
	uint64_t corrupted; /* of which these had wrong content or checksums */
	uint64_t foreign;  /* other frames */
};

void judge_init(void);
void judge_frame(struct judge *g, const uint8_t *data, uint32_t bytes, uint64_t now);
/* Judges n <= 64 frames, in order; bit i of the result: frame i was foreign. */
uint64_t judge_frames(struct judge *g, const struct frame *v, unsigned n, uint64_t now);

/* Resets the statistics; frames still in flight will count as `stale`. */
void stream_restart(struct stream *s);

/* For flows.c, which judges on its own. stream_begin: a stream that begins with number `first`.
 * stream_note: an intact frame of the stream, with stamp t; false: it is stale, or has come before.
 * stream_stats: adds the results to the open object, given that `sent` frames were sent. */
void stream_begin(struct stream *s, uint64_t first);
bool stream_note(struct stream *s, const struct stamp *t, uint32_t bytes);
void stream_stats(const struct stream *s, uint64_t sent, struct json *j);

/* Adds the member "streams" to the statistics. */
void judge_stats(struct json *j);

/* --- parts of an Internet checksum (packet/sum.h) small enough for plain addition --- */

static inline uint32_t sum_load16(const uint8_t *p)
{
	uint16_t w;
	__builtin_memcpy(&w, p, sizeof w);
	return w;
}

static inline uint64_t sum_load32(const uint8_t *p)
{
	uint32_t w;
	__builtin_memcpy(&w, p, sizeof w);
	return w;
}

/* Sum of eight bytes: below 2^33. */
static inline uint64_t sum_load64(const uint8_t *p)
{
	return sum_load32(p) + sum_load32(p + 4);
}

/* Sum of the pattern in a frame between the stamp and `bytes`. */
uint64_t pattern_sum(uint32_t bytes);

#endif
