/* The generator: sends by a script, judges what comes back. See docs/pktgen.md. */
#ifndef PKTGEN_PKTGEN_H
#define PKTGEN_PKTGEN_H

#include "runtime/runtime.h"

extern const struct app pktgen_app;

#endif
