/*
 * A replay holds the frames of a capture and the time when each is due. Its layout lets cards send
 * the frames repeatedly without a copy. For each stream that replays a file, the control core makes
 * one replay in published memory. Data cores and cards read it.
 *
 *     table of struct replay_frame | 16 bytes of zeros, frame | 16 bytes of zeros, frame | ...
 *
 * A frame begins on a multiple of REPLAY_ALIGN, with at least NIC_SLOT_ROOM zeros before it, as the
 * slots of a transmit ring require (drivers/nic.h).
 *
 * The file determines the frames, their order and their times, with three exceptions:
 *
 * - Packets that cannot be sent as they were are left out and counted: those cut off by the
 *   capture, those without a whole Ethernet header, and those longer than any card here sends.
 * - Packets shorter than Ethernet's minimum are padded with zeros, as a card does. A capture has
 *   its own host's frames without padding, and all frames without FCS (pcap.h removes it).
 * - A packet older than one before it is due together with that one, because the order is that of
 *   the file. Captures of several queues have such packets.
 *
 * Times count from the first frame. The file does not tell the gap between its last frame and the
 * next round. That gap is the mean gap between its frames.
 */
#ifndef PKTGEN_FRAMES_REPLAY_H
#define PKTGEN_FRAMES_REPLAY_H

#include "lib/types.h"

#define REPLAY_ALIGN 16
#define REPLAY_ROOM 16

struct replay_frame {
	uint64_t ns;    /* when it is due, from the first frame on */
	uint32_t place; /* of its data, from the table's beginning, in units of REPLAY_ALIGN */
	uint16_t len;   /* without FCS */
};

/* What replay_measure has found in a file. */
struct replay_count {
	uint64_t frames;
	uint64_t bytes;  /* without FCS, with padding */
	uint64_t memory; /* bytes that replay_lay needs */
	uint64_t cut, too_short, too_long; /* packets left out */
	uint64_t filled; /* frames that need padding */
	uint64_t older;  /* frames older than one before them */
	uint64_t ns;     /* from the first frame to the last */
	uint64_t packet; /* after an error: its number, from 1; 0: the error is of no packet */
	const char *why; /* the error; NULL: none */
};

struct replay {
	const struct replay_frame *frame; /* NULL: there is no replay */
	uint32_t frames;   /* at least 1 */
	uint16_t len_max;
	uint64_t bytes;    /* of a round */
	uint64_t round_ns; /* duration of a round, up to the first frame of the next */
};

/* Reads the whole file and counts. E_INVAL with out->why: the file is no valid capture, has no
 * frame that can be sent, or is too large. */
int replay_measure(const uint8_t *file, size_t bytes, struct replay_count *out);

/* Lays out the frames that replay_measure has counted, in count->memory bytes of memory aligned to
 * REPLAY_ALIGN. mac_dst, mac_src: addresses that replace those of every frame, or NULL. The memory
 * stays the caller's; *t points into it. */
void replay_lay(struct replay *t, uint8_t *memory, const uint8_t *file, size_t bytes,
                const struct replay_count *count, const uint8_t *mac_dst, const uint8_t *mac_src);

static inline const uint8_t *replay_data(const struct replay *t, uint32_t frame)
{
	return (const uint8_t *)t->frame + (size_t)t->frame[frame].place * REPLAY_ALIGN;
}

/* Frames in `rounds` rounds. UINT64_MAX: rounds is 0 (endless), or the product does not fit. */
static inline uint64_t replay_total(const struct replay *t, uint64_t rounds)
{
	return rounds == 0 || rounds > UINT64_MAX / t->frames ? UINT64_MAX : rounds * t->frames;
}

/* The time from frame `frame` to the next one; after the last, to the first of the next round. */
static inline uint64_t replay_gap_ns(const struct replay *t, uint32_t frame)
{
	const struct replay_frame *f = &t->frame[frame];
	return frame + 1 < t->frames ? f[1].ns - f->ns : t->round_ns - f->ns;
}

#endif
