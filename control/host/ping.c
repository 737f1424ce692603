/*
 * The console's ping: one at a time. It is the pattern for a long-running command: ping_start marks
 * the shell busy, replies and ping_timer continue the command, ping_finish returns the prompt.
 *
 *     resolving the name's address               -> the first request, or the end
 *     waiting   answer or error to number `sent`   -> the next after PING_INTERVAL_NS, or the end
 *               PING_TIMEOUT_NS without            -> the next at once, or the end
 */
#include "control/console/shell.h"
#include "control/forwarding/tables.h"
#include "control/host/output.h"
#include "control/host/output6.h"
#include "control/host/ping.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "net/icmp4.h"
#include "net/icmp6.h"

#include "lib/fmt.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define PING_TIMEOUT_NS 2000000000ull
#define PING_INTERVAL_NS 200000000ull /* after an answer */

static uint8_t frame[BUF_STRIDE_JUMBO];

static struct {
	struct shell *sh; /* NULL: no ping is running */
	char host[DNS_NAME_MAX]; /* as typed */
	bool begun;       /* its address is known */
	struct net_addr dst;
	unsigned interface; /* the link if dst is link-local */
	unsigned times, bytes, sent, received;
	bool waiting;         /* for the answer to number `sent` */
	uint16_t id;
	uint64_t sent_tsc;
	uint64_t next_ns;     /* give up waiting, or send the next */
	uint64_t min_us, max_us, sum_us;
} ping;

