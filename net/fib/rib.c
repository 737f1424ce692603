/* See rib.h. */
#include "net/fib/rib.h"

#define KEY_BITS 128

static unsigned plen_of(const struct rib_node *n) { return leaf_plen(n->leaf); }
static uint32_t nh_of(const struct rib_node *n) { return leaf_nh(n->leaf); }

/* Bit number i of a key from the top, i < KEY_BITS. */
static unsigned bit_at(struct fib_key k, unsigned i)
{
	return (i < 64 ? k.hi >> (63 - i) : k.lo >> (127 - i)) & 1;
}

/* Leading bits that a and b share, at most max. */
static unsigned common_bits(struct fib_key a, struct fib_key b, unsigned max)
{
	unsigned n = a.hi != b.hi   ? (unsigned)__builtin_clzll(a.hi ^ b.hi)
	             : a.lo != b.lo ? 64 + (unsigned)__builtin_clzll(a.lo ^ b.lo)
	                            : KEY_BITS;
	return n < max ? n : max;
}

void rib_init(struct rib *r, struct rib_node *memory, uint32_t nodes)
{
	*r = (struct rib){.node = memory, .free = {0, 1, nodes, 0}};
	r->node[0] = (struct rib_node){.leaf = leaf_make(0, FIB_NH_NONE)};
}

static bool covers(const struct rib_node *n, struct fib_key prefix, unsigned plen)
{
	return plen_of(n) <= plen && common_bits(n->prefix, prefix, plen_of(n)) == plen_of(n);
}

struct rib_path rib_find(const struct rib *r, struct fib_key prefix, unsigned plen)
{
	struct rib_path p = {0};
	while (plen_of(&r->node[p.at]) < plen) {
		const struct rib_node *n = &r->node[p.at];
		if (nh_of(n) != FIB_NH_NONE)
			p.cover = p.at;
		p.nh_bits |= nh_of(n);
		uint32_t next = n->child[bit_at(prefix, plen_of(n))];
		if (next == 0 || !covers(&r->node[next], prefix, plen))
			break;
		p.grand = p.parent;
		p.parent = p.at;
		p.at = next;
	}
	return p;
}

bool rib_has_room(const struct rib *r, const struct rib_path *p, unsigned plen)
{
	return rib_is_exact(r, p, plen) || number_pool_has(&r->free, 2);
}

static uint32_t node_new(struct rib *r, struct fib_key prefix, unsigned plen, uint32_t nh)
{
	struct number_pool *p = &r->free;
	uint32_t n = p->head;
	if (p->listed) {
		p->head = r->node[n].child[0];
		p->listed--;
	} else {
		n = p->fresh++;
	}
	r->node[n] = (struct rib_node){prefix, leaf_make(plen, nh), {0, 0}};
	return n;
}

static void node_free(struct rib *r, uint32_t n)
{
	r->node[n].child[0] = r->free.head;
	r->free.head = n;
	r->free.listed++;
}

/* Enters prefix/plen below p->at, which is not exact. At most two new nodes. */
static void add(struct rib *r, const struct rib_path *p, struct fib_key prefix, unsigned plen,
                uint32_t nh)
{
	struct rib_node *at = &r->node[p->at];
	uint32_t *link = &at->child[bit_at(prefix, plen_of(at))];
	uint32_t added = node_new(r, prefix, plen, nh);
	if (*link == 0) {
		*link = added;
		return;
	}
	/* the child there is beside or below the new prefix */
	uint32_t below = *link;
	struct fib_key below_prefix = r->node[below].prefix;
	unsigned shared = common_bits(prefix, below_prefix, plen);
	if (shared == plen) {
		r->node[added].child[bit_at(below_prefix, plen)] = below;
		*link = added;
		return;
	}
	uint32_t fork = node_new(r, fib_key_masked(prefix, shared), shared, FIB_NH_NONE);
	r->node[fork].child[bit_at(prefix, shared)] = added;
	r->node[fork].child[bit_at(below_prefix, shared)] = below;
	*link = fork;
}

void rib_set(struct rib *r, const struct rib_path *p, struct fib_key prefix, unsigned plen,
             uint32_t nh)
{
	r->count += rib_nh(r, p, plen) == FIB_NH_NONE;
	if (rib_is_exact(r, p, plen))
		r->node[p->at].leaf = leaf_make(plen, nh);
	else
		add(r, p, prefix, plen, nh);
}

/* Puts `to` where parent's child n was. */
static void relink(struct rib *r, uint32_t parent, uint32_t n, uint32_t to)
{
	struct rib_node *p = &r->node[parent];
	p->child[p->child[1] == n] = to;
}

/* With the route goes every fork that no longer forks. */
void rib_remove(struct rib *r, const struct rib_path *p)
{
	struct rib_node *at = &r->node[p->at];
	at->leaf = leaf_make(plen_of(at), FIB_NH_NONE);
	r->count--;
	if (p->at == 0 || (at->child[0] && at->child[1]))
		return;
	uint32_t only = at->child[0] ? at->child[0] : at->child[1];
	relink(r, p->parent, p->at, only);
	node_free(r, p->at);
	struct rib_node *parent = &r->node[p->parent];
	if (only || p->parent == 0 || nh_of(parent) != FIB_NH_NONE)
		return;
	/* a fork has lost one of its two */
	relink(r, p->grand, p->parent, parent->child[0] ? parent->child[0] : parent->child[1]);
	node_free(r, p->parent);
}

/* --- the walk --- */

/* (a, plen_a) comes before (b, plen_b). */
static bool before(struct fib_key a, unsigned plen_a, struct fib_key b, unsigned plen_b)
{
	if (a.hi != b.hi)
		return a.hi < b.hi;
	if (a.lo != b.lo)
		return a.lo < b.lo;
	return plen_a < plen_b;
}

/* Everything in the subtree of n comes before (key, plen). */
static bool all_before(const struct rib_node *n, struct fib_key key, unsigned plen)
{
	struct fib_key zeros = fib_key_masked((struct fib_key){UINT64_MAX, UINT64_MAX}, plen_of(n));
	struct fib_key last = {n->prefix.hi | ~zeros.hi, n->prefix.lo | ~zeros.lo};
	return before(last, KEY_BITS, key, plen);
}

/* First route in the subtree of n, in the order of the walk; n itself when it is one. NULL: a root
 * below which there is none. */
static const struct rib_node *first_in(const struct rib *r, uint32_t n)
{
	while (nh_of(&r->node[n]) == FIB_NH_NONE) {
		const uint32_t *child = r->node[n].child;
		n = child[0] ? child[0] : child[1];
		if (n == 0)
			return NULL;
	}
	return &r->node[n];
}

const struct rib_node *rib_from(const struct rib *r, struct fib_key key, unsigned plen)
{
	uint32_t n = 0, later = 0;
	for (;;) {
		const struct rib_node *at = &r->node[n];
		if (!before(at->prefix, plen_of(at), key, plen))
			return first_in(r, n);
		uint32_t left = at->child[0], right = at->child[1];
		if (left && !all_before(&r->node[left], key, plen)) {
			later = right ? right : later;
			n = left;
		} else if (right && !all_before(&r->node[right], key, plen)) {
			n = right;
		} else {
			return later ? first_in(r, later) : NULL;
		}
	}
}
