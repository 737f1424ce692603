/* The model of Intel's 82599ES 10 GbE controller. See 82599.c. */
#ifndef NICSIM_82599_H
#define NICSIM_82599_H

#include "tools/nicsim/model.h"

extern const struct model_ops intel_82599_ops;

#endif
