#include "tools/pktgen/measure/judge.h"

#include "lib/csum.h"
#include "lib/mem.h"
#include "net/eth.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define VLAN_8021Q 0x8100
#define VLAN_8021AD 0x88a8
#define UDP_HLEN 8
#define TCP_HLEN 20
#define ICMP_HLEN 8

/* Where things are in a test frame. */
struct place {
	unsigned ip, l4, stamp; /* offsets; stamp 0: this is no test frame */
	unsigned end;           /* of the IP packet */
	uint8_t proto;
	bool v6;
};

size_t judge_bytes(unsigned senders)
{
	return ((size_t)senders << STAMP_STREAMS_LOG2) * sizeof(struct judge_flow);
}

void judge_init(struct judge *j, const struct plan *plan, unsigned senders, void *memory,
                struct judge_result *results)
{
	memset(j, 0, sizeof *j);
	j->verify = plan->verify;
	j->streams = plan->streams;
	for (unsigned i = 0; i < plan->streams; i++)
		j->port_in[i] = plan->stream[i].port_in;
	j->flows = senders << STAMP_STREAMS_LOG2;
	j->flow = memory;
	j->result = results;
}

void judge_result_clear(struct judge_result *sum)
{
	memset(sum, 0, sizeof *sum);
	histogram_clear(&sum->latency);
}

void judge_begin(struct judge *j, uint64_t now_ns)
{
	j->start_ns = now_ns;
	for (uint32_t i = 0; i < j->flows; i++)
		if ((i & (PLAN_STREAMS_MAX - 1)) < j->streams)
			memset(&j->flow[i], 0, sizeof j->flow[i]);
	for (unsigned i = 0; i < j->streams; i++)
		judge_result_clear(&j->result[i]);
}

/* --- finding the stamp --- */

/* Bytes of the L4 header; 0: it is not that of a test frame; UINT32_MAX: there is none. */
static unsigned l4_bytes(const uint8_t *l4, uint8_t proto, bool v6)
{
	if (proto == IP4_PROTO_UDP)
		return UDP_HLEN;
	if (proto == IP4_PROTO_TCP)
		return l4[12] >> 4 < 5 ? 0 : (l4[12] >> 4) * 4u;
	/* echo request and reply only: error messages quote another packet */
	if (!v6 && proto == IP4_PROTO_ICMP)
		return l4[0] == 8 || l4[0] == 0 ? ICMP_HLEN : 0;
	if (v6 && proto == IP6_ICMP6)
		return l4[0] == 128 || l4[0] == 129 ? ICMP_HLEN : 0;
	return UINT32_MAX; /* the stamp follows the IP header */
}

static bool find4(const uint8_t *d, unsigned len, struct place *p)
{
	const uint8_t *ip = d + p->ip;
	if (len < p->ip + IP4_HLEN || ip[0] >> 4 != 4)
		return false;
	unsigned hlen = (ip[0] & 15) * 4u, total = be16_load(ip + 2);
	if (hlen < IP4_HLEN || total < hlen || total > len - p->ip ||
	    (be16_load(ip + 6) & (IP4_FLAG_MF | IP4_OFFSET_MASK)))
		return false;
	p->proto = ip[9];
	p->l4 = p->ip + hlen;
	p->end = p->ip + total;
	return true;
}

static bool find6(const uint8_t *d, unsigned len, struct place *p)
{
	const uint8_t *ip = d + p->ip;
	if (len < p->ip + IP6_HLEN || ip[0] >> 4 != 6)
		return false;
	unsigned total = IP6_HLEN + be16_load(ip + 4);
	if (total > len - p->ip)
		return false;
	p->v6 = true;
	p->proto = ip[6];
	p->l4 = p->ip + IP6_HLEN;
	p->end = p->ip + total;
	return true;
}

