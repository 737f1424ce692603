/*
 * runtime/steer and steer_worker: an owner and two workers, each with its own shared memory, as they would be
 * on three cores. Whatever the order of their turns, and whenever a worker's program fails: each flow stays in
 * order, all buffers come back, and every received packet has one fate.
 */
#include "tests/unit/rig/host.h"

#include "runtime/steer.c"
#include "runtime/steer_worker.c"

#define OWNER 1u
#define CORES 4u
#define BUFS 6000u
#define PORTS 2u
#define FLOWS_MAX 64u
#define SHM_BYTES (2 * (size_t)CORE_SHM_AREA)

struct core_self self;
struct core_out core_outs[NIC_PORTS_MAX];

static struct boot_info info;
static struct published *published;
static uint8_t *shm[CORES];
static uint8_t *buffers, *map;
static uint32_t *stacks[CORES];
static bool paused[PORTS];

/* What a core has for itself. */
static struct context {
	struct core_self self;
	__typeof__(worker) worker;
	struct nic_queue q[PORTS];
	struct pkt held[PORTS][BUFS]; /* frames that the return lane had no room for */
	unsigned holds[PORTS];
	bool up;
	bool broken; /* its program has failed, and the kernel has not started it again */
} core[CORES];
static unsigned me;

static uint32_t next[FLOWS_MAX], expected[FLOWS_MAX];
static uint64_t got, own_made, received;
static uint64_t aimed[CORES]; /* received packets, by the core whose flow they are of */

static void become(unsigned c)
{
	core[me].self = self;
	core[me].worker = worker;
	me = c;
	self = core[c].self;
	worker = core[c].worker;
}

/* --- stand-ins --- */

void core_random(void *to, size_t bytes) { random_fill(to, bytes); }
void ring_wake_later(unsigned c) { assert_in_range(c, OWNER, CORES - 1); }
bool data_is_paused(unsigned port) { return paused[port]; }
void core_event(enum core_event_number n, uint64_t a, uint64_t b)
{
	assert_true(n == EVENT_steer && a > OWNER && b <= 1);
}

struct payload {
	uint32_t flow, number;
};
#define OWN_FLOW 0xffffffffu

/* The owner's card sends at once. */
static void sent(const struct pkt *p)
{
	struct payload at;
	memcpy(&at, p->data + p->len - sizeof at, sizeof at);
	if (at.flow == OWN_FLOW) {
		assert_true(p->flags & PKT_OWN);
	} else {
		assert_true(at.number >= expected[at.flow]); /* in order; some are lost */
		expected[at.flow] = at.number + 1;
		got++;
	}
	pkt_free(&self.pool, p);
}

void core_tx_flush(unsigned port)
{
	struct core_out *o = &core_outs[port];
	for (unsigned i = 0; i < o->n; i++)
		sent(&o->v[i]);
	o->n = 0;
}

/* --- the world --- */

static void worker_start(unsigned c)
{
	become(c);
	memset(&worker, 0, sizeof worker);
	self.pool = (struct bufpool){.stack = stacks[c], .count = BUFS};
	steer_worker_pool();
	self.pool.count = BUFS; /* the pool's twin compares numbers with it */
	for (unsigned p = 0; p < PORTS; p++) {
		core[c].q[p] = (struct nic_queue){.ops = &steer_ops, .pool = &self.pool, .port = (uint8_t)p};
		assert_int_equal(steer_ops.attach(&core[c].q[p], NULL, 0, NULL), E_OK);
		core[c].holds[p] = 0;
	}
	core[c].up = true;
}

/* Frames that the core has and that have no fate: of those taken. */
static uint64_t in_hand(void)
{
	uint64_t n = self.counters->v[CNT_steer_taken];
	for (unsigned i = 0; i < CNT_FATES; i++)
		n -= self.counters->v[i];
	return n;
}

/* What the worker has free is not free for the owner. */
static void forget_free(void)
{
	for (uint32_t i = 0; i < self.pool.free; i++)
		buf_extend(buf_base(&self.pool, self.pool.stack[i]), BUF_STRIDE_STANDARD);
	self.pool.free = 0;
}

