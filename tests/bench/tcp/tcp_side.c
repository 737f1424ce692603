/* One end of the benchmarks of TCP, and the wire between two: see tcp_side.h. */
#define _GNU_SOURCE
#include "tests/bench/tcp/tcp_side.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "lib/bytes.h"
#include "net/eth.h"
#include "net/ip.h"

#define HUGE_PAGE (2u << 20)

_Noreturn void assert_fail(const char *expr, const char *file, unsigned line)
{
	fprintf(stderr, "%s:%u: assertion failed: %s\n", file, line, expr);
	abort();
}

/* --- time --- */

static uint64_t clock_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double tsc_hz(void)
{
	static double hz;
	if (hz == 0) {
		uint64_t ns = clock_ns(), tsc = tsc_now(), end;
		while ((end = clock_ns()) - ns < 50000000)
			;
		hz = (double)(tsc_now() - tsc) * 1e9 / (double)(end - ns);
	}
	return hz;
}

static uint64_t us_a_call, us_by_calls;

void bench_time_by_calls(uint64_t us)
{
	us_a_call = us;
}

uint64_t now_us(void)
{
	static uint64_t start;
	static double us_per_tick;
	if (us_a_call)
		return us_by_calls += us_a_call;
	if (start == 0) {
		us_per_tick = 1e6 / tsc_hz();
		start = tsc_now();
	}
	return (uint64_t)((double)(tsc_now() - start) * us_per_tick);
}

/* --- memory --- */

static size_t whole_pages(size_t bytes)
{
	return (bytes + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
}

void *bench_memory(size_t bytes)
{
	/* one page more, for alignment to a page */
	bytes = whole_pages(bytes);
	uint8_t *p = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	size_t skip = -(uintptr_t)p & (HUGE_PAGE - 1);
	if (skip)
		munmap(p, skip);
	if (skip < HUGE_PAGE)
		munmap(p + skip + bytes, HUGE_PAGE - skip);
	madvise(p + skip, bytes, MADV_HUGEPAGE);
	return p + skip;
}

void bench_memory_free(void *p, size_t bytes)
{
	munmap(p, whole_pages(bytes));
}

struct net_addr bench_address(const struct net_addr *first, uint32_t n)
{
	struct net_addr a = *first;
	a.w[3] = be32_make(be32_get((be32_t){a.w[3]}) + n).raw;
	return a;
}

/* --- an end --- */

static void collect(void *ctx, struct pkt *p)
{
	struct side *s = ctx;
	if (side_waiting(s) == SIDE_OUT) {
		s->lost++;
		pkt_free(&s->pool, p);
		return;
	}
	s->out[s->out_tail++ % SIDE_OUT] = *p;
}

void side_make(struct side *s, const struct tcp_params *params, uint32_t buffers, uint32_t stride)
{
	static const struct tcp_ops ops = {.tx = collect};
	static const struct siphash_key key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	*s = (struct side){.table_bytes = tcp_memory_bytes(params),
	                   .pool_bytes = (size_t)buffers * (stride + sizeof(uint32_t))};
	s->tables = bench_memory(s->table_bytes);
	s->buffers = bench_memory((size_t)buffers * stride);
	s->stack = bench_memory(buffers * sizeof(uint32_t));
	s->out = bench_memory(SIDE_OUT * sizeof(struct pkt));
	bufpool_init(&s->pool, s->buffers, s->stack, buffers, stride);
	s->tcp = tcp_init(s->tables, params, &s->pool, &s->cnt, &key, &ops, s, now_us());
}

void side_free(struct side *s)
{
	bench_memory_free(s->tables, s->table_bytes);
	bench_memory_free(s->buffers, (size_t)s->pool.count * s->pool.stride);
	bench_memory_free(s->stack, s->pool.count * sizeof(uint32_t));
	bench_memory_free(s->out, SIDE_OUT * sizeof(struct pkt));
}

/* --- the wire --- */

static unsigned gather(const struct side *s, const struct pkt *p, uint8_t *to)
{
	memcpy(to, p->data, p->len);
	unsigned len = p->len;
	if (!(p->flags & PKT_CHAIN))
		return len;
	const struct pkt_frag *f = pkt_frags(&s->pool, p->buf);
	for (unsigned n = pkt_meta(&s->pool, p->buf)->frags; n; n--, f++) {
		memcpy(to + len, buf_at(&s->pool, f->buf, f->offset), f->len);
		len += f->len;
	}
	return len;
}

static bool receive(struct side *to, const uint8_t *frame, unsigned len, uint8_t flags,
                    struct pkt *out)
{
	if (len > buf_room(&to->pool) || !pkt_alloc(&to->pool, out)) {
		to->lost++;
		return false;
	}
	memcpy(out->data, frame, len);
	out->len = (uint16_t)len;
	out->flags = flags;
	return true;
}

/* Adapts the headers of the segment with `payload` bytes after the first `done`. */
static void mend_segment(uint8_t *frame, unsigned head, unsigned payload, unsigned done, bool last)
{
	uint8_t *ip = frame + ETH_HLEN, *tcp = ip + IP6_HLEN;
	if (ip_is_ip6(ip)) {
		be16_store(ip + 4, (uint16_t)(head - ETH_HLEN - IP6_HLEN + payload));
	} else {
		be16_store(ip + 2, (uint16_t)(head - ETH_HLEN + payload));
		ip4_checksum_set(ip);
		tcp = ip + ip4_header_len(ip);
	}
	be32_store(tcp + 4, be32_load(tcp + 4) + done);
	if (!last)
		tcp[13] &= (uint8_t)~0x09; /* FIN and PSH only in the last */
	if (done)
		tcp[13] &= (uint8_t)~0x80; /* CWR only in the first */
}

static unsigned cut_up(struct side *to, uint8_t *frame, unsigned len, const struct pkt_meta *meta,
                       struct pkt *v)
{
	unsigned n = 0, head = meta->hdr_bytes;
	for (unsigned done = 0; done < len - head; done += meta->mss) {
		unsigned payload = len - head - done;
		if (payload > meta->mss)
			payload = meta->mss;
		if (!receive(to, frame, head, PKT_CSUM_OK, &v[n]))
			continue;
		memcpy(v[n].data + head, frame + head + done, payload);
		v[n].len = (uint16_t)(head + payload);
		mend_segment(v[n].data, head, payload, done, done + payload == len - head);
		n++;
	}
	return n;
}

unsigned wire_carry(struct side *from, struct side *to, struct pkt *v, unsigned max)
{
	static uint8_t frame[65536 + ETH_HLEN];
	unsigned n = 0;
	for (; side_waiting(from); from->out_head++) {
		const struct pkt *p = &from->out[from->out_head % SIDE_OUT];
		if (n + (p->flags & PKT_TSO ? PKT_SEGMENTS_MAX : 1) > max)
			break;
		uint8_t flags = p->flags & PKT_CSUM_PARTIAL ? PKT_CSUM_OK : 0;
		if (!(p->flags & PKT_CHAIN)) {
			n += receive(to, p->data, p->len, flags, &v[n]);
		} else {
			unsigned len = gather(from, p, frame);
			if (p->flags & PKT_TSO)
				n += cut_up(to, frame, len, pkt_meta(&from->pool, p->buf), v + n);
			else
				n += receive(to, frame, len, flags, &v[n]);
		}
		pkt_free(&from->pool, p);
	}
	return n;
}
