/* See filter.h. */
#include "net/ntp/filter.h"

#include "lib/divide.h"
#include "net/ntp/packet.h"

int64_t ntp_drift_ns(uint64_t ns) { return (int64_t)divide(divide(ns, 1000) * 15, 1000); }

int64_t ntp_scaled(uint64_t ns, int32_t frequency)
{
	const int64_t us = (int64_t)divide(ns, 1000);
	return ((us * frequency >> 22) * 1000) >> 10;
}

uint32_t ntp_root(uint64_t square)
{
	uint32_t root = 0;
	for (uint32_t bit = 1u << 31; bit; bit >>= 1)
		if ((uint64_t)(root | bit) * (root | bit) <= square)
			root |= bit;
	return root;
}

uint64_t ntp_square(int64_t d)
{
	const int64_t most = NTP_SECOND_NS;
	d = d > most || d < -most ? most : d;
	return (uint64_t)(d * d);
}

bool ntp_sample_make(struct ntp_sample *s, uint64_t t1, uint64_t t2, uint64_t t3, uint64_t t4, int64_t precision_ns)
{
	const int64_t there_and_back = (int64_t)(t4 - t1), there = (int64_t)(t3 - t2);
	if (t4 < t1 || t3 < t2 || there_and_back > NTP_MAXDISP_NS || there > there_and_back + (int64_t)NTP_SECOND_NS)
		return false;
	s->delay_ns = there_and_back - there;
	if (s->delay_ns < precision_ns) /* 8: the precision is the least that can be measured */
		s->delay_ns = precision_ns;
	/* the mean of T2 - T1 and T3 - T4, which differ by little: both wrap in the same way */
	s->offset_ns = (t2 - t1) + (uint64_t)((int64_t)((t3 - t4) - (t2 - t1)) / 2);
	s->dispersion_ns = precision_ns + ntp_drift_ns((uint64_t)there_and_back);
	s->at_ns = t4;
	return true;
}

void ntp_filter_add(struct ntp_filter *f, const struct ntp_sample *s)
{
	f->stage[f->next] = *s;
	f->next = (f->next + 1) % NTP_STAGES;
}

/* Of samples with the same delay, as of all that a coarse precision makes equal, the newer one counts. */
static bool is_better(const struct ntp_sample *a, const struct ntp_sample *b)
{
	return a->delay_ns != b->delay_ns ? a->delay_ns < b->delay_ns : a->at_ns > b->at_ns;
}

/* The numbers of the samples by delay; returns how many there are. */
static unsigned sorted(const struct ntp_filter *f, uint8_t order[NTP_STAGES])
{
	unsigned n = 0;
	for (uint8_t i = 0; i < NTP_STAGES; i++) {
		if (f->stage[i].at_ns == 0)
			continue;
		unsigned at = n++;
		for (; at && is_better(&f->stage[i], &f->stage[order[at - 1]]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	return n;
}

static uint64_t offset_at(const struct ntp_sample *s, uint64_t now_ns, int32_t frequency)
{
	return s->offset_ns + (uint64_t)ntp_scaled(now_ns - s->at_ns, frequency);
}

void ntp_filter_estimate(const struct ntp_filter *f, uint64_t now_ns, int32_t frequency, struct ntp_estimate *e)
{
	uint8_t order[NTP_STAGES];
	const unsigned n = sorted(f, order);
	*e = (struct ntp_estimate){.dispersion_ns = NTP_MAXDISP_NS};
	if (n == 0)
		return;
	const struct ntp_sample *best = &f->stage[order[0]];
	uint64_t squares = 0;
	e->offset_ns = offset_at(best, now_ns, frequency);
	e->delay_ns = best->delay_ns;
	e->at_ns = best->at_ns;
	e->dispersion_ns = NTP_MAXDISP_NS >> n; /* the places without a sample: the sum of MAXDISP/2^(i+1) from n on */
	for (unsigned i = 0; i < n; i++) {
		const struct ntp_sample *s = &f->stage[order[i]];
		int64_t dispersion = s->dispersion_ns + ntp_drift_ns(now_ns - s->at_ns);
		dispersion = dispersion > NTP_MAXDISP_NS ? NTP_MAXDISP_NS : dispersion;
		e->dispersion_ns += dispersion >> (i + 1);
		squares += ntp_square((int64_t)(offset_at(s, now_ns, frequency) - e->offset_ns));
	}
	e->jitter_ns = n > 1 ? ntp_root(divide(squares, n - 1)) : 0;
}
