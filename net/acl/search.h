/*
 * The search in the table of an access list, included by scalar.c, avx2.c and avx512.c only. They
 * define SEARCH_FN, the prefix of every function here, which selects the instruction set; and
 *
 *     keys_below(node, key)          the number of a node's keys below key
 *     HAS_TOP, find_top(d, log2, key, at, n)    whether there is a separate search of the upper
 *                                    acl_dim.heap_levels levels of a tree, and that search, whose
 *                                    results are shifted left by log2
 *     UNIT_WORDS                     words of a vector that are examined together
 *     unit_at(word), unit_and(u, word)    a unit, and its intersection with another
 *     first_of_unit(u)               its first bit; UNIT_RULES or more: none
 *     any_lanes                      lanes (read.h) aligned to 4 bytes
 *
 * No branch depends on a packet's content: it varies from packet to packet, and a mispredicted
 * branch costs as much as a tree search. Packets to examine again are therefore collected in a
 * word: bit i is packet i.
 */
#ifndef NET_ACL_SEARCH_H
#define NET_ACL_SEARCH_H

#include "net/acl/inside.h"
#include "net/acl/read.h"

#define UNIT_RULES (UNIT_WORDS * 64u)

/* The words of a batch and intermediate results. All are in one structure, so that one register points
 * to them. */
struct found {
	struct acl_keys keys;
	uint32_t at[ACL_RANGES][ACL_LOT]; /* intervals of acl.dim[] */
	uint32_t rule[ACL_LOT] __attribute__((aligned(CACHE_LINE)));
	uint64_t sum[ACL_LOT];  /* groups set in all words' summaries and not examined yet */
	uint32_t from[ACL_LOT]; /* rules below this one have been examined */
};

/* --- the intervals of words --- */

/* `levels` is a constant at each call but one. */
SEARCH_FN void find_levels(const int32_t *const *level, uint32_t levels, const int32_t *key,
                           uint32_t *at, unsigned n)
{
	const int32_t *in[ACL_LEVELS_MAX];
	for (uint32_t l = 0; l < levels; l++)
		in[l] = level[l];
	for (unsigned i = 0; i < n; i++) {
		uint32_t first = HAS_TOP ? at[i] : 0; /* key of the node */
		UNROLL
		for (uint32_t l = 0; l < levels; l++) {
			first *= l ? ACL_NODE : 1;
			first += keys_below(in[l] + first, key[i]);
		}
		at[i] = first;
	}
}

SEARCH_FN void find_ports(const struct acl_dim *d, const int32_t *key, uint32_t *at, unsigned n)
{
	const int32_t *skip = d->skip;
	const uint16_t *cell = d->cell;
	for (unsigned i = 0; i < n; i++) {
		const uint32_t value = (uint32_t)key[i];
		at[i] = cell[value + (uint32_t)skip[value / ACL_BLOCK]];
	}
}

/* late: the last level is left out; at[] is the first key of its node. */
SEARCH_FN void find(const struct acl_dim *d, bool late, const int32_t *key, uint32_t *at,
                    unsigned n)
{
	if (d->cell && !(HAS_TOP && d->steps)) {
		find_ports(d, key, at, n);
		return;
	}
	const uint32_t top = HAS_TOP ? d->heap_levels : 0, levels = d->levels - top;
	const int32_t *const *level = d->level + top;
	if (HAS_TOP)
		find_top(d, levels ? ACL_NODE_LOG2 : 0, key, at, n);
	if (late)
		return;
	if (levels == 1)
		find_levels(level, 1, key, at, n);
	else if (levels == 2)
		find_levels(level, 2, key, at, n);
	else if (levels == 3)
		find_levels(level, 3, key, at, n);
	else if (levels)
		find_levels(level, levels, key, at, n);
}

/* --- the rules that are in the sets of all words --- */

SEARCH_FN uint32_t kind_of(const struct found *f, unsigned i)
{
	return (uint32_t)f->keys.word[ACL_KIND][i];
}

/* Packet i's set of word d; d == dims: of its kind. */
SEARCH_FN const struct acl_set *set_of(const struct acl *a, const struct found *f, unsigned i,
                                       uint32_t d, uint32_t dims)
{
	return d < dims ? &a->dim[d].sets.set[f->at[d][i]] : &a->kind.set[kind_of(f, i)];
}

SEARCH_FN uint64_t sum_of(const struct acl *a, const struct found *f, unsigned i, uint32_t dims)
{
	uint64_t sum = UINT64_MAX;
	UNROLL
	for (uint32_t d = 0; d <= dims; d++)
		sum &= set_of(a, f, i, d, dims)->sum;
	return sum;
}

