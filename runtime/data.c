/*
 * A data core's side of the ports: it follows the phase that the control core publishes, polls the
 * queues, and sends. Every forwarded packet passes through this loop.
 *
 *     phase            action
 *     PORTS_STOPPED    releases all queues, drops injected messages
 *     PORTS_PREPARE    the same; then sets up a buffer pool and zeroes ring memory in its own arena
 *     PORTS_RUNNING    attaches its queue pair of every port (cores without one are on standby)
 *     PORTS_TABLES     switches to other tables and keeps polling
 *     PORTS_LEAVE      stops using some ports; what is sent to them is dropped
 *     PORTS_CLEAR      returns the buffers in their rings to the pool and zeroes the rings
 *     PORTS_JOIN       attaches its queue pair of these ports again, except of those left (restart.c)
 *     PORTS_HOLD, PORTS_PASS, PORTS_GIVE, PORTS_TAKE, PORTS_RELEASE
 *                      holds a bucket that moves to it; passes on what it has of one; gives away the
 *                      state of its flows, or takes it; ends these (move.h)
 *
 * The core confirms each request by copying its number (published.asked) to its shared memory. A
 * restarted program is `restarted`, and attaches to nothing, until it has prepared.
 *
 * The cost of a plain packet, in instructions of the loops it passes through in vectors of 32 (gcc 12;
 * callgrind, tests/bench/gate.py; none of them calls or divides for each packet):
 *
 *     receive   virtio_rx_burst            56  exchange 37, headers 17
 *               ixgbe_rx_burst             53  descriptor 36, refill 13
 *               mlx5_rx_burst              60  completion 44, compressed 36; refill 11
 *     check     check4_avx2                21  apps/router/check_avx2.c
 *               check4                     73  without AVX2
 *     look up   fib4_lookup_avx512          4, for any number of trie levels up to /24
 *               fib4_lookup_avx2            8
 *               lookup_scalar (fib4.c)     28 or 51, depending on those levels
 *     rewrite   run4                       34  apps/router/forward.c: all packets by one port
 *               send_one                   82  where ports alternate
 *     transmit  virtio_tx_burst            44  reclaim 15, descriptor 22
 *               ixgbe_tx_burst             34  reclaim 7, descriptor 22
 *               mlx5_tx_burst              44  reclaim 9, data segment 21
 *
 * With 300 instructions from virtio to virtio, before these loops took 170, a packet took about 85 TSC cycles
 * if a cache-line round trip between cores takes 180 ns, and 200 cycles if it takes 360 ns. Between two
 * null ports, which need not wait for a device's core, it took 44 cycles or more (docs/performance.md). The
 * difference is the transfer of cache lines between the two cores: for each packet a frame, half a
 * descriptor line and a quarter of a used-ring line. Each vector pays once for three indirect
 * calls, the TSC, the turn count and a read of four words of the control core (asked, looked_at
 * with looked_out, inject_head), which seldom change.
 */
#include "runtime/app_timer.h"
#include "runtime/shared.h"
#include "runtime/bundle.h"
#include "runtime/move.h"
#include "abi/kcall.h"
#include "lib/mem.h"
#include "lib/number.h"

#define INJECT_PER_TURN 64
#define DMA_PAGE (2u << 20) /* of KCALL_DMA_RESERVE */
#define STEER_LACKS (NIC_TSO | NIC_USO | NIC_SG) /* frames of a worker are in one piece (steer.h) */
#define STALL_NS 2000000000ull
/* The descriptors of 16 ports take 32,768. The rest lets TCP have 330 MB in flight: 100 Gbit/s for
 * 26 ms. Each start of the ports writes a number for every buffer, so more would only be slower. */
#define BUFFERS_MAX (1u << 18)
#define PAUSE_NS 20000000ull /* struct app, answers */
/* A ring of 256 full-sized frames takes three times as long at 10 Gbit/s. */
#define HELD_NAP_NS 100000
#define PAUSE_ABOVE (CORE_OUT_HOLD - PKT_VECTOR_MAX - INJECT_PER_TURN) /* a vector may not fit */
_Static_assert(INJECT_PER_TURN <= CORE_OUT_KEPT, "a turn's");
_Static_assert(CORE_OUT_ROOM < PAUSE_ABOVE, "TCP alone does not keep its acknowledgements out");

