/*
 * Makes the table of an access list; see acl.h and inside.h.
 *
 * For each word, a sweep over its values: where a rule's range begins, its bit is set in the
 * current vector; after its end, the bit is cleared. Between two such points lies an interval. Its
 * vector is stored line by line, unless the same line is there already. Time: sorting the points,
 * plus for each point a vector's summary and row and the lines that have changed.
 */
#include "net/acl/inside.h"

#include "lib/assert.h"
#include "lib/bytes.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/ip6.h"

#define TCP 6
#define RUNS_MAX 2 /* ranges of values of one word in a rule */

struct compiler {
	const struct acl_rule *rule;
	struct acl *acl;
	uint8_t *free; /* the caller's remaining memory */
	size_t left;
	uint64_t *event; /* value << 32 | rule << 1 | (1: set, 0: clear) */
	uint32_t events;
	uint64_t *now; /* the vector at the current value of the sweep */
	uint32_t row[ACL_LINES_MAX]; /* places of its lines in the table */
	uint32_t stale; /* lines for which row[] is not valid: bit l is line l */
	uint32_t *line_slot, *row_slot; /* hash tables of the word's lines and rows, by content:
	                                   places; 0: free */
	uint32_t slots; /* of each hash table; a power of two */
};

/* A range of values of a word. */
struct run {
	uint32_t first, last;
};

/* --- memory --- */

static uint32_t power_of_two(uint32_t least)
{
	uint32_t n = 1;
	while (n < least)
		n *= 2;
	return n;
}

static uint32_t events_max(uint32_t rules)
{
	return rules * RUNS_MAX * 2;
}

static uint32_t words_for(uint32_t bits)
{
	return (bits + 63) / 64;
}

/* Words of a vector in the sweep. For 64 rules or fewer the table has no vectors. */
static uint32_t vector_words(uint32_t rules)
{
	return (uint32_t)align_up(words_for(rules), ACL_LINE_WORDS);
}

static uint32_t lines_for(uint32_t rules)
{
	return vector_words(rules) / ACL_LINE_WORDS;
}

/* Twice the maximum of lines in a word, one more than its rules have events, or one for each kind.
 * There are fewer rows. */
static uint32_t slots_for(uint32_t rules)
{
	uint32_t n = lines_for(rules);
	return power_of_two(2 * u32_max(events_max(rules) + n, ACL_KINDS * n));
}

static uint32_t group_log2_for(uint32_t rules)
{
	uint32_t n = 0;
	while (rules > (uint32_t)64 << n)
		n++;
	return n;
}

size_t acl_scratch_bytes(uint32_t rules)
{
	return (events_max(rules) + vector_words(rules)) * sizeof(uint64_t) +
	       2 * slots_for(rules) * sizeof(uint32_t);
}

/* Takes memory aligned to `to`. NULL: not enough left. */
static void *take(struct compiler *c, size_t bytes, size_t to)
{
	size_t skip = align_up((size_t)(uintptr_t)c->free, to) - (size_t)(uintptr_t)c->free;
	uint8_t *at = c->free + skip;
	if (c->left < skip || c->left - skip < bytes)
		return NULL;
	c->free = at + bytes;
	c->left -= skip + bytes;
	return at;
}

/* --- vectors --- */

static void set(struct compiler *c, uint32_t rule, bool on)
{
	uint64_t *word = &c->now[rule / 64], bit = (uint64_t)1 << rule % 64, was = *word;
	*word = on ? was | bit : was & ~bit;
	c->stale |= (uint32_t)(*word != was) << rule / (64 * ACL_LINE_WORDS);
}

/* One bit per group of rules; there are at most 64 groups. */
static uint64_t sum_of(const struct compiler *c)
{
	const uint32_t log2 = c->acl->group_log2;
	uint64_t sum = 0;
	for (uint32_t g = 0; g << log2 < c->acl->rules; g++) {
		const uint32_t first = g << log2;
		uint64_t some = c->now[first / 64] >> first % 64;
		if (log2 < 6)
			some &= ((uint64_t)1 << (1u << log2)) - 1;
		for (uint32_t w = 1; w < 1u << log2 >> 6; w++)
			some |= c->now[first / 64 + w];
		sum |= (uint64_t)(some != 0) << g;
	}
	return sum;
}

/* Fibonacci hashing, word by word: the upper bits depend on all lower ones. */
static uint32_t hash_of(const uint8_t *p, size_t n)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < n; i += 4)
		hash = (hash ^ be32_load(p + i) ^ hash >> 32) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(hash >> 32);
}

/* The place in the table of these n bytes (a multiple of 4); stores them if they are new. 0: no
 * room. */
