/*
 * Receive filters, 7.1.1: which frames the MAC passes. Unicast by the addresses of RAL/RAH, or all; multicast by
 * the 4096-bit hash table MTA if it is on, by RAL/RAH, or all; broadcast if enabled. Then, for tagged frames and if
 * that is on, the VFTA. The switches are in struct mac_mode.
 */
#include "tools/nicsim/intel/state.h"

/* Six bytes as a number in wire order, as RAL and RAH hold them. */
static uint64_t address(const uint8_t *a)
{
	return a[0] | (uint64_t)a[1] << 8 | (uint64_t)a[2] << 16 | (uint64_t)a[3] << 24 |
	       (uint64_t)a[4] << 32 | (uint64_t)a[5] << 40;
}

static void refresh(struct model *m)
{
	struct nic *n = nic_of(m);
	n->stations = 0;
	n->filters_stale = false;
	for (unsigned i = 0; i < n->kind->stations; i++) {
		uint32_t high = get(m, n->kind->rah + 8 * i);
		if (high & RAH_AV)
			n->station[n->stations++] =
				get(m, n->kind->ral + 8 * i) | (uint64_t)(high & 0xffff) << 32;
	}
}

/* 8.2.3.7.7: MO chooses which 12 of the upper bits of the address form the index. */
static bool in_mta(const struct model *m, const uint8_t *a)
{
	static const uint8_t shift[4] = {4, 3, 2, 0};
	uint32_t hash = ((a[4] | (uint32_t)a[5] << 8) >> shift[mode_of(m)->mta_offset & 3]) & 0xfff;
	return get(m, kind_of(m)->mta + 4 * (hash >> 5)) >> (hash & 31) & 1;
}

static bool is_station(const struct nic *n, uint64_t a)
{
	for (unsigned i = 0; i < n->stations; i++)
		if (n->station[i] == a)
			return true;
	return false;
}

bool filter_accepts(struct model *m, const uint8_t *frame)
{
	struct nic *n = nic_of(m);
	const struct mac_mode *mode = mode_of(m);
	uint64_t a = address(frame);
	if (n->filters_stale)
		refresh(m);
	if (!(frame[0] & 1))
		return mode->upe || is_station(n, a);
	if (a == 0xffffffffffffull)
		return mode->bam;
	if (mode->mpe)
		return true;
	return (mode->mta_on && in_mta(m, frame)) || is_station(n, a);
}

/* 8.2.3.7.2, 8.2.3.7.11 */
bool filter_accepts_vlan(const struct model *m, uint16_t tci)
{
	if (!mode_of(m)->vlan_on)
		return true;
	uint32_t id = tci & 0xfff;
	return get(m, kind_of(m)->vfta + 4 * (id >> 5)) >> (id & 31) & 1;
}
