/*
 * The control plane that all applications share: configuration, addresses, routes, neighbours, the
 * machine's own ICMP, console. It runs on the control core; what data cores need of it is published
 * in the view (control/view.h). An application names it in its struct app and knows no more of it;
 * what the files of control/ know of each other is control/inside.h.
 */
#ifndef CONTROL_PLANE_H
#define CONTROL_PLANE_H

#include "core/core.h"

/* Takes what data cores punt as enum punt_kind, and injects enum inject_kind (view.h). */
extern const struct control_hooks plane_hooks;

#endif
