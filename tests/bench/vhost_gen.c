/*
 * Packet generator and sink for the benchmarks: a vhost-user backend that works on the rings
 * itself. DPDK's librte_vhost does the handshake, every packet is ours: its vhost PMD, which
 * allocates and copies, tops out at 12 Mpps on one core of the test machines and so measures
 * itself; this one is faster than any peer it has met, so that the peer is the limit.
 *
 * Sends 64-byte UDP packets into the receive ring of port 0 and takes what comes out of the
 * transmit ring of port 1, on one core. Split rings. A frame is written by wide stores from a
 * template, destination and checksum from a table; those that come back are not looked at, but for
 * one in SAMPLE_EVERY. Descriptors are all read and checked. Used entries become visible once
 * per batch. What the peer may not do makes the program end with a message: it is a test partner.
 *
 *   vhost_gen EAL-OPTIONS -- SOCKET0 SOCKET1 DST-MAC FIRST-PREFIX PREFIXES
 *
 * Destinations are spread at random over PREFIXES consecutive /24 from FIRST-PREFIX on. Commands
 * on standard input, answers as one line on standard output (first of all `up TSC-HZ`):
 *
 *   link                 link A B    1 where the peer has its rings up
 *   batch N              batch N     packets between two stores to used.idx, both ways (64)
 *   rest NS              rest NS     between looks at a ring that had less than a batch (500)
 *   run SECONDS [MPPS]   run OFFERED TAKEN RECEIVED LATE BAD NANOSECONDS ROUNDS FULL
 *                        Without MPPS as fast as the peer takes them. A batch goes ahead that does
 *                        not count: a peer that sleeps is awake when the time begins.
 *                        RECEIVED: within the time; LATE: after it, of those in flight
 *                        BAD: samples that are no forwarded copy (TTL 63 or 64, addresses kept)
 *                        FULL: of ROUNDS looks, those that found no room for a batch
 *   quit
 *
 * Threads: librte_vhost calls back from a thread of its own. `lock` is held for the whole of a run,
 * so rings and memory cannot go away below it; a callback waits until the run ends.
 *
 * Not implemented, and not offered: packed rings, indirect descriptors, event indices, mergeable
 * buffers, offloads, several queues, live migration. VIRTIO_F_IN_ORDER is kept by nature.
 */
#include <inttypes.h>
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>
#include <rte_vhost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_MAX 256
#define BATCH 64
#define DESTINATIONS 16384 /* a multiple of every batch size */
#define SAMPLE_EVERY 1024
#define PATIENCE 64 /* looks for a whole batch of room before a smaller one will do */
#define REST_NS 500 /* between looks at a ring that had less than a batch */
#define REGIONS 16

#define HEADER_BYTES 12 /* struct virtio_net_hdr with num_buffers: VERSION_1 */
#define FRAME_BYTES 60  /* 64 on the wire, with the checksum */
#define BUFFER_BYTES (HEADER_BYTES + FRAME_BYTES)
/* Of the buffer, what differs from packet to packet: IPv4 checksum, source, destination, ports. */
#define VARYING_AT (HEADER_BYTES + sizeof(struct rte_ether_hdr) + 10)
#define VARYING_BYTES 16

/* As VIRTIO 1.2, 5.1.3, numbers them. */
#define F(bit) (1ull << (bit))
#define NOT_OFFERED                                                                            \
	(F(0) | F(1) | F(2) | F(3) | F(7) | F(8) | F(9) | F(10) | F(11) | F(12) | F(13) | F(14) |  \
	 F(15) | F(17) | F(18) | F(21) | F(22) | F(26) | F(28) | F(29) | F(34))
#define VERSION_1 F(32)

struct region {
	uint64_t from, size; /* guest-physical */
	uint8_t *at;
};

struct ring {
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	uint16_t size;
	uint16_t next; /* avail index we take next, and used index we write next: no reordering */
	uint16_t seen; /* avail.idx as last read */
	bool unsettled; /* used.idx moved since we last looked, behind a barrier, at avail.flags */
	uint64_t rest;  /* TSC until which we leave avail.idx alone, having found less than a batch */
	unsigned looks; /* that found less than a batch, one after the other */
	struct port *port;
};

struct port {
	const char *path;
	int vid;         /* -1: nobody there */
	uint8_t enabled; /* bit per ring */
	struct ring rx, tx; /* named as the guest does: rx is where we write */
	struct region region[REGIONS];
	unsigned regions;
	const struct region *last; /* where the last address was found */
};

