/*
 * Receive filters, 7.1.1: which frames the MAC passes. Unicast by the 128 addresses of RAL/RAH, or
 * all (FCTRL.UPE); multicast by the 4096-bit hash table MTA if MCSTCTRL.MFE, by RAL/RAH, or all
 * (FCTRL.MPE); broadcast if FCTRL.BAM. Then, for tagged frames and if VLNCTRL.VFE, the VFTA.
 */
#include "tools/nicsim/82599/state.h"

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
	for (unsigned i = 0; i < STATIONS; i++) {
		uint32_t high = get(m, RAH + 8 * i);
		if (high & RAH_AV)
			n->station[n->stations++] =
				get(m, RAL + 8 * i) | (uint64_t)(high & 0xffff) << 32;
	}
}

/* 8.2.3.7.7: MO chooses which 12 of the upper bits of the address form the index. */
static bool in_mta(const struct model *m, const uint8_t *a)
{
	static const uint8_t shift[4] = {4, 3, 2, 0};
	uint32_t mo = get(m, MCSTCTRL) & MCSTCTRL_MO;
	uint32_t hash = ((a[4] | (uint32_t)a[5] << 8) >> shift[mo]) & 0xfff;
	return get(m, MTA + 4 * (hash >> 5)) >> (hash & 31) & 1;
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
	uint32_t fctrl = get(m, FCTRL);
	uint64_t a = address(frame);
	if (n->filters_stale)
		refresh(m);
	if (!(frame[0] & 1))
		return fctrl & FCTRL_UPE || is_station(n, a);
	if (a == 0xffffffffffffull)
		return fctrl & FCTRL_BAM;
	if (fctrl & FCTRL_MPE)
		return true;
	return (get(m, MCSTCTRL) & MCSTCTRL_MFE && in_mta(m, frame)) || is_station(n, a);
}

/* 8.2.3.7.2, 8.2.3.7.11 */
bool filter_accepts_vlan(const struct model *m, uint16_t tci)
{
	if (!(get(m, VLNCTRL) & VLNCTRL_VFE))
		return true;
	uint32_t id = tci & 0xfff;
	return get(m, VFTA + 4 * (id >> 5)) >> (id & 31) & 1;
}
