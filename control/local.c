/*
 * The machine's own packets: ICMP echo and errors, and TCP segments for the management
 * (tcp_control.h). There is no other service on the control core (those of the echo application run
 * on the data cores), so datagrams that come here are answered with port unreachable, segments with a
 * reset. Which core an ICMP error about TCP concerns is not known here: each is told.
 */
#include "control/inside.h"
#include "control/tcp_control.h"

#include "lib/mem.h"
#include "net/icmp_limit.h"
#include "net/ip4.h"
#include "net/tcp/reset.h"
#include "net/udp.h"

/* ICMP errors about TCP that data cores are told of: enough for a change of path under a thousand
 * connections, and no lever for who sends them without end. */
#define TELL_RATE 1000
#define TELL_BURST 200

static struct icmp_limit limit, tell_limit;
static uint8_t out_frame[BUF_STRIDE_JUMBO]; /* packets being built; used by one function at a time */

void local_start(void)
{
	icmp_limit_init(&limit, plane.config.icmp_rate, plane.config.icmp_burst);
	icmp_limit_init(&tell_limit, TELL_RATE, TELL_BURST);
}

/* --- sending --- */

bool local_error_permitted(void)
{
	return icmp_limit_take(&limit, core_now_ns());
}

uint32_t local_source(uint32_t dst)
{
	const struct view *v = view_get();
	uint32_t nh = fib4_lookup(plane.fib.fib, dst);
	int port = view_port_of(v, nh);
	if (nh == NH_LOCAL)
		return dst;
	if (port < 0)
		return 0;
	const struct view_port *vp = &v->port[port];
	for (unsigned a = 0; a < vp->addresses; a++)
		if (ip4_in_prefix(dst, vp->addr[a], vp->plen[a]))
			return vp->addr[a];
	return vp->addr[0];
}

void local_output(uint8_t *frame, unsigned len)
{
	uint32_t dst = ip4_dst(frame + ETH_HLEN);
	uint32_t nh = fib4_lookup(plane.fib.fib, dst);
	int port = view_port_of(view_get(), nh);
	if (port < 0 || !plane.link_up[port]) {
		count(CNT_originated_drop_tx);
		return;
	}
	neighbour_output(nh, dst, frame, eth_pad(frame, len), FRAME_OWN, PAIR_ANY);
}

void local_error(const uint8_t *ip, unsigned len, uint8_t type, uint8_t code)
{
	const struct icmp4_error e = {.src = local_source(ip4_src(ip)), .type = type, .code = code};
	if (!icmp4_error_allowed(ip, len) || e.src == 0) {
		count(CNT_icmp_err_suppressed);
		return;
	}
	if (!local_error_permitted()) {
		count(CNT_icmp_err_ratelimited);
		return;
	}
	unsigned n = icmp4_error_build(out_frame + ETH_HLEN, sizeof out_frame - ETH_HLEN, ip, len,
	                               &e);
	count(icmp4_error_counter(type, code));
	local_output(out_frame, n + ETH_HLEN);
}

/* --- receiving --- */

/* An ICMP error that quotes a TCP segment: to the data cores, of which one has the connection (RFC
 * 1122 4.2.3.9). */
static void tell_tcp(const struct icmp4_msg *icmp, const struct core_msg *m)
{
	if (!core_app()->data_msg || icmp->type != ICMP4_UNREACH ||
	    ip4_proto(icmp->data) != IP4_PROTO_TCP || !icmp_limit_take(&tell_limit, core_now_ns()))
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
		memcpy(out_frame + ETH_HLEN, ip, len);
		icmp4_echo_reply_make(out_frame + ETH_HLEN, len);
		count(CNT_icmp_tx_echo_reply);
		local_output(out_frame, len + ETH_HLEN);
	} else if (icmp.kind == ICMP4_KIND_ECHO_REPLY) {
		ping_reply(ip4_src(ip), &icmp, ip4_ttl(ip));
	} else {
		ping_error(ip4_src(ip), &icmp);
		if (ip4_proto(icmp.data) == IP4_PROTO_TCP)
			tcp_control_icmp(&icmp);
		tell_tcp(&icmp, m);
	}
	return fate;
}

static enum counter refuse_tcp(const struct core_msg *m, const uint8_t *ip)
{
	unsigned n;
	enum counter fate = tcp_reset_build(out_frame + ETH_HLEN, &n, ip, m->flags & PKT_CSUM_OK);
	if (n) {
		count(CNT_tcp_tx);
		count(CNT_tcp_tx_rst);
		local_output(out_frame, n + ETH_HLEN);
	}
	return fate;
}

static enum counter udp_input(const struct core_msg *m, const uint8_t *ip, unsigned len)
{
	struct udp_datagram d;
	enum counter fate = udp_check(ip, len, m->flags & PKT_CSUM_OK, &d);
	if (fate != CNT_NONE)
		return fate;
	local_error(ip, len, ICMP4_UNREACH, ICMP4_UNREACH_PORT);
	return CNT_drop_udp_port;
}

/* True when addr is an address of ours on any port. */
static bool is_ours(uint32_t addr)
{
	return fib4_lookup(plane.fib.fib, addr) == NH_LOCAL;
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
		return CNT_drop_ip4_fragment_local;
	switch (ip4_proto(ip)) {
	case IP4_PROTO_ICMP:
		return icmp_input(m, ip, len);
	case IP4_PROTO_UDP:
		return udp_input(m, ip, len);
	case IP4_PROTO_TCP:
		return tcp_control ? tcp_control_input(m) : refuse_tcp(m, ip);
	default:
		local_error(ip, len, ICMP4_UNREACH, ICMP4_UNREACH_PROTO);
		return CNT_drop_ip4_proto;
	}
}
