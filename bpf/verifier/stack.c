/*
 * The stack: what each byte of each frame holds.
 *
 * - A register stored whole into an aligned slot is spilled: a load of the slot gives it back as it was.
 *   A number may be spilled by its lower bytes, into the lower bytes of a slot.
 * - Other stores leave bytes that hold any number, or zero.
 * - A byte that was not written is not initialised, and neither are those of a pointer that was partly
 *   overwritten. Nothing reads them: neither a load nor a helper. So no address becomes a number here.
 * - At an offset that is a range, a store makes each byte that it may touch unknown, but initialises none.
 * - Alignment is not required. An address of a frame can be stored in the same frame only: it must not
 *   outlive the frame, and pointers.c relies on it.
 */
#include "bpf/verifier/verifier.h"
#include "lib/mem.h"

static unsigned slot_of(int64_t off) { return (unsigned)((-off - 1) / 8); }
static unsigned byte_of(int64_t off) { return (unsigned)(off & 7); } /* slots end at multiples of 8 */

static struct slot *slot_at(struct verifier *v, const struct value *p, int64_t off)
{
	return &v->frame[p->frame].slot[slot_of(off)];
}

/* Bytes first to last - 1 of the frame are what the access may touch. */
bool verifier_stack_range(struct verifier *v, unsigned r, int32_t off, uint64_t bytes, int64_t *first,
                          int64_t *last)
{
	const struct value *p = verifier_reg(v, r);
	if (p->s.smin < -OFFSET_MAX || p->s.smax > OFFSET_MAX)
		return verifier_refuse(v, "R%u points into the stack at an offset without bounds: compare it with "
		                          "constants first", r);
	*first = p->off + off + p->s.smin;
	*last = p->off + off + p->s.smax + (int64_t)bytes;
	if (*first < -BPF_STACK || *last > 0)
		return verifier_refuse(v, "R%u reaches the bytes R10%s%lld to R10%s%lld; the stack is R10-%u to R10-1", r,
		                       *first < 0 ? "" : "+", (long long)*first, *last < 1 ? "" : "+",
		                       (long long)(*last - 1), BPF_STACK);
	struct function *f = &v->functions[v->frame[p->frame].function];
	if (f->stack < (uint32_t)-*first)
		f->stack = (uint32_t)-*first;
	return true;
}

/* Invariant 4 of verifier.h. */
static bool is_live(struct verifier *v, const struct value *p, int64_t first, int64_t last)
{
	const struct needs n = verifier_needs(v, p->frame);
	return units_contain(n.stack_live, units_of(first, last - first)) ||
		verifier_refuse(v, "internal error: the stack is read where it was thought to be dead");
}

static bool readable_byte(struct verifier *v, unsigned r, int64_t off, bool *zero)
{
	const struct slot *s = slot_at(v, verifier_reg(v, r), off);
	switch (s->byte[byte_of(off)]) {
	case BYTE_ZERO:
		return true;
	case BYTE_ANY:
		*zero = false;
		return true;
	case BYTE_SPILLED:
		if (value_is_pointer(&s->spilled))
			return verifier_refuse(v, "the byte at R10%lld is part of %s, which is read only as a whole, by a "
			                          "load of 8 bytes", (long long)off, verifier_kind(&s->spilled));
		*zero = *zero && value_is_null(&s->spilled);
		return true;
	default:
		return verifier_refuse(v, "the byte of the stack at R10%lld is not initialised", (long long)off);
	}
}

static bool readable(struct verifier *v, unsigned r, int64_t first, int64_t last, bool *zero)
{
	*zero = true;
	if (!is_live(v, verifier_reg(v, r), first, last))
		return false;
	for (int64_t at = first; at < last; at++)
		if (!readable_byte(v, r, at, zero))
			return false;
	return true;
}

static unsigned spilled_bytes(const struct slot *s)
{
	unsigned n = 0;
	while (n < 8 && s->byte[n] == BYTE_SPILLED)
		n++;
	return n;
}

/* The lower bytes of a spilled register. */
static void restore(const struct slot *s, unsigned bytes, bool sign, struct value *result)
{
	*result = s->spilled;
	if (bytes == 8)
		return;
	if (sign || s->spilled.s.umax > UINT64_MAX >> (64 - 8 * bytes))
		result->id = 0;
	if (sign)
		scalar_sign_extend(&result->s, 8 * bytes);
	else
		scalar_zero_extend(&result->s, 8 * bytes);
}

