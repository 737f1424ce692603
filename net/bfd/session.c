/* See session.h. */
#include "net/bfd/session.h"

#include "lib/number.h"

#define US_NS 1000u
#define NEVER UINT64_MAX

enum poll {
	POLL_NONE,
	POLL_WAITS,  /* begins when a packet without P was sent, and then one without F received */
	POLL_ACTIVE, /* packets have the P bit until one with F arrives */
	POLL_AGAIN,  /* the same, and then another sequence is due */
};

/* --- intervals --- */

uint32_t bfd_session_interval_us(const struct bfd_session *s)
{
	return s->remote_required_rx_us ? u32_max(s->tx_used_us, s->remote_required_rx_us) : 0;
}

uint64_t bfd_session_detect_ns(const struct bfd_session *s)
{
	return (uint64_t)u32_max(s->rx_used_us, s->remote_desired_tx_us) * s->remote_mult * US_NS;
}

bool bfd_session_polls(const struct bfd_session *s)
{
	return s->poll != POLL_NONE;
}

/* A number below n, by xorshift: jitter needs no secret. */
static uint64_t below(struct bfd_session *s, uint64_t n)
{
	s->jitter ^= s->jitter << 13;
	s->jitter ^= s->jitter >> 17;
	s->jitter ^= s->jitter << 5;
	return n * (s->jitter >> 12) >> 20; /* n has at most 41 bits */
}

/* RFC 5880 6.8.7: the interval less up to 25 %; with a multiplier of 1 less 10 % to 25 %, so that the
 * next packet arrives before the detection time expires. */
static uint64_t jittered_ns(struct bfd_session *s)
{
	const uint64_t whole = (uint64_t)bfd_session_interval_us(s) * US_NS;
	const uint64_t least = s->wish.detect_mult == 1 ? whole / 10 : 0;
	return whole - least - below(s, whole / 4 - least + 1);
}

static bool is_silent(const struct bfd_session *s)
{
	return s->remote_required_rx_us == 0 || (s->wish.passive && s->remote_discr == 0);
}

/* The interval may have changed: places the next periodic packet anew. */
static void place(struct bfd_session *s, uint64_t now_ns)
{
	s->tx_due_ns = is_silent(s) ? NEVER : u64_max(now_ns, s->sent_ns + jittered_ns(s));
}

static void send_at_once(struct bfd_session *s, uint64_t now_ns)
{
	s->tx_due_ns = is_silent(s) ? NEVER : now_ns;
}

/* --- what we advertise --- */

static void settle(struct bfd_session *s)
{
	s->tx_used_us = s->tx_us;
	s->rx_used_us = s->wish.required_rx_us;
}

static void poll_begin(struct bfd_session *s)
{
	if (s->poll == POLL_NONE)
		s->poll_sent = false;
	if (s->poll != POLL_WAITS)
		s->poll = s->poll == POLL_NONE ? POLL_ACTIVE : POLL_AGAIN;
}

static void poll_end(struct bfd_session *s)
{
	s->poll = s->poll == POLL_AGAIN ? POLL_WAITS : POLL_NONE;
	s->poll_sent = false;
	if (s->poll == POLL_NONE)
		settle(s);
}

/* A packet has arrived: it ends a sequence, or lets the next one begin. */
static void poll_hear(struct bfd_session *s, bool final)
{
	if (!s->poll_sent)
		return;
	if (final && (s->poll == POLL_ACTIVE || s->poll == POLL_AGAIN))
		poll_end(s);
	if (!final && s->poll == POLL_WAITS) {
		s->poll = POLL_ACTIVE;
		s->poll_sent = false;
	}
}

