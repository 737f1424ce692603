/* The control core's side of moves of buckets; move.h has the rules. */
#include "runtime/move.h"

#include "drivers/nic.h"
#include "lib/mem.h"
#include "runtime/buckets.h"
#include "runtime/rules.h"
#include "runtime/shared.h"

static enum { NOTHING, HOLD, SETTLE, PASS, PUNTS, FLOWS, RELEASE, ENDING, INTERRUPTED } step;
static uint64_t from, to;   /* pairs, one bit each */
static uint64_t until_tsc;  /* SETTLE: its end; otherwise the deadline */
static uint64_t punt_head[NIC_PAIRS_MAX]; /* PUNTS; of pairs of `from` */
static uint8_t plan[NIC_PORTS_MAX][NIC_BUCKETS_MAX]; /* the pair to which a bucket goes, or STAYS */
static unsigned gains[NIC_PAIRS_MAX], losses[NIC_PAIRS_MAX]; /* buckets, in this move */
static uint16_t core_of[NIC_PAIRS_MAX];  /* index of the data core that polls the pair, when the move began */
static uint64_t begun_tsc;
static uint64_t flows_steps; /* FLOWS: of both cores, when last looked at */
static bool back;           /* the bucket goes back, because `to` has not taken all flows */
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
	back = false;
	__atomic_store_n(&published_header()->move_open, false, __ATOMIC_RELEASE);
	core_move_ports(0);
}

/* A move begins: notes which core has each pair, and counts what they gain and lose from 0. */
static void begin_count(void)
{
	const struct published *s = published_header();
	begun_tsc = clock_tsc();
	memset(gains, 0, sizeof gains);
	memset(losses, 0, sizeof losses);
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (s->pair_of[d] != NO_PAIR)
			core_of[s->pair_of[d]] = (uint16_t)d;
}

/* A bucket whose flows have state goes to a pair, on all ports. */
static void plan_flows(unsigned bucket, unsigned pair)
{
	memset(plan, STAYS, sizeof plan);
	for (unsigned p = 0; p < published_header()->ports; p++)
		plan[p][bucket] = (uint8_t)pair;
}

/* A move of a previous control program that data cores are in the middle of. */
static bool take_over(void)
{
	const struct published *s = published_header();
	const unsigned cores = self.info->data_cores;
	if (!s->move_open || !core_app()->flows || s->move_from >= cores || s->move_to >= cores ||
	    s->move_bucket >= NIC_BUCKETS_MAX || s->move_ports >= 1ull << s->ports ||
	    s->pair_of[s->move_from] == NO_PAIR || s->pair_of[s->move_to] == NO_PAIR)
		return false;
	begin_count();
	from = 1ull << s->pair_of[s->move_from];
	to = 1ull << s->pair_of[s->move_to];
	plan_flows(s->move_bucket, s->pair_of[s->move_to]);
	return true;
}

void move_reset(void)
{
	if (take_over())
		step = INTERRUPTED;
	else
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
		if (phase == PORTS_HOLD || phase == PORTS_PASS || phase == PORTS_GIVE || phase == PORTS_TAKE)
			asked |= pairs & -pairs;
	}
	return asked;
}

