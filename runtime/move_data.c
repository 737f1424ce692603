/* A data core's side of moves of buckets; move.h has the rules. */
#include "runtime/move.h"

#include "drivers/nic.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "runtime/balancer.h"
#include "runtime/bucket_hash.h"
#include "runtime/shared.h"

static struct {
	bool on;
	uint32_t ports;
	uint64_t moving[NIC_PORTS_MAX][NIC_BUCKETS_MAX / 64];
	unsigned first, n; /* v[first..n) is held */
	uint8_t port[MOVE_HELD_MAX]; /* of each packet */
	struct pkt v[MOVE_HELD_MAX];
} held;

static struct {
	bool on;         /* PORTS_PASS has been seen */
	uint32_t taken;  /* ports, one bit each: all that was in the ring then */
	bool noted;      /* given[] is that of the time when all had been taken */
	struct {
		uint64_t rx_pkts, seen_pkts, seen_place; /* at PORTS_PASS; and in the turn before */
		uint64_t given;                          /* packets given to the port when all was taken */
	} port[NIC_PORTS_MAX];
} pass;

static struct {
	bool away;    /* `from`: it may not have the state of all flows any more; until PORTS_RELEASE */
	bool has;     /* `to`: it has the state of all flows, since PORTS_RELEASE */
	bool on;      /* PORTS_GIVE or PORTS_TAKE has been seen */
	struct core_flows f;
} flows;

/* By bucket: until when packets of flows that this core has given away may still come here (move.h, 8); 0: not. */
static uint64_t stray_ns[NIC_BUCKETS_MAX];

static unsigned bucket_at(uint32_t hash, unsigned port)
{
	return hash & (published_header()->nic[port].buckets - 1u) % NIC_BUCKETS_MAX;
}

/* True if the bucket of that hash in a port's table is one of these. */
static bool has_bucket(const uint64_t moving[][NIC_BUCKETS_MAX / 64], unsigned port, uint32_t hash)
{
	const unsigned b = bucket_at(hash, port);
	return moving[port][b / 64] >> b % 64 & 1;
}

/* --- to --- */

/* Handles the oldest packets that are held: at most a vector, of one port. */
static void handle_some(void)
{
	const unsigned first = held.first;
	unsigned next = first + 1;
	while (next < held.n && next - first < PKT_VECTOR_MAX && held.port[next] == held.port[first])
		next++;
	const bool on = held.on;
	held.first = next;
	held.on = false; /* data_handle looks at them again */
	data_handle(held.v + first, next - first, held.port[first]);
	held.on = on;
}

static void hold_nothing(void)
{
	held.on = false;
	held.first = held.n = 0;
}

/* Handles all that is held, and holds nothing from now on. */
COLD static void handle_held(void)
{
	held.on = false;
	while (held.first < held.n)
		handle_some();
	hold_nothing();
}

/* Makes room for n packets behind those that are held; false: there is none. */
static bool has_room_for(unsigned n)
{
	const unsigned waiting = held.n - held.first;
	if (waiting + n > u32_min(MOVE_HELD_MAX, self.pool.count / 8))
		return false;
	if (held.n + n > MOVE_HELD_MAX) {
		memmove(held.v, held.v + held.first, waiting * sizeof held.v[0]);
		memmove(held.port, held.port + held.first, waiting * sizeof held.port[0]);
		held.first = 0;
		held.n = waiting;
	}
	return true;
}

static void end_flows(void)
{
	if (flows.on)
		core_app()->flows->end();
	flows.on = false;
}

COLD void move_other(void)
{
	pass.on = false;
	end_flows();
	handle_held();
}

/* What the rings do not take at once waits here, and what comes meanwhile waits behind it. */
COLD bool move_release(void)
{
	end_flows();
	flows.away = pass.on = false;
	flows.has = true;
	stray_ns[published_header()->move_bucket % NIC_BUCKETS_MAX] = 0;
	while (held.first < held.n) {
		if (!data_has_sent())
			return false;
		handle_some();
	}
	hold_nothing();
	return true;
}

COLD void move_forget(void)
{
	pass.on = flows.on = flows.away = flows.has = false;
	memset(stray_ns, 0, sizeof stray_ns);
	handle_held();
}

COLD void move_hold(const struct published *s)
{
	held.ports = s->move_ports;
	memcpy(held.moving, s->moving, sizeof held.moving);
	held.on = true;
	flows.away = true; /* if the buckets go back, this core gives */
	flows.has = false;
}

bool core_flow_moves(uint32_t hash)
{
	const struct published *s = published_header();
	const uint32_t ports = s->move_ports;
	return ports && has_bucket(s->moving, (unsigned)__builtin_ctz(ports), hash);
}

uint32_t core_flows_number(void)
{
	return __atomic_load_n(&published_header()->move_number, __ATOMIC_ACQUIRE);
}

bool core_flow_elsewhere(uint32_t hash)
{
	const struct published *s = published_header();
	const unsigned d = data_index();
	if (__atomic_load_n(&s->move_open, __ATOMIC_ACQUIRE) && core_flow_moves(hash))
		return d == s->move_from ? flows.away : d != s->move_to || !flows.has;
	return s->move_ports && core_now_ns() < stray_ns[bucket_at(hash, (unsigned)__builtin_ctz(s->move_ports))];
}

