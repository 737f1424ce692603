/*
 * A vhost-user backend that works on the rings itself, for the load generators: DPDK's librte_vhost
 * does the handshake; the rings and their contents are ours. Split rings, one queue pair per port.
 *
 * All descriptors are read and checked. Used entries become visible by vhost_publish, once for
 * many. A protocol violation of the peer ends the program with a message: it is a test partner.
 *
 * Threads: librte_vhost calls back from its own thread. `vhost_lock` is held while the rings are in
 * use, so rings and memory cannot disappear; a callback waits for the lock. After taking it, call
 * vhost_learn first: the peer may have moved its memory or its rings.
 *
 * Not implemented, and not offered: packed rings, indirect descriptors, event indices, mergeable
 * buffers, several queues, live migration; offloads unless requested. VIRTIO_F_IN_ORDER always
 * holds.
 */
#ifndef TESTS_BENCH_WIRE_VHOST_RING_H
#define TESTS_BENCH_WIRE_VHOST_RING_H

#include <pthread.h>
#include <rte_vhost.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VHOST_REGIONS 16
#define VHOST_HEADER_BYTES 12 /* struct virtio_net_hdr with num_buffers: VERSION_1 */

/* Numbered as in VIRTIO 1.2, 5.1.3. */
#define VHOST_F(bit) (1ull << (bit))
#define VHOST_CSUM VHOST_F(0)
#define VHOST_GUEST_CSUM VHOST_F(1)
#define VHOST_TSO (VHOST_F(11) | VHOST_F(12)) /* both families: the driver wants all or none */
#define VHOST_OFFLOADS (VHOST_CSUM | VHOST_GUEST_CSUM | VHOST_TSO)
#define VHOST_NEVER                                                                             \
	(VHOST_F(2) | VHOST_F(3) | VHOST_F(7) | VHOST_F(8) | VHOST_F(9) | VHOST_F(10) |         \
	 VHOST_F(12) | VHOST_F(13) | VHOST_F(14) | VHOST_F(15) | VHOST_F(17) | VHOST_F(18) |    \
	 VHOST_F(21) | VHOST_F(22) | VHOST_F(26) | VHOST_F(28) | VHOST_F(29) | VHOST_F(34))
#define VHOST_VERSION_1 VHOST_F(32)

struct vhost_region {
	uint64_t from, size; /* guest-physical */
	uint8_t *at;
};

struct vhost_ring {
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	uint16_t size;
	uint16_t next; /* avail index we take next, and used index we write next: no reordering */
	uint16_t seen; /* avail.idx as last read */
	bool unsettled; /* used.idx has moved since avail.flags was last read after a barrier */
	uint64_t rest;  /* TSC until which avail.idx is not read: less than a batch was found */
	unsigned looks; /* consecutive polls that found less than a batch */
	struct vhost_port *port;
};

struct vhost_port {
	const char *path;
	uint64_t not_offered;
	uint64_t features; /* accepted by the peer, as of vhost_learn */
	int vid;           /* -1: no peer */
	uint8_t enabled;   /* bit per ring */
	struct vhost_ring rx, tx; /* named from the guest's view: we write to rx */
	struct vhost_region region[VHOST_REGIONS];
	unsigned regions;
	const struct vhost_region *last; /* region of the last address found */
};

extern pthread_mutex_t vhost_lock;
extern unsigned vhost_batch;      /* minimum that makes reading the peer's index worthwhile */
extern uint64_t vhost_rest_ticks; /* between polls of a ring that had less */

void vhost_die(const char *what) __attribute__((noreturn));

/* Offers the port on a socket, with `offloads` of VHOST_OFFLOADS, permanently. */
void vhost_listen(struct vhost_port *p, const char *path, uint64_t offloads);

/* Under the lock: whether both rings are up. */
static inline bool vhost_is_up(const struct vhost_port *p)
{
	return p->enabled == 3 && p->vid >= 0;
}

void vhost_learn(struct vhost_port *p);
uint8_t *vhost_find_region(struct vhost_port *p, uint64_t addr, uint64_t bytes);

static inline uint8_t *vhost_address(struct vhost_port *p, uint64_t addr, uint64_t bytes)
{
	const struct vhost_region *r = p->last;
	uint64_t offset = addr - r->from;
	if (__builtin_expect(offset >= r->size || bytes > r->size - offset, 0))
		return vhost_find_region(p, addr, bytes);
	return r->at + offset;
}

static inline void vhost_publish(struct vhost_ring *q, uint16_t next)
{
	q->next = next;
	__atomic_store_n(&q->used->idx, next, __ATOMIC_RELEASE);
	q->unsettled = true;
}

/*
 * Wakes the peer if it asked for that. Without a barrier this may miss a peer that is just falling
 * asleep; a later call with a barrier (idle rounds, the end of a run) compensates.
 */
static inline void vhost_call(struct vhost_ring *q, uint16_t flags, bool barrier)
{
	if (!q->unsettled)
		return;
	if (barrier) {
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		flags = __atomic_load_n(&q->avail->flags, __ATOMIC_RELAXED);
		q->unsettled = false;
	}
	if (__builtin_expect(!(flags & VRING_AVAIL_F_NO_INTERRUPT), 0)) {
		rte_vhost_vring_call(q->port->vid, q == &q->port->tx);
		q->unsettled = false;
	}
}

/*
 * The number of descriptors that the peer has made available. Reads its cache line only when fewer
 * than a batch are known, and not again before `vhost_rest_ticks` have passed if there still were
 * fewer: every read takes the line away from a peer that is about to write it.
 */
static inline unsigned vhost_available(struct vhost_ring *q, uint64_t now)
{
	if ((uint16_t)(q->seen - q->next) < vhost_batch && now >= q->rest) {
		/* flags and idx in one load */
		uint32_t both = __atomic_load_n((const uint32_t *)(const void *)q->avail,
		                                __ATOMIC_ACQUIRE);
		q->seen = (uint16_t)(both >> 16);
		vhost_call(q, (uint16_t)both, false);
		q->looks++;
		if ((uint16_t)(q->seen - q->next) < vhost_batch)
			q->rest = now + vhost_rest_ticks;
		else
			q->looks = 0;
	}
	unsigned n = (uint16_t)(q->seen - q->next);
	if (__builtin_expect(n > q->size, 0))
		vhost_die("the peer's avail.idx ran away");
	return n;
}

static inline const struct vring_desc *vhost_descriptor(const struct vhost_ring *q, uint16_t id)
{
	if (__builtin_expect(id >= q->size, 0))
		vhost_die("the peer gave a descriptor beyond its ring");
	return &q->desc[id];
}

/* Copies up to `room` bytes of a frame in a chain from descriptor `id` on; returns its length. */
unsigned vhost_gather(const struct vhost_ring *q, uint16_t id, uint8_t *to, unsigned room);

#endif
