/* See trie.h: the writer's side, for both families. Look-ups are in fib4.c and fib6.c. */
#include "net/fib/trie.h"

#include "lib/assert.h"
#include "lib/number.h"

/* --- sizes --- */

static size_t private_bytes(size_t trie_nodes, size_t rib_nodes)
{
	return align_up(sizeof(struct fib_rib), CACHE_LINE) + align_up(trie_nodes * 4, CACHE_LINE) +
	       rib_nodes * sizeof(struct rib_node);
}

static size_t nodes_in(size_t shared_bytes)
{
	return shared_bytes < sizeof(struct fib) ? 0
	                                         : (shared_bytes - sizeof(struct fib)) /
	                                                   (TRIE_NODE_ENTRIES * 4);
}

size_t trie_private_bytes(uint32_t nodes, uint32_t routes)
{
	/* a prefix is a node and adds at most one fork; the root; slack for one insertion */
	return private_bytes(nodes, 2 * (size_t)routes + 3);
}

/* --- the trie --- */

static void entry_store(uint32_t *e, uint32_t value)
{
	__atomic_store_n(e, value, __ATOMIC_RELAXED);
}

/* Levels of nodes that a prefix of this length goes down. */
static unsigned depth_of(unsigned plen)
{
	return plen <= 16 ? 0 : (plen - 16 + 7) / 8;
}

/* Where in a node of that level, from 1, a key leads: its byte number level + 1. */
static unsigned index_at(struct fib_key k, unsigned level)
{
	unsigned b = level + 1;
	return (b < 8 ? k.hi >> (56 - 8 * b) : k.lo >> (120 - 8 * b)) & 255;
}

static uint32_t *level1_at(struct fib *fib, struct fib_key k)
{
	return &fib->level1[k.hi >> 48];
}

/* Writes leaf over the leaves of length <= plen in n entries and all that hangs below
 * (invariant 1). Recursion is TRIE_DEPTH_MAX deep at most. */
static void paint(struct fib *fib, uint32_t *entry, unsigned n, unsigned plen, uint32_t leaf)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t e = entry[i];
		if (trie_is_node(e))
			paint(fib, fib->node[e & TRIE_VALUE], TRIE_NODE_ENTRIES, plen, leaf);
		else if (leaf_plen(e) <= plen && e != leaf)
			entry_store(&entry[i], leaf);
	}
}

/* The node that *entry leads to; made there, without changing any answer, when it is a leaf.
 * There is a free number (invariant 4). */
static uint32_t node_below(struct fib_writer *w, uint32_t *entry)
{
	struct fib_rib *r = w->rib;
	if (trie_is_node(*entry))
		return *entry & TRIE_VALUE;
	struct number_pool *p = &r->free;
	uint32_t n = p->head;
	if (p->listed) {
		p->head = r->link[n];
		p->listed--;
	} else {
		n = p->fresh++;
	}
	r->link[n] = 0;
	for (unsigned i = 0; i < TRIE_NODE_ENTRIES; i++)
		entry_store(&w->fib->node[n][i], *entry);
	__atomic_store_n(entry, TRIE_NODE | n, __ATOMIC_RELEASE);
	return n;
}

/* Takes one need off the node that *entry leads to; true when that was the last and the node has
 * been unlinked and retired. */
static bool node_unneed(struct fib_writer *w, uint32_t *entry)
{
	struct fib_rib *r = w->rib;
	uint32_t n = *entry & TRIE_VALUE;
	assert(trie_is_node(*entry) && r->link[n] > 0);
	if (--r->link[n] > 0)
		return false;
	const uint32_t *e = w->fib->node[n];
	assert(e[0] == e[TRIE_NODE_ENTRIES - 1] && !trie_is_node(e[0]));
	entry_store(entry, e[0]);
	r->link[n] = UINT32_MAX;
	if (r->retired_count++)
		r->link[r->retired_last] = n;
	else
		r->retired = n;
	r->retired_last = n;
	return true;
}

/* New nodes that prefix/plen needs. */
static unsigned nodes_needed(struct fib *fib, struct fib_key prefix, unsigned plen)
{
	unsigned depth = depth_of(plen), level = 0;
	uint32_t e = *level1_at(fib, prefix);
	while (level < depth && trie_is_node(e))
		e = fib->node[e & TRIE_VALUE][index_at(prefix, ++level)];
	return depth - level;
}

/* Makes `leaf` the answer for prefix/plen's part of the trie, and the nodes down to its level where
 * they are missing. Returns the node it ends in; UINT32_MAX: in level 1. */
static uint32_t set(struct fib_writer *w, struct fib_key prefix, unsigned plen, uint32_t leaf)
{
	struct fib *fib = w->fib;
	unsigned depth = depth_of(plen);
	uint32_t *e = level1_at(fib, prefix), n = UINT32_MAX;
	for (unsigned level = 1; level <= depth; level++) {
		if (level > 1)
			w->rib->link[n] += !trie_is_node(*e); /* the child to be made needs n */
		n = node_below(w, e);
		e = &fib->node[n][index_at(prefix, level)];
	}
	paint(fib, e, 1u << (16 + 8 * depth - plen), plen, leaf);
	return n;
}

