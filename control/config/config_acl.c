/*
 * Access lists and where they filter: statements, checks of the whole, and rules as text; see
 * config_parse.h, net/acl/acl.h and docs/configuration.md.
 *
 * A list is a block whose lines are rules, in the order of their numbers. A rule without a number
 * gets that of the rule before it plus ten.
 */
#include "control/config/config_parse.h"

#include "lib/assert.h"
#include "lib/fmt.h"
#include "net/icmp4.h"
#include "net/icmp6.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define ANY_CODE 0x100

/* Fields that a rule can match for a protocol. */
enum proto_has { HAS_NOTHING, HAS_PORTS, HAS_FLAGS, HAS_TYPES };

struct proto_word {
	const char *word;
	uint8_t proto;
	bool four, six; /* in lists of this version */
	enum proto_has has;
};

static const struct proto_word protos[] = {
	{"tcp", IP4_PROTO_TCP, true, true, HAS_FLAGS},
	{"udp", IP4_PROTO_UDP, true, true, HAS_PORTS},
	{"sctp", 132, true, true, HAS_PORTS},
	{"icmp", IP4_PROTO_ICMP, true, false, HAS_TYPES},
	{"icmp", IP6_ICMP6, false, true, HAS_TYPES},
	{"esp", IP6_ESP, true, true, HAS_NOTHING},
	{"ahp", IP6_AH, true, false, HAS_NOTHING}, /* IPv6: an extension header, skipped */
	{"gre", 47, true, true, HAS_NOTHING},
	{"ospf", 89, true, true, HAS_NOTHING},
};

struct type_word {
	const char *word;
	bool six;
	uint8_t type;
	uint16_t code; /* or ANY_CODE */
};

static const struct type_word types[] = {
	{"echo", false, ICMP4_ECHO, ANY_CODE},
	{"echo-reply", false, ICMP4_ECHO_REPLY, ANY_CODE},
	{"packet-too-big", false, ICMP4_UNREACH, ICMP4_UNREACH_FRAG},
	{"unreachable", false, ICMP4_UNREACH, ANY_CODE},
	{"redirect", false, ICMP4_REDIRECT, ANY_CODE},
	{"time-exceeded", false, ICMP4_TIME_EXCEEDED, ANY_CODE},
	{"parameter-problem", false, ICMP4_PARAM_PROBLEM, ANY_CODE},
	{"unreachable", true, ICMP6_UNREACH, ANY_CODE},
	{"packet-too-big", true, ICMP6_TOO_BIG, ANY_CODE},
	{"time-exceeded", true, ICMP6_TIME_EXCEEDED, ANY_CODE},
	{"parameter-problem", true, ICMP6_PARAM_PROBLEM, ANY_CODE},
	{"echo-request", true, ICMP6_ECHO, ANY_CODE},
	{"echo-reply", true, ICMP6_ECHO_REPLY, ANY_CODE},
	{"router-solicitation", true, ICMP6_ROUTER_SOLICIT, ANY_CODE},
	{"router-advertisement", true, ICMP6_ROUTER_ADVERT, ANY_CODE},
	{"nd-ns", true, ICMP6_NEIGHBOUR_SOLICIT, ANY_CODE},
	{"nd-na", true, ICMP6_NEIGHBOUR_ADVERT, ANY_CODE},
	{"redirect", true, ICMP6_REDIRECT, ANY_CODE},
};

static const char *const flags[] = {"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"};

static const char *const directions[CONFIG_FILTERS] = {
	[CONFIG_FILTER_IN4] = "ip access-group",
	[CONFIG_FILTER_OUT4] = "ip access-group",
	[CONFIG_FILTER_IN6] = "ipv6 traffic-filter",
	[CONFIG_FILTER_OUT6] = "ipv6 traffic-filter",
	[CONFIG_FILTER_IN_MAC] = "mac access-group",
};

/* The kind of the list that filters there. */
static const enum config_acl_kind kind_of[CONFIG_FILTERS] = {
	[CONFIG_FILTER_IN4] = CONFIG_ACL_IP4, [CONFIG_FILTER_OUT4] = CONFIG_ACL_IP4,
	[CONFIG_FILTER_IN6] = CONFIG_ACL_IP6, [CONFIG_FILTER_OUT6] = CONFIG_ACL_IP6,
	[CONFIG_FILTER_IN_MAC] = CONFIG_ACL_MAC,
};

