/*
 * Which servers tell the time (RFC 5905 11.2): the selection algorithm finds the largest majority whose
 * intervals of correctness intersect, the cluster algorithm removes those farthest from the others, and the
 * rest is combined. A pure function of its argument.
 */
#ifndef NET_NTP_SELECT_H
#define NET_NTP_SELECT_H

#include "lib/types.h"

#define NTP_SERVERS_MAX 8
#define NTP_DISTANCE_MAX_NS 1000000000ll /* MAXDIST: a server beyond is not fit */

/* What became of a server. */
enum ntp_verdict {
	NTP_REJECTED,    /* no answers, not synchronized, or too far: no candidate */
	NTP_FALSETICKER, /* its time is not that of the majority */
	NTP_OUTLIER,     /* removed by the cluster algorithm */
	NTP_COMBINED,    /* part of the result */
	NTP_SYSTEM_PEER, /* the best of these */
};

struct ntp_candidate {
	uint64_t offset_ns;    /* UTC - local clock, at the same time for all */
	int64_t distance_ns;   /* root distance, above 0 and below 2^34 */
	int64_t jitter_ns;
	uint8_t stratum;
	bool fit;              /* false: rejected, whatever the rest says */
	bool prefer;
	enum ntp_verdict verdict; /* result */
};

struct ntp_selection {
	unsigned survivors; /* 0: no majority, the others are not valid */
	unsigned peer;      /* number of the system peer */
	uint64_t offset_ns; /* combined */
	int64_t jitter_ns;
};

/* n: at most NTP_SERVERS_MAX */
void ntp_select(struct ntp_candidate *c, unsigned n, struct ntp_selection *result);

#endif
