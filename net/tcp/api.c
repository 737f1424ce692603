/* Functions for the application on a connection: see tcp.h. */
#include "net/tcp/inside.h"

/* Marks the connection as changed. Output follows now, or at the end of the call in progress. */
static void changed(struct tcp_conn *c)
{
	tcp_touch(c->tcp, c);
	if (!c->tcp->busy)
		tcp_flush(c->tcp);
}

static bool may_send(const struct tcp_conn *c)
{
	return !(c->flags & CONN_CLOSING) && c->state != TCP_CLOSED && c->state != TCP_TIME_WAIT;
}

static inline uint32_t send_room(const struct tcp_conn *c)
{
	uint32_t limit = tcp_snd_buf(c->tcp, c);
	if (!may_send(c) || c->q_bytes >= limit || tcp_queue_full(c->tcp, c))
		return 0;
	return limit - c->q_bytes;
}

uint32_t tcp_send_room(const struct tcp_conn *c)
{
	return send_room(c);
}

/* `taken` of n bytes for which there was room are in the queue; returns it. */
static uint32_t queued(struct tcp_conn *c, uint32_t n, uint32_t taken)
{
	if (taken < n)
		c->flags |= CONN_STARVED;
	if (n)
		changed(c);
	return taken;
}

uint32_t tcp_send(struct tcp_conn *c, const void *data, uint32_t n)
{
	n = u32_min(n, tcp_send_room(c));
	return queued(c, n, tcp_queue_copy(c->tcp, c, data, n));
}

uint32_t tcp_send_outside(struct tcp_conn *c, const void *data, uint32_t n, unsigned kind)
{
	if (!(c->tcp->p.offload & TCP_TX_SG))
		return tcp_send(c, data, n);
	n = u32_min(n, tcp_send_room(c));
	return queued(c, n, tcp_queue_outside(c->tcp, c, data, n, kind));
}

uint32_t tcp_send_urgent(struct tcp_conn *c, const void *data, uint32_t n)
{
	n = u32_min(n, tcp_send_room(c));
	const uint32_t taken = tcp_queue_copy(c->tcp, c, data, n);
	if (taken) {
		c->snd_up = c->q_end;
		c->flags |= CONN_URG_SND;
	}
	return queued(c, n, taken);
}

int tcp_send_pkt(struct tcp_conn *c, struct pkt *p)
{
	if (!may_send(c))
		return E_INVAL;
	if (p->len > send_room(c))
		return E_AGAIN;
	tcp_queue_pkt(c->tcp, c, p);
	changed(c);
	return E_OK;
}

void tcp_consumed(struct tcp_conn *c, uint32_t n)
{
	assert(n <= c->rcv_held);
	c->rcv_held -= n;
	if (c->state == TCP_CLOSED || c->flags & CONN_FIN_RCVD)
		return;
	if (unlikely(seq_ge(c->rcv_nxt - c->rcv_held, c->tune_seq)))
		tcp_tune(c->tcp, c);
	c->flags |= CONN_WND_UPDATE;
	changed(c);
}

uint32_t tcp_unconsumed(const struct tcp_conn *c) { return c->rcv_held; }
uint32_t tcp_unacked(const struct tcp_conn *c) { return c->q_bytes; }

void tcp_close(struct tcp_conn *c)
{
	struct tcp *t = c->tcp;
	if (!may_send(c))
		return;
	switch (c->state) {
	case TCP_SYN_SENT:
		if (c->q_first == TCP_NONE) {
			tcp_conn_end(t, c, E_OK, true);
			return;
		}
		break; /* queued data is still sent; FIN-WAIT-1 follows when the SYN is answered */
	case TCP_ESTABLISHED:
		tcp_set_state(t, c, TCP_FIN_WAIT_1);
		break;
	case TCP_CLOSE_WAIT:
		tcp_set_state(t, c, TCP_LAST_ACK);
		break;
	default: /* SYN-RECEIVED: tcp_established checks the flag */
		break;
	}
	c->flags |= CONN_CLOSING;
	changed(c);
}

void tcp_abort(struct tcp_conn *c)
{
	struct tcp *t = c->tcp;
	if (c->state == TCP_CLOSED)
		return;
	tcp_count_event(t, CNT_tcp_aborts);
	if (c->state != TCP_SYN_SENT && c->state != TCP_TIME_WAIT)
		tcp_send_reset(t, c);
	tcp_conn_end(t, c, E_RESET, false);
}

void *tcp_arg(const struct tcp_conn *c) { return c->arg; }
void tcp_set_arg(struct tcp_conn *c, void *arg) { c->arg = arg; }
struct tcp *tcp_instance(const struct tcp_conn *c) { return c->tcp; }

void tcp_set_nodelay(struct tcp_conn *c, bool on)
{
	c->flags = on ? c->flags | CONN_NODELAY : c->flags & ~(uint32_t)CONN_NODELAY;
	changed(c);
}

void tcp_set_keepalive(struct tcp_conn *c, bool on)
{
	c->flags = on ? c->flags | CONN_KEEPALIVE : c->flags & ~(uint32_t)CONN_KEEPALIVE;
	c->probes = 0;
	tcp_life_timer(c->tcp, c);
}

void tcp_set_user_timeout(struct tcp_conn *c, uint32_t ms)
{
	c->user_timeout_ms = ms;
}

void tcp_set_rcv_buf(struct tcp_conn *c, uint32_t bytes)
{
	assert(bytes >= c->rcv_buf && bytes <= tcp_instance(c)->p.rcv_buf_given);
	c->rcv_buf = bytes;
}

void tcp_set_snd_buf(struct tcp_conn *c)
{
	assert(tcp_instance(c)->p.snd_buf_given >= tcp_instance(c)->p.snd_buf);
	c->flags |= CONN_SND_GIVEN;
}

bool tcp_urgent(const struct tcp_conn *c, uint32_t *bytes)
{
	bool pending = c->flags & CONN_URG_RCV;
	*bytes = pending && seq_gt(c->rcv_up, c->rcv_nxt) ? c->rcv_up - c->rcv_nxt : 0;
	return pending;
}

void tcp_info(const struct tcp_conn *c, struct tcp_info *out)
{
	uint32_t unsent = c->q_end - c->snd_nxt;
	*out = (struct tcp_info){
		.local = c->local,
		.remote = c->remote,
		.local_port = c->local_port,
		.remote_port = c->remote_port,
		.state = (enum tcp_state)c->state,
		.mss = tcp_full(c),
		.cwnd = c->cc.cwnd,
		.ssthresh = c->cc.ssthresh,
		.flight = tcp_flight(c),
		.unsent = unsent,
		.unacked = c->snd_nxt - c->snd_una,
		.bufs = c->q_bufs,
		.snd_wnd = c->snd_wnd,
		.rcv_wnd = c->rcv_adv - c->rcv_nxt,
		.srtt_us = c->srtt_us,
		.rttvar_us = c->rttvar_us,
		.rto_us = c->rto_us,
		.min_rtt_us = c->min_rtt_us,
		.retransmits = c->retransmits,
		.timestamps = c->flags & CONN_TS,
		.sack = c->flags & CONN_SACK,
		.window_scale = c->flags & CONN_WSCALE,
		.ecn = c->flags & CONN_ECN,
		.in_recovery = c->recovery != RECOVERY_OPEN,
	};
}
