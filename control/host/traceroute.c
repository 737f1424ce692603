/* See traceroute.h. */
#include "control/host/traceroute.h"

#include "control/forwarding/tables.h"
#include "control/host/output.h"
#include "control/host/output6.h"
#include "control/host/udp_control.h"
#include "dataplane/state.h"
#include "lib/bytes.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "runtime/runtime.h"

#define PROBE_BYTES 24 /* of data, as in other implementations */

enum probe_state { PROBE_WAITS, PROBE_ANSWERED, PROBE_LOST };

struct probe {
	enum probe_state state;
	uint64_t sent_ns;
	struct net_addr from;
	uint32_t us;
	bool last;        /* the answer came from the end of the path */
	const char *note; /* such as " !H" */
};

static struct {
	struct shell *sh; /* NULL: no traceroute is running */
	char host[DNS_NAME_MAX];
	bool begun;       /* the address is known */
	struct traceroute_options o;
	struct net_addr dst;
	uint16_t id; /* our UDP port, or the echo requests' ID */
	unsigned sent, printed; /* hops */
	uint64_t next_ns;       /* the next hop is not sent before that time, unless all probes are answered */
	struct probe probe[TRACE_HOPS_MAX][TRACE_PROBES_MAX];
} t;

static uint64_t moment_ns(void) { return clock_ns(&self.clock, clock_tsc()); }

static void finish(struct shell *sh)
{
	names_cancel(&t);
	if (t.begun && !t.o.icmp)
		udp_unlisten(t.id);
	t.sh = NULL;
	shell_done(sh);
}

/* --- probes --- */

static void send_echo(unsigned number, unsigned ttl)
{
	struct net_addr src;
	if (net_addr_is_ip4(&t.dst)) {
		const struct icmp4_echo e = {.src = local_source(net_addr_to_ip4(&t.dst)),
		                             .dst = net_addr_to_ip4(&t.dst), .id = t.id,
		                             .seq = (uint16_t)number, .data_len = PROBE_BYTES, .ttl = (uint8_t)ttl};
		const unsigned n = icmp4_echo_request_build(local_frame + ETH_HLEN, sizeof local_frame - ETH_HLEN, &e);
		count(CNT_icmp_tx_echo_request);
		local_output(local_frame, n + ETH_HLEN);
	} else if (local6_source(&t.dst, t.o.interface, &src)) {
		const struct icmp6_echo e = {.src = src, .dst = t.dst, .id = t.id, .seq = (uint16_t)number,
		                             .data_len = PROBE_BYTES, .hop_limit = (uint8_t)ttl};
		const unsigned n = icmp6_echo_request_build(local_frame + ETH_HLEN, sizeof local_frame - ETH_HLEN, &e);
		count(CNT_icmp6_tx_echo_request);
		local6_output_as_is(local_frame, n + ETH_HLEN, t.o.interface);
	}
}

static void send_hop(void)
{
	static const uint8_t data[PROBE_BYTES];
	const unsigned hop = t.sent++;
	for (unsigned i = 0; i < t.o.probes; i++) {
		const unsigned number = hop * t.o.probes + i;
		t.probe[hop][i] = (struct probe){.sent_ns = moment_ns()};
		if (t.o.icmp)
			send_echo(number, hop + 1);
		else
			(void)udp_send(&(struct udp_message){.dst = t.dst, .src_port = t.id,
			                                     .dst_port = (uint16_t)(TRACE_PORT + number),
			                                     .interface = t.o.interface, .ttl = (uint8_t)(hop + 1),
			                                     .data = data, .data_len = sizeof data});
	}
	t.next_ns = core_now_ns() + TRACE_AHEAD_NS;
}

/* --- answers --- */

static void answered(unsigned number, const struct net_addr *from, bool last, const char *note)
{
	if (!t.sh || !t.begun || number >= t.sent * t.o.probes)
		return;
	struct probe *p = &t.probe[number / t.o.probes][number % t.o.probes];
	if (p->state != PROBE_WAITS)
		return;
	p->state = PROBE_ANSWERED;
	p->from = *from;
	p->us = (uint32_t)((moment_ns() - p->sent_ns) / 1000);
	p->last = last || net_addr_equal(from, &t.dst);
	p->note = note;
}

