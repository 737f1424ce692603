/* Messages from data cores. */
#ifndef CONTROL_HOST_PUNT_H
#define CONTROL_HOST_PUNT_H

#include "runtime/runtime.h"

/* control_hooks.msg. */
void punt_input(const struct core_msg *m);

#endif