const char *config_acl_word(enum config_acl_kind kind)
{
	static const char *const words[CONFIG_ACL_KINDS] = {"ip", "ipv6", "mac"};
	return words[kind];
}

/* --- the block --- */

static bool is_name(struct text w)
{
	bool good = w.len < CONFIG_ACL_NAME_SIZE;
	for (size_t i = 0; good && i < w.len; i++) {
		char c = text_lower(w.at[i]);
		good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
		       c == '.';
	}
	return good;
}

/* Checks that word i is the name of a list. */
static int parse_name(struct parser *p, unsigned i)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (!is_name(p->w.word[i]))
		return FAIL(p, i, "a name has 1 to %d letters, digits, and characters of \"-_.\"",
		            CONFIG_ACL_NAME_SIZE - 1);
	return 0;
}

static void copy_name(char name[CONFIG_ACL_NAME_SIZE], struct text w)
{
	memset(name, 0, CONFIG_ACL_NAME_SIZE);
	memcpy(name, w.at, w.len);
}

/* Names are case-sensitive. */
static struct config_acl *find_list(struct config *c, struct text name)
{
	for (unsigned i = 0; i < c->acl_count; i++)
		if (strlen(c->acl[i].name) == name.len &&
		    memcmp(c->acl[i].name, name.at, name.len) == 0)
			return &c->acl[i];
	return NULL;
}

const struct config_acl *config_acl_find(const struct config *c, const char *name)
{
	return find_list((struct config *)c, text_of(name));
}

static int open_list(struct parser *p, unsigned i, enum config_acl_kind kind)
{
	struct config *c = p->out;
	i += p->w.n > i + 1 && words_is(&p->w, i, "extended"); /* IOS' word for such lists */
	int error = parse_name(p, i);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	const struct config_acl *same = find_list(c, p->w.word[i]);
	if (same)
		return FAIL(p, i, "this list stands already at line %u", same->line);
	if (c->acl_count == CONFIG_ACLS_MAX)
		return FAIL(p, i, "too many access lists; at most %d", CONFIG_ACLS_MAX);
	p->acl = &c->acl[c->acl_count++];
	*p->acl = (struct config_acl){.line = p->w.line, .first = c->acl_rule_count, .kind = kind};
	copy_name(p->acl->name, p->w.word[i]);
	return 0;
}

int config_acl_list4(struct parser *p, unsigned i)
{
	return open_list(p, i, CONFIG_ACL_IP4);
}

int config_acl_list6(struct parser *p, unsigned i)
{
	return open_list(p, i, CONFIG_ACL_IP6);
}

int config_acl_list_mac(struct parser *p, unsigned i)
{
	return open_list(p, i, CONFIG_ACL_MAC);
}

int config_acl_sequence(struct parser *p)
{
	p->sequence = 0;
	if (!p->acl || p->w.n < 2 || p->w.word[0].at[0] < '0' || p->w.word[0].at[0] > '9')
		return 0;
	if (text_parse_u32(p->w.word[0], 1, CONFIG_ACL_SEQUENCE_MAX, &p->sequence) != 0)
		return FAIL(p, 0, "the number of a rule must be from 1 to %u", CONFIG_ACL_SEQUENCE_MAX);
	p->w.n--;
	memmove(p->w.word, p->w.word + 1, p->w.n * sizeof p->w.word[0]);
	return 0;
}

/* --- the words of a rule --- */

static int parse_proto(struct parser *p, unsigned i, struct acl_rule *r, enum proto_has *has)
{
	const bool six = p->acl->kind == CONFIG_ACL_IP6;
	uint32_t number;
	*has = HAS_NOTHING;
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	r->any_proto = words_is(&p->w, i, six ? "ipv6" : "ip");
	if (r->any_proto)
		return 0;
	bool by_number = text_parse_u32(p->w.word[i], 0, 255, &number) == 0;
	for (unsigned n = 0; n < ARRAY_LEN(protos); n++) {
		const struct proto_word *w = &protos[n];
		if (!(six ? w->six : w->four) ||
		    !(by_number ? number == w->proto : words_is(&p->w, i, w->word)))
			continue;
		r->proto = w->proto;
		*has = w->has;
		return 0;
	}
	if (by_number) {
		r->proto = (uint8_t)number;
		return 0;
	}
	return FAIL(p, i, "unknown protocol; expected %s, tcp, udp, sctp, icmp, esp, gre, ospf%s or a "
	                  "number from 0 to 255", six ? "ipv6" : "ip", six ? "" : ", ahp");
}

