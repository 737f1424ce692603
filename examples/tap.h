/*
 * A Linux tap or tun device as the stack's network card. Received frames become packets in buffers of a
 * pool.
 *
 * With `offload` a virtio header precedes each frame (IFF_VNET_HDR, VIRTIO 1.2 5.1.6). Linux then
 * passes segments of up to 64 KiB whose checksum covers the pseudo header only (PKT_CSUM_PARTIAL), and
 * accepts such segments (PKT_TSO, PKT_CHAIN). Without `offload` all frames are as on a wire, and
 * checksums that a packet leaves to the device are computed here.
 *
 * Each direction can be impaired (impair.h). All frames can be written to a file for tcpdump and
 * Wireshark, as seen from the stack's side of the link.
 *
 * A tun device has no Ethernet header. One is added to received packets and removed from sent ones, so
 * the stack sees only one kind of frame. There is no ARP or neighbour discovery on a tun device.
 */
#ifndef EXAMPLES_TAP_H
#define EXAMPLES_TAP_H

#include <stdio.h>

#include "examples/impair.h"
#include "lib/pkt.h"

#define MIRROR_FRAME_MAX 65535 /* limit of struct pkt's len, also before segmentation */
#define TAP_STRIDE_OFFLOAD 65664 /* holds MIRROR_FRAME_MAX; 513 * 128 (why not a power of two: lib/pkt.h) */

struct tap_options {
	const char *dev;     /* in the current network namespace; created if it does not exist */
	uint32_t fd;         /* not 0: an open device to use instead, created with the same options */
	bool tun;
	bool offload;
	const char *in, *out; /* impair_init */
	uint64_t seed;
	const char *pcap;    /* file */
};

struct tap {
	int fd;
	bool tun, offload;
	bool gone;              /* the device was removed */
	unsigned head_bytes;    /* size of the virtio header before a frame, or 0 */
	struct impair in, out;
	FILE *pcap;
	uint64_t tx_frames, tx_lost; /* lost: Linux did not accept the frame */
	uint8_t *scratch;       /* space for a frame with its header */
};

/* Opens the device. On failure prints the reason on stderr and returns false. */
bool tap_open(struct tap *t, const struct tap_options *o);

/* Receives up to max available frames, whose buffers pass to the caller. A frame longer than the pool's
 * buffers is cut; ip4_check then finds that the IP length does not match. */
unsigned tap_rx_burst(struct tap *t, struct bufpool *pool, struct pkt *v, unsigned max,
                      uint64_t now_us);

/* Sends a packet and frees it. */
void tap_tx(struct tap *t, struct bufpool *pool, struct pkt *p, uint64_t now_us);

/* Sends a plain frame of len bytes, which stays the caller's. */
void tap_tx_frame(struct tap *t, const uint8_t *frame, uint32_t len, uint64_t now_us);

/* Sends the frames that leave the impaired link by now_us. Must be called at tap_deadline(). */
void tap_tick(struct tap *t, uint64_t now_us);
uint64_t tap_deadline(const struct tap *t);

#endif