/* Finds the stamp in any frame; false: the frame has no room for one. */
static __attribute__((noinline)) bool find(const uint8_t *d, unsigned len, struct place *p)
{
	unsigned tags = 0, at = 12;
	*p = (struct place){0};
	if (len < ETH_HLEN)
		return false;
	uint16_t type = be16_load(d + at);
	while ((type == VLAN_8021Q || type == VLAN_8021AD) && tags++ < PLAN_VLANS_MAX) {
		at += 4;
		if (len < at + 2)
			return false;
		type = be16_load(d + at);
	}
	p->ip = at + 2;
	if (!(type == ETH_TYPE_IP4 ? find4(d, len, p) : type == ETH_TYPE_IP6 && find6(d, len, p)))
		return false;
	/* so l4_bytes may read the first STAMP_BYTES bytes of a TCP header */
	if (p->end - p->l4 < STAMP_BYTES)
		return false;
	unsigned bytes = l4_bytes(d + p->l4, p->proto, p->v6);
	p->stamp = bytes == 0 ? 0 : p->l4 + (bytes == UINT32_MAX ? 0 : bytes);
	return p->stamp != 0 && p->stamp + STAMP_BYTES <= p->end;
}

/* The most frequent case: UDP in IPv4 without options, no fragment. Offset of its stamp, or 0. */
static inline unsigned find_plain(const uint8_t *d, unsigned len)
{
	enum { AT = ETH_HLEN + IP4_HLEN + UDP_HLEN };
	if (unlikely(len < AT + STAMP_BYTES))
		return 0;
	/* type, version and header length; flags, offset and protocol: each in one comparison */
	uint32_t head = be32_make(0x08004500).raw, head_mask = be32_make(0xffffff00).raw;
	uint32_t udp = be32_make(IP4_PROTO_UDP).raw, udp_mask = be32_make(0x3fff00ff).raw;
	bool plain = ((raw32_load(d + 12) ^ head) & head_mask) == 0 &&
	             ((raw32_load(d + 20) ^ udp) & udp_mask) == 0;
	unsigned total = be16_load(d + 16);
	return plain && total >= AT + STAMP_BYTES - ETH_HLEN && total <= len - ETH_HLEN ? AT : 0;
}

/* The same for UDP directly behind the IPv6 header. */
static inline unsigned find_plain6(const uint8_t *d, unsigned len)
{
	enum { AT = ETH_HLEN + IP6_HLEN + UDP_HLEN };
	if (unlikely(len < AT + STAMP_BYTES))
		return 0;
	bool plain = raw16_load(d + 12) == be16_make(ETH_TYPE_IP6).raw && d[14] >> 4 == 6 &&
	             d[20] == IP4_PROTO_UDP;
	unsigned bytes = be16_load(d + 18), room = len - ETH_HLEN - IP6_HLEN;
	return plain && bytes >= UDP_HLEN + STAMP_BYTES && bytes <= room ? AT : 0;
}

/* Do the stamp's nine words sum up to zero? Words that are all zero do, so the caller must check
 * the magic. */
static inline bool is_whole(const uint8_t *stamp)
{
	uint64_t a = raw64_load(stamp), b = raw64_load(stamp + 8);
	uint64_t sum = (a >> 32) + (uint32_t)a + (b >> 32) + (uint32_t)b + raw16_load(stamp + 16);
	/* 2^16 is 1 modulo 0xffff, so the remainder is the ones' complement sum */
	return sum % 0xffff == 0;
}

/* Checks the IPv4 header checksum and, unless the card has done so, that of UDP, TCP or ICMP (RFC
 * 768, 9293, 792, 4443). */
