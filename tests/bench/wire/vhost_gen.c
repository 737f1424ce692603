/*
 * Packet generator and sink for the benchmarks: a vhost-user backend that works on the rings
 * itself. DPDK's librte_vhost does the handshake; every packet is ours. DPDK's vhost PMD, which
 * allocates and copies, reaches only 12 Mpps on one core of the test machines and would measure
 * itself; this program is faster than any peer so far, so the peer is the limit.
 *
 * Sends UDP packets, of 64 bytes if no other size is compiled in, into the receive ring of port 0
 * and takes packets from the transmit ring of port 1 (or of port 0, or takes none), on one core.
 * Split rings. A frame is written by wide stores from a template, destination and checksum from a
 * table; of a long one only the first HEAD_MAX bytes, because no router reads more. Of returning
 * frames, only one in SAMPLE_EVERY is checked. All descriptors are read and checked. Used entries
 * become visible once per batch. A protocol violation of the peer ends the program with a message:
 * it is a test partner.
 *
 *   vhost_gen EAL-OPTIONS -- SOCKET0 SOCKET1 DST-MAC FIRST-PREFIX PREFIXES
 *   vhost_gen EAL-OPTIONS -- SOCKET0 SOCKET1 DST-MAC FILE
 *
 * There are 16,384 destinations, spread at random over PREFIXES consecutive /24 from FIRST-PREFIX
 * on, or those of FILE, addresses as on the wire, in its order, cyclically. The varying bytes of
 * frames are prepared in advance: millions are read in order, so the CPU prefetches them. With STATIONS
 * each destination has a MAC address of its own, DST-MAC plus its number. Commands
 * on standard input, answers as one line on standard output (first of all `up TSC-HZ`):
 *
 *   link                 link A B    1 if the peer has its rings up
 *   batch N              batch N     packets between two stores to used.idx, both ways (64)
 *   rest NS              rest NS     between polls of a ring that had less than a batch (500)
 *   back PORT            back PORT   where the packets of a run come back: port 1, or 0, or -1: the
 *                                    peer drops them, and what it takes is what it drops
 *   run SECONDS [MPPS [IN-FLIGHT]]
 *                        run OFFERED TAKEN RECEIVED LATE BAD NANOSECONDS ROUNDS FULL
 *                        Without MPPS, or with 0, as fast as the peer takes them. An uncounted
 *                        batch comes first: it wakes a sleeping peer before the time begins.
 *                        IN-FLIGHT: limit of packets in the peer at once; if they fit into its
 *                        rings it need not lose any, even if our CPU is taken away meanwhile.
 *                        RECEIVED: within the time; LATE: after it, of those in flight
 *                        BAD: samples that are no forwarded copy (TTL 63 or 64, addresses kept)
 *                        FULL: of ROUNDS polls, those that found no room for a batch
 *   tail SECONDS MPPS [ODD]
 *                        tail SENT RECEIVED STAMPED RETURNED BAD LEFT-OUT NS GONE-NS MAX GAP-MAX
 *                             | NS:COUNT... | NS:COUNT...
 *                        Latencies at that rate, from the time a packet was due (open_loop.h); 0: as
 *                        fast as the peer takes them. Packets leave when they are due, one at a time
 *                        if nothing else is. STAMPED of them carry a time stamp, and are longer, so
 *                        that only their contents are read on return. ODD packets of 256 go to an
 *                        address without a route and are not part of the schedule. IPv4 only
 *   sink SECONDS         sink TAKEN NANOSECONDS ROUNDS EMPTY
 *                        Takes all that a generator sends by port 1, and reads only descriptors.
 *                        Waits for its start, 5 s at most, and then for WARM_UP_S.
 *                        EMPTY: of ROUNDS polls, those that found nothing: if there are hardly
 *                        any, this end was the limit. Later frames stay in the ring until the next
 *   drain                drain TAKEN: that, until nothing has come for 50 ms
 *   teach MPPS           teach SENT  with STATIONS: a frame into port 1 from the MAC address of each
 *                                    destination, in order. What comes out of port 0 is thrown away
 *   speak ADDRESS N MAC ROUTER
 *                        speak SENT  an ARP request for ROUTER into port 1 from each of N neighbours with this MAC
 *                                    address, ADDRESS and the following. What comes out is thrown away
 *   cable SECONDS        cable TAKEN: a cable from port 1 to port 0, from the first frame on
 *   quit
 *
 * The rings, and unimplemented parts of virtio: vhost_ring.h. Its lock is held during a whole run.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <limits.h>
#include <rte_arp.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/bench/open_loop.h"
#include "vhost_ring.h"

#define BATCH_MAX 256
#define DESTINATIONS 16384 /* a multiple of every batch size */
#define LISTED_MAX (1u << 24)
#define LARGE_PAGE ((size_t)2 << 20)
#define SAMPLE_EVERY 1024
#define PATIENCE 64 /* polls for a whole batch of room before a smaller one is used */
#define REST_NS 500 /* between polls of a ring that had less than a batch */
#define WARM_UP_S 0.05
#define BEGIN_S 5
/* Between looks while nothing is measured: on some hosts each delays a virtual CPU by 50 us and more. */
#define WAIT_US 2000
#define SPEAK_US 200 /* between two neighbours */
#define QUIET_S 0.05

