/*
 * From the first SYN until a connection is established: listeners, SYN cookies, Fast Open, initial
 * sequence numbers, options.
 *
 * A SYN makes a connection in SYN-RECEIVED. With syn_max connections in that state, or without a free
 * connection, the answer is a SYN cookie (RFC 4987 3.6): all state goes into the sequence number and
 * the timestamp, and the peer's ACK returns it.
 *
 * An ACK that returns a cookie while no connection is free is dropped (drop_tcp_full), not reset. The
 * peer believes that the connection is established. It retransmits its data, and each segment returns
 * the cookie again. A peer that waits for this side to speak first waits in vain; an owner that wants
 * to prevent this leaves room for syn_max connections beside those that its application keeps.
 *
 *     sequence number   time (5 bits, in steps of 67 s) | MSS (3 bits) | MAC (24 bits)
 *     timestamp         clock, its low 6 bits: window scale (4, 15: none) | SACK | ECN
 *
 * Without timestamps a connection from a cookie has no window scale, no SACK and no ECN.
 *
 * Fast Open (RFC 7413): a cookie is a MAC of the client's address. A client with a valid cookie may
 * send data in its SYN, and the server answers before the handshake completes. The limit is
 * fastopen_max at once, because an attacker can obtain cookies too (5.1).
 */
#include "net/tcp/inside.h"
#include "net/tcp/move.h"

#define TCP_MSS_LEAST 48 /* whatever a peer's option says */
#define COOKIE_STEP_LOG2_US 26 /* the time in a cookie counts steps of 2^26 us: 67 s */
#define COOKIE_STEPS 2        /* a cookie is valid in its own step and in this many more */
#define COOKIE_TS_BITS 6
#define COOKIE_NO_SCALE 15
#define FASTOPEN_COOKIE_BYTES 8
#define PATH_RAISE_MS 600000  /* RFC 1191 6.3: 10 minutes */

/* The peer's is rounded down (RFC 9293, MUST-16), so the first is the least that a connection sends. */
static const uint16_t cookie_mss[8] = {TCP_MSS_LEAST, 536, 1220, 1300, 1400, 1440, 1460, 8960};

/* --- sequence numbers and MACs --- */

/* Hashed with the data, so that a MAC for one purpose is useless for another. */
enum purpose { PURPOSE_ISN = 1, PURPOSE_COOKIE, PURPOSE_FASTOPEN, PURPOSE_TS };

static uint64_t mac(const struct tcp *t, enum purpose purpose, const struct net_addr *local,
                    uint16_t local_port, const struct net_addr *remote, uint16_t remote_port,
                    uint32_t a, uint32_t b)
{
	uint8_t text[2 * 16 + 2 * 2 + 3 * 4];
	memcpy(text, local->w, 16);
	memcpy(text + 16, remote->w, 16);
	be16_store(text + 32, local_port);
	be16_store(text + 34, remote_port);
	be32_store(text + 36, a);
	be32_store(text + 40, b);
	be32_store(text + 44, purpose);
	return siphash24(&t->key, text, sizeof text);
}

/* RFC 6528 3: the timer advances every 4 us. */
uint32_t tcp_isn(const struct tcp *t, const struct net_addr *local, uint16_t local_port,
                 const struct net_addr *remote, uint16_t remote_port)
{
	uint64_t f = mac(t, PURPOSE_ISN, local, local_port, remote, remote_port, 0, 0);
	return (uint32_t)(t->now_us >> 2) + (uint32_t)f;
}

/* RFC 7323 5.4: timestamps start at a secret offset for each pair of addresses. For one peer they
 * rise from connection to connection, which RFC 6191 relies on. */
static uint32_t ts_offset(const struct tcp *t, const struct net_addr *local,
                          const struct net_addr *remote)
{
	return (uint32_t)mac(t, PURPOSE_TS, local, 0, remote, 0, 0, 0);
}

/* --- options --- */

uint32_t tcp_link_mtu(const struct tcp *t, const struct net_addr *remote)
{
	uint32_t mtu = u32_min(t->p.mtu, 65535);
	if (likely(net_addr_is_ip4(remote)) || !t->ops->mtu6)
		return mtu;
	return u32_min(mtu, u32_max(t->ops->mtu6(t->ctx, remote), IP6_MTU_MIN));
}

