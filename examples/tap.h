/*
 * A Linux tap or tun device as the stack's network card: frames come in as packets of a buffer
 * pool, packets go out.
 *
 * With `offload` each frame has a virtio header in front (IFF_VNET_HDR, VIRTIO 1.2 5.1.6): Linux
 * then hands over segments of up to 64 KiB whose checksum covers the pseudo header only (PKT_CSUM_
 * PARTIAL), and takes such (PKT_TSO, PKT_CHAIN). Without, all frames are as on a wire, and what a
 * packet leaves to the device is done here in software (checksums).
 *
 * Either way can be made a bad link (impair.h). What passes can be written to a file for tcpdump
 * and Wireshark, as the stack's side of the link sees it.
 *
 * A tun device has no Ethernet header; one is made up for what comes in and cut off from what goes
 * out, so that above here there is one kind of frame. Nobody there speaks ARP or neighbour
 * discovery.
 */
#ifndef EXAMPLES_TAP_H
#define EXAMPLES_TAP_H

#include <stdio.h>

#include "examples/impair.h"
#include "lib/pkt.h"

#define TAP_FRAME_MAX 65535 /* also of a frame that is to be segmented: struct pkt's len */
#define TAP_STRIDE_OFFLOAD 65664 /* holds it; 513 * 128 (lib/pkt.h says why not a power of two) */

struct tap_options {
	const char *dev;     /* of the current network namespace; made if it is not there */
	uint32_t fd;         /* not 0: an open device instead, made with these same options */
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
	unsigned head_bytes;    /* virtio header in front of a frame, or 0 */
	struct impair in, out;
	FILE *pcap;
	uint64_t tx_frames, tx_lost; /* lost: Linux did not take it */
	uint8_t *scratch;       /* a frame with its header */
};

/* False, having said why on stderr, when it cannot be opened. */
bool tap_open(struct tap *t, const struct tap_options *o);

/* Up to max frames that are there now; their buffers are the caller's. A frame that is longer than
 * the pool's buffers is cut: the IP length then does not fit, which ip4_check finds. */
unsigned tap_rx_burst(struct tap *t, struct bufpool *pool, struct pkt *v, unsigned max,
                      uint64_t now_us);

/* Sends a packet and frees it. */
void tap_tx(struct tap *t, struct bufpool *pool, struct pkt *p, uint64_t now_us);

/* The same for the len bytes of a plain frame, which stay the caller's. */
void tap_tx_frame(struct tap *t, const uint8_t *frame, uint32_t len, uint64_t now_us);

/* Sends what a bad link has held back until now_us; to be called by tap_deadline(). */
void tap_tick(struct tap *t, uint64_t now_us);
uint64_t tap_deadline(const struct tap *t);

#endif