#define HEADER_BYTES VHOST_HEADER_BYTES
/* Constants, so that copies have a constant size: load.py builds a program for each. */
#ifndef FRAME_BYTES
#define FRAME_BYTES 60  /* 64 on the wire, with the FCS */
#endif
#ifndef FAMILY
#define FAMILY 4
#endif
#ifndef STATIONS
#define STATIONS 0
#endif
#ifndef TAG
#define TAG 0 /* the VLAN of an 802.1Q tag; what comes back has one too */
#endif
#ifndef IMIX
#define IMIX 0 /* FRAME_BYTES is the longest then */
#endif
#define LINK_BYTES (sizeof(struct rte_ether_hdr) + (TAG ? sizeof(struct rte_vlan_hdr) : 0))
#define BUFFER_BYTES (HEADER_BYTES + FRAME_BYTES)
#define SHORTEST (HEADER_BYTES + (IMIX ? 60 : FRAME_BYTES)) /* buffer of a frame */
#define HEAD_MAX 128
#define WRITTEN_BYTES (SHORTEST < HEAD_MAX ? SHORTEST : HEAD_MAX)
/* The part of the buffer that differs between packets: IPv4 checksum, source, destination, ports,
 * and with IMIX also the lengths of IPv4 and UDP; for IPv6 the destination. */
#define VARYING_AT (HEADER_BYTES + LINK_BYTES + (FAMILY == 6 ? 24 : IMIX ? 2 : 10))
#define VARYING_BYTES (IMIX ? 24 : 16)
#define UDP_FITS (FRAME_BYTES >= (int)(LINK_BYTES + (FAMILY == 4 ? 20 : 40) + 8))
#define IP_IN(buffer) ((void *)((buffer) + HEADER_BYTES + LINK_BYTES))

static struct vhost_port ports[2];
static int back = 1; /* the port where a run's packets come back; -1: none does */
static _Alignas(64) uint8_t template[BUFFER_BYTES];
static uint8_t (*varying)[VARYING_BYTES];
static unsigned destinations; /* a multiple of BATCH_MAX */

/* Writes the MAC address of destination n: that of the template plus n. */
static inline void put_station(uint8_t *mac, unsigned n)
{
	const struct rte_ether_hdr *eth = (const void *)(template + HEADER_BYTES);
	uint32_t low;
	memcpy(&low, &eth->dst_addr.addr_bytes[2], sizeof low);
	low = rte_cpu_to_be_32(rte_be_to_cpu_32(low) + n);
	memcpy(mac, &eth->dst_addr, 2);
	memcpy(mac + 2, &low, sizeof low);
}

/* The length of a frame with these varying bytes, in its buffer. */
static inline unsigned length_of(const uint8_t *bytes)
{
	return IMIX ? HEADER_BYTES + LINK_BYTES + (bytes[0] << 8 | bytes[1]) : BUFFER_BYTES;
}

/* --- rings --- */

/* Writes n packets, with destinations from `at` on, into the peer's buffers. The caller publishes
 * them. */
static inline void fill(struct vhost_ring *q, unsigned n, unsigned at)
{
	uint16_t mask = q->size - 1, id[BATCH_MAX];
	uint8_t *buffer[BATCH_MAX];
	for (unsigned i = 0; i < n; i++) {
		id[i] = q->avail->ring[(uint16_t)(q->next + i) & mask];
		const struct vring_desc *d = vhost_descriptor(q, id[i]);
		if (__builtin_expect(d->flags != VRING_DESC_F_WRITE || d->len < BUFFER_BYTES, 0))
			vhost_die("a receive buffer is a chain, too small or not to be written");
		buffer[i] = vhost_address(q->port, d->addr, BUFFER_BYTES);
		__builtin_prefetch(buffer[i], 1);
	}
	for (unsigned i = 0; i < n; i++) {
		uint8_t *to = buffer[i];
		memcpy(to, template, VARYING_AT);
		memcpy(to + VARYING_AT, varying[at + i], VARYING_BYTES);
		memcpy(to + VARYING_AT + VARYING_BYTES, template + VARYING_AT + VARYING_BYTES,
		       WRITTEN_BYTES - VARYING_AT - VARYING_BYTES);
		if (STATIONS)
			put_station(to + HEADER_BYTES, at + i);
		q->used->ring[(uint16_t)(q->next + i) & mask] =
			(struct vring_used_elem){id[i], length_of(varying[at + i])};
	}
}

static inline void enqueue(struct vhost_ring *q, unsigned n, unsigned at)
{
	fill(q, n, at);
	vhost_publish(q, (uint16_t)(q->next + n));
}

static const uint8_t source6[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 1, [15] = 2};

