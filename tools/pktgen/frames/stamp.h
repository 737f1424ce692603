/*
 * The stamp of a generated frame: the first STAMP_BYTES of the payload, behind the UDP, TCP or ICMP
 * header, or behind the IP header if there is none of these. The receiver judges the frame by it.
 * docs/pktgen.md describes the stamp for other programs. The judge of tools/nicsim's wires, which
 * checks every byte, reads it too (docs/nicsim.md, gen).
 *
 * The ones' complement sum of a stamp's nine 16-bit words is zero. So the checksum of a frame does
 * not depend on number and time, and a receiver recognizes a stamp by that sum.
 */
#ifndef PKTGEN_FRAMES_STAMP_H
#define PKTGEN_FRAMES_STAMP_H

#include "lib/bytes.h"
#include "lib/types.h"

#define STAMP_MAGIC 0x4e53 /* "SN" in memory */

/* Little-endian, as the host. Not aligned. */
struct stamp {
	uint16_t magic;
	uint16_t flow;   /* stamp_flow() */
	uint64_t number; /* of the frame in its flow, from 0 */
	uint32_t ns;     /* low 32 bits of the sender's core_now_ns() when the burst was made */
	uint16_t check;
} __attribute__((packed));
_Static_assert(sizeof(struct stamp) == 18, "as docs/pktgen.md has it");
#define STAMP_BYTES ((unsigned)sizeof(struct stamp))

/* A flow is the part of a stream that one core sends. Each flow numbers its own frames. */
#define STAMP_STREAMS_LOG2 5

static inline uint16_t stamp_flow(unsigned stream, unsigned sender)
{
	return (uint16_t)(sender << STAMP_STREAMS_LOG2 | stream);
}

#endif
