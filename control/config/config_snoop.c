/*
 * The statements of IGMP and MLD snooping in the switch (apps/switch/snooping.c). See docs/switch.md.
 *
 * Both families have the same statements: `ip igmp snooping ...` and `ipv6 mld snooping ...`.
 */
#include "control/config/config_parse.h"

#define FAMILY4 0
#define FAMILY6 1
#define INTERVAL_MIN_S 2
#define INTERVAL_MAX_S 18000

static struct config_snoop *snoop_of(struct parser *p, unsigned family)
{
	struct config_snoop *s = &p->out->snoop[family];
	if (s->line == 0)
		s->line = p->w.line;
	return s;
}

static int parse_off(struct parser *p, unsigned i, unsigned family)
{
	snoop_of(p, family)->off = true;
	return words_end(&p->w, i);
}

static int parse_querier(struct parser *p, unsigned i, unsigned family)
{
	snoop_of(p, family)->querier = true;
	return words_end(&p->w, i);
}

static int parse_interval(struct parser *p, unsigned i, unsigned family)
{
	uint32_t s;
	const int error = words_u32(&p->w, i, "the interval in seconds", INTERVAL_MIN_S, INTERVAL_MAX_S, &s);
	if (error != 0)
		return error;
	snoop_of(p, family)->interval_s = s == CONFIG_QUERY_INTERVAL_DEFAULT_S ? 0 : s;
	return words_end(&p->w, i + 1);
}

/* Words from i on: `interface ethN`. */
static int parse_mrouter(struct parser *p, unsigned i, unsigned family, uint16_t vid)
{
	struct config *c = p->out;
	struct config_mrouter r = {.line = p->w.line, .vid = vid, .family = (uint8_t)family};
	int error;
	if (!words_is(&p->w, i, "interface"))
		return FAIL(p, i, "expected interface and the name of a port");
	if ((error = config_parse_interface(p, i + 1, &r.port)) != 0 || (error = words_end(&p->w, i + 2)) != 0)
		return error;
	if (r.port >= CONFIG_PORTS_MAX)
		return FAIL(p, i + 1, "a router is behind a port, such as eth0");
	for (unsigned k = 0; k < c->mrouter_count; k++)
		if (c->mrouter[k].vid == vid && c->mrouter[k].port == r.port && c->mrouter[k].family == family)
			return FAIL(p, i + 1, "the same stands at line %u", c->mrouter[k].line);
	if (c->mrouter_count == CONFIG_MROUTERS_MAX)
		return FAIL(p, i, "too many router ports; at most %d", CONFIG_MROUTERS_MAX);
	c->mrouter[c->mrouter_count++] = r;
	return 0;
}

static int parse_vlan(struct parser *p, unsigned i, unsigned family)
{
	struct config_snoop *s = snoop_of(p, family);
	uint16_t vid;
	int error = config_parse_vid(p, i, &vid);
	if (error != 0 || (error = words_expect(&p->w, i + 1)) != 0)
		return error;
	if (words_is(&p->w, i + 1, "mrouter"))
		return parse_mrouter(p, i + 2, family, vid);
	uint64_t *set = words_is(&p->w, i + 1, "off")          ? s->vlan_off
	                : words_is(&p->w, i + 1, "querier")    ? s->vlan_querier
	                : words_is(&p->w, i + 1, "fast-leave") ? s->fast_leave
	                                                       : NULL;
	if (!set)
		return FAIL(p, i + 1, "expected off, querier, fast-leave or mrouter");
	if ((error = words_end(&p->w, i + 2)) != 0)
		return error;
	set[vid / 64] |= 1ull << vid % 64;
	return 0;
}

int config_snoop_off4(struct parser *p, unsigned i) { return parse_off(p, i, FAMILY4); }
int config_snoop_off6(struct parser *p, unsigned i) { return parse_off(p, i, FAMILY6); }
int config_snoop_querier4(struct parser *p, unsigned i) { return parse_querier(p, i, FAMILY4); }
int config_snoop_querier6(struct parser *p, unsigned i) { return parse_querier(p, i, FAMILY6); }
int config_snoop_interval4(struct parser *p, unsigned i) { return parse_interval(p, i, FAMILY4); }
int config_snoop_interval6(struct parser *p, unsigned i) { return parse_interval(p, i, FAMILY6); }
int config_snoop_vlan4(struct parser *p, unsigned i) { return parse_vlan(p, i, FAMILY4); }
int config_snoop_vlan6(struct parser *p, unsigned i) { return parse_vlan(p, i, FAMILY6); }

int config_snoop_unknown(struct parser *p, unsigned i)
{
	struct config_switchport *s = config_switchport_of(p, i);
	if (s == NULL)
		return E_INVAL;
	s->unknown_multicast = true;
	return words_end(&p->w, i);
}

int config_check_snoop(const struct config *c, struct text_error *err)
{
	char name[CONFIG_IF_NAME_SIZE];
	for (unsigned k = 0; k < c->mrouter_count; k++) {
		const struct config_mrouter *r = &c->mrouter[k];
		if (!config_switch_carries(c, r->port, r->vid))
			return text_fail(err, r->line, text_of(config_key_name(name, r->port)),
			                 "the port does not carry VLAN %u", r->vid);
	}
	return 0;
}