static bool sums_are_right(const uint8_t *d, const struct place *p, bool l4_checked)
{
	const uint8_t *ip = d + p->ip, *l4 = d + p->l4;
	unsigned bytes = p->end - p->l4;
	uint32_t sum = 0;
	if (!p->v6 && csum_fold(csum_partial(ip, p->l4 - p->ip, 0)) != 0)
		return false;
	if (l4_checked || p->stamp == p->l4)
		return true;
	if (p->proto == IP4_PROTO_UDP) {
		if (be16_load(l4 + 4) != bytes)
			return false;
		if (!p->v6 && raw16_load(l4 + 6) == 0)
			return true; /* no checksum */
	}
	if (p->v6)
		sum = csum_pseudo6(ip + 8, ip + 24, p->proto, bytes);
	else if (p->proto != IP4_PROTO_ICMP)
		sum = csum_pseudo4(be32_load(ip + 12), be32_load(ip + 16), p->proto,
		                   (uint16_t)bytes);
	return csum_fold(csum_partial(l4, bytes, sum)) == 0;
}

/* --- judging --- */

#define NO_RUN 0x100

/*
 * Successive frames of one flow, which is the most frequent case. What they change in flow and
 * result is written once, at the end of the run or of the vector. Frames of a burst have the same
 * time in their stamps, so `same` of them go into the histogram together.
 */
struct run {
	uint32_t key;        /* first four bytes of the stamps: magic and flow */
	uint32_t latency;    /* of the last frame */
	uint16_t interface;  /* input interface; NO_RUN: there is no run */
	uint64_t next;       /* number of the frame that extends the run */
	uint64_t first;      /* number of the first frame */
	uint64_t same;       /* last frames of this latency, not yet in the histogram */
	uint64_t bytes;
	uint64_t ipdv_sum_ns, ipdv_count;
	struct judge_flow *flow;
	struct judge_result *result;
	/* of the vector */
	uint32_t now, latency_max; /* a frame above latency_max is stale or early */
};

static inline void run_same(struct run *r)
{
	if (r->same)
		histogram_add_n(&r->result->latency, r->latency, r->same);
	r->same = 0;
}

/* Marks the numbers first to next - 1 as received. */
static void mark_seen(struct judge_flow *f, uint64_t first, uint64_t next)
{
	while (first != next) {
		unsigned bit = first % 64, room = 64 - bit;
		unsigned n = next - first < room ? (unsigned)(next - first) : room;
		f->seen[first % JUDGE_WINDOW / 64] |= UINT64_MAX >> (64 - n) << bit;
		first += n;
	}
}

static void run_end(struct run *r)
{
	if (r->interface == NO_RUN)
		return;
	struct judge_result *to = r->result;
	run_same(r);
	mark_seen(r->flow, r->first, r->next);
	r->flow->next = r->next;
	r->flow->latency = r->latency;
	to->received += r->next - r->first;
	to->bytes += r->bytes;
	to->ipdv_sum_ns = wide_add(to->ipdv_sum_ns, r->ipdv_sum_ns);
	to->ipdv_count += r->ipdv_count;
	r->interface = NO_RUN;
}

/* Adds the next frame to the run. */
static inline void run_extend(struct run *r, uint32_t latency, unsigned bytes)
{
	uint32_t was = r->latency;
	if (latency != was) {
		run_same(r);
		r->latency = latency;
		r->ipdv_sum_ns += latency > was ? latency - was : was - latency;
	}
	r->same++;
	r->bytes += bytes;
	r->ipdv_count++;
	r->next++;
}

/* Begins a run with frame flow->next, which the caller then adds by run_extend. */
static void run_begin(struct run *r, uint32_t key, uint8_t interface, struct judge_flow *f,
                      struct judge_result *result, uint32_t latency)
{
	r->key = key;
	r->interface = interface;
	r->first = r->next = f->next;
	r->flow = f;
	r->result = result;
	r->same = r->bytes = r->ipdv_sum_ns = r->ipdv_count = 0;
	r->latency = f->latency;
	if (f->next == 0) { /* the first frame of the flow has no delay variation */
		r->latency = latency;
		r->ipdv_count--;
	}
}

/* Counts a frame that is in no run. */
static void count(struct judge_result *r, unsigned bytes, uint32_t latency)
{
	r->received++;
	r->bytes += bytes;
	histogram_add(&r->latency, latency);
}

