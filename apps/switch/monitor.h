/* Port mirroring on the control core: what the sessions of the configuration tell the data cores. */
#ifndef APPS_SWITCH_MONITOR_H
#define APPS_SWITCH_MONITOR_H

#include "control/console/shell.h"

/* Publishes the sessions of running.config. To be called when tables exist, and when the configuration has
 * changed. */
void monitor_publish(void);

void show_monitor_session(struct shell *sh);

#endif
