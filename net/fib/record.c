/* See record.h. */
#include "net/fib/record.h"

#define KEY_BITS 128

static unsigned plen_of(const struct record_node *n) { return leaf_plen(n->leaf); }
static uint32_t nh_of(const struct record_node *n) { return leaf_nh(n->leaf); }

/* Bit i of a key, counted from the top; i < KEY_BITS. */
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

/* The first start_bits of a key as a number. */
static uint32_t start_of(const struct record *r, struct fib_key k)
{
	return (uint32_t)(k.hi >> 1 >> (63 - r->start_bits));
}

static void node_fill(const struct record *r, uint32_t n, struct fib_key k, uint32_t leaf,
                      uint32_t parent)
{
	struct record_node *node = record_at(r, n);
	*node = (struct record_node){.leaf = leaf, .parent = parent};
	node->prefix[0] = (uint32_t)(k.hi >> 32);
	if (r->node_bytes == record_node_bytes(32))
		return;
	node->prefix[1] = (uint32_t)k.hi;
	node->prefix[2] = (uint32_t)(k.lo >> 32);
	node->prefix[3] = (uint32_t)k.lo;
}

void record_init(struct record *r, unsigned bits, void *memory, uint32_t nodes,
                 struct record_start *start, unsigned start_bits)
{
	*r = (struct record){.nodes = memory,
	                     .node_bytes = (unsigned)record_node_bytes(bits),
	                     .free = {0, 1, nodes, 0},
	                     .start_bits = start_bits,
	                     .start = start};
	node_fill(r, 0, (struct fib_key){0, 0}, leaf_make(0, FIB_NH_NONE), 0);
	for (uint32_t i = 0; i < 1u << start_bits; i++)
		start[i] = (struct record_start){0, 0};
}

static bool covers(const struct record *r, const struct record_node *n, struct fib_key prefix,
                   unsigned plen)
{
	return plen_of(n) <= plen && common_bits(record_key(r, n), prefix, plen_of(n)) == plen_of(n);
}

uint32_t record_find(const struct record *r, struct fib_key prefix, unsigned plen)
{
	uint32_t at = plen >= r->start_bits ? r->start[start_of(r, prefix)].node : 0;
	while (plen_of(record_at(r, at)) < plen) {
		const struct record_node *n = record_at(r, at);
		uint32_t next = n->child[bit_at(prefix, plen_of(n))];
		if (next == 0 || !covers(r, record_at(r, next), prefix, plen))
			break;
		at = next;
	}
	return at;
}

/* The node of the longest prefix above `at`, not the root, that has a next hop; the root if there
 * is none. */
static uint32_t cover_of(const struct record *r, uint32_t at)
{
	const struct record_node *n = record_at(r, at);
	bool beyond = plen_of(n) > r->start_bits;
	const struct record_start *start = &r->start[start_of(r, record_key(r, n))];
	do {
		at = record_at(r, at)->parent;
		if (beyond && plen_of(record_at(r, at)) <= r->start_bits)
			return start->route;
	} while (at != 0 && nh_of(record_at(r, at)) == FIB_NH_NONE);
	return at;
}

uint32_t record_cover(const struct record *r, uint32_t at)
{
	return at == 0 ? leaf_make(0, FIB_NH_NONE) : record_at(r, cover_of(r, at))->leaf;
}

bool record_is_narrow(const struct record *r, uint32_t at)
{
	if (r->wide == 0)
		return true;
	uint32_t bits = nh_of(record_at(r, at));
	while (at != 0) {
		at = record_at(r, at)->parent;
		bits |= nh_of(record_at(r, at));
	}
	return bits < RECORD_NH_NARROW;
}

bool record_has_room(const struct record *r, uint32_t at, unsigned plen)
{
	return record_is_exact(r, at, plen) || number_pool_has(&r->free, 2);
}

/* The first start that a node covers; *count: how many, 0 if the node has more bits. */
static struct record_start *starts_of(const struct record *r, uint32_t n, uint32_t *count)
{
	unsigned plen = plen_of(record_at(r, n));
	*count = plen <= r->start_bits ? 1u << (r->start_bits - plen) : 0;
	return &r->start[start_of(r, record_key(r, record_at(r, n)))];
}

static uint32_t node_new(struct record *r, uint32_t parent, struct fib_key prefix, unsigned plen,
                         uint32_t nh)
{
	struct number_pool *p = &r->free;
	uint32_t n = p->head, count;
	if (p->listed) {
		p->head = record_at(r, n)->child[0];
		p->listed--;
	} else {
		n = p->fresh++;
	}
	node_fill(r, n, prefix, leaf_make(plen, nh), parent);
	struct record_start *start = starts_of(r, n, &count);
	for (uint32_t i = 0; i < count; i++)
		if (plen_of(record_at(r, start[i].node)) < plen)
			start[i].node = n;
	return n;
}

static void node_free(struct record *r, uint32_t n)
{
	uint32_t count;
	struct record_start *start = starts_of(r, n, &count);
	for (uint32_t i = 0; i < count; i++)
		if (start[i].node == n)
			start[i].node = record_at(r, n)->parent;
	record_at(r, n)->child[0] = r->free.head;
	r->free.head = n;
	r->free.listed++;
}