uint16_t tcp_mss_offered(const struct tcp *t, const struct net_addr *remote)
{
	/* RFC 6691 2: options are not subtracted */
	uint32_t mss = tcp_link_mtu(t, remote) - ip_header_bytes(remote) - TCP_HLEN;
	return (uint16_t)u32_min(mss, 65535);
}

void tcp_mss_set(struct tcp *t, struct tcp_conn *c)
{
	uint32_t by_path = (uint32_t)c->path_mtu - c->ip_hlen - TCP_HLEN;
	/* The buffer size also limits the MSS. The minimum is 48 even if the peer asks for less;
	 * options would leave no room for payload. */
	uint32_t by_buffer = t->pool->stride - TCP_PAYLOAD_OFFSET;
	c->mss = (uint16_t)u32_max(u32_min(u32_min(c->peer_mss, by_path), by_buffer), TCP_MSS_LEAST);
	if (c->cc.mss && c->cc.mss != c->mss)
		cc_set_mss(&c->cc, c->mss);
}

void tcp_path_lower(struct tcp *t, struct tcp_conn *c, uint32_t mtu)
{
	c->path_mtu = (uint16_t)mtu;
	c->path_raise_ms = t->now_ms + PATH_RAISE_MS;
	tcp_mss_set(t, c);
}

/* All options of RFC 9293, 7323 and 2018 together take 24 bytes with padding; a cookie takes up to
 * 20. */
unsigned tcp_syn_options(struct tcp *t, struct tcp_conn *c, uint8_t *o)
{
	bool passive = c->state == TCP_SYN_RECEIVED;
	unsigned n = tcp_put_mss(o, tcp_mss_offered(t, &c->remote));
	if (passive ? c->flags & CONN_SACK : t->p.sack)
		n += tcp_put_sack_ok(o + n);
	if (passive ? c->flags & CONN_TS : t->p.timestamps)
		n += tcp_put_ts(o + n, tcp_ts_now(t, c), passive ? c->ts_recent : 0);
	if (passive ? c->flags & CONN_WSCALE : t->p.window_scale)
		n += tcp_put_wscale(o + n, t->rcv_wscale);
	if (!(c->flags & CONN_FASTOPEN) || c->backoff)
		return n; /* RFC 7413 4.1.3.1: retransmitted without the option, in case a middlebox
		             drops it */
	if (passive) {
		uint8_t cookie[FASTOPEN_COOKIE_BYTES];
		uint64_t m = mac(t, PURPOSE_FASTOPEN, &c->local, 0, &c->remote, 0, 0, 0);
		be32_store(cookie, (uint32_t)(m >> 32));
		be32_store(cookie + 4, (uint32_t)m);
		return n + tcp_put_cookie(o + n, cookie, sizeof cookie);
	}
	const struct tcp_cookie_entry *e =
		&t->cookies[tcp_hash(t, &c->remote, 0, &c->remote, 0) % TCP_FASTOPEN_CACHE];
	bool known = e->len && net_addr_equal(&e->remote, &c->remote);
	return n + tcp_put_cookie(o + n, e->cookie, known ? e->len : 0);
}

/* Enables the options that both the peer's SYN and our parameters allow. */
static void agree(const struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s)
{
	uint32_t yes = 0;
	if (t->p.timestamps && s->has & TCP_HAS_TS) {
		yes |= CONN_TS;
		c->ts_recent = s->tsval;
		c->ts_recent_ms = t->now_ms;
	}
	if (t->p.sack && s->has & TCP_HAS_SACK_OK)
		yes |= CONN_SACK;
	if (t->p.window_scale && s->has & TCP_HAS_WSCALE) {
		yes |= CONN_WSCALE;
		c->snd_wscale = s->wscale;
		c->rcv_wscale = t->rcv_wscale;
	}
	c->flags = (c->flags & ~(uint32_t)(CONN_TS | CONN_SACK | CONN_WSCALE)) | yes;
	c->peer_mss = s->has & TCP_HAS_MSS ? s->mss : tcp_mss_default(&c->remote);
}

/* Sets the receive variables from the peer's initial sequence number. */
static void set_irs(struct tcp_conn *c, uint32_t irs)
{
	c->irs = irs;
	c->rcv_nxt = c->rcv_adv = c->acked_to = irs + 1;
	c->tune_seq = irs + 1;
	c->tune_us = (uint32_t)c->tcp->now_us - UINT32_MAX / 2; /* long ago: the first interval does
	                                                           not count */
}