static unsigned bad_packet(const struct vhost_ring *q, uint16_t id)
{
	uint8_t buffer[BUFFER_BYTES];
	if (vhost_gather(q, id, buffer, sizeof buffer) < SHORTEST)
		return 1;
	const struct rte_ether_hdr *eth = (const void *)(buffer + HEADER_BYTES);
	const struct rte_vlan_hdr *tag = (const void *)(eth + 1);
	const struct rte_ipv4_hdr *ip = IP_IN(buffer);
	if (TAG && eth->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN))
		return 1;
	const uint16_t type = TAG ? tag->eth_proto : eth->ether_type;
	if (FAMILY == 6) {
		const struct rte_ipv6_hdr *six = (const void *)ip;
		/* DPDK's l3fwd does not change the hop limit. */
		return type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6) ||
		       (six->hop_limits != 63 && six->hop_limits != 64) ||
		       memcmp(six->src_addr, source6, 16) != 0;
	}
	if (type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4))
		return 1;
	/* A peer that swaps addresses without routing does not change the TTL. */
	if (ip->time_to_live != 63 && ip->time_to_live != 64)
		return 1;
	return ip->src_addr != rte_cpu_to_be_32(RTE_IPV4(192, 0, 2, 2)) || rte_ipv4_cksum(ip) != 0;
}

/* Returns n of the peer's frames. */
static inline void give_back(struct vhost_ring *q, unsigned n)
{
	uint16_t mask = q->size - 1;
	for (unsigned i = 0; i < n; i++) {
		uint16_t slot = (uint16_t)(q->next + i) & mask, id = q->avail->ring[slot];
		const struct vring_desc *d = vhost_descriptor(q, id);
		if (__builtin_expect(d->flags != 0 || d->len < SHORTEST, 0))
			vhost_gather(q, id, NULL, 0); /* checks the chain */
		q->used->ring[slot] = (struct vring_used_elem){id, 0};
	}
	vhost_publish(q, (uint16_t)(q->next + n));
}

/* The number of frames that the peer has sent, up to a batch. */
static inline unsigned sent(struct vhost_ring *q, uint64_t now)
{
	unsigned n = vhost_available(q, now);
	return n < vhost_batch ? n : vhost_batch;
}

/* Takes up to a batch of frames from the peer. */
static inline unsigned dequeue(struct vhost_ring *q, uint64_t now, uint64_t *bad, uint64_t received)
{
	unsigned n = sent(q, now);
	if (n == 0)
		return 0;
	if (__builtin_expect((received ^ (received + n)) / SAMPLE_EVERY != 0, 0))
		*bad += bad_packet(q, q->avail->ring[q->next & (q->size - 1)]);
	give_back(q, n);
	return n;
}

/* --- latencies --- */

/* A stamped frame is longer by GROWTH: the length in its descriptor tells it from others. */
#define GROWTH 12
#define STAMPED_BYTES (BUFFER_BYTES + GROWTH)
#define STAMP_AT (HEADER_BYTES + LINK_BYTES + 20 + sizeof(struct rte_udp_hdr) + 2)
#define STAMP_EVERY_NS 400 /* at most: the stamped frames are read */
#define GAP_NS 5000        /* between two turns: longer, and this program was off its CPU */
#define TAIL_BURST 64
#define TAIL_REST_NS 100 /* between polls; it is part of the latency */
#define NOWHERE RTE_IPV4(192, 88, 99, 9) /* no route leads there */

static struct open_loop loop;
static uint64_t stamped, returned;

/* Sets the lengths and the checksum of the IPv4 frame at `to` (RFC 1624) and writes the stamp. */
static void put_stamp(uint8_t *to, uint64_t stamp)
{
	struct rte_ipv4_hdr *ip = IP_IN(to);
	struct rte_udp_hdr *udp = (void *)(ip + 1);
	uint16_t old = ip->total_length, new = rte_cpu_to_be_16((uint16_t)(rte_be_to_cpu_16(old) + GROWTH));
	uint32_t sum = (uint16_t)~ip->hdr_checksum + (uint32_t)(uint16_t)~old + new;
	sum = (sum & 0xffff) + (sum >> 16);
	ip->hdr_checksum = (uint16_t) ~((sum & 0xffff) + (sum >> 16));
	ip->total_length = new;
	udp->dgram_len = rte_cpu_to_be_16((uint16_t)(rte_be_to_cpu_16(udp->dgram_len) + GROWTH));
	memcpy(to + STAMP_AT, &stamp, sizeof stamp);
}

/* Gives the peer n packets, the first of them stamped (0: none is), or frames to nowhere. */
static void put(struct vhost_ring *q, unsigned n, unsigned at, uint64_t stamp, bool astray)
{
	const uint16_t slot = q->next & (q->size - 1), id = q->avail->ring[slot];
	const struct vring_desc *d = vhost_descriptor(q, id);
	fill(q, n, astray ? destinations : at);
	if (stamp) {
		if (d->len < STAMPED_BYTES)
			vhost_die("a receive buffer is too small");
		put_stamp(vhost_address(q->port, d->addr, STAMPED_BYTES), stamp);
		q->used->ring[slot].len = STAMPED_BYTES;
		stamped++;
	}
	vhost_publish(q, (uint16_t)(q->next + n));
}

