/* Hosts, events and time; see tcp_rig.h. */
#include "tests/unit/rig/tcp_rig.h"

#include <sanitizer/asan_interface.h>
#include <signal.h>

#define NEVER UINT64_MAX
#define ADDR(i) (0x0a000001u + ((uint32_t)(i) << 8))

/* --- which seed is running --- */

static uint64_t current_seed;
/* Without sanitizers (clang's objects, tests/host/host.mk) it does not exist. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static const char *current_test = "";
static const struct rig *current_rig;

static void say_seed(void)
{
	fprintf(stderr, "%s: SEED=%llu at %llu us\n", current_test, (unsigned long long)current_seed,
	        (unsigned long long)(current_rig ? current_rig->now_us : 0));
}

static void on_abort(int signal_number)
{
	say_seed();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

_Noreturn void rig_fail(const char *file, unsigned line, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fprintf(stderr, "%s:%u: ", file, line);
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	abort();
}

struct rig_runs rig_runs(const char *test, unsigned usual)
{
	const char *seed = getenv("SEED"), *runs = getenv("RUNS");
	struct rig_runs r = {.first = seed ? strtoull(seed, NULL, 0) : 1};
	r.end = r.first + (runs ? strtoull(runs, NULL, 0) : seed ? 1 : random_rounds(usual));
	current_test = test;
	signal(SIGABRT, on_abort);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(say_seed);
	printf("%s: SEED=%llu RUNS=%llu\n", test, (unsigned long long)r.first,
	       (unsigned long long)(r.end - r.first));
	fflush(stdout);
	return r;
}

uint64_t chance_next(struct chance *c)
{
	uint64_t z = c->state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* --- events: a binary heap by time, then by order --- */

static bool before(const struct event *a, const struct event *b)
{
	return a->t_us != b->t_us ? a->t_us < b->t_us : a->order < b->order;
}

void rig_event(struct rig *r, const struct event *e)
{
	if (r->events == r->heap_room) {
		r->heap_room = r->heap_room ? 2 * r->heap_room : 256;
		r->heap = realloc(r->heap, r->heap_room * sizeof *r->heap);
	}
	struct event new = *e;
	new.order = r->order++;
	unsigned i = r->events++;
	for (; i > 0 && before(&new, &r->heap[(i - 1) / 2]); i = (i - 1) / 2)
		r->heap[i] = r->heap[(i - 1) / 2];
	r->heap[i] = new;
}

static struct event event_take(struct rig *r)
{
	struct event first = r->heap[0], last = r->heap[--r->events];
	unsigned i = 0;
	for (;;) {
		unsigned child = 2 * i + 1;
		if (child >= r->events)
			break;
		if (child + 1 < r->events && before(&r->heap[child + 1], &r->heap[child]))
			child++;
		if (!before(&r->heap[child], &last))
			break;
		r->heap[i] = r->heap[child];
		i = child;
	}
	r->heap[i] = last;
	return first;
}

void rig_at(struct rig *r, uint64_t t_us, void (*fn)(void *), void *arg)
{
	rig_event(r, &(struct event){.t_us = t_us, .kind = EVENT_CALL, .fn = fn, .arg = arg});
}

/* --- frames in flight: two sizes, kept for reuse --- */

#define FRAME_SMALL 1600
#define FRAME_LARGE 65600

struct rig_frame *rig_frame_new(struct rig *r, unsigned len)
{
	bool large = len > FRAME_SMALL;
	struct rig_frame *f = r->free_frames[large];
	if (f) {
		r->free_frames[large] = f->next;
	} else {
		uint32_t room = large ? FRAME_LARGE : FRAME_SMALL;
		f = malloc(sizeof *f + room);
		f->room = room;
	}
	f->next = NULL;
	f->len = len;
	f->damaged = false;
	return f;
}

void rig_frame_free(struct rig *r, struct rig_frame *f)
{
	bool large = f->room > FRAME_SMALL;
	f->next = r->free_frames[large];
	r->free_frames[large] = f;
}

/* --- hosts --- */

