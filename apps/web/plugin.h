/* The web application on the control core: its sites (store.h), `show web`, the pages
 * of pages.h. */
#ifndef APPS_WEB_PLUGIN_H
#define APPS_WEB_PLUGIN_H

#include "control/management/plugin.h"

extern const struct app_plugin web_plugin;

#endif
