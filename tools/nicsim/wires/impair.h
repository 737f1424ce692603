/*
 * Impairments of a cable: it loses, damages, duplicates or reorders frames, at random, or exactly
 * those it is told to. It counts what it did, so that a tester's report can be compared with it.
 *
 *     KIND=1%            each frame with that probability
 *     KIND=every:N       number N - 1 and every Nth after it
 *     KIND=at:N/N/...    these, in ascending order
 *
 * KIND is loss, corrupt, duplicate or reorder. Frames are counted from 0, separately for each
 * direction. frames=stamped counts and impairs test traffic only (stamped.h), so that ARP or ND in
 * between change nothing. A frame suffers at most one impairment, the first of these that applies.
 *
 * corrupt flips a bit of the stamp, or of the last byte of a frame without one, as a switch with
 * bad memory does, with a right FCS. A reordered frame waits until `overtake` other frames (default
 * 1) have passed it, however long that takes. Damaged frames and copies do not count, because a
 * receiver could not tell that they had passed it. Only one frame is held at a time: a frame due
 * for reordering meanwhile passes unchanged.
 */
#ifndef NICSIM_WIRES_IMPAIR_H
#define NICSIM_WIRES_IMPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/nicsim/frame.h"

struct json;

#define IMPAIR_LIST 32

enum impair_kind { IMPAIR_LOSS, IMPAIR_CORRUPT, IMPAIR_DUPLICATE, IMPAIR_REORDER, IMPAIR_KINDS };

struct impair_rule {
	double chance;
	uint64_t every;
	uint64_t at[IMPAIR_LIST];
	unsigned listed;
};

struct impair_rules {
	struct impair_rule of[IMPAIR_KINDS];
	bool any; /* at least one rule is set */
	bool stamped_only;
	uint64_t seed;     /* of the random rules, not 0 */
	uint64_t overtake; /* how many frames pass a reordered one */
};

struct impair {
	struct impair_rules rules;
	uint64_t frames;             /* frames counted */
	unsigned next[IMPAIR_KINDS]; /* position in each list */
	uint64_t done[IMPAIR_KINDS];
	uint64_t waits; /* how many more frames must pass the held one; 0: none is held */
	uint32_t held_bytes;
	uint8_t held[FRAME_MAX], damaged[FRAME_MAX];
};

/* Receives the resulting frames. */
typedef void impair_out(void *ctx, const uint8_t *data, uint32_t bytes, uint64_t now);

void impair_rules_init(struct impair_rules *r, uint64_t seed);

/* "KEY=VALUE". False: no such option, or its value is wrong. */
bool impair_rules_parse(struct impair_rules *r, const char *word);

/* Sets the rules; the count of frames restarts at 0. A held frame stays held until its time has
 * come. */
void impair_begin(struct impair *m, const struct impair_rules *r);

/* Passes a frame through; the resulting frames go to `out`. */
void impair_frame(struct impair *m, const uint8_t *data, uint32_t bytes, uint64_t now,
                  impair_out *out, void *ctx);

/* Adds members to the open object: what was done since impair_begin. */
void impair_stats(const struct impair *m, struct json *j);

#endif