/* Sets the advertised intervals according to state and wish (6.8.3). */
static void advertise(struct bfd_session *s, uint32_t old_rx_us)
{
	const bool up = s->state == BFD_UP;
	const uint32_t tx_us = up ? s->wish.desired_tx_us : u32_max(s->wish.desired_tx_us, BFD_SLOW_US);
	const bool changed = tx_us != s->tx_us || old_rx_us != s->wish.required_rx_us;
	s->tx_us = tx_us;
	if (!up) {
		s->poll = POLL_NONE;
		settle(s);
		return;
	}
	if (!changed)
		return;
	/* a longer transmission interval and a shorter detection time wait for the peer */
	s->tx_used_us = u32_min(s->tx_used_us, s->tx_us);
	s->rx_used_us = u32_max(s->rx_used_us, s->wish.required_rx_us);
	poll_begin(s);
}

static void enter(struct bfd_session *s, enum bfd_state state, uint8_t diag, uint64_t now_ns)
{
	s->state = state;
	s->diag = diag;
	advertise(s, s->wish.required_rx_us);
	send_at_once(s, now_ns);
}

/* --- public --- */

void bfd_session_init(struct bfd_session *s, uint32_t local_discr, const struct bfd_wish *wish,
                      uint32_t seed, uint64_t now_ns)
{
	*s = (struct bfd_session){
		.wish = *wish,
		.state = wish->shutdown ? BFD_ADMIN_DOWN : BFD_DOWN,
		.remote_state = BFD_DOWN,
		.diag = wish->shutdown ? BFD_DIAG_ADMIN_DOWN : BFD_DIAG_NONE,
		.local_discr = local_discr,
		.remote_required_rx_us = 1, /* 6.8.1 */
		.tx_us = u32_max(wish->desired_tx_us, BFD_SLOW_US),
		.jitter = seed | 1,
		.detect_ns = NEVER,
	};
	settle(s);
	send_at_once(s, now_ns);
}

unsigned bfd_session_change(struct bfd_session *s, const struct bfd_wish *wish, uint64_t now_ns)
{
	const struct bfd_wish old = s->wish;
	const uint64_t detect_ns = bfd_session_detect_ns(s);
	s->wish = *wish;
	if (wish->shutdown && s->state != BFD_ADMIN_DOWN) {
		enter(s, BFD_ADMIN_DOWN, BFD_DIAG_ADMIN_DOWN, now_ns);
		return BFD_CHANGED_STATE;
	}
	if (!wish->shutdown && s->state == BFD_ADMIN_DOWN) {
		enter(s, BFD_DOWN, BFD_DIAG_NONE, now_ns);
		return BFD_CHANGED_STATE;
	}
	advertise(s, old.required_rx_us);
	if (s->detect_ns != NEVER && bfd_session_detect_ns(s) > detect_ns)
		s->detect_ns += bfd_session_detect_ns(s) - detect_ns; /* a shorter one: with the next packet */
	if (old.desired_tx_us != wish->desired_tx_us || old.required_rx_us != wish->required_rx_us ||
	    old.detect_mult != wish->detect_mult || old.passive != wish->passive ||
	    old.cpi != wish->cpi)
		send_at_once(s, now_ns);
	return 0;
}

/* The state machine of 6.8.6 for a packet with that state. */
static void react(struct bfd_session *s, enum bfd_state received, uint64_t now_ns)
{
	if (received == BFD_ADMIN_DOWN) {
		if (s->state != BFD_DOWN)
			enter(s, BFD_DOWN, BFD_DIAG_NEIGHBOUR, now_ns);
	} else if (s->state == BFD_DOWN) {
		if (received == BFD_DOWN)
			enter(s, BFD_INIT, s->diag, now_ns);
		else if (received == BFD_INIT)
			enter(s, BFD_UP, BFD_DIAG_NONE, now_ns);
	} else if (s->state == BFD_INIT) {
		if (received != BFD_DOWN)
			enter(s, BFD_UP, BFD_DIAG_NONE, now_ns);
	} else if (received == BFD_DOWN) {
		enter(s, BFD_DOWN, BFD_DIAG_NEIGHBOUR, now_ns);
	}
}

