/* See dhcp.h. */
#include "dataplane/dhcp.h"

#include "net/dhcp/dhcp4.h"
#include "net/ip4.h"
#include "net/udp.h"

/* Has the packet no other fault than the source address of a host that has none yet? */
static bool is_correct(const uint8_t *ip, unsigned len)
{
	const enum counter bad = ip4_check(ip, len);
	if (bad == CNT_NONE)
		return true;
	return bad == CNT_drop_ip4_src_martian && ip4_src(ip) == 0 && !ip4_dst_is_martian(ip4_dst(ip)) &&
	       ip4_options_error(ip) == 0;
}

/* Before it has an address, an interface takes what a server sends to the offered one (RFC 2131 4.1). */
COLD bool dhcp_is_wanted_on(const struct dp_state *v, unsigned interface, const uint8_t *ip, unsigned len, unsigned on)
{
	if (!is_correct(ip, len) || ip4_is_fragment(ip) || ip4_proto(ip) != IP_PROTO_UDP ||
	    ip4_total_len(ip) < ip4_header_len(ip) + UDP_HLEN)
		return false;
	const unsigned port = be16_load(ip + ip4_header_len(ip) + 2);
	const bool all = ip4_dst(ip) == IP4_BROADCAST;
	const bool own = !v->interface[interface].enabled && !ip4_is_multicast(ip4_dst(ip));
	if (port == DHCP4_CLIENT_PORT)
		return on & DP_DHCP_CLIENT && ip4_src(ip) != 0 && (all || own);
	return port == DHCP4_SERVER_PORT && on & DP_DHCP_RELAY && all;
}
