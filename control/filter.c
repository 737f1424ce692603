/*
 * The configuration's access lists: compiled for the data cores (net/acl/acl.h), shown with what
 * they have counted.
 *
 * They lie behind the view, in the snapshot. Each has its counts in each data core's shared area
 * (view_filter_counts), one for every rule, then one for every enum acl_other. `clear` keeps what
 * they were instead of touching them, for only their core may write them.
 *
 * A list of IPv6 that says nothing else lets pass neighbour solicitations and advertisements before
 * it denies the rest, as IOS has it: without them no neighbour would be found, and nobody means
 * that (RFC 4890 4.4.1: must not be dropped). These two are rules like others, behind the last.
 */
#include "control/filter.h"
#include "control/inside.h"

#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

#define IMPLIED6 2
#define RULES_SHOWN_MAX 2000 /* of a list: as with routes, more would hold the console */

_Static_assert(CONFIG_ACL_RULES_MAX + CONFIG_ACLS_MAX * (IMPLIED6 + ACL_OTHERS) <=
               VIEW_FILTER_COUNTS, "each rule has its count");

typedef unsigned long long ull;

static const struct acl *table[CONFIG_ACLS_MAX]; /* as config.acl */
static uint32_t counts_at[CONFIG_ACLS_MAX];
static uint64_t cleared[VIEW_FILTER_COUNTS]; /* what the counts were at the last clear */

static const char *const implied6_text[IMPLIED6] = {"permit icmp any any nd-ns",
                                                    "permit icmp any any nd-na"};

static uint32_t implied(const struct config_acl *l)
{
	return l->six ? IMPLIED6 : 0;
}

static const char *deny_text(bool six)
{
	return six ? "deny ipv6 any any" : "deny ip any any";
}

#define UNDETERMINED_TEXT "deny undetermined transport"

void filter_text(char *buf, size_t size, unsigned port, bool out, bool six, uint32_t rule)
{
	const struct config *c = &plane.config;
	unsigned way = out ? six ? CONFIG_FILTER_OUT6 : CONFIG_FILTER_OUT4
	                   : six ? CONFIG_FILTER_IN6 : CONFIG_FILTER_IN4;
	const struct config_acl *l = config_acl_find(c, c->interface[port].filter[way].name);
	char text[CONFIG_ACL_RULE_TEXT];
	const char *said;
	if (!l)
		said = "a list that is no more";
	else if (rule < l->rules)
		said = config_acl_rule_text(text, &c->acl_rules[l->first + rule], six);
	else if (rule - l->rules < implied(l))
		said = implied6_text[rule - l->rules];
	else
		said = rule - l->rules - implied(l) == ACL_NO_RULE ? deny_text(six) : UNDETERMINED_TEXT;
	fmt_format(buf, size, "%s%s%s", l ? l->name : "", l ? ": " : "", said);
}

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

/* The scratch for the longest list: its rules, then the compiler's. */
static void *take_scratch(const struct config *c, uint32_t *rules_max)
{
	static void *scratch;
	static size_t bytes;
	*rules_max = 0;
	for (unsigned i = 0; i < c->acl_count; i++)
		*rules_max = u32_max(*rules_max, c->acl[i].rules + implied(&c->acl[i]));
	size_t need = align_up(*rules_max * sizeof(struct acl_rule), 8) + acl_scratch_bytes(*rules_max);
	if (need > bytes) {
		scratch = core_private_alloc(need);
		bytes = scratch ? need : 0;
	}
	return scratch;
}

static int compile(const struct config *c, const struct config_acl *l, struct acl_rule *rule,
                   void *scratch, uint8_t *mem, size_t bytes, const struct acl **out, size_t *used)
{
	for (uint32_t r = 0; r < l->rules; r++)
		rule[r] = c->acl_rules[l->first + r].rule;
	if (l->six) {
		rule[l->rules] = implied_rule(ICMP6_NEIGHBOUR_SOLICIT);
		rule[l->rules + 1] = implied_rule(ICMP6_NEIGHBOUR_ADVERT);
	}
	return acl_compile(rule, l->rules + implied(l), l->six, mem, bytes, scratch, out, used);
}

