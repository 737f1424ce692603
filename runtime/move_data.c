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
	unsigned n;
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

/* --- to --- */

COLD void move_release(void)
{
	const unsigned n = held.n;
	held.on = pass.on = false;
	held.n = 0;
	for (unsigned i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && next - i < PKT_VECTOR_MAX && held.port[next] == held.port[i];)
			next++;
		data_handle(held.v + i, next - i, held.port[i]);
	}
}

COLD void move_hold(const struct published *s)
{
	move_release();
	held.ports = s->move_ports;
	memcpy(held.moving, s->moving, sizeof held.moving);
	held.on = true;
}

/* True if the packet may be of a bucket that moves. */
static bool may_move(const struct pkt *p, unsigned port)
{
	uint32_t hash;
	if (!bucket_hash(p->data, p->len, &hash))
		return true;
	hash &= (published_header()->nic[port].buckets - 1u) % NIC_BUCKETS_MAX;
	return held.moving[port][hash / 64] >> hash % 64 & 1;
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
	if (held.n + n > u32_min(MOVE_HELD_MAX, self.pool.count / 8)) {
		count(CNT_moved_early);
		move_release();
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

/* True if everything has been taken that was in the receive ring at the first call. A turn has passed since the last. */
static bool take(unsigned port)
{
	const struct nic_queue *q = data_queue(port);
	const uint64_t pkts = q->cnt->rx_pkts, place = q->cnt->rx_place;
	const bool empty = pkts == pass.port[port].seen_pkts && place == pass.port[port].seen_place;
	pass.port[port].seen_pkts = pkts;
	pass.port[port].seen_place = place;
	return !q->broken && (empty || pkts - pass.port[port].rx_pkts >= q->rx_buffers);
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
