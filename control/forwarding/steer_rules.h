/* The statements `steer` of a configuration, for the cards (runtime/rules.h). */
#ifndef CONTROL_FORWARDING_STEER_RULES_H
#define CONTROL_FORWARDING_STEER_RULES_H

#include "control/config/config.h"

/* Refuses a rule that the card of its port cannot have, or of a core that is no data core, `management` of an
 * application that is no router, and more rules than there may be. Of the rules of `management` the card may lack all
 * but those of IPv4 addresses. The ports of the rules exist on this machine or have been refused before. Returns 0, or
 * E_INVAL with *err. */
int steer_rules_check(const struct config *c, enum core_app_number app, struct text_error *err);

/* Gives the cards the rules of a configuration that has been checked, in place of all others. */
void steer_rules_set(const struct config *c);

struct steer_state {
	unsigned rules;    /* of the statement: one, or as many as `management` has addresses and prefixes */
	unsigned in_force; /* of these */
	const char *why;   /* why one is not; static text. NULL: all are in force */
};

/* The state of statement i of the configuration of the last steer_rules_set. */
struct steer_state steer_rules_state(unsigned i);

#endif