_Static_assert(sizeof(struct coredump_handle) == sizeof(struct pkt) &&
                       offsetof(struct coredump_handle, data) == offsetof(struct pkt, data) &&
                       offsetof(struct coredump_handle, buf) == offsetof(struct pkt, buf) &&
                       offsetof(struct coredump_handle, len) == offsetof(struct pkt, len) &&
                       offsetof(struct coredump_handle, port) == offsetof(struct pkt, interface) &&
                       COREDUMP_VECTOR == PKT_VECTOR_MAX,
               "vectors are received there");

struct core_out core_outs[NIC_PORTS_MAX];
uint64_t core_forwards;
struct coredump core_dump_area __attribute__((aligned(64)));
struct core_trace core_trace;

static const struct app *app; /* set when the ports are prepared */
static struct nic_queue queues[NIC_PORTS_MAX];
static unsigned attached; /* ports polled; 0 unless running */
static const uint64_t *asked; /* this core's request number in published memory */
static uint64_t epoch;        /* the last request that this core has completed */
static uint16_t burst;    /* most packets of one vector */
static struct stall {
	uint64_t since_tsc; /* time since when the ring is full and nothing was taken; 0: it is not */
	uint64_t tx_pkts;   /* packets taken by that time */
	bool reported;
} stalls[NIC_PORTS_MAX];
static bool silent[NIC_PORTS_MAX]; /* a message has said that the queue stays broken */
static uint32_t stocked; /* ports, one bit each, whose rings may hold buffers of the pool */
static uint32_t away;    /* ports, one bit each, that restart: their queues are `broken` meanwhile */
static void *memory;      /* the application's, in the arena */
static size_t memory_bytes;
static uint64_t (*timer)(void); /* the application's, while the core polls; NULL: none */
static struct app_timer timer_when; /* its next call */
static unsigned turn_packets; /* that the last turn received */
static bool any_full;     /* core_outs[].full is set for some port */
static bool awake;        /* core_stay_awake() */
static bool steers;       /* this core polls, and passes packets to others or takes them (steer.h) */
static bool is_worker;    /* since the ports last ran: it takes them */

static struct core_shm *out(void)
{
	return core_shm_of(self.id);
}

static uint16_t vector_max(void)
{
	const uint16_t usual = app->vector_max ? app->vector_max : PKT_VECTOR_MAX;
	const uint64_t wish = core_option_number("burst", usual);
	return wish >= 1 && wish <= PKT_VECTOR_MAX ? (uint16_t)wish : usual;
}

void data_init(void)
{
	size_t bytes;
	void *shared = core_shared_area(&bytes);
	memset(shared, 0, CORE_SHARED_ZEROED);
	asked = &published_header()->asked[data_index()];
	shared_store(&out()->restarted, 1);
}

/* Discards held packets. They have been counted as forwarded, like those in the device's ring, because
 * they had been passed to the port. Their buffers end with the pool. */
static void forget_held(void)
{
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++) {
		core_outs[p].n = core_outs[p].held = 0;
		core_outs[p].full = false;
	}
	any_full = false;
}

/* Behind an IOMMU the rings of each port lie in pages of their own, which no other card reaches, if that takes
 * at most an eighth of the arena. Returns whether it does. All cards reach the eighth afterwards: an earlier
 * layout may have been another. */
static bool rings_apart(const struct published *s, const struct core_memory *m)
{
	const uint64_t most = align_down(m->arena_bytes / 8, DMA_PAGE);
	uint64_t bytes = 0;
	if (self.info->iommu.units == 0)
		return false;
	for (unsigned p = 0; p < s->ports; p++)
		bytes += align_up(s->ring_bytes[p], DMA_PAGE);
	bool apart = most && kcall(KCALL_DMA_RESERVE, DMA_ALL, m->arena, most) == E_OK && bytes <= most;
	if (!apart && data_index() == 0 && s->ports > 1)
		core_log_at(LOG_WARNING,
		            "iommu: every card reaches the rings of the others: too little memory, or one map for all");
	return apart;
}