/* Address of a unit of a set's vector. */
SEARCH_FN const uint64_t *words_of(const struct acl *a, const struct acl_set *s, uint32_t unit)
{
	const uint64_t *table = (const uint64_t *)(const void *)a;
	const uint32_t *row = (const uint32_t *)(const void *)(table + s->row);
	const uint32_t word = unit * UNIT_WORDS;
	return table + row[word / ACL_LINE_WORDS] + word % ACL_LINE_WORDS;
}

/* The first bit that packet i's vectors have in common in one unit. */
SEARCH_FN uint32_t first_common(const struct acl *a, const struct found *f, unsigned i,
                                uint32_t dims, uint32_t unit)
{
	unit_words u = unit_at(words_of(a, set_of(a, f, i, dims, dims), unit));
	UNROLL
	for (uint32_t d = 0; d < dims; d++)
		u = unit_and(u, words_of(a, set_of(a, f, i, d, dims), unit));
	return first_of_unit(u);
}

/* Where look-ups in one of the first units begin: as local variables, registers keep them. */
struct near_unit {
	const uint64_t *table;
	const uint32_t *line[ACL_WORDS]; /* of the words, and then of the kind */
	const int32_t *leaf[ACL_LATE];
};

/* `late`, here and below, is a constant: the first ACL_LATE words' leaves, or those of no word, are
 * searched in the loop over lines (acl.late). */
SEARCH_FN struct near_unit near_unit_of(const struct acl *a, uint32_t dims, uint32_t late, uint32_t unit)
{
	const uint32_t l = unit * UNIT_WORDS / ACL_LINE_WORDS;
	struct near_unit s = {.table = (const uint64_t *)(const void *)a + unit * UNIT_WORDS % ACL_LINE_WORDS};
	UNROLL
	for (uint32_t d = 0; d < dims; d++)
		s.line[d] = a->dim[d].sets.line[l];
	UNROLL
	for (uint32_t d = 0; d < late; d++)
		s.leaf[d] = a->dim[d].level[a->dim[d].levels - 1];
	s.line[dims] = a->kind.line[l];
	return s;
}

/* Packet i's interval of word d, which later units need in at[]. */
SEARCH_FN uint32_t interval_of(const struct near_unit *s, struct found *f, unsigned i, uint32_t d,
                               uint32_t late)
{
	uint32_t at = f->at[d][i];
	if (d < late)
		f->at[d][i] = at += keys_below(s->leaf[d] + at, f->keys.word[ACL_LATE_WORD(d)][i]);
	return at;
}

/* The first bit that packet i's vectors have in common in a unit that needs no row. */
SEARCH_FN uint32_t first_near(const struct near_unit *s, struct found *f, unsigned i, uint32_t dims,
                              uint32_t late)
{
	unit_words u = unit_at(s->table + s->line[dims][kind_of(f, i)]);
	UNROLL
	for (uint32_t d = 0; d < dims; d++)
		u = unit_and(u, s->table + s->line[d][interval_of(s, f, i, d, late)]);
	return first_of_unit(u);
}

/* Groups from g on. */
SEARCH_FN uint64_t groups_from(uint32_t g)
{
	return g < 64 ? UINT64_MAX << g : 0;
}

/* Examines the next unit in which packet i may find a rule. True: none was found, and further such
 * units remain. */
SEARCH_FN bool look(const struct acl *a, struct found *f, unsigned i, uint32_t dims)
{
	const uint32_t log2 = a->group_log2;
	uint32_t first = acl_lowest(f->sum[i]) << log2;
	if (UNIT_RULES < ACL_GROUP_MAX && first < f->from[i]) /* a group may span several units */
		first = f->from[i];
	const uint32_t unit = first / UNIT_RULES, next = (unit + 1) * UNIT_RULES;
	const uint32_t r = first_common(a, f, i, dims, unit);
	f->sum[i] &= groups_from(next >> log2);
	f->from[i] = next;
	f->rule[i] = r < UNIT_RULES ? unit * UNIT_RULES + r : a->rules;
	return (r >= UNIT_RULES) & (f->sum[i] != 0);
}

/* Examines the first unit, without the summaries, because lists begin with frequent rules. Returns the
 * packets that have no rule in it; theirs is a->rules for now. */