/* Takes what the peer has sent; returns how many of the schedule's packets. */
static unsigned take_back(struct vhost_ring *q, uint64_t now, uint64_t *bad)
{
	unsigned n = sent(q, now);
	if (n == 0)
		return 0;
	now = rte_rdtsc();
	open_loop_clock(&loop, now);
	for (unsigned i = 0; i < n; i++) {
		uint16_t id = q->avail->ring[(uint16_t)(q->next + i) & (q->size - 1)];
		const struct vring_desc *d = vhost_descriptor(q, id);
		if ((d->flags ? vhost_gather(q, id, NULL, 0) : d->len) != STAMPED_BYTES)
			continue;
		uint8_t frame[STAMPED_BYTES];
		uint64_t stamp;
		vhost_gather(q, id, frame, sizeof frame);
		memcpy(&stamp, frame + STAMP_AT, sizeof stamp);
		if (bad_packet(q, id) || !open_loop_back(&loop, stamp, now))
			++*bad;
		else
			returned++;
	}
	give_back(q, n);
	return n;
}

static bool wake(struct vhost_ring *in, struct vhost_ring *out);

static void tail(double seconds, double mpps, unsigned odd)
{
	uint64_t received = 0, astray = 0, bad = 0, next_stamp = 0, hz = rte_get_tsc_hz();
	unsigned at = 0, quiet = 0, batch = vhost_batch;
	pthread_mutex_lock(&vhost_lock);
	vhost_learn(&ports[0]);
	vhost_learn(&ports[1]);
	struct vhost_ring *in = &ports[0].rx, *out = &ports[1].tx;
	uint64_t rest = vhost_rest_ticks;
	vhost_rest_ticks = hz / 1000000 * TAIL_REST_NS / 1000;
	vhost_batch = TAIL_BURST;
	stamped = returned = 0;
	if (!wake(in, out))
		seconds = 0;
	uint64_t now = rte_rdtsc();
	open_loop_begin(&loop, now, (uint64_t)(seconds * (double)hz), mpps == 0 ? 0 : (double)hz / (mpps * 1e6),
	                hz / 1000000 * GAP_NS / 1000);
	for (; open_loop_runs(&loop, now); now = rte_rdtsc()) {
		uint64_t due = open_loop_due(&loop, now);
		unsigned n = due == 0 ? 0 : vhost_available(in, now), came;
		n = n < TAIL_BURST ? n : TAIL_BURST;
		if (n < TAIL_BURST && n < due && in->looks < PATIENCE)
			n = 0; /* the peer is behind: single free descriptors would cost it most */
		else
			in->looks = 0;
		if (n > 0 && astray < (loop.sent * odd >> 8)) {
			n = n < loop.sent * odd / 256 - astray ? n : (unsigned)(loop.sent * odd / 256 - astray);
			put(in, n, 0, 0, true);
			astray += n;
		} else if (n > 0) {
			n = n < due ? n : (unsigned)due;
			n = n < destinations - at ? n : destinations - at;
			bool mark = now >= next_stamp;
			put(in, n, at, mark ? open_loop_stamp(&loop, now) : 0, false);
			loop.sent += n;
			at = at + n < destinations ? at + n : 0;
			next_stamp = mark ? now + hz / 1000000 * STAMP_EVERY_NS / 1000 : next_stamp;
		}
		received += came = take_back(out, now, &bad);
		quiet = n + came ? 0 : quiet + 1;
		if (__builtin_expect(quiet > PATIENCE, 0)) {
			vhost_call(in, 0, true);
			vhost_call(out, 0, true);
			quiet = 0;
		}
	}
	vhost_call(in, 0, true);
	struct open_loop over = loop; /* later ones are returned, but not in the latencies */
	for (uint64_t last = now; rte_rdtsc() - last < hz / 50 && rte_rdtsc() - now < hz;) {
		if (take_back(out, rte_rdtsc(), &bad))
			last = rte_rdtsc();
		else
			vhost_call(out, 0, true);
	}
	vhost_batch = batch;
	vhost_rest_ticks = rest;
	pthread_mutex_unlock(&vhost_lock);
	printf("tail %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, over.sent, received, stamped,
	       returned, bad);
	open_loop_report(&over, now, (double)hz);
}

/* --- the sink of a generator --- */

static inline unsigned swallow(struct vhost_ring *q, uint64_t now)
{
	unsigned n = sent(q, now);
	if (n > 0)
		give_back(q, n);
	return n;
}

static uint64_t ticks_of(double seconds)
{
	return (uint64_t)(seconds * (double)rte_get_tsc_hz());
}

/* Returns the TSC when the peer's first frame is in the ring, or when the wait is over. It sleeps
 * meanwhile: the process that tells the peer to begin needs this CPU, and does not get it once
 * frames come. */
static uint64_t wait_for_first(struct vhost_ring *q)
{
	uint64_t now = rte_rdtsc(), end = now + ticks_of(BEGIN_S);
	q->rest = 0;
	for (; now < end && vhost_available(q, now) == 0; now = rte_rdtsc()) {
		q->rest = 0;
		usleep(WAIT_US);
	}
	return now;
}