/* The kernel has noticed that the program has failed. */
static void worker_breaks(unsigned c)
{
	info.status[c].state = CORE_FAILED;
	core[c].up = false;
	core[c].broken = true;
}

/* The program fails and starts again, without a pair of lanes yet. */
static void worker_fails(unsigned c)
{
	become(c);
	steer_worker_restart();
	forget_free();
	count_n(CNT_drop_restart, in_hand());
	info.status[c].state = CORE_RUNNING;
	core[c].up = core[c].broken = false;
}

static int setup(void **s)
{
	(void)s;
	memset(core, 0, sizeof core);
	memset(&info, 0, sizeof info);
	memset(next, 0, sizeof next);
	memset(expected, 0, sizeof expected);
	memset(core_outs, 0, sizeof core_outs);
	memset(paused, 0, sizeof paused);
	got = received = own_made = 0;
	memset(aimed, 0, sizeof aimed);
	me = 0;
	info.cores = CORES;
	info.first_data_core = 1;
	info.data_cores = CORES - 1;
	published = calloc(1, sizeof *published);
	info.published = (uint64_t)(uintptr_t)published;
	published->ports = PORTS;
	memset(published->owner_of, 0, sizeof published->owner_of);
	published->owner_of[0] = STEER_NOBODY;
	buffers = aligned_alloc(64, (size_t)BUFS * BUF_STRIDE_STANDARD);
	map = malloc(BUFS);
	for (unsigned c = 0; c < CORES; c++) {
		shm[c] = aligned_alloc(64, SHM_BYTES);
		stacks[c] = malloc(BUFS * sizeof *stacks[c]);
		assert_non_null(shm[c]);
		memset(shm[c], 0, sizeof(struct core_shm));
		info.core[c].shm = (uint64_t)(uintptr_t)shm[c];
		core[c].self = (struct core_self){.info = &info, .id = c,
		                                  .counters = &((struct core_shm *)(void *)shm[c])->counters,
		                                  .fates = calloc(1, sizeof(struct fate_counts))};
	}
	self = core[0].self;
	become(OWNER);
	bufpool_init(&self.pool, buffers, stacks[OWNER], BUFS, BUF_STRIDE_STANDARD);
	info.core[OWNER].arena = (uint64_t)(uintptr_t)buffers;
	info.core[OWNER].arena_bytes = (uint64_t)BUFS * BUF_STRIDE_STANDARD;
	steer_prepare(published, map);
	steer_start(published);
	worker_start(2);
	worker_start(3);
	become(OWNER);
	return 0;
}

static int teardown(void **s)
{
	(void)s;
	become(0);
	for (unsigned c = 0; c < CORES; c++) {
		free(core[c].self.fates);
		free(stacks[c]);
		free(shm[c]);
	}
	free(map);
	free(buffers);
	free(published);
	return 0;
}

/* --- the turns --- */

/* An IPv4 UDP datagram of that flow. */
static void fill_frame(struct pkt *p, uint32_t flow)
{
	const struct payload at = {flow, next[flow]++};
	memset(p->data, 0, 60);
	memcpy(p->data + 12, (uint8_t[]){8, 0, 0x45}, 3);
	p->data[23] = 17;
	memcpy(p->data + 34, (uint8_t[]){0x50, (uint8_t)flow}, 2);
	memcpy(p->data + 60 - sizeof at, &at, sizeof at);
	p->len = 60;
}

static void owner_receives(unsigned most_frames)
{
	struct pkt v[PKT_VECTOR_MAX];
	const uint8_t port = (uint8_t)random_below(PORTS);
	unsigned n = 0;
	become(OWNER);
	for (; n < most_frames && pkt_alloc(&self.pool, &v[n]); n++) {
		fill_frame(&v[n], random_below(FLOWS_MAX / PORTS) * PORTS + port);
		v[n].interface = port;
		aimed[OWNER + target[flow_hash(seed, v[n].data, v[n].len) >> 56]]++;
	}
	received += n;
	n = steer_out(v, n);
	for (unsigned i = 0; i < n; i++)
		core_tx(0, &v[i]);
	core_forwarded(port, n);
	count_n(CNT_forwarded, core_forwards);
	core_forwards = 0;
	core_tx_flush(0);
}

