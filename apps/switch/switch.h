/* The switch: an Ethernet bridge by IEEE 802.1Q. control.c has the list of files. */
#ifndef APPS_SWITCH_SWITCH_H
#define APPS_SWITCH_SWITCH_H

#include "runtime/runtime.h"

extern const struct app switch_app;

#endif
