/* The hash of the running configuration. */
#ifndef CONTROL_CONFIG_CONFIG_HASH_H
#define CONTROL_CONFIG_CONFIG_HASH_H

#include "control/config/config.h"
#include "lib/siphash.h"

/* Hashes the next slice of the running configuration. Returns core_now_ns() of the next call;
 * UINT64_MAX: it is done until the configuration changes. */
uint64_t config_hash_timer(void);

/* The hash of the running configuration; false: it is not computed yet. */
bool config_hash_now(uint64_t *hash);

/* The hash of any configuration, which must not change meanwhile: first config_hash_begin, then config_hash_step until
 * it returns true, each time for half a millisecond or a little more; then *hash is the hash. */
struct config_hasher {
	struct config_cursor at;
	struct siphash24 hash;
};
void config_hash_begin(struct config_hasher *h);
bool config_hash_step(struct config_hasher *h, const struct config *c, uint64_t *hash);

#endif
