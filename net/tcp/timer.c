/*
 * Deadlines. A connection has up to three (enum tcp_timer) and one entry in the wheel, at or before
 * the earliest. Clearing or postponing a deadline, which happens with nearly every segment, costs
 * one store. The wheel entry stays; when it expires, the connection is added again.
 *
 *     TIMER_LIFE by state
 *     SYN-SENT, SYN-RECEIVED     none: retransmission gives up (loss.c)
 *     FIN-WAIT-2                 the peer was silent for fin_wait2_ms: give up
 *     TIME-WAIT                  time_wait_ms have passed: end
 *     others                     keep-alive (RFC 9293 3.8.4), if it is on
 */
#include "net/tcp/inside.h"

#define NO_ROOM_MS 10 /* retry interval for expired timers while the way has no room */
#define KEEPALIVE_DEFAULT_MS 7200000u /* RFC 9293 3.8.4: at least two hours */

void tcp_timer_move(struct tcp *t, struct tcp_conn *c, uint64_t tick)
{
	wheel_add(&t->wheel, conn_index(t, c), tick);
}

static uint32_t keepalive_ms(const struct tcp *t)
{
	return t->p.keepalive_ms ? t->p.keepalive_ms : KEEPALIVE_DEFAULT_MS;
}

void tcp_life_timer(struct tcp *t, struct tcp_conn *c)
{
	switch (c->state) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECEIVED:
	case TCP_TIME_WAIT:
	case TCP_CLOSED:
		break;
	default:
		if (c->state == TCP_FIN_WAIT_2 && t->p.fin_wait2_ms)
			tcp_timer_set(t, c, TIMER_LIFE, t->p.fin_wait2_ms);
		else if (c->flags & CONN_KEEPALIVE)
			tcp_timer_set(t, c, TIMER_LIFE, keepalive_ms(t));
		else
			tcp_timer_clear(c, TIMER_LIFE);
		break;
	}
}

static void give_up(struct tcp *t, struct tcp_conn *c)
{
	tcp_count_event(t, CNT_tcp_timeouts);
	tcp_send_reset(t, c);
	tcp_conn_end(t, c, E_TIMEOUT, true);
}

static void keepalive(struct tcp *t, struct tcp_conn *c)
{
	uint32_t idle = t->now_ms - c->heard_ms;
	if (idle < keepalive_ms(t)) { /* and tcp_ack has cleared probes */
		tcp_timer_set(t, c, TIMER_LIFE, keepalive_ms(t) - idle);
	} else if (c->snd_una != c->snd_nxt || c->q_first != TCP_NONE) {
		/* retransmissions or window probes already test the peer */
		tcp_timer_set(t, c, TIMER_LIFE, t->p.keepalive_interval_ms);
	} else if (c->probes >= t->p.keepalive_probes) {
		give_up(t, c);
	} else {
		/* An acknowledged sequence number, so the peer has to answer. */
		c->probes++;
		tcp_count_event(t, CNT_tcp_keepalives);
		tcp_send_empty(t, c, TCP_ACK, c->snd_nxt - 1);
		tcp_timer_set(t, c, TIMER_LIFE, t->p.keepalive_interval_ms);
	}
}

static void life(struct tcp *t, struct tcp_conn *c)
{
	uint32_t silent = t->now_ms - c->heard_ms;
	if (c->state == TCP_TIME_WAIT)
		tcp_conn_end(t, c, E_OK, false);
	else if (c->state != TCP_FIN_WAIT_2 || !t->p.fin_wait2_ms)
		keepalive(t, c);
	else if (silent >= t->p.fin_wait2_ms)
		give_up(t, c);
	else
		tcp_timer_set(t, c, TIMER_LIFE, t->p.fin_wait2_ms - silent);
}

static void run(struct tcp *t, struct tcp_conn *c, enum tcp_timer which)
{
	switch (which) {
	case TIMER_SEND:
		tcp_loss_on_timer(t, c);
		break;
	case TIMER_ACK:
		if (c->flags & CONN_ACK_DUE)
			c->flags |= CONN_ACK_NOW;
		break;
	case TIMER_LIFE:
		life(t, c);
		break;
	case TIMER_COUNT:
		break;
	}
}

/* Adds c to the wheel by the earliest of its armed timers, none of which is overdue. */
static void add_again(struct tcp *t, struct tcp_conn *c)
{
	for (unsigned which = 0; which < TIMER_COUNT; which++) {
		if (!tcp_timer_armed(c, which))
			continue;
		uint64_t tick = t->tick + (c->at_ms[which] - t->now_ms);
		if (c->wheel.tick > tick || !wheel_pending(&t->wheel, conn_index(t, c)))
			wheel_add(&t->wheel, conn_index(t, c), tick);
	}
}

void tcp_timers_resume(struct tcp *t, struct tcp_conn *c)
{
	for (unsigned which = 0; which < TIMER_COUNT; which++)
		if ((int32_t)(c->at_ms[which] - t->now_ms) < 0)
			c->at_ms[which] = t->now_ms;
	add_again(t, c);
}

/* The wheel entry of c expired: runs the timers that are due and adds c again for the others. */
static void expire(struct tcp *t, struct tcp_conn *c)
{
	/* A packet sent by a timer could not leave, and data assumed lost may still wait in our
	 * queue. */
	if (unlikely(tcp_way_full(t, c))) {
		wheel_add(&t->wheel, conn_index(t, c), t->tick + NO_ROOM_MS);
		return;
	}
	tcp_touch(t, c);
	for (unsigned which = 0; which < TIMER_COUNT && c->state != TCP_CLOSED; which++) {
		if (!tcp_timer_armed(c, which) || (int32_t)(c->at_ms[which] - t->now_ms) > 0)
			continue;
		tcp_timer_clear(c, which);
		run(t, c, which);
	}
	add_again(t, c);
}

void tcp_tick(struct tcp *t, uint64_t now_us)
{
	uint32_t index;
	tcp_set_now(t, now_us);
	t->busy = true;
	while ((index = wheel_expire(&t->wheel, t->tick)) != WHEEL_NONE)
		expire(t, &t->conns[index]);
	tcp_flush(t);
	t->busy = false;
}

uint64_t tcp_deadline(const struct tcp *t)
{
	uint64_t tick = wheel_next(&t->wheel);
	if (tick == UINT64_MAX)
		return UINT64_MAX;
	return tick <= t->tick ? t->tick_us : t->tick_us + (tick - t->tick) * 1000;
}
