/* The device for testing nicsim itself. See testdev.c. */
#ifndef NICSIM_TESTDEV_H
#define NICSIM_TESTDEV_H

#include "tools/nicsim/model.h"

extern const struct model_ops testdev_ops;

#endif
