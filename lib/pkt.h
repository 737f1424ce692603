/*
 * Packets and their buffers.
 *
 * A packet is passed as a 16-byte `struct pkt` by value, in vectors of up to PKT_VECTOR_MAX on the
 * core's stack or in its rings. There is no other per-packet state, so a forwarded packet costs no
 * cache line besides those of the frame itself.
 *
 * Buffers come from one `struct bufpool` per core (ARCHITECTURE.md, invariant 6). The pool is a LIFO
 * stack of buffer numbers, so the buffer freed last, still in cache, is used next.
 *
 * Layout of a buffer of `stride` bytes:
 *     0                 BUF_META bytes: struct pkt_meta; the packet's flags say which fields are valid
 *     BUF_FRAME_LEAST   lowest offset of a frame's first byte
 *     BUF_DATA_OFFSET   first byte of a received frame
 *     BUF_FRAGS_OFFSET  in the first buffer of a chain: its fragments
 * BUF_DATA_OFFSET is 18 past a cache line. The 12-byte virtio header, the Ethernet header and the IPv4
 * header share one line. So does the IPv6 header up to the 64th bit of the destination, where the line
 * ends. A router needs no more of most packets, so it fetches one line of a frame from the core that
 * wrote it: an IPv6 packet costs 61 instead of 103 cycles. Before the frame there is space for two VLAN
 * tags that are added on transmission. With both, a driver's header begins in the last two bytes of
 * BUF_META, which struct pkt_meta does not use.
 *
 * A sender that keeps a buffer while a device transmits it, as TCP does for retransmission, counts the
 * holders in pkt_meta.refs and sets PKT_SHARED. A packet in several pieces, PKT_CHAIN, has further
 * pieces, struct pkt_frag, in buffers that are counted in the same way. A piece's bytes may also lie
 * outside the pool, in memory that devices can read and nobody writes, such as a file that is sent:
 * buf_set_outside. The buffer then only counts the holders and says where the bytes are.
 *
 * Invariants
 * 1. A buffer has one owner: pool, device ring, or the holder of the struct pkt. A counted buffer has
 *    several owners, and none changes data that another may be reading. All owners are on one core.
 * 2. pool->free buffers are on the stack. Freeing a buffer twice is our bug (assert on overflow; the
 *    host tests check every number).
 */
#ifndef LIB_PKT_H
#define LIB_PKT_H

#include "lib/assert.h"
#include "lib/bytes.h"
#include "lib/types.h"

#define PKT_VECTOR_MAX 256
#define BUF_META 64
#define BUF_DATA_OFFSET 82
#define BUF_FRAME_LEAST 74
#define BUF_DRIVER_HEADER 12 /* drivers write at most as many bytes before the frame */
#define BUF_FIRST_LINE 46    /* bytes of a received frame in the first of its cache lines */
_Static_assert((BUF_DATA_OFFSET + BUF_FIRST_LINE) % CACHE_LINE == 0 &&
                       BUF_DATA_OFFSET - BUF_DRIVER_HEADER > BUF_META,
               "frame and driver's header begin in one line");
#define BUF_FRAGS_OFFSET 256 /* fragments of a chain; the frame's first piece ends before it */
#define PKT_FRAGS_MAX 32
#define BUF_OUTSIDE 0x8000u /* in an offset: the other bits count from pkt_meta.outside */
#define BUF_OUTSIDE_KINDS 2
#define BUF_REFS_OUTSIDE 0x8000u /* in pkt_meta.refs, beside the number of holders */
/* 2176 = 17 * 128: not a power of two, so that the headers of successive buffers do not map to the same
 * cache sets. */
#define BUF_STRIDE_STANDARD 2176
/* Holds a frame of 9216 bytes (MTU 9198 with a VLAN tag). */
#define BUF_STRIDE_JUMBO 9344

enum pkt_flags {
	PKT_CSUM_PARTIAL = 1, /* L4 checksum covers only the pseudo header; see pkt_meta */
	PKT_CSUM_OK = 2,      /* the port has verified the L4 checksum */
	PKT_OWN = 4,          /* created here, not received: has no fate (net/counters.h) */
	PKT_TSO = 8,          /* the device cuts it into TCP segments; with PKT_CSUM_PARTIAL; see pkt_meta */
	PKT_VLAN = 16,        /* the 802.1Q tag is in pkt_meta, not in the frame */
	PKT_SHARED = 32,      /* the buffer has pkt_meta.refs holders, including this packet */
	PKT_CHAIN = 64,       /* the frame continues in the fragments of pkt_meta */
	PKT_USO = 128,        /* the device cuts it into UDP datagrams; otherwise like PKT_TSO */
};

struct pkt {
	uint8_t *data; /* first byte of the frame */
	uint32_t buf;  /* buffer number in the pool of the core that owns the packet */
	uint16_t len;  /* bytes of the frame at data, without FCS; pkt_bytes() counts a whole chain */
	uint8_t flags; /* enum pkt_flags */
	uint8_t interface; /* input interface; drivers write the port: the number of its own
	                      interface */
};
_Static_assert(sizeof(struct pkt) == 8 + sizeof(void *), "a packet handle is two words");

