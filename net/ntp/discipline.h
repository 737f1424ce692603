/*
 * The clock discipline: what becomes of the clock when its offset from the selected servers is known (RFC 5905
 * 11.3, 12).
 *
 *     state    an update with               does                                              next
 *     UNSET    any offset                   sets the clock                                    SYNC
 *     SYNC     up to STEPT                  slews the clock, corrects its frequency           SYNC
 *     SYNC     more, up to PANICT           nothing, it may be a spike                        SPIKE
 *     SPIKE    up to STEPT                  as in SYNC                                        SYNC
 *     SPIKE    more, up to PANICT           nothing; after WATCH sets the clock               SPIKE; SYNC
 *     SYNC, SPIKE  beyond PANICT            nothing: the servers, or the clock, are wrong     the same
 *
 * The first update sets the clock however small the offset is: the CMOS clock knows whole seconds only.
 *
 * 11.2.3 has all associations reset after a step, because it invalidates their samples. Here it does
 * not (filter.h), so they stay.
 *
 * The loop is not that of RFC 5905 appendix A.5.5.6, whose time constant assumes offsets of a clock that it
 * slews meanwhile, and a start with a known frequency. Here samples are of a steady clock (filter.h), so the
 * loop can be faster: an update is slewed within two poll intervals, and a part of it, divided by the time
 * since the last update, goes into the frequency: 1/16 if that time is an interval, 1/4 if it is four or more.
 * In the first case half of the offset has been slewed by the next update, and both poles of the loop are at
 * 3/4; in the second all of it, and both are at 1/2: it is critically damped.
 *
 * The poll interval follows the offsets (A.5.5.6): while they are within PGATE times the jitter it grows, else
 * it shrinks.
 */
#ifndef NET_NTP_DISCIPLINE_H
#define NET_NTP_DISCIPLINE_H

#include "lib/types.h"

#define NTP_POLL_MIN 4 /* log2 of seconds, as for NTP_POLL_MAX; 4 is MINPOLL of figure 6 */
#define NTP_POLL_DEFAULT 6
#define NTP_POLL_MAX 10
#define NTP_STEP_NS 128000000ll       /* STEPT of the RFC's code; figure 27 has 125 ms */
#define NTP_WATCH_NS 900000000000ull  /* WATCH */
#define NTP_PANIC_NS 1000000000000ll  /* PANICT */
#define NTP_FREQUENCY_MAX 2147484     /* 500 parts per million, in 2^-32 */

enum ntp_state { NTP_UNSET, NTP_SYNC, NTP_SPIKE };
enum ntp_action { NTP_NOTHING, NTP_STEP, NTP_SLEW, NTP_PANIC };

struct ntp_discipline {
	enum ntp_state state;
	int32_t frequency;     /* of UTC against the local clock, in 2^-32 */
	uint8_t poll, poll_min, poll_max; /* log2 of seconds */
	int8_t jiggle;         /* towards a change of poll */
	uint64_t at_ns;        /* local time of the last update that counted */
	uint64_t spike_ns;     /* local time of the first update of SPIKE */
};

/* What is to be done. */
struct ntp_order {
	enum ntp_action action;
	int64_t offset_ns;  /* to step, or to slew */
	uint64_t over_ns;   /* to slew within */
	int32_t frequency;  /* from now on */
};

/* frequency: as far as it is known, or 0. */
void ntp_discipline_init(struct ntp_discipline *d, int32_t frequency, uint8_t poll_min, uint8_t poll_max);

/* offset_ns: of the clock at now_ns; positive: it is late. */
struct ntp_order ntp_discipline_update(struct ntp_discipline *d, int64_t offset_ns, int64_t jitter_ns, uint64_t now_ns);

#endif
