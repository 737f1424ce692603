/*
 * The rate limit of ICMP errors of both families (RFC 1812 4.3.2.8, RFC 4443 2.4 (f)): a token
 * bucket. Its state is one time, the earliest at which the bucket is full again, so no refill and
 * no rounding is needed.
 */
#ifndef NET_ICMP_LIMIT_H
#define NET_ICMP_LIMIT_H

#include "lib/types.h"

struct icmp_limit {
	uint64_t full_at_ns;
	uint64_t interval_ns; /* time per token; 0: no tokens at all */
	uint64_t depth_ns;    /* burst * interval */
};

/* rate: errors per second (0: none ever); burst: errors allowed at once, at least 1. */
static inline void icmp_limit_init(struct icmp_limit *l, uint32_t rate, uint32_t burst)
{
	uint64_t interval = rate ? (1000000000u - 1) / rate + 1 : 0; /* rounded up */
	*l = (struct icmp_limit){0, interval, interval * (burst ? burst : 1)};
}

/* Takes a token; false: none is left. Time must not run backwards. */
static inline bool icmp_limit_take(struct icmp_limit *l, uint64_t now_ns)
{
	if (l->interval_ns == 0)
		return false;
	uint64_t full_at = l->full_at_ns > now_ns ? l->full_at_ns : now_ns;
	if (full_at - now_ns + l->interval_ns > l->depth_ns)
		return false;
	l->full_at_ns = full_at + l->interval_ns;
	return true;
}

#endif