static void set_iss(struct tcp *t, struct tcp_conn *c, uint32_t iss)
{
	c->iss = c->ack_floor = c->snd_una = c->recover = c->fack = c->undo_end = c->ecn_end = iss;
	c->snd_nxt = c->snd_max = c->q_end = iss + 1;
	c->reo_round = iss;
	c->ts_offset = ts_offset(t, &c->local, &c->remote);
}

/* Initializes the congestion window once the MSS is known. */
static void start_congestion(struct tcp *t, struct tcp_conn *c)
{
	tcp_mss_set(t, c);
	cc_init(&c->cc, t->p.congestion, c->mss);
	if (c->backoff) /* RFC 5681 3.1, RFC 6928 2: a SYN was lost */
		c->cc.cwnd = c->cc.mss;
}

bool tcp_established(struct tcp *t, struct tcp_conn *c)
{
	bool passive = c->flags & CONN_PASSIVE;
	bool fast = c->flags & CONN_FASTOPEN && passive;
	bool was_syn_received = c->state == TCP_SYN_RECEIVED;
	tcp_count_event(t, passive ? CNT_tcp_accepts : CNT_tcp_connects);
	tcp_set_state(t, c, c->flags & CONN_CLOSING ? TCP_FIN_WAIT_1 : TCP_ESTABLISHED);
	if (!c->backoff && c->syn_us) /* Karn: after a retransmission it is unknown which SYN was
	                                 answered */
		tcp_rtt_sample(t, c, (uint32_t)(t->now_us - c->syn_us));
	if (c->backoff) { /* RFC 6298 5.7: the SYN timer expired, so data begins with an RTO of at
	                     least 3 s */
		c->rto_us = u32_max(c->rto_us, 3000000);
		c->backoff = 0;
	}
	if (fast && was_syn_received)
		t->fastopen--;
	c->flags &= ~(uint32_t)CONN_FASTOPEN;
	tcp_timer_clear(c, TIMER_SEND);
	tcp_life_timer(t, c);
	if (!passive) {
		if (c->app->connected)
			c->app->connected(c);
	} else if (!(c->flags & CONN_ACCEPTED)) {
		c->flags |= CONN_ACCEPTED;
		if (!c->app->accept(c))
			tcp_abort(c);
	}
	return c->state != TCP_CLOSED;
}

/* --- passive --- */

const struct tcp_listen *tcp_listener(const struct tcp *t, const struct net_addr *local, uint16_t port)
{
	const struct tcp_listen *any = NULL;
	for (uint32_t i = 0; i < t->listeners; i++) {
		const struct tcp_listen *l = &t->listener[i];
		if (l->port != port)
			continue;
		if (net_addr_equal(&l->addr, local))
			return l;
		if (net_addr_is_any(&l->addr))
			any = l;
	}
	return any;
}

static struct tcp_conn *new_passive(struct tcp *t, const struct tcp_listen *l,
                                    const struct tcp_segment *s)
{
	struct tcp_conn *c = tcp_conn_new(t, &s->dst, s->dst_port, &s->src, s->src_port);
	if (!c)
		return NULL;
	c->app = l->app;
	c->arg = l->arg;
	c->flags |= CONN_PASSIVE | (l->nodelay ? CONN_NODELAY : 0);
	tcp_set_state(t, c, TCP_SYN_RECEIVED);
	tcp_touch(t, c);
	return c;
}

/* True if the SYN carries our cookie for its source address. */
static bool fastopen_cookie_ok(const struct tcp *t, const struct tcp_segment *s)
{
	uint64_t m = mac(t, PURPOSE_FASTOPEN, &s->dst, 0, &s->src, 0, 0, 0);
	return s->cookie_len == FASTOPEN_COOKIE_BYTES &&
	       be32_load(s->cookie) == (uint32_t)(m >> 32) &&
	       be32_load(s->cookie + 4) == (uint32_t)m;
}