/* Places and zeroes the rings of all ports; returns the bytes of the arena that they take. */
static size_t place_rings(const struct published *s, const struct core_memory *m)
{
	const bool apart = rings_apart(s, m);
	size_t used = 0;
	for (unsigned p = 0; p < s->ports; p++) {
		const size_t bytes = apart ? align_up(s->ring_bytes[p], DMA_PAGE) : s->ring_bytes[p];
		out()->ring_mem[p] = m->arena + used;
		out()->nic[p].rx_place = 0;
		if (apart && bytes && kcall(KCALL_DMA_RESERVE, s->device[p], m->arena + used, bytes) != E_OK)
			core_log_at(LOG_ERR, "eth%u: the IOMMU does not answer: other cards may reach its rings", p);
		used += bytes;
		assert(used < m->arena_bytes);
		memset((void *)(uintptr_t)out()->ring_mem[p], 0, s->ring_bytes[p]);
	}
	return used;
}

/*
 * Lays out the arena: rings of every port, the application's memory, the stack of free buffers, then as
 * many buffers as fit. Only the rings are zeroed, because most of a large arena is never touched and
 * the first touch of a page is expensive in a virtual machine.
 */
static void prepare(const struct published *s)
{
	const struct core_memory *m = &self.info->core[self.id];
	size_t bytes = m->arena_bytes, used = place_rings(s, m);
	uint8_t *arena = (uint8_t *)(uintptr_t)m->arena;
	const struct app *a = core_app();
	const bool lends = steer_has_workers(s, data_index());
	memory = arena + used; /* rings are whole pages */
	memory_bytes = a->data_bytes ? align_up(a->data_bytes(bytes - used), CACHE_LINE) : 0;
	assert(memory_bytes < bytes - used);
	used += memory_bytes;
	/* Buffers that are lent begin on a page, and have a byte each behind the stack. */
	const bool apart = lends && bytes - used > 2 * KCALL_LEND_UNIT;
	const size_t align = apart ? KCALL_LEND_UNIT : CACHE_LINE, each = sizeof(uint32_t) + apart;
	size_t count = (bytes - used - align) / (s->buf_stride + each);
	count = count < BUFFERS_MAX ? count : BUFFERS_MAX;
	uint32_t *stack = (uint32_t *)(void *)(arena + used);
	uintptr_t base = align_up((uintptr_t)stack + count * each, align);
	bufpool_init(&self.pool, (uint8_t *)base, stack, (uint32_t)count, s->buf_stride);
	steer_prepare(s, apart ? (uint8_t *)(stack + count) : NULL);
}

uint32_t core_tx_features(void)
{
	return published_header()->features & ~(is_worker ? STEER_LACKS : 0u);
}

static void keep_for_report(unsigned port, unsigned driver)
{
	coredump_keep(COREDUMP_QUEUE, port, driver, &queues[port], sizeof queues[port]);
	coredump_keep(COREDUMP_COUNTED, port, driver, &out()->nic[port], sizeof out()->nic[port]);
	coredump_keep(COREDUMP_WAITING, port, driver, &core_outs[port].n, 2 * sizeof core_outs[port].n);
}
_Static_assert(offsetof(struct core_out, held) == offsetof(struct core_out, n) + sizeof(unsigned) &&
                       1 + 3 * NIC_PORTS_MAX <= COREDUMP_PARTS,
               "COREDUMP_WAITING, and there is room for all");

/* Attaches the queue of one port. True: its receive ring was given no more than the port's share. */
static bool attach_port(const struct published *s, unsigned pair, unsigned p)
{
	const uint32_t share = nic_rx_share(self.pool.count, s->ports);
	struct nic_queue *q = &queues[p];
	const bool left = s->left >> p & 1;
	shared_store(&out()->bound, shared_load(&out()->bound) & ~(1ull << p));
	stalls[p] = (struct stall){0};
	*q = (struct nic_queue){.ops = nic_drivers[s->nic[p].driver],
	                        .pool = &self.pool,
	                        .cnt = &out()->nic[p],
	                        .port = (uint8_t)p,
	                        .rx_buffers = share};
	q->broken = left || s->nic[p].pairs == 0; /* not started; the control core has reported it */
	silent[p] = q->broken;
	away |= (uint32_t)left << p;
	if (q->broken)
		return false;
	int e = q->ops->attach(q, &s->nic[p], pair, (void *)(uintptr_t)out()->ring_mem[p]);
	if (e != E_OK) {
		core_log_at(LOG_ERR, "core %u: eth%u: cannot attach (error %d)", self.id, p, -e);
		q->broken = silent[p] = true;
		return false;
	}
	stocked |= 1u << p;
	return q->rx_buffers == share;
}

