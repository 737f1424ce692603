/* See buckets.h. */
#include "runtime/buckets.h"

#include "drivers/nic.h"
#include "runtime/shared.h"

static uint8_t home[NIC_PORTS_MAX][NIC_BUCKETS_MAX];

void buckets_reset(unsigned p)
{
	const struct nic_shared *shared = &published_header()->nic[p];
	for (unsigned b = 0; b < shared->buckets; b++)
		home[p][b] = (uint8_t)(b % shared->pairs);
}

int buckets_set(unsigned p, uint64_t pairs)
{
	struct nic *nic = ports_nic(p);
	const unsigned n = published_header()->nic[p].buckets;
	uint8_t pair_of[NIC_BUCKETS_MAX];
	unsigned other = NIC_PAIRS_MAX - 1; /* the pair that has taken the last bucket in another's place */
	if (!n)
		return E_NOTSUP;
	for (unsigned b = 0; b < n; b++) {
		pair_of[b] = home[p][b];
		if (!(pairs >> pair_of[b] & 1))
			pair_of[b] = (uint8_t)(other = nic_next_pair(pairs, other + 1));
	}
	return nic->ops->table(nic, pair_of);
}
