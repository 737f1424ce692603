/* The generator: sends frames by a script and judges the frames that it receives. See
 * docs/pktgen.md. */
#ifndef PKTGEN_PKTGEN_H
#define PKTGEN_PKTGEN_H

#include "runtime/runtime.h"

extern const struct app pktgen_app;

#endif
