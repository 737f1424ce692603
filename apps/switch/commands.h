/* The console and the metrics of the switch. */
#ifndef APPS_SWITCH_COMMANDS_H
#define APPS_SWITCH_COMMANDS_H

#include "control/console/shell.h"
#include "control/management/page.h"
#include "control/text/interface_name.h"

#define SWITCH_COMMANDS 24
extern const struct shell_command switch_commands[SWITCH_COMMANDS];

/* Commands in files of their own. */
void show_igmp_snooping(struct shell *sh);
void show_igmp_groups(struct shell *sh);
void show_igmp_mrouter(struct shell *sh);
void show_mld_snooping(struct shell *sh);
void show_mld_groups(struct shell *sh);
void show_mld_mrouter(struct shell *sh);
void show_storm_control(struct shell *sh);
void show_errdisable(struct shell *sh);

/* The state of a port in a word. */
const char *switch_state_word(unsigned port);

/* Why the switch has disabled a port. */
enum switch_cause { SWITCH_CAUSE_GUARD, SWITCH_CAUSE_STORM, SWITCH_CAUSES };
extern const char *const switch_causes[SWITCH_CAUSES]; /* their words */
bool switch_disabled(unsigned port, enum switch_cause cause);

bool switch_metrics(struct page_walk *w, struct page_text *t);

#endif