struct rig_host_params rig_host_default(void)
{
	struct rig_host_params p = {
		.tcp = TCP_PARAMS_DEFAULT, .bufs = 2048, .stride = BUF_STRIDE_STANDARD};
	p.tcp.connections = 64;
	p.tcp.syn_max = 32;
	p.tcp.fastopen_max = 8;
	p.tcp.reassembly_bufs = 1024;
	p.tcp.pool_reserve = 64;
	p.tcp.snd_buf = p.tcp.rcv_buf; /* the pool is small, and no window grows beyond this */
	p.tcp.syn_timeout_ms = 1000000;
	p.tcp.user_timeout_ms = 1000000;
	/* Longer than any back-off: a peer that retransmits the last FIN must still find the
	 * connection. */
	p.tcp.time_wait_ms = 400000;
	p.tcp.fin_wait2_ms = 0;
	return p;
}

struct rig *rig_new(uint64_t seed, uint64_t now_us)
{
	struct rig *r = calloc(1, sizeof *r);
	r->seed = current_seed = seed;
	current_rig = r;
	r->chance.state = seed * 0x2545f4914f6cdd1du + 1;
	r->now_us = now_us;
	r->police = police_new();
	r->trace = getenv("TRACE");
	r->ip6 = rig_is_ip6(seed);
	return r;
}

struct rig_host *rig_host_add(struct rig *r, const struct rig_host_params *p)
{
	static const struct tcp_ops ops = {.tx = wire_tx, .full = wire_full,
	                                   .elsewhere = wire_elsewhere};
	assert_true(r->hosts < RIG_HOSTS);
	struct rig_host *h = &r->host[r->hosts];
	*h = (struct rig_host){.rig = r, .index = r->hosts, .addr = ADDR(r->hosts), .p = *p};
	r->hosts++;
	h->p.ring = p->ring ? p->ring : 1024;
	h->ring = calloc(h->p.ring, sizeof *h->ring);
	h->bufs = aligned_alloc(CACHE_LINE, ((size_t)p->bufs * p->stride + 63) & ~(size_t)63);
	h->stack = calloc(p->bufs, sizeof *h->stack);
	bufpool_init(&h->pool, h->bufs, h->stack, p->bufs, p->stride);
	size_t size = (tcp_memory_bytes(&p->tcp) + 63) & ~(size_t)63;
	h->mem = aligned_alloc(CACHE_LINE, size);
	memset(h->mem, 0xa5, size); /* the memory may contain anything */
	const struct siphash_key key = {p->key ? p->key : r->seed * 2 + h->index + 77, ~r->seed};
	h->tcp = tcp_init(h->mem, &h->p.tcp, &h->pool, &h->cnt, &key, &ops, h, r->now_us);
	h->deadline_us = h->due_us = NEVER;
	wire_post(h);
	return h;
}

struct rig_host *rig_host_of(struct rig *r, uint32_t addr)
{
	unsigned i = (addr - ADDR(0)) >> 8;
	return (addr & 0xff) == 1 && i < r->hosts ? &r->host[i] : NULL;
}

struct net_addr rig_addr(const struct rig *r, uint32_t addr)
{
	uint8_t a[16] = {[10] = 0xff, [11] = 0xff};
	if (r->ip6) {
		memset(a, 0, sizeof a);
		set32(a, IP6_PREFIX);
	}
	set32(a + 12, addr);
	struct net_addr out;
	memcpy(&out, a, sizeof out);
	return out;
}

void rig_wires(struct rig *r, const struct wire *w)
{
	r->host[0].wire = r->host[1].wire = *w;
}

/* --- time --- */

/* The deadline may have changed with anything that was done. */
static void look_at_deadline(struct rig_host *h)
{
	uint64_t d = tcp_deadline(h->tcp);
	if (d == h->deadline_us)
		return;
	h->deadline_us = d;
	h->due_us = d == NEVER ? NEVER : d + chance_below(&h->rig->chance, h->p.late_us + 1);
}

static void tick(struct rig_host *h)
{
	struct rig *r = h->rig;
	tcp_tick(h->tcp, r->now_us);
	h->deadline_us = h->due_us = NEVER; /* to be read again, whatever it was */
	uint64_t d = tcp_deadline(h->tcp);
	if (d <= r->now_us)
		rig_fail(__FILE__, __LINE__, "after tcp_tick at %llu us the deadline is %llu us",
		         (unsigned long long)r->now_us, (unsigned long long)d);
}

