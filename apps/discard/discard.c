/*
 * Discard: counts and drops every IP packet that a port receives, in the spirit of RFC 863, for any
 * protocol and address. The control core answers ARP and ICMPv6 to us, so that hosts can resolve
 * our addresses. Uses: the far end of a link under load, and measuring what a machine can receive.
 * It is also the smallest application (ARCHITECTURE.md, How to add).
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

/* Neighbour discovery and MLD are ICMPv6 messages; MLD's follow a hop-by-hop option. */
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
			ingress_punt(&v[i]);
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
	.steers = true,
	.moves = true,
};