/* True if the packet may be of a bucket that moves. */
static bool may_move(const struct pkt *p, unsigned port)
{
	uint32_t hash;
	return !bucket_hash(p->data, p->len, &hash) || has_bucket(held.moving, port, hash);
}

COLD static void sample(const struct pkt *v, unsigned n, unsigned port, uint32_t window)
{
	static unsigned vectors;
	struct load_counts *c = core_shm_loads(self.id);
	struct core_shm *o = core_shm_of(self.id);
	if (o->loads_window != window) {
		shared_store(&o->loads_window, 0);
		memset(c, 0, sizeof *c);
		shared_store(&o->loads_window, window);
	}
	if (vectors++ % BALANCER_EACH != 0 || c->total >= BALANCER_SAMPLES)
		return;
	const uint32_t mask = published_header()->nic[port].buckets - 1u;
	for (unsigned i = 0; i < n && mask < NIC_BUCKETS_MAX; i++) {
		uint32_t hash;
		if (bucket_hash(v[i].data, v[i].len, &hash))
			c->v[port][hash & mask]++;
	}
	c->total += n;
}

COLD unsigned move_look(struct pkt *v, unsigned n, unsigned port)
{
	unsigned kept = 0;
	const uint32_t window = __atomic_load_n(&published_header()->sampling, __ATOMIC_ACQUIRE);
	if (window)
		sample(v, n, port, window);
	if (!held.on || !(held.ports >> port & 1))
		return n;
	if (!has_room_for(n)) {
		count(CNT_moved_early);
		handle_held();
		return n;
	}
	for (unsigned i = 0; i < n; i++) {
		if (may_move(&v[i], port)) {
			held.port[held.n] = (uint8_t)port;
			held.v[held.n++] = v[i];
		} else {
			v[kept++] = v[i];
		}
	}
	count_n(CNT_move_held, n - kept);
	return kept;
}

/* --- from --- */

/* True if everything has been taken that was in the receive ring at the first call. A turn has passed since
 * the last. */
static bool take(unsigned port)
{
	const struct nic_queue *q = data_queue(port);
	const uint64_t pkts = q->cnt->rx_pkts, place = q->cnt->rx_place;
	const bool empty = pkts == pass.port[port].seen_pkts && place == pass.port[port].seen_place;
	pass.port[port].seen_pkts = pkts;
	pass.port[port].seen_place = place;
	if (q->broken || data_is_paused(port)) /* then it does not look into its ring */
		return false;
	return empty || pkts - pass.port[port].rx_pkts >= q->rx_buffers;
}

static bool has_sent(unsigned port)
{
	struct nic_queue *q = data_queue(port);
	if (q->broken)
		return true; /* what it had is lost, or the port restarts */
	q->ops->tx_burst(q, NULL, 0);
	const uint64_t pending = q->ops->tx_pending && !q->broken ? q->ops->tx_pending(q) : 0;
	return (int64_t)(q->cnt->tx_pkts - pending - pass.port[port].given) >= 0 ||
	       (pending == 0 && core_outs[port].n == 0);
}

COLD static void begin_pass(const struct published *s)
{
	pass.on = true;
	pass.noted = false;
	pass.taken = 0;
	for (unsigned p = 0; p < s->ports; p++) {
		const struct nic_counters *c = data_queue(p)->cnt;
		pass.port[p].rx_pkts = pass.port[p].seen_pkts = c->rx_pkts;
		pass.port[p].seen_place = c->rx_place;
	}
}

COLD bool move_pass(void)
{
	const struct published *s = published_header();
	if (!data_queue(0))
		return true; /* it polls no port */
	if (!pass.on) {
		handle_held(); /* the buckets go back */
		begin_pass(s);
		return false;
	}
	for (unsigned p = 0; p < s->ports && !pass.noted; p++)
		if (s->move_ports >> p & 1 && !(pass.taken >> p & 1) && take(p))
			pass.taken |= 1u << p;
	if (s->move_ports & ~pass.taken)
		return false;
	for (unsigned p = 0; p < s->ports && !pass.noted; p++)
		pass.port[p].given = core_tx_given(p);
	pass.noted = true;
	for (unsigned p = 0; p < s->ports; p++)
		if (!has_sent(p))
			return false;
	pass.on = false;
	return true;
}

/* --- both --- */

COLD static bool cross(bool gives)
{
	const struct published *s = published_header();
	const struct app_flows *a = core_app()->flows;
	struct core_shm *o = core_shm_of(self.id);
	if (!a)
		return true;
	if (!flows.on || flows.f.number != s->move_number) {
		end_flows();
		flows.on = true;
		flows.away = true;
		flows.f = (struct core_flows){.core = data_core(gives ? s->move_to : s->move_from),
		                              .number = s->move_number,
		                              .first = true};
	}
	if (gives)
		stray_ns[s->move_bucket % NIC_BUCKETS_MAX] = core_now_ns() + MOVE_STRAY_NS;
	const uint64_t before = flows.f.steps;
	const bool done = gives ? a->give(&flows.f) : a->take(&flows.f);
	flows.f.first = false;
	shared_store(&o->flows_stay, flows.f.stay);
	shared_store(&o->flows_why, flows.f.why);
	shared_store(&o->flows_steps, o->flows_steps + flows.f.steps - before);
	return done;
}

COLD bool move_give(void)
{
	pass.on = false;
	return cross(true);
}

COLD bool move_take(void)
{
	return cross(false);
}
