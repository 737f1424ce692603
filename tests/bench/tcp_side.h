/*
 * One end of the benchmarks of TCP: an instance of net/tcp with its memory, in a host process. What
 * it sends is collected in a queue, for a wire (in this process, or a vhost ring) to take from.
 *
 * Tables and buffers lie in mappings of their own in huge pages where the host gives them, as they
 * do in the image; table_bytes + pool_bytes is all the memory that the end has.
 */
#ifndef TESTS_BENCH_TCP_SIDE_H
#define TESTS_BENCH_TCP_SIDE_H

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

/* A time-stamp that no instruction before or after it passes. */
static inline uint64_t tsc_now(void)
{
	uint32_t low, high;
	__asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/* Measured against the host's clock, once. */
double tsc_hz(void);

/* The time in us that instances are given. */
uint64_t now_us(void);

/* Zeroed memory; dies without. */
void *bench_memory(size_t bytes);
void bench_memory_free(void *p, size_t bytes);

/* The n-th address behind `first`, of either family. */
struct net_addr bench_address(const struct net_addr *first, uint32_t n);

/* `buffers` of `stride` bytes each (lib/pkt.h). */
void side_make(struct side *s, const struct tcp_params *params, uint32_t buffers, uint32_t stride);
void side_free(struct side *s);

static inline uint32_t side_waiting(const struct side *s) { return s->out_tail - s->out_head; }

/*
 * A wire within the process: takes packets that `from` has sent and makes received ones of them in
 * buffers of `to`, at most `max` (PKT_SEGMENTS_MAX and more); returns how many, and frees those of
 * `from`. As a card does: bytes are copied, a PKT_TSO frame is cut up, and a checksum that was left
 * to it (PKT_CSUM_PARTIAL) arrives as PKT_CSUM_OK.
 */
#define PKT_SEGMENTS_MAX 128 /* that one frame may be cut into */
unsigned wire_carry(struct side *from, struct side *to, struct pkt *v, unsigned max);

#endif
