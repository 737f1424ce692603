/* Which configuration runs, in one number. */
#ifndef CONTROL_CONFIG_CONFIG_HASH_H
#define CONTROL_CONFIG_CONFIG_HASH_H

#include "lib/types.h"

/* Goes on hashing the running configuration; returns when it wants to be called again, nanoseconds,
 * UINT64_MAX: it is done, until there is another configuration. */
uint64_t config_hash_timer(void);

#endif
