/*
 * IPv4 packets to the machine itself: ICMP echo and errors, and TCP segments for management
 * (tcp_control.h). The control core has no other service, because those of the echo application run
 * on the data cores. It therefore answers other datagrams with port unreachable, other segments
 * with a reset. It does not know which data core an ICMP error about TCP concerns, so it passes the
 * error to all.
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
#include "control/host/input.h"
#include "control/host/output.h"
#include "control/host/ping.h"
#include "dataplane/state.h"
#include "net/icmp4.h"
#include "control/host/tcp_control.h"

#include "lib/mem.h"
#include "net/icmp_limit.h"
#include "net/ip4.h"
#include "net/tcp/reset.h"
#include "net/udp.h"

/* Limit of ICMP errors about TCP that are passed to data cores, per second: enough for a change of
 * path of a thousand connections, but bounded in a flood. */
#define TELL_RATE 1000
#define TELL_BURST 200

static struct icmp_limit limit, tell_limit;
uint8_t local_frame[LOCAL_FRAME_BYTES];

void local_limit(const struct config *c)
{
	struct dp_state *v = dp_get();
	const unsigned cores = self.info->data_cores;
	icmp_limit_init(&limit, c->icmp_rate, c->icmp_burst);
	__atomic_store_n(&v->icmp_rate, c->icmp_rate / cores + (c->icmp_rate % cores != 0),
	                 __ATOMIC_RELAXED);
	__atomic_store_n(&v->icmp_burst, c->icmp_burst, __ATOMIC_RELAXED);
}

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

/* --- sending --- */

bool local_error_permitted(bool allowed)
{
	const bool permitted = allowed && icmp_limit_take(&limit, core_now_ns());
	if (!permitted)
		count(allowed ? CNT_icmp_err_ratelimited : CNT_icmp_err_suppressed);
	return permitted;
}

uint32_t local_source(uint32_t dst)
{
	const struct dp_state *v = dp_get();
	uint32_t nh = dp_next_hop4(dp_get(), dst);
	int interface = dp_interface_of(v, nh);
	if (nh == NH_LOCAL)
		return dst;
	if (interface < 0)
		return 0;
	const struct dp_interface *ifp = &v->interface[interface];
	for (unsigned a = 0; a < ifp->addresses; a++)
		if (ip4_in_prefix(dst, ifp->addr[a], ifp->plen[a]))
			return ifp->addr[a];
	return ifp->addr[0];
}

/* Sends a packet of ours in fragments. */
static void output_cut(uint32_t nh, uint32_t dst, const uint8_t *frame, unsigned mtu)
{
	static uint8_t piece[BUF_STRIDE_JUMBO];
	struct ip4_frag it;
	unsigned n;
	if (ip4_frag_init(&it, frame + ETH_HLEN, mtu) != E_OK) { /* it has DF */
		count(CNT_originated_drop_tx);
		return;
	}
	while ((n = ip4_frag_next(&it, piece + ETH_HLEN, sizeof piece - ETH_HLEN)) > 0) {
		count(CNT_fragments_created);
		neighbour_output(nh, dst, piece, eth_pad(piece, n + ETH_HLEN), FRAME_OWN, PAIR_ANY);
	}
}

void local_output(uint8_t *frame, unsigned len)
{
	uint32_t dst = ip4_dst(frame + ETH_HLEN);
	uint32_t nh = dp_next_hop4(dp_get(), dst);
	int interface = dp_interface_of(dp_get(), nh);
	if (interface < 0 || !dp_link_is_up(dp_get(), interface)) {
		count(CNT_originated_drop_tx);
		return;
	}
	unsigned mtu = dp_get()->interface[interface].mtu;
	if (len - ETH_HLEN <= mtu)
		neighbour_output(nh, dst, frame, eth_pad(frame, len), FRAME_OWN, PAIR_ANY);
	else
		output_cut(nh, dst, frame, mtu);
}

void local_error(const uint8_t *ip, unsigned len, uint8_t type, uint8_t code)
{
	const struct icmp4_error e = {.src = local_source(ip4_src(ip)), .type = type, .code = code};
	if (!local_error_permitted(icmp4_error_allowed(ip, len) && e.src != 0))
		return;
	unsigned n = icmp4_error_build(local_frame + ETH_HLEN, sizeof local_frame - ETH_HLEN, ip, len,
	                               &e);
	count(icmp4_error_counter(type, code));
	local_output(local_frame, n + ETH_HLEN);
}

/* --- receiving --- */

void local_tell_tcp(const struct core_msg *m)
{
	if (!core_app()->data_msg || !icmp_limit_take(&tell_limit, core_now_ns()))
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
	} else {
		ping_error(ip4_src(ip), &icmp);
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
static enum counter udp_input(const uint8_t *ip, unsigned len, bool csum_known, bool fragmented)
{
	const struct services *services = &dp_get()->services;
	bool served = fragmented && core_app()->data_msg != NULL; /* an application with services */
	struct udp_datagram d;
	enum counter fate = udp_check(ip, len, csum_known, &d);
	if (fate != CNT_NONE)
		return fate;
	enum service s = served ? service_of(services, SERVICE_UDP, d.dst_port) : SERVICES;
	if (s == SERVICES) {
		local_error(ip, len, ICMP4_UNREACH, ICMP4_UNREACH_PORT);
		return CNT_drop_udp_port;
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
		return udp_input(r.ip, r.len, false, true);
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
		return udp_input(ip, len, m->flags & PKT_CSUM_OK, false);
	case IP4_PROTO_TCP:
		return tcp_control ? tcp_control_input(ip, len, m->flags) : refuse_tcp(m, ip);
	default:
		local_error(ip, len, ICMP4_UNREACH, ICMP4_UNREACH_PROTO);
		return CNT_drop_ip4_proto;
	}
}
