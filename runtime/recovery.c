/*
 * Gives a restarted data core its queue pair back while all others keep polling: received packets are spread over
 * the others, and only its pair is stopped and started, on every port. restart.c has the steps in which it calls
 * these functions. Some cards cannot do this, or not at all times: such a port is restarted as a whole meanwhile.
 *
 * The packets of a failed core go to the others at once (recovery_lead): the kernel wakes the control core before it
 * writes the report and restores the program, which takes milliseconds.
 *
 * Cores are recovered one at a time. Another core that restarts meanwhile waits and receives no packets
 * either. A core that restarts while it is being recovered starts over.
 */
#include "runtime/shared.h"
#include "runtime/buckets.h"
#include "drivers/nic.h"
#include "lib/number.h"

#define NOT_LED UINT32_MAX

static uint64_t led; /* pairs, one bit each, whose packets go to others since their core failed */
static uint32_t led_us[NIC_PAIRS_MAX]; /* so long after the failure; or NOT_LED */
static uint64_t seen_tsc[CORES_MAX];   /* by data core: core_status.failed_tsc of the last failure seen here */

static bool has_restarted(unsigned d)
{
	return shared_load(&core_shm_of(data_core(d))->restarted);
}

bool recovery_is_due(unsigned d)
{
	return has_restarted(d) && self.info->status[data_core(d)].state != CORE_DEAD;
}

static uint32_t failed(unsigned p, int e)
{
	const struct nic *nic = core_port_nic(p);
	core_log_at(LOG_WARNING, "eth%u: %s: %s (error %d): a queue pair cannot be restarted alone", p,
	         nic->ops->name, nic->error ? nic->error : "the driver cannot", -e);
	return 1u << p;
}

/* A mask of all pairs except `left`; `served`: only pairs whose cores poll. */
static uint64_t pairs_except(uint64_t left, bool served)
{
	const struct published *s = published_header();
	uint64_t pairs = 0;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (s->pair_of[d] != NO_PAIR && !(served && has_restarted(d)))
			pairs |= 1ull << s->pair_of[d];
	return pairs & ~left & ~(served ? led : 0);
}

/* Directs a port's received packets, also those of rules, to these pairs. E_NOTSUP: as of buckets_set. */
static int spread_port(unsigned p, uint64_t pairs)
{
	if (!ports_is_there(p))
		return E_OK;
	const int e = buckets_set(p, pairs);
	const int of_rules = e == E_OK || e == E_NOTSUP ? rules_set(p, pairs) : E_OK;
	return of_rules == E_OK ? e : of_rules;
}

/* Spreads received packets over all pairs but `left`. If no other core polls, they go to the pairs of other
 * restarted cores and are lost or wait there: some cards cannot stop a pair that still receives. Returns the ports
 * whose devices failed. */
static uint32_t spread(uint64_t left)
{
	uint64_t pairs = pairs_except(left, true);
	uint32_t bad = 0;
	pairs = pairs ? pairs : pairs_except(left, false);
	for (unsigned p = 0; p < core_port_count() && pairs; p++) {
		const int e = spread_port(p, pairs);
		if (e != E_OK && e != E_NOTSUP) /* the device chooses by itself */
			bad |= failed(p, e);
	}
	return bad;
}

void recovery_reset(void)
{
	led = 0;
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const struct core_status *core = &self.info->status[data_core(d)];
		seen_tsc[d] = core->state == CORE_FAILED ? 0 : core->failed_tsc;
	}
	for (unsigned i = 0; i < NIC_PAIRS_MAX; i++)
		led_us[i] = NOT_LED;
}

/* Data core d has failed, and its packets may still be directed to it. */
static bool is_to_lead(unsigned d)
{
	return unlikely(self.info->status[data_core(d)].failed_tsc != seen_tsc[d]) &&
	       published_header()->pair_of[d] != NO_PAIR;
}

