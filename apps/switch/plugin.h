/* The switch on the control core. */
#ifndef APPS_SWITCH_PLUGIN_H
#define APPS_SWITCH_PLUGIN_H

#include "apps/switch/shared.h"
#include "control/management/plugin.h"

extern const struct app_plugin switch_plugin;

#endif
