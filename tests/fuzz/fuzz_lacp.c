/*
 * net/lacp: a system of four ports with a clock. Instructions, each an octet (operation in the low 3 bits,
 * port in the next 2) and arguments:
 *     0, 1  a LACPDU: ends of few values each, so that comparisons come out both ways
 *     2     a frame of raw octets: length, octets
 *     3     time passes, in units of 100 ms
 *     4     the link of the port changes
 *     5     parameters of the port
 *     6     least number of links of a group, or the system's priority
 *     7     the last frame sent by the port comes back, or reaches another port
 * After each the invariants of lacp.h must hold.
 */
#include "tests/fuzz/input.h"

#include "net/lacp/lacp.h"

#define PORTS 4u
#define TENTH 100000000ull

static struct lacp system_;
static uint64_t now;
static struct { bool collecting, distributing; } told[PORTS];
static uint8_t sent[PORTS][LACP_FRAME_LEN];
static uint64_t times[PORTS][LACP_TX_MAX];

static void on_send(void *ctx, unsigned port, const uint8_t *frame, bool marker)
{
	struct lacp_pdu pdu;
	(void)ctx;
	assert(port < PORTS && system_.port[port].port_enabled && system_.port[port].LACP_Enabled);
	assert(lacp_pdu_read(frame, LACP_FRAME_LEN, &pdu) == CNT_NONE);
	assert(marker == (pdu.kind == LACP_KIND_MARKER_RESPONSE));
	memcpy(sent[port], frame, LACP_FRAME_LEN);
	if (marker)
		return;
	/* a PDU never says less than what is so */
	assert((pdu.actor.state & LACP_COLLECTING) || !told[port].collecting);
	assert((pdu.actor.state & LACP_DISTRIBUTING) || !told[port].distributing);
	assert(times[port][0] == 0 || now - times[port][0] >= 10 * TENTH);
	times[port][0] = times[port][1];
	times[port][1] = times[port][2];
	times[port][2] = now;
}

static void on_state(void *ctx, unsigned port, bool collecting, bool distributing)
{
	(void)ctx;
	assert(port < PORTS && (collecting || !distributing));
	assert(told[port].collecting != collecting || told[port].distributing != distributing);
	told[port].collecting = collecting;
	told[port].distributing = distributing;
}

static const struct lacp_ops ops = {on_send, on_state};

static void check(void)
{
	for (unsigned i = 0; i < PORTS; i++) {
		struct lacp_port_status a, b;
		lacp_port_status(&system_, i, &a);
		assert((a.mux >= LACP_MUX_COLLECTING) == told[i].collecting);
		assert((a.mux == LACP_MUX_DISTRIBUTING) == told[i].distributing);
		assert(a.selected != LACP_SELECTED || (a.enabled && a.group && !a.looped));
		assert(!told[i].distributing || (a.selected == LACP_SELECTED && a.enabled));
		for (unsigned k = 0; k < i; k++) {
			lacp_port_status(&system_, k, &b);
			if (a.group != b.group || a.selected == LACP_UNSELECTED || b.selected == LACP_UNSELECTED)
				continue;
			/* of one LAG */
			assert((a.mode == LACP_ON) == (b.mode == LACP_ON));
			assert(a.mode == LACP_ON || (!a.individual && !b.individual && a.partner.key == b.partner.key &&
			                             eth_equal(a.partner.system, b.partner.system)));
		}
	}
	assert(lacp_deadline(&system_) > now);
}

static struct lacp_end end_of(uint8_t choice, uint8_t state, unsigned port)
{
	struct lacp_end e = {.system_priority = LACP_PRIORITY_DEFAULT, .key = (uint16_t)(1 + (choice & 1)),
	                     .port_priority = LACP_PRIORITY_DEFAULT, .port = (uint16_t)(1 + port + (choice >> 1 & 1)),
	                     .system = {2, 0, 0, 0, 0, (uint8_t)(3 + (choice >> 2 & 3))}, .state = state};
	return choice & 16 ? system_.port[port].actor : choice & 32 ? system_.port[port].partner : e;
}

static void hear_pdu(struct input *in, unsigned port)
{
	uint8_t frame[LACP_FRAME_LEN];
	static const uint8_t mac[ETH_ALEN] = {2, 0, 0, 0, 0, 9};
	const uint8_t a = take8(in), state = take8(in), b = take8(in), other = take8(in);
	struct lacp_end actor = end_of(a, state, port), partner = end_of(b, other, port);
	actor.state = state;
	if (eth_is_zero(actor.system))
		actor.system[0] = 2;
	lacp_pdu_write(frame, mac, &actor, &partner);
	frame[15] = (uint8_t)(1 + (a >> 7));
	lacp_input(&system_, port, frame, sizeof frame, now);
}

static void hear_octets(struct input *in, unsigned port)
{
	const size_t n = take8(in) % 140;
	const unsigned have = (unsigned)(n < in->n ? n : in->n);
	uint8_t *frame = exactly(in->p, have);
	in->p += have;
	in->n -= have;
	lacp_input(&system_, port, frame, have, now);
	free(frame);
}

static void wait(struct input *in)
{
	const uint64_t end = now + take8(in) * TENTH;
	while (lacp_deadline(&system_) <= end) {
		now = lacp_deadline(&system_);
		lacp_tick(&system_, now);
		check();
	}
	now = end;
}

static void set_params(struct input *in, unsigned port)
{
	const uint8_t how = take8(in);
	const struct lacp_port_params p = {.group = how & 3, .mode = (how >> 2 & 3) % 3, .fast = how & 16,
	                                   .priority = (uint16_t)(how >> 5), .mac = {2, 0, 0, 0, 1, (uint8_t)port}};
	lacp_port_set_params(&system_, port, &p, now);
}

static void step(struct input *in)
{
	const uint8_t op = take8(in), how = (op & 7) == 4 || (op & 7) == 6 ? take8(in) : 0;
	const unsigned port = op >> 3 & 3;
	switch (op & 7) {
	case 2:
		hear_octets(in, port);
		break;
	case 3:
		wait(in);
		break;
	case 4:
		lacp_port_link(&system_, port, how & 1, !(how & 2), now);
		break;
	case 5:
		set_params(in, port);
		break;
	case 6:
		if (how & 1)
			lacp_set_min_links(&system_, 1 + (how >> 1 & 1), how >> 2 & 7, now);
		else
			lacp_set_priority(&system_, how, now);
		break;
	case 7:
		lacp_input(&system_, op >> 5 & 3, sent[port], LACP_FRAME_LEN, now);
		break;
	default:
		hear_pdu(in, port);
	}
	check();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t mac[ETH_ALEN] = {2, 0, 0, 0, 0, 3};
	struct input in = {data, size};
	now = 10 * TENTH;
	memset(sent, 0, sizeof sent);
	memset(told, 0, sizeof told);
	memset(times, 0, sizeof times);
	lacp_init(&system_, mac, LACP_PRIORITY_DEFAULT, PORTS, &ops, NULL, now);
	check();
	while (in.n)
		step(&in);
	return 0;
}