bool recovery_lead_is_due(void)
{
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (is_to_lead(d))
			return true;
	return false;
}

bool recovery_is_coming(void)
{
	return led != 0;
}

/* If no other core polls, no core can take the packets. A device that refuses is reported by recovery_begin,
 * which repeats this. */
void recovery_lead(void)
{
	uint64_t these = 0;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (is_to_lead(d)) {
			seen_tsc[d] = self.info->status[data_core(d)].failed_tsc;
			these |= 1ull << published_header()->pair_of[d];
		}
	these &= ~led;
	led |= these;
	const uint64_t pairs = pairs_except(0, true);
	bool all = pairs != 0;
	for (unsigned p = 0; p < core_port_count() && these && pairs; p++)
		all &= spread_port(p, pairs) == E_OK;
	const uint64_t now = clock_tsc();
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const uint8_t pair = published_header()->pair_of[d];
		if (!all || pair == NO_PAIR || !(these >> pair & 1))
			continue;
		led_us[pair] = (uint32_t)clock_us(&self.clock, now - u64_min(now, seen_tsc[d]));
		core_event(EVENT_led, data_core(d), led_us[pair]);
	}
}

/* Stops the pair on all ports but `bad`; returns these and those whose devices failed. */
static uint32_t pairs_stop(unsigned pair, uint32_t bad)
{
	for (unsigned p = 0; p < core_port_count(); p++) {
		struct nic *nic = ports_nic(p);
		if (!ports_is_there(p) || bad >> p & 1)
			continue;
		int e = nic->ops->pair_stop ? nic->ops->pair_stop(nic, pair) : E_NOTSUP;
		if (e != E_OK)
			bad |= failed(p, e);
	}
	return bad;
}

uint32_t recovery_begin(unsigned d)
{
	const uint8_t pair = published_header()->pair_of[d];
	core_event(EVENT_recover, data_core(d), pair);
	return pair == NO_PAIR ? 0 : pairs_stop(pair, spread(1ull << pair));
}

void recovery_book_unread(unsigned d, uint32_t ports)
{
	const uint8_t pair = published_header()->pair_of[d];
	for (unsigned p = 0; p < core_port_count() && pair != NO_PAIR; p++)
		if (ports_is_there(p) && !(ports >> p & 1))
			ports_book_unread(p, pair);
}

bool recovery_start_pairs(unsigned d, uint32_t ports)
{
	const uint8_t pair = published_header()->pair_of[d];
	for (unsigned p = 0; p < core_port_count() && pair != NO_PAIR; p++) {
		struct nic *nic = ports_nic(p);
		if (!ports_is_there(p) || ports >> p & 1)
			continue;
		int e = nic->ops->pair_start(nic, ports_config(p), pair, &published_header()->nic[p]);
		if (e != E_OK) {
			failed(p, e);
			return false;
		}
	}
	return true;
}

void recovery_end(unsigned d)
{
	const uint8_t pair = published_header()->pair_of[d];
	led &= pair == NO_PAIR ? UINT64_MAX : ~(1ull << pair);
	const uint32_t bad = spread(0);
	for (unsigned p = 0; p < core_port_count(); p++)
		if (bad >> p & 1)
			restart_port(p, "received packets cannot be spread over all queues again");
}

void recovery_report(unsigned d, unsigned us)
{
	const uint8_t pair = published_header()->pair_of[d];
	core_event(EVENT_recovered, data_core(d), us);
	if (pair == NO_PAIR || led_us[pair] == NOT_LED)
		core_log_at(LOG_WARNING, "core %u: polls again after %u us; the others have gone on", data_core(d), us);
	else
		core_log_at(LOG_WARNING,
		            "core %u: polls again after %u us; the others have gone on, and took its packets %u us "
		            "after it failed", data_core(d), us, led_us[pair]);
	if (pair != NO_PAIR)
		led_us[pair] = NOT_LED;
}
