/*
 * Saved states. At a join the walk saves its state, reduced to what is live, and ends there if a saved state
 * includes it and has been walked to the end (verifier.h, invariant 2). A branch to be taken later is
 * saved in the same form, as it is.
 *
 * - An equal state on the current path means that the loop between them makes no progress: no bound of it
 *   can be shown, and the program is refused. States that are not walked to the end are all on the current
 *   path, because the walk goes depth first.
 * - Comparisons are work: for each COMPARED_A_STEP entries the budget of steps shrinks by one.
 *
 * Deliberately missing: widening. A loop is accepted only if walking it ends.
 */
#include "bpf/verifier/verifier.h"
#include "lib/mem.h"

#define SINCE_MIN 3            /* steps between saved states of a path */
#define LOOK_AT 64             /* newest finished states of an instruction that are compared */
#define LOOK_AT_OPEN 32        /* and unfinished ones, whose hashes are */
#define COMPARED_A_STEP 32
#define ENTRIES_MAX (BPF_CALLS_MAX * (BPF_REGS + SLOTS))
#define IDS 2048               /* a power of two, more than twice ENTRIES_MAX */

struct id_use {
	uint32_t id, stamp, uses;
	bool matters, could_matter;
};

static size_t record_bytes(unsigned entries)
{
	return (sizeof(struct record) + entries * sizeof(struct entry) + 15) & ~(size_t)15;
}

size_t verifier_scratch_bytes(void)
{
	return record_bytes(ENTRIES_MAX) + IDS * sizeof(struct id_use);
}

void verifier_scratch(struct verifier *v, uint8_t *memory)
{
	v->scratch = (struct record *)(void *)memory;
	v->ids = (struct id_use *)(void *)(memory + record_bytes(ENTRIES_MAX));
}

/* --- saving --- */

static struct entry *add_entry(struct record *r, unsigned frame, unsigned where, bool matters, bool could)
{
	struct entry *e = &r->entry[r->entries++];
	*e = (struct entry){.frame = (uint8_t)frame, .where = (uint8_t)where, .matters = matters, .could_matter = could};
	return e;
}

static void save_frame(const struct verifier *v, struct record *r, unsigned frame)
{
	const struct frame *f = &v->frame[frame];
	const struct needs n = verifier_needs(v, frame);
	for (unsigned reg = 0; reg < BPF_R10; reg++)
		if (n.live >> reg & 1 && f->reg[reg].kind != NONE)
			add_entry(r, frame, reg, n.matter >> reg & 1, n.all_matter >> reg & 1)->value = f->reg[reg];
	for (uint64_t left = f->used; left; left &= left - 1) {
		const unsigned slot = (unsigned)__builtin_ctzll(left);
		const unsigned word = slot / 32, shift = slot % 32 * 2;
		if (!(n.stack_live.w[word] >> shift & 3))
			continue;
		struct entry *e = add_entry(r, frame, SLOT_AT + slot, n.stack_matter.w[word] >> shift & 3,
		                            n.stack_all_matter.w[word] >> shift & 3);
		memcpy(e->byte, f->slot[slot].byte, sizeof e->byte);
		if (e->byte[0] == BYTE_SPILLED)
			e->value = f->slot[slot].spilled;
	}
}

static struct record *save(struct verifier *v)
{
	struct record *r = v->scratch;
	*r = (struct record){.parent = v->parent, .insn = v->insn, .since = v->since, .depth = (uint8_t)v->depth,
		.reserved_count = (uint8_t)v->reserved_count};
	memcpy(r->reserved, v->reserved, sizeof r->reserved);
	for (unsigned n = 0; n <= v->depth; n++) {
		r->call[n] = n ? v->frame[n].call : 0;
		r->given_stack |= (uint8_t)(v->frame[n].given_stack << n);
		save_frame(v, r, n);
	}
	return r;
}

/* --- reduced to what is compared --- */

static struct id_use *id_use(struct verifier *v, uint32_t id)
{
	for (uint32_t at = id * 0x9e3779b1u >> 21;; at = (at + 1) % IDS) {
		struct id_use *u = &v->ids[at];
		if (u->stamp != v->id_stamp)
			*u = (struct id_use){.id = id, .stamp = v->id_stamp};
		if (u->id == id)
			return u;
	}
}

static void mix(uint64_t *hash, uint64_t x)
{
	*hash = (*hash ^ x) * 0x9e3779b97f4a7c15u;
	*hash ^= *hash >> 29;
}

static bool is_packet(const struct value *x)
{
	return x->kind == PACKET || x->kind == META;
}

static bool has_name(const struct entry *e)
{
	return e->value.id && (e->value.kind == SCALAR || is_packet(&e->value));
}

/* A number matters if one of the same name does: what a jump says of one it says of both. Drops names that only one
 * entry has. */
static void resolve_names(struct verifier *v, struct record *r)
{
	v->id_stamp++;
	for (unsigned n = 0; n < r->entries; n++) {
		const struct entry *e = &r->entry[n];
		if (!has_name(e))
			continue;
		struct id_use *use = id_use(v, e->value.id);
		use->uses++;
		use->matters = use->matters || e->matters;
		use->could_matter = use->could_matter || e->could_matter;
	}
	for (unsigned n = 0; n < r->entries; n++) {
		struct entry *e = &r->entry[n];
		if (!has_name(e))
			continue;
		const struct id_use *use = id_use(v, e->value.id);
		e->matters = use->matters;
		e->could_matter = use->could_matter;
		e->alone = is_packet(&e->value) && use->uses == 1;
		if (e->value.kind == SCALAR && use->uses == 1)
			e->value.id = 0;
	}
}

