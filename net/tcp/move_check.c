/*
 * What of a connection from another instance has to be true before this one works with it: whatever
 * the other files of net/tcp/ rely on for memory safety, for their assertions, and for timers that
 * make progress. Variables that only make a connection slow or end it are not checked.
 */
#include "net/tcp/move_image.h"

#define WINDOW_MAX (1u << 30) /* RFC 7323 2.3 */
#define SPACE_MAX (1u << 30)  /* bytes between two sequence numbers of one direction */
#define RTO_MAX_US (1u << 31)

/* What flags of chunks mean on another instance. CHUNK_LANE is of the scoreboard there. */
#define CHUNK_NEW (CHUNK_FIN | CHUNK_PSH | CHUNK_CUT)
#define CHUNK_OLD \
	(CHUNK_NEW | CHUNK_SENT | CHUNK_SACKED | CHUNK_LOST | CHUNK_RETRANS | CHUNK_EVER)

#define IN_STATE(s) (1u << (s))
#define HANDSHAKE (IN_STATE(TCP_SYN_SENT) | IN_STATE(TCP_SYN_RECEIVED))
#define WE_CLOSED \
	(IN_STATE(TCP_FIN_WAIT_1) | IN_STATE(TCP_FIN_WAIT_2) | IN_STATE(TCP_CLOSING) | \
	 IN_STATE(TCP_LAST_ACK) | IN_STATE(TCP_TIME_WAIT))
#define PEER_CLOSED \
	(IN_STATE(TCP_CLOSE_WAIT) | IN_STATE(TCP_CLOSING) | IN_STATE(TCP_LAST_ACK) | \
	 IN_STATE(TCP_TIME_WAIT))
#define FIN_ACKED (IN_STATE(TCP_FIN_WAIT_2) | IN_STATE(TCP_TIME_WAIT))

static bool in_state(const struct tcp_conn *c, uint32_t states)
{
	return states >> c->state & 1;
}

static bool has(const struct tcp_conn *c, uint32_t flag)
{
	return c->flags & flag;
}

static bool identity_ok(const struct tcp_conn *c)
{
	return c->state >= TCP_SYN_SENT && c->state <= TCP_TIME_WAIT && c->remote_port &&
	       c->local_port && net_addr_is_ip4(&c->local) == net_addr_is_ip4(&c->remote);
}

/* congestion.c bounds cwnd itself, because its caller may set any. */
static bool congestion_ok(const struct cc *cc)
{
	return cc->mss >= 1 && cc->mss <= 65535 && cc->cwnd_prior <= CC_WINDOW_MAX &&
	       cc->w_max <= CC_WINDOW_MAX && cc->w_est <= CC_WINDOW_MAX && cc->algorithm <= CC_NEWRENO &&
	       cc->flags <= (CC_EPOCH | CC_AFTER_RTO | CC_ROUND | CC_CSS);
}

static bool receive_ok(const struct tcp_conn *c)
{
	return c->rcv_adv - c->rcv_nxt <= WINDOW_MAX && c->rcv_buf >= 1 && c->rcv_buf <= WINDOW_MAX &&
	       c->rcv_held <= WINDOW_MAX && c->rcv_mss >= 1 && c->rcv_wscale <= TCP_WSCALE_MAX;
}

static bool send_ok(const struct tcp_conn *c)
{
	if (in_state(c, HANDSHAKE) && (c->snd_una != c->iss || c->snd_nxt == c->iss))
		return false;
	return c->snd_nxt - c->snd_una <= SPACE_MAX && c->snd_max - c->snd_nxt <= SPACE_MAX &&
	       c->q_end - c->snd_nxt <= SPACE_MAX && c->snd_una - c->ack_floor <= WINDOW_MAX &&
	       c->snd_wnd <= WINDOW_MAX && c->max_wnd <= WINDOW_MAX &&
	       c->snd_wscale <= TCP_WSCALE_MAX && c->path_mtu > ip_header_bytes(&c->remote) + TCP_HLEN;
}

