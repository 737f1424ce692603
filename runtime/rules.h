/*
 * Steering by rule: frames that a card receives and that match go to the queue pair of a chosen data core, or are
 * spread over those of a group of cores. Frames that match no rule go where RSS sends them. Control core only.
 *
 * A rule is in force while its port runs and a core of it polls a queue pair of its own. A core that restarts, or has
 * no pair, is left out of its group. While none is left, the card does not have the rule, and the frames go where RSS
 * sends them: to the other cores.
 */
#ifndef RUNTIME_RULES_H
#define RUNTIME_RULES_H

#include "drivers/nic.h"

#define CORE_RULES_MAX NIC_RULES_MAX /* of all ports together */

#define CORE_RULE_GROUPS_MAX NIC_RULE_GROUPS_MAX /* different groups of several cores, of a port */

struct core_rule {
	unsigned port;
	unsigned core, last;   /* the first and the last core of the group, as `show cores` numbers them */
	struct nic_rule match; /* all but its pairs */
};

/* Why the port's card cannot have such a rule, or the machine has no such data cores; static text. NULL: they can.
 * The port exists. */
const char *core_rule_refused(const struct core_rule *r);

/* Replaces all rules by n others, at most CORE_RULES_MAX, and of a port CORE_RULE_GROUPS_MAX groups, which it copies
 * and which are not refused. Of the rules of a port the first that matches counts. Takes effect at once if the ports
 * run, otherwise when they start. A card that fails is reported (core_rule_state has it, too). */
void core_set_rules(const struct core_rule *r, unsigned n);

/* True if there are rules, in force or not. */
bool rules_any(void);

/* Why rule i of the last core_set_rules is not in force; static text. NULL: it is. */
const char *core_rule_state(unsigned i);

#endif
