/*
 * The configuration's access lists: compiled for the data cores (net/acl/acl.h), replaced while
 * these classify packets, and shown with their counts.
 *
 * The compiled lists lie in published memory, behind the data-plane state, in two parts of equal
 * size. One part holds the lists in force; filter_prepare compiles the next ones into the other.
 * filter_switch then stores one pointer, which data cores read once a vector. After core_quiesce
 * the first part is free for the next change. Every change can thus use one whole part, whatever
 * the lists before it were. A list that does not change is copied instead of compiled.
 *
 * Each data core counts in its own shared area (dp_counted). A list has one count for each rule,
 * then one for each enum acl_other. The two parts use separate counts, so that a count keeps its
 * meaning while data cores add to it. Only the data core may write its counts. Therefore offset[]
 * is subtracted from a sum before it is shown: for `clear`, and for rules that keep their counts
 * when lists change.
 *
 * An IPv6 list permits neighbour solicitations and advertisements before it denies the rest, as in
 * IOS, unless one of its rules decides on them. Without them no neighbour would be found (RFC 4890
 * 4.4.1: must not be dropped). These two are rules like others, behind the list's last rule.
 */
#include "control/forwarding/filter.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/shell.h"
#include "dataplane/state.h"
#include "net/icmp6.h"

#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

#define IMPLIED6 2
#define RULES_SHOWN_MAX 2000 /* of a list; as with routes, more would block the console */

#define PART_LEAST 16 /* a part is at least 1/16 of the room, even if lists take less */

_Static_assert(CONFIG_ACL_RULES_MAX + CONFIG_ACLS_MAX * (IMPLIED6 + ACL_OTHERS) <=
               DP_FILTER_COUNTS_EACH, "every rule has a count");

typedef unsigned long long ull;

/* The compiled lists of one part; the arrays have the indices of config.acl. */
struct lists {
	uint8_t *at;
	const void *table[CONFIG_ACLS_MAX]; /* struct acl, or struct acl_mac, as the list's kind says */
	size_t table_bytes[CONFIG_ACLS_MAX];
	uint32_t counts_at[CONFIG_ACLS_MAX]; /* the first count of each, in dp_counted.filter */
	uint32_t counts_end;
	size_t bytes;
};

static struct {
	struct lists part[2];
	size_t part_bytes;
	unsigned in_force;
	bool prepared; /* the other part holds what filter_switch puts into force */
	bool resting;  /* data cores may still read the other part */
	uint64_t offset[DP_FILTER_COUNTS]; /* subtracted from a count to show it */
	void *scratch;
	size_t scratch_bytes;
} filter;

static const char *const implied6_text[IMPLIED6] = {"permit icmp any any nd-ns",
                                                    "permit icmp any any nd-na"};

static uint32_t implied(const struct config_acl *l)
{
	return l->kind == CONFIG_ACL_IP6 ? IMPLIED6 : 0;
}

static const char *deny_text(enum config_acl_kind kind)
{
	static const char *const text[CONFIG_ACL_KINDS] = {"deny ip any any", "deny ipv6 any any", "deny any any"};
	return text[kind];
}

#define UNDETERMINED_TEXT "deny undetermined transport"

/* --- start --- */

static struct acl_rule implied_rule(uint8_t type)
{
	return (struct acl_rule){
		.permit = true,
		.proto = IP6_ICMP6,
		.src_port = ACL_ANY_PORT,
		.dst_port = {(uint16_t)(type << 8), (uint16_t)(type << 8 | 255)},
	};
}

/* Scratch memory for the longest list: its rules, then the compiler's scratch. Private memory is
 * never freed, so when a list has grown, half as much again is taken. */
static void *take_scratch(const struct config *c, uint32_t *rules_max)
{
	*rules_max = 0;
	for (unsigned i = 0; i < c->acl_count; i++)
		*rules_max = u32_max(*rules_max, c->acl[i].rules + implied(&c->acl[i]));
	size_t need = align_up(*rules_max * sizeof(struct acl_rule), 8) + acl_scratch_bytes(*rules_max);
	if (need <= filter.scratch_bytes)
		return filter.scratch;
	size_t more = filter.scratch ? need + need / 2 : need;
	void *scratch = core_private_alloc(more);
	if (!scratch)
		return NULL;
	filter.scratch = scratch;
	filter.scratch_bytes = more;
	return scratch;
}

static bool same_list(const struct config *a, const struct config_acl *l, const struct config *b,
                      const struct config_acl *m)
{
	if (l->rules != m->rules || l->kind != m->kind || strcmp(l->name, m->name) != 0)
		return false;
	for (uint32_t r = 0; r < l->rules; r++)
		if (!config_acl_same(&a->acl_rules[l->first + r], &b->acl_rules[m->first + r], l->kind))
			return false;
	return true;
}

