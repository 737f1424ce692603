/* An indirection table that spreads packets over some pairs. */
#ifndef TESTS_UNIT_RIG_SPREAD_H
#define TESTS_UNIT_RIG_SPREAD_H

#include "drivers/nic.h"

/* Gives the device a table of these pairs, one bit each and at least one, round robin. As nic_ops.table. */
static inline int rig_spread(const struct nic_ops *ops, struct nic *nic, uint64_t pairs)
{
	uint8_t pair_of[NIC_BUCKETS_MAX];
	for (unsigned b = 0, pair = 0; b < NIC_BUCKETS_MAX; b++, pair++)
		pair_of[b] = (uint8_t)(pair = nic_next_pair(pairs, pair));
	return ops->table(nic, pair_of);
}

#endif
