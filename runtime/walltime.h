/*
 * The time of day of the control core: UTC in nanoseconds since 1970, without leap seconds. It begins with the CMOS
 * clock that the kernel has read at boot (struct boot_info), and runs with the TSC. Others set it (walltime_set),
 * or have it run faster or slower (walltime_slew). It outlives a restart of the control program (runtime/sealed.h).
 *
 *     UTC = base + t + t * frequency + min(t, length) * rate        t: nanoseconds since the last call, by the TSC
 *
 * walltime_slew limits frequency and rate so that the time never goes back; walltime_set may set it back.
 *
 * For the control core. Data cores do not know the time of day: what they record is a TSC, or core_now_ns(), which
 * the control core converts (walltime_at).
 */
#ifndef RUNTIME_WALLTIME_H
#define RUNTIME_WALLTIME_H

#include "lib/types.h"

/* What has set the time last. */
enum walltime_source { WALLTIME_NONE, WALLTIME_CMOS, WALLTIME_CONSOLE, WALLTIME_NTP };

/* At the start of the control program, when kept memory can be found. Before, the time of day is not known. */
void walltime_start(void);

/* UTC now, by the TSC of this moment and not of this turn; 0: the time of day is not known. */
uint64_t walltime_ns(void);

bool walltime_known(void);
enum walltime_source walltime_source(void);

/* UTC at a time of core_now_ns(), before or after the present; 0: not known, or before 1970. Earlier changes of the
 * time are not undone: times around one that was set are as far apart as they were. */
uint64_t walltime_at(uint64_t now_ns);

/* The time of core_now_ns() that is 0 in a file of packets: that of 1970, modulo 2^64; of the boot if the time of
 * day is not known. A file keeps it, so a time that is set meanwhile does not separate its packets. */
uint64_t walltime_epoch(void);

/* Sets the time to utc_ns at TSC tsc; ends a slew, keeps the frequency. utc_ns: not 0. */
void walltime_set(uint64_t utc_ns, uint64_t tsc, enum walltime_source source);

/*
 * From now on the time runs by frequency/2^32 faster than the TSC (negative: slower), and for over_ns more, so that
 * it is ahead by offset_ns at the end of these. A slew under way ends here. Frequency and offset are limited to
 * WALLTIME_RATE_MAX each; a larger offset takes longer than over_ns. An offset beyond WALLTIME_SLEW_MAX_NS counts
 * as that. over_ns is at least a second. The time of day is known.
 */
#define WALLTIME_RATE_MAX 2147484 /* 500 parts per million, in 2^-32 */
#define WALLTIME_SLEW_MAX_NS 1000000000000ull /* 1000 s */
void walltime_slew(int64_t offset_ns, uint64_t over_ns, int32_t frequency);

/* The frequency of the last walltime_slew; 0: none. */
int32_t walltime_frequency(void);

/* How much of the last walltime_slew is still to come, in nanoseconds. */
int64_t walltime_remaining(void);

#endif
