/*
 * See dhcp_relay.h. Requests come from clients on the interfaces that have servers configured, replies from anywhere:
 * a server answers to our address on the clients' interface (giaddr), or repeats the interface's name (the interface
 * ID of DHCPv6). A reply is sent only on an interface with a relay agent.
 *
 * A reply of IPv4 goes out as a frame of our own: the client has no address yet, and does not answer ARP.
 */
#include "control/host/dhcp_relay.h"

#include "control/config/running.h"
#include "control/console/serial.h"
#include "control/forwarding/adjacency.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/routes.h"
#include "control/host/output6.h"
#include "control/host/udp_control.h"
#include "lib/mem.h"
#include "net/dhcp/relay4.h"
#include "net/dhcp/relay6.h"
#include "net/ip4.h"
#include "net/ip6.h"

_Static_assert(CNT_drop_dhcp_unwanted - CNT_drop_dhcp_malformed + 1 == DHCP_DROPS, "they stand together");
_Static_assert(DP_NAME_MAX - 1 <= DHCP_RELAY4_CIRCUIT_MAX && DP_NAME_MAX - 1 <= DHCP_RELAY6_NAME_MAX,
               "the name of an interface fits");

struct dhcp_relay_counts dhcp_relay_counts[DP_INTERFACES_MAX][2];
uint64_t dhcp_relay_strays[2];

static bool joined[DP_INTERFACES_MAX]; /* interfaces that listen to DHCP6_ALL_AGENTS */

/* Counts a message that is dropped; returns why. */
static enum counter refuse(unsigned interface, bool six, enum counter why)
{
	if (why >= CNT_drop_dhcp_malformed && why <= CNT_drop_dhcp_unwanted)
		dhcp_relay_counts[interface][six].drops[why - CNT_drop_dhcp_malformed]++;
	return why;
}

static enum counter stray(bool six)
{
	dhcp_relay_strays[six]++;
	return CNT_drop_dhcp_unwanted;
}

static unsigned name_len(unsigned interface) { return (unsigned)strlen(dp_name(dp_get(), interface)); }

static bool relays(unsigned interface, bool six)
{
	return running.config.interface[interface].relay_line[six] != 0;
}

/* Sends the message to the interface's servers of that family. */
static void send_to_servers(unsigned interface, bool six, const uint8_t *message, unsigned len)
{
	const struct config *c = &running.config;
	struct udp_message m = {.src_port = six ? DHCP6_SERVER_PORT : DHCP4_SERVER_PORT,
	                        .dst_port = six ? DHCP6_SERVER_PORT : DHCP4_SERVER_PORT,
	                        .data = message,
	                        .data_len = len};
	for (unsigned k = 0; k < c->dhcp.relays; k++) {
		const struct config_relay *r = &c->dhcp.relay[k];
		if (r->interface != c->interface[interface].key || net_addr_is_ip4(&r->server) == six)
			continue;
		m.dst = r->server;
		m.interface = r->link == CONFIG_INTERFACE_ANY ? 0 : (unsigned)config_number(c, r->link);
		if (!udp_send(&m)) {
			count(CNT_originated_drop_tx);
			continue;
		}
		count(CNT_dhcp_tx);
		dhcp_relay_counts[interface][six].sent++;
	}
}

/* --- IPv4 --- */

static struct dhcp_relay4 relay4_of(unsigned interface)
{
	const struct config_dhcp *c = &running.config.dhcp;
	const struct dp_interface *ifp = &dp_get()->interface[interface];
	return (struct dhcp_relay4){.giaddr = ifp->enabled && ifp->addresses ? ifp->addr[0] : 0,
	                            .hops_max = c->hops ? c->hops : DHCP_RELAY4_HOPS_MAX,
	                            .insert = c->insert,
	                            .policy = c->policy,
	                            .circuit = dp_name(dp_get(), interface),
	                            .circuit_len = name_len(interface)};
}

/* A request of a client, or one that another relay agent sends us. */
static enum counter request4(const struct udp_datagram *d, unsigned interface)
{
	static uint8_t out[DHCP4_BYTES_MAX];
	const struct dhcp_relay4 r = relay4_of(interface);
	const uint32_t giaddr = be32_load(d->data + DHCP4_GIADDR);
	unsigned n;
	bool without;
	/* a giaddr of ours did not come from another agent */
	if (!relays(interface, false) || r.giaddr == 0 || (giaddr && dp_next_hop4(dp_get(), giaddr) == NH_LOCAL))
		return refuse(interface, false, CNT_drop_dhcp_unwanted);
	const enum counter bad = dhcp_relay4_request(&r, d->data, d->data_len, out, &n, &without);
	if (bad != CNT_NONE)
		return refuse(interface, false, bad);
	if (without)
		count(CNT_dhcp_relay_no_room);
	dhcp_relay_counts[interface][0].requests++;
	send_to_servers(interface, false, out, n);
	return CNT_delivered_dhcp;
}

