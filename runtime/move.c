/* The control core's side of moves of buckets; move.h has the rules. */
#include "runtime/move.h"

#include "drivers/nic.h"
#include "runtime/buckets.h"
#include "runtime/shared.h"

static enum { NOTHING, HOLD, SETTLE, PASS, PUNTS, RELEASE, ENDING } step;
static unsigned from, to;   /* indices of data cores */
static uint64_t until_tsc;  /* SETTLE: its end; otherwise the deadline */
static uint64_t punt_head;  /* PUNTS */
static uint64_t taken[CORES_MAX], given[CORES_MAX]; /* buckets, by data core index */

bool move_busy(void)
{
	return step != NOTHING;
}

static void enter(int next, uint64_t ns)
{
	step = next;
	until_tsc = clock_tsc() + clock_ticks(&self.clock, ns);
}

static void end(void)
{
	step = NOTHING;
	core_move_ports(0);
}

void move_reset(void)
{
	end();
}

/* True if the core may still hold packets, or pass them. */
static bool is_asked(unsigned d)
{
	const struct published *s = published_header();
	return s->phase[d] == PORTS_HOLD || s->phase[d] == PORTS_PASS;
}

void move_abandon(void)
{
	if (step == NOTHING || step == ENDING)
		return;
	if (step != HOLD)
		count(CNT_moved_early);
	if (is_asked(from))
		ports_ask(from, PORTS_RELEASE);
	if (is_asked(to))
		ports_ask(to, PORTS_RELEASE);
	enter(ENDING, MOVE_LATE_NS); /* `to` handles what it holds before it takes packets without looking */
}

/* The data core that polls a pair. */
static unsigned core_of(unsigned pair)
{
	unsigned d = 0;
	while (published_header()->pair_of[d] != pair)
		d++;
	return d;
}

static bool any_worker(void)
{
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (published_header()->owner_of[d] != STEER_NOBODY)
			return true;
	return false;
}

const char *core_moves_refused(unsigned port)
{
	if (!core_app()->moves)
		return "the application keeps flows where they are";
	if (published_header()->pairs < 2)
		return "there is one queue pair";
	if (any_worker())
		return "data cores take packets from others";
	if (!ports_is_there(port))
		return "the port does not run";
	return published_header()->nic[port].buckets < 2 ? "its card has no table to be set" : NULL;
}

const char *core_move_bucket(unsigned port, unsigned bucket, unsigned core)
{
	struct published *s = published_header();
	const unsigned d = core - self.info->first_data_core;
	const char *why = core_moves_refused(port);
	if (why)
		return why;
	if (bucket == 0 || bucket >= s->nic[port].buckets)
		return "there is no such bucket, or it does not move";
	if (d >= self.info->data_cores || s->pair_of[d] == NO_PAIR)
		return "that core has no queue pair";
	if (buckets_home(port, bucket) == s->pair_of[d])
		return "that core has it";
	if (step != NOTHING || restart_due() || recovery_is_coming())
		return "not now";
	from = core_of(buckets_home(port, bucket));
	to = d;
	s->move_port = (uint8_t)port;
	s->move_bucket = (uint16_t)bucket;
	core_move_ports(1u << port);
	ports_ask(to, PORTS_HOLD);
	enter(HOLD, MOVE_LATE_NS);
	return NULL;
}

/* `to` holds: sets the table. */
static void set_table(void)
{
	const struct published *s = published_header();
	const unsigned port = s->move_port;
	warm_restart_open();
	const int e = buckets_move(port, s->move_bucket, s->pair_of[to]);
	warm_restart_seal(core_port_count());
	enter(SETTLE, MOVE_SETTLE_NS);
	if (e != E_OK) {
		restart_port(port, "its table of buckets cannot be set");
		move_abandon();
	}
}

static bool is_late(void)
{
	return clock_tsc() > until_tsc;
}

static void release(bool early)
{
	if (early)
		count(CNT_moved_early);
	ports_ask(to, PORTS_RELEASE);
	enter(RELEASE, MOVE_LATE_NS);
}

static void moved(void)
{
	const struct published *s = published_header();
	given[from]++;
	taken[to]++;
	count(CNT_buckets_moved);
	core_event(EVENT_bucket, s->move_bucket, data_core(to));
	end();
}

void move_turn(void)
{
	const struct published *s = published_header();
	if (!ports_is_there(s->move_port)) {
		move_abandon();
		return;
	}
	switch (step) {
	case NOTHING:
		break;
	case HOLD:
		if (ports_answered(to))
			set_table();
		else if (is_late())
			move_abandon();
		break;
	case SETTLE:
		if (is_late()) {
			ports_ask(from, PORTS_PASS);
			enter(PASS, MOVE_LATE_NS);
		}
		break;
	case PASS:
		if (ports_answered(from)) {
			punt_head = shared_load(&core_shm_of(data_core(from))->punt_head);
			step = PUNTS;
		} else if (is_late()) {
			ports_ask(from, PORTS_RELEASE);
			release(true);
		}
		break;
	case PUNTS:
		if ((int64_t)(core_shm_of(self.id)->punt_tail[from] - punt_head) >= 0)
			release(false);
		else if (is_late())
			release(true);
		break;
	case RELEASE:
		if (ports_answered(to))
			moved();
		else if (is_late())
			end();
		break;
	case ENDING:
		if (ports_answered(to) || is_late())
			end();
		break;
	}
}

bool core_move_busy(void)
{
	return move_busy();
}

unsigned core_buckets(unsigned port, unsigned core)
{
	const struct published *s = published_header();
	const unsigned d = core - self.info->first_data_core;
	unsigned n = 0;
	if (d >= self.info->data_cores || s->pair_of[d] == NO_PAIR)
		return 0;
	for (unsigned b = 0; b < s->nic[port].buckets; b++)
		n += buckets_home(port, b) == s->pair_of[d];
	return n;
}

struct core_moves core_moves_of(unsigned core)
{
	const unsigned d = core - self.info->first_data_core;
	struct core_moves m = {0};
	if (d >= self.info->data_cores)
		return m;
	m.taken = taken[d];
	m.given = given[d];
	for (unsigned p = 0; p < core_port_count(); p++)
		m.has += core_buckets(p, core);
	return m;
}
