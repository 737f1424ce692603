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
 *
 * No branch depends on a packet's content: it varies from packet to packet, and a mispredicted
 * branch costs as much as a tree search. Packets to examine again are therefore collected in a
 * list.
 */
#ifndef NET_ACL_SEARCH_H
#define NET_ACL_SEARCH_H

#include "net/acl/inside.h"
#include "net/acl/read.h"

#define UNIT_RULES (UNIT_WORDS * 64u)

/* Intermediate results of a batch. */
struct found {
	uint32_t at[ACL_RANGES][ACL_LOT]; /* intervals of acl.dim[] */
	const struct acl_keys *keys;
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
	return (uint32_t)f->keys->word[ACL_KIND][i];
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

/* Where look-ups in the first lines begin: as local variables, registers keep them. */
struct first_lines {
	const uint64_t *table;
	const uint32_t *line[ACL_WORDS]; /* of the words, and then of the kind */
	const int32_t *leaf[ACL_LATE];
};

/* `late`, here and below, is a constant: the first ACL_LATE words' leaves, or those of no word, are
 * searched in the loop over lines (acl.late). */
SEARCH_FN struct first_lines first_lines_of(const struct acl *a, uint32_t dims, uint32_t late)
{
	struct first_lines s = {.table = (const uint64_t *)(const void *)a};
	UNROLL
	for (uint32_t d = 0; d < dims; d++)
		s.line[d] = a->dim[d].sets.line;
	UNROLL
	for (uint32_t d = 0; d < late; d++)
		s.leaf[d] = a->dim[d].level[a->dim[d].levels - 1];
	s.line[dims] = a->kind.line;
	return s;
}

SEARCH_FN uint32_t interval_of(const struct first_lines *s, const struct found *f, unsigned i,
                               uint32_t d, uint32_t late)
{
	const uint32_t at = f->at[d][i];
	return d < late ? at + keys_below(s->leaf[d] + at, f->keys->word[ACL_LATE_WORD(d)][i]) : at;
}

/* The first bit that packet i's vectors have in common in the first unit, which needs no row. */
SEARCH_FN uint32_t first_in_lines(const struct first_lines *s, const struct found *f, unsigned i,
                                  uint32_t dims, uint32_t late)
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
SEARCH_FN bool look(const struct acl *a, struct found *f, unsigned i, uint32_t dims, uint32_t *rule)
{
	const uint32_t log2 = a->group_log2;
	uint32_t first = acl_lowest(f->sum[i]) << log2;
	if (UNIT_RULES < ACL_GROUP_MAX && first < f->from[i]) /* a group may span several units */
		first = f->from[i];
	const uint32_t unit = first / UNIT_RULES, next = (unit + 1) * UNIT_RULES;
	const uint32_t r = first_common(a, f, i, dims, unit);
	f->sum[i] &= groups_from(next >> log2);
	f->from[i] = next;
	*rule = r < UNIT_RULES ? unit * UNIT_RULES + r : a->rules;
	return (r >= UNIT_RULES) & (f->sum[i] != 0);
}

/* Lists the packets that have no rule in the first unit. This unit is examined without the
 * summaries, because lists begin with frequent rules. */
SEARCH_FN unsigned look_first(const struct first_lines *s, const struct found *f, uint32_t dims,
                              uint32_t late, uint32_t *rule, uint8_t *list, unsigned n)
{
	unsigned listed = 0;
	for (unsigned i = 0; i < n; i++) {
		rule[i] = first_in_lines(s, f, i, dims, late);
		list[listed] = (uint8_t)i;
		listed += rule[i] >= UNIT_RULES;
	}
	return listed;
}

/* Keeps those of a list whose rule may be UNIT_RULES or later. */
SEARCH_FN unsigned sum_up(const struct acl *a, struct found *f, uint32_t dims, uint32_t *rule,
                          uint8_t *list, unsigned listed)
{
	unsigned left = 0;
	for (unsigned k = 0; k < listed; k++) {
		const unsigned i = list[k];
		rule[i] = a->rules;
		if (a->rules <= UNIT_RULES)
			continue;
		f->sum[i] = sum_of(a, f, i, dims) & groups_from(UNIT_RULES >> a->group_log2);
		f->from[i] = UNIT_RULES;
		list[left] = (uint8_t)i;
		left += f->sum[i] != 0;
	}
	return left;
}

/* dims is a constant at each call, so that loops over it are unrolled. */
SEARCH_FN void look_all(const struct acl *a, struct found *f, uint32_t dims, uint32_t late,
                        uint32_t *rule, unsigned n)
{
	const struct first_lines s = first_lines_of(a, dims, late);
	uint8_t list[ACL_LOT];
	unsigned listed = look_first(&s, f, dims, late, rule, list, n);
	for (unsigned k = 0; late && k < listed; k++)
		for (uint32_t d = 0; d < late; d++)
			f->at[d][list[k]] = interval_of(&s, f, list[k], d, late);
	listed = sum_up(a, f, dims, rule, list, listed);
	while (listed) {
		unsigned left = 0;
		for (unsigned k = 0; k < listed; k++) {
			const unsigned i = list[k];
			list[left] = (uint8_t)i;
			left += look(a, f, i, dims, &rule[i]);
		}
		listed = left;
	}
}

/* Lists of at most 64 rules have no vectors. */
SEARCH_FN void look_at_sums(const struct acl *a, const struct found *f, uint32_t dims,
                            uint32_t *rule, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint64_t sum = sum_of(a, f, i, dims);
		rule[i] = sum ? acl_lowest(sum) : a->rules;
	}
}

SEARCH_FN void search(const struct acl *a, const struct acl_keys *k, uint32_t *rule, unsigned n)
{
	const uint32_t late = HAS_TOP && a->late ? ACL_LATE : 0;
	struct found f;
	f.keys = k;
	for (uint32_t d = 0; d < a->dims; d++)
		find(&a->dim[d], d < late, k->word[a->dim[d].word], f.at[d], n);
	if (a->lines == 0 && a->dims == 4)
		look_at_sums(a, &f, 4, rule, n);
	else if (a->lines == 0)
		look_at_sums(a, &f, a->dims, rule, n);
	else if (a->dims == 4 && late) /* typical IPv4 lists */
		look_all(a, &f, 4, ACL_LATE, rule, n);
	else if (a->dims == 3 && late)
		look_all(a, &f, 3, ACL_LATE, rule, n);
	else if (a->dims == 4)
		look_all(a, &f, 4, 0, rule, n);
	else
		look_all(a, &f, a->dims, 0, rule, n);
}

SEARCH_FN void classify(const struct acl *a, const uint8_t *const *ip, uint32_t *rule, unsigned n)
{
	struct acl_keys k;
	for (unsigned done = 0; done < n; done += ACL_LOT) {
		const unsigned lot = n - done < ACL_LOT ? n - done : ACL_LOT;
		read_batch(a, &k, ip + done, lot);
		search(a, &k, rule + done, lot);
		for (unsigned i = 0; unlikely(k.undetermined) && i < lot; i++)
			if (k.word[ACL_KIND][i] == ACL_KIND_UNDETERMINED)
				rule[done + i] = a->rules + ACL_UNDETERMINED;
	}
}

#endif