/* The table in force of a list with the same name, kind and rules, and its size; NULL: none. */
static const void *find_same(const struct config *c, const struct config_acl *l, size_t *bytes)
{
	const struct lists *from = &filter.part[filter.in_force];
	for (unsigned i = 0; i < running.config.acl_count; i++)
		if (same_list(c, l, &running.config, &running.config.acl[i])) {
			*bytes = from->table_bytes[i];
			return from->table[i];
		}
	return NULL;
}

/* The scratch memory holds IP rules, which are the larger ones. */
_Static_assert(sizeof(struct acl_mac_rule) <= sizeof(struct acl_rule), "see above");

static int compile_mac(const struct config *c, const struct config_acl *l, struct acl_mac_rule *rule, uint8_t *mem,
                       size_t bytes, const void **out, size_t *used)
{
	*used = acl_mac_bytes(l->rules);
	if (*used > bytes)
		return E_NOMEM;
	for (uint32_t r = 0; r < l->rules; r++)
		rule[r] = c->acl_rules[l->first + r].mac;
	*out = acl_mac_compile(rule, l->rules, mem);
	return E_OK;
}

static int compile(const struct config *c, const struct config_acl *l, struct acl_rule *rule,
                   void *scratch, uint8_t *mem, size_t bytes, const void **out, size_t *used)
{
	const bool six = l->kind == CONFIG_ACL_IP6;
	const struct acl *table = NULL;
	if (l->kind == CONFIG_ACL_MAC)
		return compile_mac(c, l, (struct acl_mac_rule *)(void *)rule, mem, bytes, out, used);
	for (uint32_t r = 0; r < l->rules; r++)
		rule[r] = c->acl_rules[l->first + r].rule;
	if (six) {
		rule[l->rules] = implied_rule(ICMP6_NEIGHBOUR_SOLICIT);
		rule[l->rules + 1] = implied_rule(ICMP6_NEIGHBOUR_ADVERT);
	}
	int error = acl_compile(rule, l->rules + implied(l), six, acl_path_for(vector_bits()), mem, bytes,
	                        scratch, &table, used);
	*out = table;
	return error;
}

/* Compiles the lists of c into part p, of which they may take `room` bytes. If another part is in
 * force, lists that it has are copied from there. */
static int compile_all(const struct config *c, unsigned p, size_t room, struct text_error *err)
{
	struct lists *to = &filter.part[p];
	const bool copies = p != filter.in_force;
	uint32_t rules_max;
	to->bytes = 0;
	to->counts_end = p * DP_FILTER_COUNTS_EACH;
	if (c->acl_count == 0)
		return E_OK;
	uint8_t *scratch = take_scratch(c, &rules_max);
	if (!scratch)
		return text_fail(err, c->acl[0].line, text_of(c->acl[0].name),
		                 "no memory to work on lists of %u rules", rules_max);
	void *work = scratch + align_up(rules_max * sizeof(struct acl_rule), 8);
	for (unsigned i = 0; i < c->acl_count; i++) {
		const struct config_acl *l = &c->acl[i];
		size_t bytes;
		const void *same = copies ? find_same(c, l, &bytes) : NULL;
		if (same && bytes <= room - to->bytes)
			to->table[i] = l->kind == CONFIG_ACL_MAC
			                       ? memcpy(to->at + to->bytes, same, bytes)
			                       : (const void *)acl_copy(same, bytes, to->at + to->bytes);
		else if (compile(c, l, (struct acl_rule *)(void *)scratch, work, to->at + to->bytes,
		                 room - to->bytes, &to->table[i], &bytes) != E_OK)
			return text_fail(err, l->line, text_of(l->name),
			                 "no memory for the list and its %u rules: %llu KiB are left",
			                 l->rules, (ull)(room - to->bytes) / 1024);
		to->table_bytes[i] = bytes;
		to->bytes = (size_t)u64_min(room, to->bytes + align_up(bytes, CACHE_LINE));
		to->counts_at[i] = to->counts_end;
		to->counts_end += l->rules + implied(l) + ACL_OTHERS;
	}
	return E_OK;
}

static void set_filter(struct dp_filter *f, const struct lists *lists, const struct config *c,
                       const struct config_filter *of)
{
	const struct config_acl *l = of->name[0] ? config_acl_find(c, of->name) : NULL;
	if (l)
		*f = (struct dp_filter){lists->table[l - c->acl], lists->counts_at[l - c->acl]};
}

static void set_filter_mac(struct dp_filter_mac *f, const struct lists *lists, const struct config *c,
                           const struct config_filter *of)
{
	const struct config_acl *l = of->name[0] ? config_acl_find(c, of->name) : NULL;
	if (l)
		*f = (struct dp_filter_mac){lists->table[l - c->acl], lists->counts_at[l - c->acl]};
}