static uint32_t keep_bytes(struct compiler *c, uint32_t *slot, const void *p, size_t n, size_t to)
{
	uint64_t *base = (uint64_t *)(void *)c->acl, *new;
	for (uint32_t i = hash_of(p, n);; i++) {
		uint32_t *s = &slot[i & (c->slots - 1)];
		if (*s && memcmp(base + *s, p, n) == 0)
			return *s;
		if (*s)
			continue;
		new = take(c, n, to);
		if (!new)
			return 0;
		memcpy(new, p, n);
		*s = (uint32_t)(new - base);
		return *s;
	}
}

/* Lines whose places have arrays of their own. */
static uint32_t near_lines(const struct compiler *c)
{
	return u32_min(c->acl->lines, ACL_NEAR);
}

/* Stores the current vector: its lines not known to be in the table, then its row; and their places
 * for set n. False: no room. */
static bool keep_vector(struct compiler *c, struct acl_set *out, uint32_t *const *line, uint32_t n)
{
	for (uint32_t l = 0; l < c->acl->lines; l++) {
		if (!(c->stale >> l & 1))
			continue;
		c->row[l] = keep_bytes(c, c->line_slot, c->now + l * ACL_LINE_WORDS, CACHE_LINE, CACHE_LINE);
		if (!c->row[l])
			return false;
	}
	c->stale = 0;
	for (uint32_t l = 0; l < near_lines(c); l++)
		line[l][n] = c->row[l];
	out->row = keep_bytes(c, c->row_slot, c->row, c->acl->lines * sizeof c->row[0], sizeof(uint64_t));
	return out->row;
}

/* Memory for n sets of a word. */
struct new_sets {
	struct acl_set *set;
	uint32_t *line[ACL_NEAR];
};

/* False: no room. */
static bool take_sets(struct compiler *c, uint32_t n, struct new_sets *out)
{
	out->set = take(c, n * sizeof *out->set, sizeof *out->set);
	bool all = out->set;
	for (uint32_t l = 0; l < ACL_NEAR; l++) {
		out->line[l] = l < near_lines(c) ? take(c, n * sizeof *out->line[l], CACHE_LINE) : NULL;
		all &= l >= near_lines(c) || out->line[l];
	}
	return all;
}

static struct acl_sets finished(const struct new_sets *s)
{
	return (struct acl_sets){{s->line[0], s->line[1]}, s->set};
}

/* Stores the current set of rules as number n. False: no room. */
static bool keep(struct compiler *c, const struct new_sets *out, uint32_t n)
{
	out->set[n] = (struct acl_set){.sum = sum_of(c)};
	return c->acl->lines == 0 || keep_vector(c, &out->set[n], out->line, n);
}

static void begin_word(struct compiler *c)
{
	memset(c->now, 0, vector_words(c->acl->rules) * sizeof *c->now);
	memset(c->line_slot, 0, c->slots * sizeof *c->line_slot);
	memset(c->row_slot, 0, c->slots * sizeof *c->row_slot);
	c->stale = UINT32_MAX;
	c->events = 0;
}

/* --- values that a rule accepts --- */

static bool is_any(struct acl_ports p)
{
	return p.first == 0 && p.last == 65535;
}

/* Does the rule match on something that a later fragment lacks? */
static bool wants_transport(const struct acl_rule *r)
{
	return !is_any(r->src_port) || !is_any(r->dst_port) || r->established || r->flags_mask;
}

/* The ranges of ports, and later fragments as described in acl.h. */
static unsigned runs_of_ports(const struct acl_rule *r, struct acl_ports p, struct run *run)
{
	if (is_any(p)) {
		run[0] = (struct run){0, ACL_PORT_NONE};
		return 1;
	}
	run[0] = (struct run){p.first, p.last};
	run[1] = (struct run){ACL_PORT_LATER, ACL_PORT_LATER};
	return r->permit ? 2 : 1;
}

/* The values of a range word that a rule accepts: sorted runs that do not touch. */
static unsigned runs_of(const struct acl_rule *r, unsigned word, struct run run[RUNS_MAX])
{
	if (word >= ACL_SRC_PORT)
		return runs_of_ports(r, word == ACL_SRC_PORT ? r->src_port : r->dst_port, run);
	bool dst = word >= ACL_DST;
	unsigned w = word - (dst ? ACL_DST : ACL_SRC);
	uint32_t mask = ip6_mask_word(dst ? r->dst_plen : r->src_plen, w);
	uint32_t prefix = be32_get((be32_t){dst ? r->dst.w[w] : r->src.w[w]}) & mask;
	run[0] = (struct run){prefix, prefix | ~mask};
	return 1;
}

