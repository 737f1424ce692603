/*
 * dataplane/tcp_move: connections cross from one data core to another. Whenever either side stops, and whatever a core
 * that has failed leaves in its area, each connection exists once, and no buffer is lost.
 *
 * One process plays both cores: core 1 gives, core 2 takes. So the file's variable `give` is core 1's, `take` core 2's;
 * what concerns a core in both roles is called with the other core's variable set aside.
 */
#include "tests/unit/rig/host.h"

#include "dataplane/tcp_move.c"

#define SHARED 0x1a0000u /* as the runtime's */
#define BUFS 8192u
#define PORTS 400u   /* connections; number i has local port FIRST + i */
#define FIRST 1000u
#define DATA_MAX 9000u

struct core_self self;
struct core_out core_outs[NIC_PORTS_MAX];
struct output_state output_state;
struct tcp *tcp_data;

static struct core {
	struct tcp *tcp;
	void *memory;
	struct bufpool pool;
	uint8_t *bufs;
	uint32_t stack[BUFS];
	struct counters counters;
	uint8_t *shared;
} cores[3];

static struct {
	uint64_t now_us;
	uint32_t number;
	bool ended[PORTS]; /* closed by an instance */
} w;

/* --- stand-ins --- */

void *core_shared_area(size_t *bytes)
{
	*bytes = SHARED;
	return cores[self.id].shared;
}

const void *core_shared_area_of(unsigned core) { return cores[core].shared; }
const struct app *core_app(void)
{
	static const struct app moving = {.flows = &tcp_move_flows};
	return &moving;
}

enum core_app_number core_app_number(void) { return CORE_APP_web; }
bool core_flow_moves(uint32_t hash) { return hash % 4 != 0; }
bool core_flow_elsewhere(uint32_t hash) { return core_flow_moves(hash); }
uint64_t core_now_ns(void) { return w.now_us * 1000; }
uint32_t core_flows_number(void) { return w.number; }

/* --- connections --- */

static void tx(void *ctx, struct pkt *p)
{
	(void)ctx;
	pkt_free(&cores[self.id].pool, p);
}

static void data(struct tcp_conn *c, struct pkt *p)
{
	(void)c, (void)p;
	fail();
}

static void closed(struct tcp_conn *c, int why)
{
	struct tcp_info i;
	(void)why;
	tcp_info(c, &i);
	w.ended[i.local_port - FIRST] = true;
}

static bool join(struct tcp_conn *c, const uint8_t *from, uint32_t n)
{
	(void)c, (void)from;
	return n == 0;
}

static const struct tcp_app app = {.data = data, .closed = closed};
static const struct tcp_move_app moving[] = {{.app = &app, .join = join}};
static const struct tcp_ops ops = {.tx = tx};

static void be(unsigned core)
{
	self.id = core;
	self.counters = &cores[core].counters;
	self.clock = clock_make(1000000000);
	self.now_tsc = w.now_us * 1000;
	tcp_data = cores[core].tcp;
}

/* Calls `what` as that core, which has only the role that it plays. */
static void as(unsigned core, void (*what)(void))
{
	const typeof(give) gives = give;
	const typeof(take) takes = take;
	be(core);
	if (core == 1)
		memset(&take, 0, sizeof take);
	else
		memset(&give, 0, sizeof give);
	what();
	if (core == 1)
		take = takes;
	else
		give = gives;
}

/* An instance without connections, as after a start of the core's program. */
static void make_core(unsigned core, uint32_t connections)
{
	struct core *c = &cores[core];
	struct tcp_params p = TCP_PARAMS_DEFAULT;
	const struct siphash_key key = {1, 2};
	p.connections = connections;
	p.pool_reserve = 16;
	free(c->memory);
	c->memory = aligned_alloc(64, align_up(tcp_memory_bytes(&p), 64));
	if (!c->bufs) {
		c->bufs = aligned_alloc(64, (size_t)BUFS * BUF_STRIDE_STANDARD);
		c->shared = aligned_alloc(64, SHARED);
	}
	bufpool_init(&c->pool, c->bufs, c->stack, BUFS, BUF_STRIDE_STANDARD);
	c->tcp = tcp_init(c->memory, &p, &c->pool, &c->counters, &key, &ops, NULL, w.now_us);
	tcp_move_apps(c->tcp, moving, ARRAY_LEN(moving));
	as(core, tcp_move_start);
}

/* Core 1 has PORTS connections, some with data to send; core 2 has none and room for `room`. */
static void begin(uint32_t room)
{
	static uint8_t bytes[DATA_MAX];
	w = (typeof(w)){.now_us = 5000000};
	memset(&give, 0, sizeof give);
	memset(&take, 0, sizeof take);
	for (unsigned i = 0; i < SHARED && cores[1].shared; i++)
		cores[1].shared[i] = cores[2].shared[i] = 0xa5; /* nobody has zeroed it */
	make_core(2, room);
	make_core(1, PORTS);
	for (unsigned i = 0; i < PORTS; i++) {
		const struct tcp_open o = {.local = net_addr_ip4(0xc0000201), .remote = net_addr_ip4(0xc0000202),
		                           .local_port = (uint16_t)(FIRST + i), .remote_port = 7, .app = &app,
		                           .data = bytes, .data_len = i % 3 ? 0 : random_below(DATA_MAX)};
		assert_non_null(tcp_connect(cores[1].tcp, &o, w.now_us, NULL));
	}
}

