/*
 * An impaired link: it loses, duplicates, delays, reorders, corrupts and marks frames at random, and can
 * limit the rate. Protocols can thus be tested on any Linux machine, with or without netem. The random
 * numbers are seeded: the same sequence of frames gets the same impairments. The sequence itself
 * depends on the peer and its timing.
 *
 * Frames are copied, with `head_bytes` bytes before them that belong to the device's driver, and kept in
 * a heap by the time at which they leave. ARP and ICMPv6, which includes neighbour discovery, are
 * delayed but not impaired otherwise: a lost answer would cost a second and test nothing of TCP.
 */
#ifndef EXAMPLES_IMPAIR_H
#define EXAMPLES_IMPAIR_H

#include <stdbool.h>
#include <stdint.h>

/* Impairments; probabilities are in parts per million. */
struct impair_rules {
	uint32_t loss, duplicate, reorder, corrupt, mark;
	uint32_t delay_us, jitter_us;
	uint32_t reorder_us; /* extra delay of a reordered frame */
	uint32_t kbit;       /* rate per second; 0: no limit */
	uint32_t limit;      /* most frames that wait; the others are lost */
};

struct impair_counts {
	uint64_t passed, lost, duplicated, reordered, corrupted, marked, overflowed;
};

struct impair_frame;

struct impair {
	struct impair_rules rules;
	struct impair_counts counts;
	bool on;
	unsigned head_bytes;      /* bytes before each Ethernet header */
	uint64_t random;          /* state of the generator */
	uint64_t order;           /* frames so far; frames with the same time keep their order */
	uint64_t busy_us;         /* time at which all frames so far will have been sent (rate) */
	struct impair_frame **heap;
	uint32_t waiting, room;
	struct impair_frame *taken; /* the frame returned by the last impair_take */
};

/*
 * Rules from a text such as "loss=1,duplicate=0.5,reorder=2,corrupt=0.1,mark=5,delay=20,jitter=3,
 * late=2,rate=100,limit=1000": percent, milliseconds, Mbit/s, frames. NULL: no impairment. If the text
 * is invalid, prints the reason on stderr and returns false.
 */
bool impair_init(struct impair *i, const char *text, uint64_t seed, unsigned head_bytes);

/* A frame of `len` bytes, head_bytes included, enters the link at now_us. It is copied. */
void impair_put(struct impair *i, const void *frame, uint32_t len, uint64_t now_us);

/* The next frame that leaves the link by now_us; NULL: none yet. It is valid until the next call. */
const uint8_t *impair_take(struct impair *i, uint64_t now_us, uint32_t *len);

/* The time at which the next frame leaves; UINT64_MAX: the link is empty. */
uint64_t impair_deadline(const struct impair *i);

#endif