/* A worker's ports are lanes from and to its owner, common to all ports. So none is ever broken: its packets would
 * block the others. The owner drops packets for a port that has not started, or restarts. */
COLD static void attach_worker(const struct published *s)
{
	coredump_keep(COREDUMP_POOL, 0, 0, &self.pool, sizeof self.pool);
	for (unsigned p = 0; p < s->ports; p++) {
		stalls[p] = (struct stall){0};
		silent[p] = false;
		queues[p] = (struct nic_queue){.ops = &steer_ops, .pool = &self.pool, .port = (uint8_t)p};
		queues[p].ops->attach(&queues[p], NULL, 0, NULL);
	}
	attached = s->ports;
	steers = true;
}

static void attach(const struct published *s)
{
	unsigned pair = s->pair_of[data_index()];
	bool cut = false;
	shared_store(&out()->stalled, 0);
	if (is_worker)
		attach_worker(s);
	if (pair == NO_PAIR)
		return;
	coredump_keep(COREDUMP_POOL, 0, 0, &self.pool, sizeof self.pool);
	for (unsigned p = 0; p < s->ports; p++) {
		keep_for_report(p, s->nic[p].driver);
		cut |= attach_port(s, pair, p);
	}
	if (cut)
		core_log("core %u: memory for %u packets: receive rings have room for %u each", self.id,
		         self.pool.count, nic_rx_share(self.pool.count, s->ports));
	attached = s->ports;
	steer_start(s);
	steers = steer_workers > 0;
}

static void let_go(void)
{
	attached = 0;
	stocked = away = 0;
	steers = false;
	steer_stop();
	steer_worker_stop();
	coredump_forget();
	timer = NULL;
	ring_inject_skip();
}

/* Tells the control core too (watch_port). */
static void set_stalled(unsigned port, bool stalled)
{
	uint64_t ports = shared_load(&out()->stalled);
	stalls[port].reported = stalled;
	shared_store(&out()->stalled, stalled ? ports | 1ull << port : ports & ~(1ull << port));
}

/* Drops a packet that was queued for a port; one that was received had been counted as forwarded. */
static void drop_out(const struct pkt *p, enum counter fate)
{
	bool own = p->flags & PKT_OWN;
	count_at(p->interface, own ? CNT_originated_drop_tx : fate);
	if (!own) {
		core_forwards--;
		count_interface(p->interface, CNT_forwarded, UINT64_MAX); /* minus one */
	}
	pkt_free(&self.pool, p);
}

/* --- ports that restart while the others run --- */

/* Drops all packets queued for a port that restarts, or whose link is down: they would be late when it is back. */
COLD static void flush(unsigned port)
{
	struct core_out *o = &core_outs[port];
	const enum counter fate = published_header()->left >> port & 1 ? CNT_drop_tx_down : CNT_drop_restart;
	for (unsigned i = 0; i < o->n; i++)
		drop_out(&o->v[i], fate);
	out()->nic[port].tx_flushed += o->n;
	o->n = o->held = 0;
}

/* True if the driver can return the buffers in the rings. It cannot while they hold an application's slots. */
static bool can_release(const struct published *s, unsigned p)
{
	return !(stocked >> p & 1) ||
	       (queues[p].ops->release && queues[p].ops == nic_drivers[s->nic[p].driver]);
}

COLD static void leave(const struct published *s)
{
	uint64_t bound = 0;
	for (unsigned p = 0; p < attached && !is_worker; p++) {
		if (!(s->restarting >> p & 1))
			continue;
		if (!can_release(s, p))
			bound |= 1ull << p;
		queues[p].broken = silent[p] = true;
		stalls[p] = (struct stall){0};
		set_stalled(p, false);
		away |= 1u << p;
		flush(p);
	}
	shared_store(&out()->bound, (shared_load(&out()->bound) & ~(uint64_t)s->restarting) | bound);
}

