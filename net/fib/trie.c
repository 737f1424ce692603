/* See trie.h: the writer's side, for both families. Look-ups are in fib4.c and fib6.c. */
#include "net/fib/trie.h"

#include "lib/assert.h"
#include "lib/number.h"

#define FULL_ROOM ((size_t)13 << 20) /* node memory of a table for 700,000 IPv4 prefixes */

/* A node, or the first level (its order exceeds a node's). */
struct node {
	uint32_t at; /* in room[] */
	uint8_t order, width;
};

/* An entry of a node. */
struct slot {
	struct node node;
	uint32_t index;
};

/* A leaf with its writer-private length. */
struct leaf {
	uint32_t nh;
	unsigned plen;
};

/* --- sizes --- */

size_t trie_shared_bytes(unsigned top, size_t nodes)
{
	return sizeof(struct fib) + trie_top_bytes(top) + align_up(nodes, BLOCK_LARGEST);
}

/* The memory for nodes in a shared part, which must hold at least the first level. */
static size_t room_in(unsigned top, size_t shared_bytes)
{
	size_t room = align_down(shared_bytes - trie_shared_bytes(top, 0), BLOCK_LARGEST);
	size_t most = TRIE_ROOM_MAX - trie_top_bytes(top);
	return room < most ? room : most;
}

/* Index bits of the record's start table. A full table can afford 8 MiB more, for enough bits that
 * dense parts of the tree need only a few steps. Smaller IPv4 tables use fewer bits. IPv6 uses
 * almost none, since its first bits hardly differ. */
static unsigned start_bits(unsigned top, size_t room)
{
	return room >= FULL_ROOM ? 20 : top == TRIE_TOP4 ? 16 : 4;
}

/* Bytes of the private part other than the nodes of the record. */
static size_t fixed_private_bytes(unsigned top, size_t room)
{
	return align_up(sizeof(struct fib_private), CACHE_LINE) + ((size_t)1 << top) + blocks_memory(room) +
	       (sizeof(struct record_start) << start_bits(top, room));
}

static unsigned bits_of(unsigned top) { return top == TRIE_TOP4 ? 32 : 128; }

size_t trie_private_bytes(unsigned top, uint32_t routes, size_t shared_bytes)
{
	/* each prefix is a node and adds at most one fork; plus the root, and slack for one
	 * insertion */
	return fixed_private_bytes(top, room_in(top, shared_bytes)) +
	       (2 * (size_t)routes + 3) * record_node_bytes(bits_of(top));
}

/* --- levels --- */

/* The first bit that a level's nodes decide; after the last level: the number of bits. */
static unsigned level_start(const struct fib_private *r, unsigned level)
{
	return level == 0 ? 0 : level == 1 ? r->top : 8 * (level + 1);
}

/* The number of bits that a level decides. */
static unsigned level_order(const struct fib_private *r, unsigned level)
{
	return level_start(r, level + 1) - level_start(r, level);
}

/* The level in which a prefix of this length ends. */
static unsigned level_of(const struct fib_private *r, unsigned plen)
{
	return plen <= r->top ? 0 : (plen - 1) / 8 - 1;
}

/* --- nodes --- */

static struct node top_node(const struct fib_private *r)
{
	return (struct node){0, (uint8_t)r->top, 2};
}

static struct node node_of(uint32_t entry)
{
	return (struct node){(entry & TRIE_PLACE_MASK) * BLOCK_UNIT,
	                     entry >> TRIE_ORDER_SHIFT & TRIE_ORDER_MASK,
	                     entry >> TRIE_WIDTH_SHIFT & 3};
}

static uint32_t entry_of(struct node n)
{
	return TRIE_NODE | (uint32_t)n.width << TRIE_WIDTH_SHIFT |
	       (uint32_t)n.order << TRIE_ORDER_SHIFT | n.at / BLOCK_UNIT;
}

static bool is_top(struct node n) { return n.order > 8; }

/* The first of a node's entries that key leads to. */
static uint32_t index_of(struct node n, unsigned start, struct fib_key key)
{
	uint64_t from = start < 64 ? key.hi << start : key.lo << (start - 64);
	return (uint32_t)(from >> (64 - n.order));
}

static unsigned block_order(struct node n)
{
	unsigned order = n.order + n.width;
	return order < 3 ? 0 : order - 3;
}