uint64_t core_forwards;

static void owner_turns(void)
{
	become(OWNER);
	steer_turn();
	core_tx_flush(0);
	core_tx_flush(1);
}

static void worker_sends(unsigned c, unsigned port)
{
	struct context *x = &core[c];
	const unsigned k = steer_ops.tx_burst(&x->q[port], x->held[port], x->holds[port]);
	x->holds[port] -= k;
	memmove(x->held[port], x->held[port] + k, x->holds[port] * sizeof x->held[port][0]);
}

/* A frame of our own with a second holder, which lets go after it is sent. */
static void worker_makes(unsigned c)
{
	struct context *x = &core[c];
	const struct payload at = {OWN_FLOW, 0};
	struct pkt p;
	if (!pkt_alloc(&self.pool, &p))
		return;
	own_made++;
	p.len = 70;
	memset(p.data, 0x11, p.len);
	memcpy(p.data + p.len - sizeof at, &at, sizeof at);
	p.flags = PKT_OWN | PKT_SHARED;
	pkt_meta(&self.pool, p.buf)->refs = 2;
	if (x->holds[1] == 0 && steer_ops.tx_burst(&x->q[1], &p, 1) == 1)
		buf_put(&self.pool, p.buf);
	else
		buf_free(&self.pool, p.buf);
}

static void worker_turns(unsigned c)
{
	struct context *x = &core[c];
	struct pkt v[PKT_VECTOR_MAX];
	if (!x->up)
		return;
	become(c);
	steer_worker_turn();
	for (unsigned port = 0; port < PORTS; port++) {
		const unsigned n = steer_ops.rx_burst(&x->q[port], v, 1 + random_below(PKT_VECTOR_MAX));
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(v[i].interface, port);
			if (random_below(8) == 0) {
				core_drop(&v[i], CNT_drop_ip4_ttl);
				continue;
			}
			count_at(v[i].interface, CNT_forwarded);
			x->held[port][x->holds[port]++] = v[i];
		}
		worker_sends(c, port);
	}
	if (random_below(4) == 0)
		worker_makes(c);
}

static uint64_t counted(enum counter n)
{
	uint64_t sum = 0;
	for (unsigned c = 0; c < CORES; c++)
		sum += ((struct core_shm *)(void *)shm[c])->counters.v[n];
	return sum;
}

static void settle(void)
{
	memset(paused, 0, sizeof paused);
	for (unsigned i = 0; i < 60; i++) {
		owner_turns();
		worker_turns(2);
		worker_turns(3);
	}
	owner_turns();
}

/* Every received packet has a fate. Then the workers stop, and the owner has all its buffers. */
static void check_books(void)
{
	uint64_t fates = 0;
	for (unsigned i = 0; i < CNT_FATES; i++)
		fates += counted((enum counter)i);
	assert_int_equal(fates, received);
	assert_int_equal(counted(CNT_steered), counted(CNT_steer_taken));
	assert_int_equal(counted(CNT_steer_refused), 0);
	assert_true(got <= counted(CNT_forwarded));
	for (unsigned c = 2; c < CORES; c++) {
		become(c);
		steer_worker_stop();
		forget_free();
		core[c].up = false;
	}
	owner_turns();
	assert_int_equal(self.pool.free, BUFS);
}

/* --- tests --- */

static void opens(void **s)
{
	(void)s;
	assert_true(steer_is_worker(published) == false); /* the owner */
	owner_receives(64); /* before any worker is there: all are the owner's */
	assert_int_equal(got, 64);
	assert_int_equal(counted(CNT_steered), 0);
	assert_false(steer_waiting());
	worker_turns(2);
	become(OWNER);
	assert_true(steer_waiting());
	settle();
	become(2);
	assert_in_range(self.pool.free, BUFS / 8 - 1, BUFS / 8); /* half of the most for one of two; one is sent */
	owner_receives(PKT_VECTOR_MAX);
	assert_int_equal(counted(CNT_steered), aimed[2] + aimed[3]);
	assert_true(counted(CNT_steered) > 0); /* how many depends on the seed of the hash: test_flow.c */
	settle();
	assert_true(counted(CNT_steered) == counted(CNT_steer_taken));
	check_books();
}

