/*
 * runtime/move_data: a data core that holds a bucket handles its packets in order, whichever are held, and loses none; one
 * that passes a bucket on answers only when all it had has been sent.
 */
#include "tests/unit/rig/host.h"

#include "runtime/move_data.c"

#define PORTS 2u
#define PORT 1u
#define BUCKETS 8u
#define BUFS 65536u
#define FRAME 60u
#define FLOWS 40u

struct core_self self;
struct core_out core_outs[NIC_PORTS_MAX];

static struct boot_info info;
static struct published *published;
static uint8_t *shm;
static uint32_t stack[1];
static struct nic_queue queue[PORTS];
static struct nic_counters cnt[PORTS];
static unsigned pending[PORTS], reclaims;

static uint8_t *frames; /* by buffer */
static uint32_t made[FLOWS], came[FLOWS]; /* numbers of packets, by flow */
static unsigned handled;

/* --- stand-ins --- */

struct nic_queue *data_queue(unsigned port) { return &queue[port]; }
static bool paused;
bool data_is_paused(unsigned port) { return port == PORT && paused; }
static struct app app;
const struct app *core_app(void) { return &app; }
static uint64_t now_ns = 1;
uint64_t core_now_ns(void) { return now_ns; }
uint64_t core_tx_given(unsigned port) { return cnt[port].tx_pkts + core_outs[port].n; }

static unsigned room; /* vectors that the rings take before they are full */
bool data_has_sent(void) { return room > 0; }

/* The flow and the number of a packet are in its payload. */
static void handle(struct pkt *v, unsigned n, unsigned port)
{
	assert_in_range(n, 1, PKT_VECTOR_MAX);
	for (unsigned i = 0; i < n; i++) {
		uint32_t number;
		const unsigned flow = v[i].data[44];
		memcpy(&number, v[i].data + 48, sizeof number);
		assert_int_equal(number, came[flow]++);
		assert_int_equal(port, v[i].interface);
		handled++;
	}
}

/* Looks at the packets first, because the port's bit is set. */
void data_handle(struct pkt *v, unsigned n, unsigned port)
{
	assert_int_equal(move_look(v, n, port), n);
	room -= room > 0;
	handle(v, n, port);
}

static unsigned tx_burst(struct nic_queue *q, const struct pkt *v, unsigned n)
{
	assert_true(q && !v && n == 0);
	reclaims++;
	return 0;
}

static unsigned tx_pending(const struct nic_queue *q) { return pending[q - queue]; }

static const struct nic_ops ops = {.tx_burst = tx_burst, .tx_pending = tx_pending};

static int begin(void **s)
{
	(void)s;
	if (!published) {
		published = aligned_alloc(4096, PUBLISHED_HEADER);
		shm = aligned_alloc(4096, CORE_SHM_AREA);
		frames = malloc((size_t)BUFS * FRAME);
	}
	memset(published, 0, PUBLISHED_HEADER);
	memset(shm, 0, CORE_SHM_AREA);
	info.published = (uintptr_t)published;
	info.core[1].shm = (uintptr_t)shm;
	self = (struct core_self){.id = 1, .info = &info};
	self.counters = &core_shm_of(1)->counters;
	self.pool.stack = stack;
	self.pool.count = 8 * 1000;
	published->ports = PORTS;
	published->nic[PORT].buckets = BUCKETS;
	memset(&held, 0, sizeof held);
	memset(&pass, 0, sizeof pass);
	memset(&flows, 0, sizeof flows);
	app = (struct app){0};
	paused = false;
	room = UINT32_MAX;
	memset(made, 0, sizeof made);
	memset(came, 0, sizeof came);
	memset(cnt, 0, sizeof cnt);
	memset(pending, 0, sizeof pending);
	memset(core_outs, 0, sizeof core_outs);
	handled = reclaims = 0;
	for (unsigned p = 0; p < PORTS; p++)
		queue[p] = (struct nic_queue){.ops = &ops, .cnt = &cnt[p], .rx_buffers = 100};
	return 0;
}

