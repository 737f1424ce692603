/* The control core's side of moves of buckets; move.h has the rules. */
#include "runtime/move.h"

#include "drivers/nic.h"
#include "lib/mem.h"
#include "runtime/buckets.h"
#include "runtime/shared.h"

static enum { NOTHING, HOLD, SETTLE, PASS, PUNTS, RELEASE, ENDING } step;
static uint64_t from, to;   /* pairs, one bit each */
static uint64_t until_tsc;  /* SETTLE: its end; otherwise the deadline */
static uint64_t punt_head[NIC_PAIRS_MAX]; /* PUNTS; of pairs of `from` */
static uint8_t plan[NIC_PORTS_MAX][NIC_BUCKETS_MAX]; /* the pair to which a bucket goes, or STAYS */
static unsigned gains[NIC_PAIRS_MAX], losses[NIC_PAIRS_MAX]; /* buckets, in this move */
static uint16_t core_of[NIC_PAIRS_MAX];  /* index of the data core that polls the pair, when the move began */
static uint64_t begun_tsc;
static uint64_t taken[CORES_MAX], given[CORES_MAX]; /* buckets, by data core index */

#define STAYS 0xff
_Static_assert(NIC_PAIRS_MAX <= STAYS && NIC_PAIRS_MAX <= 64, "pairs are bits of a word");

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

static void ask(uint64_t pairs, enum ports_phase phase)
{
	for (; pairs; pairs &= pairs - 1)
		ports_ask(core_of[__builtin_ctzll(pairs)], phase);
}

static bool all_answered(uint64_t pairs)
{
	for (; pairs; pairs &= pairs - 1)
		if (!ports_answered(core_of[__builtin_ctzll(pairs)]))
			return false;
	return true;
}

/* Of these pairs those whose cores may still hold packets, or pass them. */
static uint64_t that_are_asked(uint64_t pairs)
{
	const struct published *s = published_header();
	uint64_t asked = 0;
	for (; pairs; pairs &= pairs - 1) {
		const unsigned phase = s->phase[core_of[__builtin_ctzll(pairs)]];
		if (phase == PORTS_HOLD || phase == PORTS_PASS)
			asked |= pairs & -pairs;
	}
	return asked;
}

