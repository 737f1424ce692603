/*
 * Echo, discard and character generator over TCP (RFC 862, 863, 864).
 *
 *     echo      a segment's payload goes back in the buffer it came in, and counts against the window
 *               until the peer has acknowledged it: who does not read is not read from.
 *     discard   takes all there is.
 *     chargen   sends lines until the peer closes; what the peer sends meanwhile is thrown away.
 *
 * The argument of a connection is 0, or of a chargen one the place in the pattern it has come to, plus
 * one. If nothing of it could be sent for want of buffers, no acknowledgement will ever call
 * chargen_fill again: such a core looks through its connections every RETRY_NS until none is starved.
 *
 * RFC 864 lets a server close on who sends; ours does when the peer has closed its half.
 */
#include "apps/echo/services.h"
#include "control/tcp_core.h"

#define RETRY_NS 10000000
#define RETRY_LOOKS 1024 /* connections looked at each time */

static bool starved;        /* some chargen connection found no buffer */
static uint32_t retry_next; /* connection to look at next */
static bool retry_found;    /* one that is starved still, in this round */
static uint64_t retry_tsc;

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
	/* There is room, as snd_buf is not less than rcv_buf. If not, the stream would have a hole:
	 * better none. */
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

/* Fills the connection up; false: buffers ran out before anything was on its way. */
static bool chargen_fill(struct tcp_conn *c)
{
	uint32_t at = (uint32_t)(uintptr_t)tcp_arg(c) - 1, n = 0, room;
	bool any = false;
	while ((room = tcp_send_room(c)) > 0) {
		uint32_t line = CHARGEN_BYTES - at;
		n = tcp_send(c, chargen_text() + at, room < line ? room : line);
		if (n == 0)
			break;
		any = true;
		at = (at + n) % CHARGEN_BYTES;
	}
	tcp_set_arg(c, (void *)(uintptr_t)(at + 1));
	return any || room == 0;
}

/* The same; true: it is up to us to try again. */
static bool chargen_starves(struct tcp_conn *c)
{
	struct tcp_info i;
	if (chargen_fill(c))
		return false;
	tcp_info(c, &i);
	/* one: in accept, the SYN */
	return i.state == TCP_ESTABLISHED && i.unsent + i.unacked <= 1;
}

static void chargen_go_on(struct tcp_conn *c)
{
	if (chargen_starves(c) && !starved) {
		starved = true;
		retry_next = 0;
		retry_found = false;
		retry_tsc = self.now_tsc + clock_ticks(&self.clock, RETRY_NS);
	}
}

static bool chargen_accept(struct tcp_conn *c)
{
	tcp_set_arg(c, (void *)(uintptr_t)1);
	chargen_go_on(c);
	return true;
}

static void chargen_acked(struct tcp_conn *c, uint32_t bytes)
{
	(void)bytes;
	chargen_go_on(c);
}

static const struct tcp_app services_tcp[SERVICES] = {
	[SERVICE_ECHO] = {.accept = accept, .data = echo_data, .acked = echo_acked, .fin = fin},
	[SERVICE_DISCARD] = {.accept = accept, .data = drop_data, .fin = fin},
	[SERVICE_CHARGEN] = {.accept = chargen_accept, .data = drop_data, .acked = chargen_acked,
	                     .fin = fin},
};

/* Offers what buffers there are now to the next connections in turn. */
COLD static void retry_starved(void)
{
	struct tcp_conn *c;
	uint32_t end = retry_next + RETRY_LOOKS;
	while (retry_next < end && (c = tcp_next(tcp_core, &retry_next, end - retry_next)) != NULL)
		if (tcp_arg(c) != NULL && chargen_starves(c))
			retry_found = true;
	if (retry_next >= end)
		return;
	/* all have been looked at */
	starved = retry_found;
	retry_found = false;
	retry_next = 0;
}

uint64_t tcp_services_timer(void)
{
	if (likely(!starved))
		return UINT64_MAX;
	if (self.now_tsc >= retry_tsc) {
		retry_starved();
		retry_tsc = self.now_tsc + clock_ticks(&self.clock, RETRY_NS);
	}
	return starved ? retry_tsc : UINT64_MAX;
}

void tcp_services_start(const struct services *services)
{
	starved = false;
	for (unsigned s = 0; tcp_core && s < SERVICES; s++) {
		const struct service_ports *ports = &services->of[SERVICE_TCP][s];
		for (unsigned i = 0; i < ports->ports; i++) {
			int e = tcp_listen(tcp_core, &(struct tcp_listen){.addr = NET_ADDR_ANY,
			                                                  .port = ports->port[i],
			                                                  .app = &services_tcp[s]});
			assert(e == E_OK); /* tcp_core_start has made room for all */
		}
	}
}