static struct port ports[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned batch = BATCH;
static uint64_t rest_ticks;
static _Alignas(64) uint8_t template[BUFFER_BYTES];
static _Alignas(64) uint8_t varying[DESTINATIONS][VARYING_BYTES];

static void die(const char *what)
{
	fprintf(stderr, "vhost_gen: %s\n", what);
	exit(1);
}

/* --- the peer's memory --- */

static uint8_t *find_region(struct port *p, uint64_t addr, uint64_t bytes)
{
	for (unsigned i = 0; i < p->regions; i++) {
		const struct region *r = &p->region[i];
		if (addr - r->from < r->size && bytes <= r->size - (addr - r->from)) {
			p->last = r;
			return r->at + (addr - r->from);
		}
	}
	die("the peer gave an address outside its memory");
	return NULL;
}

static inline uint8_t *address(struct port *p, uint64_t addr, uint64_t bytes)
{
	const struct region *r = p->last;
	uint64_t offset = addr - r->from;
	if (__builtin_expect(offset >= r->size || bytes > r->size - offset, 0))
		return find_region(p, addr, bytes);
	return r->at + offset;
}

static void learn_memory(struct port *p)
{
	struct rte_vhost_memory *mem;
	if (rte_vhost_get_mem_table(p->vid, &mem) != 0)
		die("cannot get the peer's memory");
	if (mem->nregions == 0 || mem->nregions > REGIONS)
		die("too many memory regions");
	p->regions = mem->nregions;
	for (unsigned i = 0; i < mem->nregions; i++) {
		const struct rte_vhost_mem_region *r = &mem->regions[i];
		p->region[i] = (struct region){r->guest_phys_addr, r->size,
		                               (uint8_t *)(uintptr_t)r->host_user_addr};
	}
	p->last = &p->region[0];
	free(mem);
}

static void learn_ring(struct port *p, struct ring *q, uint16_t index)
{
	struct rte_vhost_vring v;
	if (rte_vhost_get_vhost_vring(p->vid, index, &v) != 0 || v.size == 0)
		die("cannot get a ring");
	q->desc = v.desc;
	q->avail = v.avail;
	q->used = v.used;
	q->size = v.size;
	q->port = p;
	rte_vhost_enable_guest_notification(p->vid, index, 0);
	q->used->flags = VRING_USED_F_NO_NOTIFY;
}

/* Before every run: the peer may have moved its memory or its rings since. */
static void learn(struct port *p)
{
	uint64_t features = 0;
	if (p->vid < 0)
		die("the peer has gone");
	rte_vhost_get_negotiated_features(p->vid, &features);
	if (!(features & VERSION_1) || (features & NOT_OFFERED))
		die("the peer wants another virtio than ours");
	learn_memory(p);
	learn_ring(p, &p->rx, 0);
	learn_ring(p, &p->tx, 1);
}

/* --- callbacks of librte_vhost --- */

static struct port *port_of(int vid)
{
	char path[256];
	if (rte_vhost_get_ifname(vid, path, sizeof path) != 0)
		die("a device without a name");
	for (unsigned i = 0; i < 2; i++)
		if (strcmp(ports[i].path, path) == 0)
			return &ports[i];
	die("a device of unknown name");
	return NULL;
}

static int new_device(int vid)
{
	pthread_mutex_lock(&lock);
	struct port *p = port_of(vid);
	uint16_t avail, used;
	p->vid = vid;
	rte_vhost_get_vring_base(vid, 0, &avail, &used);
	p->rx = (struct ring){.next = avail, .seen = avail};
	rte_vhost_get_vring_base(vid, 1, &avail, &used);
	p->tx = (struct ring){.next = avail, .seen = avail};
	pthread_mutex_unlock(&lock);
	return 0;
}

static void destroy_device(int vid)
{
	pthread_mutex_lock(&lock);
	struct port *p = port_of(vid);
	rte_vhost_set_vring_base(vid, 0, p->rx.next, p->rx.next);
	rte_vhost_set_vring_base(vid, 1, p->tx.next, p->tx.next);
	p->vid = -1;
	p->enabled = 0;
	pthread_mutex_unlock(&lock);
}

static int vring_state_changed(int vid, uint16_t index, int enable)
{
	pthread_mutex_lock(&lock);
	struct port *p = port_of(vid);
	if (index < 2)
		p->enabled = (uint8_t)((p->enabled & ~(1u << index)) | (unsigned)!!enable << index);
	pthread_mutex_unlock(&lock);
	return 0;
}

static void listen_on(struct port *p, const char *path)
{
	static const struct rte_vhost_device_ops ops = {
		.new_device = new_device,
		.destroy_device = destroy_device,
		.vring_state_changed = vring_state_changed,
	};
	p->path = path;
	p->vid = -1;
	if (rte_vhost_driver_register(path, 0) != 0 ||
	    rte_vhost_driver_disable_features(path, NOT_OFFERED) != 0 ||
	    rte_vhost_driver_callback_register(path, &ops) != 0 || rte_vhost_driver_start(path) != 0)
		die("cannot listen on a socket");
}

/* --- rings --- */

static inline void publish(struct ring *q, uint16_t next)
{
	q->next = next;
	__atomic_store_n(&q->used->idx, next, __ATOMIC_RELEASE);
	q->unsettled = true;
}

/*
 * Wakes the peer if it asked for that. The look without a barrier may miss a peer that is just
 * falling asleep; one behind a barrier (idle rounds, the end of a run) makes up for it.
 */
static inline void call(struct ring *q, uint16_t flags, bool barrier)
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
 * Descriptors the peer has made available. Reads its line only when fewer than a batch are known,
 * and not again before `rest_ticks` have passed if there still were fewer: every look takes the
 * line away from a peer that is about to write it.
 */
static inline unsigned available(struct ring *q, uint64_t now)
{
	if ((uint16_t)(q->seen - q->next) < batch && now >= q->rest) {
		/* flags and idx in one load */
		uint32_t both = __atomic_load_n((const uint32_t *)(const void *)q->avail,
		                                __ATOMIC_ACQUIRE);
		q->seen = (uint16_t)(both >> 16);
		call(q, (uint16_t)both, false);
		q->looks++;
		if ((uint16_t)(q->seen - q->next) < batch)
			q->rest = now + rest_ticks;
		else
			q->looks = 0;
	}
	unsigned n = (uint16_t)(q->seen - q->next);
	if (__builtin_expect(n > q->size, 0))
		die("the peer's avail.idx ran away");
	return n;
}

static inline const struct vring_desc *descriptor(const struct ring *q, uint16_t id)
{
	if (__builtin_expect(id >= q->size, 0))
		die("the peer gave a descriptor beyond its ring");
	return &q->desc[id];
}

/* Writes n packets, destinations from `at` on, into the peer's buffers. */
static inline void enqueue(struct ring *q, unsigned n, unsigned at)
{
	uint16_t mask = q->size - 1, id[BATCH_MAX];
	uint8_t *buffer[BATCH_MAX];
	for (unsigned i = 0; i < n; i++) {
		id[i] = q->avail->ring[(uint16_t)(q->next + i) & mask];
		const struct vring_desc *d = descriptor(q, id[i]);
		if (__builtin_expect(d->flags != VRING_DESC_F_WRITE || d->len < BUFFER_BYTES, 0))
			die("a receive buffer is a chain, too small or not to be written");
		buffer[i] = address(q->port, d->addr, BUFFER_BYTES);
		__builtin_prefetch(buffer[i], 1);
	}
	for (unsigned i = 0; i < n; i++) {
		uint8_t *to = buffer[i];
		memcpy(to, template, VARYING_AT);
		memcpy(to + VARYING_AT, varying[at + i], VARYING_BYTES);
		memcpy(to + VARYING_AT + VARYING_BYTES, template + VARYING_AT + VARYING_BYTES,
		       BUFFER_BYTES - VARYING_AT - VARYING_BYTES);
		q->used->ring[(uint16_t)(q->next + i) & mask] =
			(struct vring_used_elem){id[i], BUFFER_BYTES};
	}
	publish(q, (uint16_t)(q->next + n));
}

/* A frame in a chain: copies up to `room` bytes from descriptor `id` on; returns its length. */
static unsigned gather(const struct ring *q, uint16_t id, uint8_t *to, unsigned room)
{
	unsigned bytes = 0;
	for (unsigned links = 0;; links++) {
		const struct vring_desc *d = descriptor(q, id);
		if (links == q->size || (d->flags & (VRING_DESC_F_INDIRECT | VRING_DESC_F_WRITE)))
			die("a frame to send is an endless, indirect or writable chain");
		const uint8_t *from = address(q->port, d->addr, d->len);
		if (bytes < room)
			memcpy(to + bytes, from, d->len < room - bytes ? d->len : room - bytes);
		bytes += d->len;
		if (!(d->flags & VRING_DESC_F_NEXT))
			return bytes;
		id = d->next;
	}
}

static unsigned bad_packet(const struct ring *q, uint16_t id)
{
	uint8_t buffer[BUFFER_BYTES];
	if (gather(q, id, buffer, sizeof buffer) < BUFFER_BYTES)
		return 1;
	const struct rte_ether_hdr *eth = (const void *)(buffer + HEADER_BYTES);
	const struct rte_ipv4_hdr *ip = (const void *)(eth + 1);
	if (eth->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4))
		return 1;
	/* A peer that swaps addresses and does not route leaves the TTL alone. */
	if (ip->time_to_live != 63 && ip->time_to_live != 64)
		return 1;
	return ip->src_addr != rte_cpu_to_be_32(RTE_IPV4(192, 0, 2, 2)) || rte_ipv4_cksum(ip) != 0;
}