/* A worker that takes nothing: its lane fills, the rest is counted, the others receive on. */
static void full(void **s)
{
	(void)s;
	settle();
	for (unsigned i = 0; i < 80; i++) {
		owner_receives(PKT_VECTOR_MAX);
		worker_turns(3);
		owner_turns();
	}
	become(OWNER);
	assert_true(self.counters->v[CNT_drop_steer_full] + STEER_SLOTS >= aimed[2]);
	assert_true(self.counters->v[CNT_drop_steer_full] > 0);
	assert_true(((struct core_shm *)(void *)shm[2])->counters.v[CNT_steer_taken] == 0);
	assert_true(((struct core_shm *)(void *)shm[3])->counters.v[CNT_steer_taken] > 0);
	assert_true(workers[0].has <= most);
	settle();
	assert_int_equal(counted(CNT_steered) + counted(CNT_drop_steer_full), aimed[2] + aimed[3]);
	check_books();
}

/* A worker that claims to have taken more than it was given: its lane, which is full, stays full. */
static void false_tail(void **s)
{
	(void)s;
	struct core_shm *of = (struct core_shm *)(void *)shm[2];
	settle();
	become(OWNER);
	const uint64_t head = workers[0].head, seen = workers[0].tail_seen, tail = of->steer_end.tail;
	workers[0].tail_seen = of->steer_end.tail = head - STEER_SLOTS;
	assert_false(lane_has_room(0, 0));
	for (uint64_t more = 1; more <= STEER_SLOTS; more *= 4) {
		of->steer_end.tail = head + more;
		assert_false(lane_has_room(0, 0));
		assert_false(lane_has_room(0, STEER_SLOTS / 2));
	}
	workers[0].tail_seen = seen;
	of->steer_end.tail = tail;
	settle();
	check_books();
}

/* Packets of a paused port wait in the return lane. */
static void pauses(void **s)
{
	(void)s;
	settle();
	paused[0] = paused[1] = true;
	for (unsigned i = 0; i < 60; i++) {
		owner_receives(200);
		worker_turns(2);
		worker_turns(3);
		owner_turns();
	}
	const struct core_shm *of = (const struct core_shm *)(void *)shm[2];
	become(OWNER);
	assert_true(of->steer_end.back_head > out()->lane[0].back_tail);
	assert_true(counted(CNT_drop_steer_full) > 0); /* the worker has all that it may have */
	settle();
	assert_true(of->steer_end.back_head == out()->lane[0].back_tail);
	check_books();
}

/* All flows of a worker whose program has failed go by the owner in the owner's next turn, before the program is
 * started again. Its buffers stay lent until then. */
static void goes_elsewhere_at_once(void **s)
{
	(void)s;
	worker_start(2);
	worker_start(3);
	settle();
	worker_breaks(2);
	owner_turns();
	const uint64_t before = counted(CNT_steered), others = aimed[3], lost = aimed[2];
	const uint32_t has = workers[0].has;
	for (unsigned i = 0; i < 4; i++) {
		owner_receives(64);
		owner_turns();
		worker_turns(3);
	}
	assert_int_equal(aimed[2], lost);
	assert_int_equal(counted(CNT_steered) - before, aimed[3] - others);
	assert_true(has > 0 && workers[0].has == has);
	worker_fails(2);
	owner_turns();
	assert_int_equal(workers[0].has, 0);
	worker_start(2);
	settle();
	owner_receives(PKT_VECTOR_MAX);
	assert_true(aimed[2] > lost);
	settle();
	check_books();
}

