/*
 * NTP packets of a client (RFC 5905 7.3): the request that it sends, and the checks of an answer. Times of servers are
 * nanoseconds since 1970 (UTC), root delay and dispersion nanoseconds.
 *
 * A request has nothing but version, mode and a random transmit timestamp, the cookie. An answer repeats the
 * cookie as origin timestamp, which nobody off the path can guess. The client keeps the real time of the
 * request (as in draft-ietf-ntp-data-minimization).
 *
 * Deliberately missing: authentication by a symmetric key or NTS (RFC 8915): extension fields and a MAC are
 * ignored. Modes other than client.
 */
#ifndef NET_NTP_PACKET_H
#define NET_NTP_PACKET_H

#include "lib/types.h"
#include "net/counters.h"

#define NTP_PORT 123
#define NTP_BYTES 48
#define NTP_VERSION 4
#define NTP_STRATUM_MAX 16        /* and more: unsynchronized */
#define NTP_SECOND_NS 1000000000u
#define NTP_MAXDISP_NS 16000000000ll /* MAXDISP, RFC 5905 figure 6 */

enum ntp_leap { NTP_LEAP_NONE, NTP_LEAP_ADD, NTP_LEAP_REMOVE, NTP_LEAP_UNKNOWN /* not synchronized */ };

struct ntp_packet {
	uint8_t leap, version, stratum, poll;
	int8_t precision;        /* log2 of seconds */
	int64_t root_delay_ns, root_dispersion_ns;
	uint32_t reference_id;   /* host order; of stratum 0 four characters: the kiss code */
	uint64_t reference_ns;   /* when the server's clock was set last; 0: never */
	uint64_t receive_ns, transmit_ns; /* T2, T3 */
	bool kiss;               /* stratum 0 (7.4); only version, stratum and reference_id are valid */
};

void ntp_request(uint8_t out[NTP_BYTES], uint64_t cookie);

/*
 * Checks an answer to the request with that cookie (RFC 5905 8, 9.2). CNT_NONE: *p is filled. Otherwise
 *     CNT_drop_ntp_malformed       too short, no answer of a server, another version, or a timestamp is missing
 *     CNT_drop_ntp_origin          it answers another request
 *     CNT_drop_ntp_unsynchronized  the server's clock is not synchronized, or too far from its source
 */
enum counter ntp_answer(const uint8_t *data, unsigned len, uint64_t cookie, struct ntp_packet *p);

/* An NTP timestamp (6) as ns since 1970. Its era is that in which the time lies from 2024-01-01 to 2160. */
uint64_t ntp_time_ns(uint64_t timestamp);

/* 2^precision seconds in ns, at least 1 */
int64_t ntp_precision_ns(int8_t precision);

#endif
