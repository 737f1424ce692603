/* Makes the card of model_port.h an I226. */
#ifndef TESTS_UNIT_RIG_IGB_PORT_H
#define TESTS_UNIT_RIG_IGB_PORT_H

#include "tests/unit/rig/intel_port.h"

#include "drivers/igb/igb.h"

#endif