/* The next packet of a flow: UDP over IPv4; every fourth flow is of fragments, whose hash cards do not agree on. */
static struct pkt packet(unsigned flow)
{
	static uint32_t buf;
	buf = (buf + 1) % BUFS;
	uint8_t *f = frames + (size_t)buf * FRAME;
	memset(f, 0, FRAME);
	f[12] = 8;
	f[14] = 0x45;
	f[20] = flow % 4 == 0 ? 0x20 : 0;
	f[23] = 17;
	f[29] = (uint8_t)flow;
	f[35] = (uint8_t)(7 * flow);
	f[44] = (uint8_t)flow;
	memcpy(f + 48, &made[flow], 4);
	made[flow]++;
	return (struct pkt){.data = f, .buf = buf, .len = FRAME, .interface = PORT};
}

static unsigned bucket_of(const struct pkt *p)
{
	uint32_t hash;
	return bucket_hash(p->data, p->len, &hash) ? hash % BUCKETS : BUCKETS;
}

static void hold_bucket(unsigned bucket)
{
	published->move_ports = 1u << PORT;
	memset(published->moving, 0, sizeof published->moving);
	published->moving[PORT][0] = 1ull << bucket;
	move_other();
	move_hold(published);
}

/* A vector arrives: what is kept is handled at once, and none of it is of the bucket, or may be. */
static unsigned arrives(unsigned n, unsigned bucket)
{
	struct pkt v[PKT_VECTOR_MAX];
	for (unsigned i = 0; i < n; i++)
		v[i] = packet(random_below(FLOWS));
	const bool holds = held.on;
	const unsigned kept = move_look(v, n, PORT);
	for (unsigned i = 0; i < kept && holds && held.on; i++)
		assert_true(bucket_of(&v[i]) != bucket && bucket_of(&v[i]) < BUCKETS);
	if (kept)
		handle(v, kept, PORT);
	return kept;
}

static uint64_t sum_of(const uint32_t *of)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < FLOWS; i++)
		sum += of[i];
	return sum;
}

static void holds_in_order(void **s)
{
	(void)s;
	seed_random("holds_in_order");
	for (unsigned run = 0; run < 200; run++) {
		const unsigned bucket = 1 + random_below(BUCKETS - 1);
		begin(s);
		hold_bucket(bucket);
		unsigned kept = 0, all = 0;
		for (unsigned i = random_below(12); i; i--) {
			const unsigned n = 1 + random_below(80);
			kept += arrives(n, bucket);
			all += n;
		}
		assert_int_equal(handled, kept);
		assert_int_equal(self.counters->v[CNT_move_held], all - kept);
		move_release();
		assert_int_equal(handled, all);
		arrives(50, bucket);
		assert_int_equal(sum_of(came), sum_of(made));
		assert_int_equal(self.counters->v[CNT_moved_early], 0);
	}
}

/* Beyond the bound all is released, before the vector that does not fit; an eighth of the buffers is the bound, or
 * MOVE_HELD_MAX. */
static void bound(void **s)
{
	for (unsigned most = 100; most <= 4000; most += 1300) {
		begin(s);
		self.pool.count = 8 * most;
		hold_bucket(3);
		unsigned n = 0;
		while (!self.counters->v[CNT_moved_early]) {
			assert_true(held.n <= most && held.n <= MOVE_HELD_MAX);
			arrives(50, 3);
			assert_true(++n < 10000);
		}
		assert_int_equal(sum_of(came), sum_of(made));
		assert_false(held.on);
		arrives(50, 3);
		assert_int_equal(sum_of(came), sum_of(made));
	}
}

