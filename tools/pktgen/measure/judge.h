/*
 * Judges received frames by their stamps (stamp.h): received, duplicated and reordered frames, and
 * their latency. Each receiving core has one judge; other cores may read its results.
 *
 * A flow's numbers begin at 0 and go up by one. So the frames lost are sent - received, summed over
 * all receiving cores (judge_lost). `received` counts no frame twice and no frame that another
 * counter has, except that a reordered frame is received as well.
 *
 * Order. A frame is reordered when its number is below one that came before it (RFC 4737 3.3;
 * copies are no singletons of their own and count as duplicates only). Where RSS spreads the
 * frames of a flow over several cores, each judges the order of those that it gets: what a queue
 * delivers is in the order of the wire, so nothing is invented, but an exchange of two frames of
 * different queues is not seen.
 *
 * Duplicates are known as such JUDGE_WINDOW numbers back; a frame that comes later than that
 * counts as received, reordered and `unsure`.
 *
 * Time. Latency is from the stamp, made when the burst was, to `now_ns`, when the vector was
 * taken: both by one clock, with the ways through both cards and the waiting in the rings. So it
 * is no latency of RFC 1242 3.8, which begins and ends at the wire, but an upper bound of it.
 * Stamps have 32 bits, so latencies are known modulo 4.29 s. The uppermost 0.27 s of them are taken
 * for a core's clock that goes before ours: `early`, latency 0. What is older than judge_begin is a
 * frame of the run before, `stale`, and counts nowhere else: so nothing may be under way for 4 s.
 *
 * Trust. Any station can send frames with stamps; they hold no secret. Whatever frames hold, the
 * judge writes to its own memory only and judges only flows of the plan. A single number far from
 * the others (JUDGE_JUMP) is `strange` until the next number of the flow confirms it, so a stray
 * frame does not make all later frames late. Forged numbers that are plausible do spoil the
 * measurement: keep other stations off the test bed.
 *
 * Missing: extension headers of IPv6, reassembly (fragments are no test frames), IPDV as a
 * distribution (RFC 8219 7.3.2); there is its mean.
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

/* Of one stream on one core. Written by that core; others read word by word (judge_collect). */
struct judge_result {
	uint64_t received;   /* frames */
	uint64_t bytes;      /* of these, without FCS */
	uint64_t reordered;  /* of these */
	uint64_t reorder_max; /* the most numbers that one was behind the highest before it */
	uint64_t unsure;     /* of the reordered: may be duplicates, too late to tell */
	uint64_t duplicates; /* copies of received frames */
	uint64_t corrupted;  /* wrong sums: of the stamp or, with `verify`, of all */
	uint64_t wrong_port; /* came where the plan does not expect them */
	uint64_t stale;      /* were sent before this run */
	uint64_t strange;    /* numbers far from the others */
	uint64_t early;      /* of the received: seem to be sent after they came */
	/* |latency - that of the frame before|, of frames that came in succession (RFC 3393, RFC
	 * 5481 4.1) */
	uint64_t ipdv_count;
	struct wide ipdv_sum_ns;
	struct histogram latency; /* of the received */
};

/* One flow as one core sees it. */
struct judge_flow {
	uint64_t next;        /* above the highest number that came */
	uint64_t strange;     /* a number that waits for the next to confirm it; 0: none does */
	uint32_t latency;     /* of frame next - 1 */
	uint32_t strange_latency;
	uint16_t strange_bytes;
	/* bit n modulo JUDGE_WINDOW: n came; from next - JUDGE_WINDOW on */
	uint64_t seen[JUDGE_WINDOW / 64];
};

struct judge {
	uint64_t start_ns;
	bool verify;     /* checksums too, where the card has not */
	uint8_t streams;
	uint8_t port_in[PLAN_STREAMS_MAX];
	uint32_t flows;
	struct judge_flow *flow;     /* by the flow of a stamp */
	struct judge_result *result; /* by stream */
};

/* Bytes of flow states for so many senders, for judge_init. */
size_t judge_bytes(unsigned senders);

/* memory: judge_bytes(senders), aligned to 8; results: of plan->streams. Both are the caller's
 * and stay. judge_begin is next. */
void judge_init(struct judge *j, const struct plan *plan, unsigned senders, void *memory,
                struct judge_result *results);

/* A run begins at now_ns: all is zero again. */
void judge_begin(struct judge *j, uint64_t now_ns);

/*
 * Judges n received frames that lie in one piece. Those that are no test frames are written to
 * rest[], which has room for n; returns their number. They are the caller's as before, and so are
 * the others.
 */
unsigned judge_vector(struct judge *j, const struct pkt *v, unsigned n, uint64_t now_ns,
                      struct pkt *rest);

/* Adds what another core may be writing to `sum`, which began as judge_result_clear makes it. */
void judge_result_clear(struct judge_result *sum);
void judge_collect(struct judge_result *sum, const struct judge_result *from,
                   struct histogram *scratch);

/* What has not come of `sent` frames, by the sum of all receiving cores. While some are under way
 * they are in it. */
static inline uint64_t judge_lost(uint64_t sent, const struct judge_result *sum)
{
	return sent > sum->received ? sent - sum->received : 0;
}

#endif
