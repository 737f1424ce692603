/*
 * Time stamps (7.9, 8.2.3.26): a clock, SYSTIM, and for each direction a latch that keeps the time
 * of one frame.
 *
 *     empty --a frame to be stamped passes the MAC--> full --RXSTMPH or TXSTMPH is read--> empty
 *
 * While a latch is full, further frames pass without a stamp. Sent frames are stamped if their
 * descriptor says so (the 1588 bit), received frames if they are PTP event messages (IEEE 1588) of
 * the kind that TSYNCRXCTL.Type and RXMTRL select.
 *
 * SYSTIM grows by TIMINCA.IV every TIMINCA.IP ticks of 6.4 ns (at 10 GbE). A frame's send time is
 * when the model passes it to the wire; its receive time is when, according to the wire, its end
 * arrived.
 *
 * Deliberately missing: TIMADJ, target times and their output pins (TSAUXC), transmit time stamps
 * of looped-back frames.
 */
#include "tools/nicsim/82599/state.h"

#include <string.h>

#include "tools/nicsim/packet/bytes.h"

#define TICKS 5 /* ticks of the clock ... */
#define TICKS_NS 32 /* ... in this many ns */
#define PTP_VERSION 2
#define PTP_BYTES 34 /* header, IEEE 1588-2008 13.3 */
#define PTP_V1_CONTROL 32 /* offset, IEEE 1588-2002 */
#define PTP_EVENTS 8 /* event messages have a messageType below this */
#define ETH_TYPE_IP4 0x0800
#define ETH_TYPE_IP6 0x86dd
#define ETH_TYPE_PTP 0x88f7

void timesync_reset(struct model *m)
{
	own_of(m)->timesync = (struct timesync){.since = m->now};
}

/* --- the clock --- */

static uint64_t clock_at(const struct model *m, uint64_t ns)
{
	const struct timesync *t = &own_of(m)->timesync;
	uint32_t period = get(m, TIMINCA) >> 24;
	if (period == 0 || ns < t->since)
		return t->base;
	uint64_t ticks = (ns - t->since) * TICKS / TICKS_NS;
	return t->base + ticks / period * (get(m, TIMINCA) & 0xffffff);
}

static void clock_set(struct model *m, uint64_t value)
{
	struct timesync *t = &own_of(m)->timesync;
	t->base = value;
	t->since = m->now;
}

static uint32_t clock_read(struct model *m, uint32_t at)
{
	struct timesync *t = &own_of(m)->timesync;
	if (at == SYSTIM) { /* LINUX: reads the low half first and expects the matching high half */
		t->latched = clock_at(m, m->now);
		t->has_latched = true;
		return (uint32_t)t->latched;
	}
	if (!t->has_latched)
		model_violation(m, "SYSTIMH read before SYSTIML");
	t->has_latched = false;
	return (uint32_t)(t->latched >> 32);
}

/* --- stamps --- */

/* Stores a time in an empty latch. */
static bool keep(struct model *m, uint32_t control, uint32_t low, uint32_t high, uint64_t ns)
{
	if (get(m, control) & TSYNC_VALID)
		return false;
	if (m->faults && model_fault_strikes(m, FAULT_STAMP_LOST))
		return false;
	uint64_t stamp = clock_at(m, ns);
	set(m, low, (uint32_t)stamp);
	set(m, high, (uint32_t)(stamp >> 32));
	set(m, control, get(m, control) | TSYNC_VALID);
	return true;
}

void timesync_sent(struct model *m, unsigned queue)
{
	if (!(get(m, TSYNCTXCTL) & TSYNC_EN))
		model_violation(m, "transmit queue %u: 1588 bit while TSYNCTXCTL.EN is clear", queue);
	else
		keep(m, TSYNCTXCTL, TXSTMPL, TXSTMPL + 4, m->now);
}

/* The offset of the PTP message; 0: none on the transport that Type selects. */
static uint32_t message_at(const struct model *m, const uint8_t *frame, uint32_t bytes, bool l2,
                           bool l4)
{
	struct headers h;
	headers_parse(frame, bytes, &h);
	uint32_t at = h.tagged ? 16 : 12;
	if (l2 && be16(frame + at) == ETH_TYPE_PTP)
		for (unsigned i = 0; i < 8; i++)
			if ((get(m, ETQF + 4 * i) & (ETQF_ETYPE | ETQF_1588 | ETQF_EN)) ==
			    (ETH_TYPE_PTP | ETQF_1588 | ETQF_EN))
				return at + 2;
	if (l4 && h.l4 && h.protocol == IP_UDP && be16(frame + h.l4 + 2) == get(m, RXMTRL) >> 16)
		return h.l4 + 8u;
	return 0;
}