/* The rings take less than is held: it goes out as they take it, and what comes meanwhile waits behind it. */
static void releases_as_rings_take_it(void **s)
{
	seed_random("releases_as_rings_take_it");
	for (unsigned run = 0; run < 100; run++) {
		begin(s);
		self.pool.count = 8 * MOVE_HELD_MAX;
		hold_bucket(3);
		for (unsigned i = random_below(30); i; i--)
			arrives(1 + random_below(250), 3);
		room = 0;
		assert_true(move_release() == (held.first == held.n));
		for (unsigned turns = 0; held.on; turns++) {
			const unsigned before = held.n - held.first;
			assert_true(turns < 1000);
			room = random_below(3);
			const bool none = room == 0 && before;
			const bool ended = move_release();
			assert_true(ended == !held.on && (!none || held.n - held.first == before));
			room = UINT32_MAX;
			if (!ended && turns < 100)
				arrives(1 + random_below(60), 3);
		}
		assert_int_equal(sum_of(came), sum_of(made));
		assert_int_equal(self.counters->v[CNT_moved_early], 0);
	}
}

/* Another port's packets, and another request to hold. */
static void others(void **s)
{
	(void)s;
	struct pkt p = packet(1);
	hold_bucket(bucket_of(&p));
	assert_int_equal(move_look(&p, 1, 0), 1);
	assert_int_equal(move_look(&p, 1, PORT), 0);
	hold_bucket(2);
	assert_int_equal(handled, 1); /* by the second request */
	move_release();
	move_release();
	assert_int_equal(handled, 1);
}

/* Buckets of two ports: each packet is handled as one of its own port, in the order of arrival. */
static void two_ports(void **s)
{
	seed_random("two_ports");
	for (unsigned run = 0; run < 100; run++) {
		begin(s);
		published->nic[0].buckets = 2 * BUCKETS;
		published->move_ports = 3;
		published->moving[0][0] = random_below(1u << 2 * BUCKETS);
		published->moving[PORT][0] = random_below(1u << BUCKETS);
		move_hold(published);
		for (unsigned i = 0; i < 300; i++) {
			struct pkt p = packet(random_below(FLOWS));
			uint32_t hash;
			p.interface = p.data[44] % 2 ? PORT : 0; /* a flow arrives by one port */
			const bool known = bucket_hash(p.data, p.len, &hash);
			const uint64_t moves = published->moving[p.interface][0] >> hash % published->nic[p.interface].buckets;
			const unsigned kept = move_look(&p, 1, p.interface);
			assert_int_equal(kept, known && !(moves & 1));
			if (kept)
				handle(&p, 1, p.interface);
		}
		move_release();
		assert_int_equal(handled, 300);
		assert_int_equal(sum_of(came), 300);
	}
}

/* --- pass --- */

/* Its ring was empty in a turn; then what it has queued and given is awaited. */
static void passes_when_sent(void **s)
{
	(void)s;
	published->move_ports = 1u << PORT;
	cnt[PORT].rx_pkts = 10;
	assert_false(move_pass());
	cnt[PORT].rx_pkts = 11; /* received since */
	assert_false(move_pass());
	cnt[0].tx_pkts = 50;
	pending[0] = 20;
	core_outs[0].n = 5;
	assert_false(move_pass()); /* empty now; 55 are to be sent */
	assert_int_equal(pass.taken, 1u << PORT);
	core_outs[0].n = 0;
	cnt[0].tx_pkts = 70; /* 50 of them sent */
	pending[0] = 20;
	assert_false(move_pass());
	cnt[0].tx_pkts = 80;
	pending[0] = 26;
	assert_false(move_pass()); /* 54 */
	pending[0] = 25;
	assert_true(move_pass());
	assert_true(reclaims >= 4);
	assert_false(pass.on);
}

/* A core that always receives: when as many packets have come as the ring holds. Frames that it drops move its place. */
static void passes_under_load(void **s)
{
	(void)s;
	published->move_ports = 1u << PORT;
	for (unsigned i = 0; i < 99; i++) {
		assert_false(move_pass());
		cnt[PORT].rx_place++;
		assert_int_equal(pass.taken, 0);
	}
	for (unsigned i = 0; i < 100; i++) {
		assert_false(move_pass());
		cnt[PORT].rx_pkts++;
	}
	assert_true(move_pass()); /* nothing is pending */
}

