/*
 * Restart of the control program while data cores continue. Data cores forward by the tables that the
 * previous program has published. The new program builds its own tables beside these, as at any start
 * (memory.c), takes the devices as they were left (struct persistent), and has all data cores switch to the
 * new tables.
 *
 *     state       entered by                      leaves when
 *     TAKING      ports_init, warm_restart_possible   the tables are built, links are known, and the
 *                                                 neighbours of the old tables are in the new ones
 *                                                 → SWITCHING
 *     SWITCHING   above                           every data core uses the new tables → RUNNING
 *
 * The ports are restarted instead, as at the first start (ports.c), if
 *   - there is one CPU only,
 *   - a driver was changing devices when the program failed, or the devices do not match their seal,
 *   - the ports were not running,
 *   - there is no memory for a second set of tables,
 *   - the application cannot change its tables while it runs,
 *   - the configuration requires something that differs from what runs, such as another buffer size,
 *   - the previous program failed during a warm restart, or this warm restart would be the third in ten seconds:
 *     the cause of the failures may be in the state that is taken over.
 */
#include "runtime/shared.h"
#include "abi/kcall.h"
#include "lib/siphash.h"

#define OFTEN_NS 10000000000ull

static const struct siphash_key seal_key = {0x6879617465206e69, 0x6320646576696365};
static uint64_t begun_tsc;

/* --- the devices --- */

static uint64_t devices_seal(const struct persistent *k)
{
	uint64_t sum = siphash24(&seal_key, &k->ports, offsetof(struct persistent, nic) -
	                                                       offsetof(struct persistent, ports));
	sum ^= siphash24(&seal_key, k->nic, k->ports * sizeof k->nic[0]);
	sum ^= siphash24(&seal_key, k->home, k->ports * sizeof k->home[0]);
	return sum ^ siphash24(&seal_key, k->stats, k->ports * sizeof k->stats[0]);
}

void warm_restart_open(void)
{
	__atomic_store_n(&kept()->open, 1, __ATOMIC_RELEASE);
}

void core_test_driver(void)
{
	warm_restart_open();
}

void warm_restart_seal(unsigned ports)
{
	struct persistent *k = kept();
	k->ports = ports;
	k->area_bytes = tables_taken();
	k->needed = tables_needed();
	k->private_needed = tables_private_needed();
	k->devices_seal = devices_seal(k);
	__atomic_store_n(&k->open, 0, __ATOMIC_RELEASE);
}

static bool devices_are_whole(const struct persistent *k)
{
	return !k->open && k->ports > 0 && k->ports <= NIC_PORTS_MAX &&
	       k->devices_seal == devices_seal(k);
}

/* --- conditions --- */

/* True if the core polls, and a bucket moves from or to it. It ends the move when it is asked for anything else. */
static bool moves(const struct published *s, unsigned d)
{
	return s->phase[d] >= PORTS_HOLD && !shared_load(&core_shm_of(data_core(d))->restarted);
}

/* True if every data core polls, or is dead and has no queue pair. A core that has just restarted gets
 * its queues after the warm restart (recovery.c). */
static bool all_poll(void)
{
	const struct published *s = published_header();
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		if (self.info->status[data_core(d)].state == CORE_DEAD) {
			if (s->pair_of[d] != NO_PAIR)
				return false;
		} else if (!moves(s, d) && (s->phase[d] != PORTS_RUNNING || !ports_answered(d))) {
			return false;
		}
	}
	return true;
}

static bool too_often(const struct persistent *k)
{
	return k->taken_tsc[0] &&
	       clock_tsc() - k->taken_tsc[0] < clock_ticks(&self.clock, OFTEN_NS);
}

/* The reason why a warm restart is not possible; NULL: it is. */
static const char *obstacle(void)
{
	const struct published *s = published_header();
	const struct persistent *k = kept();
	if (k->taking)
		return "it has failed while it took over";
	if (too_often(k))
		return "it has taken over twice in the last ten seconds";
	if (!devices_are_whole(k) || s->ports != k->ports || s->app >= CORE_APP_COUNT)
		return "it has failed amid a driver, or has not left the devices as they were";
	if (!core_app()->data_tables)
		return "the application cannot change its tables";
	if (!all_poll())
		return "not all data cores polled";
	if (!tables_move(s->area, k->area_bytes, k->needed, k->private_needed))
		return "there is no memory for a second set of tables";
	return NULL;
}

bool warm_restart_possible(void)
{
	if (published_header()->lives == 1 || self.info->first_data_core == 0)
		return false;
	const char *why = obstacle();
	if (why)
		core_log_at(LOG_ERR, "control program: the ports are restarted: %s", why);
	return !why;
}

/* --- warm restart --- */

bool core_takes_over(void)
{
	return kept()->taking;
}

void warm_restart_give_up(const char *why)
{
	core_log_at(LOG_ERR, "control program: %s", why);
	kcall(KCALL_RESTART, self.id, 0, 0); /* `taking` stays set, so the next program does not try */
	__builtin_unreachable();
}

bool warm_restart_begin(void)
{
	const struct published *s = published_header();
	const struct app *app = core_app();
	const uint8_t *old = (const uint8_t *)s + PUBLISHED_HEADER + s->area;
	begun_tsc = clock_tsc();
	kept()->taking = 1;
	core_mirror(0, 0); /* ends captures and traces of the previous program */
	core_trace_ports(0);
	app->control->start();
	if (core_app() != app)
		return false;
	ports_check_link();
	return app->control->restore && app->control->restore(old, kept()->area_bytes);
}

/* True if data core d uses the new tables. One that has restarted will find them when it prepares. */
static bool has_switched(unsigned d)
{
	const unsigned c = data_core(d);
	return self.info->status[c].state == CORE_DEAD || ports_answered(d) ||
	       shared_load(&core_shm_of(c)->restarted);
}

bool warm_restart_ended(void)
{
	struct published *s = published_header();
	struct persistent *k = kept();
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (!has_switched(d))
			return false;
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		s->phase[d] = PORTS_RUNNING;
		ring_punt_skip(d); /* messages refer to next hops of the old tables */
	}
	k->taken_tsc[0] = k->taken_tsc[1];
	k->taken_tsc[1] = clock_tsc();
	k->taking = 0;
	const uint64_t us = clock_us(&self.clock, clock_tsc() - begun_tsc);
	core_event(EVENT_warm_restart, us, 0);
	core_log_at(LOG_WARNING, "control program: goes on after %u us; data cores have not stopped", (unsigned)us);
	return true;
}