/* Messages 2 and 3, which measure the path delay, are always stamped. LINUX says so. */
static bool wanted_v2(const struct model *m, uint32_t type, uint32_t message)
{
	return type == RX_V2_EVENTS ? message < PTP_EVENTS
	                            : message == (get(m, RXMTRL) >> 8 & 15) || message == 2 ||
	                                      message == 3;
}

bool timesync_may_want(const struct model *m, const uint8_t *frame, uint32_t type)
{
	const uint32_t port = get(m, RXMTRL) >> 16;
	if (type == ETH_TYPE_IP4)
		return frame[14] != 0x45 || (frame[23] == IP_UDP && be16(frame + 36) == port);
	if (type == ETH_TYPE_IP6)
		return frame[20] != IP_TCP && (frame[20] != IP_UDP || be16(frame + 56) == port);
	return type == ETH_TYPE_PTP;
}

bool timesync_received(struct model *m, const uint8_t *frame, uint32_t bytes, uint64_t at)
{
	const uint32_t control = get(m, TSYNCRXCTL), type = control >> 1 & 7;
	if (!(control & TSYNC_EN))
		return false;
	uint32_t ptp = message_at(m, frame, bytes, type != RX_V1_L4, type != RX_V2_L2);
	if (ptp == 0 || ptp + PTP_BYTES > bytes)
		return false;
	const uint8_t *p = frame + ptp;
	if (type == RX_V1_L4 ? p[PTP_V1_CONTROL] != (get(m, RXMTRL) & 0xff)
	                     : (p[1] & 15) != PTP_VERSION || !wanted_v2(m, type, p[0] & 15))
		return false;
	if (!keep(m, TSYNCRXCTL, RXSTMPL, RXSTMPH, at ? at : m->now))
		return false;
	/* 8.2.3.26.4, 5: six bytes of the source, then the sequence number, in the order of the
	 * frame. libmoon has the sequence number in that order. */
	uint32_t source[2];
	memcpy(source, p + 22, 4);
	memcpy(&source[1], p + 26, 2);
	memcpy((uint8_t *)&source[1] + 2, p + 30, 2);
	set(m, RXSATRL, source[0]);
	set(m, RXSATRH, source[1]);
	return true;
}

/* --- registers --- */

/* Reading the high half empties the latch; the low half of an empty latch is undefined. */
static uint32_t stamp_read(struct model *m, uint32_t at, uint32_t control, bool high)
{
	if (high)
		set(m, control, get(m, control) & ~(uint32_t)TSYNC_VALID);
	else if (!(get(m, control) & TSYNC_VALID))
		model_violation(m, "%s read while %s.%s is clear", at == RXSTMPL ? "RXSTMPL" : "TXSTMPL",
		                at == RXSTMPL ? "TSYNCRXCTL" : "TSYNCTXCTL",
		                at == RXSTMPL ? "RXTT" : "TXTT");
	return get(m, at);
}

bool timesync_read(struct model *m, uint32_t at, uint32_t *value)
{
	switch (at) {
	case SYSTIM:
	case SYSTIM + 4:
		*value = clock_read(m, at);
		return true;
	case RXSTMPL:
	case RXSTMPH:
		*value = stamp_read(m, at, TSYNCRXCTL, at == RXSTMPH);
		return true;
	case TXSTMPL:
	case TXSTMPL + 4:
		*value = stamp_read(m, at, TSYNCTXCTL, at != TXSTMPL);
		return true;
	}
	return false;
}

/* Only the card changes the bit that says that a stamp is valid. */
static void write_control(struct model *m, uint32_t at, uint32_t value)
{
	set(m, at, (value & ~(uint32_t)TSYNC_VALID) | (get(m, at) & TSYNC_VALID));
}

bool timesync_write(struct model *m, uint32_t at, uint32_t value)
{
	uint64_t now = clock_at(m, m->now);
	uint32_t type = value >> 1 & 7;
	switch (at) {
	case SYSTIM:
		clock_set(m, (now & ~0xffffffffull) | value);
		return true;
	case SYSTIM + 4:
		clock_set(m, (now & 0xffffffff) | (uint64_t)value << 32);
		return true;
	case TIMINCA: /* the new rate applies from now on */
		clock_set(m, now);
		set(m, at, value);
		return true;
	case TSYNCRXCTL:
		if (value & TSYNC_EN && type > RX_V2_BOTH && type != RX_V2_EVENTS)
			model_violation(m, "TSYNCRXCTL = 0x%08x: Type %u is reserved", value, type);
		write_control(m, at, value);
		return true;
	case TSYNCTXCTL:
		write_control(m, at, value);
		return true;
	}
	return false;
}