/* The area of blocks begins behind the first level. */
static uint32_t block_at(const struct fib_private *r, struct node n)
{
	return n.at - (uint32_t)trie_top_bytes(r->top);
}

/* The lengths of a node's leaves, kept in the block's scratch. */
static uint8_t *lengths_of(const struct fib_private *r, struct node n)
{
	return is_top(n) ? r->top_length : &r->blocks.scratch[block_at(r, n)];
}

static uint32_t entry_load(const struct fib *fib, struct node n, uint32_t i)
{
	const void *p = &fib->room[n.at + (i << n.width)];
	return n.width == 0 ? *(const uint8_t *)p : n.width == 1 ? *(const uint16_t *)p
	                                                         : *(const uint32_t *)p;
}

static void entry_store(struct fib *fib, struct node n, uint32_t i, uint32_t value)
{
	void *p = &fib->room[n.at + (i << n.width)];
	if (n.width == 0)
		__atomic_store_n((uint8_t *)p, (uint8_t)value, __ATOMIC_RELAXED);
	else if (n.width == 1)
		__atomic_store_n((uint16_t *)p, (uint16_t)value, __ATOMIC_RELAXED);
	else
		__atomic_store_n((uint32_t *)p, value, __ATOMIC_RELAXED);
}

static void leaf_store(struct fib_writer *w, struct node n, uint32_t i, struct leaf leaf)
{
	lengths_of(w->priv, n)[i] = (uint8_t)leaf.plen;
	entry_store(w->fib, n, i, leaf.nh);
}

static struct leaf leaf_load(const struct fib_writer *w, struct slot s)
{
	return (struct leaf){entry_load(w->fib, s.node, s.index), lengths_of(w->priv, s.node)[s.index]};
}

/* The child node of an entry. */
static struct node child_at(const struct fib_writer *w, struct slot s)
{
	return node_of(entry_load(w->fib, s.node, s.index));
}

static bool has_child(const struct fib_writer *w, struct slot s)
{
	return lengths_of(w->priv, s.node)[s.index] == TRIE_IS_NODE;
}

static void node_link(struct fib_writer *w, struct slot s, struct node child)
{
	lengths_of(w->priv, s.node)[s.index] = TRIE_IS_NODE;
	__atomic_store_n((uint32_t *)(void *)&w->fib->room[s.node.at + s.index * 4], entry_of(child),
	                 __ATOMIC_RELEASE);
}

static struct node node_new(struct fib_writer *w, unsigned order, unsigned width)
{
	struct node n = {0, (uint8_t)order, (uint8_t)width};
	n.at = blocks_take(&w->priv->blocks, block_order(n)) + (uint32_t)trie_top_bytes(w->priv->top);
	return n;
}

static void node_retire(struct fib_writer *w, struct node n)
{
	blocks_retire(&w->priv->blocks, block_at(w->priv, n), block_order(n));
}

/* A new node with the same answers and children as `old`; not linked. */
static struct node node_copy(struct fib_writer *w, struct node old, unsigned order, unsigned width)
{
	struct node n = node_new(w, order, width);
	const uint8_t *from = lengths_of(w->priv, old);
	uint8_t *to = lengths_of(w->priv, n);
	for (uint32_t i = 0; i < 1u << order; i++) {
		uint32_t was = order >= old.order ? i >> (order - old.order) : i << (old.order - order);
		to[i] = from[was];
		entry_store(w->fib, n, i, entry_load(w->fib, old, was));
	}
	return n;
}

/* A new node with this leaf in all entries; not linked. */
static struct node node_filled(struct fib_writer *w, unsigned order, unsigned width,
                               struct leaf leaf)
{
	struct node n = node_new(w, order, width);
	for (uint32_t i = 0; i < 1u << order; i++)
		leaf_store(w, n, i, leaf);
	return n;
}

/* Replaces the child of an entry by a copy of another size. */
static void node_replace(struct fib_writer *w, struct slot s, unsigned order, unsigned width)
{
	struct node old = child_at(w, s);
	node_link(w, s, node_copy(w, old, order, width));
	node_retire(w, old);
}

/* --- painting --- */

/* Writes `leaf` over the leaves of length <= plen in n entries and everything below them (invariant
 * 1). Widens nodes there as needed (invariant 6). Recursion is 14 deep at
 * most, the levels of nodes of IPv6: (128 - TRIE_TOP6) / 8. */
