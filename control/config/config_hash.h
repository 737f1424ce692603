/* The hash of the running configuration. */
#ifndef CONTROL_CONFIG_CONFIG_HASH_H
#define CONTROL_CONFIG_CONFIG_HASH_H

#include "lib/types.h"

/* Hashes the next slice of the running configuration. Returns core_now_ns() of the next call;
 * UINT64_MAX: it is done until the configuration changes. */
uint64_t config_hash_timer(void);

#endif