static void happen(struct rig *r, struct event *e)
{
	switch (e->kind) {
	case EVENT_CALL:
		e->fn(e->arg);
		break;
	case EVENT_ARRIVE:
		wire_arrive(e->host, e->frame);
		break;
	case EVENT_ICMP:
		wire_icmp(e->host, e->frame);
		break;
	case EVENT_RECEIVE:
		wire_receive(e->host);
		if (chance_below(&r->chance, 2))
			tcp_tick(e->host->tcp, r->now_us);
		break;
	case EVENT_DEVICE:
		wire_device(e->host);
		if (!wire_full(e->host, NULL))
			tcp_room(e->host->tcp, r->now_us);
	}
}

/* Does the next thing due by t_us; false: nothing is due. */
static bool step(struct rig *r, uint64_t t_us)
{
	struct rig_host *first = NULL;
	for (unsigned i = 0; i < r->hosts; i++) {
		struct rig_host *h = &r->host[i];
		look_at_deadline(h);
		if (h->due_us != NEVER && (!first || h->due_us < first->due_us))
			first = h;
	}
	uint64_t event_us = r->events ? r->heap[0].t_us : NEVER;
	uint64_t next = first && first->due_us < event_us ? first->due_us : event_us;
	if (next == NEVER || next > t_us)
		return false;
	if (next > r->now_us)
		r->now_us = next;
	if (next == event_us) {
		struct event e = event_take(r);
		happen(r, &e);
	} else {
		tick(first);
	}
	return true;
}

void rig_run(struct rig *r, uint64_t t_us)
{
	while (step(r, t_us))
		;
	if (t_us != NEVER && t_us > r->now_us)
		r->now_us = t_us;
}

void rig_run_dry(struct rig *r, uint64_t t_us)
{
	while (step(r, NEVER - 1))
		if (r->now_us > t_us)
			rig_fail(__FILE__, __LINE__, "it does not come to rest");
}

void rig_run_until(struct rig *r, uint64_t t_us, bool (*done)(void *), void *arg)
{
	while (!done(arg)) {
		if (!step(r, NEVER - 1))
			rig_fail(__FILE__, __LINE__, "nothing waits, but it is not done");
		if (r->now_us > t_us)
			rig_fail(__FILE__, __LINE__, "it takes too long");
	}
}

/* --- what must be true --- */

void rig_check_fates(const struct rig *r)
{
	for (unsigned i = 0; i < r->hosts; i++) {
		const struct rig_host *h = &r->host[i];
		uint64_t fates = 0;
		for (unsigned c = 0; c < CNT_MAX; c++)
			if (counter_desc[c].kind != COUNTER_INFO)
				fates += h->cnt.v[c];
		if (fates != h->given)
			rig_fail(__FILE__, __LINE__, "host %u: %llu packets, %llu fates", i,
			         (unsigned long long)h->given, (unsigned long long)fates);
	}
}

static void host_end(struct rig_host *h)
{
	if (tcp_connections(h->tcp) != 0)
		rig_fail(__FILE__, __LINE__, "host %u: %u connections are left", h->index,
		         tcp_connections(h->tcp));
	while (h->posted_n)
		pkt_free(&h->pool, &h->posted[--h->posted_n]);
	if (h->pool.free != h->pool.count)
		rig_fail(__FILE__, __LINE__, "host %u: %u of %u buffers are missing", h->index,
		         h->pool.count - h->pool.free, h->pool.count);
	if (tcp_deadline(h->tcp) != NEVER)
		rig_fail(__FILE__, __LINE__, "host %u: a timer is armed and no connection there",
		         h->index);
	rig_check(h->waiting == 0 && !h->sent_first);
	ASAN_UNPOISON_MEMORY_REGION(h->bufs, (size_t)h->p.bufs * h->p.stride);
	free(h->bufs);
	free(h->stack);
	free(h->mem);
	free(h->ring);
}

void rig_end(struct rig *r)
{
	rig_check_fates(r);
	for (unsigned i = 0; i < r->hosts; i++)
		host_end(&r->host[i]);
	rig_check(r->events == 0);
	for (unsigned i = 0; i < 2; i++)
		for (struct rig_frame *f = r->free_frames[i], *next; f; f = next) {
			next = f->next;
			free(f);
		}
	free(r->heap);
	police_free(r->police);
	free(r);
	current_rig = NULL;
}