/* A port that holds nothing is not awaited, whatever has become of its packets; a queue that is being mended is. */
static void passes_later(void **s)
{
	(void)s;
	published->move_ports = 1u << PORT;
	assert_false(move_pass());
	queue[PORT].broken = true;
	assert_false(move_pass());
	queue[PORT].broken = false;
	core_outs[0].n = 7;
	assert_false(move_pass());
	core_outs[0].n = 0; /* dropped */
	queue[0].broken = true;
	assert_true(move_pass());
	move_pass();
	assert_true(pass.on);
	move_release();
	assert_false(pass.on);
}

/* Buckets of both ports move: the ring of each is awaited. */
static void passes_of_two_ports(void **s)
{
	(void)s;
	published->move_ports = 3;
	assert_false(move_pass());
	cnt[0].rx_pkts++;
	assert_false(move_pass());
	assert_int_equal(pass.taken, 1u << PORT);
	cnt[PORT].rx_pkts++; /* of another bucket, or later */
	assert_true(move_pass());
}

/* A port whose application has no room for answers is not polled: that its counters stand still says nothing. */
static void passes_what_is_paused(void **s)
{
	(void)s;
	published->move_ports = 1u << PORT;
	paused = true;
	for (unsigned i = 0; i < 10; i++)
		assert_false(move_pass());
	paused = false;
	cnt[PORT].rx_pkts = 5;
	assert_false(move_pass());
	assert_true(move_pass());
}

/* --- the state of flows --- */

static struct {
	unsigned gives, takes, ends, left; /* calls; turns until it is done */
	bool first;
	struct core_flows f;
} hook;

static bool hook_give(struct core_flows *f)
{
	hook.gives++;
	hook.first = f->first;
	hook.f = *f;
	f->steps += 10;
	f->stay += hook.left == 1;
	return hook.left-- == 0;
}

static bool hook_take(struct core_flows *f)
{
	hook.takes++;
	hook.f = *f;
	f->steps++;
	return hook.left-- == 0;
}

static void hook_end(void) { hook.ends++; }

static const struct app_flows hooks = {.give = hook_give, .take = hook_take, .end = hook_end};