static bool timers_ok(const struct tcp_conn *c)
{
	return c->armed < 1u << TIMER_COUNT && c->send_kind <= SEND_PROBE &&
	       c->recovery <= RECOVERY_RTO && c->backoff <= TCP_BACKOFF_MAX && c->rto_us >= 1 &&
	       c->rto_us <= RTO_MAX_US && c->reo_mult >= 1;
}

/* RFC 9293 3.3.2: who has closed, by state. */
static bool closing_ok(const struct tcp_conn *c, uint32_t chunks)
{
	bool we = has(c, CONN_CLOSING), queued = has(c, CONN_FIN_QUEUED);
	if (queued && (!we || (chunks == 0 && !in_state(c, WE_CLOSED))))
		return false;
	if (!in_state(c, HANDSHAKE) && we != in_state(c, WE_CLOSED))
		return false;
	if (in_state(c, FIN_ACKED) && (!queued || chunks || c->snd_una != c->snd_nxt))
		return false;
	return has(c, CONN_FIN_RCVD) == in_state(c, PEER_CLOSED);
}

/* The application knows a connection from SYN-SENT, or from ESTABLISHED on if the peer opened it;
 * with Fast Open earlier. */
static bool accepted_ok(const struct tcp_conn *c)
{
	if (c->state == TCP_TIME_WAIT)
		return !has(c, CONN_ACCEPTED);
	if (c->state == TCP_SYN_RECEIVED)
		return has(c, CONN_ACCEPTED) || has(c, CONN_PASSIVE);
	return has(c, CONN_ACCEPTED);
}

enum tcp_move tcp_move_check(const struct move_record *r)
{
	const struct tcp_conn *c = &r->c;
	if (!identity_ok(c) || !receive_ok(c) || !send_ok(c) || !timers_ok(c) ||
	    !congestion_ok(&c->cc) || (c->undo_cc.mss && !congestion_ok(&c->undo_cc)))
		return TCP_MOVE_RECORD;
	if (!closing_ok(c, r->chunks) || !accepted_ok(c))
		return TCP_MOVE_RECORD;
	if (c->state == TCP_SYN_SENT && has(c, CONN_SYN_DATA) && r->chunks == 0)
		return TCP_MOVE_QUEUE;
	if (r->pieces && (in_state(c, PEER_CLOSED | HANDSHAKE) || !has(c, CONN_ACCEPTED)))
		return TCP_MOVE_RANGES;
	return TCP_MOVE_MORE;
}

bool tcp_move_check_chunk(const struct tcp_conn *c, const struct move_buffer *b, uint32_t stride)
{
	bool sent = b->flags & CHUNK_SENT, fin = b->flags & CHUNK_FIN;
	uint32_t room = stride - (sent ? TCP_PAYLOAD_OFFSET : BUF_META);
	if (b->seq != c->q_end || b->len > room || (b->len == 0 && !fin))
		return false;
	if (b->flags & ~(uint32_t)(sent ? CHUNK_OLD : CHUNK_NEW) || (fin && !has(c, CONN_FIN_QUEUED)))
		return false;
	if (b->flags & CHUNK_SACKED && (!has(c, CONN_SACK) || b->flags & (CHUNK_LOST | CHUNK_RETRANS)))
		return false;
	if (b->flags & CHUNK_RETRANS && !(b->flags & CHUNK_LOST))
		return false;
	/* FIN is the last of all. No chunk but FIN is empty, so the numbers keep those sent before those never sent. */
	const struct tcp *t = c->tcp;
	if (c->q_last != TCP_NONE && chunk_at(t, c->q_last)->flags & CHUNK_FIN)
		return false;
	uint32_t end = b->seq + b->len + fin;
	return sent ? end - c->snd_una <= c->snd_nxt - c->snd_una
	            : c->snd_nxt - c->snd_una <= b->seq - c->snd_una;
}

bool tcp_move_check_piece(const struct tcp_conn *c, const struct move_buffer *b, uint32_t stride)
{
	uint32_t window = c->rcv_adv - c->rcv_nxt, at = b->seq - c->rcv_nxt;
	return b->flags == 0 && b->len >= 1 && b->len <= stride - BUF_META && at >= 1 &&
	       at <= window && b->len <= window - at;
}
