/* See discipline.h. */
#include "net/ntp/discipline.h"

#include "lib/divide.h"
#include "net/ntp/packet.h"

#define GAIN_SHIFT 4        /* of the frequency: 1/16 */
#define POLL_GATE 4         /* PGATE */
#define JIGGLE_LIMIT 30     /* LIMIT */

void ntp_discipline_init(struct ntp_discipline *d, int32_t frequency, uint8_t poll_min, uint8_t poll_max)
{
	*d = (struct ntp_discipline){.frequency = frequency, .poll = poll_min, .poll_min = poll_min, .poll_max = poll_max};
}

static int64_t size_of(int64_t n) { return n < 0 ? -n : n; }

/* A.5.5.6: a long interval is better as long as the offsets are noise. */
static void adjust_poll(struct ntp_discipline *d, int64_t offset_ns, int64_t jitter_ns)
{
	if (size_of(offset_ns) < POLL_GATE * jitter_ns) {
		d->jiggle = (int8_t)(d->jiggle + d->poll);
		if (d->jiggle > JIGGLE_LIMIT) {
			d->jiggle = 0;
			if (d->poll < d->poll_max)
				d->poll++;
		}
	} else {
		d->jiggle = (int8_t)(d->jiggle - 2 * d->poll);
		if (d->jiggle < -JIGGLE_LIMIT) {
			d->jiggle = 0;
			if (d->poll > d->poll_min)
				d->poll--;
		}
	}
}

/* offset / time / 16 in 2^-32; the offset is at most STEPT, the time at least 4 s */
static int32_t frequency_change(int64_t offset_ns, uint64_t time_ns)
{
	const uint32_t ms = (uint32_t)divide(time_ns, 1000000);
	const uint64_t size = divide((uint64_t)size_of(offset_ns) << (32 - GAIN_SHIFT), ms);
	const int32_t change = (int32_t)divide(size, 1000000);
	return offset_ns < 0 ? -change : change;
}

static int32_t limited(int32_t frequency)
{
	return frequency > NTP_FREQUENCY_MAX ? NTP_FREQUENCY_MAX
	       : frequency < -NTP_FREQUENCY_MAX ? -NTP_FREQUENCY_MAX : frequency;
}

static struct ntp_order step(struct ntp_discipline *d, int64_t offset_ns, uint64_t now_ns)
{
	d->state = NTP_SYNC;
	d->at_ns = now_ns;
	d->poll = d->poll_min;
	d->jiggle = 0;
	return (struct ntp_order){.action = NTP_STEP, .offset_ns = offset_ns, .frequency = d->frequency};
}

static struct ntp_order slew(struct ntp_discipline *d, int64_t offset_ns, int64_t jitter_ns, uint64_t now_ns)
{
	const uint64_t interval = (uint64_t)NTP_SECOND_NS << d->poll, longest = (uint64_t)NTP_SECOND_NS << (NTP_POLL_MAX + 2);
	uint64_t since = now_ns - d->at_ns;
	since = since > longest ? longest : since;
	const uint64_t time = since / 4 > interval ? since / 4 : interval;
	d->state = NTP_SYNC;
	d->at_ns = now_ns;
	d->frequency = limited(d->frequency + frequency_change(offset_ns, time));
	adjust_poll(d, offset_ns, jitter_ns);
	return (struct ntp_order){NTP_SLEW, offset_ns, 2 * interval, d->frequency};
}

struct ntp_order ntp_discipline_update(struct ntp_discipline *d, int64_t offset_ns, int64_t jitter_ns, uint64_t now_ns)
{
	const int64_t size = size_of(offset_ns);
	if (d->state == NTP_UNSET)
		return step(d, offset_ns, now_ns);
	if (size <= NTP_STEP_NS)
		return slew(d, offset_ns, jitter_ns, now_ns);
	if (size > NTP_PANIC_NS)
		return (struct ntp_order){.action = NTP_PANIC};
	if (d->state == NTP_SYNC) {
		d->state = NTP_SPIKE;
		d->spike_ns = now_ns;
	}
	if (now_ns - d->spike_ns >= NTP_WATCH_NS)
		return step(d, offset_ns, now_ns);
	return (struct ntp_order){.action = NTP_NOTHING};
}