/* All of a struct pkt but `data`, to be stored at once at &pkt->buf of a little-endian machine. */
#define PKT_WORD(buf, len, flags, port) \
	((uint64_t)(port) << 56 | (uint64_t)(flags) << 48 | (uint64_t)(len) << 32 | (buf))
_Static_assert(offsetof(struct pkt, len) == offsetof(struct pkt, buf) + 4 &&
                       offsetof(struct pkt, flags) == offsetof(struct pkt, buf) + 6 &&
                       offsetof(struct pkt, interface) == offsetof(struct pkt, buf) + 7,
               "as PKT_WORD has it");

/* At the start of the buffer. Fields are valid with the named flags. Lengths in bytes. */
struct pkt_meta {
	union {
		struct {
			/* PKT_CSUM_PARTIAL */
			uint16_t csum_start;  /* from the first byte of the frame to the first byte summed */
			uint16_t csum_offset; /* from csum_start to the checksum field */
			/* PKT_TSO, PKT_USO */
			uint16_t mss;       /* payload of each segment but the last */
			uint16_t hdr_bytes; /* Ethernet, IP and TCP or UDP header, repeated in each segment */
		};
		const uint8_t *outside; /* BUF_REFS_OUTSIDE: its bytes. Never the first buffer of a packet */
	};
	/* PKT_VLAN: priority, DEI and VLAN ID, host byte order (IEEE 802.1Q, 9.6) */
	uint16_t vlan_tci;
	/* PKT_SHARED, and buffers of fragments */
	uint16_t refs;
	/* PKT_CHAIN */
	uint16_t frag_bytes; /* of all fragments together */
	uint8_t frags;       /* 1 to PKT_FRAGS_MAX, at pkt_frags() */
	uint8_t outside_kind; /* BUF_REFS_OUTSIDE */
	/* For the code that queues the buffer; drivers do not touch it. */
	uint32_t queue[11];
};
_Static_assert(sizeof(struct pkt_meta) <= BUF_META, "fits before the frame");
_Static_assert(offsetof(struct pkt_meta, queue) + sizeof(((struct pkt_meta *)0)->queue) +
                       BUF_DRIVER_HEADER <= BUF_FRAME_LEAST, "and before a driver's header");

/* A piece of a chain: bytes anywhere in a counted buffer of the same pool, or outside: buf_at(). */
struct pkt_frag {
	uint32_t buf;
	uint16_t offset; /* from the start of the buffer; with BUF_OUTSIDE from pkt_meta.outside */
	uint16_t len;    /* 1 or more */
};

struct bufpool {
	uint8_t *base;   /* buffer 0 */
	uint32_t *stack; /* numbers of the free buffers; stack[free - 1] is used next */
	uint32_t free;
	uint32_t count;
	uint32_t stride; /* bytes from buffer to buffer */
	uint32_t outside[BUF_OUTSIDE_KINDS]; /* buffers with BUF_REFS_OUTSIDE, by kind */
};

/*
 * Initialises a pool of `count` buffers of `stride` bytes at base; all are free. base and `stack`,
 * which holds `count` numbers, are the caller's memory.
 */
