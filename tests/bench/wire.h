/*
 * What a load generator is attached to: frames with the 12 bytes of struct virtio_net_hdr in front,
 * in and out, whatever carries them. Both know the same offloads by them.
 *
 *     wire_vhost.c   a vhost-user socket; the guest, or DPDK's virtio-user, has the other end
 *     wire_tap.c     a tap device, the host's kernel has the other end; or a packet socket
 *
 * No header of the product and none of DPDK's is here: the two do not go together in one file.
 */
#ifndef TESTS_BENCH_WIRE_H
#define TESTS_BENCH_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define WIRE_HEADER_BYTES 12
#define WIRE_PIECES_MAX 40

/* As VIRTIO 1.2, 5.1.6, has it; little-endian. */
struct wire_header {
	uint8_t flags, gso_type;
	uint16_t hdr_len, gso_size, csum_start, csum_offset, num_buffers;
};
_Static_assert(sizeof(struct wire_header) == WIRE_HEADER_BYTES, "wire format");
#define WIRE_NEEDS_CSUM 1
#define WIRE_DATA_VALID 2
#define WIRE_GSO_TCPV4 1
#define WIRE_GSO_TCPV6 4

struct wire {
	/* Is there anybody at the other end? */
	bool (*is_up)(void);

	/* Around a stretch of the calls below; enter says whether checksums may be left to the
	 * other end, and whether frames to be cut up may. */
	void (*enter)(bool *csum, bool *tso);
	void (*leave)(void);

	/* One frame of the other end's, header and all: copies up to `room` bytes of it; returns
	 * how many it has, 0: there is none. taken: once after some of them. */
	unsigned (*take)(uint8_t *to, unsigned room);
	void (*taken)(void);

	/* Sends a frame in n pieces, the header first. False: no room now. given: after some. */
	bool (*give)(const struct iovec *piece, unsigned n);
	void (*given)(void);

	/* To be called after so many turns in which nothing moved: sees to a peer that sleeps, or
	 * lets another have the CPU. */
	void (*idle)(void);
	unsigned patience;
};

/* offloads: whether to offer any. They end the program with a message if they cannot. */
const struct wire *wire_vhost_open(int argc, char **eal, const char *path, bool offloads);
const struct wire *wire_tap_open(const char *name, bool offloads);
const struct wire *wire_packet_open(const char *name);

#endif
