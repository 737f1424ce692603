/* See balancer.h. */
#include "runtime/balancer.h"

#include "drivers/nic.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "runtime/balance.h"
#include "runtime/buckets.h"
#include "runtime/move.h"
#include "runtime/shared.h"

#define PERCENT (BALANCE_FULL / 100)

static enum { WATCHING, SAMPLING, MOVING } state;
static bool on = true;
static uint64_t next_tsc; /* WATCHING: the next look; SAMPLING: its end */
static bool uneven;       /* at the last look */
static struct load_meter meter;
static unsigned in_use;   /* pairs with flows */
static uint32_t window;   /* number of the last one */
static uint8_t rests[NIC_PORTS_MAX][NIC_BUCKETS_MAX]; /* rounds in which the bucket does not move */
static struct balance_move moves[BALANCER_MOVES];
static unsigned move_count, moved;

void core_set_balance(bool yes)
{
	on = yes;
}

bool core_balances(void)
{
	return on;
}

static void begin_watching(uint64_t ns)
{
	state = WATCHING;
	uneven = false;
	next_tsc = clock_tsc() + clock_ticks(&self.clock, ns);
	meter.tsc = 0;
}

static void close_window(void)
{
	published_header()->sampling = 0;
	if (!move_busy())
		core_move_ports(0);
}

void balancer_reset(void)
{
	if (state == SAMPLING)
		close_window();
	begin_watching(BALANCER_LOOK_NS);
}

static uint64_t busy_of(unsigned d)
{
	return __atomic_load_n(&core_shm_of(data_core(d))->stats.busy_cycles, __ATOMIC_RELAXED);
}

/* --- WATCHING --- */

bool load_measure(struct load_meter *m, uint32_t *busy)
{
	const struct published *s = published_header();
	const uint64_t now = clock_tsc(), passed = u64_max(now - m->tsc, 1);
	const bool first = m->tsc == 0;
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const uint64_t cycles = busy_of(d);
		if (s->pair_of[d] != NO_PAIR && !first)
			busy[s->pair_of[d]] =
				(uint32_t)u64_min((cycles - m->busy_cycles[d]) * BALANCE_FULL / passed, BALANCE_FULL);
		m->busy_cycles[d] = cycles;
	}
	m->tsc = now;
	return !first;
}

static uint32_t busy[NIC_PAIRS_MAX]; /* as of the last look */

static bool is_uneven(unsigned pairs)
{
	uint32_t most = 0, least = BALANCE_FULL;
	for (unsigned i = 0; i < pairs; i++) {
		most = u32_max(most, busy[i]);
		least = u32_min(least, busy[i]);
	}
	const uint64_t above = core_option_number("balance-above", BALANCER_BUSY);
	return most >= above * PERCENT && least < most / 100 * BALANCER_GAP;
}

static void open_window(uint32_t ports)
{
	struct published *s = published_header();
	window += window == UINT32_MAX ? 2 : 1; /* 0: none is open */
	__atomic_store_n(&s->sampling, window, __ATOMIC_RELEASE);
	core_move_ports(ports);
	state = SAMPLING;
	next_tsc = clock_tsc() + clock_ticks(&self.clock, BALANCER_SAMPLE_NS);
}

static void look(void)
{
	const uint32_t ports = on && core_app()->moves ? move_ports_that_may() : 0;
	next_tsc = clock_tsc() + clock_ticks(&self.clock, BALANCER_LOOK_NS);
	if (!ports) {
		meter.tsc = 0;
		return;
	}
	const bool now = load_measure(&meter, busy) && is_uneven(in_use);
	if (now && uneven && !move_busy())
		open_window(ports);
	uneven = now;
}

/* --- SAMPLING → MOVING --- */

static const struct load_counts *counts_of(unsigned d)
{
	const unsigned core = data_core(d);
	return shared_load(&core_shm_of(core)->loads_window) == window ? core_shm_loads(core) : NULL;
}

/* The packets of a bucket, or of those of its number on all these ports, if they move together. */
static uint64_t count_at_bucket(const struct load_counts *c, unsigned p, unsigned b, uint32_t ports)
{
	uint64_t n = 0;
	for (ports = core_app()->flows ? ports : 1u << p; ports; ports &= ports - 1)
		n += __atomic_load_n(&c->v[__builtin_ctz(ports)][b], __ATOMIC_RELAXED);
	return n;
}

/* Adds the buckets of a core that may move, on these ports, with their loads, to `of`; returns how many there are
 * then. */
static unsigned add_buckets(struct balance_load *of, unsigned n, unsigned d, uint32_t ports)
{
	const struct published *s = published_header();
	const struct load_counts *c = counts_of(d);
	const uint64_t total = c ? __atomic_load_n(&c->total, __ATOMIC_RELAXED) : 0;
	const uint8_t pair = s->pair_of[d];
	const uint32_t some = core_app()->flows ? ports & -ports : ports;
	for (unsigned p = 0; p < core_port_count() && total >= BALANCER_PACKETS; p++)
		for (unsigned b = 1; b < s->nic[p].buckets && some >> p & 1; b++)
			if (buckets_home(p, b) == pair && !rests[p][b])
				of[n++] = (struct balance_load){
					.load = (uint32_t)((uint64_t)busy[pair] *
				                           u64_min(count_at_bucket(c, p, b, ports), total) / total),
					.bucket = (uint16_t)b,
					.port = (uint8_t)p,
					.core = pair};
	return n;
}

static void choose(void)
{
	static struct balance_load of[NIC_PORTS_MAX * NIC_BUCKETS_MAX];
	const struct published *s = published_header();
	const uint32_t ports = move_ports_that_may();
	unsigned n = 0;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (s->pair_of[d] < in_use)
			n = add_buckets(of, n, d, ports);
	close_window();
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
		for (unsigned b = 0; b < NIC_BUCKETS_MAX; b++)
			rests[p][b] -= rests[p][b] > 0;
	moved = 0;
	move_count = balance_choose(busy, in_use, of, n, moves, BALANCER_MOVES);
	state = MOVING;
}

/* --- MOVING --- */

static unsigned core_with(unsigned pair)
{
	unsigned d = 0;
	while (published_header()->pair_of[d] != pair)
		d++;
	return data_core(d);
}

static void move_next(void)
{
	if (core_move_busy())
		return;
	if (moved == move_count) {
		begin_watching(BALANCER_REST_NS);
		return;
	}
	const struct balance_move *m = &moves[moved++];
	if (m->to >= in_use) {
		moved = move_count;
		return;
	}
	rests[m->port][m->bucket] = BALANCER_ROUNDS;
	if (core_move_bucket(m->port, m->bucket, core_with(m->to)) != NULL)
		moved = move_count; /* something has changed: measure again */
}

void balancer_turn(unsigned pairs)
{
	in_use = pairs;
	switch (state) {
	case WATCHING:
		if (self.now_tsc >= next_tsc)
			look();
		break;
	case SAMPLING:
		if (self.now_tsc >= next_tsc)
			choose();
		break;
	case MOVING:
		move_next();
		break;
	}
}

uint64_t balancer_deadline(void)
{
	return state == WATCHING ? UINT64_MAX : state == SAMPLING ? next_tsc : self.now_tsc;
}