/* Takes up to a batch of frames that the peer sends. */
static inline unsigned dequeue(struct ring *q, uint64_t now, uint64_t *bad, uint64_t received)
{
	uint16_t mask = q->size - 1;
	unsigned n = available(q, now);
	n = n < batch ? n : batch;
	if (n == 0)
		return 0;
	if (__builtin_expect((received ^ (received + n)) / SAMPLE_EVERY != 0, 0))
		*bad += bad_packet(q, q->avail->ring[q->next & mask]);
	for (unsigned i = 0; i < n; i++) {
		uint16_t slot = (uint16_t)(q->next + i) & mask, id = q->avail->ring[slot];
		const struct vring_desc *d = descriptor(q, id);
		if (__builtin_expect(d->flags != 0 || d->len < BUFFER_BYTES, 0))
			gather(q, id, NULL, 0); /* checks the chain */
		q->used->ring[slot] = (struct vring_used_elem){id, 0};
	}
	publish(q, (uint16_t)(q->next + n));
	return n;
}

/* --- commands --- */

/*
 * Wakes a peer that may be asleep, by one batch that does not count: true when it is back. Sleeps
 * while it waits: with real-time priority we might keep from this CPU whoever has to pass
 * the wake-up on (QEMU, a kernel worker).
 */
static bool wake(struct ring *in, struct ring *out)
{
	uint64_t now = rte_rdtsc(), end = now + rte_get_tsc_hz() / 2, bad;
	while (dequeue(out, now, &bad, 0) != 0) /* what an earlier run left in the ring */
		;
	in->rest = out->rest = 0;
	unsigned n = available(in, now), back = 0;
	n = n < batch ? n : batch;
	enqueue(in, n, 0);
	for (; back < n && now < end; now = rte_rdtsc()) {
		unsigned got = dequeue(out, now, &bad, 0);
		back += got;
		call(in, 0, true);
		call(out, 0, true);
		if (got == 0 && back == 0)
			usleep(50);
	}
	return n > 0 && back >= n;
}

