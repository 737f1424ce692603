/*
 * Loads, stores and atomic operations (RFC 9669 5), and the bounds of memory other than the stack.
 *
 * - Packet: not before its start, by the least offset that the pointer may have; not behind the end, by the
 *   proved range (branch.c). Map values, reserved memory: their size, for all values of the offset.
 * - The context is read by aligned loads of its 32-bit fields, and never written.
 * - Addresses are stored in the stack only. In Linux a privileged program may store them in maps and
 *   packets; here nothing that other cores, operators or the wire can read has an address. A program may
 *   compare pointers and print numbers made of them: that reveals where things are, but gives no access,
 *   because a number never becomes a pointer.
 * - The value of a read-only data section is a constant of the object: a load of it gives the number
 *   itself.
 */
#include "bpf/insn_text.h"
#include "bpf/verifier/verifier.h"
#include "bpf/xdp.h"

/* --- bounds --- */

static bool in_packet(struct verifier *v, unsigned r, int64_t off, uint64_t bytes)
{
	const struct value *p = verifier_reg(v, r);
	const char *end = p->kind == META ? "data" : "data_end";
	if (p->s.smin < 0 || p->s.smin + off < 0)
		return verifier_refuse(v, "R%u is %s: the access may start %lld bytes before the packet; check that the offset "
		                          "is not negative, or mask it", r, verifier_kind(p), -(long long)(p->s.smin + off));
	if (p->range == NOTHING_PROVED)
		return verifier_refuse(v, "R%u is %s that was not compared with %s on this path", r, verifier_kind(p), end);
	if (off + (int64_t)bytes > p->range)
		return verifier_refuse(v, "R%u is %s: the access ends at byte %lld, but %s is known to be at byte %d or "
		                          "behind only", r, verifier_kind(p), (long long)(off + (int64_t)bytes), end, p->range);
	return true;
}

static bool in_size(struct verifier *v, unsigned r, int64_t off, uint64_t bytes, uint64_t size)
{
	const struct value *p = verifier_reg(v, r);
	if (p->s.smin < -OFFSET_MAX || p->s.smin + off < 0)
		return verifier_refuse(v, "R%u is %s: the offset may be as low as %lld; check that it is not negative", r,
		                       verifier_kind(p), (long long)(p->s.smin + off));
	if (p->s.smax > OFFSET_MAX)
		return verifier_refuse(v, "R%u is %s with an offset that has no upper bound: compare it with a constant, or "
		                          "mask it", r, verifier_kind(p));
	if ((uint64_t)(p->s.smax + off) + bytes > size)
		return verifier_refuse(v, "R%u is %s of %llu bytes: the access may end at byte %llu", r, verifier_kind(p),
		                       (unsigned long long)size, (unsigned long long)((uint64_t)(p->s.smax + off) + bytes));
	return true;
}

static bool is_read_only(const struct bpf_map_def *map)
{
	const uint32_t ports = 1u << BPF_MAP_DEVMAP | 1u << BPF_MAP_DEVMAP_HASH | 1u << BPF_MAP_XSKMAP;
	return map->flags & BPF_F_RDONLY_PROG || (ports >> map->type & 1);
}

static bool map_allows(struct verifier *v, unsigned r, enum access access)
{
	const struct bpf_map_def *map = &v->maps[verifier_reg(v, r)->map];
	if (access == ACCESS_READ ? map->flags & BPF_F_WRONLY_PROG : is_read_only(map))
		return verifier_refuse(v, "programs cannot %s map %s", access == ACCESS_READ ? "read" : "write", map->name);
	return true;
}

bool verifier_access(struct verifier *v, unsigned r, int32_t insn_off, uint64_t bytes, enum access access)
{
	const struct value *p = verifier_reg(v, r);
	const int64_t off = (int64_t)p->off + insn_off;
	switch (p->kind) {
	case PACKET: case META:
		if (access != ACCESS_READ)
			v->verdict->writes_packet = true;
		return in_packet(v, r, off, bytes);
	case VALUE:
		return map_allows(v, r, access) && in_size(v, r, off, bytes, v->maps[p->map].value_bytes);
	case MEMORY: case RESERVED:
		return in_size(v, r, off, bytes, (uint32_t)p->range);
	case VALUE_OR_NULL: case RESERVED_OR_NULL:
		return verifier_refuse(v, "R%u is %s: compare it with 0 first", r, verifier_kind(p));
	default:
		return verifier_refuse(v, "R%u is %s, not a pointer to memory", r, verifier_kind(p));
	}
}

