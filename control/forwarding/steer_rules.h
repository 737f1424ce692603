/* The statements `steer` of a configuration, for the cards (runtime/rules.h). */
#ifndef CONTROL_FORWARDING_STEER_RULES_H
#define CONTROL_FORWARDING_STEER_RULES_H

#include "control/config/config.h"

/* Refuses a rule that the card of its port cannot have, or of a core that is no data core. The ports of the rules exist
 * on this machine or have been refused before. Returns 0, or E_INVAL with *err. */
int steer_rules_check(const struct config *c, struct text_error *err);

/* Gives the cards the rules of a configuration that has been checked, in place of all others. */
void steer_rules_set(const struct config *c);

#endif