COLD static void clear(const struct published *s)
{
	for (unsigned p = 0; p < s->ports; p++) {
		if (!(s->restarting >> p & 1) || !out()->ring_mem[p])
			continue;
		if (stocked >> p & 1)
			queues[p].ops->release(&queues[p]);
		stocked &= ~(1u << p);
		memset((void *)(uintptr_t)out()->ring_mem[p], 0, s->ring_bytes[p]);
		out()->nic[p].rx_place = 0;
	}
}

COLD static void join(const struct published *s)
{
	for (unsigned p = 0; p < attached && !is_worker; p++)
		if ((s->restarting & ~s->left) >> p & 1) {
			(void)attach_port(s, s->pair_of[data_index()], p);
			away &= ~(1u << p);
		}
}

/* A step of a move, once a turn until it returns true. */
static bool move_step(enum ports_phase phase)
{
	return phase == PORTS_PASS ? move_pass() : phase == PORTS_GIVE ? move_give() :
	       phase == PORTS_TAKE ? move_take() : move_release();
}

/* Carries out a request; the confirmation is the last store. */
COLD static void follow(const struct published *s, uint64_t seen)
{
	const enum ports_phase phase = s->phase[data_index()];
	if (phase != PORTS_PASS && phase != PORTS_GIVE && phase != PORTS_TAKE && phase != PORTS_RELEASE)
		move_other();
	switch (phase) {
	case PORTS_STOPPED:
		let_go();
		break;
	case PORTS_PREPARE:
		let_go();
		forget_held();
		self.area = s->area;
		prepare(s);
		shared_store(&out()->restarted, 0);
		break;
	case PORTS_RUNNING:
		if (shared_load(&out()->restarted)) {
			core_wake(0); /* wait for a request to prepare */
			return;
		}
		app = core_app();
		burst = vector_max();
		self.area = s->area;
		is_worker = steer_is_worker(s);
		if (is_worker)
			steer_worker_pool();
		awake = false;
		move_forget();
		app->control->tables();
		app->data_start();
		attach(s);
		timer = attached ? app->data_timer : NULL;
		timer_when = (struct app_timer){.slack = clock_ticks(&self.clock, app->timer_slack_us * 1000ull)};
		break;
	case PORTS_TABLES:
		if (shared_load(&out()->restarted)) {
			core_wake(0); /* likewise */
			return;
		}
		self.area = s->area;
		core_app()->control->tables();
		core_app()->data_tables();
		break;
	case PORTS_LEAVE:
		leave(s);
		break;
	case PORTS_CLEAR:
		clear(s);
		break;
	case PORTS_JOIN:
		join(s);
		break;
	case PORTS_HOLD:
	case PORTS_PASS:
	case PORTS_GIVE:
	case PORTS_TAKE:
	case PORTS_RELEASE:
		if (shared_load(&out()->restarted)) {
			core_wake(0); /* likewise */
			return;
		}
		timer_when.at = 0; /* flows bring timers */
		if (phase == PORTS_HOLD)
			move_hold(s);
		else if (!move_step(phase))
			return;
		break;
	}
	epoch = seen;
	shared_store(&out()->epoch, seen);
	core_event(EVENT_phase, s->phase[data_index()], seen);
}

/* Reports, once, a port whose ring has been full for STALL_NS and that has taken nothing. */
COLD void data_note_stall(unsigned port)
{
	struct stall *s = &stalls[port];
	uint64_t taken = queues[port].cnt->tx_pkts;
	if (s->since_tsc == 0 || s->tx_pkts != taken) {
		if (s->reported)
			set_stalled(port, false);
		*s = (struct stall){.since_tsc = self.now_tsc, .tx_pkts = taken};
	} else if (!s->reported && self.now_tsc - s->since_tsc > clock_ticks(&self.clock, STALL_NS)) {
		core_log_at(LOG_WARNING,
		            "core %u: eth%u: the device has sent nothing for %u s: packets for it are dropped",
		         self.id, port, (unsigned)(STALL_NS / 1000000000u));
		set_stalled(port, true);
		core_event(EVENT_stalled, port, core_outs[port].n);
	}
}

void data_bind(unsigned port)
{
	shared_store(&out()->bound, shared_load(&out()->bound) | 1ull << port);
}

/* True if the port's ring has been full for `ns` and the device has taken nothing. */
static bool stands_still(unsigned port, uint64_t ns)
{
	const struct stall *s = &stalls[port];
	return s->since_tsc && s->tx_pkts == queues[port].cnt->tx_pkts &&
	       self.now_tsc - s->since_tsc > clock_ticks(&self.clock, ns);
}