static void sink(double seconds)
{
	struct vhost_ring *q = &ports[1].tx;
	uint64_t taken = 0, rounds = 0, empty = 0;
	pthread_mutex_lock(&vhost_lock);
	vhost_learn(&ports[1]);
	uint64_t start = wait_for_first(q) + ticks_of(WARM_UP_S), end = start + ticks_of(seconds);
	uint64_t now = rte_rdtsc();
	for (; now < start; now = rte_rdtsc())
		swallow(q, now);
	start = now;
	for (; now < end; now = rte_rdtsc()) {
		unsigned n = swallow(q, now);
		taken += n;
		rounds++;
		empty += n == 0;
	}
	pthread_mutex_unlock(&vhost_lock);
	printf("sink %" PRIu64 " %.0f %" PRIu64 " %" PRIu64 "\n", taken,
	       (double)(now - start) * 1e9 / (double)rte_get_tsc_hz(), rounds, empty);
}

static void drain(void)
{
	struct vhost_ring *q = &ports[1].tx;
	uint64_t taken = 0, last = rte_rdtsc(), now = last;
	pthread_mutex_lock(&vhost_lock);
	vhost_learn(&ports[1]);
	for (; now - last < ticks_of(QUIET_S); now = rte_rdtsc()) {
		unsigned n = swallow(q, now);
		taken += n;
		last = n > 0 ? now : last;
		vhost_call(q, 0, true);
		usleep(WAIT_US);
	}
	pthread_mutex_unlock(&vhost_lock);
	printf("drain %" PRIu64 "\n", taken);
}

/* A frame from each station to the load's source; the switch under test learns where the stations are. */
static void teach(double mpps)
{
	struct vhost_ring *in = &ports[1].rx, *out = &ports[0].tx;
	const double ticks = (double)rte_get_tsc_hz() / (mpps * 1e6);
	const struct rte_ether_hdr *source = (const void *)(template + HEADER_BYTES);
	unsigned done = 0;
	pthread_mutex_lock(&vhost_lock);
	vhost_learn(&ports[0]);
	vhost_learn(&ports[1]);
	uint64_t start = rte_rdtsc(), now = start, last = start;
	while (done < destinations && now - last < ticks_of(BEGIN_S)) {
		now = rte_rdtsc();
		swallow(out, now);
		vhost_call(out, 0, true);
		if ((double)(now - start) < done * ticks || vhost_available(in, now) == 0)
			continue;
		const uint16_t slot = in->next & (in->size - 1), id = in->avail->ring[slot];
		fill(in, 1, done);
		uint8_t *frame = (uint8_t *)vhost_address(in->port, vhost_descriptor(in, id)->addr, BUFFER_BYTES) + HEADER_BYTES;
		memcpy(frame, &source->src_addr, RTE_ETHER_ADDR_LEN);
		put_station(frame + RTE_ETHER_ADDR_LEN, done);
		vhost_publish(in, (uint16_t)(in->next + 1));
		vhost_call(in, 0, true);
		last = now;
		done++;
	}
	pthread_mutex_unlock(&vhost_lock);
	printf("teach %u\n", done);
}

/* Has each neighbour ask for the router, which learns it by that (RFC 826). */
static void speak(uint32_t first, unsigned neighbours, const struct rte_ether_addr *mac, uint32_t router)
{
	struct vhost_ring *in = &ports[1].rx, *out = &ports[1].tx;
	unsigned done = 0;
	pthread_mutex_lock(&vhost_lock);
	vhost_learn(&ports[1]);
	const uint64_t start = rte_rdtsc();
	for (; done < neighbours && rte_rdtsc() - start < ticks_of(BEGIN_S); usleep(SPEAK_US)) {
		swallow(out, rte_rdtsc());
		vhost_call(out, 0, true);
		if (vhost_available(in, rte_rdtsc()) == 0)
			continue;
		uint8_t frame[HEADER_BYTES + 60] = {0};
		struct rte_ether_hdr *eth = (void *)(frame + HEADER_BYTES);
		struct rte_arp_hdr *arp = (void *)(eth + 1);
		((struct virtio_net_hdr_mrg_rxbuf *)(void *)frame)->num_buffers = 1;
		*eth = (struct rte_ether_hdr){.src_addr = *mac, .ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_ARP)};
		memset(&eth->dst_addr, 0xff, sizeof eth->dst_addr);
		arp->arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER);
		arp->arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
		arp->arp_hlen = RTE_ETHER_ADDR_LEN;
		arp->arp_plen = 4;
		arp->arp_opcode = rte_cpu_to_be_16(RTE_ARP_OP_REQUEST);
		arp->arp_data.arp_sha = *mac;
		arp->arp_data.arp_sip = rte_cpu_to_be_32(first + done++);
		arp->arp_data.arp_tip = rte_cpu_to_be_32(router);
		const uint16_t slot = in->next & (in->size - 1), id = in->avail->ring[slot];
		memcpy(vhost_address(in->port, vhost_descriptor(in, id)->addr, sizeof frame), frame, sizeof frame);
		in->used->ring[slot] = (struct vring_used_elem){id, sizeof frame};
		vhost_publish(in, (uint16_t)(in->next + 1));
		vhost_call(in, 0, true);
	}
	pthread_mutex_unlock(&vhost_lock);
	printf("speak %u\n", done);
}

