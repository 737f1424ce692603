/*
 * Chains: which programs run on which port (dataplane/xdp.h), and their counts.
 *
 * The order of a chain is that of libxdp: by the priority that the object says (struct bpf_program), then
 * by the order of the configuration.
 *
 * Counts. Each program of a port has a slot of dp_xdp_shared.action. A program that stays on the port,
 * also in a new version of its object, keeps its slot, and with it its counts; another gets a slot that the
 * chain before does not use, so no core counts in it, and what lies there is its zero.
 */
#include "control/programs/programs.h"

#include "dataplane/state.h"
#include "lib/mem.h"
#include "runtime/runtime.h"

_Static_assert(CONFIG_XDP_EACH_MAX == DP_XDP_CHAIN_MAX, "a port's programs are a chain");
_Static_assert(CONFIG_PROGRAM_SIZE == BPF_NAME, "a program's name fits");
_Static_assert((int)CONFIG_PORTS_MAX == (int)NIC_PORTS_MAX, "ports have the same numbers");

/* A program on a port, by the slot of its counts. */
static struct slot {
	bool used;
	char object[CONFIG_OBJECT_SIZE], program[BPF_NAME];
	uint64_t zero[XDP_ACTIONS], cleared[XDP_ACTIONS];
} slots[NIC_PORTS_MAX][DP_XDP_SLOTS];

static const char *const words[XDP_ACTIONS] = {
	[XDP_ABORTED] = "aborted", [XDP_DROP] = "drop", [XDP_PASS] = "pass", [XDP_TX] = "tx",
	[XDP_REDIRECT] = "redirect",
};

const char *programs_action_word(unsigned action) { return words[action]; }

/* --- counts --- */

static uint64_t counted(unsigned port, unsigned slot, unsigned action)
{
	uint64_t sum = 0;
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const struct dp_xdp_shared *s = dp_xdp_shared_of(self.info->first_data_core + d);
		if (s->started == dp_get()->started) /* otherwise of tables before these */
			sum += __atomic_load_n(&s->action[port][slot][action], __ATOMIC_RELAXED);
	}
	return sum;
}

void programs_clear(void)
{
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
		for (unsigned s = 0; s < DP_XDP_SLOTS; s++)
			for (unsigned a = 0; slots[p][s].used && a < XDP_ACTIONS; a++)
				slots[p][s].cleared[a] = counted(p, s, a);
}

static bool is_of(const struct slot *s, const struct config_xdp *x, const struct programs_program *p)
{
	return s->used && strcmp(s->object, x->object) == 0 && strcmp(s->program, p->name) == 0;
}

/* Is the slot one of the chain's? */
static bool has_slot(const struct dp_xdp_chain *c, unsigned slot)
{
	for (uint32_t i = 0; c && i < c->programs; i++)
		if (c->program[i].slot == slot)
			return true;
	return false;
}

static unsigned slot_for(unsigned port, const struct dp_xdp_chain *before, const struct dp_xdp_chain *now,
                         const struct config_xdp *x, const struct programs_program *p)
{
	unsigned free = 0;
	for (unsigned s = 0; s < DP_XDP_SLOTS; s++)
		if (is_of(&slots[port][s], x, p) && has_slot(before, s))
			return s;
	while (has_slot(before, free) || has_slot(now, free))
		free++; /* each has at most half of them */
	struct slot *s = &slots[port][free];
	*s = (struct slot){.used = true};
	memcpy(s->object, x->object, sizeof s->object);
	memcpy(s->program, p->name, sizeof s->program);
	for (unsigned a = 0; a < XDP_ACTIONS; a++)
		s->zero[a] = s->cleared[a] = counted(port, free, a);
	return free;
}

/* --- chains --- */

struct wanted {
	const struct config_xdp *config;
	const struct programs_program *program;
};

/* The programs of a port, in their order. What the store lacks, because the control program before has
 * left it damaged, is left out. */