static bool is_at(unsigned core, unsigned i)
{
	uint32_t cursor = 0;
	struct tcp_conn *c;
	while ((c = tcp_next(cores[core].tcp, &cursor, UINT32_MAX)) != NULL) {
		struct tcp_info info;
		tcp_info(c, &info);
		if (info.local_port == FIRST + i)
			return true;
	}
	return false;
}

static bool does_move(unsigned i)
{
	const struct net_addr local = net_addr_ip4(0xc0000201), remote = net_addr_ip4(0xc0000202);
	return core_flow_moves(hash_of(&local, (uint16_t)(FIRST + i), &remote, 7));
}

/* Each connection exists once; returns how many of them at core 2. */
static unsigned each_is_once(void)
{
	unsigned there = 0;
	for (unsigned i = 0; i < PORTS; i++) {
		assert_int_equal(is_at(1, i) + is_at(2, i), 1);
		assert_false(w.ended[i]);
		there += is_at(2, i);
	}
	return there;
}

static void all_buffers_are_back(void)
{
	for (unsigned core = 1; core <= 2; core++) {
		uint32_t cursor = 0;
		struct tcp_conn *c;
		be(core);
		while ((c = tcp_next(tcp_data, &cursor, UINT32_MAX)) != NULL)
			tcp_abort(c);
		tcp_tick(tcp_data, w.now_us + 1000000);
		assert_int_equal(tcp_connections(tcp_data), 0);
		assert_int_equal(cores[core].pool.free, BUFS);
	}
}

/* --- turns --- */

static struct core_flows side[3]; /* by core */

static void next_time(void)
{
	w.number++;
	for (unsigned core = 1; core <= 2; core++)
		side[core] = (struct core_flows){.core = 3 - core, .number = w.number, .first = true};
}

static bool turn(unsigned core)
{
	w.now_us += 10;
	be(core);
	const bool done = core == 1 ? give_flows(&side[1]) : take_flows(&side[2]);
	side[core].first = false;
	return done;
}

static void ends(unsigned core)
{
	as(core, end_flows);
}

static void settles(void)
{
	be(1);
	for (unsigned i = 0; i < 3 && tcp_move_waits(); i++)
		tcp_move_settle();
	assert_false(tcp_move_waits());
}

/* Turns of both, in random order, until both are done, or `most`. */
static bool turns(unsigned most)
{
	bool done[3] = {0};
	for (unsigned i = 0; i < most && !(done[1] && done[2]); i++) {
		const unsigned core = 1 + random_below(2);
		if (!done[core])
			done[core] = turn(core);
	}
	return done[1] && done[2];
}

/* --- tests --- */

static unsigned that_move(void)
{
	unsigned n = 0;
	for (unsigned i = 0; i < PORTS; i++)
		n += does_move(i);
	return n;
}

static void all_cross(void **s)
{
	(void)s;
	seed_random("all_cross");
	begin(PORTS);
	next_time();
	assert_true(turns(10000));
	assert_int_equal(side[1].stay, 0);
	assert_true(side[1].steps > PORTS && side[2].steps >= that_move());
	assert_int_equal(each_is_once(), that_move());
	for (unsigned i = 0; i < PORTS; i++)
		assert_int_equal(is_at(2, i), does_move(i));
	ends(1);
	ends(2);
	all_buffers_are_back();
}

/* A turn is bounded, on either side. */
static void turns_are_short(void **s)
{
	(void)s;
	begin(PORTS);
	next_time();
	turn(1);
	turn(2);
	for (unsigned i = 0; i < 20; i++) {
		const uint64_t head = tcp_move_area_of(1)->head, tail = tcp_move_area_of(2)->tail;
		turn(1);
		assert_true(tcp_move_area_of(1)->head - head <= TCP_MOVE_EACH);
		assert_true(give.begun - give.heard <= TCP_MOVE_ANSWERS);
		turn(2);
		assert_true(tcp_move_area_of(2)->tail - tail <= TCP_MOVE_EACH);
	}
	ends(2);
	ends(1);
	all_buffers_are_back();
}

/* Core 2 has room for a few: the rest stays, and core 1 knows. What crossed can come back. */
static void some_are_refused(void **s)
{
	(void)s;
	seed_random("some_are_refused");
	begin(50);
	next_time();
	assert_true(turns(10000));
	assert_true(side[1].stay > 0);
	assert_int_equal(each_is_once(), 50);
	assert_string_equal(why_text(side[2].why), "no free connection");
	assert_string_equal(why_text(UINT64_MAX), "unknown");
	ends(1);
	ends(2);
	each_is_once();
	all_buffers_are_back();
}