/* The command with these words. False: they are invalid. */
static bool speak_words(const char *words)
{
	char address[3][32];
	struct rte_ether_addr mac;
	struct in_addr first, router;
	unsigned n;
	if (sscanf(words, "speak %31s %u %31s %31s", address[0], &n, address[1], address[2]) != 4 ||
	    inet_pton(AF_INET, address[0], &first) != 1 || rte_ether_unformat_addr(address[1], &mac) != 0 ||
	    inet_pton(AF_INET, address[2], &router) != 1)
		return false;
	speak(rte_be_to_cpu_32(first.s_addr), n, &mac, rte_be_to_cpu_32(router.s_addr));
	return true;
}

/* Carries one batch of frames over; without room at the far end the rest is lost, as on a cable. */
static unsigned carry(struct vhost_ring *from, struct vhost_ring *to, uint64_t now)
{
	unsigned n = sent(from, now), room = n > 0 ? vhost_available(to, now) : 0;
	uint16_t mask = to->size - 1;
	for (unsigned i = 0; i < n && i < room; i++) {
		uint16_t slot = (uint16_t)(to->next + i) & mask, id = to->avail->ring[slot];
		const struct vring_desc *d = vhost_descriptor(to, id);
		if (d->flags != VRING_DESC_F_WRITE || d->len < BUFFER_BYTES)
			vhost_die("a receive buffer is a chain, too small or not to be written");
		uint8_t *at = vhost_address(to->port, d->addr, d->len);
		unsigned got = vhost_gather(from, from->avail->ring[(uint16_t)(from->next + i) & mask],
		                            at, d->len);
		((struct virtio_net_hdr_mrg_rxbuf *)(void *)at)->num_buffers = 1;
		to->used->ring[slot] = (struct vring_used_elem){id, got < d->len ? got : d->len};
	}
	if (n > 0) {
		vhost_publish(to, (uint16_t)(to->next + (n < room ? n : room)));
		give_back(from, n);
	}
	return n;
}

static void cable(double seconds)
{
	uint64_t taken = 0;
	pthread_mutex_lock(&vhost_lock);
	vhost_learn(&ports[0]);
	vhost_learn(&ports[1]);
	struct vhost_ring *from = &ports[1].tx, *to = &ports[0].rx;
	uint64_t rest = vhost_rest_ticks, now = wait_for_first(from), end = now + ticks_of(seconds);
	vhost_rest_ticks = 0; /* the time between two polls would add to the latency */
	for (; now < end; now = rte_rdtsc())
		taken += carry(from, to, now);
	vhost_rest_ticks = rest;
	pthread_mutex_unlock(&vhost_lock);
	printf("cable %" PRIu64 "\n", taken);
}

/* --- commands --- */

/*
 * Wakes a peer that may be asleep with one uncounted batch: true when it has come back. Sleeps
 * while it waits: with real-time priority we might keep the thread that passes the wake-up on
 * (QEMU, a kernel worker) from this CPU. Without `out`, a peer is awake when it has renewed descriptors.
 */
static bool wake(struct vhost_ring *in, struct vhost_ring *out)
{
	uint64_t now = rte_rdtsc(), end = now + rte_get_tsc_hz() / 2, bad;
	while (out && dequeue(out, now, &bad, 0) != 0) /* frames of an earlier run */
		;
	in->rest = 0;
	if (out)
		out->rest = 0;
	unsigned n = vhost_available(in, now), came = 0;
	n = n < vhost_batch ? n : vhost_batch;
	enqueue(in, n, 0);
	const uint16_t seen = in->seen;
	for (unsigned wanted = out ? n : 1; came < wanted && now < end; now = rte_rdtsc()) {
		if (out) {
			came += dequeue(out, now, &bad, 0);
			vhost_call(out, 0, true);
		} else {
			in->rest = 0;
			in->seen = in->next; /* makes vhost_available read the index */
			(void)vhost_available(in, now);
			came = (uint16_t)(in->seen - seen);
		}
		vhost_call(in, 0, true);
		if (came == 0)
			usleep(WAIT_US);
	}
	return n > 0 && came >= (out ? n : 1);
}