static void drop_held(unsigned port, const struct pkt *p)
{
	out()->nic[port].tx_dropped++;
	drop_out(p, CNT_drop_tx_full);
}

/* The ring had no room for v[sent..n) of the port. Holds as many as are allowed and drops the newest
 * beyond that. */
COLD static void hold(unsigned port, unsigned sent)
{
	struct core_out *o = &core_outs[port];
	const unsigned part = app->answers ? 0 : CORE_OUT_KEPT;
	unsigned left = o->n - sent, kept = 0, owns = 0;
	if (left <= CORE_OUT_HOLD - part) { /* places for all, whatever their kind */
		memmove(o->v, o->v + sent, left * sizeof o->v[0]);
		o->n = left;
		return;
	}
	for (unsigned i = sent; i < o->n; i++) {
		bool own = o->v[i].flags & PKT_OWN;
		unsigned same = own ? owns : kept - owns, others = kept - same;
		unsigned theirs = others < part ? part - others : 0; /* free, reserved for the other kind */
		if (same >= part && CORE_OUT_HOLD - kept <= theirs) {
			drop_held(port, &o->v[i]);
			continue;
		}
		o->v[kept++] = o->v[i];
		owns += own;
	}
	o->n = kept;
}

static inline bool has_port(const uint32_t *ports, unsigned port)
{
	/* acquire: pairs with the release in core_mirror, core_trace_ports, core_program_ports, core_sample_ports
	 * and core_move_ports */
	return unlikely(__atomic_load_n(ports, __ATOMIC_ACQUIRE) >> port & 1);
}

/* Handles a vector of a port with programs, a capture, a trace or samples, or a bucket that moves. */
__attribute__((noinline)) static void looked_at(struct pkt *v, unsigned n, unsigned port)
{
	const struct published *s = published_header();
	if (has_port(&s->move_in, port))
		n = move_look(v, n, port);
	if (n == 0)
		return;
	if (has_port(&s->sample_in, port))
		app->control->sample(v, n, port);
	if (has_port(&s->mirror_in, port))
		app->control->mirror(v, n, port, false);
	if (has_port(&s->programs_in, port))
		n = app->control->programs(v, n, port);
	if (n == 0)
		return;
	if (has_port(&s->trace_in, port))
		app->control->trace(v, n, port);
	else
		app->rx_vector(v, n, port);
}

/* Passes the packets to the mirror hook, except those offered before, which it has seen. */
COLD static void mirror_sent(unsigned port)
{
	const struct core_out *o = &core_outs[port];
	if (o->n > o->held && !is_worker) /* the owner sends a worker's packets, and has them mirrored */
		core_app()->control->mirror(o->v + o->held, o->n - o->held, port, true);
}

/* A bundle's packets, and those of a port with a capture. */
__attribute__((noinline)) static void look_at_sent(unsigned port)
{
	const struct published *s = published_header();
	if (has_port(&s->bundled, port) && !is_worker) /* the owner spreads a worker's packets */
		bundle_spread(port);
	if (has_port(&s->mirror_out, port))
		mirror_sent(port);
}

void core_tx_flush(unsigned port)
{
	struct core_out *o = &core_outs[port];
	struct nic_queue *q = &queues[port];
	if (has_port(&published_header()->looked_out, port))
		look_at_sent(port);
	unsigned sent = q->broken ? 0 : q->ops->tx_burst(q, o->v, o->n);
	if (unlikely(sent < o->n) && unlikely(away >> port & 1)) {
		flush(port);
	} else if (unlikely(sent < o->n)) {
		hold(port, sent);
		o->held = o->n;
		if (sent == 0 && !q->broken)
			data_note_stall(port);
	} else {
		o->n = o->held = 0;
	}
}

static bool has_room(unsigned port)
{
	return core_outs[port].n <= CORE_OUT_ROOM / 2 || queues[port].broken ||
	       stands_still(port, STALL_NS);
}

COLD bool core_tx_fill(unsigned port)
{
	core_tx_flush(port);
	if (has_room(port))
		return false;
	any_full = core_outs[port].full = true;
	return true;
}