/* The hash of all that could matter except names: equal states have equal hashes. */
static void hash(struct record *r)
{
	r->hash = r->depth;
	mix(&r->hash, r->reserved_count);
	for (unsigned n = 0; n <= r->depth; n++)
		mix(&r->hash, r->call[n]);
	for (unsigned n = 0; n < r->entries; n++) {
		const struct entry *e = &r->entry[n];
		const struct value *x = &e->value;
		mix(&r->hash, (uint64_t)e->frame << 56 | (uint64_t)e->where << 48 | (uint64_t)x->kind << 40 |
			(uint64_t)x->map << 32 | (uint32_t)x->off);
		if (x->kind == SCALAR && !e->could_matter)
			continue;
		mix(&r->hash, x->s.umin ^ x->s.t.mask);
		mix(&r->hash, x->s.umax ^ ((uint64_t)(uint32_t)x->range << 32));
	}
}

/* --- the walk's three questions --- */

static void *take_front(struct verifier *v, size_t bytes)
{
	if ((size_t)(v->back - v->front) < bytes)
		return NULL;
	void *taken = v->front;
	v->front += bytes;
	return taken;
}

static void keep(struct verifier *v, const struct record *r)
{
	struct insn_info *info = &v->info[v->insn];
	const size_t bytes = record_bytes(r->entries);
	/* a full budget of states costs time, not safety */
	if (v->verdict->states >= v->limits.states || (size_t)(v->back - v->front) < bytes + (1u << 20))
		return;
	struct record *kept = take_front(v, bytes);
	memcpy(kept, r, sizeof *r + r->entries * sizeof(struct entry));
	kept->branches = 1;
	kept->next = info->records;
	info->records = kept;
	v->verdict->states++;
	v->parent = kept;
	v->since = 0;
}

enum visit verifier_visit(struct verifier *v)
{
	struct record *r = save(v);
	resolve_names(v, r);
	hash(r);
	v->compared += r->entries;
	unsigned finished = 0, open = 0;
	for (const struct record *old = v->info[v->insn].records; old; old = old->next) {
		if (old->branches) {
			if (open++ >= LOOK_AT_OPEN)
				break;
			if (old->hash == r->hash && verifier_includes(v, old, r, true) && verifier_includes(v, r, old, true)) {
				verifier_refuse(v, "infinite loop: the program comes here again with nothing changed that "
				                   "could end the loop");
				return VISIT_REFUSED;
			}
		} else if (finished++ >= LOOK_AT) {
			break;
		} else if (verifier_includes(v, old, r, false)) {
			return VISIT_KNOWN;
		}
	}
	v->compared += open;
	v->verdict->steps += v->compared / COMPARED_A_STEP;
	v->compared %= COMPARED_A_STEP;
	if (v->since >= SINCE_MIN)
		keep(v, r);
	return VISIT_NEW;
}

bool verifier_push(struct verifier *v, bool taken)
{
	const struct record *r = save(v);
	const size_t bytes = record_bytes(r->entries);
	v->compared += r->entries;
	if ((size_t)(v->back - v->front) < bytes)
		return verifier_refuse(v, "the program has too many branches that depend on each other to be verified");
	v->back -= bytes;
	memcpy(v->back, r, sizeof *r + r->entries * sizeof(struct entry));
	((struct record *)(void *)v->back)->taken = taken;
	if (v->parent)
		v->parent->branches++;
	return true;
}

void verifier_clear_frame(struct verifier *v, unsigned frame)
{
	struct frame *f = &v->frame[frame];
	for (unsigned r = 0; r < BPF_REGS; r++)
		f->reg[r].kind = NONE;
	f->reg[BPF_R10] = (struct value){.kind = STACK, .frame = (uint8_t)frame, .s = scalar_const(0)};
	for (; f->used; f->used &= f->used - 1)
		memset(f->slot[__builtin_ctzll(f->used)].byte, BYTE_NONE, 8);
	f->given_stack = false;
}

bool verifier_pop(struct verifier *v, bool *taken)
{
	if (v->back == v->pending_end)
		return false;
	const struct record *r = (const struct record *)(const void *)v->back;
	for (unsigned n = 0; n <= v->depth || n <= r->depth; n++)
		verifier_clear_frame(v, n);
	*taken = r->taken;
	v->insn = r->insn;
	v->depth = r->depth;
	v->parent = r->parent;
	v->since = r->since;
	v->reserved_count = r->reserved_count;
	memcpy(v->reserved, r->reserved, sizeof r->reserved);
	for (unsigned n = 0; n <= r->depth; n++) {
		struct frame *f = &v->frame[n];
		f->call = r->call[n];
		f->given_stack = r->given_stack >> n & 1;
		f->function = n < r->depth ? v->info[r->call[n + 1]].function : v->info[r->insn].function;
	}
	for (unsigned n = 0; n < r->entries; n++) {
		const struct entry *e = &r->entry[n];
		struct frame *f = &v->frame[e->frame];
		if (e->where < SLOT_AT) {
			f->reg[e->where] = e->value;
			continue;
		}
		struct slot *s = &f->slot[e->where - SLOT_AT];
		memcpy(s->byte, e->byte, sizeof s->byte);
		s->spilled = e->value;
		f->used |= 1ull << (e->where - SLOT_AT);
	}
	v->back += record_bytes(r->entries);
	return true;
}

void verifier_path_ends(struct verifier *v)
{
	for (struct record *r = v->parent; r && !--r->branches; r = r->parent)
		;
}
