/* See rules.h. */
#include "runtime/rules.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "runtime/shared.h"

static struct core_rule rules[CORE_RULES_MAX];
static unsigned count_of_rules;
static uint64_t polled[NIC_PORTS_MAX]; /* the pairs that rules may name, as of the last rules_set */
static uint32_t failed;                /* ports whose card has not taken its rules, one bit each */

/* The queue pair of a core; NO_PAIR: it has none. */
static uint8_t pair_of(unsigned core)
{
	return published_header()->pair_of[core - self.info->first_data_core];
}

static bool is_data_core(unsigned core)
{
	return core - self.info->first_data_core < self.info->data_cores;
}

const char *core_rule_refused(const struct core_rule *r)
{
	const struct nic *nic = core_port_nic(r->port);
	if (!is_data_core(r->core))
		return "no data core has this number";
	return nic->ops->rules_refused ? nic->ops->rules_refused(nic, &r->match) : "it cannot steer by rule";
}

static bool is_in_force(const struct core_rule *r)
{
	const uint8_t pair = pair_of(r->core);
	return pair != NO_PAIR && polled[r->port] >> pair & 1;
}

int rules_set(unsigned p, uint64_t pairs)
{
	struct nic_rule of_port[NIC_RULES_MAX];
	struct nic *nic = ports_nic(p);
	unsigned n = 0;
	polled[p] = pairs;
	failed &= ~(1u << p);
	for (unsigned i = 0; i < count_of_rules; i++)
		if (rules[i].port == p && is_in_force(&rules[i])) {
			of_port[n] = rules[i].match;
			of_port[n++].pair = pair_of(rules[i].core);
		}
	const int e = nic->ops->rules ? nic->ops->rules(nic, of_port, n) : E_OK;
	failed |= e == E_OK ? 0 : 1u << p;
	return e;
}

void core_set_rules(const struct core_rule *r, unsigned n)
{
	assert(n <= CORE_RULES_MAX);
	count_of_rules = n;
	memcpy(rules, r, n * sizeof *r);
	for (unsigned p = 0; p < core_port_count(); p++)
		if (ports_is_there(p) && rules_set(p, polled[p]) != E_OK)
			rules_report(p);
}

void rules_report(unsigned p)
{
	const struct nic *nic = core_port_nic(p);
	core_log("eth%u: %s: %s: its rules are not in force", p, nic->ops->name,
	         nic->error ? nic->error : "the driver cannot");
}

const char *core_rule_state(unsigned i)
{
	const struct core_rule *r = &rules[i];
	assert(i < count_of_rules);
	if (!ports_is_there(r->port))
		return "the port does not run";
	if (pair_of(r->core) == NO_PAIR)
		return "the core has no queue pair of its own";
	if (!is_in_force(r))
		return "the core restarts";
	return failed >> r->port & 1 ? "the card has failed to take it" : NULL;
}