/* "any", "host ADDRESS" or a prefix; *i moves past it. */
static int parse_addresses(struct parser *p, unsigned *i, struct net_addr *prefix, uint8_t *plen)
{
	const bool six = p->acl->kind == CONFIG_ACL_IP6;
	unsigned bits = 0;
	uint32_t four = 0;
	int error = words_expect(&p->w, *i);
	if (error != 0)
		return error;
	if (words_is(&p->w, *i, "any")) {
		*i += 1;
		*prefix = NET_ADDR_ANY;
	} else if (words_is(&p->w, *i, "host")) {
		struct text w = words_at(&p->w, *i + 1);
		error = six ? text_parse_ip6(w, prefix) : text_parse_ip4(w, &four);
		if (error != 0)
			return FAIL(p, *i + 1, "expected the address of a host, of IPv%d", six ? 6 : 4);
		*i += 2;
		bits = six ? 128 : 32;
	} else {
		error = six ? config_ip6_prefix(p, (*i)++, prefix, &bits)
		            : config_ip4_prefix(p, i, &four, &bits);
		if (error != 0)
			return error;
	}
	if (!six)
		*prefix = net_addr_ip4(four);
	*plen = (uint8_t)(bits + (six ? 0 : 96));
	return 0;
}

/* Optional "eq N", "lt N", "gt N" or "range N N"; *i moves past it. */
static int parse_ports(struct parser *p, unsigned *i, enum proto_has has, struct acl_ports *out)
{
	static const char *const words[] = {"eq", "lt", "gt", "range"};
	uint32_t first = 0, last = 65535, which = 0;
	while (which < ARRAY_LEN(words) && !words_is(&p->w, *i, words[which]))
		which++;
	if (which == ARRAY_LEN(words))
		return words_is(&p->w, *i, "neq")
		               ? FAIL(p, *i, "neq is not supported; write one rule for the ports "
		                             "below and one for those above")
		               : 0;
	if (has != HAS_PORTS && has != HAS_FLAGS)
		return FAIL(p, *i, "only TCP, UDP and SCTP have ports");
	int error = words_u32(&p->w, *i + 1, "a port", which == 1, which == 2 ? 65534 : 65535,
	                      which == 1 ? &last : &first);
	if (error == 0 && which == 3)
		error = words_u32(&p->w, *i + 2, "the last port of a range", first, 65535, &last);
	if (error != 0)
		return error;
	last = which == 0 ? first : which == 1 ? last - 1 : last;
	first += which == 2;
	*i += which == 3 ? 3 : 2;
	*out = (struct acl_ports){(uint16_t)first, (uint16_t)last};
	return 0;
}

/* Optional name of an ICMP type, or number of a type and optionally of a code. */
static int parse_type(struct parser *p, unsigned *i, struct acl_rule *r)
{
	uint32_t type = 0, code = ANY_CODE;
	unsigned n = 0;
	while (n < ARRAY_LEN(types) &&
	       (types[n].six != (p->acl->kind == CONFIG_ACL_IP6) || !words_is(&p->w, *i, types[n].word)))
		n++;
	if (n < ARRAY_LEN(types)) {
		type = types[n].type;
		code = types[n].code;
	} else if (*i < p->w.n && text_parse_u32(p->w.word[*i], 0, 255, &type) != 0) {
		return 0; /* parse_rest checks the word */
	} else if (*i + 1 < p->w.n && text_parse_u32(p->w.word[*i + 1], 0, 255, &code) == 0) {
		*i += 1;
	}
	if (*i == p->w.n)
		return 0;
	*i += 1;
	r->dst_port.first = (uint16_t)(type << 8 | (code == ANY_CODE ? 0 : code));
	r->dst_port.last = (uint16_t)(type << 8 | (code == ANY_CODE ? 255 : code));
	return 0;
}

