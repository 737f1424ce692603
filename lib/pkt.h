/*
 * Packets and their buffers.
 *
 * A packet travels as a 16-byte `struct pkt` by value, in vectors of up to PKT_VECTOR_MAX
 * on the core's stack or in its rings: nothing per packet is kept beside the bytes, so a
 * forwarded packet costs no cache line but those of the frame itself.
 *
 * Buffers come from one `struct bufpool` per core (ARCHITECTURE.md, invariant 6): a LIFO stack of
 * buffer numbers, so the buffer freed last, still in cache, is used next.
 *
 * Layout of a buffer of `stride` bytes:
 *     0                 BUF_META bytes: struct pkt_meta, valid where flags say so
 *     BUF_FRAME_LEAST   the earliest first byte of a frame
 *     BUF_DATA_OFFSET   first byte of a received frame
 *     BUF_FRAGS_OFFSET  in the first buffer of a chain: its fragments
 * BUF_DATA_OFFSET is 20 past a cache line: the 12-byte virtio header, the Ethernet header
 * and the IPv4 header (46 bytes together) share one line, and in front of them is room for two VLAN
 * tags that a frame leaves with.
 *
 * Who keeps a buffer while a device sends it (TCP does, to send it again) counts its holders in
 * pkt_meta.refs and says PKT_SHARED. A packet that does not lie in one piece, PKT_CHAIN, has more
 * of them, struct pkt_frag, in such counted buffers.
 *
 * Invariants
 * 1. A buffer has one owner: pool, device ring, or the holder of the struct pkt; or, counted,
 *    several, none of which changes what another may be reading. All are of one core.
 * 2. pool->free buffers are on the stack; freeing a buffer twice is our bug (assert on
 *    overflow; the host tests check every number).
 */
#ifndef LIB_PKT_H
#define LIB_PKT_H

#include "lib/assert.h"
#include "lib/types.h"

#define PKT_VECTOR_MAX 256
#define BUF_META 64
#define BUF_DATA_OFFSET 84
#define BUF_FRAME_LEAST 76 /* no frame begins before: drivers write 12 bytes in front of it */
#define BUF_FRAGS_OFFSET 256 /* of the fragments of a chain: the frame's first piece ends before */
#define PKT_FRAGS_MAX 32
/* 2176 = 17 * 128: not a power of two, so that headers of successive buffers do not fall
 * into the same cache sets. */
#define BUF_STRIDE_STANDARD 2176
/* Holds a frame of 9216 bytes (MTU 9198 with a VLAN tag). */
#define BUF_STRIDE_JUMBO 9344

enum pkt_flags {
	PKT_CSUM_PARTIAL = 1, /* L4 checksum covers only the pseudo header; see pkt_meta */
	PKT_CSUM_OK = 2,      /* the port has verified the L4 checksum */
	PKT_OWN = 4,          /* made here, not received: it has no fate (net/counters.h) */
	PKT_TSO = 8,          /* to be sent as TCP segments; with PKT_CSUM_PARTIAL; see pkt_meta */
	PKT_VLAN = 16,        /* its 802.1Q tag lies in pkt_meta, not in the frame */
	PKT_SHARED = 32,      /* its buffer has pkt_meta.refs holders, of which the packet is one */
	PKT_CHAIN = 64,       /* goes on in the fragments of pkt_meta */
	PKT_USO = 128,        /* to be sent as UDP datagrams; like PKT_TSO, for UDP */
};

struct pkt {
	uint8_t *data; /* first byte of the frame */
	uint32_t buf;  /* number of its buffer in the pool of the core that holds it */
	uint16_t len;  /* bytes of the frame at data, FCS not counted; pkt_bytes() has all of a chain */
	uint8_t flags; /* enum pkt_flags */
	uint8_t port;  /* port it came in by */
};
_Static_assert(sizeof(struct pkt) == 8 + sizeof(void *), "a packet handle is two words");

/* At the start of the buffer; what is valid say the flags. Lengths in bytes. */
struct pkt_meta {
	/* PKT_CSUM_PARTIAL */
	uint16_t csum_start;  /* from the first byte of the frame to where the sum starts */
	uint16_t csum_offset; /* from csum_start to the checksum field */
	/* PKT_TSO, PKT_USO */
	uint16_t mss;       /* payload of each segment but the last */
	uint16_t hdr_bytes; /* Ethernet, IP and TCP or UDP header, repeated in each segment */
	/* PKT_VLAN: priority, DEI and VLAN ID, host byte order (IEEE 802.1Q, 9.6) */
	uint16_t vlan_tci;
	/* PKT_SHARED, and buffers of fragments */
	uint16_t refs;
	/* PKT_CHAIN */
	uint16_t frag_bytes; /* of all fragments together */
	uint8_t frags;       /* 1 to PKT_FRAGS_MAX, at pkt_frags() */
	uint8_t reserved;
	/* who queues the buffer keeps there what it has to know of it; drivers leave it alone */
	uint32_t queue[12];
};
_Static_assert(sizeof(struct pkt_meta) <= BUF_META, "fits before the frame");