/* Acceptable data in a SYN (RFC 7413 4.2.2) is delivered to the application at once. */
static void fastopen_data(struct tcp *t, struct tcp_conn *c, struct tcp_segment *s, struct pkt *p,
                          bool *taken)
{
	tcp_count_event(t, CNT_tcp_fastopen);
	tcp_window(t, c); /* offers a window that covers the data */
	c->flags |= CONN_ACCEPTED;
	if (!c->app->accept(c))
		tcp_abort(c);
	if (c->state == TCP_CLOSED)
		return;
	s->seq++;
	s->flags &= (uint8_t)~TCP_SYN;
	tcp_receive(t, c, s, p, taken);
}

/* c is what new_passive has made of the SYN. */
static enum counter syn_arrived(struct tcp *t, struct tcp_conn *c, const struct tcp_listen *l,
                                struct tcp_segment *s, struct pkt *p, bool *taken)
{
	set_irs(c, s->seq);
	set_iss(t, c, tcp_isn(t, &c->local, c->local_port, &c->remote, c->remote_port));
	agree(t, c, s);
	/* RFC 3168 6.1.1: an ECN-setup SYN has both */
	if (t->p.ecn && (s->flags & (TCP_ECE | TCP_CWR)) == (TCP_ECE | TCP_CWR))
		c->flags |= CONN_ECN;
	c->snd_wnd = c->max_wnd = s->wnd; /* not scaled (RFC 7323 2.2) */
	c->snd_wl1 = s->seq;
	c->snd_wl2 = c->iss;
	start_congestion(t, c);
	bool data = false;
	if (l->fastopen && s->has & TCP_HAS_COOKIE) {
		bool good = s->cookie_len && fastopen_cookie_ok(t, s) && t->fastopen < t->p.fastopen_max;
		if (s->len && s->cookie_len && !good)
			tcp_count_event(t, CNT_tcp_fastopen_refused);
		if (t->fastopen < t->p.fastopen_max) {
			c->flags |= CONN_FASTOPEN; /* until established: the SYN-ACK carries a
			                              cookie, and data may be sent */
			t->fastopen++;
		}
		data = good && s->len;
	}
	/* Any other data in a SYN is not acknowledged; the peer retransmits it. */
	if (data)
		fastopen_data(t, c, s, p, taken);
	if (c->state == TCP_CLOSED)
		return CNT_delivered_tcp;
	tcp_send_syn(t, c);
	tcp_send_timer(t, c);
	return CNT_delivered_tcp;
}

/* --- SYN cookies --- */

static uint32_t cookie_time(const struct tcp *t)
{
	return (uint32_t)(t->now_us >> COOKIE_STEP_LOG2_US);
}

static uint32_t cookie_make(const struct tcp *t, const struct tcp_segment *s, uint32_t irs,
                            uint32_t time, unsigned mss)
{
	uint64_t m = mac(t, PURPOSE_COOKIE, &s->dst, s->dst_port, &s->src, s->src_port, irs,
	                 time << 3 | mss);
	return (time & 31) << 27 | mss << 24 | ((uint32_t)m & 0xffffff);
}

static void cookie_send(struct tcp *t, const struct tcp_segment *s)
{
	struct tcp_reply r = {.ack = s->seq + 1, .flags = TCP_SYN | TCP_ACK};
	unsigned mss = ARRAY_LEN(cookie_mss) - 1;
	uint16_t theirs = s->has & TCP_HAS_MSS ? s->mss : tcp_mss_default(&s->src);
	while (mss && cookie_mss[mss] > theirs)
		mss--;
	r.seq = cookie_make(t, s, s->seq, cookie_time(t), mss);
	r.wnd = (uint16_t)u32_min(t->p.rcv_buf, 0xffff);
	r.options_len = tcp_put_mss(r.options, tcp_mss_offered(t, &s->src));
	if (t->p.timestamps && s->has & TCP_HAS_TS) {
		bool scale = t->p.window_scale && s->has & TCP_HAS_WSCALE;
		bool sack = t->p.sack && s->has & TCP_HAS_SACK_OK;
		bool ecn = t->p.ecn && (s->flags & (TCP_ECE | TCP_CWR)) == (TCP_ECE | TCP_CWR);
		uint32_t bits = (scale ? s->wscale : COOKIE_NO_SCALE) << 2 | (uint32_t)sack << 1 | ecn;
		uint32_t clock = t->now_ms + ts_offset(t, &s->dst, &s->src);
		/* never ahead of the clock, so that later timestamps do not go back */
		clock = (clock - (1u << COOKIE_TS_BITS)) >> COOKIE_TS_BITS << COOKIE_TS_BITS | bits;
		r.options_len += tcp_put_ts(r.options + r.options_len, clock, s->tsval);
		if (sack)
			r.options_len += tcp_put_sack_ok(r.options + r.options_len);
		if (scale)
			r.options_len += tcp_put_wscale(r.options + r.options_len, t->rcv_wscale);
		if (ecn)
			r.flags |= TCP_ECE;
	}
	t->cookie_us = t->now_us | 1;
	tcp_count_event(t, CNT_tcp_cookies_tx);
	tcp_send_reply(t, s, &r);
}

