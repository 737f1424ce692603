/*
 * The clock filter of an association (RFC 5905 10): of the last eight samples that with the shortest delay
 * counts, because queues on the way make the delay longer and the offset wrong; of several the newest.
 *
 * An offset is UTC minus the local clock. The local clock is a steady one, which nobody sets (core_now_ns()).
 * So samples stay comparable when the time of day is set or slewed. An old sample is carried forward by the
 * frequency error of the local clock as far as it is known. Offsets are modulo 2^64, times and all else
 * nanoseconds.
 */
#ifndef NET_NTP_FILTER_H
#define NET_NTP_FILTER_H

#include "lib/types.h"

#define NTP_STAGES 8 /* NSTAGE */

struct ntp_sample {
	uint64_t offset_ns; /* UTC - local, at at_ns */
	int64_t delay_ns, dispersion_ns;
	uint64_t at_ns; /* local time of arrival; 0: no sample */
};

struct ntp_filter {
	struct ntp_sample stage[NTP_STAGES];
	unsigned next; /* the oldest one */
};

/* What the filter says at a time. */
struct ntp_estimate {
	uint64_t offset_ns; /* UTC - local, at that time */
	int64_t delay_ns, dispersion_ns, jitter_ns;
	uint64_t at_ns; /* arrival of the sample that counts; 0: there is none */
};

/* The sample of T1 and T4 by the local clock, T2 and T3 by the server's (8): offset ((T2 - T1) + (T3 - T4)) / 2, delay
 * (T4 - T1) - (T3 - T2). precision_ns: of the two clocks together. False: the delay is negative or beyond MAXDISP. */
bool ntp_sample_make(struct ntp_sample *s, uint64_t t1, uint64_t t2, uint64_t t3, uint64_t t4, int64_t precision_ns);

/* Replaces the oldest place; by no sample, if at_ns is 0. */
void ntp_filter_add(struct ntp_filter *f, const struct ntp_sample *s);

/* frequency: by how much UTC runs faster than the local clock, in 2^-32. */
void ntp_filter_estimate(const struct ntp_filter *f, uint64_t now_ns, int32_t frequency, struct ntp_estimate *e);

/* The growth of dispersion in that time: PHI, 15 parts per million (figure 6). */
int64_t ntp_drift_ns(uint64_t ns);

/* ns * frequency / 2^32, to a microsecond; |frequency| at most NTP_FREQUENCY_MAX, ns below 2^51 (26 days) */
int64_t ntp_scaled(uint64_t ns, int32_t frequency);

/* The square root, rounded down. */
uint32_t ntp_root(uint64_t square);

/* A difference of offsets, limited to a second, squared. */
uint64_t ntp_square(int64_t difference_ns);

#endif
