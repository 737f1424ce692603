/* See tcp_move.h. */
#include "dataplane/tcp_move.h"

#include "dataplane/output.h"
#include "dataplane/tcp_data.h"
#include "dataplane/tcp_move_area.h"
#include "lib/number.h"
#include "runtime/bucket_hash.h"

static struct {
	bool on;             /* between the first call and the end of this time */
	unsigned core;       /* that takes */
	uint64_t number;
	uint32_t cursor;     /* of tcp_next() */
	bool walked;         /* it has seen all */
	bool refused;        /* one has stayed: no more are given */
	bool writing;        /* `out` has further messages */
	struct tcp_move_out out;
	uint64_t id[TCP_MOVE_ANSWERS]; /* of connections without an answer, by number of the answer */
	uint64_t begun, heard;         /* connections; answers */
} give;

static struct {
	bool on;
	unsigned core; /* that gives */
	uint64_t number;
	struct tcp_move_in in;
} take;

/* True if a core that has written `done` is through with the time of that number, or with a later one. */
static bool is_past(const uint64_t *done, uint64_t number)
{
	return (int32_t)(uint32_t)(shared_load(done) - number) >= 0;
}

/* --- which --- */

static uint32_t hash_of(const struct net_addr *local, uint16_t local_port, const struct net_addr *remote,
                        uint16_t remote_port)
{
	if (net_addr_is_ip4(remote))
		return bucket_hash_tcp4(net_addr_to_ip4(remote), net_addr_to_ip4(local), remote_port, local_port);
	return bucket_hash_tcp6((const uint8_t *)remote->w, (const uint8_t *)local->w, remote_port, local_port);
}

bool tcp_move_elsewhere(void *ctx, const struct net_addr *local, uint16_t local_port, const struct net_addr *remote,
                        uint16_t remote_port)
{
	(void)ctx;
	return core_flow_elsewhere(hash_of(local, local_port, remote, remote_port));
}

static bool moves(const struct tcp_conn *c)
{
	struct tcp_info i;
	tcp_info(c, &i);
	return core_flow_moves(hash_of(&i.local, i.local_port, &i.remote, i.remote_port));
}

/* --- the core that gives --- */

static void stays(struct core_flows *f)
{
	give.refused = true;
	f->stay++;
}

/* Reads the answers that are there. */
static void read_answers(struct core_flows *f)
{
	const struct tcp_move_area *other = tcp_move_area_of(give.core);
	const uint64_t answers = shared_load(&other->answers);
	if (shared_load(&other->takes) != give.number || answers - give.heard > give.begun - give.heard)
		return;
	while (give.heard != answers) {
		const unsigned at = give.heard % TCP_MOVE_ANSWERS;
		const bool taken = __atomic_load_n(&other->answer[at].taken, __ATOMIC_RELAXED);
		if (__atomic_load_n(&other->answer[at].id, __ATOMIC_RELAXED) != give.id[at])
			return; /* it has failed: nothing goes on until it has closed */
		if (give.writing && give.heard + 1 == give.begun)
			give.writing = false; /* refused before its last message */
		tcp_move_ended(tcp_data, give.id[at], taken);
		shared_store(&tcp_move_area()->heard, ++give.heard);
		if (f) {
			f->steps++;
			if (!taken)
				stays(f);
		}
	}
}

bool tcp_move_waits(void)
{
	return !give.on && give.begun != give.heard;
}

/* Invariant 3: the other core has closed, then its answers are read, then the rest goes on here. */
COLD void tcp_move_settle(void)
{
	const bool closed = is_past(&tcp_move_area_of(give.core)->closed, give.number);
	read_answers(NULL);
	for (; closed && give.heard != give.begun; give.heard++)
		tcp_move_ended(tcp_data, give.id[give.heard % TCP_MOVE_ANSWERS], false);
	if (give.heard == give.begun)
		shared_store(&tcp_move_area()->settled, give.number);
}

static void begin_give(const struct core_flows *f)
{
	struct tcp_move_area *own = tcp_move_area();
	give.on = true;
	give.core = f->core;
	give.number = f->number;
	give.cursor = 0;
	give.walked = give.refused = give.writing = false;
	give.begun = give.heard = 0;
	own->head = own->heard = 0;
	own->cookies_until_us = tcp_cookies_until(tcp_data);
	shared_store(&own->gives, f->number);
}

/* Begins with the next connection that moves, among `looks` records at most. False: there is none among them. */
static bool begin_next(struct core_flows *f, uint32_t *looks)
{
	while (*looks && !give.walked && !give.refused) {
		const uint32_t before = give.cursor;
		struct tcp_conn *c = tcp_next(tcp_data, &give.cursor, *looks);
		*looks -= give.cursor - before;
		f->steps += give.cursor - before;
		give.walked = !c && give.cursor == before;
		if (!c || !moves(c))
			continue;
		if (tcp_move_begin(&give.out, c) == E_OK) {
			give.writing = true;
			give.id[give.begun++ % TCP_MOVE_ANSWERS] = give.out.id;
			return true;
		}
		stays(f);
	}
	return false;
}