/* "+syn -ack ..." */
static int parse_flags(struct parser *p, unsigned *i, struct acl_rule *r)
{
	unsigned begin = *i;
	for (; *i < p->w.n; *i += 1) {
		struct text w = p->w.word[*i];
		const struct text name = {w.at + 1, w.len - 1};
		unsigned f = 0;
		while (f < ARRAY_LEN(flags) && !text_is_word(name, text_of(flags[f])))
			f++;
		if (f == ARRAY_LEN(flags) || (w.at[0] != '+' && w.at[0] != '-'))
			break;
		if (r->flags_mask & 1u << f)
			return FAIL(p, *i, "this flag is there already");
		r->flags_mask |= (uint8_t)(1u << f);
		r->flags_value |= (uint8_t)((w.at[0] == '+') << f);
	}
	if (*i == begin)
		return FAIL(p, *i, "expected flags, each with + or -, such as +syn -ack; they are fin, syn, "
		                   "rst, psh, ack, urg, ece, cwr");
	return 0;
}

/* The optional end of a rule. */
static int parse_rest(struct parser *p, unsigned i, enum proto_has has, struct acl_rule *r)
{
	const bool ports = r->src_port.first != 0 || r->src_port.last != 65535 ||
	                   r->dst_port.first != 0 || r->dst_port.last != 65535;
	int error = 0;
	if (words_is(&p->w, i, "established") || words_is(&p->w, i, "match-all")) {
		if (has != HAS_FLAGS)
			return FAIL(p, i, "only TCP has flags");
		r->established = words_is(&p->w, i, "established");
		i++;
		if (!r->established)
			error = parse_flags(p, &i, r);
	} else if (words_is(&p->w, i, "fragments")) {
		if (ports)
			return FAIL(p, i, "later fragments have neither ports nor a type to match");
		r->fragments = true;
		i++;
	}
	return error != 0 ? error : words_end(&p->w, i);
}

static int parse_rule(struct parser *p, unsigned i, struct acl_rule *r)
{
	enum proto_has has;
	int error = parse_proto(p, i++, r, &has);
	if (error == 0)
		error = parse_addresses(p, &i, &r->src, &r->src_plen);
	if (error == 0)
		error = parse_ports(p, &i, has, &r->src_port);
	if (error == 0)
		error = parse_addresses(p, &i, &r->dst, &r->dst_plen);
	if (error == 0)
		error = has == HAS_TYPES ? parse_type(p, &i, r) : parse_ports(p, &i, has, &r->dst_port);
	return error != 0 ? error : parse_rest(p, i, has, r);
}

/* Both statements, "permit" and "deny": the word before i tells which. */
int config_acl_rule(struct parser *p, unsigned i)
{
	struct config *c = p->out;
	struct config_acl_rule line = {.line = p->w.line, .sequence = p->sequence};
	const bool permit = words_is(&p->w, i - 1, "permit");
	int error;
	if (p->acl == NULL)
		return FAIL(p, i - 1, "a rule belongs into an access list; write \"ip access-list NAME\" or "
		                      "\"ipv6 access-list NAME\" before it");
	if (p->acl->kind == CONFIG_ACL_MAC) {
		line.mac.permit = permit;
		p->w.syntax = permit ? "permit " CONFIG_ACL_MAC_RULE : "deny " CONFIG_ACL_MAC_RULE;
		error = config_acl_mac_rule(p, i, &line.mac);
	} else {
		line.rule = (struct acl_rule){.permit = permit, .src_port = ACL_ANY_PORT, .dst_port = ACL_ANY_PORT};
		error = parse_rule(p, i, &line.rule);
	}
	if (error != 0)
		return error;
	uint32_t last = p->acl->rules ? c->acl_rules[c->acl_rule_count - 1].sequence : 0;
	if (line.sequence == 0)
		line.sequence = last + (last < CONFIG_ACL_SEQUENCE_MAX - CONFIG_ACL_SEQUENCE_STEP
		                                ? CONFIG_ACL_SEQUENCE_STEP
		                                : 1);
	if (line.sequence <= last || line.sequence > CONFIG_ACL_SEQUENCE_MAX)
		return FAIL(p, i - 1, "rules stand in the order of their numbers, and the one before has %u",
		            last);
	if (c->acl_rule_count == p->mem->acl_rule_max)
		return FAIL(p, i - 1, "too many rules; there is room for %u in all lists together",
		            p->mem->acl_rule_max);
	c->acl_rules[c->acl_rule_count++] = line;
	p->acl->rules++;
	return 0;
}

/* --- at an interface --- */