SEARCH_FN uint64_t look_first(const struct acl *a, struct found *f, uint32_t dims, uint32_t late,
                              unsigned n)
{
	const struct near_unit s = near_unit_of(a, dims, late, 0);
	for (unsigned i = 0; i < n; i++)
		f->rule[i] = first_near(&s, f, i, dims, late);
	const lanes none = (lanes){0} + (int32_t)a->rules;
	uint64_t left = 0;
	for (unsigned i = 0; i < n; i += LANES) {
		lanes *rule = (lanes *)(void *)&f->rule[i];
		const lanes beyond = *rule >= (int32_t)UNIT_RULES;
		*rule = select_lanes(beyond, none, *rule);
		left |= (uint64_t)signs(beyond) << i;
	}
	return left & UINT64_MAX >> (ACL_LOT - n);
}

/* Examines the second unit of the packets `left`, which is the last. Summaries would save little: lists
 * end with rules for all packets. */
SEARCH_FN void look_last(const struct acl *a, struct found *f, uint32_t dims, uint64_t left)
{
	const struct near_unit s = near_unit_of(a, dims, 0, 1);
	const uint32_t none = a->rules;
	for (; left; left &= left - 1) {
		const unsigned i = acl_lowest(left);
		const uint32_t r = first_near(&s, f, i, dims, 0);
		f->rule[i] = r < UNIT_RULES ? UNIT_RULES + r : none;
	}
}

/* Keeps those of the packets `left` whose rule may be UNIT_RULES or later. */
SEARCH_FN uint64_t sum_up(const struct acl *a, struct found *f, uint32_t dims, uint64_t left)
{
	uint64_t more = 0;
	for (; left; left &= left - 1) {
		const unsigned i = acl_lowest(left);
		f->sum[i] = sum_of(a, f, i, dims) & groups_from(UNIT_RULES >> a->group_log2);
		f->from[i] = UNIT_RULES;
		more |= f->sum[i] ? left & -left : 0;
	}
	return more;
}

/* dims is a constant at each call, so that loops over it are unrolled. */
SEARCH_FN void look_all(const struct acl *a, struct found *f, uint32_t dims, uint32_t late,
                        unsigned n)
{
	uint64_t left = look_first(a, f, dims, late, n);
	if (a->rules <= UNIT_RULES)
		return;
	if (a->rules <= 2 * UNIT_RULES) {
		look_last(a, f, dims, left);
		return;
	}
	left = sum_up(a, f, dims, left);
	while (left) {
		uint64_t more = 0;
		for (; left; left &= left - 1)
			more |= look(a, f, acl_lowest(left), dims) ? left & -left : 0;
		left = more;
	}
}

/* Lists of at most 64 rules have no vectors. */
SEARCH_FN void look_at_sums(const struct acl *a, struct found *f, uint32_t dims, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint64_t sum = sum_of(a, f, i, dims);
		f->rule[i] = sum ? acl_lowest(sum) : a->rules;
	}
}

SEARCH_FN void search(const struct acl *a, struct found *f, unsigned n)
{
	const uint32_t late = HAS_TOP && a->late ? ACL_LATE : 0;
	for (uint32_t d = 0; d < a->dims; d++)
		find(&a->dim[d], d < late, f->keys.word[a->dim[d].word], f->at[d], n);
	if (a->lines == 0 && a->dims == 4)
		look_at_sums(a, f, 4, n);
	else if (a->lines == 0)
		look_at_sums(a, f, a->dims, n);
	else if (a->dims == 4 && late) /* typical IPv4 lists */
		look_all(a, f, 4, ACL_LATE, n);
	else if (a->dims == 3 && late)
		look_all(a, f, 3, ACL_LATE, n);
	else if (a->dims == 4)
		look_all(a, f, 4, 0, n);
	else if (a->dims == 3)
		look_all(a, f, 3, 0, n);
	else
		look_all(a, f, a->dims, 0, n);
}

SEARCH_FN void put_rules(const struct found *f, uint32_t *rule, unsigned n)
{
	unsigned i = 0;
	for (; i + LANES <= n; i += LANES)
		*(any_lanes *)(void *)&rule[i] = *(const lanes *)(const void *)&f->rule[i];
	for (; i < n; i++)
		rule[i] = f->rule[i];
}

SEARCH_FN void classify(const struct acl *a, const uint8_t *const *ip, uint32_t *rule, unsigned n)
{
	struct found f;
	for (unsigned done = 0; done < n; done += ACL_LOT) {
		const unsigned lot = n - done < ACL_LOT ? n - done : ACL_LOT;
		read_batch(a, &f.keys, ip + done, lot);
		search(a, &f, lot);
		for (unsigned i = 0; unlikely(f.keys.undetermined) && i < lot; i++)
			if (f.keys.word[ACL_KIND][i] == ACL_KIND_UNDETERMINED)
				f.rule[i] = a->rules + ACL_UNDETERMINED;
		put_rules(&f, rule + done, lot);
	}
}

#endif