static void paint(struct fib_writer *w, struct slot s, uint32_t n, unsigned plen, struct leaf leaf)
{
	const uint8_t *length = lengths_of(w->priv, s.node);
	for (uint32_t end = s.index + n; s.index < end; s.index++) {
		if (length[s.index] <= plen) {
			leaf_store(w, s.node, s.index, leaf);
		} else if (length[s.index] == TRIE_IS_NODE) {
			struct node child = child_at(w, s);
			if (child.width == 0 && leaf.nh >= RECORD_NH_NARROW) {
				node_replace(w, s, child.order, 1);
				child = child_at(w, s);
			}
			paint(w, (struct slot){child, 0}, 1u << child.order, plen, leaf);
		}
	}
}

/* Counts the blocks that paint() takes to widen nodes. */
static void count_narrow(const struct fib_writer *w, struct slot s, uint32_t n,
                         struct block_needs *needs)
{
	for (uint32_t end = s.index + n; s.index < end; s.index++) {
		if (!has_child(w, s))
			continue;
		struct node child = child_at(w, s);
		if (child.width == 0) {
			child.width = 1;
			needs->of[block_order(child)]++;
		} else if (child.width == 2) {
			count_narrow(w, (struct slot){child, 0}, 1u << child.order, needs);
		}
	}
}

/* The number of entries that a prefix of this length covers in the node in which it ends. */
static uint32_t entries_of(struct node n, unsigned start, unsigned plen)
{
	assert(start + n.order >= plen);
	return 1u << (start + n.order - plen);
}

/* --- descent --- */

/* The entry that leads to the node at *level for key. If nodes are missing, *level is lowered to
 * the first missing one. Not for level 0, to which no entry leads. */
static struct slot way_to(const struct fib_writer *w, struct fib_key key, unsigned *level)
{
	struct slot s = {top_node(w->priv), 0};
	s.index = index_of(s.node, 0, key);
	for (unsigned l = 1; l < *level; l++) {
		if (!has_child(w, s) || child_at(w, s).width < 2) {
			*level = l;
			break;
		}
		s.node = child_at(w, s);
		s.index = index_of(s.node, level_start(w->priv, l), key);
	}
	return s;
}

/* The node that prefix/plen needs at a level; a node of leaves only, if the prefix ends there. */
static struct node node_wanted(const struct fib_private *r, unsigned level, unsigned plen, bool narrow)
{
	if (level < level_of(r, plen))
		return (struct node){0, (uint8_t)level_order(r, level), 2};
	return (struct node){0, (uint8_t)(plen - level_start(r, level)), !narrow};
}

/* The combined size of an existing node and a wanted one. */
static struct node node_both(struct node have, struct node want)
{
	return (struct node){0, have.order > want.order ? have.order : want.order,
	                     have.width > want.width ? have.width : want.width};
}

static bool node_same(struct node a, struct node b)
{
	return a.order == b.order && a.width == b.width;
}

/* An insertion and the nodes it makes. */
struct change {
	struct fib_key prefix;
	unsigned plen;
	struct leaf leaf;
	uint32_t at;       /* the node of the record found for it */
	bool narrow;       /* one-byte entries suffice for everything in its node (invariant 6) */
	unsigned level;    /* first level where a node is made; beyond the prefix's level: none
	                      is */
	struct slot where; /* the entry that will lead to the new node, or else the one that leads
	                      to the prefix's node */
};

/* Fills in narrow, level and where, and counts the blocks to take, including those to widen nodes
 * below. */
static struct block_needs change_plan(const struct fib_writer *w, struct change *c)
{
	const struct fib_private *r = w->priv;
	struct block_needs needs = {{0}};
	unsigned last = level_of(r, c->plen), level = last;
	struct slot whole = {top_node(r), index_of(top_node(r), 0, c->prefix)};
	if (last > 0)
		c->where = way_to(w, c->prefix, &level);
	c->level = level;
	for (; level <= last && level > 0; level++) {
		bool there = level == c->level && has_child(w, c->where);
		if (level == last && !there)
			c->narrow = c->narrow && record_is_narrow(&r->record, c->at);
		struct node n = node_wanted(r, level, c->plen, c->narrow);
		if (there) {
			struct node have = child_at(w, c->where);
			n = node_both(have, n);
			whole = (struct slot){have, index_of(have, level_start(r, level), c->prefix)};
			if (node_same(have, n)) {
				c->level = last + 1;
				break;
			}
		}
		needs.of[block_order(n)]++;
	}
	if (last == 0)
		c->level = 1;
	/* The prefix can have nodes below it only if its own node stays unchanged. */
	if (c->level > last && c->leaf.nh >= RECORD_NH_NARROW && whole.node.width == 2)
		count_narrow(w, whole, entries_of(whole.node, level_start(r, last), c->plen), &needs);
	return needs;
}

