/*
 * An NTP client of several servers (RFC 5905: client mode of NTPv4): when to ask which, and what becomes of the
 * answers. A function of (packet, time): the caller passes answers and the time, and receives calls of struct
 * ntp_ops. It allocates nothing. Times are nanoseconds of a steady clock that does not go back; of UTC where
 * the name says so.
 *
 * A server:
 *
 *     state     event                              action                                        next
 *     -         ntp_server_set                     -                                             asking
 *     asking    its time has come                  a request; the register `reach` shifts        asking
 *     asking    an answer to the last request      reach, filter, selection, discipline          asking
 *     asking    a request, the third or later unanswered   the filter's oldest sample goes (A.5.7.3)      asking
 *     asking    kiss RATE                          twice the interval, the burst ends (7.4)      asking
 *     asking    kiss DENY or RSTR                  -                                             denied
 *     denied    ntp_server_set, ntp_server_clear   -                                             asking, -
 *
 * The interval between requests is 2^poll seconds, of the discipline's poll, plus up to 1/16 at random, so that
 * clients that started together do not stay together. A server that has not answered NTP_UNREACHABLE requests
 * in a row is asked more and more rarely (13.2). With `iburst` a server that begins, or answers again, is asked
 * eight times, two seconds apart.
 *
 * Until the clock has been set, the survivors of the selection must be the majority of the servers that answer,
 * or NTP_SETTLE_NS must have passed since the first selection.
 *
 * Invariants
 * 1. An answer counts only if it repeats the random cookie of the last request, which has not been answered
 *    yet: a duplicate or a replay is dropped (8; 9.2, figure 22, tests 1 and 2).
 * 2. The clock is changed by a sample that is newer than the last one that has changed it.
 * 3. A kiss counts under the same condition as an answer.
 */
#ifndef NET_NTP_CLIENT_H
#define NET_NTP_CLIENT_H

#include "net/addr.h"
#include "net/ntp/discipline.h"
#include "net/ntp/filter.h"
#include "net/ntp/packet.h"
#include "net/ntp/select.h"

#define NTP_BURST 8                        /* BCOUNT */
#define NTP_BURST_NS 2000000000ull         /* BTIME, A.5.7 */
#define NTP_SETTLE_NS 16000000000ull       /* a burst: so long the first update waits for a majority of the servers */
#define NTP_UNREACHABLE 12                 /* UNREACH of A.5.7; figure 29 has 24 */
#define NTP_DISTANCE_MIN_NS 5000000ll      /* MINDISP, of root distance and dispersion */

struct ntp_server_options {
	bool prefer, iburst;
	uint8_t poll_min, poll_max; /* log2 of seconds; NTP_POLL_MIN to NTP_POLL_MAX */
};

struct ntp_server {
	bool used;
	bool denied;
	struct net_addr addr; /* NET_ADDR_ANY: not known yet; it is not asked */
	struct ntp_server_options options;
	uint8_t reach;      /* an answer to each of the last eight requests: bit 0 is the last one */
	uint8_t burst;      /* requests of the burst still to come */
	uint8_t rate;       /* poll has been raised by so much, by kisses */
	uint16_t unanswered; /* requests in a row */
	bool waiting;       /* for the answer to the last request */
	uint64_t cookie;    /* of the last request */
	uint64_t sent_ns, next_ns;
	struct ntp_packet last; /* the last answer that counted */
	struct ntp_filter filter;
	struct ntp_estimate estimate;
	enum ntp_verdict verdict;
	uint32_t kiss; /* the last kiss code; 0: none */
	uint64_t sent, answers, dropped, kisses;
};

struct ntp_ops {
	/* Sends a request to the server of that number. Returns the time at which it was sent, 0: it was not. */
	uint64_t (*send)(void *ctx, unsigned server, const uint8_t request[NTP_BYTES]);
	uint64_t (*random)(void *ctx);
	/* The clock's UTC minus the time of the steady clock, at that time; 0: it is not known, or NTP has not
	 * set it: the next update sets it, however far it is. */
	uint64_t (*clock)(void *ctx, uint64_t now_ns);
	/* Obeys an order of the discipline; of NTP_STEP `utc_minus_now` is the new value of clock(). */
	void (*adjust)(void *ctx, const struct ntp_order *order, uint64_t utc_minus_now, uint64_t now_ns);
};

struct ntp_client {
	const struct ntp_ops *ops;
	void *ctx;
	struct ntp_server server[NTP_SERVERS_MAX];
	struct ntp_discipline discipline;
	bool synchronized;       /* there is a system peer, and the clock follows it */
	unsigned peer;           /* the system peer; valid while synchronized */
	int64_t offset_ns, jitter_ns; /* of the last update */
	uint64_t sample_ns;      /* arrival of the sample of the last update */
	uint64_t updated_ns;     /* 0: never */
	uint64_t chosen_ns;      /* when a server was chosen first; 0: never */
	uint64_t steps, slews, spikes, panics;
};

/* frequency: as far as it is known, or 0 */
void ntp_client_init(struct ntp_client *c, const struct ntp_ops *ops, void *ctx, int32_t frequency);

/* Server number i is that from now on, and is asked at once; addr may be NET_ADDR_ANY. */
void ntp_server_set(struct ntp_client *c, unsigned i, const struct net_addr *addr, const struct ntp_server_options *o,
                    uint64_t now_ns);
void ntp_server_clear(struct ntp_client *c, unsigned i, uint64_t now_ns);

/* Sends what is due, and returns the time of the next request; UINT64_MAX: none. */
uint64_t ntp_client_tick(struct ntp_client *c, uint64_t now_ns);

/* A packet for the client from server i, which came from its address and port, at now_ns. CNT_NONE: it counts.
 * Otherwise why it was dropped, as of ntp_answer(); CNT_drop_ntp_origin also if no request waits. */
enum counter ntp_client_input(struct ntp_client *c, unsigned i, const uint8_t *data, unsigned len, uint64_t now_ns);

/* The state of the whole client as a server would announce it (11.2.3): stratum of the system peer plus one; 16: not
 * synchronized. */
uint8_t ntp_client_stratum(const struct ntp_client *c);
int64_t ntp_client_root_delay(const struct ntp_client *c);
int64_t ntp_client_root_dispersion(const struct ntp_client *c, uint64_t now_ns);

/* The root distance of a server (11.2.1, 11.2.3), as of its estimate. */
int64_t ntp_server_distance(const struct ntp_server *s);

#endif
