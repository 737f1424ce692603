/* See buckets.h. */
#include "runtime/buckets.h"

#include "drivers/nic.h"
#include "runtime/shared.h"

void buckets_reset(unsigned p, unsigned pairs)
{
	for (unsigned b = 0; b < NIC_BUCKETS_MAX; b++)
		kept()->home[p][b] = (uint8_t)(b % pairs);
}

unsigned buckets_home(unsigned p, unsigned b)
{
	return kept()->home[p][b];
}

void buckets_move(unsigned p, unsigned b, unsigned pair)
{
	kept()->home[p][b] = (uint8_t)pair;
}

int buckets_keep(unsigned p)
{
	const struct nic_shared *shared = &published_header()->nic[p];
	for (unsigned b = 0; b < shared->buckets; b++)
		if (kept()->home[p][b] >= shared->pairs)
			return E_INVAL;
	return buckets_set(p, UINT64_MAX);
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
		pair_of[b] = kept()->home[p][b];
		if (!(pairs >> pair_of[b] & 1))
			pair_of[b] = (uint8_t)(other = nic_next_pair(pairs, other + 1));
	}
	return nic->ops->table(nic, pair_of);
}