/* Writes the next message into the ring. False: there is no connection to write, or no room. */
static bool write_message(struct core_flows *f, uint32_t *looks)
{
	struct tcp_move_area *own = tcp_move_area();
	const uint64_t used = own->head - shared_load(&tcp_move_area_of(give.core)->tail);
	if (used >= TCP_MOVE_SLOTS) /* full, or the tail is invalid */
		return false;
	if (!give.writing && (give.begun - give.heard == TCP_MOVE_ANSWERS || !begin_next(f, looks)))
		return false;
	const unsigned at = own->head % TCP_MOVE_SLOTS;
	const uint32_t bytes = tcp_move_write(&give.out, own->slot[at].text, sizeof own->slot[at].text);
	give.writing = bytes != 0;
	if (bytes == 0)
		return true;
	own->slot[at].bytes = bytes;
	shared_store(&own->head, own->head + 1);
	f->steps++;
	return true;
}

/* Sets the time of the instance, which may have been idle for long. */
static void begin_turn(void)
{
	output_turn();
	tcp_tick(tcp_data, core_now_us());
}

static bool give_flows(struct core_flows *f)
{
	uint32_t looks = TCP_MOVE_LOOKS;
	if (!tcp_data)
		return true;
	begin_turn();
	if (tcp_move_waits()) /* of an earlier time */
		tcp_move_settle();
	if (tcp_move_waits())
		return false;
	if (!give.on || give.number != f->number)
		begin_give(f);
	if (shared_load(&tcp_move_area_of(give.core)->takes) != give.number)
		return false; /* the other core has not begun */
	read_answers(f);
	for (unsigned i = 0; i < TCP_MOVE_EACH && write_message(f, &looks);)
		i += give.writing;
	if (give.writing || give.begun != give.heard || !(give.walked || give.refused))
		return false;
	shared_store(&tcp_move_area()->settled, give.number);
	return true;
}

/* --- the core that takes --- */

static void begin_take(const struct core_flows *f)
{
	struct tcp_move_area *own = tcp_move_area();
	take.on = true;
	take.core = f->core;
	take.number = f->number;
	own->tail = own->answers = 0;
	tcp_cookies_expect(tcp_data, __atomic_load_n(&tcp_move_area_of(f->core)->cookies_until_us, __ATOMIC_RELAXED));
	shared_store(&own->takes, f->number);
}

static void answer(enum tcp_move result)
{
	struct tcp_move_area *own = tcp_move_area();
	const unsigned at = own->answers % TCP_MOVE_ANSWERS;
	own->answer[at].id = take.in.id;
	own->answer[at].taken = result == TCP_MOVE_TAKEN;
	shared_store(&own->answers, own->answers + 1);
}

static void read_message(struct core_flows *f)
{
	struct tcp_move_area *own = tcp_move_area();
	const struct tcp_move_area *other = tcp_move_area_of(take.core);
	const unsigned at = own->tail % TCP_MOVE_SLOTS;
	const uint32_t bytes = __atomic_load_n(&other->slot[at].bytes, __ATOMIC_RELAXED);
	const enum tcp_move r = tcp_move_read(tcp_data, &take.in, other->slot[at].text,
	                                      u32_min(bytes, sizeof other->slot[at].text), core_now_us());
	if (r > TCP_MOVE_SKIPPED)
		f->why = r;
	if (r != TCP_MOVE_MORE && r != TCP_MOVE_SKIPPED)
		answer(r);
	shared_store(&own->tail, own->tail + 1);
}

/* Has the core that gave the last time read all answers? They are overwritten now. */
static bool are_read(const struct core_flows *f)
{
	return take.number == f->number || take.number == 0 ||
	       is_past(&tcp_move_area_of(take.core)->settled, take.number);
}

static bool take_flows(struct core_flows *f)
{
	struct tcp_move_area *own = tcp_move_area();
	const struct tcp_move_area *other = tcp_move_area_of(f->core);
	if (!tcp_data)
		return true;
	begin_turn();
	if (shared_load(&other->gives) != f->number || !are_read(f))
		return false;
	if (!take.on)
		begin_take(f);
	const bool whole = shared_load(&other->settled) == f->number;
	for (unsigned i = 0; i < TCP_MOVE_EACH; i++) {
		const uint64_t waiting = shared_load(&other->head) - own->tail;
		if (waiting == 0 || waiting > TCP_MOVE_SLOTS ||
		    own->answers - shared_load(&other->heard) >= TCP_MOVE_ANSWERS)
			break;
		read_message(f);
		f->steps++;
	}
	return whole;
}

/* --- both --- */

static void close_take(void)
{
	tcp_move_drop(tcp_data, &take.in);
	take.on = false;
	shared_store(&tcp_move_area()->closed, take.number);
}

static void end_flows(void)
{
	give.on = give.writing = false;
	if (tcp_move_waits())
		tcp_move_settle();
	else if (give.number)
		shared_store(&tcp_move_area()->settled, give.number);
	if (take.on)
		close_take();
}

static const char *why_text(uint64_t why)
{
	return tcp_move_name(why < TCP_MOVE_COUNT ? (enum tcp_move)why : TCP_MOVE_COUNT);
}

const struct app_flows tcp_move_flows = {.give = give_flows, .take = take_flows, .end = end_flows, .why = why_text};

void tcp_move_start(void)
{
	struct tcp_move_area *own = tcp_move_area();
	if (core_app()->flows != &tcp_move_flows)
		return; /* connections stay, and the area is a plug-in's */
	assert(sizeof *own <= dp_plugin_room());
	give.on = take.on = false;
	give.begun = give.heard = give.number = take.number = 0;
	take.in = (struct tcp_move_in){0};
	shared_store(&own->gives, 0);
	shared_store(&own->takes, 0);
	shared_store(&own->settled, core_flows_number());
	shared_store(&own->closed, core_flows_number());
}
