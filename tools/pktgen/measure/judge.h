/*
 * Judges received frames by their stamps (stamp.h): received, duplicated and reordered frames, and
 * their latency. Each receiving core has one judge; other cores may read its results.
 *
 * A flow's numbers begin at 0 and go up by one. So the frames lost are sent - received, summed over
 * all receiving cores (judge_lost). `received` counts no frame twice. Reordered, unsure and early
 * frames are received as well; the frames of the other counters are not.
 *
 * Order. A frame is reordered if its number is below one that came before it (RFC 4737 3.3). Copies
 * count as duplicates only. If RSS spreads the frames of a flow over several cores, each core
 * judges the order of its own frames. A queue delivers frames in the order of the wire, so all
 * reordering that is counted is real. A swap of two frames of different queues is not seen.
 *
 * Duplicates are recognized up to JUDGE_WINDOW numbers back. A frame further back counts as
 * received, reordered and `unsure`.
 *
 * Time. Latency is the time from the stamp, taken when the burst was made, to `now_ns`, taken when
 * the vector was received, by one clock. It includes both cards and the waiting time in their
 * rings. So it is an upper bound of the latency of RFC 1242 3.8, which begins and ends at the wire.
 *
 * Stamps have 32 bits, so latencies are known modulo 4.29 s. The uppermost 0.27 s mean that the
 * sending core's clock is ahead of ours: the frame is `early`, its latency 0. A frame from before
 * judge_begin belongs to an earlier run: it is `stale` and counts nowhere else. So no frame may be
 * under way for 4 s.
 *
 * Trust. Stamps hold no secret, so any station can send frames with stamps. Whatever frames hold,
 * the judge writes to its own memory only and judges only flows of the plan. A single number far
 * from the others (JUDGE_JUMP) is `strange` until the next number of the flow confirms it, so a
 * stray frame does not make all later frames late. Forged numbers that are plausible do spoil the
 * measurement: keep other stations off the test bed.
 *
 * Missing: extension headers of IPv6, reassembly (fragments are no test frames), IPDV as a
 * distribution (RFC 8219 7.3.2; only its mean is measured).
 */
#ifndef PKTGEN_MEASURE_JUDGE_H
#define PKTGEN_MEASURE_JUDGE_H

#include "lib/pkt.h"
#include "lib/types.h"
#include "tools/pktgen/measure/histogram.h"
#include "tools/pktgen/plan.h"
#include "tools/pktgen/frames/stamp.h"

#define JUDGE_WINDOW 4096
#define JUDGE_AHEAD (1u << 28) /* ns */
#define JUDGE_JUMP (1ull << 20) /* at 148.8 million frames a second: 7 ms */
_Static_assert(1u << STAMP_STREAMS_LOG2 == PLAN_STREAMS_MAX, "a flow names its stream");

/* A stream's result on one core. That core writes; others read word by word (judge_collect). */
struct judge_result {
	uint64_t received;   /* frames */
	uint64_t bytes;      /* of these, without FCS */
	uint64_t reordered;  /* of these */
	uint64_t reorder_max; /* most numbers that a frame was behind the highest before it */
	uint64_t unsure;     /* of the reordered: too far back to tell from duplicates */
	uint64_t duplicates; /* copies of received frames */
	uint64_t corrupted;  /* wrong sum of the stamp or, with `verify`, wrong checksum */
	uint64_t wrong_port; /* received on a port other than the plan's */
	uint64_t stale;      /* sent before this run */
	uint64_t strange;    /* with numbers far from the others */
	uint64_t early;      /* of the received: with stamps later than their reception */
	/* |latency - that of the frame before|, of frames with successive numbers that came in
	 * succession (RFC 3393, RFC 5481 4.1) */
	uint64_t ipdv_count;
	struct wide ipdv_sum_ns;
	struct histogram latency; /* of the received */
};

/* One flow as one core sees it. */
struct judge_flow {
	uint64_t next;        /* one above the highest number that came */
	uint64_t strange;     /* a number that the next one may confirm; 0: none */
	uint32_t latency;     /* of frame next - 1 */
	uint32_t strange_latency;
	uint16_t strange_bytes;
	/* bit n modulo JUDGE_WINDOW: number n came; for n from next - JUDGE_WINDOW on */
	uint64_t seen[JUDGE_WINDOW / 64];
};

struct judge {
	uint64_t start_ns;
	bool verify;     /* check also the checksums that the card has not checked */
	uint8_t streams;
	uint8_t port_in[PLAN_STREAMS_MAX];
	uint32_t flows;
	struct judge_flow *flow;     /* by the flow of a stamp */
	struct judge_result *result; /* by stream */
};

/* Bytes of memory that judge_init needs for so many senders. */
size_t judge_bytes(unsigned senders);

/* memory: judge_bytes(senders) bytes, aligned to 8. results: one for each stream of the plan. Both
 * stay the caller's, who keeps them as long as the judge. The next call is judge_begin. */
void judge_init(struct judge *j, const struct plan *plan, unsigned senders, void *memory,
                struct judge_result *results);

/* Begins a run at now_ns: sets all flows and results to zero. */
void judge_begin(struct judge *j, uint64_t now_ns);

/*
 * Judges n received frames, each in one piece. Writes those that are no test frames to rest[],
 * which has room for n, and returns their number. All frames stay the caller's.
 */
unsigned judge_vector(struct judge *j, const struct pkt *v, unsigned n, uint64_t now_ns,
                      struct pkt *rest);

/* judge_collect adds to `sum` the result of another core, which may be writing it.
 * judge_result_clear makes the sum of none. scratch is overwritten. */
void judge_result_clear(struct judge_result *sum);
void judge_collect(struct judge_result *sum, const struct judge_result *from,
                   struct histogram *scratch);

/* Frames lost of `sent`, by the sum of all receiving cores. Frames still under way are included. */
static inline uint64_t judge_lost(uint64_t sent, const struct judge_result *sum)
{
	return sent > sum->received ? sent - sum->received : 0;
}

#endif