/* Makes the nodes of a change with their final content, and links them by one store. */
static void change_make(struct fib_writer *w, const struct change *c)
{
	const struct fib_private *r = w->priv;
	unsigned last = level_of(r, c->plen);
	struct node first = node_wanted(r, c->level, c->plen, c->narrow), old = {0, 0, 0}, n;
	bool replaces = has_child(w, c->where);
	if (replaces) {
		old = child_at(w, c->where);
		first = node_both(old, first);
		first = node_copy(w, old, first.order, first.width);
	} else {
		first = node_filled(w, first.order, first.width, leaf_load(w, c->where));
	}
	n = first;
	for (unsigned level = c->level; level < last; level++) {
		struct slot s = {n, index_of(n, level_start(r, level), c->prefix)};
		struct node next = node_wanted(r, level + 1, c->plen, c->narrow);
		n = node_filled(w, next.order, next.width, leaf_load(w, s));
		node_link(w, s, n);
	}
	unsigned start = level_start(r, last);
	struct slot s = {n, index_of(n, start, c->prefix)};
	paint(w, s, entries_of(n, start, c->plen), c->plen, c->leaf);
	node_link(w, c->where, first);
	if (replaces)
		node_retire(w, old);
}

/* Writes a leaf over the entries of prefix/plen in the node in which it ends, and below. */
static void repaint(struct fib_writer *w, struct fib_key prefix, unsigned plen, struct leaf leaf)
{
	unsigned level = level_of(w->priv, plen), start = level_start(w->priv, level);
	struct node n = top_node(w->priv);
	if (level > 0)
		n = child_at(w, way_to(w, prefix, &level));
	paint(w, (struct slot){n, index_of(n, start, prefix)}, entries_of(n, start, plen), plen, leaf);
}

/* --- removal --- */

/* The order that the node's leaves need. If it has a child: the node's full order, and *children is
 * set. 0: the node is not needed. */
static unsigned order_needed(const struct fib_private *r, struct node n, unsigned level, bool *children)
{
	const uint8_t *length = lengths_of(r, n);
	unsigned longest = 0, start = level_start(r, level);
	*children = false;
	for (uint32_t i = 0; i < 1u << n.order; i++)
		if (length[i] > longest)
			longest = length[i];
	if (longest != TRIE_IS_NODE)
		return longest > start ? longest - start : 0;
	*children = true;
	return n.order;
}

/* After a removal in the node of a level: removes the node, or shrinks it as far as possible if a
 * block is available (invariant 5). True if it was removed. */
static bool node_trim(struct fib_writer *w, struct slot s, unsigned level)
{
	struct node n = child_at(w, s), less = n;
	struct block_needs needs = {{0}};
	bool children;
	less.order = (uint8_t)order_needed(w->priv, n, level, &children);
	if (less.order == 0) {
		leaf_store(w, s.node, s.index, leaf_load(w, (struct slot){n, 0}));
		node_retire(w, n);
		return true;
	}
	if (n.width == 2 && !children)
		less.width = 1; /* whether width 0 would suffice (invariant 6) is unknown */
	needs.of[block_order(less)] = 1;
	if (!node_same(n, less) && blocks_suffice(&w->priv->blocks, &needs))
		node_replace(w, s, less.order, less.width);
	return false;
}

/* --- interface --- */