/* A piece of a chain: bytes anywhere in a counted buffer of the same pool. */
struct pkt_frag {
	uint32_t buf;
	uint16_t offset; /* from the start of the buffer */
	uint16_t len;    /* 1 or more */
};

struct bufpool {
	uint8_t *base;   /* buffer 0 */
	uint32_t *stack; /* numbers of the free buffers, stack[free - 1] is next */
	uint32_t free;
	uint32_t count;
	uint32_t stride; /* bytes from buffer to buffer */
};

/*
 * Makes a pool of `count` buffers of `stride` bytes at base (caller's memory, as is `stack`,
 * which holds `count` numbers). All are free afterwards.
 */
static inline void bufpool_init(struct bufpool *p, uint8_t *base, uint32_t *stack, uint32_t count,
                                uint32_t stride)
{
	*p = (struct bufpool){base, stack, count, count, stride};
	for (uint32_t i = 0; i < count; i++)
		stack[i] = count - 1 - i;
}

static inline uint8_t *buf_base(const struct bufpool *p, uint32_t buf)
{
	return p->base + (size_t)buf * p->stride;
}

static inline struct pkt_meta *pkt_meta(const struct bufpool *p, uint32_t buf)
{
	return (struct pkt_meta *)(void *)buf_base(p, buf);
}

/* Bytes a frame may have in a buffer of this pool. */
static inline uint32_t buf_room(const struct bufpool *p)
{
	return p->stride - BUF_DATA_OFFSET;
}

/*
 * Takes a buffer; pkt->data points at BUF_DATA_OFFSET, len is 0. The caller owns it.
 * Returns false, pkt untouched, when the pool is empty.
 */
static inline bool pkt_alloc(struct bufpool *p, struct pkt *pkt)
{
	if (unlikely(p->free == 0))
		return false;
	uint32_t buf = p->stack[--p->free];
	*pkt = (struct pkt){buf_base(p, buf) + BUF_DATA_OFFSET, buf, 0, 0, 0};
	return true;
}

static inline void buf_free(struct bufpool *p, uint32_t buf)
{
	assert(p->free < p->count);
	p->stack[p->free++] = buf;
}

/* The fragments of a chain whose first buffer is buf, in their order. */
static inline struct pkt_frag *pkt_frags(const struct bufpool *p, uint32_t buf)
{
	return (struct pkt_frag *)(void *)(buf_base(p, buf) + BUF_FRAGS_OFFSET);
}

/* Bytes of the whole frame. */
static inline uint32_t pkt_bytes(const struct bufpool *p, const struct pkt *pkt)
{
	return pkt->len + (pkt->flags & PKT_CHAIN ? pkt_meta(p, pkt->buf)->frag_bytes : 0u);
}

/* Another holder of a counted buffer; its first sets refs to 1. */
static inline void buf_hold(const struct bufpool *p, uint32_t buf)
{
	pkt_meta(p, buf)->refs++;
}

/* A holder lets go of a counted buffer; with the last it is free. */
static inline void buf_put(struct bufpool *p, uint32_t buf)
{
	assert(pkt_meta(p, buf)->refs > 0);
	if (--pkt_meta(p, buf)->refs == 0)
		buf_free(p, buf);
}

/* The end of a packet with PKT_SHARED or PKT_CHAIN. */
void pkt_free_parts(struct bufpool *p, const struct pkt *pkt);

/*
 * Computes the checksum that PKT_CSUM_PARTIAL promises, in software; afterwards the packet has
 * PKT_CSUM_OK instead, its other flags stay. Does nothing to other packets. A UDP sum of zero is
 * sent as all ones (RFC 768).
 */
void pkt_csum_complete(const struct bufpool *p, struct pkt *pkt);

/* Where headers are that a device completes, bytes from the first of the frame. */
struct pkt_headers {
	uint32_t l3, l4;
	bool ip4, tcp; /* else IPv6, UDP */
};

/* Those of a packet with PKT_CSUM_PARTIAL, behind any tags. False: its checksum is not TCP's or
 * UDP's at the usual place behind IPv4, or IPv6 without extension headers, and so nothing that
 * devices know. */
bool pkt_find_headers(const struct bufpool *p, const struct pkt *pkt, struct pkt_headers *h);

/* The end of a packet: its buffers are free, but those that others hold. */
static inline void pkt_free(struct bufpool *p, const struct pkt *pkt)
{
	if (unlikely(pkt->flags & (PKT_SHARED | PKT_CHAIN)))
		pkt_free_parts(p, pkt);
	else
		buf_free(p, pkt->buf);
}

#endif
