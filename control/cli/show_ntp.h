/* `show ntp status`, `show ntp associations`, `show hosts`. */
#ifndef CONTROL_CLI_SHOW_NTP_H
#define CONTROL_CLI_SHOW_NTP_H

#include "control/console/shell.h"

void show_ntp_status(struct shell *sh);
void show_ntp_associations(struct shell *sh);
void show_hosts(struct shell *sh);
void clear_hosts(struct shell *sh);

#endif
