/*
 * Discard: every IP packet that reaches one of the ports is counted and thrown away, in the spirit
 * of RFC 863 and for any protocol and address. ARP and ICMPv6 to us are answered by the control
 * core, so that hosts find their way here. What it is good for: the far end of a link under load,
 * and what a machine can receive. It is also the least that an application is (ARCHITECTURE.md, How
 * to add).
 */
#include "apps/discard/discard.h"

#include "dataplane/ingress.h"
#include "control/control.h"
#include "dataplane/state.h"

static const struct dp_state *dp;

static void data_start(void)
{
	dp = dp_get();
}

/* Neighbour discovery and MLD are messages of ICMPv6, MLD's behind an option. */
static bool is_icmp6_to_us(const struct pkt *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	return ip6_check(ip, p->len - ETH_HLEN) == CNT_NONE &&
	       (ip6_next(ip) == IP6_ICMP6 || ip6_next(ip) == IP6_HOP_BY_HOP) &&
	       ingress_local6(dp, p);
}

static void rx_vector(struct pkt *v, unsigned n, unsigned port)
{
	const struct dp_interface *ifp = &dp->interface[port];
	for (unsigned i = 0; i < n; i++) {
		core_current_set(&v[i], n);
		enum ingress ingress = ingress_classify(&v[i], ifp);
		if (ingress == INGRESS_IP6 && is_icmp6_to_us(&v[i])) {
			pkt_csum_complete(&self.pool, &v[i]);
			core_punt(&v[i], ingress_punt_kind6(&v[i]), NH_LOCAL);
		} else if (ingress != INGRESS_CONSUMED) {
			core_drop(&v[i], CNT_discarded);
		}
	}
	core_current.data = 0;
}

const struct app discard_app = {
	.control = &control_plane_hooks,
	.data_start = data_start,
	.data_tables = data_start,
	.rx_vector = rx_vector,
};