void move_abandon(void)
{
	if (step == NOTHING || step == ENDING)
		return;
	if (step != HOLD)
		count(CNT_moved_early);
	ask(that_are_asked(from | to), PORTS_RELEASE);
	enter(ENDING, MOVE_LATE_NS); /* `to` handles what it holds before it takes packets without looking */
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

void move_plan(void)
{
	if (step == NOTHING)
		memset(plan, STAYS, sizeof plan);
}

void move_plan_bucket(unsigned port, unsigned bucket, unsigned pair)
{
	if (step == NOTHING && buckets_home(port, bucket) != pair)
		plan[port][bucket] = (uint8_t)pair;
}

const char *move_begin(void)
{
	struct published *s = published_header();
	if (step != NOTHING || restart_due() || recovery_is_coming())
		return "not now";
	from = to = 0;
	s->move_ports = 0;
	memset(s->moving, 0, sizeof s->moving);
	memset(gains, 0, sizeof gains);
	memset(losses, 0, sizeof losses);
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (s->pair_of[d] != NO_PAIR)
			core_of[s->pair_of[d]] = (uint16_t)d;
	for (unsigned p = 0; p < core_port_count(); p++)
		for (unsigned b = 0; b < s->nic[p].buckets; b++) {
			if (plan[p][b] == STAYS)
				continue;
			losses[buckets_home(p, b)]++;
			gains[plan[p][b]]++;
			from |= 1ull << buckets_home(p, b);
			to |= 1ull << plan[p][b];
			s->move_ports |= 1u << p;
			s->moving[p][b / 64] |= 1ull << b % 64;
		}
	assert(!(from & to));
	if (!to)
		return NULL;
	begun_tsc = clock_tsc();
	core_move_ports(s->move_ports);
	ask(to, PORTS_HOLD);
	enter(HOLD, MOVE_LATE_NS);
	return NULL;
}

const char *core_move_bucket(unsigned port, unsigned bucket, unsigned core)
{
	const struct published *s = published_header();
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
	move_plan();
	move_plan_bucket(port, bucket, s->pair_of[d]);
	return move_begin();
}

/* Gives a port's buckets the homes that the plan has for them. */
static void change_homes(unsigned port)
{
	for (unsigned b = 0; b < published_header()->nic[port].buckets; b++)
		if (plan[port][b] != STAYS)
			buckets_move(port, b, plan[port][b]);
}

/* `to` holds: sets the tables. */
static void set_tables(void)
{
	const struct published *s = published_header();
	bool failed = false;
	warm_restart_open();
	for (unsigned p = 0; p < core_port_count() && !failed; p++) {
		if (!(s->move_ports >> p & 1))
			continue;
		change_homes(p);
		failed = buckets_set(p, UINT64_MAX) != E_OK;
		if (failed)
			restart_port(p, "its table of buckets cannot be set");
	}
	warm_restart_seal(core_port_count());
	enter(SETTLE, MOVE_SETTLE_NS);
	if (failed)
		move_abandon();
}

static bool is_late(void)
{
	return clock_tsc() > until_tsc;
}

static void release(bool early)
{
	if (early)
		count(CNT_moved_early);
	ask(to, PORTS_RELEASE);
	enter(RELEASE, MOVE_LATE_NS);
}

/* All of `from` have passed what they had: remembers how much of it is punted. */
static void note_punts(void)
{
	for (uint64_t pairs = from; pairs; pairs &= pairs - 1) {
		const unsigned pair = (unsigned)__builtin_ctzll(pairs);
		punt_head[pair] = shared_load(&core_shm_of(data_core(core_of[pair]))->punt_head);
	}
}

static bool punts_are_taken(void)
{
	for (uint64_t pairs = from; pairs; pairs &= pairs - 1) {
		const unsigned pair = (unsigned)__builtin_ctzll(pairs);
		if ((int64_t)(core_shm_of(self.id)->punt_tail[core_of[pair]] - punt_head[pair]) < 0)
			return false;
	}
	return true;
}

/* One of the ports has gone. */
static bool any_is_gone(void)
{
	for (uint32_t ports = published_header()->move_ports; ports; ports &= ports - 1)
		if (!ports_is_there((unsigned)__builtin_ctz(ports)))
			return true;
	return false;
}

static void moved(void)
{
	unsigned n = 0;
	for (uint64_t pairs = from | to; pairs; pairs &= pairs - 1) {
		const unsigned pair = (unsigned)__builtin_ctzll(pairs);
		given[core_of[pair]] += losses[pair];
		taken[core_of[pair]] += gains[pair];
		n += gains[pair];
	}
	count_n(CNT_buckets_moved, n);
	core_event(EVENT_buckets, n, clock_us(&self.clock, clock_tsc() - begun_tsc));
	end();
}

void move_turn(void)
{
	if (any_is_gone()) {
		move_abandon();
		return;
	}
	switch (step) {
	case NOTHING:
		break;
	case HOLD:
		if (all_answered(to))
			set_tables();
		else if (is_late())
			move_abandon();
		break;
	case SETTLE:
		if (is_late()) {
			ask(from, PORTS_PASS);
			enter(PASS, MOVE_LATE_NS);
		}
		break;
	case PASS:
		if (all_answered(from)) {
			note_punts();
			step = PUNTS;
		} else if (is_late()) {
			ask(from, PORTS_RELEASE);
			release(true);
		}
		break;
	case PUNTS:
		if (punts_are_taken())
			release(false);
		else if (is_late())
			release(true);
		break;
	case RELEASE:
		if (all_answered(to))
			moved();
		else if (is_late())
			end();
		break;
	case ENDING:
		if (all_answered(to) || is_late())
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
