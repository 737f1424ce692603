/*
 * IPv4 packets to the machine itself: ICMP echo and errors, TCP segments for management
 * (tcp_control.h), and VXLAN of the routing engine (vxlan.h). The control core has no other service,
 * because those of the echo application run on the data cores. It therefore answers other datagrams
 * with port unreachable, other segments with a reset. It does not know which data core an ICMP error
 * about TCP concerns, so it passes the error to all.
 *
 * All fragments come here, because those of one datagram may arrive on different cores. A
 * reassembled ICMP message, or datagram to the echo service, is answered like an unfragmented one.
 * Other services and TCP accept no fragments: a sender of such large datagrams to a character
 * generator, or of segments beyond its MSS, only wants to cause work.
 */
#include "control/host/output6.h"
#include "control/host/fragments.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/tables.h"
#include "control/host/dhcp_input.h"
#include "control/host/input.h"
#include "control/host/output.h"
#include "control/host/ping.h"
#include "control/host/traceroute.h"
#include "dataplane/dhcp.h"
#include "dataplane/state.h"
#include "net/icmp4.h"
#include "control/host/tcp_control.h"
#include "control/host/udp_control.h"

#include "lib/mem.h"
#include "net/icmp_limit.h"
#include "net/ip4.h"
#include "net/tcp/reset.h"

/* Limit of ICMP errors about TCP that are passed to data cores, per second: enough for a change of
 * path of a thousand connections, but bounded in a flood. */
#define TELL_RATE 1000
#define TELL_BURST 200

static struct icmp_limit tell_limit;

/* A neighbour does not answer: sends host unreachable (RFC 1812 5.2.7.1) or address unreachable
 * (RFC 4443 3.1 code 3, RFC 4861 7.2.2). */
static void tell_unreachable(unsigned interface, const uint8_t *ip, unsigned len)
{
	if (ip_is_ip6(ip))
		local6_error(interface, ip, len, ICMP6_UNREACH, ICMP6_UNREACH_ADDRESS, 0);
	else
		local_error(ip, len, ICMP4_UNREACH, ICMP4_UNREACH_HOST);
}

void local_start(void)
{
	adjacency_tell_unreachable = tell_unreachable;
	local_limit(&running.config);
	icmp_limit_init(&tell_limit, TELL_RATE, TELL_BURST);
}

void local_tell_tcp(const struct core_msg *m)
{
	if (!core_app()->data_msg || m->port >= NIC_PORTS_MAX || !icmp_limit_take(&tell_limit, core_now_ns()))
		return;
	for (unsigned pair = 0; pair < core_data_count(); pair++)
		core_inject(pair, m->port, m->frame, m->len, INJECT_APP, APP_TCP_ERROR);
}

static enum counter icmp_input(const struct core_msg *m, const uint8_t *ip, unsigned len)
{
	struct icmp4_msg icmp;
	enum counter fate = icmp4_input(ip, len, &icmp);
	if (fate != CNT_delivered_icmp)
		return fate;
	if (icmp.kind == ICMP4_KIND_ECHO_REQUEST) {
		memcpy(local_frame + ETH_HLEN, ip, len);
		icmp4_echo_reply_make(local_frame + ETH_HLEN, len);
		count(CNT_icmp_tx_echo_reply);
		local_output(local_frame, len + ETH_HLEN);
	} else if (icmp.kind == ICMP4_KIND_ECHO_REPLY) {
		ping_reply(ip4_src(ip), &icmp, ip4_ttl(ip));
		const struct net_addr from = net_addr_ip4(ip4_src(ip));
		traceroute_reply(&from, icmp.id, icmp.seq);
	} else {
		ping_error(ip4_src(ip), &icmp);
		traceroute_error(ip4_src(ip), &icmp);
		if (ip4_proto(icmp.data) == IP4_PROTO_TCP)
			tcp_control_icmp(&icmp);
		if (icmp.type == ICMP4_UNREACH && ip4_proto(icmp.data) == IP4_PROTO_TCP)
			local_tell_tcp(m);
	}
	return fate;
}