static inline void bufpool_init(struct bufpool *p, uint8_t *base, uint32_t *stack, uint32_t count,
                                uint32_t stride)
{
	*p = (struct bufpool){base, stack, count, count, stride, {0}};
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

/* The byte at an offset like that of a piece. */
static inline const uint8_t *buf_at(const struct bufpool *p, uint32_t buf, uint32_t offset)
{
	if (unlikely(offset & BUF_OUTSIDE))
		return pkt_meta(p, buf)->outside + (offset & ~BUF_OUTSIDE);
	return buf_base(p, buf) + offset;
}

/* The longest frame in bytes that a buffer of this pool holds. */
static inline uint32_t buf_room(const struct bufpool *p)
{
	return p->stride - BUF_DATA_OFFSET;
}

/*
 * Takes a buffer, which the caller then owns. pkt->data points at BUF_DATA_OFFSET, len is 0.
 * Returns false if the pool is empty; pkt is then unchanged.
 */
static inline bool pkt_alloc(struct bufpool *p, struct pkt *pkt)
{
	if (unlikely(p->free == 0))
		return false;
	uint32_t buf = p->stack[--p->free];
	*pkt = (struct pkt){buf_base(p, buf) + BUF_DATA_OFFSET, buf, 0, 0, 0};
	return true;
}

/* Bytes of a buffer behind the frame come into use. Does nothing: tests have a twin that knows which bytes
 * those are. */
static inline void buf_extend(uint8_t *from, size_t bytes) { (void)from, (void)bytes; }

static inline void buf_free(struct bufpool *p, uint32_t buf)
{
	assert(p->free < p->count);
	p->stack[p->free++] = buf;
}

typedef uint32_t four_bufs __attribute__((vector_size(16), aligned(4), may_alias));

/* Frees n buffers, a multiple of four, if no number has one of the bits `odd`, and the pool can hold n. False:
 * no buffer is free that was not before. */
static inline bool buf_free_block(struct bufpool *p, const uint32_t *buf, unsigned n, uint32_t odd)
{
	uint32_t *to = p->stack + p->free; /* not in use from here on */
	four_bufs all = {0, 0, 0, 0};
	if (unlikely(n > p->count - p->free))
		return false;
	for (unsigned i = 0; i < n; i += 4) {
		const four_bufs v = *(const four_bufs *)(const void *)&buf[i];
		*(four_bufs *)(void *)&to[i] = v;
		all |= v;
	}
	if ((all[0] | all[1] | all[2] | all[3]) & odd)
		return false;
	p->free += n;
	return true;
}

/* The fragments, in order, of a chain whose first buffer is buf. */
static inline struct pkt_frag *pkt_frags(const struct bufpool *p, uint32_t buf)
{
	return (struct pkt_frag *)(void *)(buf_base(p, buf) + BUF_FRAGS_OFFSET);
}

/* Bytes of the whole frame. */
static inline uint32_t pkt_bytes(const struct bufpool *p, const struct pkt *pkt)
{
	return pkt->len + (pkt->flags & PKT_CHAIN ? pkt_meta(p, pkt->buf)->frag_bytes : 0u);
}

/* Adds a holder to a counted buffer. The first holder sets refs to 1 itself. */
static inline void buf_hold(const struct bufpool *p, uint32_t buf)
{
	pkt_meta(p, buf)->refs++;
}

/* Holders of a counted buffer. */
static inline unsigned buf_holders(const struct bufpool *p, uint32_t buf)
{
	return pkt_meta(p, buf)->refs & ~BUF_REFS_OUTSIDE;
}

/*
 * Has a buffer of the caller name bytes outside the pool, from `at` on, with one holder, the caller. Pieces
 * of it have offsets from BUF_OUTSIDE on. pool.outside[kind] counts the buffer until its last holder has
 * put it; the bytes must stay as they are until then. Devices read them: dma_addr() must accept them.
 */
static inline void buf_set_outside(struct bufpool *p, uint32_t buf, const uint8_t *at, unsigned kind)
{
	struct pkt_meta *m = pkt_meta(p, buf);
	assert(kind < BUF_OUTSIDE_KINDS);
	m->outside = at;
	m->outside_kind = (uint8_t)kind;
	m->refs = BUF_REFS_OUTSIDE | 1;
	p->outside[kind]++;
}

/* Frees a buffer that buf_set_outside was called for, and that has no holder. */
void buf_free_outside(struct bufpool *p, uint32_t buf);

/* Removes a holder of a counted buffer; the last one frees it. */
static inline void buf_put(struct bufpool *p, uint32_t buf)
{
	assert(buf_holders(p, buf) > 0);
	const uint16_t left = --pkt_meta(p, buf)->refs;
	if (left == 0)
		buf_free(p, buf);
	else if (unlikely(left == BUF_REFS_OUTSIDE))
		buf_free_outside(p, buf);
}

/* Frees a packet with PKT_SHARED or PKT_CHAIN. */
void pkt_free_parts(struct bufpool *p, const struct pkt *pkt);

/*
 * Completes the checksum of a packet with PKT_CSUM_PARTIAL in software, and replaces that flag by
 * PKT_CSUM_OK; other flags stay. Does nothing to other packets. A UDP checksum of zero is stored as all
 * ones (RFC 768).
 */
void pkt_csum_complete(const struct bufpool *p, struct pkt *pkt);

/* Positions of the headers that a device completes, in bytes from the start of the frame. */
struct pkt_headers {
	uint32_t l3, l4;
	bool ip4, tcp; /* else IPv6, UDP */
};

/* Finds the headers of a packet with PKT_CSUM_PARTIAL, behind any VLAN tags. False: the checksum is not
 * that of TCP or UDP directly behind IPv4, or IPv6 without extension headers, so devices do not support
 * it. */
bool pkt_find_headers(const struct bufpool *p, const struct pkt *pkt, struct pkt_headers *h);

/* Frees a packet and its buffers, except buffers that have other holders. */
static inline void pkt_free(struct bufpool *p, const struct pkt *pkt)
{
	if (unlikely(pkt->flags & (PKT_SHARED | PKT_CHAIN)))
		pkt_free_parts(p, pkt);
	else
		buf_free(p, pkt->buf);
}

/* Frees n packets of one buffer each, without PKT_SHARED and PKT_CHAIN. */
static inline void pkt_free_whole(struct bufpool *p, const struct pkt *v, unsigned n)
{
	uint32_t *to = p->stack + p->free;
	assert(n <= p->count - p->free);
	for (unsigned i = 0; i < n; i++)
		to[i] = v[i].buf;
	p->free += n;
}

#endif