static void flows_cross(void **s)
{
	(void)s;
	struct pkt p = packet(1);
	uint32_t hash;
	assert_true(bucket_hash(p.data, p.len, &hash));
	hook = (typeof(hook)){.left = 2};
	app.flows = &hooks;
	published->move_number = 7;
	published->move_bucket = (uint16_t)bucket_at(hash, PORT);
	published->move_open = true;
	published->move_from = 1;
	published->move_to = 2;
	published->move_ports = 1u << PORT;
	memset(published->moving, 0, sizeof published->moving);
	published->moving[PORT][0] = 1ull << bucket_of(&p);
	assert_true(core_flow_moves(hash) && !core_flow_elsewhere(hash)); /* it has them still */
	assert_false(move_give());
	assert_true(hook.first && hook.f.number == 7 && hook.f.core == data_core(2));
	assert_true(core_flow_elsewhere(hash) && !core_flow_elsewhere(hash + 1));
	assert_int_equal(core_shm_of(1)->flows_stay, 0);
	assert_false(move_give());
	assert_false(hook.first);
	assert_true(move_give());
	assert_int_equal(core_shm_of(1)->flows_steps, 30);
	assert_int_equal(core_shm_of(1)->flows_stay, 1);
	assert_int_equal(hook.ends, 0);
	/* a packet of the bucket may come late, for some seconds */
	published->move_open = false;
	now_ns += MOVE_STRAY_NS - 1;
	assert_true(core_flow_elsewhere(hash) && !core_flow_elsewhere(hash + 1));
	now_ns++;
	assert_false(core_flow_elsewhere(hash));
	now_ns--;
	published->move_open = true;
	/* the bucket comes back: the first time ends, and another begins */
	published->move_number = 8;
	published->move_from = 2;
	published->move_to = 1;
	move_other();
	assert_int_equal(hook.ends, 1);
	move_hold(published);
	assert_true(core_flow_elsewhere(hash));
	assert_int_equal(move_look(&p, 1, PORT), 0);
	hook.left = 0;
	assert_true(move_take());
	assert_int_equal(core_shm_of(1)->flows_steps, 31);
	assert_true(core_flow_elsewhere(hash) && handled == 0);
	move_release();
	assert_true(!core_flow_elsewhere(hash) && handled == 1 && hook.ends == 2);
	published->move_open = false;
	assert_false(core_flow_elsewhere(hash)); /* they are here */
	published->move_open = true;
	/* what else is asked ends a move, but the core knows no more than before; nor does its program when it restarts */
	move_hold(published);
	move_other();
	assert_true(core_flow_elsewhere(hash));
	move_forget();
	assert_true(core_flow_elsewhere(hash));
	published->move_to = 3; /* a third core never knows */
	move_release();
	assert_true(core_flow_elsewhere(hash) && !core_flow_elsewhere(hash + 1));
	published->move_open = false;
	assert_false(core_flow_elsewhere(hash));
	/* given away, and then the application starts anew: nothing is elsewhere */
	published->move_number = 9;
	published->move_from = 1;
	hook.left = 0;
	assert_true(move_give());
	assert_true(core_flow_elsewhere(hash));
	move_forget();
	assert_false(core_flow_elsewhere(hash));
	published->move_ports = 0;
	assert_int_equal(hook.ends, 2);
}

/* --- counting --- */

static void window_counts(void **s)
{
	(void)s;
	uint64_t of[BUCKETS] = {0}, sum = 0;
	struct load_counts *c = core_shm_loads(1);
	memset(c, 0xff, sizeof *c);
	for (uint32_t window = 1; window < 3; window++) {
		published->sampling = window;
		memset(of, 0, sizeof of);
		for (unsigned i = 0; i < 4 * BALANCER_EACH; i++) {
			struct pkt v[5];
			for (unsigned k = 0; k < 5; k++) {
				v[k] = packet(random_below(FLOWS));
				if (i % BALANCER_EACH == 0 && bucket_of(&v[k]) < BUCKETS)
					of[bucket_of(&v[k])]++;
			}
			assert_int_equal(move_look(v, 5, PORT), 5);
		}
		assert_int_equal(core_shm_of(1)->loads_window, window);
		assert_int_equal(c->total, 4 * 5);
		sum = 0;
		for (unsigned b = 0; b < NIC_BUCKETS_MAX; b++) {
			assert_int_equal(c->v[PORT][b], b < BUCKETS ? of[b] : 0);
			sum += c->v[0][b];
		}
		assert_int_equal(sum, 0);
	}
	for (unsigned i = 0; i < BALANCER_EACH * BALANCER_SAMPLES; i++) { /* then no more */
		struct pkt p = packet(1);
		assert_int_equal(move_look(&p, 1, PORT), 1);
	}
	assert_int_equal(c->total, BALANCER_SAMPLES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(holds_in_order, begin),    cmocka_unit_test_setup(bound, begin),
		cmocka_unit_test_setup(others, begin),            cmocka_unit_test_setup(two_ports, begin),
		cmocka_unit_test_setup(releases_as_rings_take_it, begin),
		cmocka_unit_test_setup(passes_of_two_ports, begin), cmocka_unit_test_setup(passes_when_sent, begin),
		cmocka_unit_test_setup(passes_under_load, begin), cmocka_unit_test_setup(passes_later, begin),
		cmocka_unit_test_setup(window_counts, begin), cmocka_unit_test_setup(flows_cross, begin),
		cmocka_unit_test_setup(passes_what_is_paused, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