/* The index in cookie_mss from a valid cookie; -1: invalid or too old. */
static int cookie_check(const struct tcp *t, const struct tcp_segment *s)
{
	uint32_t cookie = s->ack - 1, now = cookie_time(t);
	uint32_t age = (now - (cookie >> 27)) & 31;
	unsigned mss = cookie >> 24 & 7;
	if (age > COOKIE_STEPS || cookie_make(t, s, s->seq - 1, now - age, mss) != cookie)
		return -1;
	return (int)mss;
}

/* Handles an ACK without a connection, which may answer a SYN cookie. */
static enum counter cookie_arrived(struct tcp *t, const struct tcp_listen *l, struct tcp_segment *s,
                                   struct tcp_conn **out)
{
	int mss = cookie_check(t, s);
	*out = NULL;
	if (mss < 0) {
		tcp_count_event(t, CNT_tcp_cookies_bad);
		/* Data or FIN may belong to a connection whose first segment was lost, and only
		 * that segment carries the cookie. It is not reset: the peer retransmits it after
		 * the first segment. */
		if (tcp_segment_space(s) == 0)
			tcp_reset_for(t, s);
		return CNT_drop_tcp_listen;
	}
	struct tcp_conn *c = new_passive(t, l, s);
	if (!c) {
		tcp_count_event(t, CNT_tcp_full);
		return CNT_drop_tcp_full;
	}
	tcp_count_event(t, CNT_tcp_cookies_good);
	set_irs(c, s->seq - 1);
	set_iss(t, c, s->ack - 1);
	c->peer_mss = cookie_mss[mss];
	if (t->p.timestamps && s->has & TCP_HAS_TS) {
		uint32_t bits = s->tsecr & ((1u << COOKIE_TS_BITS) - 1);
		c->flags |= CONN_TS | (bits & 2 ? CONN_SACK : 0u) | (bits & 1 ? CONN_ECN : 0u);
		c->ts_recent = s->tsval;
		c->ts_recent_ms = t->now_ms;
		if (bits >> 2 != COOKIE_NO_SCALE) {
			c->flags |= CONN_WSCALE;
			c->snd_wscale = (uint8_t)(bits >> 2);
			c->rcv_wscale = t->rcv_wscale;
		}
	}
	c->snd_wl1 = s->seq - 1;
	c->snd_wl2 = c->iss;
	/* the window offered in the cookie's SYN-ACK */
	c->rcv_adv = c->rcv_nxt + u32_min(t->p.rcv_buf, 0xffff);
	start_congestion(t, c);
	*out = c;
	return CNT_NONE;
}

#define COOKIE_LIFE_US ((COOKIE_STEPS + 1ull) << COOKIE_STEP_LOG2_US)

static bool cookies_are_out(const struct tcp *t)
{
	return t->cookie_us && t->now_us < t->cookie_us + COOKIE_LIFE_US;
}

uint64_t tcp_cookies_until(const struct tcp *t)
{
	return cookies_are_out(t) ? t->cookie_us + COOKIE_LIFE_US : 0;
}

void tcp_cookies_expect(struct tcp *t, uint64_t until_us)
{
	if (until_us > COOKIE_LIFE_US)
		t->cookie_us = u64_max(t->cookie_us, u64_min(until_us - COOKIE_LIFE_US, t->now_us) | 1);
}