static int parse_filter(struct parser *p, unsigned i, enum config_filter_direction in,
                        enum config_filter_direction out)
{
	int error = parse_name(p, i);
	if (error != 0 || (error = words_expect(&p->w, i + 1)) != 0)
		return error;
	bool is_in = words_is(&p->w, i + 1, "in");
	if (!is_in && !words_is(&p->w, i + 1, "out"))
		return FAIL(p, i + 1, "expected in or out");
	struct config_filter *f = &p->interface->filter[is_in ? in : out];
	if (f->name[0] != 0)
		return FAIL(p, i, "the interface has a list for this already, at line %u", f->line);
	if ((error = words_end(&p->w, i + 2)) != 0)
		return error;
	copy_name(f->name, p->w.word[i]);
	f->line = p->w.line;
	return 0;
}

int config_acl_group4(struct parser *p, unsigned i)
{
	return parse_filter(p, i, CONFIG_FILTER_IN4, CONFIG_FILTER_OUT4);
}

int config_acl_group6(struct parser *p, unsigned i)
{
	return parse_filter(p, i, CONFIG_FILTER_IN6, CONFIG_FILTER_OUT6);
}

int config_acl_group_mac(struct parser *p, unsigned i)
{
	if (words_is(&p->w, i + 1, "out"))
		return FAIL(p, i + 1, "a list of MAC addresses judges what a port receives: expected in");
	return parse_filter(p, i, CONFIG_FILTER_IN_MAC, CONFIG_FILTER_IN_MAC);
}

int config_acl_silent4(struct parser *p, unsigned i)
{
	p->interface->deny_silently = true;
	return words_end(&p->w, i);
}

int config_acl_silent6(struct parser *p, unsigned i)
{
	p->interface->deny_silently6 = true;
	return words_end(&p->w, i);
}

int config_acl_tell4(struct parser *p, unsigned i)
{
	p->interface->deny_silently = false;
	return words_end(&p->w, i);
}

int config_acl_tell6(struct parser *p, unsigned i)
{
	p->interface->deny_silently6 = false;
	return words_end(&p->w, i);
}

/* --- the whole --- */

static int check_filter(const struct config *c, const struct config_filter *f,
                        enum config_filter_direction direction, struct text_error *err)
{
	if (f->name[0] == 0)
		return 0;
	const struct config_acl *list = config_acl_find(c, f->name);
	if (list == NULL)
		return text_fail(err, f->line, text_of(f->name), "there is no access list of this name");
	static const char *const kinds[CONFIG_ACL_KINDS] = {"IPv4", "IPv6", "MAC addresses"};
	if (list->kind != kind_of[direction])
		return text_fail(err, f->line, text_of(f->name), "the list at line %u is of %s; \"%s\" takes one of %s",
		                 list->line, kinds[list->kind], directions[direction], kinds[kind_of[direction]]);
	return 0;
}

int config_check_acl(const struct config *c, struct text_error *err)
{
	for (unsigned i = 0; i < c->acl_count; i++)
		if (c->acl[i].rules == 0)
			return text_fail(err, c->acl[i].line, text_of(c->acl[i].name),
			                 "the list has no rule: it would be read as deny all by some and "
			                 "as permit all by others");
	for (unsigned interface = 0; interface < c->interfaces; interface++)
		for (unsigned direction = 0; direction < CONFIG_FILTERS; direction++) {
			int error = check_filter(c, &c->interface[interface].filter[direction],
			                         (enum config_filter_direction)direction, err);
			if (error != 0)
				return error;
		}
	return 0;
}

/* --- parsed rules --- */

static bool same_ports(struct acl_ports a, struct acl_ports b)
{
	return a.first == b.first && a.last == b.last;
}

bool config_acl_same(const struct config_acl_rule *a, const struct config_acl_rule *b, enum config_acl_kind kind)
{
	const struct acl_rule *r = &a->rule, *s = &b->rule;
	if (kind == CONFIG_ACL_MAC)
		return a->sequence == b->sequence && config_acl_mac_same(&a->mac, &b->mac);
	return a->sequence == b->sequence && net_addr_equal(&r->src, &s->src) &&
	       net_addr_equal(&r->dst, &s->dst) && r->src_plen == s->src_plen &&
	       r->dst_plen == s->dst_plen && r->permit == s->permit &&
	       r->any_proto == s->any_proto && r->proto == s->proto &&
	       r->fragments == s->fragments && r->established == s->established &&
	       r->flags_mask == s->flags_mask && r->flags_value == s->flags_value &&
	       same_ports(r->src_port, s->src_port) && same_ports(r->dst_port, s->dst_port);
}