/* Moves the window up to n: marks the numbers from flow->next to n - 1 as not received. */
static void skip_to(struct judge_flow *f, uint64_t n)
{
	if (n - f->next >= JUDGE_WINDOW)
		memset(f->seen, 0, sizeof f->seen);
	else
		for (uint64_t i = f->next; i < n; i++)
			f->seen[i % JUDGE_WINDOW / 64] &= ~(1ull << i % 64);
}

static inline bool was_seen(struct judge_flow *f, uint64_t n)
{
	uint64_t *word = &f->seen[n % JUDGE_WINDOW / 64], bit = 1ull << n % 64;
	bool seen = *word & bit;
	*word |= bit;
	return seen;
}

/* n is far ahead of the flow. True: it is shortly above the strange number before it, so both are
 * accepted, and that frame is counted here. */
static bool confirm(struct judge_flow *f, struct judge_result *r, uint64_t n, unsigned bytes,
                    uint32_t latency)
{
	if (f->strange && n > f->strange && n - f->strange <= JUDGE_WINDOW) {
		uint64_t first = f->strange;
		f->strange = 0;
		r->strange--;
		skip_to(f, first);
		mark_seen(f, first, first + 1);
		f->next = first + 1;
		count(r, f->strange_bytes, f->strange_latency);
		return true;
	}
	/* no number is above the greatest one, so none can confirm it */
	f->strange = n == UINT64_MAX ? 0 : n;
	f->strange_bytes = (uint16_t)bytes;
	f->strange_latency = latency;
	r->strange++;
	return false;
}

/* A frame that is not the next of its flow. */
static void out_of_turn(struct judge_flow *f, struct judge_result *r, uint64_t n, unsigned bytes,
                        uint32_t latency)
{
	if (n >= f->next) {
		if (n - f->next > JUDGE_JUMP && !confirm(f, r, n, bytes, latency))
			return;
		skip_to(f, n);
		mark_seen(f, n, n + 1);
		f->next = n + 1;
		f->latency = latency;
	} else {
		uint64_t behind = f->next - 1 - n;
		bool old = behind >= JUDGE_WINDOW;
		if (!old && was_seen(f, n)) {
			r->duplicates++;
			return;
		}
		r->unsure += old;
		r->reordered++;
		r->reorder_max = behind > r->reorder_max ? behind : r->reorder_max;
	}
	count(r, bytes, latency);
}

/* Judges a frame with a whole stamp, of a flow of the plan, that does not extend the run. Ends the
 * run, and may begin another. */
static __attribute__((noinline)) void judge_stamp(struct judge *j, struct run *run,
                                                  const struct pkt *p, const uint8_t *stamp)
{
	uint32_t key = raw32_load(stamp), flow = raw16_load(stamp + offsetof(struct stamp, flow));
	unsigned stream = flow & (PLAN_STREAMS_MAX - 1);
	uint64_t n = raw64_load(stamp + offsetof(struct stamp, number));
	uint32_t latency = run->now - raw32_load(stamp + offsetof(struct stamp, ns));
	struct judge_flow *f = &j->flow[flow];
	struct judge_result *r = &j->result[stream];
	run_end(run);
	if (j->port_in[stream] != p->interface && j->port_in[stream] != PLAN_PORT_NONE) {
		r->wrong_port++;
		return;
	}
	if (latency > -JUDGE_AHEAD) {
		latency = 0;
		r->early++;
	} else if (latency > run->latency_max) {
		r->stale++;
		return;
	}
	if (n == f->next) {
		run_begin(run, key, p->interface, f, r, latency);
		run_extend(run, latency, p->len);
	} else {
		out_of_turn(f, r, n, p->len, latency);
	}
}

/* Examines any frame in full. Returns the offset of its stamp; 0: this is no test frame, or *whole
 * is false and the frame was counted as corrupted. */
