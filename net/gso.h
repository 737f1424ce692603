/*
 * Segmentation in software: cuts a frame that was made to be cut by a device (PKT_TSO, PKT_USO;
 * lib/pkt.h) into the segments or datagrams that the device would have sent. For ports that cannot,
 * and for frames that do not go to a device at all.
 *
 * What each gets of the headers before the payload, which all repeat:
 *
 *     IPv4   total length, checksum; identification: one more for each (RFC 6864, 4: who made the
 *            frame has set so many aside, or DF, with which it may be any)
 *     IPv6   payload length
 *     TCP    sequence number; FIN and PSH only in the last; CWR only in the first (RFC 3168, 6.1.2:
 *            it answers one ECE); checksum
 *     UDP    length, checksum (RFC 768: never 0)
 *
 * All other fields and all options are those of the frame, as devices do it.
 *
 * Deliberately missing: IPv6 extension headers, tunnels.
 */
#ifndef NET_GSO_H
#define NET_GSO_H

#include "lib/pkt.h"
#include "lib/types.h"

/* The frame being cut; the caller's memory. Private, but for `payload` and `done`. */
struct gso {
	const struct bufpool *pool;
	struct pkt pkt;
	uint32_t payload; /* bytes to be cut */
	uint32_t done;    /* of them handed out */
	const uint8_t *from; /* where they go on, */
	uint32_t here;       /* for so many bytes; */
	const struct pkt_frag *frag; /* then here */
	uint16_t hdr_bytes, mss;
	uint16_t l3, l4; /* where the headers begin */
};

/*
 * Prepares to cut p, which stays the caller's and must not change until the last gso_next. E_INVAL,
 * and p is good for nothing: not TCP or UDP over IP with the headers that its pkt_meta speaks of,
 * all in the first piece; no payload; segments larger than a buffer of the pool.
 */
int gso_init(struct gso *g, const struct bufpool *pool, const struct pkt *p);

/*
 * Fills `to`, a buffer from pkt_alloc that stays the caller's, with the next segment, complete with
 * its checksum (PKT_CSUM_OK). False, and `to` as it was: there is none left.
 */
bool gso_next(struct gso *g, struct pkt *to);

#endif