static void run(double seconds, double mpps)
{
	uint64_t offered = 0, taken = 0, received = 0, late = 0, bad = 0, rounds = 0, full = 0;
	uint64_t hz = rte_get_tsc_hz();
	double per_tick = mpps * 1e6 / (double)hz;
	unsigned at = 0;

	pthread_mutex_lock(&lock);
	learn(&ports[0]);
	learn(&ports[1]);
	struct ring *in = &ports[0].rx, *out = &ports[1].tx;
	if (!wake(in, out))
		seconds = 0; /* nothing comes back: the caller will see that */
	uint64_t start = rte_rdtsc(), now = start, end = start + (uint64_t)(seconds * (double)hz);
	for (; now < end; now = rte_rdtsc()) {
		if (mpps == 0 || (double)(now - start) * per_tick >= (double)(offered + batch)) {
			unsigned n = available(in, now);
			offered += batch;
			rounds++;
			full += n < batch;
			if (n >= batch || (in->looks >= PATIENCE && n > 0)) {
				n = n < batch ? n : batch;
				enqueue(in, n, at);
				taken += n;
				at = (at + batch) % DESTINATIONS;
				in->looks = 0;
			}
		}
		received += dequeue(out, now, &bad, received);
		if (__builtin_expect(in->looks + out->looks > 2 * PATIENCE, 0)) { /* nothing moves */
			call(in, 0, true);
			call(out, 0, true);
			in->looks = out->looks = 0;
		}
	}
	call(in, 0, true);
	call(out, 0, true);
	for (uint64_t last = now; rte_rdtsc() - last < hz / 50;) { /* 20 ms for those in flight */
		unsigned n = dequeue(out, rte_rdtsc(), &bad, received + late);
		late += n;
		if (n > 0)
			last = rte_rdtsc();
		else
			call(out, 0, true);
		if (rte_rdtsc() - now > hz)
			break;
	}
	pthread_mutex_unlock(&lock);
	printf("run %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %.0f %" PRIu64
	       " %" PRIu64 "\n",
	       offered, taken, received, late, bad, (double)(now - start) * 1e9 / (double)hz, rounds,
	       full);
}