static void run(double seconds, double mpps, uint64_t in_flight)
{
	uint64_t offered = 0, taken = 0, received = 0, late = 0, bad = 0, rounds = 0, full = 0;
	uint64_t hz = rte_get_tsc_hz();
	double per_tick = mpps * 1e6 / (double)hz;
	unsigned at = 0;

	pthread_mutex_lock(&vhost_lock);
	vhost_learn(&ports[0]);
	vhost_learn(&ports[1]);
	struct vhost_ring *in = &ports[0].rx, *out = back < 0 ? NULL : &ports[back].tx;
	if (!wake(in, out))
		seconds = 0; /* nothing comes back, as the caller will notice */
	uint64_t start = rte_rdtsc(), now = start, end = start + (uint64_t)(seconds * (double)hz);
	for (; now < end; now = rte_rdtsc()) {
		if (mpps == 0 ||
		    (double)(now - start) * per_tick >= (double)(offered + vhost_batch)) {
			unsigned n = vhost_available(in, now);
			if (out && taken - received + vhost_batch > in_flight)
				n = 0;
			offered += vhost_batch;
			rounds++;
			full += n < vhost_batch;
			if (n >= vhost_batch || (in->looks >= PATIENCE && n > 0)) {
				n = n < vhost_batch ? n : vhost_batch;
				enqueue(in, n, at);
				taken += n;
				at = at + vhost_batch < destinations ? at + vhost_batch : 0;
				in->looks = 0;
			}
		}
		if (out)
			received += dequeue(out, now, &bad, received);
		if (__builtin_expect(in->looks + (out ? out->looks : 0) > 2 * PATIENCE, 0)) { /* no progress */
			vhost_call(in, 0, true);
			in->looks = 0;
			if (out) {
				vhost_call(out, 0, true);
				out->looks = 0;
			}
		}
	}
	vhost_call(in, 0, true);
	for (uint64_t last = now; out && rte_rdtsc() - last < hz / 50;) { /* 20 ms for those in flight */
		unsigned n = dequeue(out, rte_rdtsc(), &bad, received + late);
		late += n;
		if (n > 0)
			last = rte_rdtsc();
		else
			vhost_call(out, 0, true);
		if (rte_rdtsc() - now > hz)
			break;
	}
	pthread_mutex_unlock(&vhost_lock);
	printf("run %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %.0f %" PRIu64
	       " %" PRIu64 "\n",
	       offered, taken, received, late, bad, (double)(now - start) * 1e9 / (double)hz, rounds,
	       full);
}

static void make_udp(void *at, unsigned bytes)
{
	struct rte_udp_hdr *udp = at;
	udp->src_port = rte_cpu_to_be_16(1024);
	udp->dst_port = rte_cpu_to_be_16(9);
	udp->dgram_len = rte_cpu_to_be_16((uint16_t)bytes);
}

static void add6(const uint8_t to[16])
{
	memcpy(varying[destinations++], to, VARYING_BYTES);
}

static void add4(uint32_t network_order)
{
	static const uint16_t imix[] = {60, 590, 60, 60, 590, 60, 1514, 60, 590, 60, 60, 590};
	struct rte_ipv4_hdr *ip = IP_IN(template);
	if (IMIX) {
		const uint16_t bytes = (uint16_t)(imix[destinations % RTE_DIM(imix)] - LINK_BYTES);
		ip->total_length = rte_cpu_to_be_16(bytes);
		((struct rte_udp_hdr *)(void *)(ip + 1))->dgram_len = rte_cpu_to_be_16((uint16_t)(bytes - sizeof *ip));
	}
	ip->dst_addr = network_order;
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	memcpy(varying[destinations++], template + VARYING_AT, VARYING_BYTES);
}

/* Prefix number n is 2a10:0:n::/48. */
static void spread(uint32_t base, unsigned prefixes)
{
	srandom(1);
	for (unsigned i = 0; i < DESTINATIONS; i++) {
		unsigned prefix = (unsigned)random() % prefixes;
		uint8_t to[16] = {0x2a, 0x10, 0, 0, (uint8_t)(prefix >> 8), (uint8_t)prefix};
		for (unsigned b = 6; FAMILY == 6 && b < 16; b++)
			to[b] = (uint8_t)random();
		if (FAMILY == 6)
			add6(to);
		else
			add4(rte_cpu_to_be_32(base + (prefix << 8) + 1 + (uint32_t)random() % 254));
	}
}

/* Reads destinations, up to the last whole batch of the largest size. */
static void read_destinations(FILE *f)
{
	uint8_t to[FAMILY == 6 ? 16 : 4];
	uint32_t four;
	while (destinations < LISTED_MAX && fread(to, sizeof to, 1, f) == 1) {
		memcpy(&four, to, sizeof four);
		if (FAMILY == 6)
			add6(to);
		else
			add4(four);
	}
	destinations -= destinations % BATCH_MAX;
	if (destinations == 0)
		vhost_die("the file has too few destinations");
}

/* Allocates that much room, in large pages: otherwise every frame would miss the TLB. */
static void make_room(size_t many)
{
	size_t bytes = ((many + TAIL_BURST) * VARYING_BYTES + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
	varying = aligned_alloc(LARGE_PAGE, bytes);
	if (varying == NULL)
		vhost_die("no memory");
	madvise(varying, bytes, MADV_HUGEPAGE);
}

/* A frame of 64 bytes has no room for UDP in IPv6: then there is no next header. No device on the
 * path checks the UDP checksum. */
static void make_template(const struct rte_ether_addr *dst)
{
	struct rte_ether_hdr *eth = (void *)(template + HEADER_BYTES);
	struct rte_vlan_hdr *tag = (void *)(eth + 1);
	struct rte_ipv4_hdr *ip = IP_IN(template);
	struct rte_ipv6_hdr *six = (void *)ip;
	const uint16_t type = rte_cpu_to_be_16(FAMILY == 6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);
	((struct virtio_net_hdr_mrg_rxbuf *)(void *)template)->num_buffers = 1;
	eth->dst_addr = *dst;
	eth->src_addr = (struct rte_ether_addr){{0x52, 0x54, 0, 0, 0, 0x0a}};
	eth->ether_type = TAG ? rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN) : type;
	if (TAG)
		*tag = (struct rte_vlan_hdr){rte_cpu_to_be_16(TAG), type};
	if (FAMILY == 6) {
		six->vtc_flow = rte_cpu_to_be_32(6u << 28);
		six->payload_len = rte_cpu_to_be_16(FRAME_BYTES - LINK_BYTES - sizeof *six);
		six->proto = UDP_FITS ? 17 : 59;
		six->hop_limits = 64;
		memcpy(six->src_addr, source6, 16);
		if (UDP_FITS)
			make_udp(six + 1, FRAME_BYTES - LINK_BYTES - sizeof *six);
		return;
	}
	ip->version_ihl = 0x45;
	ip->total_length = rte_cpu_to_be_16(FRAME_BYTES - LINK_BYTES);
	ip->time_to_live = 64;
	ip->next_proto_id = 17;
	ip->src_addr = rte_cpu_to_be_32(RTE_IPV4(192, 0, 2, 2));
	make_udp(ip + 1, FRAME_BYTES - LINK_BYTES - sizeof *ip);
}