/* The compiler translates loads of the context by their instruction, so one instruction is one or the
 * other on all paths. */
static bool use_memory(struct verifier *v, unsigned r)
{
	struct insn_info *info = &v->info[v->insn];
	const uint8_t use = verifier_reg(v, r)->kind == CONTEXT ? MEMORY_CONTEXT : MEMORY_OTHER;
	if (info->memory && info->memory != use)
		return verifier_refuse(v, "R%u is the context on one path and another pointer on another", r);
	info->memory = use;
	return true;
}

/* --- loads --- */

static bool load_context(struct verifier *v, const struct bpf_insn *i, struct value *result)
{
	const struct value *p = verifier_reg(v, i->src);
	unsigned offset, bytes;
	if (p->off || !scalar_is_const(&p->s))
		return verifier_refuse(v, "R%u is the context with an offset added; fields are read at constant offsets "
		                          "from the context itself", i->src);
	if (bpf_bytes(i) != 4 || (i->opcode & 0xe0) != BPF_MEM || i->offset < 0 ||
	    !xdp_field((unsigned)i->offset, &offset, &bytes))
		return verifier_refuse(v, "R%u is the context: struct xdp_md has no 32-bit field at offset %d that can be "
		                          "read so", i->src, i->offset);
	*result = value_scalar(scalar_loaded(4, false));
	if (i->offset == XDP_MD_DATA || i->offset == XDP_MD_DATA_META || i->offset == XDP_MD_DATA_END)
		*result = (struct value){.kind = i->offset == XDP_MD_DATA ? PACKET : i->offset == XDP_MD_DATA_END ? END : META,
			.range = i->offset == XDP_MD_DATA ? 0 : NOTHING_PROVED, .s = scalar_const(0)};
	v->notes[v->insn].kind = BPF_NOTE_CONTEXT;
	return true;
}

/* A load of a section that nobody writes. */
static bool load_constant(struct verifier *v, const struct bpf_insn *i, struct value *result)
{
	const struct value *p = verifier_reg(v, i->src);
	if (p->kind != VALUE || !scalar_is_const(&p->s))
		return false;
	const struct bpf_map_def *map = &v->maps[p->map];
	if (!map->is_data || !(map->flags & BPF_F_RDONLY_PROG))
		return false;
	const int64_t at = (int64_t)p->off + i->offset + p->s.smin;
	uint64_t x = 0;
	for (unsigned n = 0; n < bpf_bytes(i) && map->initial; n++)
		x |= (uint64_t)map->initial[at + n] << 8 * n;
	*result = value_scalar(scalar_const(x));
	if ((i->opcode & 0xe0) == BPF_MEMSX)
		scalar_sign_extend(&result->s, 8 * bpf_bytes(i));
	return true;
}

bool verifier_load(struct verifier *v, const struct bpf_insn *i)
{
	const bool sign = (i->opcode & 0xe0) == BPF_MEMSX;
	struct value result;
	if (!verifier_readable(v, i->src) || !use_memory(v, i->src))
		return false;
	const uint8_t kind = verifier_reg(v, i->src)->kind;
	if (kind == CONTEXT) {
		if (!load_context(v, i, &result))
			return false;
	} else if (kind == STACK) {
		if (!verifier_stack_load(v, i->src, i->offset, bpf_bytes(i), sign, &result))
			return false;
	} else {
		if (!verifier_access(v, i->src, i->offset, bpf_bytes(i), ACCESS_READ))
			return false;
		if (!load_constant(v, i, &result))
			result = value_scalar(scalar_loaded(bpf_bytes(i), sign));
	}
	*verifier_reg(v, i->dst) = result;
	return true;
}

bool verifier_wide(struct verifier *v, const struct bpf_insn *i)
{
	struct value *dst = verifier_reg(v, i->dst);
	*dst = value_scalar(scalar_const((uint64_t)(uint32_t)i[1].imm << 32 | (uint32_t)i->imm));
	if (i->src == BPF_WIDE_NUMBER)
		return true;
	const struct bpf_map_def *map = &v->maps[i->imm];
	*dst = (struct value){.kind = MAP, .map = (uint8_t)i->imm, .s = scalar_const(0)};
	if (i->src == BPF_WIDE_MAP)
		return true;
	if ((uint32_t)i[1].imm >= map->value_bytes)
		return verifier_refuse(v, "the offset %u is not in the value of map %s, which has %u bytes",
		                       (uint32_t)i[1].imm, map->name, map->value_bytes);
	dst->kind = VALUE;
	dst->off = i[1].imm;
	return true;
}

