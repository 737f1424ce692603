/* The discard application: counts and drops every IP packet. */
#ifndef APPS_DISCARD_DISCARD_H
#define APPS_DISCARD_DISCARD_H

#include "runtime/runtime.h"

extern const struct app discard_app;

#endif