/* The number of the probe that an error quotes: by the UDP ports or by ID and sequence number of the echo request,
 * which are behind the IP header. False: it quotes none. */
static bool is_quoted(const uint8_t *upper, unsigned len, bool udp, unsigned *number)
{
	if (!t.sh || !t.begun || len < 8 || udp == t.o.icmp)
		return false;
	if (udp && be16_load(upper) == t.id && be16_load(upper + 2) >= TRACE_PORT) {
		*number = be16_load(upper + 2) - TRACE_PORT;
		return true;
	}
	*number = be16_load(upper + 6);
	return !udp && be16_load(upper + 4) == t.id;
}

void traceroute_error(uint32_t from, const struct icmp4_msg *m)
{
	const uint8_t *ip = m->data; /* its header is complete, as icmp4_input has checked */
	const unsigned head = ip4_header_len(ip);
	const struct net_addr a = net_addr_ip4(from);
	const bool unreachable = m->type == ICMP4_UNREACH;
	unsigned number;
	if ((!unreachable && (m->type != ICMP4_TIME_EXCEEDED || m->code != ICMP4_TIME_TTL)) || m->data_len < head ||
	    (ip4_proto(ip) != IP4_PROTO_UDP && ip4_proto(ip) != IP4_PROTO_ICMP) ||
	    !is_quoted(ip + head, m->data_len - head, ip4_proto(ip) == IP4_PROTO_UDP, &number) ||
	    !net_addr_is_ip4(&t.dst) || ip4_dst(ip) != net_addr_to_ip4(&t.dst))
		return;
	answered(number, &a, unreachable, !unreachable || m->code == ICMP4_UNREACH_PORT ? ""
	                                  : m->code == ICMP4_UNREACH_NET        ? " !N"
	                                  : m->code == ICMP4_UNREACH_HOST       ? " !H"
	                                  : m->code == ICMP4_UNREACH_PROTO      ? " !P"
	                                  : m->code == ICMP4_UNREACH_FRAG       ? " !F"
	                                  : m->code == ICMP4_UNREACH_PROHIBITED ? " !X"
	                                                                        : " !");
}

void traceroute_error6(const struct net_addr *from, const struct icmp6_msg *m)
{
	const bool unreachable = m->type == ICMP6_UNREACH;
	unsigned number;
	if ((!unreachable && (m->type != ICMP6_TIME_EXCEEDED || m->code != ICMP6_TIME_HOP_LIMIT)) || !m->quoted_at ||
	    m->data_len < m->quoted_at || (m->quoted_proto != IP6_UDP && m->quoted_proto != IP6_ICMP6) ||
	    !is_quoted(m->data + m->quoted_at, m->data_len - m->quoted_at, m->quoted_proto == IP6_UDP, &number))
		return;
	const struct net_addr dst = ip6_dst(m->data); /* its header is complete, as icmp6_input has checked */
	if (!net_addr_equal(&dst, &t.dst))
		return;
	answered(number, from, unreachable, !unreachable || m->code == ICMP6_UNREACH_PORT ? ""
	                                    : m->code == ICMP6_UNREACH_NO_ROUTE   ? " !N"
	                                    : m->code == ICMP6_UNREACH_ADDRESS    ? " !H"
	                                    : m->code == ICMP6_UNREACH_PROHIBITED ? " !X"
	                                                                          : " !");
}

void traceroute_reply(const struct net_addr *from, uint16_t id, uint16_t seq)
{
	if (t.sh && t.begun && t.o.icmp && id == t.id && net_addr_equal(from, &t.dst))
		answered(seq, from, true, "");
}

/* The host may answer a probe by UDP. */
static enum counter receive(const struct udp_datagram *d, const struct udp_arrival *arrival)
{
	(void)arrival;
	if (net_addr_equal(&d->src, &t.dst) && d->src_port >= TRACE_PORT)
		answered(d->src_port - TRACE_PORT, &d->src, true, "");
	return CNT_delivered_udp;
}

