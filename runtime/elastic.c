/* See elastic.h. */
#include "runtime/elastic.h"

#include "drivers/nic.h"
#include "lib/number.h"
#include "runtime/balance.h"
#include "runtime/balancer.h"
#include "runtime/buckets.h"
#include "runtime/move.h"
#include "runtime/shared.h"

#define PERCENT (BALANCE_FULL / 100)
#define NEVER UINT64_MAX

static unsigned minimum; /* pairs; 0: all are in use at any load */
static uint32_t wake_up_us;
static unsigned in_use;
static struct load_meter meter;
static uint64_t next_tsc;      /* of a look */
static unsigned looks;         /* in succession at which the load fitted one pair less */
static uint64_t rest_ns;       /* the next rest */
static uint64_t rest_until_tsc, gathered_tsc; /* 0: none */
static uint64_t pressed;       /* sum over all cores, at the last turn */

/* --- a data core --- */

COLD void elastic_note_turn(unsigned packets)
{
	struct core_shm *o = core_shm_of(self.id);
	if (packets < ELASTIC_PACKETS)
		return;
	shared_store(&o->pressed, o->pressed + 1);
	core_wake(0);
}

/* --- which bucket goes where --- */

static void count_homes(const uint8_t *home, unsigned n, uint32_t *of)
{
	for (unsigned i = 0; i < NIC_PAIRS_MAX; i++)
		of[i] = 0;
	for (unsigned b = 0; b < n; b++)
		of[home[b]]++;
}

void elastic_spread(uint8_t *home, unsigned n, unsigned before, unsigned now)
{
	uint32_t of[NIC_PAIRS_MAX];
	count_homes(home, n, of);
	for (unsigned b = 1; b < n; b++)
		if (home[b] >= now) {
			of[home[b]]--;
			home[b] = (uint8_t)u32_least_at(of, now > before ? before : 0, now);
			of[home[b]]++;
		}
	while (now > before) {
		const unsigned to = u32_least_at(of, before, now), from = u32_most_at(of, 0, before);
		unsigned b = n - 1;
		if (of[from] <= of[to] + 1)
			break;
		while (b > 0 && home[b] != from)
			b--;
		if (b == 0)
			break;
		home[b] = (uint8_t)to;
		of[from]--;
		of[to]++;
	}
}

static void plan_port(unsigned p, unsigned now)
{
	const unsigned n = published_header()->nic[p].buckets;
	uint8_t home[NIC_BUCKETS_MAX];
	for (unsigned b = 0; b < n; b++)
		home[b] = (uint8_t)buckets_home(p, b);
	elastic_spread(home, n, in_use, now);
	for (unsigned b = 1; b < n; b++)
		move_plan_bucket(p, b, home[b]);
}

/* --- how many pairs --- */

static unsigned pairs(void)
{
	return published_header()->pairs;
}

static unsigned least(void)
{
	return minimum && minimum < pairs() ? minimum : pairs();
}

static uint64_t after(uint64_t ns)
{
	return clock_tsc() + clock_ticks(&self.clock, ns);
}

/* Data cores report pressed turns while some pair is not in use. */
static void set_alarm(void)
{
	const uint64_t ticks = in_use < pairs() ? clock_ticks(&self.clock, wake_up_us * 1000ull) : NEVER;
	__atomic_store_n(&published_header()->pressed_ticks, ticks, __ATOMIC_RELAXED);
}

/* The flows go to the first `now` pairs. False: not at present. */
static bool go(unsigned now)
{
	move_plan();
	for (uint32_t ports = move_ports_that_may(); ports; ports &= ports - 1)
		plan_port((unsigned)__builtin_ctz(ports), now);
	if (move_begin() != NULL)
		return false;
	if (now == in_use)
		return true; /* at most a port that has restarted gave its flows to all */
	core_event(EVENT_cores, now, in_use);
	count(now < in_use ? CNT_cores_gathered : CNT_cores_spread);
	in_use = now;
	looks = 0;
	meter.tsc = 0;
	set_alarm();
	return true;
}

