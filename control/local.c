/*
 * The machine's own packets: ICMP echo, errors, and the console's ping. It has no UDP service on
 * the control core (the echo application's runs on the data cores), so datagrams that come here
 * are answered with port unreachable.
 */
#include "control/plane.h"

#include "lib/csum.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "net/ip4.h"
#include "net/udp.h"

#define PING_TIMEOUT_NS 2000000000ull
#define PING_INTERVAL_NS 200000000ull /* after an answer */

static struct icmp4_limit limit;
static uint8_t out_frame[BUF_STRIDE_JUMBO]; /* packets being built; used by one function at a time */

static struct {
	struct shell *sh; /* NULL: no ping is running */
	uint32_t dst;
	unsigned times, bytes, sent, received;
	bool waiting;         /* for the answer to number `sent` */
	uint16_t id;
	uint64_t sent_tsc;
	uint64_t next_ns;     /* give up waiting, or send the next */
	uint64_t min_us, max_us, sum_us;
} ping;

void local_start(void)
{
	icmp4_limit_init(&limit, plane.config.icmp_rate, plane.config.icmp_burst);
}

/* --- sending --- */

/* The interface by which next hop nh leaves; -1 when it leaves by none. */
static int port_of(uint32_t nh)
{
	if (nh < NH_CONNECTED)
		return -1;
	return nh < NH_NEIGHBOUR ? (int)(nh - NH_CONNECTED) : view_get()->adj[nh].port;
}

uint32_t local_source(uint32_t dst)
{
	const struct view *v = view_get();
	uint32_t nh = fib4_lookup(plane.fib.fib, dst);
	int port = port_of(nh);
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
	int port = port_of(nh);
	if (port < 0 || !plane.link_up[port]) {
		count(CNT_originated_drop_tx);
		return;
	}
	if (len < ETH_FRAME_MIN) {
		memset(frame + len, 0, ETH_FRAME_MIN - len);
		len = ETH_FRAME_MIN;
	}
	neighbour_output(nh, dst, frame, len, FRAME_OWN);
}

static enum counter error_counter(uint8_t type, uint8_t code)
{
	static const enum counter unreach[] = {
		[ICMP4_UNREACH_NET] = CNT_icmp_tx_unreach_net,
		[ICMP4_UNREACH_HOST] = CNT_icmp_tx_unreach_host,
		[ICMP4_UNREACH_PROTO] = CNT_icmp_tx_unreach_proto,
		[ICMP4_UNREACH_PORT] = CNT_icmp_tx_unreach_port,
		[ICMP4_UNREACH_FRAG] = CNT_icmp_tx_unreach_frag};
	return type == ICMP4_TIME_EXCEEDED   ? CNT_icmp_tx_time_exceeded
	       : type == ICMP4_PARAM_PROBLEM ? CNT_icmp_tx_param_problem
	                                     : unreach[code];
}

void local_error(const uint8_t *ip, unsigned len, uint8_t type, uint8_t code)
{
	uint32_t src = local_source(ip4_src(ip));
	if (!icmp4_error_allowed(ip, len, false) || src == 0) {
		count(CNT_icmp_err_suppressed);
		return;
	}
	if (!icmp4_limit_take(&limit, core_now_ns())) {
		count(CNT_icmp_err_ratelimited);
		return;
	}
	unsigned n = icmp4_error_build(out_frame + ETH_HLEN, sizeof out_frame - ETH_HLEN - ETH_FRAME_MIN,
	                               ip, len, type, code, 0, src, IP4_TTL_DEFAULT);
	if (n == 0)
		return;
	count(error_counter(type, code));
	local_output(out_frame, n + ETH_HLEN);
}

/* --- receiving --- */

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
	}
	(void)m;
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
	default:
		local_error(ip, len, ICMP4_UNREACH, ICMP4_UNREACH_PROTO);
		return CNT_drop_ip4_proto;
	}
}

/* --- ping --- */

static void ping_finish(struct shell *sh)
{
	shell_print(sh, "%u sent, %u received", ping.sent, ping.received);
	if (ping.received)
		shell_print(sh, ", round trip min/avg/max %llu/%llu/%llu us",
		            (unsigned long long)ping.min_us,
		            (unsigned long long)(ping.sum_us / ping.received),
		            (unsigned long long)ping.max_us);
	shell_print(sh, "\n");
	ping.sh = NULL;
	shell_done(sh);
}