/* Puts a burst of frames to NOWHERE behind the destinations. */
static void make_nowhere(void)
{
	const unsigned regular = destinations;
	for (unsigned i = 0; FAMILY == 4 && i < TAIL_BURST; i++)
		add4(rte_cpu_to_be_32(NOWHERE));
	destinations = regular;
}

/* Makes the destinations from the words of the command line; false: they are invalid. */
static bool make_destinations(int words, char **word)
{
	unsigned octet[4];
	FILE *f = words == 1 ? fopen(word[0], "rb") : NULL;
	if (f) {
		make_room(LISTED_MAX);
		read_destinations(f);
		fclose(f);
		return true;
	}
	if (words != 2 || atoi(word[1]) < 1 ||
	    sscanf(word[0], "%u.%u.%u.%u", octet, octet + 1, octet + 2, octet + 3) != 4)
		return false;
	make_room(DESTINATIONS);
	spread(RTE_IPV4(octet[0], octet[1], octet[2], octet[3]), (unsigned)atoi(word[1]));
	return true;
}

#define USAGE "usage: vhost_gen EAL-OPTIONS -- SOCKET0 SOCKET1 DST-MAC FIRST-PREFIX PREFIXES | FILE"

int main(int argc, char **argv)
{
	int used = rte_eal_init(argc, argv);
	if (used < 0)
		vhost_die("EAL does not start");
	argc -= used;
	argv += used;
	struct rte_ether_addr dst;
	if (argc < 4 || rte_ether_unformat_addr(argv[3], &dst) != 0)
		vhost_die(USAGE);
	make_template(&dst);
	if (!make_destinations(argc - 4, argv + 4))
		vhost_die(USAGE);
	make_nowhere();
	vhost_listen(&ports[0], argv[1], 0);
	vhost_listen(&ports[1], argv[2], 0);
	vhost_rest_ticks = rte_get_tsc_hz() / 1000000 * REST_NS / 1000;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("up %" PRIu64 "\n", rte_get_tsc_hz());

	char line[128];
	while (fgets(line, sizeof line, stdin) != NULL && strncmp(line, "quit", 4) != 0) {
		double seconds, mpps = 0;
		unsigned n, in_flight = UINT_MAX, odd = 0;
		if (sscanf(line, "run %lf %lf %u", &seconds, &mpps, &in_flight) >= 1) {
			run(seconds, mpps, in_flight);
		} else if (sscanf(line, "tail %lf %lf %u", &seconds, &mpps, &odd) >= 2) {
			if (FAMILY != 4)
				vhost_die("stamped frames are IPv4");
			tail(seconds, mpps, odd);
		} else if (sscanf(line, "sink %lf", &seconds) == 1) {
			sink(seconds);
		} else if (sscanf(line, "cable %lf", &seconds) == 1) {
			cable(seconds);
		} else if (sscanf(line, "teach %lf", &mpps) == 1) {
			if (!STATIONS || !(mpps > 0))
				vhost_die("only a program with STATIONS teaches, at a rate");
			teach(mpps);
		} else if (strncmp(line, "speak ", 6) == 0) {
			if (!speak_words(line))
				vhost_die("speak ADDRESS N MAC ROUTER");
		} else if (sscanf(line, "back %d", &back) == 1) {
			if (back < -1 || back > 1)
				vhost_die("packets come back by port 0, 1 or none (-1)");
			printf("back %d\n", back);
		} else if (strncmp(line, "drain", 5) == 0) {
			drain();
		} else if (sscanf(line, "batch %u", &n) == 1) {
			if (n == 0 || n > BATCH_MAX || DESTINATIONS % n != 0)
				vhost_die("a batch is a power of two up to 256");
			vhost_batch = n;
			printf("batch %u\n", vhost_batch);
		} else if (sscanf(line, "rest %u", &n) == 1) {
			vhost_rest_ticks = rte_get_tsc_hz() / 1000000 * n / 1000;
			printf("rest %u\n", n);
		} else if (strncmp(line, "link", 4) == 0) {
			pthread_mutex_lock(&vhost_lock);
			printf("link %d %d\n", vhost_is_up(&ports[0]), vhost_is_up(&ports[1]));
			pthread_mutex_unlock(&vhost_lock);
		}
	}
	return 0;
}