/* The interface with a relay agent and that address; -1: none. */
static int interface_with(uint32_t giaddr)
{
	const struct dp_state *v = dp_get();
	for (unsigned n = 0; giaddr && n < v->ifs; n++)
		if (relays(n, false) && v->interface[n].enabled && v->interface[n].addresses &&
		    v->interface[n].addr[0] == giaddr)
			return (int)n;
	return -1;
}

/* Sends a message to a client, which may have no address. */
static void send_to_client(unsigned interface, uint32_t src, const struct dhcp_relay4_to *to, const uint8_t *message,
                           unsigned n)
{
	static uint8_t frame[ETH_HLEN + IP4_HLEN + UDP_HLEN + DHCP4_BYTES_MAX];
	const struct udp_build b = {.src = net_addr_ip4(src),
	                            .dst = net_addr_ip4(to->addr),
	                            .src_port = DHCP4_SERVER_PORT,
	                            .dst_port = DHCP4_CLIENT_PORT,
	                            .ttl = IP4_TTL_DEFAULT,
	                            .df = true};
	eth_header_build(frame, to->mac, dp_get()->interface[interface].mac, ETH_TYPE_IP4);
	const unsigned len = udp_packet_build(frame + ETH_HLEN, sizeof frame - ETH_HLEN, &b, message, n);
	if (len > dp_get()->interface[interface].mtu) {
		count(CNT_originated_drop_tx);
		return;
	}
	count(CNT_udp_tx);
	count(CNT_dhcp_tx);
	adjacency_send_own(interface, frame, len + ETH_HLEN);
}

static enum counter reply4(const struct udp_datagram *d)
{
	static uint8_t out[DHCP4_BYTES_MAX];
	struct dhcp_relay4_to to;
	unsigned len;
	const int n = interface_with(be32_load(d->data + DHCP4_GIADDR));
	if (n < 0)
		return stray(false);
	const struct dhcp_relay4 r = relay4_of((unsigned)n);
	const enum counter bad = dhcp_relay4_reply(&r, d->data, d->data_len, out, &len, &to);
	if (bad != CNT_NONE)
		return refuse((unsigned)n, false, bad);
	dhcp_relay_counts[n][0].replies++;
	send_to_client((unsigned)n, r.giaddr, &to, out, len);
	return CNT_delivered_dhcp;
}

enum counter dhcp_relay_broadcast(const struct udp_datagram *d, unsigned interface)
{
	uint8_t op;
	const enum counter bad = dhcp_relay4_check(d->data, d->data_len, &op);
	if (bad != CNT_NONE || op != DHCP4_REQUEST)
		return refuse(interface, false, bad != CNT_NONE ? bad : CNT_drop_dhcp_unwanted);
	return request4(d, interface);
}

/* To an address of ours. */
static enum counter input4(const struct udp_datagram *d, const struct udp_arrival *from)
{
	uint8_t op;
	const enum counter bad = dhcp_relay4_check(d->data, d->data_len, &op);
	if (bad != CNT_NONE)
		return refuse(from->interface, false, bad);
	return op == DHCP4_REQUEST ? request4(d, from->interface) : reply4(d);
}

/* --- IPv6 --- */

/* Our address that says which link a client is on (RFC 8415 19.1.1): a global or unique local one; NET_ADDR_ANY:
 * none. */
static struct net_addr link_of(unsigned interface)
{
	const struct dp_interface6 *ifp = &dp_get()->interface6[interface];
	for (uint32_t i = 0; i < ifp->count; i++)
		if (!ip6_is_link_local(&ifp->addr[i]))
			return ifp->addr[i];
	return NET_ADDR_ANY;
}

static enum counter request6(const struct udp_datagram *d, unsigned interface)
{
	static uint8_t out[DHCP_RELAY6_BYTES_MAX];
	const struct dhcp_relay6_from f = {.peer = d->src,
	                                   .link = link_of(interface),
	                                   .name = dp_name(dp_get(), interface),
	                                   .name_len = name_len(interface)};
	unsigned n;
	if (!relays(interface, true) || net_addr_is_any(&d->src))
		return refuse(interface, true, CNT_drop_dhcp_unwanted);
	const enum counter bad = dhcp_relay6_forward(&f, d->data, d->data_len, out, &n);
	if (bad != CNT_NONE)
		return refuse(interface, true, bad);
	dhcp_relay_counts[interface][1].requests++;
	send_to_servers(interface, true, out, n);
	return CNT_delivered_dhcp;
}

