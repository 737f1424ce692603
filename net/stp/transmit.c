/*
 * Port Transmit (IEEE 802.1D-2004 17.26).
 *
 *   state  condition                                                      next
 *   any    BEGIN, or !portEnabled (as in 802.1Q-2022)                     TRANSMIT_INIT, IDLE
 *   IDLE   helloWhen == 0                                                 TRANSMIT_PERIODIC, IDLE
 *          newInfo && txCount < TxHoldCount && helloWhen != 0, and
 *            sendRSTP                                                     TRANSMIT_RSTP, IDLE
 *            !sendRSTP && DesignatedPort                                  TRANSMIT_CONFIG, IDLE
 *            !sendRSTP && RootPort                                        TRANSMIT_TCN, IDLE
 *
 * Transitions from IDLE need selected && !updtInfo. Every way ends in IDLE, so no state is stored.
 */
#include "net/stp/inside.h"

static void ptx_idle(struct stp_port *p)
{
	p->helloWhen = HelloTime(p);
}

void transmit_begin(struct stp_port *p)
{
	p->newInfo = true;
	p->txCount = 0;
	ptx_idle(p);
}

static enum stp_bpdu_role encoded_role(enum stp_role role)
{
	switch (role) {
	case STP_ROLE_ROOT:
		return STP_BPDU_ROLE_ROOT;
	case STP_ROLE_DESIGNATED:
		return STP_BPDU_ROLE_DESIGNATED;
	case STP_ROLE_ALTERNATE:
	case STP_ROLE_BACKUP:
		return STP_BPDU_ROLE_ALTERNATE;
	default:
		return STP_BPDU_ROLE_UNKNOWN;
	}
}

/* txConfig, txRstp, txTcn (17.21.19 to 17.21.21). stp_bpdu_write leaves out what the type does not have. */
static void transmit(struct stp *b, struct stp_port *p, enum stp_bpdu_type type)
{
	uint8_t frame[STP_FRAME_LEN];
	const struct stp_bpdu message = {
		.type = type,
		.role = encoded_role(p->role),
		.tc = p->tcWhile != 0,
		.tcAck = p->tcAck,
		.proposal = p->proposing,
		.learning = p->learning,
		.forwarding = p->forwarding,
		.agreement = p->agree,
		.priority = p->designatedPriority,
		.times = p->designatedTimes,
	};
	stp_bpdu_write(frame, p->params.mac, &message);
	p->newInfo = false;
	p->txCount++;
	if (type != STP_BPDU_TCN)
		p->tcAck = false;
	p->counters.tx_config += type == STP_BPDU_CONFIG;
	p->counters.tx_rst += type == STP_BPDU_RST;
	p->counters.tx_tcn += type == STP_BPDU_TCN;
	ptx_idle(p);
	b->ops->send(b->ctx, p->number, frame);
}

static void ptx_transmit_periodic(struct stp_port *p)
{
	p->newInfo |= p->role == STP_ROLE_DESIGNATED ||
	              (p->role == STP_ROLE_ROOT && p->tcWhile != 0);
	ptx_idle(p);
}

void transmit_run(struct stp *b, struct stp_port *p)
{
	if (!p->portEnabled) {
		transmit_begin(p);
		return;
	}
	if (!p->selected || p->updtInfo)
		return;
	if (p->helloWhen == 0)
		ptx_transmit_periodic(p);
	if (!p->newInfo || p->txCount >= b->params.tx_hold)
		return;
	if (p->sendRSTP)
		transmit(b, p, STP_BPDU_RST);
	else if (p->role == STP_ROLE_DESIGNATED)
		transmit(b, p, STP_BPDU_CONFIG);
	else if (p->role == STP_ROLE_ROOT)
		transmit(b, p, STP_BPDU_TCN);
}