void move_abandon(void)
{
	if (step == NOTHING || step == ENDING || step == INTERRUPTED)
		return;
	if (step != HOLD)
		count(CNT_moved_early);
	if (core_app()->flows) {
		step = INTERRUPTED;
		return;
	}
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

/* Why flows with their state cannot move. They move by the hash of their packets, whichever port these come by. So all
 * ports spread by that hash, and in the same way. */
static const char *flows_refused(void)
{
	const struct published *s = published_header();
	unsigned buckets = 0;
	for (unsigned p = 0; p < s->ports; p++) {
		if (!ports_is_there(p))
			continue;
		if (buckets && s->nic[p].buckets != buckets)
			return "the cards' tables differ in size";
		buckets = s->nic[p].buckets;
	}
	return rules_any() ? "rules steer flows past the table" : NULL;
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
	if (published_header()->nic[port].buckets < 2)
		return "its card has no table to be set";
	return core_app()->flows ? flows_refused() : NULL;
}

uint32_t move_ports_that_may(void)
{
	uint32_t ports = 0;
	for (unsigned p = 0; p < core_port_count(); p++)
		if (!core_moves_refused(p))
			ports |= 1u << p;
	return ports;
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

static unsigned only_core_of(uint64_t pairs)
{
	return core_of[__builtin_ctzll(pairs)];
}

static void hold(void)
{
	struct published *s = published_header();
	if (core_app()->flows) {
		s->move_from = (uint8_t)only_core_of(from);
		s->move_to = (uint8_t)only_core_of(to);
		__atomic_store_n(&s->move_open, true, __ATOMIC_RELEASE);
	}
	core_move_ports(s->move_ports);
	ask(to, PORTS_HOLD);
	enter(HOLD, MOVE_LATE_NS);
}

const char *move_begin(void)
{
	struct published *s = published_header();
	if (step != NOTHING || restart_due() || recovery_is_coming())
		return "not now";
	from = to = 0;
	s->move_ports = 0;
	memset(s->moving, 0, sizeof s->moving);
	begin_count();
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
	if (core_app()->flows && ((from & (from - 1)) | (to & (to - 1))))
		return "flows with state move from one core to one other";
	hold();
	return NULL;
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
	if (move_busy())
		return "not now";
	if (core_app()->flows) {
		plan_flows(bucket, s->pair_of[d]);
		s->move_bucket = (uint16_t)bucket;
	} else {
		move_plan();
		move_plan_bucket(port, bucket, s->pair_of[d]);
	}
	return move_begin();
}

/* Gives a port's buckets the homes that the plan has for them; false: they had them. */
static bool change_homes(unsigned port)
{
	bool any = false;
	for (unsigned b = 0; b < NIC_BUCKETS_MAX; b++) {
		if (plan[port][b] == STAYS || buckets_home(port, b) == plan[port][b])
			continue;
		buckets_move(port, b, plan[port][b]);
		any = true;
	}
	return any;
}

/* `to` holds: sets the tables. */
static void set_tables(void)
{
	const struct published *s = published_header();
	bool failed = false;
	warm_restart_open();
	for (unsigned p = 0; p < core_port_count() && !failed; p++) {
		/* A port that does not run at present is to be like the others when it does. One that has restarted
		 * after an interruption has its table already. */
		if (!change_homes(p) || !(s->move_ports >> p & 1) || !ports_is_there(p))
			continue;
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

/* The pairs whose cores are asked to release what they have of the move. */
static uint64_t that_release(void)
{
	return core_app()->flows ? from | to : to;
}

static void release(bool early)
{
	if (early)
		count(CNT_moved_early);
	ask(that_release(), PORTS_RELEASE);
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

/* One of the ports has gone. The state of flows moves whatever becomes of a port. */
static bool any_is_gone(void)
{
	for (uint32_t ports = published_header()->move_ports; ports && !core_app()->flows; ports &= ports - 1)
		if (!ports_is_there((unsigned)__builtin_ctz(ports)))
			return true;
	return false;
}

/* Buckets that have gone back have not moved. */
static void moved(void)
{
	unsigned n = 0;
	for (uint64_t pairs = back ? 0 : from | to; pairs; pairs &= pairs - 1) {
		const unsigned pair = (unsigned)__builtin_ctzll(pairs);
		given[core_of[pair]] += losses[pair];
		taken[core_of[pair]] += gains[pair];
		n += gains[pair];
	}
	count_n(CNT_buckets_moved, n);
	core_event(EVENT_buckets, n, clock_us(&self.clock, clock_tsc() - begun_tsc));
	end();
}

/* --- the state of flows: of one bucket number, from one core to one other --- */

static uint64_t steps_of_both(void)
{
	return shared_load(&core_shm_of(data_core(only_core_of(from)))->flows_steps) +
	       shared_load(&core_shm_of(data_core(only_core_of(to)))->flows_steps);
}

/* What `from` had has passed, or early: it may not have. */
static void move_flows(bool early)
{
	struct published *s = published_header();
	if (!core_app()->flows) {
		release(early);
		return;
	}
	if (early)
		count(CNT_moved_early);
	s->move_number += s->move_number == UINT32_MAX ? 2 : 1; /* 0 is none */
	flows_steps = steps_of_both();
	ask(from, PORTS_GIVE);
	ask(to, PORTS_TAKE);
	enter(FLOWS, MOVE_LATE_NS);
}

/* `to` has not taken all flows: `from` gets its bucket back, in the same steps, and the flows that `to` has taken. */
static void go_back(bool late)
{
	const unsigned bucket = published_header()->move_bucket, gave = only_core_of(from), took = only_core_of(to);
	const uint64_t pairs = from, stated = shared_load(&core_shm_of(data_core(took))->flows_why);
	const char *why = late ? "it takes too long" : core_app()->flows->why(stated);
	core_log_at(LOG_WARNING,
	            "bucket %u stays with core %u: core %u does not take all its flows: %s", bucket, data_core(gave),
	         data_core(took), why);
	count(CNT_moves_undone);
	from = to;
	to = pairs;
	plan_flows(bucket, (unsigned)__builtin_ctzll(to));
	back = true;
	hold();
}

static void watch_flows(void)
{
	const uint64_t steps = steps_of_both();
	if (all_answered(from | to)) {
		const bool whole = shared_load(&core_shm_of(data_core(only_core_of(from)))->flows_stay) == 0;
		if (!whole && back)
			core_log_at(LOG_WARNING, "core %u keeps flows whose packets core %u receives",
			            data_core(only_core_of(from)),
			         data_core(only_core_of(to)));
		if (whole || back)
			release(false);
		else
			go_back(false);
	} else if (steps != flows_steps) {
		flows_steps = steps;
		enter(FLOWS, MOVE_LATE_NS);
	} else if (is_late() && back) {
		release(true);
	} else if (is_late()) {
		go_back(true);
	}
}

/* --- */

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
			if (!core_app()->flows)
				ask(from, PORTS_RELEASE);
			move_flows(true);
		}
		break;
	case PUNTS:
		if (punts_are_taken())
			move_flows(false);
		else if (is_late())
			move_flows(true);
		break;
	case FLOWS:
		watch_flows();
		break;
	case RELEASE:
		if (all_answered(that_release()))
			moved();
		else if (is_late() && !core_app()->flows)
			end();
		break;
	case INTERRUPTED:
		if (!restart_due() && !recovery_is_coming())
			hold();
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
