/*
 * Saved states. At a join the walk saves its state, reduced to what is live, and ends there if a saved state
 * includes it and has been walked to the end (verifier.h, invariant 2). A branch to be taken later is
 * saved in the same form, as it is.
 *
 * - A state that includes another allows all that the other allows: each of its registers and stack
 *   bytes stands for all values of the other's, and registers that share a name (id) there share one in
 *   the other, too.
 * - An equal state on the current path means that the loop between them makes no progress: no bound of it
 *   can be shown, and the program is refused. States that are not walked to the end are all on the current
 *   path, because the walk goes depth first.
 * - Comparisons are work: for each COMPARED_A_STEP entries the budget of steps shrinks by one.
 *
 * Deliberately missing: widening. A loop is accepted only if walking it ends.
 */
#include "bpf/verifier/verifier.h"
#include "lib/mem.h"

#define SLOT_AT 16             /* entry.where of slot 0 */
#define SINCE_MIN 3            /* steps between saved states of a path */
#define LOOK_AT 64             /* newest finished states of an instruction that are compared */
#define LOOK_AT_OPEN 32        /* and unfinished ones, whose hashes are */
#define COMPARED_A_STEP 32
#define PAIRS 24               /* names in a comparison; with more, the states count as different */
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

/* A number matters if one of the same name does: what a jump says of one it says of both. Drops names that
 * are borne once. */
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

/* Of all that could matter, but names: equal states have equal hashes. */
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

/* --- inclusion --- */

struct pairs {
	uint32_t a[PAIRS], b[PAIRS];
	unsigned count;
};

/* True if a's name means the same everywhere in b, and the other way round. */
static bool same_name(struct pairs *p, uint32_t a, uint32_t b)
{
	if (!a || !b)
		return a == b;
	for (unsigned n = 0; n < p->count; n++)
		if (p->a[n] == a || p->b[n] == b)
			return p->a[n] == a && p->b[n] == b;
	if (p->count == PAIRS)
		return false;
	p->a[p->count] = a;
	p->b[p->count++] = b;
	return true;
}

/* A packet pointer that shares nothing with others, wherever its base is: where it points to, and how much
 * is known to lie behind it. */
static bool includes_pointer(const struct value *a, const struct value *b)
{
	if (a->s.smin < 0 || b->s.smin < 0 || a->s.smax > OFFSET_MAX || b->s.smax > OFFSET_MAX)
		return false;
	return a->s.smin + a->off <= b->s.smin + b->off && b->s.smax + b->off <= a->s.smax + a->off &&
		(a->range == NOTHING_PROVED ||
	     (b->range != NOTHING_PROVED && (int64_t)a->range - a->off <= (int64_t)b->range - b->off));
}

static bool includes_value(struct pairs *p, const struct value *a, const struct value *b, bool matters, bool alone)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case SCALAR:
		return !matters || (scalar_contains(&a->s, &b->s) && (!a->id || same_name(p, a->id, b->id)));
	case PACKET: case META:
		if (alone)
			return includes_pointer(a, b);
		return a->off == b->off && a->range <= b->range && scalar_contains(&a->s, &b->s) &&
			same_name(p, a->id, b->id);
	case VALUE:
		return a->map == b->map && a->off == b->off && scalar_contains(&a->s, &b->s);
	case MEMORY: case STACK:
		return a->frame == b->frame && a->off == b->off && a->range == b->range &&
			scalar_contains(&a->s, &b->s) && scalar_contains(&b->s, &a->s);
	case VALUE_OR_NULL:
		return a->map == b->map && same_name(p, a->id, b->id);
	case RESERVED: case RESERVED_OR_NULL:
		return a->off == b->off && a->range == b->range && scalar_contains(&a->s, &b->s) &&
			same_name(p, a->id, b->id);
	case MAP:
		return a->map == b->map;
	default:
		return a->off == b->off;
	}
}

static bool is_zero_spilled(const struct entry *e)
{
	return value_is_null(&e->value);
}

/* Bytes that the entry's slot has as a number, whatever number. */
static bool is_number(const struct entry *e, unsigned n)
{
	return e->byte[n] == BYTE_ANY || e->byte[n] == BYTE_ZERO ||
		(e->byte[n] == BYTE_SPILLED && e->value.kind == SCALAR);
}

static bool is_unknown(const struct value *x)
{
	return !x->id && scalar_contains(&x->s, &scalar_unknown);
}

static bool includes_slot(struct pairs *p, const struct entry *a, const struct entry *b, bool matters)
{
	const bool both_spilled = a->byte[0] == BYTE_SPILLED && !memcmp(a->byte, b->byte, sizeof a->byte);
	if (both_spilled && a->value.kind != NONE)
		return includes_value(p, &a->value, &b->value, matters, a->alone);
	/* a spilled number that is unknown, or does not matter, is any number */
	if (a->byte[0] == BYTE_SPILLED && (a->value.kind != SCALAR || (matters && !is_unknown(&a->value))))
		return false;
	for (unsigned n = 0; n < sizeof a->byte; n++) {
		if (a->byte[n] == BYTE_NONE)
			continue;
		if (!is_number(b, n))
			return false;
		if (a->byte[n] == BYTE_ZERO && matters && b->byte[n] != BYTE_ZERO &&
		    !(b->byte[n] == BYTE_SPILLED && is_zero_spilled(b)))
			return false;
	}
	return true;
}

static bool is_empty_slot(const struct entry *e)
{
	for (unsigned n = 0; n < sizeof e->byte; n++)
		if (e->byte[n] != BYTE_NONE)
			return false;
	return true;
}

static bool is_before(const struct entry *a, const struct entry *b)
{
	return a->frame < b->frame || (a->frame == b->frame && a->where < b->where);
}

static bool same_frames(const struct record *a, const struct record *b)
{
	if (a->depth != b->depth || a->reserved_count != b->reserved_count)
		return false;
	for (unsigned n = 1; n <= a->depth; n++)
		if (a->call[n] != b->call[n])
			return false;
	return true;
}

/* whatever_could: numbers that could matter are compared, not only those that do. The entries of both are
 * in the same order; what is missing is not initialised, or not live. */
static bool includes(struct verifier *v, const struct record *a, const struct record *b, bool whatever_could)
{
	struct pairs p = {.count = 0};
	if (!same_frames(a, b))
		return false;
	for (unsigned n = 0; n < a->reserved_count; n++)
		if (!same_name(&p, a->reserved[n], b->reserved[n]))
			return false;
	unsigned at = 0;
	for (unsigned n = 0; n < a->entries; n++) {
		const struct entry *e = &a->entry[n];
		v->compared++;
		while (at < b->entries && is_before(&b->entry[at], e))
			at++;
		if (at == b->entries || is_before(e, &b->entry[at])) {
			if (e->where < SLOT_AT || !is_empty_slot(e))
				return false;
			continue;
		}
		const struct entry *other = &b->entry[at];
		const bool matters = whatever_could ? e->could_matter : e->matters;
		if (e->where < SLOT_AT ? !includes_value(&p, &e->value, &other->value, matters, e->alone)
		                       : !includes_slot(&p, e, other, matters))
			return false;
	}
	return true;
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
			if (old->hash == r->hash && includes(v, old, r, true) && includes(v, r, old, true)) {
				verifier_refuse(v, "infinite loop: the program comes here again with nothing changed that "
				                   "could end the loop");
				return VISIT_REFUSED;
			}
		} else if (finished++ >= LOOK_AT) {
			break;
		} else if (includes(v, old, r, false)) {
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
