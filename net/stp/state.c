/*
 * Port State Transition (IEEE 802.1D-2004 17.30): has the data path do what `learn` and `forward` ask.
 *
 *   state       condition   next
 *   any         BEGIN       DISCARDING
 *   DISCARDING  learn       LEARNING
 *   LEARNING    !learn      DISCARDING
 *               forward     FORWARDING
 *   FORWARDING  !forward    DISCARDING
 */
#include "net/stp/inside.h"

/* 17.21.3 to 17.21.6, disableLearning() to enableForwarding(), then what the state sets. */
static void pst_enter(struct stp *b, struct stp_port *p, enum stp_state state)
{
	b->ops->state(b->ctx, p->number, state);
	p->portState = state;
	p->learning = state != STP_DISCARDING;
	p->forwarding = state == STP_FORWARDING;
	p->counters.forwarded += p->forwarding;
}

void state_begin(struct stp *b, struct stp_port *p)
{
	pst_enter(b, p, STP_DISCARDING);
}

static bool state_step(struct stp *b, struct stp_port *p)
{
	switch (p->portState) {
	case STP_DISCARDING:
		if (!p->learn)
			return false;
		pst_enter(b, p, STP_LEARNING);
		return true;
	case STP_LEARNING:
		if (p->learn && !p->forward)
			return false;
		pst_enter(b, p, p->learn ? STP_FORWARDING : STP_DISCARDING);
		return true;
	default: /* STP_FORWARDING */
		if (p->forward)
			return false;
		pst_enter(b, p, STP_DISCARDING);
		return true;
	}
}

bool state_run(struct stp *b, struct stp_port *p)
{
	bool moved = false;
	while (state_step(b, p))
		moved = true;
	return moved;
}