static void make_packets(const struct rte_ether_addr *dst, uint32_t base, unsigned prefixes)
{
	struct rte_ether_hdr *eth = (void *)(template + HEADER_BYTES);
	struct rte_ipv4_hdr *ip = (void *)(eth + 1);
	struct rte_udp_hdr *udp = (void *)(ip + 1);
	((struct virtio_net_hdr_mrg_rxbuf *)(void *)template)->num_buffers = 1;
	eth->dst_addr = *dst;
	eth->src_addr = (struct rte_ether_addr){{0x52, 0x54, 0, 0, 0, 0x0a}};
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = 0x45;
	ip->total_length = rte_cpu_to_be_16(FRAME_BYTES - sizeof *eth);
	ip->time_to_live = 64;
	ip->next_proto_id = 17;
	ip->src_addr = rte_cpu_to_be_32(RTE_IPV4(192, 0, 2, 2));
	udp->src_port = rte_cpu_to_be_16(1024);
	udp->dst_port = rte_cpu_to_be_16(9);
	udp->dgram_len = rte_cpu_to_be_16(FRAME_BYTES - sizeof *eth - sizeof *ip);
	srandom(1);
	for (unsigned i = 0; i < DESTINATIONS; i++) {
		uint32_t prefix = (uint32_t)random() % prefixes;
		ip->dst_addr = rte_cpu_to_be_32(base + (prefix << 8) + 1 + (uint32_t)random() % 254);
		ip->hdr_checksum = 0;
		ip->hdr_checksum = rte_ipv4_cksum(ip);
		memcpy(varying[i], template + VARYING_AT, VARYING_BYTES);
	}
}

int main(int argc, char **argv)
{
	int used = rte_eal_init(argc, argv);
	if (used < 0)
		die("EAL does not start");
	argc -= used;
	argv += used;
	struct rte_ether_addr dst;
	unsigned octet[4];
	if (argc != 6 || rte_ether_unformat_addr(argv[3], &dst) != 0 ||
	    sscanf(argv[4], "%u.%u.%u.%u", octet, octet + 1, octet + 2, octet + 3) != 4 ||
	    atoi(argv[5]) < 1)
		die("usage: vhost_gen EAL-OPTIONS -- SOCKET0 SOCKET1 DST-MAC FIRST-PREFIX PREFIXES");
	make_packets(&dst, RTE_IPV4(octet[0], octet[1], octet[2], octet[3]), (unsigned)atoi(argv[5]));
	listen_on(&ports[0], argv[1]);
	listen_on(&ports[1], argv[2]);
	rest_ticks = rte_get_tsc_hz() / 1000000 * REST_NS / 1000;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("up %" PRIu64 "\n", rte_get_tsc_hz());

	char line[64];
	while (fgets(line, sizeof line, stdin) != NULL && strncmp(line, "quit", 4) != 0) {
		double seconds, mpps = 0;
		unsigned n;
		if (sscanf(line, "run %lf %lf", &seconds, &mpps) >= 1) {
			run(seconds, mpps);
		} else if (sscanf(line, "batch %u", &n) == 1) {
			if (n == 0 || n > BATCH_MAX || DESTINATIONS % n != 0)
				die("a batch is a power of two up to 256");
			batch = n;
			printf("batch %u\n", batch);
		} else if (sscanf(line, "rest %u", &n) == 1) {
			rest_ticks = rte_get_tsc_hz() / 1000000 * n / 1000;
			printf("rest %u\n", n);
		} else if (strncmp(line, "link", 4) == 0) {
			pthread_mutex_lock(&lock);
			printf("link %d %d\n", ports[0].enabled == 3 && ports[0].vid >= 0,
			       ports[1].enabled == 3 && ports[1].vid >= 0);
			pthread_mutex_unlock(&lock);
		}
	}
	return 0;
}