/* The interface that a reply names, by its ID or by the link's address (RFC 8415 19.2); -1: none. */
static int interface_of(const struct dhcp_relay6_reply *r)
{
	const struct dp_state *v = dp_get();
	for (unsigned n = 0; n < v->ifs; n++) {
		if (!relays(n, true) || !v->interface[n].enabled6)
			continue;
		const struct net_addr link = link_of(n);
		if (r->name ? r->name_len == name_len(n) && memcmp(r->name, dp_name(v, n), r->name_len) == 0
		            : !net_addr_is_any(&link) && net_addr_equal(&link, &r->link))
			return (int)n;
	}
	return -1;
}

/* Is it reached by that interface? A reply is for a station on the link, and for no other. */
static bool is_on_link(unsigned interface, const struct net_addr *peer)
{
	return dp_interface_of(dp_get(), local6_next_hop(peer, interface)) == (int)interface;
}

static enum counter reply6(const struct udp_datagram *d, unsigned from)
{
	static uint8_t message[DHCP_RELAY6_BYTES_MAX];
	struct dhcp_relay6_reply r;
	const enum counter bad = dhcp_relay6_take(d->data, d->data_len, &r);
	if (bad != CNT_NONE)
		return refuse(from, true, bad);
	const int n = interface_of(&r);
	if (n < 0 || !is_on_link((unsigned)n, &r.peer))
		return stray(true);
	memcpy(message, r.message, r.len);
	const struct udp_message m = {.dst = r.peer,
	                              .src_port = DHCP6_SERVER_PORT,
	                              .dst_port = r.port,
	                              .interface = (unsigned)n,
	                              .data = message,
	                              .data_len = r.len};
	dhcp_relay_counts[n][1].replies++;
	count(udp_send(&m) ? CNT_dhcp_tx : CNT_originated_drop_tx);
	return CNT_delivered_dhcp;
}

/* To an address of ours, or to all relay agents of a link. */
static enum counter input6(const struct udp_datagram *d, const struct udp_arrival *from)
{
	if (d->data_len == 0 || d->data_len > DHCP_RELAY6_BYTES_MAX)
		return refuse(from->interface, true, CNT_drop_dhcp_malformed);
	const bool reply = d->data[0] == DHCP6_RELAY_REPLY && !ip6_is_multicast(&d->dst);
	return reply ? reply6(d, from->interface) : request6(d, from->interface);
}

/* --- by the configuration --- */

/* Listens to the group of relay agents on an interface, or no longer. */
static void join(unsigned interface, bool on)
{
	const struct net_addr group = DHCP6_ALL_AGENTS;
	if (on == joined[interface])
		return;
	if (on && nd_join(&neighbours.nd, interface, &group, core_now_ns()) != E_OK) {
		console_log("%s: no room for the group of DHCP relay agents", dp_name(dp_get(), interface));
		return;
	}
	joined[interface] = on;
	if (on) {
		routes_host6(interface, &group, NH_LOCAL);
	} else {
		nd_leave(&neighbours.nd, interface, &group, core_now_ns());
		routes_host6_gone(interface, &group, NH_LOCAL);
	}
}

static void listen(uint16_t port, udp_receiver *receiver, bool on)
{
	if (!on)
		udp_unlisten(port);
	else if (!udp_listen(port, receiver))
		console_log("UDP port %u is taken: no DHCP relay agent", port);
}

void dhcp_relay_changed(void)
{
	const struct dp_state *v = dp_get();
	bool on[2] = {false, false};
	for (unsigned n = 0; n < running.config.interfaces; n++) {
		on[0] |= relays(n, false);
		on[1] |= relays(n, true);
		join(n, relays(n, true) && dp_has_link(v, n) && v->interface[n].enabled6);
	}
	listen(DHCP4_SERVER_PORT, input4, on[0]);
	listen(DHCP6_SERVER_PORT, input6, on[1]);
}

void dhcp_relay_start(void)
{
	memset(joined, 0, sizeof joined); /* the tables are new */
	memset(dhcp_relay_counts, 0, sizeof dhcp_relay_counts);
	memset(dhcp_relay_strays, 0, sizeof dhcp_relay_strays);
	dhcp_relay_changed();
}