static void ping_finish(struct shell *sh)
{
	if (!ping.begun) {
		names_cancel(&ping);
		ping.sh = NULL;
		shell_done(sh);
		return;
	}
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

/* Our source address towards dst; false: there is none. */
static bool source(const struct net_addr *dst, unsigned interface, struct net_addr *src)
{
	if (!net_addr_is_ip4(dst))
		return local6_source(dst, interface, src);
	uint32_t four = local_source(net_addr_to_ip4(dst));
	*src = net_addr_ip4(four);
	return four != 0;
}

static void send4(const struct net_addr *src)
{
	const struct icmp4_echo e = {.src = net_addr_to_ip4(src),
	                             .dst = net_addr_to_ip4(&ping.dst),
	                             .id = ping.id,
	                             .seq = (uint16_t)ping.sent,
	                             .data_len = (uint16_t)ping.bytes,
	                             .ttl = IP4_TTL_DEFAULT,
	                             .df = true};
	unsigned n = icmp4_echo_request_build(frame + ETH_HLEN, sizeof frame - ETH_HLEN, &e);
	count(CNT_icmp_tx_echo_request);
	if (n)
		local_output(frame, n + ETH_HLEN);
}

static void send6(const struct net_addr *src)
{
	const struct icmp6_echo e = {.src = *src,
	                             .dst = ping.dst,
	                             .id = ping.id,
	                             .seq = (uint16_t)ping.sent,
	                             .data_len = (uint16_t)ping.bytes,
	                             .hop_limit = IP6_HOP_LIMIT_DEFAULT};
	unsigned n = icmp6_echo_request_build(frame + ETH_HLEN, sizeof frame - ETH_HLEN, &e);
	count(CNT_icmp6_tx_echo_request);
	if (n)
		local6_output(frame, n + ETH_HLEN, ping.interface);
}

static void ping_send(void)
{
	struct net_addr src;
	ping.sent++;
	ping.sent_tsc = clock_tsc();
	ping.next_ns = core_now_ns() + PING_TIMEOUT_NS;
	ping.waiting = true;
	if (!source(&ping.dst, ping.interface, &src))
		return;
	if (net_addr_is_ip4(&ping.dst))
		send4(&src);
	else
		send6(&src);
}

static void end(const char *why)
{
	struct shell *sh = ping.sh;
	shell_print(sh, "%s\n", why);
	ping.sh = NULL;
	shell_done(sh);
}

/* The address is known, or why not: the first request. */
static void found(void *ctx, const struct net_addr *dst, const char *why)
{
	struct net_addr src;
	char text[DNS_NAME_MAX + FMT_ADDR_MAX + 64], addr[FMT_ADDR_MAX];
	(void)ctx;
	if (!dst)
		fmt_format(text, sizeof text, "%s: %s", ping.host, why);
	else if (ping.interface == UINT32_MAX && ip6_is_link_local(dst))
		fmt_format(text, sizeof text, "%s is link-local: add `interface ethN`", ping.host);
	else if (!forwarding.ready || !source(dst, ping.interface, &src))
		fmt_format(text, sizeof text, "no route to that host");
	else if (net_addr_equal(&src, dst))
		fmt_format(text, sizeof text, "that is this machine's own address");
	else
		text[0] = '\0';
	if (text[0]) {
		end(text);
		return;
	}
	ping.begun = true;
	ping.dst = *dst;
	if (strcmp(fmt_addr(addr, dst->w), ping.host) != 0)
		shell_print(ping.sh, "%s is %s\n", ping.host, addr);
	ping_send();
}

void ping_start(struct shell *sh, const char *host, enum names_family family, unsigned interface,
                unsigned times, unsigned bytes)
{
	if (ping.sh) {
		shell_print(sh, "ping is busy: another console waits for it\n");
		return;
	}
	fmt_format(ping.host, sizeof ping.host, "%s", host);
	ping.sh = sh;
	ping.begun = ping.waiting = false;
	ping.interface = interface;
	ping.times = times;
	ping.bytes = bytes;
	ping.sent = ping.received = 0;
	ping.min_us = UINT64_MAX;
	ping.max_us = ping.sum_us = 0;
	ping.id = (uint16_t)(clock_tsc() >> 12);
	shell_set_busy(sh, ping_finish);
	names_lookup(ping.host, family, found, &ping);
}

/* An exchange has ended: the next one follows after the pause, or the ping ends. */
static void ping_next(uint64_t pause_ns)
{
	ping.waiting = false;
	ping.next_ns = core_now_ns() + pause_ns;
	if (ping.sent >= ping.times)
		ping_finish(ping.sh);
}

/* An echo reply of either family. */
static void reply(const struct net_addr *from, uint16_t id, uint16_t seq, unsigned bytes,
                  unsigned ttl)
{
	char text[FMT_IP6_MAX];
	if (!ping.sh || !ping.waiting || id != ping.id || seq != (uint16_t)ping.sent ||
	    !net_addr_equal(from, &ping.dst))
		return;
	uint64_t us = clock_ns(&self.clock, clock_tsc() - ping.sent_tsc) / 1000;
	ping.received++;
	ping.sum_us += us;
	ping.min_us = us < ping.min_us ? us : ping.min_us;
	ping.max_us = us > ping.max_us ? us : ping.max_us;
	shell_print(ping.sh, "%u bytes from %s: seq=%u ttl=%u time=%llu us\n", bytes,
	            fmt_addr(text, from->w), seq, ttl, (unsigned long long)us);
	ping_next(PING_INTERVAL_NS);
}

void ping_reply(uint32_t from, const struct icmp4_msg *m, uint8_t ttl)
{
	const struct net_addr a = net_addr_ip4(from);
	reply(&a, m->id, m->seq, m->data_len + ICMP4_HLEN, ttl);
}

void ping_reply6(const struct net_addr *from, const struct icmp6_msg *m, uint8_t hop_limit)
{
	reply(from, m->id, m->seq, m->data_len + ICMP6_HLEN, hop_limit);
}

/* An ICMP error about an ICMP message to `dst`, of which `len` octets are quoted. It is about the request that waits
 * for an answer if identifier and sequence number are the request's (RFC 792; RFC 4443 4.1). */
static void error(const struct net_addr *from, const struct net_addr *dst, const uint8_t *quoted, unsigned len,
                  const char *what, unsigned type, unsigned code)
{
	char text[FMT_IP6_MAX];
	if (!ping.sh || !ping.waiting || !net_addr_equal(dst, &ping.dst) || len < ICMP4_HLEN ||
	    be16_load(quoted + 4) != ping.id || be16_load(quoted + 6) != (uint16_t)ping.sent)
		return;
	shell_print(ping.sh, "from %s: %s (type %u, code %u)\n", fmt_addr(text, from->w), what,
	            type, code);
	ping_next(PING_INTERVAL_NS);
}

void ping_error(uint32_t from, const struct icmp4_msg *m)
{
	const uint8_t *ip = m->data; /* its header is complete, as icmp4_input has checked */
	const unsigned head = ip4_header_len(ip);
	if (ip4_proto(ip) != IP4_PROTO_ICMP)
		return;
	const struct net_addr a = net_addr_ip4(from), dst = net_addr_ip4(ip4_dst(ip));
	error(&a, &dst, ip + head, m->data_len - head,
	      m->type == ICMP4_TIME_EXCEEDED ? "time exceeded"
	      : m->type == ICMP4_UNREACH     ? "destination unreachable"
	                                     : "error",
	      m->type, m->code);
}

void ping_error6(const struct net_addr *from, const struct icmp6_msg *m)
{
	if (m->quoted_proto != IP6_ICMP6 || !m->quoted_at)
		return;
	const struct net_addr dst = ip6_dst(m->data); /* its header is complete, as icmp6_input has checked */
	error(from, &dst, m->data + m->quoted_at, m->data_len - m->quoted_at,
	      m->type == ICMP6_TIME_EXCEEDED ? "time exceeded"
	      : m->type == ICMP6_UNREACH     ? "destination unreachable"
	      : m->type == ICMP6_TOO_BIG     ? "packet too big"
	                                     : "error",
	      m->type, m->code);
}

uint64_t ping_timer(void)
{
	if (!ping.sh || !ping.begun)
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
