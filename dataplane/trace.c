/*
 * Traces on a data core (docs/console.md). control_hooks.trace receives each vector of a traced
 * port and passes it on to rx_vector. A packet to be followed is passed alone, as a vector of one,
 * after the packets before it and ahead of those behind it. So no packet overtakes another, and a
 * followed packet takes the same code path as any other. Its record lists what changed, that is
 * counters, packets given to the ports and messages sent, and the application's notes
 * (trace_note.h).
 *
 * Each core follows as many packets as were requested; the control core shows the first of all
 * cores.
 */
#include "dataplane/trace_note.h"
#include "lib/mem.h"
#include "lib/number.h"

static struct trace_record record; /* of the packet being followed */

/* --- notes --- */

/* port: a port or an interface, as enum trace_kind says. */
static void note(enum trace_kind kind, unsigned port, unsigned word, uint32_t number, uint32_t more)
{
	if (record.notes < TRACE_NOTES)
		record.note[record.notes++] = (struct trace_note){
			(uint8_t)kind, (uint8_t)port, (uint16_t)word, number, more};
}

COLD void trace_filter(const struct dp_filter *f, uint32_t rule)
{
	const struct dp_filter_set *sets = dp_get()->filter_set;
	const unsigned set = f >= (const struct dp_filter *)(const void *)&sets[1];
	const struct dp_filters *all = sets[set].interface;
	for (unsigned i = 0; i < dp_get()->ifs; i++)
		for (unsigned six = 0; six < 2; six++) {
			unsigned word = (six ? TRACE_FILTER_SIX : 0) | (set ? TRACE_FILTER_SET : 0);
			if (f == &all[i].in[six])
				note(TRACE_FILTER, i, word, rule, 0);
			if (f == &all[i].out[six])
				note(TRACE_FILTER, i, word | TRACE_FILTER_OUT, rule, 0);
		}
}

COLD void trace_filter_mac(const struct dp_filter_mac *f, uint32_t rule)
{
	const struct dp_filter_set *sets = dp_get()->filter_set;
	for (unsigned set = 0; set < 2; set++)
		for (unsigned i = 0; i < NIC_PORTS_MAX; i++)
			if (f == &sets[set].interface[i].mac)
				note(TRACE_FILTER, i, TRACE_FILTER_MAC | (set ? TRACE_FILTER_SET : 0), rule, 0);
}

COLD void trace_source(uint32_t nh)
{
	note(TRACE_SOURCE, 0, 0, nh, 0);
}

COLD void trace_way(uint32_t nh, unsigned total)
{
	const struct adj *a = &dp_get()->adj[nh];
	bool known = __atomic_load_n(&a->state, __ATOMIC_ACQUIRE) == ADJ_FORWARD;
	for (unsigned i = 0; i < record.notes; i++)
		if (record.note[i].kind == TRACE_WAY && record.note[i].number == nh)
			return;
	note(TRACE_WAY, a->interface, total, nh, a->mtu | (known ? TRACE_WAY_KNOWN : 0));
}

COLD void trace_stations(unsigned vid, unsigned source, unsigned destination)
{
	note(TRACE_BRIDGE, 0, vid, source, destination);
}

/* --- what has changed --- */

static void note_counted(const struct counters *before)
{
	for (unsigned c = 0; c < CNT_MAX; c++) {
		uint64_t n = self.counters->v[c] - before->v[c];
		if (n && !trace_is_transport((enum counter)c))
			note(TRACE_COUNTED, 0, 0, c, (uint32_t)n);
	}
}

static void note_sent(const uint64_t *before)
{
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++) {
		uint64_t n = core_tx_given(p) - before[p];
		if (n)
			note(TRACE_SENT, p, 0, (uint32_t)n, core_outs[p].n);
	}
}

/* --- packets --- */

static bool is_wanted(const struct dp_trace *t, const struct pkt *p)
{
	return match_wants(&t->match, &t->flow, p->data, p->len < TRACE_HEAD ? p->len : TRACE_HEAD);
}

/* May one more packet be followed? If only the ring has no room, counts it as missed. */
static bool has_room(struct trace_ring *r, const struct dp_trace *t)
{
	uint64_t tail = __atomic_load_n(&t->tail[self.id], __ATOMIC_ACQUIRE);
	bool room = r->head - tail < TRACE_SLOTS;
	r->missed += r->left && !room;
	return r->left && room;
}

/* Passes the packet on to rx_vector and writes its record into the ring. */
static void follow(struct trace_ring *r, struct pkt *p, unsigned port)
{
	static uint16_t number;
	static struct counters before;
	uint64_t given[NIC_PORTS_MAX];
	int pair = core_pair();
	core_tx_flush_all(); /* earlier packets of its vector are counted first */
	number = (uint16_t)(number == 0xffff ? 1 : number + 1);
	record = (struct trace_record){.ns = core_now_ns(),
	                               .number = number,
	                               .len = p->len,
	                               .port = (uint8_t)port,
	                               .pair = (uint8_t)(pair < 0 ? 0 : pair)};
	memcpy(record.head, p->data, u32_min(p->len, TRACE_HEAD));
	before = *self.counters;
	for (unsigned i = 0; i < NIC_PORTS_MAX; i++)
		given[i] = core_tx_given(i);
	core_trace = (struct core_trace){.number = number};
	core_app()->rx_vector(p, 1, port);
	core_tx_flush_all(); /* this packet leaves or is dropped for lack of room, and is counted */
	record.messages = core_trace.messages;
	core_trace.number = 0;
	note_sent(given);
	note_counted(&before);
	r->slot[r->head % TRACE_SLOTS] = record;
	r->left--;
	__atomic_store_n(&r->head, r->head + 1, __ATOMIC_RELEASE);
}

void trace_vector(struct pkt *v, unsigned n, unsigned port)
{
	const struct dp_trace *t = &dp_get()->trace;
	struct trace_ring *r = dp_trace_ring();
	const struct app *app = core_app();
	unsigned from = 0;
	if (r->number != t->number) {
		r->head = r->missed = 0;
		r->left = t->count;
		__atomic_store_n(&r->number, t->number, __ATOMIC_RELEASE);
	}
	for (unsigned i = 0; i < n && r->left; i++) {
		if (!is_wanted(t, &v[i]) || !has_room(r, t))
			continue;
		if (i > from)
			app->rx_vector(v + from, i - from, port);
		follow(r, &v[i], port);
		from = i + 1;
	}
	if (n > from)
		app->rx_vector(v + from, n - from, port);
}