static enum counter refuse_tcp(const struct core_msg *m, const uint8_t *ip)
{
	unsigned n;
	enum counter fate = tcp_reset_build(local_frame + ETH_HLEN, &n, ip, m->flags & PKT_CSUM_OK);
	if (n) {
		count(CNT_tcp_tx);
		count(CNT_tcp_tx_rst);
		local_output(local_frame, n + ETH_HLEN);
	}
	return fate;
}

/* True for an address of ours on any interface. */
static bool is_ours(uint32_t addr)
{
	return fib4_lookup(forwarding.fib.fib, addr) == NH_LOCAL;
}

/* Data cores serve unfragmented datagrams; reassembled ones are served here. */
static enum counter udp_input(const struct core_msg *m, const uint8_t *ip, unsigned len,
                              bool fragmented)
{
	const struct services *services = &dp_get()->services;
	bool served = fragmented && core_app()->data_msg != NULL; /* an application with services */
	struct udp_datagram d;
	enum counter fate = udp_check(ip, len, m->flags & PKT_CSUM_OK && !fragmented, &d);
	if (fate != CNT_NONE)
		return fate;
	enum service s = served ? service_of(services, SERVICE_UDP, d.dst_port) : SERVICES;
	if (s == SERVICES) {
		const struct udp_arrival from = {m->port, ip4_ttl(ip), fragmented};
		fate = udp_control_input(&d, &from);
		if (fate == CNT_drop_udp_port)
			local_error(ip, len, ICMP4_UNREACH, ICMP4_UNREACH_PORT);
		return fate;
	}
	if (s != SERVICE_ECHO)
		return CNT_drop_fragment_local;
	if (service_answers(services, d.src_port))
		return CNT_drop_udp_loop;
	memcpy(local_frame + ETH_HLEN, ip, len);
	udp_echo_make(local_frame + ETH_HLEN);
	count(CNT_udp_tx);
	local_output(local_frame, len + ETH_HLEN);
	return CNT_delivered_udp;
}

static enum counter fragment_input(const struct core_msg *m, const uint8_t *ip)
{
	struct reassembly_result r;
	enum counter fate = fragments_input(m->port, ip, ip4_total_len(ip), NULL, &r);
	if (fate != CNT_NONE || !r.ip)
		return fate;
	switch (ip4_proto(r.ip)) {
	case IP4_PROTO_ICMP:
		return icmp_input(m, r.ip, r.len);
	case IP4_PROTO_UDP:
		return udp_input(m, r.ip, r.len, true);
	case IP4_PROTO_TCP:
		return CNT_drop_fragment_local;
	default:
		local_error(r.ip, r.len, ICMP4_UNREACH, ICMP4_UNREACH_PROTO);
		return CNT_drop_ip4_proto;
	}
}

enum counter local_input(const struct core_msg *m)
{
	const uint8_t *ip = m->frame + ETH_HLEN;
	if (m->len < ETH_HLEN + IP4_HLEN)
		return CNT_drop_ip4_short;
	if (dhcp_is_wanted(dp_get(), m->port, ip, m->len - ETH_HLEN))
		return dhcp_input(m);
	enum counter bad = ip4_check(ip, m->len - ETH_HLEN);
	if (bad != CNT_NONE)
		return bad;
	unsigned len = ip4_total_len(ip);
	if (is_ours(ip4_src(ip)))
		return CNT_drop_ip4_src_local;
	if (ip4_is_fragment(ip))
		return fragment_input(m, ip);
	switch (ip4_proto(ip)) {
	case IP4_PROTO_ICMP:
		return icmp_input(m, ip, len);
	case IP4_PROTO_UDP:
		return udp_input(m, ip, len, false);
	case IP4_PROTO_TCP:
		return tcp_control ? tcp_control_input(ip, len, m->flags) : refuse_tcp(m, ip);
	default:
		local_error(ip, len, ICMP4_UNREACH, ICMP4_UNREACH_PROTO);
		return CNT_drop_ip4_proto;
	}
}
