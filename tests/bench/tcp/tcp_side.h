/*
 * One end of the benchmarks of TCP: an instance of net/tcp with its memory, in a host process. Its
 * packets are queued for a wire (in this process, or a vhost ring).
 *
 * Tables and buffers are in separate mappings with huge pages if the host provides them, as in the
 * image; table_bytes + pool_bytes is all the memory of the end.
 */
#ifndef TESTS_BENCH_TCP_TCP_SIDE_H
#define TESTS_BENCH_TCP_TCP_SIDE_H

#include "lib/pkt.h"
#include "net/tcp/tcp.h"

#define SIDE_OUT 65536 /* packets between two visits of the wire; a power of two */

struct side {
	struct tcp *tcp;
	struct bufpool pool;
	struct counters cnt;
	struct pkt *out;
	uint32_t out_head, out_tail; /* taken, put: they run freely */
	uint64_t lost;               /* packets without a place in the queue, or without a buffer */
	size_t table_bytes, pool_bytes;
	void *tables, *buffers;
	uint32_t *stack;
};

/* A time stamp, ordered with respect to all instructions before and after it. */
static inline uint64_t tsc_now(void)
{
	uint32_t low, high;
	__asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/* The TSC's frequency, measured once against the host's clock. */
double tsc_hz(void);

/* The time in us that is passed to instances. */
uint64_t now_us(void);

/* From now on a call of now_us() takes this long, and nothing else takes time: what instances do is the
 * same in each run. */
void bench_time_by_calls(uint64_t us);

/* Zeroed memory; exits without. */
void *bench_memory(size_t bytes);
void bench_memory_free(void *p, size_t bytes);

/* The n-th address after `first`, of either family. */
struct net_addr bench_address(const struct net_addr *first, uint32_t n);

/* `buffers` of `stride` bytes each (lib/pkt.h). */
void side_make(struct side *s, const struct tcp_params *params, uint32_t buffers, uint32_t stride);
void side_free(struct side *s);

static inline uint32_t side_waiting(const struct side *s) { return s->out_tail - s->out_head; }

/*
 * A wire within the process: takes packets that `from` has sent and copies them into buffers of
 * `to` as received ones, at most `max` (at least PKT_SEGMENTS_MAX); returns their number, and frees
 * those of `from`. Like a card, it copies bytes, segments a PKT_TSO frame, and delivers a frame
 * with PKT_CSUM_PARTIAL as PKT_CSUM_OK.
 */
#define PKT_SEGMENTS_MAX 128 /* of one frame */
unsigned wire_carry(struct side *from, struct side *to, struct pkt *v, unsigned max);

#endif
