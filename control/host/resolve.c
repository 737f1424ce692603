/* See resolve.h. An echo request to the host makes ARP or ND resolve the next hop. */
#include "control/host/resolve.h"

#include "control/forwarding/tables.h"
#include "control/host/output.h"
#include "control/host/output6.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "net/icmp4.h"
#include "net/icmp6.h"
#include "lib/mem.h"
#include "net/ip4.h"

#define DATA_BYTES 32

static uint8_t frame[ETH_HLEN + IP6_HLEN + ICMP6_HLEN + DATA_BYTES];

static bool ask4(const struct net_addr *dst)
{
	uint32_t to = net_addr_to_ip4(dst);
	const struct icmp4_echo e = {.src = local_source(to),
	                             .dst = to,
	                             .data_len = DATA_BYTES,
	                             .ttl = IP4_TTL_DEFAULT,
	                             .df = true};
	unsigned n = e.src ? icmp4_echo_request_build(frame + ETH_HLEN, sizeof frame - ETH_HLEN, &e) : 0;
	if (n == 0)
		return false;
	count(CNT_icmp_tx_echo_request);
	local_output(frame, n + ETH_HLEN);
	return true;
}

static bool ask6(const struct net_addr *dst, unsigned interface)
{
	struct icmp6_echo e = {.dst = *dst,
	                       .data_len = DATA_BYTES,
	                       .hop_limit = IP6_HOP_LIMIT_DEFAULT};
	if (!local6_source(dst, interface, &e.src))
		return false;
	unsigned n = icmp6_echo_request_build(frame + ETH_HLEN, sizeof frame - ETH_HLEN, &e);
	if (n == 0)
		return false;
	count(CNT_icmp6_tx_echo_request);
	local6_output(frame, n + ETH_HLEN, interface);
	return true;
}

static uint32_t next_hop(const struct dp_state *v, const struct net_addr *dst, unsigned interface)
{
	return net_addr_is_ip4(dst) ? dp_next_hop4(v, net_addr_to_ip4(dst)) : local6_next_hop(dst, interface);
}

enum resolve resolve_station(const struct net_addr *dst, unsigned *interface, uint8_t mac[6])
{
	const struct dp_state *v = dp_get();
	if (!forwarding.ready)
		return RESOLVE_NO_ROUTE;
	uint32_t nh = next_hop(v, dst, *interface);
	int leaves = dp_interface_of(v, nh);
	if (leaves < 0)
		return RESOLVE_NO_ROUTE;
	if ((unsigned)leaves != *interface) {
		*interface = (unsigned)leaves;
		return RESOLVE_OTHER_INTERFACE;
	}
	if (!dp_is_connected(nh) && v->adj[nh].state == ADJ_FORWARD) {
		memcpy(mac, v->adj[nh].header, ETH_ALEN);
		return RESOLVE_KNOWN;
	}
	bool asked = net_addr_is_ip4(dst) ? ask4(dst) : ask6(dst, *interface);
	return asked ? RESOLVE_ASKED : RESOLVE_NO_ROUTE;
}
