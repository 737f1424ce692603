/* See running.h. */
#include "control/config/running.h"

struct running running;