enum counter tcp_input_listen(struct tcp *t, struct tcp_segment *s, struct pkt *p, bool *taken)
{
	if (t->ops->elsewhere &&
	    t->ops->elsewhere(t->ctx, &s->dst, s->dst_port, &s->src, s->src_port))
		return CNT_drop_tcp_elsewhere;
	const struct tcp_listen *l = tcp_listener(t, &s->dst, s->dst_port);
	if (!l) {
		tcp_reset_for(t, s);
		return CNT_drop_tcp_port;
	}
	/* RFC 9293 3.10.7.2, in its order: RST, ACK, SYN */
	if (s->flags & TCP_RST)
		return CNT_drop_tcp_listen;
	if (s->flags & TCP_ACK) {
		struct tcp_conn *c;
		if (s->flags & TCP_SYN || !cookies_are_out(t)) {
			tcp_reset_for(t, s);
			return CNT_drop_tcp_listen;
		}
		enum counter fate = cookie_arrived(t, l, s, &c);
		if (fate != CNT_NONE)
			return fate;
		c->snd_wnd = c->max_wnd = s->wnd << c->snd_wscale;
		c->heard_ms = t->now_ms;
		if (!tcp_established(t, c))
			return CNT_delivered_tcp;
		tcp_ack(t, c, s);
		return c->state == TCP_CLOSED ? CNT_delivered_tcp : tcp_receive(t, c, s, p, taken);
	}
	if (!(s->flags & TCP_SYN))
		return CNT_drop_tcp_listen;
	bool few = t->states[TCP_SYN_RECEIVED] < t->p.syn_max;
	struct tcp_conn *c = few ? new_passive(t, l, s) : NULL;
	if (!c) {
		cookie_send(t, s);
		return CNT_delivered_tcp;
	}
	return syn_arrived(t, c, l, s, p, taken);
}

/* --- active --- */

static void remember_cookie(struct tcp *t, const struct tcp_conn *c, const struct tcp_segment *s)
{
	if (!(s->has & TCP_HAS_COOKIE) || s->cookie_len == 0 || !(c->flags & CONN_FASTOPEN))
		return;
	struct tcp_cookie_entry *e =
		&t->cookies[tcp_hash(t, &c->remote, 0, &c->remote, 0) % TCP_FASTOPEN_CACHE];
	*e = (struct tcp_cookie_entry){.remote = c->remote, .mss = s->mss, .len = s->cookie_len};
	memcpy(e->cookie, s->cookie, s->cookie_len);
}

/* RFC 9293 3.10.7.3 */
enum counter tcp_input_syn_sent(struct tcp *t, struct tcp_conn *c, struct tcp_segment *s,
                                struct pkt *p, bool *taken)
{
	bool ack = s->flags & TCP_ACK;
	if (ack && (seq_le(s->ack, c->iss) || seq_gt(s->ack, c->snd_max))) {
		tcp_reset_for(t, s);
		return CNT_drop_tcp_ack;
	}
	/* RFC 7323 3.2: the echoed timestamp is not ours */
	if (ack && s->has & TCP_HAS_TS && t->p.timestamps && s->tsecr &&
	    seq_gt(s->tsecr, tcp_ts_now(t, c))) {
		tcp_reset_for(t, s);
		return CNT_drop_tcp_timestamp;
	}
	if (s->flags & TCP_RST) {
		if (!ack)
			return CNT_drop_tcp_challenged;
		tcp_count_event(t, CNT_tcp_resets);
		tcp_conn_end(t, c, E_REFUSED, true);
		return CNT_delivered_tcp;
	}
	if (!(s->flags & TCP_SYN))
		return CNT_drop_tcp_ack;
	c->heard_ms = t->now_ms;
	set_irs(c, s->seq);
	c->rcv_adv += u32_min(t->p.rcv_buf, 0xffff); /* as offered in our SYN */
	agree(t, c, s);
	c->snd_wnd = c->max_wnd = s->wnd;
	c->snd_wl1 = s->seq;
	c->snd_wl2 = ack ? s->ack : c->iss;
	remember_cookie(t, c, s);
	/* RFC 3168 6.1.1: an ECN-setup SYN-ACK has only ECE; a simultaneous SYN has both */
	uint8_t ecn = s->flags & (TCP_ECE | TCP_CWR);
	if (ecn != (ack ? TCP_ECE : TCP_ECE | TCP_CWR))
		c->flags &= ~(uint32_t)CONN_ECN;
	start_congestion(t, c);
	if (!ack) { /* simultaneous open */
		tcp_set_state(t, c, TCP_SYN_RECEIVED);
		tcp_send_syn(t, c);
		return CNT_delivered_tcp;
	}
	c->flags |= CONN_ACK_NOW;
	s->flags &= (uint8_t)~(TCP_ECE | TCP_CWR); /* in a SYN-ACK these flags only negotiate ECN */
	if (!tcp_established(t, c))
		return CNT_delivered_tcp;
	tcp_ack(t, c, s);
	if (c->state == TCP_CLOSED)
		return CNT_delivered_tcp;
	/* data in our SYN that the peer did not take is now sent as usual */
	s->seq++;
	s->flags &= (uint8_t)~(TCP_SYN | TCP_URG);
	return tcp_receive(t, c, s, p, taken);
}

