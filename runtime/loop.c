/*
 * The endless loop of a core. One TSC read per turn serves as clock, for timer checks and for the
 * accounting of busy cycles. An idle core either keeps polling (idle poll) or, after a while, requests
 * an interrupt from its NICs and halts in the kernel (idle sleep).
 *
 * How long a core polls before it sleeps is chosen by runtime/idle.h from recent gaps without work, or
 * configured. A peer that waits for our answer before it asks again would otherwise find us asleep each
 * time. Costs of a sleep between COST_LEAST_NS and COST_MOST_NS are believed, so a core never polls longer
 * than COST_MOST_NS before it sleeps, unless configured.
 *
 * On a core with both roles, data turns continue as long as packets arrive. A control turn runs whenever
 * nothing arrived, and otherwise CONTROL_EVERY_NS after the last one. The limit is a time, because a
 * turn of 256 packets takes 10 us on one machine and 2 ms on another.
 *
 * To sleep without losing a wake-up, a core (1) sets `parked`, (2) executes a full barrier, (3) checks
 * all rings again, (4) sleeps. A sender does the reverse: it writes, executes a barrier, checks `parked`
 * and wakes the core. At ring 3 these interrupts are held back, so one that arrives after (3) is
 * pending and ends the halt at once.
 */
#include "runtime/elastic.h"
#include "runtime/idle.h"
#include "runtime/shared.h"
#include "abi/kcall.h"
#include "lib/number.h"

#define COST_LEAST_NS 50000
#define COST_MOST_NS 400000 /* a software guest takes some 200 us to wake up */
#define SAMPLE_NS 1000000 /* the deadline of a sleep that measures the time to wake up */
#define CONTROL_EVERY_NS 500000

static struct idle idle;
static bool slept; /* in this gap */

/* Sleeps until there is work. False: the core did not sleep, because work was waiting or no interrupt
 * would announce it. */
COLD static bool sleep_until_work(struct core_shm *out)
{
	bool data = self.roles & CORE_DATA, control = self.roles & CORE_CONTROL;
	uint64_t deadline = UINT64_MAX;
	shared_store(&out->parked, 1);
	barrier_full();
	bool waiting = ring_messages_waiting();
	if (data) {
		waiting |= data_arm();
		deadline = u64_min(data_deadline(), watch_control_deadline());
	}
	if (control)
		deadline = u64_min(deadline, control_deadline());
	if (idle_wants_sample(&idle))
		deadline = u64_min(deadline, clock_tsc() + clock_ticks(&self.clock, SAMPLE_NS));
	bool sleeps = !waiting && deadline > clock_tsc();
	if (sleeps) {
		out->stats.sleeps++;
		kcall(KCALL_SLEEP, deadline == UINT64_MAX ? 0 : deadline, 0, 0);
		uint64_t woken = clock_tsc();
		slept = true;
		if (woken >= deadline)
			idle_sample(&idle, woken - deadline);
		if (control)
			control_woken();
	}
	if (data)
		data_disarm();
	shared_store(&out->parked, 0);
	barrier_full();
	return sleeps;
}

/* A turn that began at `now` found work, after none since `since`. */
COLD static void end_gap(uint64_t since, uint64_t now)
{
	idle_gap(&idle, now - since, slept);
	slept = false;
}

/* Obeys core_set_idle(); at the start of each gap. */
static void follow_spin(void)
{
	static uint32_t spin_us;
	uint32_t us = __atomic_load_n(&published_header()->idle_spin_us, __ATOMIC_RELAXED);
	if (likely(us == spin_us))
		return;
	spin_us = us;
	idle_fix(&idle, clock_ticks(&self.clock, us * 1000ull));
}

static bool may_sleep(void)
{
	const struct published *s = published_header();
	bool runs = self.roles & CORE_DATA ? s->phase[data_index()] >= PORTS_RUNNING
	                                   : core_ports_running();
	return !runs || (__atomic_load_n(&s->idle_sleep, __ATOMIC_RELAXED) && !data_awake());
}

void loop_run(void)
{
	struct core_shm *out = core_shm_of(self.id);
	bool data = self.roles & CORE_DATA, control = self.roles & CORE_CONTROL;
	uint64_t idle_since = 0, control_tsc = 0;
	uint64_t control_every = clock_ticks(&self.clock, CONTROL_EVERY_NS);
	idle_init(&idle, clock_ticks(&self.clock, COST_LEAST_NS), clock_ticks(&self.clock, COST_MOST_NS));
	self.now_tsc = clock_tsc();
	(void)core_pace(PACE_FAST);
	for (;;) {
		bool moved = data && data_turn();
		bool worked = moved;
		if (unlikely(self.now_tsc >= watch_control_tsc))
			watch_control();
		if (control && (!moved || self.now_tsc >= control_tsc)) {
			control_tsc = self.now_tsc + control_every;
			(void)core_pace(PACE_SLOW);
			worked |= control_turn();
			(void)core_pace(PACE_FAST);
		}
		ring_wake_peers();
		shared_store(&out->stats.turns, out->stats.turns + 1); /* quiescent (core_quiesce) */

		if (worked && idle_since && self.now_tsc - idle_since > idle.least)
			end_gap(idle_since, self.now_tsc);
		uint64_t now = clock_tsc();
		if (moved) {
			out->stats.busy_turns++;
			out->stats.busy_cycles += now - self.now_tsc;
			if (unlikely(now - self.now_tsc >
			             __atomic_load_n(&published_header()->pressed_ticks, __ATOMIC_RELAXED)))
				elastic_note_turn(data_turn_packets());
		}
		self.now_tsc = now;
		if (worked)
			idle_since = 0;
		else if (idle_since == 0) {
			idle_since = now;
			follow_spin();
		} else if (now - idle_since > idle.spin && may_sleep()) {
			if (!sleep_until_work(out))
				idle_since = 0; /* the attempt failed: do not retry at once */
			self.now_tsc = clock_tsc(); /* the next turn does not include the sleep */
		}
	}
}
