/* See udp_control.h. */
#include "control/host/udp_control.h"

#include "control/host/output.h"
#include "control/host/output6.h"
#include "dataplane/state.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "runtime/runtime.h"

#define EPHEMERAL_FIRST 49152u /* RFC 6335 6 */

static struct {
	uint16_t port;
	udp_receiver *receive;
} receivers[UDP_RECEIVERS];
static unsigned open; /* the first that many are in use, in no order */

/* The index of that port's receiver; `open` if there is none. */
static unsigned index_of(uint16_t port)
{
	unsigned n = 0;
	while (n < open && receivers[n].port != port)
		n++;
	return n;
}

bool udp_listen(uint16_t port, udp_receiver *receiver)
{
	const unsigned n = index_of(port);
	if (n < open)
		return receivers[n].receive == receiver;
	if (port == 0 || open == UDP_RECEIVERS)
		return false;
	receivers[open].port = port;
	receivers[open++].receive = receiver;
	return true;
}

uint16_t udp_listen_any(udp_receiver *receiver)
{
	uint16_t port;
	if (open == UDP_RECEIVERS)
		return 0;
	do { /* at most UDP_RECEIVERS of 16384 ports are in use */
		core_random(&port, sizeof port);
		port = (uint16_t)(EPHEMERAL_FIRST | port);
	} while (index_of(port) < open);
	return udp_listen(port, receiver) ? port : 0;
}

void udp_unlisten(uint16_t port)
{
	const unsigned n = index_of(port);
	if (n < open)
		receivers[n] = receivers[--open];
}

enum counter udp_control_input(const struct udp_datagram *d, const struct udp_arrival *from)
{
	const unsigned n = index_of(d->dst_port);
	return n < open ? receivers[n].receive(d, from) : CNT_drop_udp_port;
}

/* The source address of a datagram to m->dst; false: there is none. */
static bool source_of(const struct udp_message *m, struct net_addr *src)
{
	*src = m->src;
	if (!net_addr_is_any(src))
		return true;
	if (!net_addr_is_ip4(&m->dst))
		return local6_source(&m->dst, m->interface, src);
	const uint32_t four = local_source(net_addr_to_ip4(&m->dst));
	*src = net_addr_ip4(four);
	return four != 0;
}

static bool has_route(const struct udp_message *m)
{
	const struct dp_state *v = dp_get();
	const uint32_t nh = net_addr_is_ip4(&m->dst) ? dp_next_hop4(v, net_addr_to_ip4(&m->dst))
	                                             : local6_next_hop(&m->dst, m->interface);
	return dp_interface_of(v, nh) >= 0;
}

bool udp_send(const struct udp_message *m)
{
	const bool four = net_addr_is_ip4(&m->dst);
	static uint16_t id; /* of datagrams that may be fragmented (RFC 6864 4.3) */
	struct udp_build b = {.dst = m->dst, .src_port = m->src_port, .dst_port = m->dst_port,
	                      .id = ++id, .tos = m->tos, .ttl = m->ttl};
	if (b.ttl == 0)
		b.ttl = four ? IP4_TTL_DEFAULT : IP6_HOP_LIMIT_DEFAULT;
	if (!has_route(m) || !source_of(m, &b.src))
		return false;
	const unsigned n = udp_packet_build(local_frame + ETH_HLEN, sizeof local_frame - ETH_HLEN, &b,
	                                    m->data, m->data_len);
	if (n == 0)
		return false;
	count(CNT_udp_tx);
	if (four)
		local_output(local_frame, n + ETH_HLEN);
	else if (m->ttl)
		local6_output_as_is(local_frame, n + ETH_HLEN, m->interface);
	else
		local6_output(local_frame, n + ETH_HLEN, m->interface);
	return true;
}
