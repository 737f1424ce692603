/*
 * The ring that carries copies of frames from a data core to the control core, for a capture: bytes
 * in the data core's shared area. Records follow each other without gaps, also across the ring's
 * end.
 *
 * The data core writes the ring and the control core reads it. Each has a position, counted in
 * bytes from the start of the capture: head lies in the ring, tail in published memory (struct
 * dp_capture). A frame that finds no room is counted and lost, because traffic must not wait.
 *
 * Invariants
 * 1. tail <= head <= tail + size. Head is stored last (release), so everything before
 *    it is complete.
 * 2. A new capture resets both positions: the writer sets head, and then `number`. The ring is
 *    empty to its reader until `number` is that of the capture.
 * 3. The ring is untrusted input to its reader: a record that does not lie before head, or is
 *    longer than the reader's buffer, ends the capture.
 */
#ifndef DATAPLANE_MIRROR_RING_H
#define DATAPLANE_MIRROR_RING_H

#include "lib/types.h"

/* The size of the rings in bytes, a power of two: the same for reader and writer, and not in the ring, because that is
 * not trusted. At 400,000 small frames a second the larger one holds those of 30 ms. */
#define MIRROR_RING_BYTES (1u << 20)
#define MIRROR_RING_BYTES_LEAST (1u << 18) /* of an application that has more in its shared area (mirror_ring_bytes) */
#define MIRROR_FRAME_MAX 9344 /* bytes kept of a frame; longer ones are to be cut by a device */

struct mirror_record {
	uint64_t ns;      /* time of the copy, as core_now_ns() */
	uint32_t dropped; /* frames of the port lost by this ring since the port's last record */
	uint16_t len;     /* of the frame, without FCS */
	uint16_t kept;    /* bytes of the frame that follow, padded to a multiple of 8 */
	uint8_t port;
	uint8_t out;      /* the port was about to send it; else: received it */
	uint8_t reserved[6];
};
_Static_assert(sizeof(struct mirror_record) == 24, "records are 8-byte aligned");

#define MIRROR_PORTS_MAX 16

/* Frames of a port. */
struct mirror_count {
	uint64_t seen;
	uint64_t wanted;  /* of those seen: match the capture */
	uint64_t dropped; /* of those wanted: lost for lack of room */
};

/* Written by the data core. */
struct mirror_ring {
	uint64_t number; /* of the capture that the ring is for; 0: none */
	uint64_t head;
	struct mirror_count count[MIRROR_PORTS_MAX];
	uint8_t bytes[];
};

static inline uint64_t mirror_record_bytes(unsigned kept)
{
	return sizeof(struct mirror_record) + ((kept + 7ull) & ~7ull);
}

/* Writer: starts a new capture. */
void mirror_ring_begin(struct mirror_ring *r, uint64_t number);

/* Writer: is there room for a record of that many bytes at `head`? */
static inline bool mirror_ring_fits(uint32_t size, uint64_t head, uint64_t tail, uint64_t bytes)
{
	return head - tail <= size && bytes <= size - (head - tail);
}

/* Writer: copies len bytes to position `at`, within the room that mirror_ring_fits granted. */
void mirror_ring_put(struct mirror_ring *r, uint32_t size, uint64_t at, const void *data, size_t len);

/* Reader: copies the record at position `at`, before the writer's head, to *out. Returns the distance to the next
 * record; 0: there is no valid record, with at most `room` bytes of the frame. */
uint64_t mirror_ring_look(const struct mirror_ring *r, uint32_t size, uint64_t head, uint64_t at,
                          struct mirror_record *out, unsigned room);

/* Reader: copies these bytes of its frame. record: as mirror_ring_look returned it. */
void mirror_ring_get(const struct mirror_ring *r, uint32_t size, uint64_t at, const struct mirror_record *record,
                     uint8_t *data);

#endif