/* Stores what the packet says of the peer; true: something of that has changed. */
static bool learn(struct bfd_session *s, const struct bfd_packet *p)
{
	const bool changed = s->remote_discr != p->my_discr || s->remote_diag != p->diag ||
	                     s->remote_mult != p->detect_mult ||
	                     s->remote_desired_tx_us != p->desired_tx_us ||
	                     s->remote_required_rx_us != p->required_rx_us ||
	                     s->remote_echo_us != p->required_echo_us ||
	                     (s->remote_flags ^ p->flags) & (BFD_CPI | BFD_DEMAND);
	s->remote_discr = p->my_discr;
	s->remote_diag = p->diag;
	s->remote_mult = p->detect_mult;
	s->remote_flags = p->flags;
	s->remote_state = p->state;
	s->remote_desired_tx_us = p->desired_tx_us;
	s->remote_required_rx_us = p->required_rx_us;
	s->remote_echo_us = p->required_echo_us;
	return changed;
}

enum counter bfd_session_receive(struct bfd_session *s, const struct bfd_packet *p, uint64_t now_ns,
                                 unsigned *changed)
{
	const uint32_t interval_us = bfd_session_interval_us(s);
	const bool silent = is_silent(s);
	const enum bfd_state before = s->state;
	*changed = learn(s, p) ? BFD_CHANGED_REMOTE : 0;
	poll_hear(s, p->flags & BFD_FINAL);
	if (bfd_session_interval_us(s) != interval_us || is_silent(s) != silent)
		place(s, now_ns);
	if (s->state == BFD_ADMIN_DOWN)
		return CNT_drop_bfd_admin;
	react(s, p->state, now_ns);
	if (s->state != before)
		*changed |= BFD_CHANGED_STATE;
	s->final |= (p->flags & BFD_POLL) != 0;
	s->detect_ns = now_ns + bfd_session_detect_ns(s);
	return CNT_delivered_bfd;
}

unsigned bfd_session_expire(struct bfd_session *s, uint64_t judged_ns, uint64_t now_ns)
{
	if (s->detect_ns > judged_ns)
		return 0;
	s->detect_ns = NEVER;
	s->remote_discr = 0;
	s->remote_required_rx_us = 1; /* 6.8.18 */
	if (s->state == BFD_INIT || s->state == BFD_UP) {
		enter(s, BFD_DOWN, BFD_DIAG_EXPIRED, now_ns);
		return BFD_CHANGED_STATE | BFD_CHANGED_REMOTE;
	}
	if (is_silent(s) || s->tx_due_ns > now_ns)
		place(s, now_ns);
	return BFD_CHANGED_REMOTE;
}

bool bfd_session_send(struct bfd_session *s, uint64_t now_ns, struct bfd_packet *out)
{
	if (!s->final && s->tx_due_ns > now_ns)
		return false;
	*out = (struct bfd_packet){
		.state = s->state,
		.diag = s->diag,
		.flags = s->wish.cpi ? BFD_CPI : 0,
		.detect_mult = s->wish.detect_mult,
		.my_discr = s->local_discr,
		.your_discr = s->remote_discr,
		.desired_tx_us = s->tx_us,
		.required_rx_us = s->wish.required_rx_us,
	};
	if (s->final) { /* 6.8.7: at once, whatever the interval; never with P */
		out->flags |= BFD_FINAL;
		s->final = false;
		return true;
	}
	if (s->poll == POLL_ACTIVE || s->poll == POLL_AGAIN) {
		out->flags |= BFD_POLL;
		s->poll_sent = true;
	} else if (s->poll == POLL_WAITS) {
		s->poll_sent = true;
	}
	s->sent_ns = now_ns;
	place(s, now_ns);
	return true;
}

uint64_t bfd_session_deadline(const struct bfd_session *s)
{
	return s->final ? 0 : u64_min(s->tx_due_ns, s->detect_ns);
}
