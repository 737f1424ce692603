/* The Periodic Transmission and Transmit machines (IEEE 802.1AX-2014 6.4.13, figure 6-19; 6.4.16), and the
 * Marker responder (6.5.4.2). */
#include "net/lacp/inside.h"

#define MARKERS_MAX 10 /* in a second: what a slow protocol may send (IEEE 802.3 57A.2) */

void lacp_transmit_begin(struct lacp_port *p)
{
	p->periodicRuns = p->NTT = false;
	p->periodic = LACP_NEVER;
}

bool lacp_periodic_run(const struct lacp *l, struct lacp_port *p)
{
	const bool runs = p->port_enabled && p->LACP_Enabled &&
	                  (end_has(&p->actor, LACP_ACTIVITY) || end_has(&p->partner, LACP_ACTIVITY));
	const bool fast = end_has(&p->partner, LACP_TIMEOUT);
	if (!runs) { /* NO_PERIODIC */
		p->periodicRuns = false;
		p->periodic = LACP_NEVER;
		return false;
	}
	const bool begins = !p->periodicRuns;
	const bool hurries = !begins && fast && !p->periodicFast, slows = !begins && !fast && p->periodicFast;
	const bool due = timer_expired(l, &p->periodic);
	p->periodicRuns = true;
	if (!begins && !hurries && !slows && !due)
		return false;
	/* PERIODIC_TX; also at the beginning, so that the partner need not wait for the first second */
	p->NTT |= begins || hurries || due;
	p->periodicFast = fast;
	p->periodic = l->now_ns + (fast ? FAST_PERIODIC_TIME : SLOW_PERIODIC_TIME);
	return true;
}

uint64_t lacp_transmit_allowed(const struct lacp_port *p)
{
	return p->sent_ns[0] ? p->sent_ns[0] + FAST_PERIODIC_TIME : 0;
}

void lacp_transmit_run(struct lacp *l, struct lacp_port *p)
{
	uint8_t frame[LACP_FRAME_LEN];
	/* 6.4.16: NTT of a port whose machines may not send is cleared */
	if (!p->periodicRuns)
		p->NTT = false;
	if (!p->NTT || lacp_transmit_allowed(p) > l->now_ns)
		return;
	p->NTT = false;
	for (unsigned i = 0; i + 1 < LACP_TX_MAX; i++)
		p->sent_ns[i] = p->sent_ns[i + 1];
	p->sent_ns[LACP_TX_MAX - 1] = u64_max(l->now_ns, 1);
	p->counters.tx_lacp++;
	lacp_pdu_write(frame, p->params.mac, &p->actor, &p->partner);
	l->ops->send(l->ctx, p->number, frame, false);
}

bool lacp_transmit_marker(struct lacp *l, struct lacp_port *p, const uint8_t *marker)
{
	uint8_t frame[LACP_FRAME_LEN];
	if (l->now_ns - p->markers_ns >= LACP_SECOND) {
		p->markers_ns = l->now_ns;
		p->markers = 0;
	}
	if (p->markers == MARKERS_MAX)
		return false;
	p->markers++;
	p->counters.tx_marker++;
	lacp_marker_answer(frame, p->params.mac, marker);
	l->ops->send(l->ctx, p->number, frame, true);
	return true;
}