static void fails_at_any_time(void **s)
{
	(void)s;
	for (unsigned round = 0; round < 9; round++) {
		seed_random("fails_at_any_time");
		for (unsigned i = 0; i < 3000; i++)
			switch (random_below(12)) {
			case 0: case 1: case 2:
				owner_receives(1 + random_below(PKT_VECTOR_MAX));
				break;
			case 3: case 4: case 5:
				owner_turns();
				break;
			case 6: case 7: case 8: case 9:
				worker_turns(2 + random_below(2));
				break;
			case 10:
				paused[random_below(PORTS)] ^= true;
				break;
			default: {
				const unsigned c = 2 + random_below(2);
				const unsigned what = random_below(8);
				if (core[c].broken || (core[c].up && what == 0))
					worker_fails(c);
				else if (core[c].up && what == 1)
					worker_breaks(c);
				else if (!core[c].up)
					worker_start(c);
			}
			}
		for (unsigned c = 2; c < CORES; c++) {
			if (core[c].broken)
				worker_fails(c);
			if (!core[c].up)
				worker_start(c);
		}
		settle();
		assert_true(got > 1000 && own_made > 10);
		check_books();
		teardown(s);
		setup(s);
	}
}

/* A worker's memory holds anything. The owner keeps its buffers and goes on. */
static void nothing_is_believed(void **s)
{
	(void)s;
	seed_random("nothing_is_believed");
	settle();
	become(2);
	forget_free(); /* it takes no further turn */
	for (unsigned i = 0; i < 2000; i++) {
		struct core_shm *of = (struct core_shm *)(void *)shm[2];
		become(2);
		random_fill(core_steer_back(2), STEER_SLOTS * sizeof(struct steer_ref));
		for (unsigned k = 0; k < STEER_SLOTS; k++) {
			struct steer_ref *r = &core_steer_back(2)[k];
			r->buf = random_below(2) ? random_below(BUFS) : r->buf;
			r->port = random_below(2) ? (uint8_t)random_below(3) : r->port;
			r->flags |= r->port < PORTS ? PKT_TSO : 0; /* no frame of these is sent */
		}
		const struct core_shm *owners = (const struct core_shm *)(void *)shm[OWNER];
		of->steer_end.back_head = random_below(4) ? owners->lane[0].back_tail + random_below(1100) : random64();
		of->steer_end.tail = random64();
		become(OWNER);
		steer_turn();
		owner_receives(32);
		worker_turns(3);
		assert_in_range(self.pool.free, 0, BUFS);
	}
	assert_true(counted(CNT_steer_refused) > 1000);
	((struct core_shm *)(void *)shm[2])->steer_end.ready = 0;
	worker_turns(3);
	owner_turns();
	become(3);
	steer_worker_stop();
	forget_free();
	owner_turns();
	assert_int_equal(self.pool.free, BUFS);
}

/* The ports stop while packets are in the lanes: the next start counts them. */
static void stops(void **s)
{
	(void)s;
	settle();
	owner_receives(PKT_VECTOR_MAX);
	become(2);
	steer_worker_stop(); /* takes none of what follows */
	forget_free();
	owner_receives(PKT_VECTOR_MAX);
	become(OWNER);
	steer_stop();
	become(3);
	steer_worker_stop();
	forget_free();
	become(OWNER);
	bufpool_init(&self.pool, buffers, stacks[OWNER], BUFS, BUF_STRIDE_STANDARD);
	steer_prepare(published, map);
	assert_int_equal(counted(CNT_steered), counted(CNT_steer_taken));
	assert_int_equal(counted(CNT_drop_restart) + counted(CNT_forwarded), received);
	steer_start(published);
	worker_start(2);
	worker_start(3);
	settle();
	owner_receives(100);
	settle();
	check_books();
}

int main(void)
{
	seed_random("test_steer");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(opens, setup, teardown),
		cmocka_unit_test_setup_teardown(full, setup, teardown),
		cmocka_unit_test_setup_teardown(false_tail, setup, teardown),
		cmocka_unit_test_setup_teardown(pauses, setup, teardown),
		cmocka_unit_test_setup_teardown(goes_elsewhere_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(fails_at_any_time, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_believed, setup, teardown),
		cmocka_unit_test_setup_teardown(stops, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