static bool takes_kind(const struct acl_rule *r, unsigned kind)
{
	bool later = kind - ACL_KIND_LATER < 256, tcp = kind - ACL_KIND_TCP < 256;
	unsigned proto = tcp ? TCP : kind & 255, flags = kind & 255;
	if (kind == ACL_KIND_UNDETERMINED || (!r->any_proto && proto != r->proto))
		return false;
	if (later || r->fragments)
		return later && (r->permit || !wants_transport(r));
	if (!tcp)
		return !r->established && !r->flags_mask;
	return (flags & r->flags_mask) == r->flags_value &&
	       (!r->established || (flags & (ACL_ACK | ACL_RST)));
}

/* --- the sweep --- */

static void sift(uint64_t *heap, uint32_t n, uint32_t i)
{
	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && heap[child + 1] > heap[child])
			child++;
		if (heap[i] >= heap[child])
			return;
		uint64_t t = heap[i];
		heap[i] = heap[child];
		heap[child] = t;
	}
}

/* Heap sort: no list can be constructed to give it a bad worst case. */
static void sort(uint64_t *a, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift(a, n, i);
	for (; n > 1; n--) {
		uint64_t t = a[0];
		a[0] = a[n - 1];
		a[n - 1] = t;
		sift(a, n - 1, 0);
	}
}

static void add_event(struct compiler *c, uint32_t value, uint32_t rule, bool on)
{
	c->event[c->events++] = (uint64_t)value << 32 | rule << 1 | on;
}

/* Collects the begin and end of each rule; rules that accept all values are set for good. */
static void collect(struct compiler *c, unsigned word)
{
	const uint32_t highest = word < ACL_SRC_PORT ? UINT32_MAX : ACL_PORT_NONE;
	struct run run[RUNS_MAX];
	for (uint32_t r = 0; r < c->acl->rules; r++) {
		unsigned runs = runs_of(&c->rule[r], word, run);
		for (unsigned i = 0; i < runs; i++) {
			if (run[i].first == 0)
				set(c, r, true);
			else
				add_event(c, run[i].first, r, true);
			if (run[i].last != highest)
				add_event(c, run[i].last + 1, r, false);
		}
	}
	sort(c->event, c->events);
}

static uint32_t event_value(const struct compiler *c, uint32_t i)
{
	return (uint32_t)(c->event[i] >> 32);
}

/* Upper bound of intervals: the sweep joins neighbours with the same vector. */
static uint32_t intervals_most(const struct compiler *c)
{
	uint32_t n = 1;
	for (uint32_t i = 0; i < c->events; i++)
		n += i == 0 || event_value(c, i) != event_value(c, i - 1);
	return n;
}

static int32_t key_of(unsigned word, uint32_t value)
{
	return word < ACL_SRC_PORT ? acl_address_key(value) : (int32_t)value;
}

static bool same_set(const struct acl_set *a, const struct acl_set *b)
{
	return a->row == b->row && a->sum == b->sum;
}

/* Makes the intervals of a word: the keys of their last values, except the last one, and the rules
 * that accept them. Returns how many; 0: no room. */
static uint32_t sweep(struct compiler *c, unsigned word, int32_t *key, const struct new_sets *out)
{
	uint32_t n = 0, value = 0;
	for (uint32_t i = 0;;) {
		for (; i < c->events && event_value(c, i) == value; i++)
			set(c, (uint32_t)c->event[i] >> 1, c->event[i] & 1);
		if (!keep(c, out, n))
			return 0;
		if (n == 0 || !same_set(&out->set[n], &out->set[n - 1])) {
			if (n > 0)
				key[n - 1] = key_of(word, value - 1);
			n++;
		}
		if (i == c->events)
			return n;
		value = event_value(c, i);
	}
}

/* Nodes for `keys` keys and at least one ACL_NO_KEY. */
static uint32_t nodes_for(uint32_t keys)
{
	return keys / ACL_NODE + 1;
}

static int32_t *take_nodes(struct compiler *c, uint32_t nodes)
{
	return take(c, nodes * ACL_NODE * sizeof(int32_t), CACHE_LINE);
}

static void fill(int32_t *key, uint32_t from, uint32_t nodes)
{
	for (uint32_t i = from; i < nodes * ACL_NODE; i++)
		key[i] = ACL_NO_KEY;
}

