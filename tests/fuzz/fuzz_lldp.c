/*
 * net/lldp: an agent of two ports with a clock. Instructions follow each other, each an octet (operation
 * in the low 3 bits, port in the next) and arguments:
 *     0, 1  a frame of raw octets to our group address: length of two octets, octets
 *     2     an LLDPDU of a neighbour: which one, time to live in units of 10 s
 *     3     time passes, in units of 100 ms, in one step; 4: by deadlines
 *     5     the link of the port changes
 *     6     transmission and reception of the port
 *     7     what the port announces changes, or the parameters
 * After each the invariants of lldp.h must hold. A frame that is taken must read back as it is kept.
 */
#include "tests/fuzz/input.h"

#include "net/lldp/lldp.h"

#define PORTS 2u
#define TENTH (LLDP_SECOND_NS / 10)

static struct lldp agent;
static struct lldp_neighbour table[PORTS * LLDP_EACH];
static uint64_t now, aged;
static unsigned sent[PORTS]; /* since `since`, without shutdowns */
static uint64_t since[PORTS];
static const uint8_t mac[ETH_ALEN] = {2, 0, 0, 0, 0, 9};

static void on_describe(void *ctx, unsigned port, struct lldp_pdu *out)
{
	(void)ctx;
	assert(port < PORTS);
	out->chassis = (struct lldp_id){LLDP_CHASSIS_MAC, {mac, sizeof mac}};
	out->port = (struct lldp_id){LLDP_PORT_INTERFACE, {(const uint8_t *)"eth0", 4}};
	out->system_name = (struct lldp_string){(const uint8_t *)"fuzz", 4};
}

static void on_send(void *ctx, unsigned port, uint8_t *frame, unsigned len)
{
	struct lldp_pdu pdu;
	(void)ctx;
	assert(port < PORTS && agent.port[port].link_up && len >= ETH_FRAME_MIN);
	assert(lldp_pdu_read(frame + ETH_HLEN, len - ETH_HLEN, &pdu) == CNT_NONE && pdu.discarded == 0);
	sent[port] += pdu.ttl_s != 0;
	assert(sent[port] <= LLDP_CREDIT + (now - since[port]) / LLDP_SECOND_NS + 1);
}

static const struct lldp_ops ops = {on_describe, on_send};

static void check(void)
{
	for (unsigned port = 0; port < PORTS; port++) {
		const struct lldp_port *p = &agent.port[port];
		assert(!p->on || (p->link_up && p->transmit));
		assert(p->credit <= LLDP_CREDIT && p->fast <= LLDP_FAST);
		for (unsigned i = 0; i < LLDP_EACH; i++) {
			const struct lldp_neighbour *n = lldp_neighbour(&agent, port, i);
			struct lldp_pdu pdu;
			if (n == NULL)
				continue;
			assert(p->receive && n->expires_ns >= agent.expires_ns);
			assert(lldp_pdu_read(n->pdu, n->len, &pdu) == CNT_NONE && pdu.ttl_s);
			assert(pdu.len == n->len && pdu.identity == n->identity);
			for (unsigned k = 0; k < i; k++) {
				const struct lldp_neighbour *other = lldp_neighbour(&agent, port, k);
				assert(!other || other->identity != n->identity ||
				       memcmp(other->pdu, n->pdu, n->identity) != 0);
			}
		}
	}
}

static void hear_octets(struct input *in, unsigned port)
{
	const size_t want = take16(in) % LLDP_FRAME_MAX, n = want < in->n ? want : in->n;
	uint8_t *frame = malloc(ETH_HLEN + n);
	eth_header_build(frame, lldp_nearest_bridge, mac, LLDP_ETH_TYPE);
	memcpy(frame + ETH_HLEN, in->p, n);
	in->p += n;
	in->n -= n;
	struct lldp_pdu pdu, again;
	static uint8_t written[LLDP_PDU_MAX];
	const enum counter read = lldp_pdu_read(frame + ETH_HLEN, (unsigned)n, &pdu);
	if (read == CNT_NONE && pdu.ttl_s) {
		const unsigned len = lldp_pdu_write(written, &pdu);
		assert(lldp_pdu_read(written, len, &again) == CNT_NONE && again.discarded == 0);
		assert(again.addresses <= pdu.addresses && again.identity == pdu.identity);
	}
	const enum counter fate = lldp_input(&agent, port, frame, ETH_HLEN + (unsigned)n, now);
	assert(read == CNT_NONE || fate == read || fate == CNT_drop_lldp_off);
	free(frame);
}

static void hear_neighbour(struct input *in, unsigned port)
{
	uint8_t frame[LLDP_FRAME_MAX];
	const uint8_t who = take8(in);
	const struct lldp_pdu pdu = {
		.chassis = {LLDP_CHASSIS_LOCAL, {&who, 1}},
		.port = {LLDP_PORT_MAC, {mac, sizeof mac}},
		.ttl_s = (uint16_t)(take8(in) * 10),
	};
	eth_header_build(frame, lldp_nearest_bridge, mac, LLDP_ETH_TYPE);
	const unsigned len = ETH_HLEN + lldp_pdu_write(frame + ETH_HLEN, &pdu);
	lldp_input(&agent, port, frame, len, now);
}

static void wait(struct input *in, bool each)
{
	const uint64_t end = now + take8(in) * TENTH;
	while (each && lldp_deadline(&agent) <= end) {
		now = lldp_deadline(&agent);
		lldp_tick(&agent, now, &aged);
		assert(lldp_deadline(&agent) > now);
		check();
	}
	now = end;
	lldp_tick(&agent, now, &aged);
	assert(lldp_deadline(&agent) > now);
}

/* The port may begin anew, with all its credit. */
static void restart(unsigned port)
{
	sent[port] = 0;
	since[port] = now;
}

static void step(struct input *in)
{
	const uint8_t op = take8(in), how = (op & 7) >= 5 ? take8(in) : 0;
	const unsigned port = op >> 3 & 1;
	switch (op & 7) {
	case 2:
		hear_neighbour(in, port);
		break;
	case 3:
	case 4:
		wait(in, (op & 7) == 4);
		break;
	case 5:
		restart(port);
		lldp_port_link(&agent, port, how & 1, now);
		break;
	case 6:
		restart(port);
		lldp_port_admin(&agent, port, how & 1, how & 2, now);
		break;
	case 7:
		if (how & 1)
			lldp_port_changed(&agent, port, now);
		else
			lldp_set_params(&agent, &(struct lldp_params){(uint16_t)(1 + how), 65535}, now);
		break;
	default:
		hear_octets(in, port);
	}
	check();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	now = 10 * TENTH;
	lldp_init(&agent, table, PORTS, &LLDP_PARAMS_DEFAULT, &ops, NULL);
	memset(sent, 0, sizeof sent);
	since[0] = since[1] = now;
	while (in.n)
		step(&in);
	return 0;
}