/* Either side stops at any moment, and the other later; then the move begins again, and ends. */
static void any_moment(void **s)
{
	(void)s;
	seed_random("any_moment");
	for (unsigned run = 0; run < 60; run++) {
		begin(PORTS);
		for (unsigned again = random_below(4); again; again--) {
			next_time();
			turns(random_below(40));
			const unsigned first = 1 + random_below(2);
			ends(first);
			for (unsigned i = random_below(3); i; i--)
				turn(3 - first); /* it has not heard of the end */
			if (tcp_move_waits() && first == 1) {
				be(1);
				tcp_move_settle();
				assert_true(tcp_move_waits() || tcp_move_area_of(2)->answers == give.begun);
			}
			ends(3 - first);
			settles();
			each_is_once();
		}
		next_time();
		assert_true(turns(10000));
		assert_int_equal(each_is_once(), that_move());
		ends(2);
		ends(1);
		all_buffers_are_back();
	}
}

/* The program of core 2 fails: what it had is gone, what it had not answered goes on at core 1. */
static void taker_restarts(void **s)
{
	(void)s;
	seed_random("taker_restarts");
	for (unsigned run = 0; run < 20; run++) {
		begin(PORTS);
		next_time();
		turns(4 + random_below(30));
		const uint64_t begun = give.begun, heard = give.heard;
		const uint32_t left = tcp_connections(cores[1].tcp);
		ends(1);
		assert_int_equal(tcp_move_waits(), give.begun != give.heard);
		const struct tcp_move_in in = take.in;
		make_core(2, PORTS);
		assert_true(!in.c || take.in.c == NULL);
		settles();
		assert_true(tcp_connections(cores[1].tcp) <= left + (begun - heard));
		assert_true(tcp_connections(cores[1].tcp) + begun >= PORTS);
		next_time();
		assert_true(turns(10000));
		assert_int_equal(side[1].stay, 0);
		for (unsigned i = 0; i < PORTS; i++)
			assert_true(is_at(1, i) + is_at(2, i) <= 1);
		ends(2);
		ends(1);
		all_buffers_are_back();
	}
}

/* Writes nonsense into the area of a core that has failed, or takes a word of it back. */
static void lies(unsigned core)
{
	be(core);
	struct tcp_move_area *a = tcp_move_area();
	uint64_t *word[] = {&a->gives, &a->head, &a->heard, &a->settled, &a->tail, &a->answers, &a->closed,
	                    &a->answer[random_below(TCP_MOVE_ANSWERS)].id, &a->cookies_until_us,
	                    &a->answer[random_below(TCP_MOVE_ANSWERS)].taken};
	uint64_t *at = word[random_below(ARRAY_LEN(word))];
	*at = random_below(2) ? *at + random_below(200) - 100 : (uint64_t)random_below(UINT32_MAX) << random_below(33);
	for (unsigned i = random_below(4); i; i--) {
		uint8_t *slot = (uint8_t *)&a->slot[random_below(TCP_MOVE_SLOTS)];
		slot[random_below(random_below(2) ? 64 : TCP_MOVE_SLOT)] ^= (uint8_t)(1u << random_below(8));
	}
}

/* A core that lies ends nothing but its own connections, and a core that hears it keeps its accounts. */
static void liars(void **s)
{
	(void)s;
	seed_random("liars");
	for (unsigned run = 0; run < 150; run++) {
		const unsigned liar = 1 + run % 2;
		begin(PORTS);
		next_time();
		for (unsigned i = 0; i < 60; i++) {
			turn(1 + random_below(2));
			if (random_below(3) == 0)
				lies(liar);
		}
		ends(2);
		ends(1);
		be(1);
		for (unsigned i = 0; i < 20 && tcp_move_waits(); i++)
			tcp_move_settle();
		if (tcp_move_waits()) { /* it has not closed: its program restarts */
			make_core(2, PORTS);
			settles();
		}
		assert_true(tcp_connections(cores[1].tcp) + tcp_connections(cores[2].tcp) > 0);
		all_buffers_are_back();
	}
}

/* Answers of SYN cookies that core 1 has made may come to core 2. */
static void cookies_are_told(void **s)
{
	(void)s;
	begin(PORTS);
	const uint64_t until = w.now_us + 3600ull * 1000000;
	tcp_cookies_expect(cores[1].tcp, until);
	const uint64_t out = tcp_cookies_until(cores[1].tcp);
	assert_true(out > w.now_us);
	assert_int_equal(tcp_cookies_until(cores[2].tcp), 0);
	next_time();
	assert_true(turns(10000));
	assert_int_equal(tcp_cookies_until(cores[2].tcp), out);
	ends(2);
	ends(1);
	all_buffers_are_back();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_cross),      cmocka_unit_test(turns_are_short), cmocka_unit_test(some_are_refused),
		cmocka_unit_test(any_moment),     cmocka_unit_test(taker_restarts),  cmocka_unit_test(liars),
		cmocka_unit_test(cookies_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