/* prefix/plen, already painted over, no longer needs the node it ends in. */
static void unneed(struct fib_writer *w, struct fib_key prefix, unsigned plen)
{
	uint32_t *way[TRIE_DEPTH_MAX + 1];
	unsigned depth = depth_of(plen);
	way[0] = level1_at(w->fib, prefix);
	for (unsigned level = 1; level < depth; level++)
		way[level] = &w->fib->node[*way[level - 1] & TRIE_VALUE][index_at(prefix, level)];
	while (depth > 0 && node_unneed(w, way[depth - 1]))
		depth--;
}

/* --- interface --- */

int trie_init(struct fib_writer *w, unsigned bits, void *shared, size_t shared_bytes, void *priv,
              size_t priv_bytes)
{
	if (shared_bytes < sizeof(struct fib))
		return E_NOMEM;
	size_t trie_nodes = nodes_in(shared_bytes);
	if (trie_nodes > TRIE_VALUE)
		trie_nodes = TRIE_VALUE;
	size_t least = private_bytes(trie_nodes, 1);
	if (priv_bytes < least)
		return E_NOMEM;
	size_t rib_nodes = 1 + (priv_bytes - least) / sizeof(struct rib_node);
	if (rib_nodes > UINT32_MAX - 1)
		rib_nodes = UINT32_MAX - 1;

	uint8_t *p = priv;
	struct fib_rib *r = priv;
	*r = (struct fib_rib){.bits = bits, .free = {0, 0, (uint32_t)trie_nodes, 0}};
	p += align_up(sizeof *r, CACHE_LINE);
	r->link = (uint32_t *)(void *)p;
	p += align_up(trie_nodes * 4, CACHE_LINE);
	rib_init(&r->rib, (struct rib_node *)(void *)p, (uint32_t)rib_nodes);
	*w = (struct fib_writer){shared, r};
	for (unsigned i = 0; i < TRIE_L1_ENTRIES; i++)
		entry_store(&w->fib->level1[i], leaf_make(0, FIB_NH_NONE));
	return E_OK;
}

static bool prefix_is_valid(const struct fib_rib *r, struct fib_key prefix, unsigned plen)
{
	return plen <= r->bits && fib_key_equal(prefix, fib_key_masked(prefix, plen));
}

int trie_insert(struct fib_writer *w, struct fib_key prefix, unsigned plen, uint32_t nh)
{
	struct fib_rib *r = w->rib;
	if (!prefix_is_valid(r, prefix, plen) || nh == FIB_NH_NONE || nh >= FIB_NH_LIMIT)
		return E_INVAL;
	struct rib_path p = rib_find(&r->rib, prefix, plen);
	if (!rib_has_room(&r->rib, &p, plen) ||
	    !number_pool_has(&r->free, nodes_needed(w->fib, prefix, plen)))
		return E_NOMEM;
	bool is_new = rib_nh(&r->rib, &p, plen) == FIB_NH_NONE;
	rib_set(&r->rib, &p, prefix, plen, nh);
	uint32_t n = set(w, prefix, plen, leaf_make(plen, nh));
	if (is_new && n != UINT32_MAX)
		r->link[n]++;
	return E_OK;
}

int trie_remove(struct fib_writer *w, struct fib_key prefix, unsigned plen)
{
	struct fib_rib *r = w->rib;
	if (!prefix_is_valid(r, prefix, plen))
		return E_NOENT;
	struct rib_path p = rib_find(&r->rib, prefix, plen);
	if (rib_nh(&r->rib, &p, plen) == FIB_NH_NONE)
		return E_NOENT;
	/* without a cover the root's leaf stands for "no route" */
	uint32_t cover = p.at == 0 ? leaf_make(0, FIB_NH_NONE) : r->rib.node[p.cover].leaf;
	set(w, prefix, plen, cover);
	unneed(w, prefix, plen);
	rib_remove(&r->rib, &p);
	return E_OK;
}

uint32_t trie_get(const struct fib_writer *w, struct fib_key prefix, unsigned plen)
{
	const struct fib_rib *r = w->rib;
	if (!prefix_is_valid(r, prefix, plen))
		return FIB_NH_NONE;
	struct rib_path p = rib_find(&r->rib, prefix, plen);
	return rib_nh(&r->rib, &p, plen);
}

const struct rib_node *trie_next(const struct fib_writer *w, struct fib_cursor *cursor)
{
	const struct fib_key from = {cursor->hi, cursor->lo};
	const struct rib_node *n = rib_from(&w->rib->rib, from, cursor->plen);
	if (n)
		*cursor = (struct fib_cursor){n->prefix.hi, n->prefix.lo, leaf_plen(n->leaf) + 1};
	return n;
}

uint32_t fib_count(const struct fib_writer *w)
{
	return w->rib->rib.count;
}

uint32_t fib_retired(const struct fib_writer *w)
{
	return w->rib->retired_count;
}

void fib_reclaim(struct fib_writer *w)
{
	struct fib_rib *r = w->rib;
	if (r->retired_count == 0)
		return;
	r->link[r->retired_last] = r->free.head;
	r->free.head = r->retired;
	r->free.listed += r->retired_count;
	r->retired_count = 0;
}