bool verifier_stack_load(struct verifier *v, unsigned r, int32_t off, unsigned bytes, bool sign,
                         struct value *result)
{
	int64_t first, last;
	bool zero;
	if (!verifier_stack_range(v, r, off, bytes, &first, &last))
		return false;
	const struct value *p = verifier_reg(v, r);
	const struct slot *s = slot_at(v, p, first);
	if (scalar_is_const(&p->s) && !byte_of(first) && bytes <= spilled_bytes(s) &&
	    (bytes == 8 || s->spilled.kind == SCALAR)) {
		restore(s, bytes, sign, result);
		return is_live(v, p, first, last);
	}
	if (!readable(v, r, first, last, &zero))
		return false;
	*result = value_scalar(zero ? scalar_const(0) : scalar_loaded(bytes, sign));
	return true;
}

bool verifier_stack_read(struct verifier *v, unsigned r, uint64_t bytes)
{
	int64_t first, last;
	bool zero;
	return verifier_stack_range(v, r, 0, bytes, &first, &last) && readable(v, r, first, last, &zero);
}

/* A spilled register becomes bytes: part of it will be overwritten. */
static void break_up(struct slot *s)
{
	if (s->byte[0] != BYTE_SPILLED)
		return;
	const uint8_t left = value_is_pointer(&s->spilled) ? BYTE_NONE : value_is_null(&s->spilled) ? BYTE_ZERO : BYTE_ANY;
	for (unsigned n = 0; n < 8; n++)
		if (s->byte[n] == BYTE_SPILLED)
			s->byte[n] = left;
	s->spilled.kind = NONE;
}

/* The byte is certainly or perhaps overwritten. */
static void set_byte(struct verifier *v, const struct value *p, int64_t off, bool zero, bool certain)
{
	struct slot *s = slot_at(v, p, off);
	break_up(s);
	uint8_t *byte = &s->byte[byte_of(off)];
	if (certain)
		*byte = zero ? BYTE_ZERO : BYTE_ANY;
	else if (*byte == BYTE_ZERO && !zero)
		*byte = BYTE_ANY;
	v->frame[p->frame].used |= 1ull << slot_of(off);
}

static void spill(struct verifier *v, const struct value *p, int64_t off, unsigned bytes, const struct value *x)
{
	struct slot *s = slot_at(v, p, off);
	break_up(s);
	memset(s->byte, BYTE_SPILLED, bytes);
	s->spilled = *x;
	if (bytes < 8 && x->s.umax > UINT64_MAX >> (64 - 8 * bytes)) {
		scalar_zero_extend(&s->spilled.s, 8 * bytes);
		s->spilled.id = 0;
	}
	v->frame[p->frame].used |= 1ull << slot_of(off);
}

static bool may_be_stored(struct verifier *v, const struct value *p, int64_t off, unsigned bytes,
                          const struct value *x)
{
	if (!value_is_pointer(x))
		return true;
	if (bytes != 8 || byte_of(off) || !scalar_is_const(&p->s))
		return verifier_refuse(v, "%s can be stored only as a whole, at a constant offset that is a multiple of 8",
		                       verifier_kind(x));
	if (x->kind == STACK && p->frame != v->depth)
		return verifier_refuse(v, "an address of the stack cannot be stored in the frame of a calling function");
	return true;
}

bool verifier_stack_store(struct verifier *v, unsigned r, int32_t off, unsigned bytes, const struct value *x)
{
	int64_t first, last;
	if (!verifier_stack_range(v, r, off, bytes, &first, &last))
		return false;
	const struct value p = *verifier_reg(v, r);
	if (!may_be_stored(v, &p, first, bytes, x))
		return false;
	const bool certain = scalar_is_const(&p.s);
	if (certain && !byte_of(first)) {
		spill(v, &p, first, bytes, x);
		return true;
	}
	for (int64_t at = first; at < last; at++)
		set_byte(v, &p, at, value_is_null(x), certain);
	return true;
}

bool verifier_stack_fill(struct verifier *v, unsigned r, int32_t off, uint64_t least, uint64_t most)
{
	int64_t first, last;
	if (!verifier_stack_range(v, r, off, most, &first, &last))
		return false;
	const struct value p = *verifier_reg(v, r);
	for (int64_t at = first; at < last; at++)
		set_byte(v, &p, at, false, scalar_is_const(&p.s) && at < first + (int64_t)least);
	return true;
}