/* Clears `full` of ports that have room again; true if there are any. */
COLD static bool reopen(void)
{
	bool any = false;
	any_full = false;
	for (unsigned p = 0; p < attached; p++) {
		struct core_out *o = &core_outs[p];
		bool room = o->full && has_room(p);
		if (room && stalls[p].reported)
			set_stalled(p, false);
		o->full &= !room;
		any_full |= o->full;
		any |= room;
	}
	return any;
}

static void count_forwarded(void)
{
	struct core_stats *stats = &out()->stats;
	count_n(CNT_forwarded, core_forwards);
	core_forwards = 0;
	if (unlikely(stats->first_forward_tsc == 0))
		stats->first_forward_tsc = clock_tsc();
}

void data_handle(struct pkt *v, unsigned n, unsigned port)
{
	ring_from = port;
	if (has_port(&published_header()->looked_at, port))
		looked_at(v, n, port);
	else
		app->rx_vector(v, n, port);
	core_tx_flush_all();
}

void core_tx_flush_all(void)
{
	for (unsigned p = 0; p < attached; p++)
		if (core_outs[p].n)
			core_tx_flush(p);
	if (core_forwards)
		count_forwarded();
}

uint64_t core_tx_given(unsigned port)
{
	const bool steered = is_worker && port < attached;
	return (steered ? queues[port].cnt->tx_pkts : out()->nic[port].tx_pkts) + core_outs[port].n;
}

struct nic_queue *data_queue(unsigned port)
{
	return port < attached ? &queues[port] : NULL;
}

void *core_shared_area(size_t *bytes)
{
	*bytes = SHARED_AREA;
	return (uint8_t *)out() + CORE_SHM_AREA - SHARED_AREA;
}

const void *core_shared_area_of(unsigned core)
{
	return (const uint8_t *)core_shm_of(core) + CORE_SHM_AREA - SHARED_AREA;
}

void *core_data_memory(size_t *bytes)
{
	*bytes = memory_bytes;
	return memory;
}

bool core_arena_has(unsigned core, const void *at, uint64_t bytes)
{
	const struct core_memory *m = &self.info->core[core];
	uint64_t offset = (uint64_t)(uintptr_t)at - m->arena;
	return offset <= m->arena_bytes && bytes <= m->arena_bytes - offset;
}

/* Any call of the driver may find a queue broken. In the next turns the driver repairs both halves of
 * the queue together. If it cannot, this is reported once. */
COLD static void tend_broken(unsigned port)
{
	struct nic_queue *q = &queues[port];
	if (silent[port])
		return;
	if (q->ops->mend && q->ops->mend(q)) {
		if (q->broken)
			core_wake(0);
		return;
	}
	silent[port] = true;
	core_log_at(LOG_ERR, "core %u: eth%u: queue stopped: %s", self.id, port,
	         q->error ? q->error : "the device broke the protocol");
}

static bool poll_inject(void)
{
	bool any = false;
	for (unsigned i = 0; attached && i < INJECT_PER_TURN; i++) {
		const struct core_msg *m = ring_inject_next();
		struct pkt p;
		if (likely(!m) || (is_worker && self.pool.free == 0)) /* until its owner lends it buffers */
			break;
		any = true;
		if (unlikely(m->flags & PKT_TSO) && m->port < attached) {
			const uint32_t kind = m->kind;
			if (ring_inject_whole(m, &p))
				app->control->inject(&p, kind, 0);
			continue;
		}
		if (m->port >= attached || m->len > core_frame_max()) {
			count(CNT_originated_drop_tx);
		} else if (!pkt_alloc(&self.pool, &p)) {
			count(CNT_originated_drop_no_buffer);
		} else {
			uint32_t kind = m->kind, arg = m->arg;
			p.len = m->len;
			p.interface = m->port;
			p.flags = PKT_OWN; /* the control core counts its fate, if it has one */
			memcpy(p.data, m->frame, p.len);
			app->control->inject(&p, kind, arg);
		}
		ring_inject_done();
	}
	return any;
}

/* Calls the application's timer if it is due. */
static void app_turn(bool moved)
{
	bool room = unlikely(any_full) && reopen();
	if (app_timer_due(&timer_when, self.now_tsc, moved) || room)
		app_timer_called(&timer_when, timer());
}