static void set_filter(struct view_filter *f, const struct config *c,
                       const struct config_filter *of)
{
	const struct config_acl *l = of->name[0] ? config_acl_find(c, of->name) : NULL;
	if (l)
		*f = (struct view_filter){table[l - c->acl], counts_at[l - c->acl]};
}

static void set_filters(struct view *v, const struct config *c)
{
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++) {
		const struct config_interface *i = &c->interface[p];
		struct view_filters *f = &v->filters[p];
		set_filter(&f->in[0], c, &i->filter[CONFIG_FILTER_IN4]);
		set_filter(&f->out[0], c, &i->filter[CONFIG_FILTER_OUT4]);
		set_filter(&f->in[1], c, &i->filter[CONFIG_FILTER_IN6]);
		set_filter(&f->out[1], c, &i->filter[CONFIG_FILTER_OUT6]);
		f->silent[0] = i->deny_silently;
		f->silent[1] = i->deny_silently6;
		for (unsigned six = 0; six < 2; six++)
			v->filters_out[six] |= f->out[six].acl != NULL;
	}
}

int filter_start(struct view *v, uint8_t *at, size_t room, size_t *used, struct text_error *err)
{
	const struct config *c = &plane.config;
	uint32_t counts = 0, rules_max;
	*used = 0;
	memset(cleared, 0, sizeof cleared);
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
		if (compile(c, l, (struct acl_rule *)(void *)scratch, work, at + *used, room - *used,
		            &table[i], &bytes) != E_OK)
			return text_fail(err, l->line, text_of(l->name),
			                 "no memory for the list and its %u rules: %llu KiB are left",
			                 l->rules, (ull)(room - *used) / 1024);
		*used += align_up(bytes, CACHE_LINE);
		counts_at[i] = counts;
		counts += acl_rule_count(table[i]) + ACL_OTHERS;
	}
	v->filter_counts = counts;
	set_filters(v, c);
	return E_OK;
}

/* --- show, clear --- */

/* All data cores' counts of number n since the last clear. */
static ull matches(uint32_t n)
{
	uint64_t sum = 0;
	for (unsigned core = 0; core < self.info->cores; core++)
		if (self.info->core[core].roles & CORE_DATA)
			sum += __atomic_load_n(&view_filter_counts_of(core)[n], __ATOMIC_RELAXED);
	return sum - cleared[n];
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
	const struct config_acl *l = &plane.config.acl[i];
	uint32_t at = counts_at[i], shown = u32_min(l->rules, RULES_SHOWN_MAX);
	char text[CONFIG_ACL_RULE_TEXT];
	shell_print(sh, "%s access list %s\n", l->six ? "IPv6" : "IP", l->name);
	for (uint32_t r = 0; r < shown; r++)
		show_line(sh, config_acl_rule_text(text, &plane.config.acl_rules[l->first + r], l->six),
		          at + r);
	if (shown < l->rules)
		shell_print(sh, "    ... %u more\n", l->rules - shown);
	at += l->rules;
	for (uint32_t r = 0; r < implied(l); r++)
		show_line(sh, implied6_text[r], at++);
	show_line(sh, deny_text(l->six), at + ACL_NO_RULE);
	show_line(sh, UNDETERMINED_TEXT, at + ACL_UNDETERMINED);
}

void show_access_lists(struct shell *sh, int argc, char **argv)
{
	const struct config *c = &plane.config;
	bool any = false;
	for (unsigned i = 0; i < c->acl_count; i++)
		if (argc == 0 || strcmp(argv[0], c->acl[i].name) == 0) {
			show_list(sh, i);
			any = true;
		}
	if (!any && argc == 1)
		shell_print(sh, "there is no access list %s\n", argv[0]);
}

void clear_access_lists(struct shell *sh, int argc, char **argv)
{
	(void)sh;
	(void)argc;
	(void)argv;
	for (uint32_t n = 0; n < view_get()->filter_counts; n++)
		cleared[n] += matches(n);
}