int trie_init(struct fib_writer *w, unsigned bits, unsigned top, void *shared, size_t shared_bytes,
              void *priv, size_t priv_bytes)
{
	if (shared_bytes < trie_shared_bytes(top, 0))
		return E_NOMEM;
	size_t room = room_in(top, shared_bytes), fixed = fixed_private_bytes(top, room);
	const size_t each = record_node_bytes(bits);
	if (priv_bytes < fixed + each)
		return E_NOMEM;
	size_t record_nodes = (priv_bytes - fixed) / each;
	if (record_nodes > UINT32_MAX - 1)
		record_nodes = UINT32_MAX - 1;

	uint8_t *p = priv;
	struct fib_private *r = priv;
	*r = (struct fib_private){.bits = bits, .top = top};
	p += align_up(sizeof *r, CACHE_LINE);
	r->top_length = p;
	p += (size_t)1 << top;
	blocks_init(&r->blocks, p, (uint32_t)room);
	p += blocks_memory(room);
	struct record_start *start = (struct record_start *)(void *)p;
	unsigned bits_of_start = start_bits(top, room);
	p += sizeof *start << bits_of_start;
	record_init(&r->record, bits, p, (uint32_t)record_nodes, start, bits_of_start);
	*w = (struct fib_writer){shared, r};
	w->fib->path = FIB_SCALAR;
	w->fib->many = 0;
	for (uint32_t i = 0; i < 1u << top; i++)
		leaf_store(w, top_node(r), i, (struct leaf){FIB_NH_NONE, 0});
	return E_OK;
}

static bool prefix_is_valid(const struct fib_private *r, struct fib_key prefix, unsigned plen)
{
	return plen <= r->bits && fib_key_equal(prefix, fib_key_masked(prefix, plen));
}

int trie_insert(struct fib_writer *w, struct fib_key prefix, unsigned plen, uint32_t nh)
{
	struct fib_private *r = w->priv;
	if (!prefix_is_valid(r, prefix, plen) || nh == FIB_NH_NONE || nh >= FIB_NH_LIMIT)
		return E_INVAL;
	uint32_t at = record_find(&r->record, prefix, plen);
	struct change c = {.prefix = prefix, .plen = plen, .leaf = {nh, plen}, .at = at,
	                   .narrow = nh < RECORD_NH_NARROW};
	struct block_needs needs = change_plan(w, &c);
	if (!record_has_room(&r->record, at, plen) || !blocks_suffice(&r->blocks, &needs))
		return E_NOMEM;
	record_set(&r->record, at, prefix, plen, nh);
	if (c.level <= level_of(r, plen))
		change_make(w, &c);
	else
		repaint(w, prefix, plen, c.leaf);
	return E_OK;
}

int trie_remove(struct fib_writer *w, struct fib_key prefix, unsigned plen)
{
	struct fib_private *r = w->priv;
	if (!prefix_is_valid(r, prefix, plen))
		return E_NOENT;
	uint32_t at = record_find(&r->record, prefix, plen);
	if (record_nh(&r->record, at, plen) == FIB_NH_NONE)
		return E_NOENT;
	uint32_t cover = record_cover(&r->record, at);
	repaint(w, prefix, plen, (struct leaf){leaf_nh(cover), leaf_plen(cover)});
	unsigned level = level_of(r, plen);
	while (level > 0) {
		struct slot s = way_to(w, prefix, &level);
		if (!node_trim(w, s, level))
			break;
		level--;
	}
	record_remove(&r->record, at);
	return E_OK;
}

uint32_t trie_get(const struct fib_writer *w, struct fib_key prefix, unsigned plen)
{
	const struct fib_private *r = w->priv;
	if (!prefix_is_valid(r, prefix, plen))
		return FIB_NH_NONE;
	return record_nh(&r->record, record_find(&r->record, prefix, plen), plen);
}

bool trie_next(const struct fib_writer *w, struct fib_cursor *cursor, struct fib_key *prefix,
               uint32_t *leaf)
{
	const struct fib_key from = {cursor->hi, cursor->lo};
	const struct record *r = &w->priv->record;
	const struct record_node *n = record_from(r, from, cursor->plen);
	if (!n)
		return false;
	*prefix = record_key(r, n);
	*leaf = n->leaf;
	*cursor = (struct fib_cursor){prefix->hi, prefix->lo, leaf_plen(n->leaf) + 1};
	return true;
}

void fib_use(struct fib_writer *w, enum fib_path path)
{
	w->fib->path = path;
}

size_t fib_bytes(const struct fib_writer *w)
{
	return trie_shared_bytes(w->priv->top, 0) + w->priv->blocks.used;
}

uint32_t fib_count(const struct fib_writer *w)
{
	return w->priv->record.count;
}

uint32_t fib_retired(const struct fib_writer *w)
{
	return w->priv->blocks.retired_count;
}

void fib_reclaim(struct fib_writer *w)
{
	blocks_reclaim(&w->priv->blocks);
}
