/*
 * Ring buffers: BPF_MAP_TYPE_RINGBUF, and those that a perf_event_array stands for. One a core, in own[core], with
 * one producer, that core, and one consumer, the control core: no lock, and no core waits for another. Linux has
 * one ring for all CPUs; here the records of different cores have no order among themselves.
 *
 * Positions count bytes and never wrap. A record is a header of 8 bytes and its bytes, padded to 8, and lies in
 * one piece: behind the ring's bytes there are as many again, into which the last record of a round may
 * reach. (Linux maps the ring twice.) As in Linux the ring is full when fewer than 8 bytes would be left.
 *
 * Order: reserve writes the header with RING_BUSY, then `producer`; commit clears RING_BUSY; the consumer reads
 * `producer`, then the header, then the record, and then writes `consumer`.
 */
#ifndef BPF_MAPS_RING_H
#define BPF_MAPS_RING_H

#include "bpf/maps/map.h"

struct ring {
	uint64_t producer; /* written by the core */
	uint64_t lost;     /* records for which there was no room */
	uint8_t pad[48];
	uint64_t consumer; /* written by the control core */
	uint64_t damaged;  /* times that positions or headers were impossible, and the ring was emptied */
	uint8_t pad2[48];
	uint8_t bytes[];
};
_Static_assert(offsetof(struct ring, bytes) == 128, "two cache lines");

#define RING_BUSY 0x80000000u    /* reserved, not committed */
#define RING_DISCARD 0x40000000u
#define RING_LENGTH 0x3fffffffu

uint64_t ring_own_bytes(uint32_t ring_bytes);
void ring_recover(const struct bpf_map *map, unsigned core);

#endif
