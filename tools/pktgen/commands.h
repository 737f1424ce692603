/*
 * The console of the generator.
 */
#ifndef PKTGEN_COMMANDS_H
#define PKTGEN_COMMANDS_H

#include "control/console/shell.h"
#include "tools/pktgen/measure/rfc2544.h"

#define PKTGEN_COMMANDS 9
extern const struct shell_command pktgen_commands[PKTGEN_COMMANDS];

/* Writes the next piece of a report or capture that is being shown. Returns the TSC of the next
 * call. */
uint64_t commands_turn(void);

void commands_trial(const struct rfc2544 *tests, uint32_t i); /* reports that trial i has ended */
void commands_over(void); /* reports that the run or the test has ended */

#endif