static unsigned wanted_of(const struct config *c, unsigned port, struct wanted v[DP_XDP_CHAIN_MAX])
{
	unsigned n = 0;
	for (unsigned i = 0; i < c->xdp_count && n < DP_XDP_CHAIN_MAX; i++) {
		const struct config_xdp *x = &c->xdp[i];
		const struct programs_object *o = programs_find(text_of(x->object));
		const struct programs_program *p = o ? programs_program_of(o, text_of(x->program)) : NULL;
		if (config_number(c, x->interface) != (int)port || !p)
			continue;
		unsigned at = n++;
		for (; at > 0 && v[at - 1].program->priority > p->priority; at--)
			v[at] = v[at - 1];
		v[at] = (struct wanted){x, p};
	}
	return n;
}

static bool same(const struct dp_xdp_chain *a, const struct dp_xdp_chain *b)
{
	if (!a || !b || a->programs != b->programs)
		return false;
	for (uint32_t i = 0; i < a->programs; i++)
		if (a->program[i].code != b->program[i].code || a->program[i].slot != b->program[i].slot)
			return false;
	return true;
}

/* Makes the port's chain in the part that is not in use. Returns it; NULL: the port has no programs. */
static const struct dp_xdp_chain *make_chain(const struct config *c, unsigned port)
{
	struct dp_xdp *x = &dp_get()->xdp;
	const struct dp_xdp_chain *before = x->chain[port];
	struct dp_xdp_chain *to = &x->both[port][before == &x->both[port][0]];
	struct wanted v[DP_XDP_CHAIN_MAX];
	const unsigned n = wanted_of(c, port, v);
	*to = (struct dp_xdp_chain){0};
	for (; to->programs < n; to->programs++) {
		const struct wanted *w = &v[to->programs];
		to->changes |= w->program->changes;
		to->program[to->programs] = (struct dp_xdp_program){
			.code = (uint64_t)(uintptr_t)w->program->code, .chain_on = w->program->chain_on,
			.slot = slot_for(port, before, to, w->config, w->program)};
	}
	return n == 0 ? NULL : same(before, to) ? before : to;
}

static uint32_t publish(const struct config *c)
{
	struct dp_xdp *x = &dp_get()->xdp;
	uint32_t ports = 0;
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++) {
		const struct dp_xdp_chain *chain = make_chain(c, p);
		__atomic_store_n(&x->chain[p], chain, __ATOMIC_RELEASE);
		ports |= chain ? 1u << p : 0;
	}
	core_program_ports(ports);
	return ports;
}

void programs_chains_start(const struct config *c)
{
	memset(slots, 0, sizeof slots); /* data cores begin to count at 0 with the new tables */
	programs_publish();
	publish(c);
}

bool programs_chains_change(const struct config *c)
{
	publish(c);
	return core_quiesce();
}

/* --- look-up --- */

bool programs_running_at(unsigned port, unsigned i, struct programs_running *r)
{
	const struct dp_xdp_chain *c = dp_get()->xdp.chain[port];
	if (!c || i >= c->programs)
		return false;
	const unsigned slot = c->program[i].slot;
	const struct slot *s = &slots[port][slot];
	*r = (struct programs_running){.object = programs_find(text_of(s->object))};
	r->program = r->object ? programs_program_of(r->object, text_of(s->program)) : NULL;
	for (unsigned a = 0; a < XDP_ACTIONS; a++) {
		r->total[a] = counted(port, slot, a) - s->zero[a];
		r->action[a] = counted(port, slot, a) - s->cleared[a];
	}
	return r->program != NULL;
}

bool programs_in_use(const struct programs_object *o)
{
	struct programs_running r;
	for (unsigned p = 0; p < core_port_count(); p++)
		for (unsigned i = 0; programs_running_at(p, i, &r); i++)
			if (r.object == o)
				return true;
	return false;
}