static void ping_send(void)
{
	struct icmp4_echo e = {.dst = ping.dst,
	                       .id = ping.id,
	                       .seq = (uint16_t)++ping.sent,
	                       .data_len = (uint16_t)ping.bytes,
	                       .ttl = IP4_TTL_DEFAULT,
	                       .df = true};
	e.src = local_source(e.dst);
	unsigned n = icmp4_echo_request_build(out_frame + ETH_HLEN,
	                                      sizeof out_frame - ETH_HLEN - ETH_FRAME_MIN, &e);
	ping.sent_tsc = clock_tsc();
	ping.next_ns = core_now_ns() + PING_TIMEOUT_NS;
	ping.waiting = true;
	count(CNT_icmp_tx_echo_request);
	if (n && e.src)
		local_output(out_frame, n + ETH_HLEN);
}

void ping_start(struct shell *sh, uint32_t dst, unsigned times, unsigned bytes)
{
	uint32_t src = plane.fib_ready ? local_source(dst) : 0;
	if (src == 0 || src == dst) {
		shell_print(sh, src ? "that is this machine's own address\n" : "no route to that host\n");
		return;
	}
	ping.sh = sh;
	ping.dst = dst;
	ping.times = times;
	ping.bytes = bytes;
	ping.sent = ping.received = 0;
	ping.min_us = UINT64_MAX;
	ping.max_us = ping.sum_us = 0;
	ping.id = (uint16_t)(clock_tsc() >> 12);
	shell_set_busy(sh, ping_finish);
	ping_send();
}

/* One exchange is over: the next after a pause, or the end. */
static void ping_next(uint64_t pause_ns)
{
	ping.waiting = false;
	ping.next_ns = core_now_ns() + pause_ns;
	if (ping.sent >= ping.times)
		ping_finish(ping.sh);
}

void ping_reply(uint32_t from, const struct icmp4_msg *m, uint8_t ttl)
{
	char text[FMT_IP4_MAX];
	if (!ping.sh || !ping.waiting || m->id != ping.id || m->seq != (uint16_t)ping.sent ||
	    from != ping.dst)
		return;
	uint64_t us = clock_ns(&self.clock, clock_tsc() - ping.sent_tsc) / 1000;
	ping.received++;
	ping.sum_us += us;
	ping.min_us = us < ping.min_us ? us : ping.min_us;
	ping.max_us = us > ping.max_us ? us : ping.max_us;
	shell_print(ping.sh, "%u bytes from %s: seq=%u ttl=%u time=%llu us\n",
	            m->data_len + ICMP4_HLEN, fmt_ip4(text, from), m->seq, ttl,
	            (unsigned long long)us);
	ping_next(PING_INTERVAL_NS);
}

void ping_error(uint32_t from, const struct icmp4_msg *m)
{
	char text[FMT_IP4_MAX];
	const uint8_t *quoted = m->data; /* its header is whole, icmp4_input has looked */
	if (!ping.sh || !ping.waiting || m->data_len < IP4_HLEN || ip4_dst(quoted) != ping.dst ||
	    ip4_proto(quoted) != IP4_PROTO_ICMP)
		return;
	shell_print(ping.sh, "from %s: %s (type %u, code %u)\n", fmt_ip4(text, from),
	            m->type == ICMP4_TIME_EXCEEDED ? "time exceeded"
	            : m->type == ICMP4_UNREACH     ? "destination unreachable"
	                                           : "error",
	            m->type, m->code);
	ping_next(PING_INTERVAL_NS);
}

uint64_t ping_timer(void)
{
	if (!ping.sh)
		return UINT64_MAX;
	if (core_now_ns() < ping.next_ns)
		return ping.next_ns;
	if (ping.waiting) {
		shell_print(ping.sh, "no answer to seq=%u\n", ping.sent);
		ping_next(0);
	}
	if (ping.sh)
		ping_send();
	return ping.sh ? ping.next_ns : UINT64_MAX;
}
