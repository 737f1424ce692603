/*
 * Ring buffers. ring.h describes the memory.
 */
#include "bpf/maps/ring.h"

#include "bpf/maps/shared.h"
#include "lib/mem.h"

struct ring_header {
	uint32_t length; /* of the record, with RING_BUSY and RING_DISCARD */
	uint32_t unused;
};

uint64_t ring_own_bytes(uint32_t ring_bytes) { return sizeof(struct ring) + 2 * (uint64_t)ring_bytes; }

static struct ring *ring_of(const struct bpf_map *map, unsigned core) { return (struct ring *)(void *)map->own[core]; }

static struct ring_header *header_at(const struct bpf_map *map, struct ring *ring, uint64_t position)
{
	return (struct ring_header *)(void *)(ring->bytes + (position & (map->entries - 1) & ~(uint64_t)7));
}

static uint64_t room_of(uint64_t bytes) { return (bytes + sizeof(struct ring_header) + 7) & ~(uint64_t)7; }

/* --- the producer --- */

void *bpf_ring_reserve(const struct bpf_map *map, uint64_t bytes)
{
	struct ring *ring = ring_of(map, bpf_core);
	const uint64_t room = room_of(bytes);
	const uint64_t producer = ring->producer & ~(uint64_t)7; /* it always is, unless damaged */
	/* The first comparison also keeps the sum from wrapping. */
	if (bytes > map->entries || room > map->entries ||
	    producer + room - get(&ring->consumer) > map->entries - 1) {
		put(&ring->lost, ring->lost + 1);
		return NULL;
	}
	struct ring_header *h = header_at(map, ring, producer);
	put(&h->length, (uint32_t)bytes | RING_BUSY);
	put(&ring->producer, producer + room);
	return h + 1;
}

void bpf_ring_commit(void *record, bool discard)
{
	struct ring_header *h = (struct ring_header *)record - 1;
	put(&h->length, (h->length & RING_LENGTH) | (discard ? RING_DISCARD : 0));
}

/* BPF_RB_NO_WAKEUP and BPF_RB_FORCE_WAKEUP: the control core looks without being woken. */
#define RING_FLAGS 3u

int64_t bpf_ring_output(const struct bpf_map *map, const void *data, uint64_t bytes, uint64_t flags)
{
	if (flags & ~(uint64_t)RING_FLAGS)
		return BPF_EINVAL;
	void *record = bpf_ring_reserve(map, bytes);
	if (!record)
		return BPF_EAGAIN;
	memcpy(record, data, bytes);
	bpf_ring_commit(record, false);
	return 0;
}

/* The flags of bpf_perf_event_output: the index in the map, and for XDP the number of the packet's bytes. */
#define PERF_INDEX 0xffffffffu /* also BPF_F_CURRENT_CPU */
#define PERF_PACKET_SHIFT 32
#define PERF_PACKET 0xfffffu

int64_t bpf_perf_output(const struct bpf_map *map, uint64_t flags, const void *data, uint64_t bytes,
                        const uint8_t *packet, uint64_t packet_bytes)
{
	const uint64_t append = flags >> PERF_PACKET_SHIFT & PERF_PACKET;
	uint64_t index = flags & PERF_INDEX;
	if (flags & ~((uint64_t)PERF_PACKET << PERF_PACKET_SHIFT | PERF_INDEX))
		return BPF_EINVAL;
	if (append > packet_bytes)
		return BPF_EFAULT;
	if (index == PERF_INDEX)
		index = bpf_core;
	if (index >= map->cores)
		return BPF_E2BIG;
	if (index != bpf_core) /* another core's ring */
		return BPF_EOPNOTSUPP;
	uint8_t *record = bytes > BPF_PERF_RING ? NULL : bpf_ring_reserve(map, bytes + append);
	if (!record)
		return BPF_ENOSPC;
	memcpy(record, data, bytes);
	memcpy(record + bytes, packet, append);
	bpf_ring_commit(record, false);
	return 0;
}

/* --- the consumer --- */

/* Positions or a header that no producer writes: what is in the ring is given up. */
static const void *give_up(struct ring *ring, uint64_t producer)
{
	put(&ring->damaged, ring->damaged + 1);
	put(&ring->consumer, producer & ~(uint64_t)7);
	return NULL;
}

const void *bpf_ring_next(const struct bpf_map *map, unsigned core, uint32_t *bytes)
{
	struct ring *ring = ring_of(map, core);
	const uint64_t producer = get(&ring->producer);
	uint64_t consumer = get(&ring->consumer);
	if (producer - consumer > map->entries || ((producer | consumer) & 7))
		return give_up(ring, producer);
	while (consumer != producer) {
		const uint32_t length = get(&header_at(map, ring, consumer)->length);
		const uint64_t room = room_of(length & RING_LENGTH);
		if (length & RING_BUSY)
			return NULL;
		if (room > producer - consumer)
			return give_up(ring, producer);
		if (!(length & RING_DISCARD)) {
			*bytes = length;
			return header_at(map, ring, consumer) + 1;
		}
		consumer += room;
		put(&ring->consumer, consumer);
	}
	return NULL;
}

void bpf_ring_release(const struct bpf_map *map, unsigned core)
{
	uint32_t bytes;
	if (bpf_ring_next(map, core, &bytes)) {
		struct ring *ring = ring_of(map, core);
		put(&ring->consumer, ring->consumer + room_of(bytes));
	}
}

uint64_t bpf_ring_lost(const struct bpf_map *map, unsigned core)
{
	struct ring *ring = ring_of(map, core);
	return get(&ring->lost) + get(&ring->damaged);
}

/* Records that the core had reserved when it died become discarded ones. */
void ring_recover(const struct bpf_map *map, unsigned core)
{
	struct ring *ring = ring_of(map, core);
	const uint64_t producer = get(&ring->producer);
	uint64_t at = get(&ring->consumer);
	if (producer - at > map->entries || ((producer | at) & 7)) {
		give_up(ring, producer);
		return;
	}
	while (at != producer) {
		struct ring_header *h = header_at(map, ring, at);
		const uint32_t length = get(&h->length);
		const uint64_t room = room_of(length & RING_LENGTH);
		if (room > producer - at) {
			give_up(ring, producer);
			return;
		}
		if (length & RING_BUSY)
			put(&h->length, (length & RING_LENGTH) | RING_DISCARD);
		at += room;
	}
}
