/* See dhcp_input.h. */
#include "control/host/dhcp_input.h"

#include "control/host/dhcp_client.h"
#include "control/host/dhcp_relay.h"
#include "dataplane/state.h"
#include "net/dhcp/dhcp4.h"
#include "net/ip4.h"
#include "net/udp.h"

enum counter dhcp_input(const struct core_msg *m)
{
	const uint8_t *ip = m->frame + ETH_HLEN;
	struct udp_datagram d;
	if (dp_next_hop4(dp_get(), ip4_src(ip)) == NH_LOCAL)
		return CNT_drop_ip4_src_local;
	const enum counter bad = udp_check(ip, ip4_total_len(ip), m->flags & PKT_CSUM_OK, &d);
	if (bad != CNT_NONE)
		return bad;
	return d.dst_port == DHCP4_CLIENT_PORT ? dhcp_client_message(&d, m->port) : dhcp_relay_broadcast(&d, m->port);
}
