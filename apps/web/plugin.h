/* The web application on the control core: builds the site from the archive of the boot module, `show web`, metrics. */
#ifndef APPS_WEB_PLUGIN_H
#define APPS_WEB_PLUGIN_H

#include "control/management/plugin.h"

extern const struct app_plugin web_plugin;

#endif