/* --- tcp.h --- */

int tcp_listen(struct tcp *t, const struct tcp_listen *l)
{
	for (uint32_t i = 0; i < t->listeners; i++)
		if (t->listener[i].port == l->port && net_addr_equal(&t->listener[i].addr, &l->addr))
			return E_INVAL;
	if (l->port == 0)
		return E_INVAL;
	if (t->listeners == t->p.listeners)
		return E_NOMEM;
	t->listener[t->listeners++] = *l;
	return E_OK;
}

void tcp_unlisten(struct tcp *t, uint16_t port)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < t->listeners; i++)
		if (t->listener[i].port != port)
			t->listener[kept++] = t->listener[i];
	t->listeners = kept;
}

/* Cuts the first chunk to the room in a SYN beside its options (RFC 6691 2). */
static bool fits_syn(struct tcp *t, struct tcp_conn *c)
{
	uint8_t options[TCP_HLEN_MAX - TCP_HLEN];
	uint32_t used = tcp_syn_options(t, c, options);
	uint32_t room = c->mss > used ? c->mss - used : 0;
	if (chunk_at(t, c->q_first)->len <= room)
		return true;
	return room && tcp_queue_split(t, c, c->q_first, room);
}

struct tcp_conn *tcp_connect(struct tcp *t, const struct tcp_open *o, uint64_t now_us, int *error)
{
	int ignored;
	error = error ? error : &ignored;
	tcp_set_now(t, now_us);
	uint16_t port = o->local_port;
	struct tcp_segment id = {.src = o->remote, .dst = o->local, .src_port = o->remote_port,
	                         .dst_port = port};
	*error = E_INVAL;
	if (port == 0)
		port = tcp_port_choose(t, &o->local, &o->remote, o->remote_port);
	else if (tcp_find(t, tcp_hash(t, &o->remote, o->remote_port, &o->local, port), &id))
		return NULL;
	if (port == 0 || o->remote_port == 0)
		return NULL;
	*error = E_NOMEM;
	struct tcp_conn *c = tcp_conn_new(t, &o->local, port, &o->remote, o->remote_port);
	if (!c) {
		tcp_count_event(t, CNT_tcp_full);
		return NULL;
	}
	c->app = o->app;
	c->arg = o->arg;
	c->flags |= CONN_ACCEPTED | (o->nodelay ? CONN_NODELAY : 0) | (t->p.ecn ? CONN_ECN : 0) |
	            (o->fastopen ? CONN_FASTOPEN : 0);
	set_iss(t, c, tcp_isn(t, &o->local, port, &o->remote, o->remote_port));
	start_congestion(t, c);
	tcp_set_state(t, c, TCP_SYN_SENT);
	const struct tcp_cookie_entry *e =
		&t->cookies[tcp_hash(t, &o->remote, 0, &o->remote, 0) % TCP_FASTOPEN_CACHE];
	bool cookie = o->fastopen && e->len && net_addr_equal(&e->remote, &o->remote);
	if (cookie && e->mss) {
		c->peer_mss = e->mss;
		tcp_mss_set(t, c);
	}
	uint32_t taken = tcp_queue_copy(t, c, o->data, o->data_len);
	if (taken < o->data_len) {
		tcp_conn_end(t, c, E_NOMEM, false);
		return NULL;
	}
	if (cookie && taken && fits_syn(t, c)) {
		const struct tcp_chunk *ch = chunk_at(t, c->q_first);
		c->flags |= CONN_SYN_DATA;
		c->snd_max = ch->ends;
	}
	tcp_send_syn(t, c);
	tcp_send_timer(t, c);
	*error = E_OK;
	return c;
}