/* --- stores --- */

bool verifier_store(struct verifier *v, const struct bpf_insn *i)
{
	const bool from_reg = bpf_class(i) == BPF_STX;
	if (!verifier_readable(v, i->dst) || (from_reg && !verifier_readable(v, i->src)) || !use_memory(v, i->dst))
		return false;
	const uint8_t kind = verifier_reg(v, i->dst)->kind;
	struct value imm = value_scalar(scalar_const((uint64_t)(int64_t)i->imm));
	struct value *x = from_reg ? verifier_reg(v, i->src) : &imm;
	if (kind == CONTEXT)
		return verifier_refuse(v, "R%u is the context, which programs cannot write; helpers such as "
		                          "bpf_xdp_adjust_head change it", i->dst);
	if (kind == STACK) {
		if (x->kind == SCALAR && !scalar_is_const(&x->s) && !x->id)
			x->id = ++v->last_id;
		return verifier_stack_store(v, i->dst, i->offset, bpf_bytes(i), x);
	}
	if (!verifier_access(v, i->dst, i->offset, bpf_bytes(i), ACCESS_WRITE))
		return false;
	if (value_is_pointer(x))
		return verifier_refuse(v, "R%u is %s: addresses can be stored in the stack only", i->src, verifier_kind(x));
	return true;
}

static bool is_aligned(const struct value *p, int32_t off, unsigned bytes)
{
	const uint64_t fixed = p->s.t.value + (uint64_t)((int64_t)p->off + off);
	return !((fixed | p->s.t.mask) & (bytes - 1));
}

/* 5.3. The packet is refused, as in Linux: nobody else looks at it. */
bool verifier_atomic(struct verifier *v, const struct bpf_insn *i)
{
	const unsigned bytes = bpf_bytes(i);
	const bool compares = i->imm == BPF_CMPXCHG, fetches = i->imm & BPF_FETCH;
	if (!verifier_readable(v, i->dst) || !verifier_readable(v, i->src) ||
	    (compares && !verifier_readable(v, BPF_R0)) || !use_memory(v, i->dst))
		return false;
	const struct value *p = verifier_reg(v, i->dst);
	for (unsigned n = 0; n <= compares; n++) {
		const unsigned r = n ? BPF_R0 : i->src;
		if (value_is_pointer(verifier_reg(v, r)))
			return verifier_refuse(v, "R%u is %s: atomic operations work on numbers", r,
			                       verifier_kind(verifier_reg(v, r)));
	}
	if (p->kind == PACKET || p->kind == META || p->kind == CONTEXT)
		return verifier_refuse(v, "R%u is %s: atomic operations work on map values and the stack", i->dst,
		                       verifier_kind(p));
	struct value result;
	if (p->kind == STACK) {
		const struct value any = value_scalar(scalar_loaded(bytes, false));
		if (!verifier_stack_load(v, i->dst, i->offset, bytes, false, &result) ||
		    !verifier_stack_store(v, i->dst, i->offset, bytes, &any))
			return false;
		if (value_is_pointer(&result))
			return verifier_refuse(v, "the stack holds %s there: atomic operations work on numbers",
			                       verifier_kind(&result));
	} else if (!verifier_access(v, i->dst, i->offset, bytes, ACCESS_READ) ||
	           !verifier_access(v, i->dst, i->offset, bytes, ACCESS_WRITE)) {
		return false;
	}
	if (!is_aligned(p, i->offset, bytes))
		return verifier_refuse(v, "R%u + %d is not known to be a multiple of %u, as an atomic operation needs",
		                       i->dst, i->offset, bytes);
	if (compares || fetches)
		*verifier_reg(v, compares ? BPF_R0 : i->src) = value_scalar(scalar_loaded(bytes, false));
	return true;
}

/* --- helpers --- */

bool verifier_helper_memory(struct verifier *v, unsigned r, uint64_t least, uint64_t most, enum access access,
                            bool packet)
{
	const struct value *p = verifier_reg(v, r);
	if (p->kind == STACK)
		return access == ACCESS_READ ? verifier_stack_read(v, r, most)
		                             : verifier_stack_fill(v, r, 0, least, most);
	if ((p->kind == PACKET || p->kind == META) && !packet)
		return verifier_refuse(v, "R%u is %s: this helper takes no memory of the packet; copy it to the stack", r,
		                       verifier_kind(p));
	return verifier_access(v, r, 0, most, access);
}
