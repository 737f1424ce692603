/*
 * What the tests of ARP and of neighbour discovery share: ops that record each call as one word
 * group of a text, and count the frames they are given. The tests are scripts: at time t this
 * happens, expect exactly this text. Times are seconds. A MAC appears as its last octet, a frame as
 * its mark (#).
 */
#ifndef TESTS_UNIT_RIG_NEIGH_RIG_H
#define TESTS_UNIT_RIG_NEIGH_RIG_H

#include "tests/unit/rig/packets.h"

#define S(x) ((uint64_t)((x) * 1000000000.0))

/* our_mac on port 0, our_mac1 on port 1 */
extern const uint8_t our_mac[6], our_mac1[6], mac_a[6], mac_b[6], broadcast[6];

extern unsigned given, released, refused, lost; /* frames, for invariant 1 of the tables */
extern bool rig_up[64];                         /* neighbours that are resolved */

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void expect_at(const char *want, int line);
#define expect(want) expect_at(want, __LINE__)
void hush(void); /* clears the text */

/* Clears the text and the counts of frames; no neighbour is resolved. */
void neigh_rig_reset(void);

/* Makes a frame to be sent to a neighbour, with this mark. */
void neigh_rig_frame(uint8_t f[60], uint8_t mark);

/* The ops of both protocols. */
void on_up(void *ctx, unsigned i, const uint8_t *mac);
void on_down(void *ctx, unsigned i);
void on_release(void *ctx, unsigned i, uint8_t *f, unsigned len);
void on_unreachable(void *ctx, unsigned i, uint8_t *f, unsigned len);
void on_lost(void *ctx, unsigned i, uint8_t *f, unsigned len);
void on_removed(void *ctx, unsigned i);

#endif
