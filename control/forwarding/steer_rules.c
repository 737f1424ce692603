/* See steer_rules.h. */
#include "control/forwarding/steer_rules.h"

#include "runtime/rules.h"
#include "runtime/runtime.h"

static struct core_rule rule_of(const struct config *c, const struct config_steer *s)
{
	return (struct core_rule){(unsigned)config_number(c, s->interface), s->core, s->last, s->match};
}

int steer_rules_check(const struct config *c, struct text_error *err)
{
	for (unsigned i = 0; i < c->steer_count; i++) {
		const struct config_steer *s = &c->steer[i];
		const struct core_rule r = rule_of(c, s);
		const char *why = core_rule_refused(&r);
		if (why)
			return text_fail(err, s->line, text_of("steer"), "%s of eth%u: %s",
			                 core_port_nic(r.port)->ops->name, r.port, why);
	}
	return E_OK;
}

void steer_rules_set(const struct config *c)
{
	struct core_rule r[CONFIG_STEER_MAX];
	for (unsigned i = 0; i < c->steer_count; i++)
		r[i] = rule_of(c, &c->steer[i]);
	core_set_rules(r, c->steer_count);
}
