/* The access log on the control core: what the console and the management server show of it. */
#ifndef APPS_WEB_LOG_KEPT_H
#define APPS_WEB_LOG_KEPT_H

#include "control/management/page.h"
#include "control/console/shell.h"

/* `show web log`: the last LOG_KEPT entries, the oldest first. */
void show_web_log(struct shell *sh);

/* /access.log: the same lines. */
extern const page_part log_page[];

#endif
