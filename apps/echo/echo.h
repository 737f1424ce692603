/* The echo application: small services over UDP and TCP on the data cores. */
#ifndef APPS_ECHO_ECHO_H
#define APPS_ECHO_ECHO_H

#include "runtime/runtime.h"

extern const struct app echo_app;

#endif
