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
	uint8_t port;
	uint32_t bucket, mask; /* of the hash */
	unsigned n;
	struct pkt v[MOVE_HELD_MAX];
} held;

static struct {
	bool on;      /* PORTS_PASS has been seen */
	bool taken;   /* all that was in the ring then */
	uint8_t port;
	uint64_t rx_pkts, seen_pkts, seen_place; /* then; and in the turn before */
	uint64_t given[NIC_PORTS_MAX];           /* packets given to each port when all was taken */
} pass;

/* --- to --- */

COLD void move_release(void)
{
	const unsigned n = held.n;
	held.on = pass.on = false;
	held.n = 0;
	for (unsigned i = 0; i < n; i += PKT_VECTOR_MAX)
		data_handle(held.v + i, u32_min(n - i, PKT_VECTOR_MAX), held.port);
}

COLD void move_hold(const struct published *s)
{
	move_release();
	held.port = s->move_port;
	held.bucket = s->move_bucket;
	held.mask = s->nic[held.port].buckets - 1u;
	held.on = true;
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
	if (!held.on || port != held.port)
		return n;
	if (held.n + n > u32_min(MOVE_HELD_MAX, self.pool.count / 8)) {
		count(CNT_moved_early);
		move_release();
		return n;
	}
	for (unsigned i = 0; i < n; i++) {
		uint32_t hash;
		if (bucket_hash(v[i].data, v[i].len, &hash) && (hash & held.mask) != held.bucket)
			v[kept++] = v[i];
		else
			held.v[held.n++] = v[i];
	}
	count_n(CNT_move_held, n - kept);
	return kept;
}

/* --- from --- */

/* True if everything has been taken that was in the receive ring at the first call. A turn has passed since the last. */
static bool take(const struct nic_queue *q)
{
	const uint64_t pkts = q->cnt->rx_pkts, place = q->cnt->rx_place;
	const bool empty = pkts == pass.seen_pkts && place == pass.seen_place;
	pass.seen_pkts = pkts;
	pass.seen_place = place;
	return empty || pkts - pass.rx_pkts >= q->rx_buffers;
}

static bool has_sent(unsigned port)
{
	struct nic_queue *q = data_queue(port);
	if (q->broken)
		return true; /* what it had is lost, or the port restarts */
	q->ops->tx_burst(q, NULL, 0);
	const uint64_t pending = q->ops->tx_pending && !q->broken ? q->ops->tx_pending(q) : 0;
	return (int64_t)(q->cnt->tx_pkts - pending - pass.given[port]) >= 0 ||
	       (pending == 0 && core_outs[port].n == 0);
}

COLD bool move_pass(void)
{
	const struct published *s = published_header();
	const struct nic_queue *q = data_queue(s->move_port);
	if (!q)
		return true; /* it polls no port */
	if (!pass.on) {
		pass.on = true;
		pass.taken = false;
		pass.rx_pkts = pass.seen_pkts = q->cnt->rx_pkts;
		pass.seen_place = q->cnt->rx_place;
		return false;
	}
	if (!pass.taken) {
		if (q->broken || !take(q))
			return false;
		pass.taken = true;
		for (unsigned p = 0; p < s->ports; p++)
			pass.given[p] = core_tx_given(p);
	}
	for (unsigned p = 0; p < s->ports; p++)
		if (!has_sent(p))
			return false;
	pass.on = false;
	return true;
}