/* Builds levels above the given last one until a level has one node. */
static int build_tree(struct compiler *c, struct acl_dim *d, int32_t *key, uint32_t keys)
{
	int32_t *level[ACL_LEVELS_MAX] = {key};
	uint32_t nodes = nodes_for(keys), levels = 1;
	fill(key, keys, nodes);
	for (; nodes > 1; levels++) {
		/* the last key here is already ACL_NO_KEY */
		uint32_t above = (nodes + ACL_NODE - 1) / ACL_NODE;
		int32_t *up = take_nodes(c, above);
		if (!up)
			return E_NOMEM;
		for (uint32_t i = 0; i < nodes; i++)
			up[i] = level[levels - 1][i * ACL_NODE + ACL_NODE - 1];
		fill(up, nodes, above);
		assert(levels < ACL_LEVELS_MAX);
		level[levels] = up;
		nodes = above;
	}
	d->levels = levels;
	for (uint32_t i = 0; i < levels; i++)
		d->level[i] = level[levels - 1 - i];
	return E_OK;
}

/* Stores sorted keys as a heap of (1 << steps) - 1 nodes. */
static void put_heap(int32_t *heap, uint32_t steps, const int32_t *key, uint32_t keys)
{
	heap[0] = ACL_NO_KEY;
	for (uint32_t s = 0; s < steps; s++)
		for (uint32_t i = 0; i < 1u << s; i++) {
			uint32_t rank = (2 * i + 1) << (steps - 1 - s);
			heap[(1u << s) + i] = rank <= keys ? key[rank - 1] : ACL_NO_KEY;
		}
}

/* Makes the heap of n keys. */
static int take_heap(struct compiler *c, struct acl_dim *d, const int32_t *key, uint32_t n)
{
	d->steps = ACL_STEPS_MIN;
	while (n >= 1u << d->steps)
		d->steps++;
	int32_t *heap = take(c, sizeof *heap << d->steps, CACHE_LINE);
	if (!heap)
		return E_NOMEM;
	put_heap(heap, d->steps, key, n);
	d->heap = heap;
	return E_OK;
}

/* Makes the heap of as many upper levels as fit. */
static int build_heap(struct compiler *c, struct acl_dim *d, uint32_t keys)
{
	uint32_t level = d->levels - 1, n = keys;
	for (; n >= 1u << ACL_STEPS_MAX; level--)
		n = nodes_for(n) - 1; /* the last node's key is ACL_NO_KEY */
	d->heap_levels = level + 1;
	return take_heap(c, d, d->level[level], n);
}

/* Stores the intervals of the values of a block, which begins in interval `at`. */
static void put_block(uint16_t *cell, uint32_t first, const int32_t *key, uint32_t keys,
                      uint32_t at)
{
	for (uint32_t v = 0; v < ACL_BLOCK; v++) {
		while (at < keys && (uint32_t)key[at] < first + v)
			at++;
		cell[v] = (uint16_t)at;
	}
}

/* The tables by the values of ports. */
static int build_cells(struct compiler *c, struct acl_dim *d, const int32_t *key, uint32_t keys)
{
	int32_t *skip = take(c, ACL_BLOCKS * sizeof *skip, CACHE_LINE);
	uint16_t *first = NULL, *cell = NULL;
	uint32_t at = 0;
	for (uint32_t b = 0; skip && b < ACL_BLOCKS; b++) {
		const uint32_t value = b * ACL_BLOCK;
		while (at < keys && (uint32_t)key[at] < value)
			at++;
		const bool one = at == keys || (uint32_t)key[at] >= value + ACL_BLOCK - 1;
		if (!cell || !one || cell[0] != at || cell[ACL_BLOCK - 1] != at) {
			cell = take(c, ACL_BLOCK * sizeof *cell, CACHE_LINE);
			if (!cell)
				return E_NOMEM;
			put_block(cell, value, key, keys, at);
			first = first ? first : cell;
		}
		skip[b] = (int32_t)(cell - first) - (int32_t)value;
	}
	d->skip = skip;
	d->cell = first;
	return skip ? E_OK : E_NOMEM;
}

static int build_ports(struct compiler *c, struct acl_dim *d, const int32_t *key, uint32_t keys)
{
	int error = keys < 1u << ACL_STEPS_MAX ? take_heap(c, d, key, keys) : E_OK;
	return error == E_OK ? build_cells(c, d, key, keys) : error;
}

static int build_addresses(struct compiler *c, struct acl_dim *d, int32_t *key, uint32_t keys)
{
	int error = build_tree(c, d, key, keys);
	return error == E_OK ? build_heap(c, d, keys) : error;
}

