/* See fate.h. */
#include "control/forwarding/fate.h"

#include "dataplane/state.h"

unsigned fate_interface = DP_INTERFACES_MAX;