static __attribute__((noinline)) unsigned look(struct judge *j, const struct pkt *p, bool *whole)
{
	struct place at;
	const uint8_t *stamp = p->data;
	*whole = true;
	if (!find(p->data, p->len, &at))
		return 0;
	stamp += at.stamp;
	unsigned flow = raw16_load(stamp + offsetof(struct stamp, flow));
	unsigned stream = flow & (PLAN_STREAMS_MAX - 1);
	if (raw16_load(stamp) != STAMP_MAGIC || flow >= j->flows || stream >= j->streams)
		return 0;
	if (is_whole(stamp) && (!j->verify || p->flags & PKT_CSUM_PARTIAL ||
	                        sums_are_right(p->data, &at, p->flags & PKT_CSUM_OK)))
		return at.stamp;
	j->result[stream].corrupted++;
	*whole = false;
	return 0;
}

/* False: this is no test frame. */
static inline bool judge_frame(struct judge *j, struct run *run, const struct pkt *p, bool verify)
{
	unsigned at = find_plain(p->data, p->len);
	if (at == 0)
		at = find_plain6(p->data, p->len);
	const uint8_t *stamp = p->data + at;
	/* a frame like those of the run needs no examination in full */
	if (unlikely(at == 0 || verify || raw32_load(stamp) != run->key ||
	             run->interface != p->interface || !is_whole(stamp))) {
		bool whole;
		at = look(j, p, &whole);
		if (at == 0)
			return !whole;
		stamp = p->data + at;
	}
	uint32_t latency = run->now - raw32_load(stamp + offsetof(struct stamp, ns));
	uint64_t number = raw64_load(stamp + offsetof(struct stamp, number));
	if (likely(raw32_load(stamp) == run->key && run->interface == p->interface &&
	           number == run->next && latency <= run->latency_max))
		run_extend(run, latency, p->len);
	else
		judge_stamp(j, run, p, stamp);
	return true;
}

/* Latencies above this belong to frames of another run, or to a clock that is ahead of ours. */
static uint32_t latency_max(const struct judge *j, uint64_t now_ns)
{
	uint64_t age = now_ns - j->start_ns, most = -JUDGE_AHEAD;
	return (uint32_t)(age < most ? age : most);
}

unsigned judge_vector(struct judge *j, const struct pkt *v, unsigned n, uint64_t now_ns,
                      struct pkt *rest)
{
	struct run run = {.interface = NO_RUN, .now = (uint32_t)now_ns,
	                  .latency_max = latency_max(j, now_ns)};
	const bool verify = j->verify;
	unsigned others = 0;
	for (unsigned i = 0; i < n; i++)
		if (unlikely(!judge_frame(j, &run, &v[i], verify)))
			rest[others++] = v[i];
	run_end(&run);
	return others;
}

/* --- reading --- */

#define COUNTERS (offsetof(struct judge_result, ipdv_sum_ns) / 8)

void judge_collect(struct judge_result *sum, const struct judge_result *from,
                   struct histogram *scratch)
{
	uint64_t *to = (uint64_t *)(void *)sum;
	const uint64_t *word = (const uint64_t *)(const void *)from;
	uint64_t most = sum->reorder_max;
	for (unsigned i = 0; i < COUNTERS; i++)
		to[i] += __atomic_load_n(&word[i], __ATOMIC_RELAXED);
	uint64_t its = __atomic_load_n(&from->reorder_max, __ATOMIC_RELAXED);
	sum->reorder_max = its > most ? its : most;
	/* the sum needs 584 years to reach 2^64 ns, so the high word does not change meanwhile */
	struct wide ipdv = {__atomic_load_n(&from->ipdv_sum_ns.high, __ATOMIC_RELAXED),
	                    __atomic_load_n(&from->ipdv_sum_ns.low, __ATOMIC_RELAXED)};
	sum->ipdv_sum_ns = wide_sum(sum->ipdv_sum_ns, ipdv);
	histogram_copy(scratch, &from->latency);
	histogram_merge(&sum->latency, scratch);
}
