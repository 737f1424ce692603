/*
 * A replay: the frames of a capture, laid out so that they can be sent again and again without
 * being copied, and when each of them is due. The control core makes it in published memory once
 * for each stream that replays a file; data cores and cards read it.
 *
 *     table of struct replay_frame | 16 bytes of zeros, frame | 16 bytes of zeros, frame | ...
 *
 * A frame begins on a multiple of REPLAY_ALIGN, with at least NIC_SLOT_ROOM zeros before it, as the
 * slots of a transmit ring want it (drivers/nic.h).
 *
 * The file decides order, bytes and times. Of its packets
 *
 * - those that were cut off when they were captured, those without a whole Ethernet header and
 *   those longer than any card here sends are left out, and counted: they cannot be sent as they
 *   were;
 * - those shorter than Ethernet's minimum are padded with zeros, as a card does: a capture has the
 *   frames of its own host without padding, and none with the FCS;
 * - those that are older than one before them (several queues were captured) are due together with
 *   it: the order is that of the file.
 *
 * Time begins at 0 with the first frame. The file does not say when a next round begins after its
 * last frame. That gap is the mean distance of the frames.
 */
#ifndef PKTGEN_FRAMES_REPLAY_H
#define PKTGEN_FRAMES_REPLAY_H

#include "lib/types.h"

#define REPLAY_ALIGN 16
#define REPLAY_ROOM 16

struct replay_frame {
	uint64_t ns;    /* when it is due, from the first on */
	uint32_t place; /* from the table's beginning, in units of REPLAY_ALIGN */
	uint16_t len;   /* without FCS */
};

/* What was found in a file. */
struct replay_count {
	uint64_t frames;
	uint64_t bytes;  /* without FCS, filled up */
	uint64_t memory; /* that replay_lay wants */
	uint64_t cut, too_short, too_long; /* packets left out */
	uint64_t filled; /* frames that were filled up */
	uint64_t older;  /* than one before them */
	uint64_t ns;     /* from the first to the last */
	uint64_t packet; /* after an error: where, from 1; 0: nowhere */
	const char *why; /* and what it was */
};

struct replay {
	const struct replay_frame *frame; /* NULL: there is no replay */
	uint32_t frames;   /* at least 1 */
	uint16_t len_max;
	uint64_t bytes;    /* of a round */
	uint64_t round_ns; /* from a frame to itself in the next round */
};

/* Reads a file through. E_INVAL: it is none, or has no frame to be sent: out->why. */
int replay_measure(const uint8_t *file, size_t bytes, struct replay_count *out);

/* Lays out what replay_measure has counted, in count->memory bytes aligned to REPLAY_ALIGN.
 * Stations: six bytes that replace those of every frame, or NULL. */
void replay_lay(struct replay *t, uint8_t *memory, const uint8_t *file, size_t bytes,
                const struct replay_count *count, const uint8_t *mac_dst, const uint8_t *mac_src);

static inline const uint8_t *replay_data(const struct replay *t, uint32_t frame)
{
	return (const uint8_t *)t->frame + (size_t)t->frame[frame].place * REPLAY_ALIGN;
}

/* Frames of so many rounds; the greatest number for 0, without end, and where it does not fit. */
static inline uint64_t replay_total(const struct replay *t, uint64_t rounds)
{
	return rounds == 0 || rounds > UINT64_MAX / t->frames ? UINT64_MAX : rounds * t->frames;
}

/* From frame `frame` to the one behind it, which is the first behind the last. */
static inline uint64_t replay_gap_ns(const struct replay *t, uint32_t frame)
{
	const struct replay_frame *f = &t->frame[frame];
	return frame + 1 < t->frames ? f[1].ns - f->ns : t->round_ns - f->ns;
}

#endif
