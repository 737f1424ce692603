/* See sample.h. */
#include "dataplane/sample.h"

#include "dataplane/state.h"
#include "lib/mem.h"

static uint32_t passes[NIC_PORTS_MAX]; /* packets to pass over before the next sample */
static uint32_t rate_of[NIC_PORTS_MAX]; /* the rate by which that was chosen; 0: not yet */

/* xorshift64* (Vigna 2016): any generator will do whose period no traffic pattern follows. */
static uint64_t next_random(void)
{
	static uint64_t state;
	while (state == 0)
		core_random(&state, sizeof state);
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dull;
}

/* Uniform in 0 to 2 * rate - 2, so rate - 1 on average. */
static uint32_t next_pass(uint32_t rate) { return (uint32_t)((next_random() >> 32) * (2ull * rate - 1) >> 32); }

static void take(struct sample_ring *r, const struct pkt *p, unsigned port)
{
	struct sample *s = &r->v[r->count % SAMPLES_PLACES];
	s->number = ++r->taken[port];
	s->len = pkt_bytes(&self.pool, p);
	s->kept = (uint16_t)(p->len < SAMPLE_HEAD_MAX ? p->len : SAMPLE_HEAD_MAX);
	s->port = (uint16_t)port;
	memcpy(s->head, p->data, s->kept);
	shared_store(&r->count, r->count + 1);
}

void sample_vector(const struct pkt *v, unsigned n, unsigned port)
{
	struct sample_ring *r = &dp_shared()->samples;
	const uint32_t rate = __atomic_load_n(&dp_get()->sample_rate, __ATOMIC_RELAXED);
	if (unlikely(rate_of[port] != rate)) {
		rate_of[port] = rate;
		passes[port] = rate ? next_pass(rate) : 0;
	}
	if (unlikely(rate == 0))
		return;
	shared_store(&r->pool[port], r->pool[port] + n);
	unsigned i = passes[port];
	if (likely(i >= n)) {
		passes[port] -= n;
		return;
	}
	for (; i < n; i += 1 + next_pass(rate))
		take(r, &v[i], port);
	passes[port] = i - n;
	core_wake_control();
}

bool sample_next(const struct sample_ring *r, uint64_t *at, struct sample *out)
{
	if (shared_load(&r->count) < *at)
		*at = 0;
	for (uint64_t count; (count = shared_load(&r->count)) > *at;) {
		if (count - *at > SAMPLES_KEPT)
			*at = count - SAMPLES_KEPT;
		*out = r->v[*at % SAMPLES_PLACES];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (out->kept > SAMPLE_HEAD_MAX)
			out->kept = SAMPLE_HEAD_MAX;
		if (shared_load(&r->count) - (*at)++ <= SAMPLES_KEPT) /* not overwritten meanwhile */
			return true;
	}
	return false;
}