static int compile_range(struct compiler *c, unsigned word)
{
	struct acl_dim *d = &c->acl->dim[c->acl->dims];
	struct new_sets sets;
	begin_word(c);
	collect(c, word);
	if (c->events == 0) /* no rule matches on this word */
		return E_OK;
	uint32_t most = intervals_most(c);
	int32_t *key = take_nodes(c, nodes_for(most - 1));
	uint32_t n = key && take_sets(c, most, &sets) ? sweep(c, word, key, &sets) : 0;
	if (n == 0)
		return E_NOMEM;
	d->sets = finished(&sets);
	d->word = word;
	c->acl->dims++;
	return word < ACL_SRC_PORT ? build_addresses(c, d, key, n - 1) : build_ports(c, d, key, n - 1);
}

static int compile_kinds(struct compiler *c)
{
	struct new_sets sets;
	if (!take_sets(c, ACL_KINDS, &sets))
		return E_NOMEM;
	begin_word(c);
	for (unsigned k = 0; k < ACL_KINDS; k++) {
		for (uint32_t r = 0; r < c->acl->rules; r++)
			set(c, r, takes_kind(&c->rule[r], k));
		if (!keep(c, &sets, k))
			return E_NOMEM;
	}
	c->acl->kind = finished(&sets);
	return E_OK;
}

static int compile_permits(struct compiler *c)
{
	const size_t bytes = words_for(c->acl->rules + ACL_OTHERS) * sizeof(uint64_t);
	uint64_t *permit = take(c, bytes, sizeof *permit);
	if (!permit)
		return E_NOMEM;
	memset(permit, 0, bytes);
	for (uint32_t r = 0; r < c->acl->rules; r++)
		permit[r / 64] |= (uint64_t)c->rule[r].permit << r % 64;
	c->acl->permit = permit;
	return E_OK;
}

static bool one_below_heap(const struct acl *a, uint32_t d)
{
	return d < a->dims && a->dim[d].word == ACL_LATE_WORD(d) &&
	       a->dim[d].levels == a->dim[d].heap_levels + 1;
}

int acl_compile(const struct acl_rule *rule, uint32_t rules, bool six, enum acl_path path,
                void *mem, size_t bytes, void *scratch, const struct acl **out, size_t *used)
{
	assert(rules > 0 && rules <= ACL_RULES_MAX);
	struct compiler c = {.rule = rule, .free = mem, .left = bytes, .slots = slots_for(rules)};
	c.event = scratch;
	c.now = c.event + events_max(rules);
	c.line_slot = (uint32_t *)(void *)(c.now + vector_words(rules));
	c.row_slot = c.line_slot + c.slots;
	c.acl = take(&c, sizeof *c.acl, CACHE_LINE);
	if (!c.acl)
		return E_NOMEM;
	*c.acl = (struct acl){.rules = rules, .path = path, .six = six};
	for (uint32_t i = 0; i < rules; i++)
		c.acl->flags |= rule[i].established || rule[i].flags_mask;
	c.acl->group_log2 = group_log2_for(rules);
	c.acl->lines = rules > 64 ? lines_for(rules) : 0;
	int error = compile_permits(&c);
	if (error == E_OK)
		error = compile_kinds(&c);
	for (unsigned word = 0; error == E_OK && word < ACL_RANGES; word++)
		if (six || word >= ACL_SRC_PORT || word % 4 == 3) /* IPv4 addresses are the last
		                                                     word of four */
			error = compile_range(&c, word);
	c.acl->late = !six && one_below_heap(c.acl, 0) && one_below_heap(c.acl, 1);
	*out = c.acl;
	*used = bytes - c.left;
	return error;
}

/* Relocates pointer p from the table at `from` to its copy at `to`; NULL stays NULL. */
static const void *moved(const void *p, const void *from, void *to)
{
	return p ? (uint8_t *)to + ((const uint8_t *)p - (const uint8_t *)from) : NULL;
}

static void move_sets(struct acl_sets *s, const void *from, void *to)
{
	for (unsigned l = 0; l < ACL_NEAR; l++)
		s->line[l] = moved(s->line[l], from, to);
	s->set = moved(s->set, from, to);
}

const struct acl *acl_copy(const struct acl *a, size_t bytes, void *mem)
{
	struct acl *b = mem;
	memcpy(mem, a, bytes);
	for (struct acl_dim *d = b->dim; d < b->dim + b->dims; d++) {
		for (unsigned i = 0; i < d->levels; i++)
			d->level[i] = moved(d->level[i], a, mem);
		move_sets(&d->sets, a, mem);
		d->heap = moved(d->heap, a, mem);
		d->skip = moved(d->skip, a, mem);
		d->cell = moved(d->cell, a, mem);
	}
	move_sets(&b->kind, a, mem);
	b->permit = moved(b->permit, a, mem);
	return b;
}
