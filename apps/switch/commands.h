/* The console and the metrics of the switch. */
#ifndef APPS_SWITCH_COMMANDS_H
#define APPS_SWITCH_COMMANDS_H

#include "control/console/shell.h"
#include "control/management/page.h"

#define SWITCH_COMMANDS 13
extern const struct shell_command switch_commands[SWITCH_COMMANDS];

/* A command in a file of its own. */
void show_storm_control(struct shell *sh);

/* The state of a port in a word. */
const char *switch_state_word(unsigned port);

bool switch_metrics(struct page_walk *w, struct page_text *t);

#endif
