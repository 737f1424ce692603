/*
 * Echo, discard and character generator over TCP (RFC 862, 863, 864).
 *
 *     echo      returns a segment's payload in the buffer that it came in. The payload counts
 *               against the receive window until the peer has acknowledged it, so a peer that does
 *               not read cannot send.
 *     discard   drops all data.
 *     chargen   sends lines until the peer closes its half, and drops all data from the peer.
 *
 * The argument (tcp_arg) of a chargen connection is its position in the pattern. It moves with the connection; the
 * others have no state but TCP's (net/tcp/move.h).
 */
#include "apps/echo/services.h"
#include "dataplane/tcp_data.h"
#include "lib/mem.h"
#include "net/tcp/move.h"

#define CHARGEN_AHEAD 16384 /* bytes: the initial window of RFC 6928 and some more */

static void drop_data(struct tcp_conn *c, struct pkt *p)
{
	uint32_t n = p->len;
	pkt_free(&self.pool, p);
	tcp_consumed(c, n);
}

static void fin(struct tcp_conn *c)
{
	tcp_close(c);
}

static bool accept(struct tcp_conn *c)
{
	(void)c;
	return true;
}

/* --- echo --- */

static void echo_data(struct tcp_conn *c, struct pkt *p)
{
	/* There is room, because snd_buf >= rcv_buf. Without room the stream would have a gap, so
	 * the connection is aborted. */
	if (tcp_send_pkt(c, p) != E_OK) {
		pkt_free(&self.pool, p);
		tcp_abort(c);
	}
}

static void echo_acked(struct tcp_conn *c, uint32_t bytes)
{
	tcp_consumed(c, bytes);
}

/* --- chargen --- */

/* Queues as much as may be sent now, and CHARGEN_AHEAD more. Queued buffers are missing elsewhere
 * if the peer does not read, and leave the cache if they wait. When chargen_acked is called, the
 * windows have been updated already. */
static void chargen_fill(struct tcp_conn *c)
{
	uint32_t at = (uint32_t)(uintptr_t)tcp_arg(c), n;
	struct tcp_info i;
	tcp_info(c, &i);
	uint32_t wanted = (i.cwnd < i.snd_wnd ? i.cwnd : i.snd_wnd) + CHARGEN_AHEAD;
	uint32_t queued = i.unsent + i.unacked;
	while (queued < wanted) {
		uint32_t left = wanted - queued, line = CHARGEN_BYTES - at;
		n = tcp_send(c, chargen_text() + at, left < line ? left : line);
		if (n == 0)
			break; /* no room or no buffers: chargen_acked is called later */
		queued += n;
		at = (at + n) % CHARGEN_BYTES;
	}
	tcp_set_arg(c, (void *)(uintptr_t)at);
}

static bool chargen_accept(struct tcp_conn *c)
{
	chargen_fill(c);
	return true;
}

static void chargen_acked(struct tcp_conn *c, uint32_t bytes)
{
	(void)bytes;
	chargen_fill(c);
}

static const struct tcp_app services_tcp[SERVICES] = {
	[SERVICE_ECHO] = {.accept = accept, .data = echo_data, .acked = echo_acked, .fin = fin},
	[SERVICE_DISCARD] = {.accept = accept, .data = drop_data, .fin = fin},
	[SERVICE_CHARGEN] = {.accept = chargen_accept, .data = drop_data, .acked = chargen_acked,
	                     .fin = fin},
};

/* --- connections that move to another core --- */

/* What it has received and not consumed is in its send queue, and is consumed as that is acknowledged. */
static bool echo_join(struct tcp_conn *c, const uint8_t *from, uint32_t n)
{
	(void)from;
	return n == 0 && tcp_unconsumed(c) >= tcp_unacked(c);
}

static uint32_t chargen_leave(struct tcp_conn *c, uint8_t *to)
{
	const uint32_t at = (uint32_t)(uintptr_t)tcp_arg(c);
	memcpy(to, &at, sizeof at);
	return sizeof at;
}

static bool chargen_join(struct tcp_conn *c, const uint8_t *from, uint32_t n)
{
	uint32_t at;
	if (n != sizeof at)
		return false;
	memcpy(&at, from, sizeof at);
	if (at >= CHARGEN_BYTES)
		return false;
	tcp_set_arg(c, (void *)(uintptr_t)at);
	chargen_fill(c);
	return true;
}

static const struct tcp_move_app moving[] = {
	{.app = &services_tcp[SERVICE_ECHO], .join = echo_join},
	{.app = &services_tcp[SERVICE_DISCARD]},
	{.app = &services_tcp[SERVICE_CHARGEN], .leave = chargen_leave, .join = chargen_join},
};
_Static_assert(ARRAY_LEN(moving) == SERVICES, "each service moves");

void tcp_services_start(const struct services *services)
{
	if (tcp_data)
		tcp_move_apps(tcp_data, moving, ARRAY_LEN(moving));
	for (unsigned s = 0; tcp_data && s < SERVICES; s++) {
		const struct service_ports *ports = &services->of[SERVICE_TCP][s];
		for (unsigned i = 0; i < ports->ports; i++) {
			int e = tcp_listen(tcp_data, &(struct tcp_listen){.addr = NET_ADDR_ANY,
			                                                  .port = ports->port[i],
			                                                  .app = &services_tcp[s]});
			assert(e == E_OK); /* tcp_data_start has made room for all */
		}
	}
}
