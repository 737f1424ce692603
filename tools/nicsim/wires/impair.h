/*
 * What a cable does to frames: it loses, damages, doubles them, or lets others overtake them; at
 * random, or exactly those that it is told to. What was done is counted, so that what a tester
 * reports can be held against it.
 *
 *     KIND=1%            each with that chance
 *     KIND=every:N       number N - 1 and every Nth after it
 *     KIND=at:N/N/...    these, in ascending order
 *
 * KIND is loss, corrupt, duplicate or reorder. Frames are counted from 0, of both ways apart;
 * frames=stamped counts and touches test traffic only (stamped.h), so that ARP or ND in between
 * change nothing. One thing at most befalls a frame, the first of these that it is due for.
 *
 * corrupt flips a bit of the stamp, of other frames one of the last byte: as a switch with bad
 * memory does, with a right FCS. A frame to be reordered waits until `overtake` others (1) have
 * passed it, however long that takes; damaged ones and copies do not count, for nobody could tell
 * by them. There is one such place: who is due while it is taken just passes.
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
	bool any; /* of these is there */
	bool stamped_only;
	uint64_t seed;     /* of chance, not 0 */
	uint64_t overtake; /* frames that pass one that is reordered */
};

struct impair {
	struct impair_rules rules;
	uint64_t frames;             /* that were counted */
	unsigned next[IMPAIR_KINDS]; /* of the lists */
	uint64_t done[IMPAIR_KINDS];
	uint64_t waits; /* how many more the held frame waits for; 0: none is held */
	uint32_t held_bytes;
	uint8_t held[FRAME_MAX], damaged[FRAME_MAX];
};

/* Where frames come out. */
typedef void impair_out(void *ctx, const uint8_t *data, uint32_t bytes, uint64_t now);

void impair_rules_init(struct impair_rules *r, uint64_t seed);

/* "KEY=VALUE". False: no such option, or its value is wrong. */
bool impair_rules_parse(struct impair_rules *r, const char *word);

/* These are the rules from now on, and frames are counted from 0 again. A frame that is held stays
 * so until its time has come. */
void impair_begin(struct impair *m, const struct impair_rules *r);

/* A frame goes in; those that come out of it go to `out`. */
void impair_frame(struct impair *m, const uint8_t *data, uint32_t bytes, uint64_t now,
                  impair_out *out, void *ctx);

/* Members into the open object: what was done since the beginning. */
void impair_stats(const struct impair *m, struct json *j);

#endif