int config_acl_resequence(struct config *c, const struct config_acl *l, uint32_t start,
                          uint32_t step)
{
	if (l->rules > 0 && start + (uint64_t)(l->rules - 1) * step > CONFIG_ACL_SEQUENCE_MAX)
		return E_INVAL;
	for (uint32_t r = 0; r < l->rules; r++)
		c->acl_rules[l->first + r].sequence = start + r * step;
	return E_OK;
}

/* --- back to text --- */

static void put_addresses(struct fmt_buf *w, bool six, const struct net_addr *a, unsigned plen)
{
	char text[FMT_PREFIX6_MAX];
	unsigned most = six ? 128 : 32, bits = six ? plen : plen - 96;
	if (bits == 0)
		fmt_put(w, " any");
	else if (bits == most)
		fmt_put(w, " host %s", fmt_addr(text, a));
	else
		fmt_put(w, " %s", six ? fmt_prefix6(text, a, bits) : fmt_prefix(text, net_addr_to_ip4(a), bits));
}

static void put_ports(struct fmt_buf *w, struct acl_ports p)
{
	if (p.first == p.last)
		fmt_put(w, " eq %u", p.first);
	else if (p.first != 0 || p.last != 65535)
		fmt_put(w, " range %u %u", p.first, p.last);
}

static void put_type(struct fmt_buf *w, bool six, struct acl_ports p)
{
	unsigned code = p.first == p.last ? p.first & 255u : ANY_CODE;
	if (p.first == 0 && p.last == 65535)
		return;
	for (unsigned n = 0; n < ARRAY_LEN(types); n++)
		if (types[n].six == six && types[n].type == p.first >> 8 && types[n].code == code) {
			fmt_put(w, " %s", types[n].word);
			return;
		}
	fmt_put(w, " %u", p.first >> 8);
	if (code != ANY_CODE)
		fmt_put(w, " %u", code);
}

static void put_flags(struct fmt_buf *w, const struct acl_rule *r)
{
	if (r->flags_mask)
		fmt_put(w, " match-all");
	for (unsigned f = 0; f < ARRAY_LEN(flags); f++)
		if (r->flags_mask & 1u << f)
			fmt_put(w, " %c%s", r->flags_value & 1u << f ? '+' : '-', flags[f]);
}

/* Writes the words of a rule of IP addresses behind `permit` or `deny`. */
static void put_ip_rule(struct fmt_buf *w, const struct acl_rule *r, bool six)
{
	const struct proto_word *proto = NULL;
	for (unsigned n = 0; n < ARRAY_LEN(protos) && !r->any_proto; n++)
		if ((six ? protos[n].six : protos[n].four) && protos[n].proto == r->proto)
			proto = &protos[n];
	if (r->any_proto)
		fmt_put(w, " %s", six ? "ipv6" : "ip");
	else if (proto)
		fmt_put(w, " %s", proto->word);
	else
		fmt_put(w, " %u", r->proto);
	put_addresses(w, six, &r->src, r->src_plen);
	put_ports(w, r->src_port);
	put_addresses(w, six, &r->dst, r->dst_plen);
	if (proto && proto->has == HAS_TYPES)
		put_type(w, six, r->dst_port);
	else
		put_ports(w, r->dst_port);
	put_flags(w, r);
	if (r->established)
		fmt_put(w, " established");
	if (r->fragments)
		fmt_put(w, " fragments");
}

char *config_acl_rule_text(char buf[CONFIG_ACL_RULE_TEXT], const struct config_acl_rule *line,
                           enum config_acl_kind kind)
{
	struct fmt_buf w = {.at = buf, .size = CONFIG_ACL_RULE_TEXT};
	const bool mac = kind == CONFIG_ACL_MAC, permit = mac ? line->mac.permit : line->rule.permit;
	fmt_put(&w, "%u %s", line->sequence, permit ? "permit" : "deny");
	if (mac)
		config_acl_mac_text(&w, &line->mac);
	else
		put_ip_rule(&w, &line->rule, kind == CONFIG_ACL_IP6);
	assert(!w.full);
	return buf;
}