/* --- output --- */

/* Takes probes that have waited too long for lost. False: some of the hop still wait. */
static bool is_settled(unsigned hop)
{
	bool all = true;
	for (unsigned i = 0; i < t.o.probes; i++) {
		struct probe *p = &t.probe[hop][i];
		if (p->state == PROBE_WAITS && core_now_ns() >= p->sent_ns + t.o.timeout_s * SECOND_NS)
			p->state = PROBE_LOST;
		all = all && p->state != PROBE_WAITS;
	}
	return all;
}

/* Returns whether this hop is the end of the path. */
static bool print_hop(unsigned hop)
{
	const struct net_addr *said = NULL;
	char addr[FMT_ADDR_MAX];
	bool last = false;
	shell_print(t.sh, "%2u ", hop + 1);
	for (unsigned i = 0; i < t.o.probes; i++) {
		const struct probe *p = &t.probe[hop][i];
		if (p->state == PROBE_LOST) {
			shell_print(t.sh, " *");
			continue;
		}
		if (!said || !net_addr_equal(said, &p->from))
			shell_print(t.sh, " %s", fmt_addr(addr, p->from.w));
		said = &p->from;
		last = last || p->last;
		shell_print(t.sh, "  %u.%03u ms%s", p->us / 1000, p->us % 1000, p->note);
	}
	shell_print(t.sh, "\n");
	return last;
}

uint64_t traceroute_timer(void)
{
	if (!t.sh || !t.begun)
		return UINT64_MAX;
	while (t.printed < t.sent && is_settled(t.printed))
		if (print_hop(t.printed++) || t.printed == t.o.hops) {
			finish(t.sh);
			return UINT64_MAX;
		}
	const bool all = t.printed == t.sent;
	if (t.sent < t.o.hops && (all || (t.sent - t.printed < TRACE_AHEAD && core_now_ns() >= t.next_ns)))
		send_hop();
	const uint64_t lost = t.probe[t.printed][0].sent_ns + t.o.timeout_s * SECOND_NS + SECOND_NS / 1000;
	return t.sent < t.o.hops && t.sent - t.printed < TRACE_AHEAD && t.next_ns < lost ? t.next_ns : lost;
}

/* --- the start --- */

static void found(void *ctx, const struct net_addr *dst, const char *why)
{
	char addr[FMT_ADDR_MAX];
	struct net_addr src;
	bool route = false;
	(void)ctx;
	if (dst && forwarding.ready)
		route = net_addr_is_ip4(dst) ? local_source(net_addr_to_ip4(dst)) != 0
		                             : local6_source(dst, t.o.interface, &src);
	if (dst && t.o.interface == UINT32_MAX && ip6_is_link_local(dst))
		shell_print(t.sh, "%s is link-local: add `interface ethN`\n", t.host);
	else if (!dst)
		shell_print(t.sh, "%s: %s\n", t.host, why);
	else if (!route)
		shell_print(t.sh, "no route to that host\n");
	else if (!t.o.icmp && (t.id = udp_listen_any(receive)) == 0)
		shell_print(t.sh, "no UDP port is left\n");
	else
		t.begun = true;
	if (!t.begun) {
		finish(t.sh);
		return;
	}
	t.dst = *dst;
	shell_print(t.sh, "traceroute to %s (%s), %u hops max\n", t.host, fmt_addr(addr, dst->w), t.o.hops);
	send_hop();
}

void traceroute_start(struct shell *sh, const char *host, const struct traceroute_options *o)
{
	if (t.sh) {
		shell_print(sh, "traceroute is busy: another console waits for it\n");
		return;
	}
	fmt_format(t.host, sizeof t.host, "%s", host);
	t.sh = sh;
	t.o = *o;
	t.begun = false;
	t.sent = t.printed = 0;
	t.id = (uint16_t)(clock_tsc() >> 12);
	shell_set_busy(sh, finish);
	names_lookup(t.host, o->family, found, &t);
}
