/* See walltime.h. */
#include "runtime/walltime.h"

#include "lib/number.h"
#include "runtime/sealed.h"

#define SLEW_LEAST 2000 /* a slew is at most 1/2000: 500 parts per million */

struct walltime {
	uint64_t tsc;    /* of the base */
	uint64_t utc_ns; /* at the base; 0: not known */
	uint64_t length_ns; /* the slew lasts so long from the base on */
	int32_t rate;       /* in 2^-32, while the slew lasts */
	int32_t frequency;  /* in 2^-32 */
	uint32_t source;    /* enum walltime_source */
	uint32_t unused;
};

static struct walltime now;
static struct sealed kept_time = SEALED(CORE_PERSIST_WALLTIME, 2, struct walltime);

/* What an earlier program has left is not believed more than that: the rates may be any. */
static bool is_sane(const struct walltime *w)
{
	return w->utc_ns && w->rate >= -WALLTIME_RATE_MAX && w->rate <= WALLTIME_RATE_MAX &&
	       w->frequency >= -WALLTIME_RATE_MAX && w->frequency <= WALLTIME_RATE_MAX &&
	       w->source <= WALLTIME_NTP && w->tsc <= clock_tsc();
}

void walltime_start(void)
{
	const struct walltime *before = sealed_newest(&kept_time);
	if (before && is_sane(before))
		now = *before;
	else if (self.info->clock_ns)
		now = (struct walltime){.tsc = self.info->clock_tsc,
		                        .utc_ns = self.info->clock_ns,
		                        .source = WALLTIME_CMOS};
}

static void keep(void)
{
	if (sealed_take(&kept_time))
		sealed_write(&kept_time, &now); /* without memory the next program begins with the CMOS clock */
}

static uint64_t scaled(uint64_t ns, int32_t by)
{
	return (uint64_t)((__int128)ns * by >> 32);
}

/* UTC `elapsed` ns after the base; modulo 2^64 */
static uint64_t utc_after(uint64_t elapsed)
{
	const uint64_t slewed = elapsed < now.length_ns ? elapsed : now.length_ns;
	return now.utc_ns + elapsed + scaled(elapsed, now.frequency) + scaled(slewed, now.rate);
}

static uint64_t elapsed_at(uint64_t tsc) { return clock_ns(&self.clock, tsc - now.tsc); }

uint64_t walltime_ns(void) { return walltime_known() ? utc_after(elapsed_at(clock_tsc())) : 0; }

bool walltime_known(void) { return now.utc_ns != 0; }

enum walltime_source walltime_source(void) { return (enum walltime_source)now.source; }

uint64_t walltime_at(uint64_t now_ns)
{
	if (!walltime_known())
		return 0;
	const uint64_t base_ns = clock_ns(&self.clock, now.tsc);
	if (now_ns >= base_ns)
		return utc_after(now_ns - base_ns);
	return base_ns - now_ns < now.utc_ns ? now.utc_ns - (base_ns - now_ns) : 0;
}

uint64_t walltime_epoch(void)
{
	if (!walltime_known())
		return clock_ns(&self.clock, self.info->tsc_boot);
	const uint64_t tsc = clock_tsc();
	return clock_ns(&self.clock, tsc) - utc_after(elapsed_at(tsc));
}

void walltime_set(uint64_t utc_ns, uint64_t tsc, enum walltime_source source)
{
	now = (struct walltime){.tsc = tsc, .utc_ns = utc_ns, .frequency = now.frequency, .source = source};
	keep();
}

static int32_t limited(int32_t rate)
{
	return rate > WALLTIME_RATE_MAX ? WALLTIME_RATE_MAX : rate < -WALLTIME_RATE_MAX ? -WALLTIME_RATE_MAX : rate;
}

void walltime_slew(int64_t offset_ns, uint64_t over_ns, int32_t frequency)
{
	const uint64_t tsc = clock_tsc();
	const uint64_t distance = u64_min((uint64_t)(offset_ns < 0 ? -offset_ns : offset_ns), WALLTIME_SLEW_MAX_NS);
	now.utc_ns = utc_after(elapsed_at(tsc));
	now.tsc = tsc;
	now.length_ns = u64_min(u64_max(over_ns, SECOND_NS), WALLTIME_SLEW_MAX_NS);
	now.length_ns = u64_max(now.length_ns, distance * SLEW_LEAST);
	/* in 64 bits: distance/length is at most 1/SLEW_LEAST, and length has 2^12 and more */
	now.rate = (int32_t)((distance << 20) / (now.length_ns >> 12));
	now.rate = offset_ns < 0 ? -now.rate : now.rate;
	now.frequency = limited(frequency);
	now.source = WALLTIME_NTP;
	keep();
}

int32_t walltime_frequency(void) { return now.frequency; }

int64_t walltime_remaining(void)
{
	const uint64_t elapsed = walltime_known() ? elapsed_at(clock_tsc()) : 0;
	return elapsed < now.length_ns ? (int64_t)scaled(now.length_ns - elapsed, now.rate) : 0;
}
