/*
 * A bad link: loses, doubles, delays, reorders, damages and marks frames by chance, and is slow if
 * asked to be, so that what a protocol does about it can be seen (and tested) on any Linux machine,
 * whatever its kernel has of netem. The chance is a seeded generator: the same frames in meet the
 * same fate; which frames come depends on the peer and its timing.
 *
 * Frames are copied, with a few bytes in front (`head_bytes`) that belong to the binding, and lie
 * in a heap by the time at which they go on. ARP and ICMPv6, which has neighbour
 * discovery, are delayed but never harmed: a lost answer costs a second and says nothing of TCP.
 */
#ifndef EXAMPLES_IMPAIR_H
#define EXAMPLES_IMPAIR_H

#include <stdbool.h>
#include <stdint.h>

/* What becomes of frames; probabilities in parts of a million. */
struct impair_rules {
	uint32_t loss, duplicate, reorder, corrupt, mark;
	uint32_t delay_us, jitter_us;
	uint32_t reorder_us; /* how much later one that is reordered goes */
	uint32_t kbit;       /* a second; 0: as fast as they come */
	uint32_t limit;      /* frames that wait; more are lost */
};

struct impair_counts {
	uint64_t passed, lost, duplicated, reordered, corrupted, marked, overflowed;
};

struct impair_frame;

struct impair {
	struct impair_rules rules;
	struct impair_counts counts;
	bool on;
	unsigned head_bytes;      /* in front of each Ethernet header */
	uint64_t random;          /* state of the generator */
	uint64_t order;           /* frames so far: those of one time keep their order */
	uint64_t busy_us;         /* when the link will have sent what it has (rate) */
	struct impair_frame **heap;
	uint32_t waiting, room;
	struct impair_frame *taken; /* what impair_take gave out last */
};

/*
 * Rules from a text such as "loss=1,duplicate=0.5,reorder=2,corrupt=0.1,mark=5,delay=20,jitter=3,
 * late=2,rate=100,limit=1000": percent, milliseconds, Mbit/s, frames. Returns false, having said
 * why on stderr, when it cannot be read. NULL: no trouble at all.
 */
bool impair_init(struct impair *i, const char *text, uint64_t seed, unsigned head_bytes);

/* A frame of `len` bytes, head_bytes included, enters the link at now_us. It is copied. */
void impair_put(struct impair *i, const void *frame, uint32_t len, uint64_t now_us);

/* The next frame that leaves it by now_us, the caller's until the next call; NULL: none yet. */
const uint8_t *impair_take(struct impair *i, uint64_t now_us, uint32_t *len);

/* When the next one leaves; UINT64_MAX: it is empty. */
uint64_t impair_deadline(const struct impair *i);

#endif