/* Makes n the child of parent on the side of its prefix. */
static void hang(struct record *r, uint32_t parent, uint32_t n)
{
	struct record_node *p = record_at(r, parent);
	p->child[bit_at(record_key(r, record_at(r, n)), plen_of(p))] = n;
	record_at(r, n)->parent = parent;
}

/* Inserts prefix/plen below `at`, which is not exact; returns its node. Makes at most two nodes. */
static uint32_t add(struct record *r, uint32_t at, struct fib_key prefix, unsigned plen, uint32_t nh)
{
	const struct record_node *above = record_at(r, at);
	uint32_t below = above->child[bit_at(prefix, plen_of(above))];
	uint32_t added = node_new(r, at, prefix, plen, nh);
	if (below == 0) {
		hang(r, at, added);
		return added;
	}
	/* the existing child is beside or below the new prefix */
	unsigned shared = common_bits(prefix, record_key(r, record_at(r, below)), plen);
	if (shared == plen) {
		hang(r, at, added);
		hang(r, added, below);
		return added;
	}
	uint32_t fork = node_new(r, at, fib_key_masked(prefix, shared), shared, FIB_NH_NONE);
	hang(r, at, fork);
	hang(r, fork, added);
	hang(r, fork, below);
	return added;
}

/* A node other than the root has become a route: updates the starts. */
static void route_begins(struct record *r, uint32_t n)
{
	uint32_t count;
	struct record_start *start = starts_of(r, n, &count);
	for (uint32_t i = 0; i < count; i++)
		if (plen_of(record_at(r, start[i].route)) < plen_of(record_at(r, n)))
			start[i].route = n;
}

/* A node other than the root is no longer a route: updates the starts. */
static void route_ends(struct record *r, uint32_t n)
{
	uint32_t count, cover;
	struct record_start *start = starts_of(r, n, &count);
	if (count == 0)
		return;
	cover = cover_of(r, n);
	for (uint32_t i = 0; i < count; i++)
		if (start[i].route == n)
			start[i].route = cover;
}

void record_set(struct record *r, uint32_t at, struct fib_key prefix, unsigned plen, uint32_t nh)
{
	uint32_t old = record_nh(r, at, plen);
	r->wide += (nh >= RECORD_NH_NARROW) - (old >= RECORD_NH_NARROW);
	if (record_is_exact(r, at, plen))
		record_at(r, at)->leaf = leaf_make(plen, nh);
	else
		at = add(r, at, prefix, plen, nh);
	r->count += old == FIB_NH_NONE;
	if (old == FIB_NH_NONE && at != 0)
		route_begins(r, at);
}

/* Removes a node with at most one child; the child takes its place. */
static void take_out(struct record *r, uint32_t n)
{
	const struct record_node *node = record_at(r, n);
	uint32_t only = node->child[0] ? node->child[0] : node->child[1];
	struct record_node *parent = record_at(r, node->parent);
	if (only)
		hang(r, node->parent, only);
	else
		parent->child[parent->child[1] == n] = 0;
	node_free(r, n);
}

/* Also removes a fork that has only one child left. */
void record_remove(struct record *r, uint32_t at)
{
	struct record_node *node = record_at(r, at);
	r->wide -= nh_of(node) >= RECORD_NH_NARROW;
	node->leaf = leaf_make(plen_of(node), FIB_NH_NONE);
	r->count--;
	if (at != 0)
		route_ends(r, at);
	if (at == 0 || (node->child[0] && node->child[1]))
		return;
	uint32_t parent = node->parent;
	take_out(r, at);
	const struct record_node *above = record_at(r, parent);
	if (parent != 0 && nh_of(above) == FIB_NH_NONE && !(above->child[0] && above->child[1]))
		take_out(r, parent);
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

/* True if all of the subtree of n comes before (key, plen). */
static bool all_before(const struct record *r, const struct record_node *n, struct fib_key key,
                       unsigned plen)
{
	struct fib_key zeros = fib_key_masked((struct fib_key){UINT64_MAX, UINT64_MAX}, plen_of(n));
	struct fib_key last = record_key(r, n);
	last = (struct fib_key){last.hi | ~zeros.hi, last.lo | ~zeros.lo};
	return before(last, KEY_BITS, key, plen);
}

/* First route in the subtree of n, in walk order; n itself if it is a route. NULL: the root,
 * without any route below. */
static const struct record_node *first_in(const struct record *r, uint32_t n)
{
	while (nh_of(record_at(r, n)) == FIB_NH_NONE) {
		const uint32_t *child = record_at(r, n)->child;
		n = child[0] ? child[0] : child[1];
		if (n == 0)
			return NULL;
	}
	return record_at(r, n);
}

const struct record_node *record_from(const struct record *r, struct fib_key key, unsigned plen)
{
	uint32_t n = 0, later = 0;
	for (;;) {
		const struct record_node *at = record_at(r, n);
		if (!before(record_key(r, at), plen_of(at), key, plen))
			return first_in(r, n);
		uint32_t left = at->child[0], right = at->child[1];
		if (left && !all_before(r, record_at(r, left), key, plen)) {
			later = right ? right : later;
			n = left;
		} else if (right && !all_before(r, record_at(r, right), key, plen)) {
			n = right;
		} else {
			return later ? first_in(r, later) : NULL;
		}
	}
}
