/*
 * Copies of frames on their way from a data core to the control core, for a capture: a ring of
 * bytes in the data core's shared area, in which records follow each other without gaps, over its
 * end too.
 *
 * One writer, the data core, and one reader, the control core, each with its own position, counted
 * in bytes from the beginning of the capture: head lies in the ring, tail with what the control
 * core publishes (struct dp_capture). What finds no room is counted and lost: the traffic waits
 * for nobody.
 *
 * Invariants
 * 1. tail <= head <= tail + MIRROR_RING_BYTES. Head is stored last (release), so what lies before
 *    it is complete.
 * 2. With another capture both positions begin anew: the writer sets head, and then `number`; until
 *    that is the number of the capture the ring is empty for its reader.
 * 3. The reader believes nothing: a record that does not lie before head, or is longer than the
 *    room for it, ends the capture.
 */
#ifndef DATAPLANE_MIRROR_RING_H
#define DATAPLANE_MIRROR_RING_H

#include "lib/types.h"

#define MIRROR_RING_BYTES (1u << 18)
#define TAP_FRAME_MAX 9344 /* kept of a frame: longer ones are those that a card is to cut */

struct mirror_record {
	uint64_t ns;      /* when it was copied, core_now_ns() */
	uint32_t dropped; /* of the port, by this ring, since the record before */
	uint16_t len;     /* the frame's, without FCS */
	uint16_t kept;    /* its first bytes, which follow, filled up to a multiple of 8 */
	uint8_t port;
	uint8_t out;      /* it was about to be sent by the port; else: received */
	uint8_t reserved[6];
};
_Static_assert(sizeof(struct mirror_record) == 24, "records are 8-byte aligned");

#define MIRROR_PORTS_MAX 16

/* Frames of a port. */
struct mirror_count {
	uint64_t seen;
	uint64_t wanted;  /* of these, those that the capture asks for */
	uint64_t dropped; /* of these, lost for want of room */
};

/* Written by the data core. */
struct mirror_ring {
	uint64_t number; /* of the capture that the rest is about; 0: none */
	uint64_t head;
	struct mirror_count count[MIRROR_PORTS_MAX];
	uint8_t bytes[MIRROR_RING_BYTES];
};

static inline uint64_t mirror_record_bytes(unsigned kept)
{
	return sizeof(struct mirror_record) + ((kept + 7ull) & ~7ull);
}

/* Writer: another capture begins. */
void mirror_ring_begin(struct mirror_ring *r, uint64_t number);

/* Writer: is there room for a record of so many bytes, at `head`? */
static inline bool mirror_ring_fits(uint64_t head, uint64_t tail, uint64_t bytes)
{
	return head - tail <= MIRROR_RING_BYTES && bytes <= MIRROR_RING_BYTES - (head - tail);
}

/* Writer: copies len bytes to the place `at`, within what fits. */
void mirror_ring_put(struct mirror_ring *r, uint64_t at, const void *data, size_t len);

/* Reader: the record at `at`, of which the writer has said that head is behind it, its data into
 * data[room]. Returns how far the next one is; 0: what lies there is no record. */
uint64_t mirror_ring_get(const struct mirror_ring *r, uint64_t head, uint64_t at,
                          struct mirror_record *out, uint8_t *data, unsigned room);

#endif
