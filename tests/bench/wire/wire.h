/*
 * The link of a load generator: frames in and out, each after the 12 bytes of struct
 * virtio_net_hdr, over any transport. The header describes the same offloads for all.
 *
 *     wire_vhost.c   a vhost-user socket; the guest, or DPDK's virtio-user, is the other end
 *     wire_tap.c     a tap device, with the host's kernel as the other end; or a packet socket
 *
 * This file includes no header of the product or of DPDK: the two cannot be combined in one file.
 */
#ifndef TESTS_BENCH_WIRE_WIRE_H
#define TESTS_BENCH_WIRE_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define WIRE_HEADER_BYTES 12
#define WIRE_PIECES_MAX 40

/* As in VIRTIO 1.2, 5.1.6; little-endian. */
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
	/* Whether the other end is connected. */
	bool (*is_up)(void);

	/* Enclose a sequence of the calls below; enter says whether checksums, and whether
	 * segmentation, may be left to the other end. */
	void (*enter)(bool *csum, bool *tso);
	void (*leave)(void);

	/* Takes one frame of the other end, with its header: copies up to `room` bytes; returns its
	 * length, 0: none. taken: call once after some of them. */
	unsigned (*take)(uint8_t *to, unsigned room);
	void (*taken)(void);

	/* Sends a frame in n pieces, the header first. False: no room now. given: call after
	 * some. */
	bool (*give)(const struct iovec *piece, unsigned n);
	void (*given)(void);

	/* Call after `patience` turns in which nothing moved: wakes a peer, or yields the CPU. */
	void (*idle)(void);
	unsigned patience;
};

/* offloads: whether to offer any. On failure they end the program with a message. */
const struct wire *wire_vhost_open(int argc, char **eal, const char *path, bool offloads);
const struct wire *wire_tap_open(const char *name, bool offloads);
const struct wire *wire_packet_open(const char *name);

#endif
