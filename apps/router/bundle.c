/* See bundle.h. */
#include "apps/router/bundle.h"

#include "apps/router/send.h"
#include "dataplane/link_control.h"

static bool has_vlan(const struct pkt *p) { return vlan_is_tagged(p) && be16_load(p->data + 14) & ETH_VID_MASK; }

/* Does the control core take the frame, or is it dropped? */
static bool consumed(struct pkt *p, unsigned port, bool collects)
{
	core_current_next(p);
	if (p->len < ETH_HLEN) {
		core_drop(p, CNT_drop_eth_short);
		return true;
	}
	if (link_control_protocols(port) && !vlan_is_tagged(p) && link_control_punt(p, port))
		return true;
	if (!collects)
		core_drop(p, CNT_drop_bundle);
	return !collects;
}

unsigned router_bundle_in(struct pkt *v, unsigned n, unsigned port)
{
	const struct dp_state *dp = router.dp;
	const unsigned interface = dp->bundle_interface[port];
	const bool collects = __atomic_load_n(&dp->logical[port], __ATOMIC_RELAXED) != DP_LOGICAL_NONE;
	unsigned m = 0;
	core_current_set(&v[0], n);
	for (unsigned i = 0; i < n; i++) {
		if (consumed(&v[i], port, collects))
			continue;
		if (!has_vlan(&v[i]))
			v[i].interface = (uint8_t)interface;
		v[m++] = v[i];
	}
	return m;
}
