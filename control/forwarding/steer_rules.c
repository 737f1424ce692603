/*
 * See steer_rules.h. A statement is one rule of the card, but `steer management` is a rule for each prefix whose
 * packets are for the router itself: the addresses of all its interfaces, link-local addresses and groups (RFC 4291
 * 2.5.6, 2.7; RFC 5771, 4). These follow the configuration: each commit sets all rules anew.
 *
 * Deliberately missing: addresses by autoconfiguration. Applications that have such are not routers.
 */
#include "control/forwarding/steer_rules.h"

#include "runtime/rules.h"
#include "runtime/runtime.h"

struct list {
	struct core_rule rule[CORE_RULES_MAX];
	unsigned n;
	unsigned asked; /* even if there is no room, or the card refuses */
};

/* Where the rules of a statement are. */
static struct made {
	unsigned first, n; /* those of core_set_rules */
	unsigned refused;  /* by the card */
	const char *why;
} made[CONFIG_STEER_MAX];

static struct core_rule rule_of(const struct config *c, const struct config_steer *s)
{
	return (struct core_rule){(unsigned)config_number(c, s->interface), s->core, s->last, s->match};
}

/* --- the rules of `management` --- */

static struct nic_rule to_ip4(uint32_t prefix, uint8_t plen)
{
	return (struct nic_rule){.family = NIC_RULE_IP4, .dst = {prefix}, .dst_plen = plen};
}

static struct nic_rule to_ip6(const struct net_addr *a, uint8_t plen)
{
	struct nic_rule r = {.family = NIC_RULE_IP6, .dst_plen = plen};
	for (unsigned i = 0; i < ARRAY_LEN(r.dst); i++)
		r.dst[i] = be32_get((be32_t){a->w[i]});
	return r;
}

/* Adds the rule with this match, if the card can have it. */
static void add(struct list *l, struct made *m, const struct core_rule *like, const struct nic_rule match)
{
	struct core_rule r = *like;
	r.match = match;
	const char *why = core_rule_refused(&r);
	if (why) {
		m->refused++;
		m->why = m->why ? m->why : why;
		return;
	}
	l->asked++;
	if (l->n == ARRAY_LEN(l->rule))
		return;
	l->rule[l->n++] = r;
	m->n++;
}

static void add_own(struct list *l, struct made *m, const struct core_rule *like, const struct config *c)
{
	bool six = false;
	for (unsigned n = 0; n < c->interfaces; n++) {
		const struct config_interface *f = &c->interface[n];
		for (unsigned k = 0; k < f->address_count; k++)
			add(l, m, like, to_ip4(f->address[k].addr, 32));
		for (unsigned k = 0; k < f->address6_count; k++)
			add(l, m, like, to_ip6(&f->address6[k].addr, 128));
		six |= f->ipv6;
	}
	add(l, m, like, to_ip4(0xe0000000, 24)); /* 224.0.0.0/24: never forwarded */
	if (!six)
		return;
	add(l, m, like, (struct nic_rule){.family = NIC_RULE_IP6, .dst = {0xfe800000}, .dst_plen = 10});
	add(l, m, like, (struct nic_rule){.family = NIC_RULE_IP6, .dst = {0xff020000}, .dst_plen = 16});
}

/* --- statements --- */

static void expand(const struct config *c, const struct config_steer *s, struct list *l, struct made *m)
{
	const struct core_rule r = rule_of(c, s);
	*m = (struct made){.first = l->n};
	if (s->management)
		add_own(l, m, &r, c);
	else
		add(l, m, &r, r.match);
}

int steer_rules_check(const struct config *c, enum core_app_number app, struct text_error *err)
{
	struct list l = {.n = 0};
	for (unsigned i = 0; i < c->steer_count; i++) {
		const struct config_steer *s = &c->steer[i];
		struct core_rule r = rule_of(c, s);
		struct made m;
		if (s->management && app != CORE_APP_router)
			return text_fail(err, s->line, text_of("management"),
			                 "only the application router steers management traffic");
		if (s->management)
			r.match = to_ip4(0, 32);
		const char *why = core_rule_refused(&r);
		if (why)
			return text_fail(err, s->line, text_of("steer"), "%s of eth%u: %s",
			                 core_port_nic(r.port)->ops->name, r.port, why);
		expand(c, s, &l, &m);
		if (l.asked > CORE_RULES_MAX)
			return text_fail(err, s->line, text_of("steer"),
			                 "with one for each of the router's addresses there are more than %d rules",
			                 CORE_RULES_MAX);
	}
	return E_OK;
}

void steer_rules_set(const struct config *c)
{
	struct list l = {.n = 0};
	for (unsigned i = 0; i < c->steer_count; i++)
		expand(c, &c->steer[i], &l, &made[i]);
	core_set_rules(l.rule, l.n);
}

struct steer_state steer_rules_state(unsigned i)
{
	const struct made *m = &made[i];
	struct steer_state s = {m->n + m->refused, 0, m->why};
	for (unsigned k = m->first; k < m->first + m->n; k++) {
		const char *why = core_rule_state(k);
		s.in_force += why == NULL;
		s.why = why ? why : s.why; /* what may pass comes first */
	}
	return s;
}
