/* See select.h. */
#include "net/ntp/select.h"

#include "lib/divide.h"
#include "net/ntp/filter.h"
#include "net/ntp/packet.h"

#define NEVER (1ll << 62) /* beyond all offsets */
#define SURVIVORS_MIN 3 /* NMIN: the cluster algorithm leaves that many */

/* An end of an interval, or its middle. `at` is relative to the first candidate: offsets wrap. */
struct edge {
	int64_t at;
	int type; /* -1: lower end, 0: middle, 1: upper end */
};

/* The numbers of the servers in question. */
struct set {
	uint8_t of[NTP_SERVERS_MAX];
	unsigned n;
};

static int64_t relative(const struct ntp_candidate *c, uint64_t base) { return (int64_t)(c->offset_ns - base); }

static void put_edge(struct edge *e, unsigned *n, int64_t at, int type)
{
	unsigned i = (*n)++;
	for (; i && (e[i - 1].at > at || (e[i - 1].at == at && e[i - 1].type > type)); i--)
		e[i] = e[i - 1];
	e[i] = (struct edge){at, type};
}

/* 11.2.1: the smallest interval that has points of at least n - allow intervals, for the least number `allow` of
 * falsetickers, less than half. The middles outside of it are no more than `allow`. */
static bool intersect(const struct edge *e, unsigned edges, unsigned n, int64_t *low, int64_t *high)
{
	for (unsigned allow = 0; 2 * allow < n; allow++) {
		unsigned outside = 0, i;
		int chime = 0;
		for (i = 0; i < edges; i++) {
			chime -= e[i].type;
			if (chime >= (int)(n - allow))
				break;
			outside += e[i].type == 0;
		}
		*low = i < edges ? e[i].at : NEVER;
		chime = 0;
		for (i = edges; i > 0; i--) {
			chime += e[i - 1].type;
			if (chime >= (int)(n - allow))
				break;
			outside += e[i - 1].type == 0;
		}
		*high = i > 0 ? e[i - 1].at : -NEVER;
		if (outside <= allow && *high > *low)
			return true;
	}
	return false;
}

/* Those whose middle is in the interval of the majority; the others are falsetickers. */
static void find_truechimers(struct ntp_candidate *c, unsigned n, uint64_t base, struct set *s)
{
	struct edge e[3 * NTP_SERVERS_MAX];
	unsigned edges = 0, fit = 0;
	int64_t low, high;
	for (unsigned i = 0; i < n; i++) {
		c[i].verdict = c[i].fit ? NTP_FALSETICKER : NTP_REJECTED;
		if (!c[i].fit)
			continue;
		const int64_t at = relative(&c[i], base);
		put_edge(e, &edges, at - c[i].distance_ns, -1);
		put_edge(e, &edges, at, 0);
		put_edge(e, &edges, at + c[i].distance_ns, 1);
		fit++;
	}
	s->n = 0;
	if (!fit || !intersect(e, edges, fit, &low, &high))
		return;
	for (unsigned i = 0; i < n; i++)
		if (c[i].fit && relative(&c[i], base) >= low && relative(&c[i], base) <= high)
			s->of[s->n++] = (uint8_t)i;
}

/* By stratum, then by root distance: the best one first (11.2.2). */
static int64_t metric(const struct ntp_candidate *c) { return c->stratum * NTP_DISTANCE_MAX_NS + c->distance_ns; }

static void sort(const struct ntp_candidate *c, struct set *s)
{
	for (unsigned i = 1; i < s->n; i++) {
		const uint8_t mine = s->of[i];
		unsigned at = i;
		for (; at && metric(&c[s->of[at - 1]]) > metric(&c[mine]); at--)
			s->of[at] = s->of[at - 1];
		s->of[at] = mine;
	}
}

/* The selection jitter of server i: how far the others are from it. */
static int64_t selection_jitter(const struct ntp_candidate *c, const struct set *s, unsigned i)
{
	uint64_t squares = 0;
	for (unsigned k = 0; k < s->n; k++)
		squares += ntp_square((int64_t)(c[s->of[k]].offset_ns - c[s->of[i]].offset_ns));
	return s->n > 1 ? ntp_root(divide(squares, s->n - 1)) : 0;
}

/* 11.2.2: while there are more than enough, the one with the largest selection jitter goes, unless that is less
 * than what any of them varies by itself. A preferred one stays. */
static void cluster(struct ntp_candidate *c, struct set *s)
{
	while (s->n > SURVIVORS_MIN) {
		int64_t most = -1, least = NEVER;
		unsigned worst = 0;
		for (unsigned i = 0; i < s->n; i++) {
			const int64_t jitter = selection_jitter(c, s, i), own = c[s->of[i]].jitter_ns;
			if (jitter > most) {
				most = jitter;
				worst = i;
			}
			least = own < least ? own : least;
		}
		if (most <= least || c[s->of[worst]].prefer)
			return;
		c[s->of[worst]].verdict = NTP_OUTLIER;
		s->n--;
		for (unsigned i = worst; i < s->n; i++)
			s->of[i] = s->of[i + 1];
	}
}

static int64_t quotient(int64_t n, uint32_t d)
{
	return n < 0 ? -(int64_t)divide((uint64_t)-n, d) : (int64_t)divide((uint64_t)n, d);
}

/* 11.2.3: the mean of the offsets, weighted by the inverse of the root distance. */
static uint64_t combine(const struct ntp_candidate *c, const struct set *s, uint64_t base)
{
	int64_t sum = 0;
	uint32_t weights = 0;
	for (unsigned i = 0; i < s->n; i++) {
		const struct ntp_candidate *k = &c[s->of[i]];
		/* distance in us, so that a weight has 32 bits; truechimers are less than 2^35 ns apart */
		const uint32_t us = (uint32_t)divide((uint64_t)k->distance_ns, 1000) + 1;
		const uint32_t weight = (uint32_t)divide(1u << 24, us) + 1;
		sum += relative(k, base) * weight;
		weights += weight;
	}
	return base + (uint64_t)quotient(sum, weights);
}

void ntp_select(struct ntp_candidate *c, unsigned n, struct ntp_selection *result)
{
	struct set s;
	unsigned first = 0;
	*result = (struct ntp_selection){0};
	while (first < n && !c[first].fit)
		first++;
	find_truechimers(c, n, first < n ? c[first].offset_ns : 0, &s);
	if (s.n == 0)
		return;
	sort(c, &s);
	cluster(c, &s);
	unsigned peer = 0;
	for (unsigned i = 0; i < s.n; i++) {
		c[s.of[i]].verdict = NTP_COMBINED;
		if (c[s.of[i]].prefer && !c[s.of[peer]].prefer)
			peer = i;
	}
	const struct ntp_candidate *best = &c[s.of[peer]];
	result->survivors = s.n;
	result->peer = s.of[peer];
	result->offset_ns = best->prefer ? best->offset_ns : combine(c, &s, best->offset_ns);
	const int64_t others = selection_jitter(c, &s, peer);
	result->jitter_ns = ntp_root(ntp_square(others) + ntp_square(best->jitter_ns));
	c[result->peer].verdict = NTP_SYSTEM_PEER;
}