/* True if the application answers and requests should wait in the port's ring (struct app). */
COLD static bool pauses(unsigned port)
{
	return app->answers && !stands_still(port, PAUSE_NS);
}

static bool is_paused(unsigned port)
{
	return unlikely(core_outs[port].n > PAUSE_ABOVE) && pauses(port);
}

bool data_has_sent(void)
{
	for (unsigned p = 0; p < attached; p++)
		if (core_outs[p].n && !queues[p].broken && !stands_still(p, PAUSE_NS))
			return false;
	return true;
}

bool data_is_paused(unsigned port)
{
	return is_paused(port);
}

bool data_turn(void)
{
	const struct published *s = published_header();
	uint64_t seen = shared_load(asked);
	unsigned moved = 0;
	bool passed = false;

	if (unlikely(seen != epoch)) {
		(void)core_pace(PACE_LONG);
		follow(s, seen);
		(void)core_pace(PACE_FAST);
	}
	if (unlikely(steers))
		passed = steer_turn() || (is_worker && steer_worker_turn());
	for (unsigned port = 0; port < attached; port++) {
		struct nic_queue *q = &queues[port];
		if (unlikely(q->broken)) {
			tend_broken(port);
			continue;
		}
		if (is_paused(port))
			continue;
		struct pkt *v = (struct pkt *)(void *)&core_dump_area.v[core_dump_area.next];
		unsigned n = q->ops->rx_burst(q, v, burst);
		if (n == 0)
			continue;
		if (unlikely(steer_workers)) {
			n = steer_out(v, n);
			passed = true;
			if (n == 0)
				continue;
		}
		coredump_note(&core_dump_area, n);
		ring_from = port;
		moved += n;
		if (has_port(&s->looked_at, port))
			looked_at(v, n, port);
		else
			app->rx_vector(v, n, port);
		core_tx_flush_all();
	}
	bool injected = poll_inject();
	if (unlikely(timer != NULL))
		app_turn(moved || injected);
	core_tx_flush_all();
	struct core_stats *stats = &out()->stats;
	stats->rx_pkts += moved;
	turn_packets = moved;
	return moved || injected || passed || slots_moved();
}

unsigned data_turn_packets(void)
{
	return turn_packets;
}

int core_pair(void)
{
	const struct published *s = published_header();
	unsigned d = data_index(), pair = s->pair_of[s->owner_of[d] == STEER_NOBODY ? d : s->owner_of[d]];
	return pair == NO_PAIR ? E_NOENT : (int)pair;
}

void core_stay_awake(bool yes)
{
	awake = yes;
}

bool data_awake(void)
{
	return awake && timer;
}

/* True if packets are held for the port and its device may still take them. */
static bool holds(unsigned port)
{
	return core_outs[port].n > 0 && !queues[port].broken;
}

/* No interrupt announces that a ring has room again, so a core with held packets checks periodically. */
uint64_t data_deadline(void)
{
	uint64_t next = timer ? timer_when.at : UINT64_MAX;
	uint64_t look = self.now_tsc + clock_ticks(&self.clock, HELD_NAP_NS);
	for (unsigned p = 0; p < attached; p++)
		if (holds(p) && look < next)
			next = look;
	return next;
}

void core_tx_reclaim(void)
{
	for (unsigned p = 0; p < attached; p++)
		if (!queues[p].broken)
			queues[p].ops->tx_burst(&queues[p], NULL, 0);
}

bool data_arm(void)
{
	bool waiting = shared_load(asked) != epoch;
	if (steers)
		waiting |= steer_waiting() || (is_worker && steer_worker_waiting());
	core_tx_reclaim(); /* no interrupt follows a transmission */
	for (unsigned p = 0; p < attached; p++) {
		struct nic_queue *q = &queues[p];
		if (q->broken) {
			waiting |= !silent[p]; /* it may be repaired */
			continue;
		}
		if (!is_paused(p)) /* packets for a paused port shall wait */
			waiting |= q->ops->rx_interrupt(q, true);
	}
	out()->stats.pool_free = self.pool.free;
	out()->stats.pool_count = self.pool.count;
	return waiting;
}

void data_disarm(void)
{
	for (unsigned p = 0; p < attached; p++)
		if (!queues[p].broken)
			queues[p].ops->rx_interrupt(&queues[p], false);
}
