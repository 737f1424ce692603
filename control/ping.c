/*
 * The console's ping: one at a time. It is the pattern for a command that takes long: ping_start
 * marks the shell busy, answers and ping_timer carry it on, ping_finish gives the prompt back.
 *
 *     waiting   answer or error to number `sent`   -> the next after PING_INTERVAL_NS, or the end
 *               PING_TIMEOUT_NS without            -> the next at once, or the end
 */
#include "control/inside.h"

#include "lib/fmt.h"
#include "net/ip4.h"

#define PING_TIMEOUT_NS 2000000000ull
#define PING_INTERVAL_NS 200000000ull /* after an answer */

static uint8_t frame[BUF_STRIDE_JUMBO];

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
	unsigned n = icmp4_echo_request_build(frame + ETH_HLEN, sizeof frame - ETH_HLEN, &e);
	ping.sent_tsc = clock_tsc();
	ping.next_ns = core_now_ns() + PING_TIMEOUT_NS;
	ping.waiting = true;
	count(CNT_icmp_tx_echo_request);
	if (n && e.src)
		local_output(frame, n + ETH_HLEN);
}

void ping_start(struct shell *sh, uint32_t dst, unsigned times, unsigned bytes)
{
	uint32_t src = plane.fib_ready ? local_source(dst) : 0;
	if (src == 0 || src == dst) {
		shell_print(sh, src ? "that is this machine's own address\n"
		                    : "no route to that host\n");
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
