/*
 * Does a saved state include another (verifier.h, invariant 2)? It does if each of its registers and stack bytes
 * stands for all values of the other's, and registers that share a name (id) in it share one in the other, too.
 * So it allows all that the other allows.
 */
#include "bpf/verifier/verifier.h"
#include "lib/mem.h"

#define PAIRS 24               /* names in a comparison; with more, the states count as different */

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

/* The entries of both are in the same order; what is missing is not initialised, or not live. */
bool verifier_includes(struct verifier *v, const struct record *a, const struct record *b, bool whatever_could)
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
