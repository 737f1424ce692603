/* See rules.h. */
#include "runtime/rules.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "runtime/shared.h"

static struct core_rule rules[CORE_RULES_MAX];
static unsigned count_of_rules;
static uint64_t polled[NIC_PORTS_MAX]; /* the pairs that rules may name, as of the last rules_set */
static uint32_t failed;                /* ports whose card has not taken its rules, one bit each */

/* The queue pairs of a rule's cores, one bit each. */
static uint64_t pairs_of(const struct core_rule *r)
{
	uint64_t pairs = 0;
	for (unsigned c = r->core; c <= r->last; c++) {
		const uint8_t pair = published_header()->pair_of[c - self.info->first_data_core];
		pairs |= pair == NO_PAIR ? 0 : 1ull << pair;
	}
	return pairs;
}

static bool is_data_core(unsigned core)
{
	return core - self.info->first_data_core < self.info->data_cores;
}

const char *core_rule_refused(const struct core_rule *r)
{
	const struct nic *nic = core_port_nic(r->port);
	struct nic_rule asked = r->match;
	asked.pairs = r->core == r->last ? 1 : 3;
	if (!is_data_core(r->core) || !is_data_core(r->last))
		return "no data core has this number";
	return nic->ops->rules_refused ? nic->ops->rules_refused(nic, &asked) : "it cannot steer by rule";
}

int rules_set(unsigned p, uint64_t pairs)
{
	struct nic_rule of_port[NIC_RULES_MAX];
	struct nic *nic = ports_nic(p);
	unsigned n = 0;
	polled[p] = pairs;
	failed &= ~(1u << p);
	for (unsigned i = 0; i < count_of_rules; i++) {
		const uint64_t served = rules[i].port == p ? pairs_of(&rules[i]) & pairs : 0;
		if (served == 0)
			continue;
		of_port[n] = rules[i].match;
		of_port[n++].pairs = served;
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

bool rules_any(void)
{
	return count_of_rules != 0;
}

void rules_report(unsigned p)
{
	const struct nic *nic = core_port_nic(p);
	core_log_at(LOG_ERR, "eth%u: %s: %s: its rules are not in force", p, nic->ops->name,
	         nic->error ? nic->error : "the driver cannot");
}

const char *core_rule_state(unsigned i)
{
	const struct core_rule *r = &rules[i];
	assert(i < count_of_rules);
	if (!ports_is_there(r->port))
		return "the port does not run";
	const uint64_t pairs = pairs_of(r);
	if (pairs == 0)
		return "the core has no queue pair of its own";
	if ((pairs & polled[r->port]) == 0)
		return "the core restarts";
	return failed >> r->port & 1 ? "the card has failed to take it" : NULL;
}
