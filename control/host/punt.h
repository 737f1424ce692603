/* Messages from data cores. */
#ifndef CONTROL_HOST_PUNT_H
#define CONTROL_HOST_PUNT_H

#include "runtime/runtime.h"

/* control_hooks.msg. */
void punt_input(const struct core_msg *m);

/* Gives the frames that data cores punt as PUNT_APP to the application. f returns the fate, CNT_NONE of a copy. To be
 * called at each start of the ports. */
typedef enum counter (*punt_receiver)(const struct core_msg *m);
void punt_application(punt_receiver f);

#endif