/* Sets the filters of all interfaces in filter_set[p], which no data core reads yet. */
static void set_filters(struct dp_state *v, unsigned p, const struct config *c)
{
	const struct lists *lists = &filter.part[p];
	struct dp_filter_set *set = &v->filter_set[p];
	memset(set, 0, sizeof *set);
	for (unsigned interface = 0; interface < c->interfaces; interface++) {
		const struct config_interface *i = &c->interface[interface];
		struct dp_filters *f = &set->interface[interface];
		set_filter(&f->in[0], lists, c, &i->filter[CONFIG_FILTER_IN4]);
		set_filter(&f->out[0], lists, c, &i->filter[CONFIG_FILTER_OUT4]);
		set_filter(&f->in[1], lists, c, &i->filter[CONFIG_FILTER_IN6]);
		set_filter(&f->out[1], lists, c, &i->filter[CONFIG_FILTER_OUT6]);
		set_filter_mac(&f->mac, lists, c, &i->filter[CONFIG_FILTER_IN_MAC]);
		set->any |= f->mac.acl != NULL;
		f->silent[0] = i->deny_silently;
		f->silent[1] = i->deny_silently6;
		for (unsigned six = 0; six < 2; six++) {
			set->out[six] |= f->out[six].acl != NULL;
			set->any |= f->out[six].acl || f->in[six].acl;
		}
	}
}

int filter_start(struct dp_state *v, uint8_t *at, size_t room, size_t *used, struct text_error *err)
{
	const struct config *c = &running.config;
	const size_t most = align_down(room / 4, CACHE_LINE);
	memset(filter.offset, 0, sizeof filter.offset);
	filter.in_force = 0;
	filter.prepared = filter.resting = false;
	filter.part[0].at = at;
	int e = compile_all(c, 0, most, err);
	size_t bytes = u64_max(2 * filter.part[0].bytes, room / PART_LEAST);
	filter.part_bytes = align_down((size_t)u64_min(bytes, most), CACHE_LINE);
	if (e != E_OK)
		filter.part[0].counts_end = 0;
	*used = 2 * filter.part_bytes;
	filter.part[1] = (struct lists){.at = at + filter.part_bytes};
	v->filters = &v->filter_set[0];
	v->filter_counts = filter.part[0].counts_end;
	if (e == E_OK)
		set_filters(v, 0, c);
	return e;
}

/* --- live --- */

/* True if both have the same lists and filters. */
static bool same_filters(const struct config *a, const struct config *b)
{
	bool same = a->acl_count == b->acl_count;
	for (unsigned i = 0; same && i < a->acl_count; i++)
		same = same_list(a, &a->acl[i], b, &b->acl[i]);
	for (unsigned interface = 0; same && interface < CONFIG_IFS_MAX; interface++) {
		const struct config_interface *i = &a->interface[interface];
		const struct config_interface *k = &b->interface[interface];
		same = i->deny_silently == k->deny_silently && i->deny_silently6 == k->deny_silently6;
		for (unsigned direction = 0; same && direction < CONFIG_FILTERS; direction++)
			same = strcmp(i->filter[direction].name, k->filter[direction].name) == 0;
	}
	return same;
}

int filter_prepare(const struct config *next, struct text_error *err)
{
	filter.prepared = false;
	if (same_filters(&running.config, next))
		return E_OK;
	filter.resting = filter.resting && !core_quiesce();
	if (filter.resting)
		return text_fail(err, 1, text_of(""), "a data core still uses the previous lists");
	int e = compile_all(next, !filter.in_force, filter.part_bytes, err);
	filter.prepared = e == E_OK;
	return e;
}

/* Count n, summed over all data cores. */
static uint64_t counted(uint32_t n)
{
	uint64_t sum = 0;
	for (unsigned core = 0; core < self.info->cores; core++)
		if (self.info->core[core].roles & CORE_DATA)
			sum += __atomic_load_n(&dp_counted_of(core)->filter[n], __ATOMIC_RELAXED);
	return sum;
}

/* Matches since the last clear, or since the rule exists. */
static ull matches(uint32_t n)
{
	return counted(n) - filter.offset[n];
}

/* Continues the counts of list m of the running configuration, which begin at `from`, in those of
 * list l of `next`, which begin at `to`, rule by rule. Both lists are sorted by sequence number. */
