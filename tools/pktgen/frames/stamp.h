/*
 * What a generated frame carries, so that whoever receives it can judge it: the first STAMP_BYTES
 * of the payload behind the UDP, TCP or ICMP header. docs/pktgen.md describes it for other
 * programs; the judge of tools/nicsim's wires reads it as well (docs/nicsim.md, gen), which checks
 * every byte.
 *
 * The nine 16-bit words sum up to zero, ones' complement: the checksum of the frame does not depend
 * on number and time, and who finds the sum zero has found a stamp.
 */
#ifndef PKTGEN_FRAMES_STAMP_H
#define PKTGEN_FRAMES_STAMP_H

#include "lib/bytes.h"
#include "lib/types.h"

#define STAMP_MAGIC 0x4e53 /* "SN" in memory */

/* Little-endian, as is the host. Anywhere in a frame: not aligned. */
struct stamp {
	uint16_t magic;
	uint16_t flow;   /* stamp_flow(): who counts */
	uint64_t number; /* of the frame in its flow, from 0 */
	uint32_t ns;     /* low 32 bits of the sender's core_now_ns() when the burst was made */
	uint16_t check;
} __attribute__((packed));
_Static_assert(sizeof(struct stamp) == 18, "as docs/pktgen.md has it");
#define STAMP_BYTES ((unsigned)sizeof(struct stamp))

/* A flow is what one core sends of one stream, with numbers of its own. */
#define STAMP_STREAMS_LOG2 5

static inline uint16_t stamp_flow(unsigned stream, unsigned sender)
{
	return (uint16_t)(sender << STAMP_STREAMS_LOG2 | stream);
}

#endif