/* True if a core has been pressed since the last call. */
static bool is_pressed(void)
{
	uint64_t sum = 0;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		sum += shared_load(&core_shm_of(data_core(d))->pressed);
	const bool more = sum != pressed;
	pressed = sum;
	return more;
}

static void all_come_back(void)
{
	const uint64_t now = clock_tsc();
	const bool soon = gathered_tsc && now - gathered_tsc < clock_ticks(&self.clock, 2 * rest_ns);
	if (!go(pairs()))
		return;
	rest_ns = soon ? u64_min(2 * rest_ns, ELASTIC_REST_MAX_NS) : ELASTIC_REST_NS;
	rest_until_tsc = after(rest_ns);
}

/* The number of pairs for these loads, or in_use. */
static unsigned pairs_for(const uint32_t *busy)
{
	uint64_t sum = 0;
	uint32_t most = 0;
	for (unsigned i = 0; i < pairs(); i++) {
		sum += busy[i];
		most = u32_max(most, busy[i]);
	}
	const bool fits = in_use > least() && sum <= (in_use - 1) * (uint64_t)(ELASTIC_FITS * PERCENT);
	looks = fits ? looks + 1 : 0;
	if (in_use < pairs() && most >= ELASTIC_BUSY * PERCENT)
		return in_use + 1;
	return looks >= ELASTIC_LOOKS && clock_tsc() >= rest_until_tsc ? in_use - 1 : in_use;
}

static void look(void)
{
	uint32_t busy[NIC_PAIRS_MAX] = {0};
	next_tsc = after(ELASTIC_LOOK_NS);
	if (!load_measure(&meter, busy))
		return;
	const unsigned before = in_use, now = pairs_for(busy);
	if (go(now) && now < before)
		gathered_tsc = clock_tsc();
}

/* Ports whose flows can be gathered, one bit each. Flows that have state move by one bucket at a time (move.h). */
static uint32_t ports_to_gather(void)
{
	return core_app()->flows ? 0 : move_ports_that_may();
}

void elastic_turn(void)
{
	if (likely(in_use == pairs() && least() == pairs()) || move_busy())
		return;
	if (in_use < least() || (in_use < pairs() && is_pressed()))
		all_come_back();
	else if (self.now_tsc >= next_tsc && ports_to_gather())
		look();
}

uint64_t elastic_deadline(void)
{
	return least() < pairs() ? next_tsc : UINT64_MAX;
}

void elastic_init(void)
{
	__atomic_store_n(&published_header()->pressed_ticks, NEVER, __ATOMIC_RELAXED);
}

/* The pairs up to the last one that has a bucket; all, if flows are not gathered: one may have been
 * emptied otherwise. */
static unsigned pairs_with_buckets(void)
{
	unsigned end = 0;
	for (uint32_t ports = ports_to_gather(); ports; ports &= ports - 1) {
		const unsigned p = (unsigned)__builtin_ctz(ports);
		for (unsigned b = 0; b < published_header()->nic[p].buckets; b++)
			end = u32_max(end, buckets_home(p, b) + 1);
	}
	return end ? end : pairs();
}

void elastic_reset(void)
{
	in_use = pairs_with_buckets();
	looks = 0;
	meter.tsc = next_tsc = 0;
	rest_ns = ELASTIC_REST_NS;
	rest_until_tsc = gathered_tsc = 0;
	(void)is_pressed();
	set_alarm();
}

void core_set_elastic(unsigned at_least, unsigned us)
{
	minimum = at_least;
	wake_up_us = us;
	set_alarm();
}

unsigned core_elastic_minimum(void)
{
	return minimum;
}

unsigned core_elastic_wake_up_us(void)
{
	return wake_up_us;
}

unsigned core_pairs_in_use(void)
{
	return in_use;
}