static void carry_counts(const struct config *next, const struct config_acl *l, uint32_t to,
                         const struct config_acl *m, uint32_t from)
{
	const struct config_acl_rule *new = &next->acl_rules[l->first];
	const struct config_acl_rule *old = &running.config.acl_rules[m->first];
	uint32_t k = 0;
	for (uint32_t r = 0; r < l->rules; r++) {
		while (k < m->rules && old[k].sequence < new[r].sequence)
			k++;
		if (k < m->rules && config_acl_same(&old[k], &new[r], l->kind))
			filter.offset[to + r] -= matches(from + k);
	}
	/* every list of that kind has the same counts behind its rules */
	for (uint32_t n = 0; n < implied(l) + ACL_OTHERS; n++)
		filter.offset[to + l->rules + n] -= matches(from + m->rules + n);
}

void filter_switch(const struct config *next)
{
	const unsigned was = filter.in_force, now = !was;
	const struct lists *old = &filter.part[was], *new = &filter.part[now];
	struct dp_state *v = dp_get();
	if (!filter.prepared)
		return;
	filter.prepared = false;
	for (uint32_t n = now * DP_FILTER_COUNTS_EACH; n < new->counts_end; n++)
		filter.offset[n] = counted(n);
	set_filters(v, now, next);
	__atomic_store_n(&v->filters, &v->filter_set[now], __ATOMIC_RELEASE);
	filter.in_force = now;
	/* then the old counts do not change; on failure all ports are about to be restarted */
	filter.resting = !core_quiesce();
	for (unsigned i = 0; i < next->acl_count; i++) {
		const struct config_acl *m = config_acl_find(&running.config, next->acl[i].name);
		if (m && m->kind == next->acl[i].kind)
			carry_counts(next, &next->acl[i], new->counts_at[i], m,
			             old->counts_at[m - running.config.acl]);
	}
}

/* --- show, clear --- */

void filter_text(char *buf, size_t size, unsigned set, unsigned interface, enum config_filter_direction direction,
                 uint32_t rule)
{
	const struct config *c = &running.config;
	const char *name = c->interface[interface].filter[direction].name;
	const struct config_acl *l = set == filter.in_force ? config_acl_find(c, name) : NULL;
	char text[CONFIG_ACL_RULE_TEXT];
	const char *said;
	if (!l)
		said = "a list no longer in force";
	else if (rule < l->rules)
		said = config_acl_rule_text(text, &c->acl_rules[l->first + rule], l->kind);
	else if (rule - l->rules < implied(l))
		said = implied6_text[rule - l->rules];
	else
		said = rule - l->rules - implied(l) == ACL_NO_RULE ? deny_text(l->kind) : UNDETERMINED_TEXT;
	fmt_format(buf, size, "%s%s%s", l ? l->name : "", l ? ": " : "", said);
}

static void show_line(struct shell *sh, const char *text, uint32_t n)
{
	ull count = matches(n);
	if (count)
		shell_print(sh, "    %s (%llu match%s)\n", text, count, count == 1 ? "" : "es");
	else
		shell_print(sh, "    %s\n", text);
}

static void show_list(struct shell *sh, unsigned i)
{
	const struct config_acl *l = &running.config.acl[i];
	uint32_t at = filter.part[filter.in_force].counts_at[i];
	uint32_t shown = u32_min(l->rules, RULES_SHOWN_MAX);
	char text[CONFIG_ACL_RULE_TEXT];
	static const char *const kinds[CONFIG_ACL_KINDS] = {"IP", "IPv6", "MAC"};
	shell_print(sh, "%s access list %s\n", kinds[l->kind], l->name);
	for (uint32_t r = 0; r < shown; r++)
		show_line(sh, config_acl_rule_text(text, &running.config.acl_rules[l->first + r], l->kind),
		          at + r);
	if (shown < l->rules)
		shell_print(sh, "    ... %u more\n", l->rules - shown);
	at += l->rules;
	for (uint32_t r = 0; r < implied(l); r++)
		show_line(sh, implied6_text[r], at++);
	show_line(sh, deny_text(l->kind), at + ACL_NO_RULE);
	if (l->kind != CONFIG_ACL_MAC)
		show_line(sh, UNDETERMINED_TEXT, at + ACL_UNDETERMINED);
}

void show_access_lists(struct shell *sh)
{
	const struct config *c = &running.config;
	bool any = false;
	for (unsigned i = 0; i < c->acl_count; i++)
		if (sh->argc == 0 || strcmp(sh->argv[0], c->acl[i].name) == 0) {
			show_list(sh, i);
			any = true;
		}
	if (!any && sh->argc == 1)
		shell_print(sh, "there is no access list %s\n", sh->argv[0]);
}

void clear_access_lists(struct shell *sh)
{
	(void)sh;
	for (uint32_t n = filter.in_force * DP_FILTER_COUNTS_EACH;
	     n < filter.part[filter.in_force].counts_end; n++)
		filter.offset[n] = counted(n);
}
