/* See lldp.h. */
#include "net/lldp/lldp.h"

#include "lib/assert.h"
#include "lib/number.h"

const uint8_t lldp_nearest_bridge[ETH_ALEN] = {0x01, 0x80, 0xc2, 0, 0, 0x0e};

static struct lldp_neighbour *places(const struct lldp *l, unsigned port)
{
	return l->table + (size_t)port * LLDP_EACH;
}

/* --- transmission --- */

static void send(struct lldp *l, unsigned n, uint16_t ttl_s)
{
	struct lldp_pdu pdu = {0};
	l->ops->describe(l->ctx, n, &pdu);
	pdu.ttl_s = ttl_s;
	memset(l->frame, 0, ETH_HLEN);
	eth_copy(l->frame, lldp_nearest_bridge);
	be16_store(l->frame + 12, LLDP_ETH_TYPE);
	const unsigned len = ETH_HLEN + lldp_pdu_write(l->frame + ETH_HLEN, &pdu);
	l->ops->send(l->ctx, n, l->frame, eth_pad(l->frame, len));
}

/* txAddCredit: one for each second, up to LLDP_CREDIT. */
static void add_credit(struct lldp_port *p, uint64_t now_ns)
{
	while (p->credit < LLDP_CREDIT && now_ns - p->credit_ns >= LLDP_SECOND_NS) {
		p->credit++;
		p->credit_ns += LLDP_SECOND_NS;
	}
	if (p->credit == LLDP_CREDIT)
		p->credit_ns = now_ns;
}

/* TX_INFO_FRAME (9.2.8), if there is credit. */
static void send_pending(struct lldp *l, unsigned n, uint64_t now_ns)
{
	struct lldp_port *p = &l->port[n];
	add_credit(p, now_ns);
	if (!p->on || !p->pending || p->credit == 0)
		return;
	p->pending = false;
	p->credit--;
	p->counters.tx++;
	send(l, n, l->params.ttl_s);
}

/* SIGNAL_TX (9.2.10). */
static void signal(struct lldp *l, unsigned n, uint64_t now_ns)
{
	struct lldp_port *p = &l->port[n];
	p->pending = true;
	p->due_ns = now_ns + (p->fast ? LLDP_INTERVAL_FAST_S : l->params.interval_s) * LLDP_SECOND_NS;
	send_pending(l, n, now_ns);
}

/* TX_TIMER_EXPIRES. */
static void timer_expires(struct lldp *l, unsigned n, uint64_t now_ns)
{
	struct lldp_port *p = &l->port[n];
	p->fast = (uint8_t)(p->fast - (p->fast > 0));
	signal(l, n, now_ns);
}

/* TX_FAST_START. */
static void fast_start(struct lldp *l, unsigned n, uint64_t now_ns)
{
	struct lldp_port *p = &l->port[n];
	if (!p->on)
		return;
	p->fast = p->fast ? p->fast : LLDP_FAST;
	timer_expires(l, n, now_ns);
}

/* TX_LLDP_INITIALIZE and TX_TIMER_INITIALIZE: nothing is sent until the port begins again. */
static void transmit_off(struct lldp_port *p)
{
	p->on = p->pending = false;
	p->fast = 0;
}

static bool may_begin(const struct lldp_port *p)
{
	return !p->on && p->transmit && p->link_up;
}

static void begin(struct lldp *l, unsigned n, uint64_t now_ns)
{
	struct lldp_port *p = &l->port[n];
	if (!may_begin(p) || now_ns < p->idle_until_ns)
		return;
	p->on = true;
	p->credit = LLDP_CREDIT;
	p->credit_ns = now_ns;
	timer_expires(l, n, now_ns);
}

/* TX_SHUTDOWN_FRAME: neighbours forget us at once. */
static void shut_down(struct lldp *l, unsigned n, uint64_t now_ns)
{
	struct lldp_port *p = &l->port[n];
	if (!p->on)
		return;
	transmit_off(p);
	p->idle_until_ns = now_ns + LLDP_REINIT_S * LLDP_SECOND_NS;
	p->counters.tx_shutdown++;
	send(l, n, 0);
}

/* --- reception --- */

static void find_expiry(struct lldp *l)
{
	l->expires_ns = UINT64_MAX;
	for (unsigned i = 0; i < l->ports * LLDP_EACH; i++)
		if (l->table[i].expires_ns)
			l->expires_ns = u64_min(l->expires_ns, l->table[i].expires_ns);
}

/* rxInitializeLLDP (9.2.7.6). */
static void forget(struct lldp *l, unsigned n)
{
	for (unsigned i = 0; i < LLDP_EACH; i++)
		places(l, n)[i].expires_ns = 0;
	find_expiry(l);
}

/* The neighbour of that identity; NULL: none. The TLVs of both identifiers stand at the beginning with
 * their lengths, so equal octets are equal identifiers. */
static struct lldp_neighbour *find(const struct lldp *l, unsigned n, const uint8_t *pdu,
                                   unsigned identity)
{
	for (unsigned i = 0; i < LLDP_EACH; i++) {
		struct lldp_neighbour *b = &places(l, n)[i];
		if (b->expires_ns && b->identity == identity && memcmp(b->pdu, pdu, identity) == 0)
			return b;
	}
	return NULL;
}

static struct lldp_neighbour *find_free(const struct lldp *l, unsigned n)
{
	for (unsigned i = 0; i < LLDP_EACH; i++)
		if (places(l, n)[i].expires_ns == 0)
			return &places(l, n)[i];
	return NULL;
}

/* A valid LLDPDU of `len` octets that is no shutdown. */
static enum counter keep(struct lldp *l, unsigned n, const uint8_t *frame, unsigned len,
                         const struct lldp_pdu *pdu, uint64_t now_ns)
{
	const uint8_t *octets = frame + ETH_HLEN;
	struct lldp_neighbour *known = find(l, n, octets, pdu->identity);
	struct lldp_neighbour *b = known ? known : find_free(l, n);
	if (b == NULL) {
		l->port[n].counters.rx_refused++;
		return CNT_drop_lldp_room;
	}
	b->since_ns = known ? b->since_ns : now_ns;
	b->heard_ns = now_ns;
	b->expires_ns = now_ns + pdu->ttl_s * LLDP_SECOND_NS;
	eth_copy(b->source, frame + ETH_ALEN);
	b->identity = pdu->identity;
	b->len = (uint16_t)len;
	memcpy(b->pdu, octets, len);
	find_expiry(l);
	if (known == NULL)
		fast_start(l, n, now_ns);
	return CNT_delivered_lldp;
}

static enum counter receive(struct lldp *l, unsigned n, const uint8_t *frame, unsigned len,
                            uint64_t now_ns)
{
	if (!l->port[n].receive || !l->port[n].link_up)
		return CNT_drop_lldp_off;
	if (!eth_equal(frame, lldp_nearest_bridge))
		return CNT_drop_lldp_scope;
	if (len - ETH_HLEN > LLDP_PDU_MAX)
		return CNT_drop_lldp_length;
	struct lldp_pdu pdu;
	const enum counter bad = lldp_pdu_read(frame + ETH_HLEN, len - ETH_HLEN, &pdu);
	if (bad != CNT_NONE)
		return bad;
	l->port[n].counters.rx_tlvs_discarded += pdu.discarded;
	l->port[n].counters.rx_tlvs_unknown += pdu.unknown;
	if (pdu.ttl_s)
		return keep(l, n, frame, pdu.len, &pdu, now_ns);
	struct lldp_neighbour *gone = find(l, n, frame + ETH_HLEN, pdu.identity);
	if (gone) {
		gone->expires_ns = 0;
		find_expiry(l);
	}
	return CNT_delivered_lldp;
}

/* DELETE_AGED_INFO (9.2.9). Returns how many. */
static unsigned expire(struct lldp *l, uint64_t now_ns)
{
	unsigned aged = 0;
	for (unsigned i = 0; i < l->ports * LLDP_EACH; i++) {
		struct lldp_neighbour *b = &l->table[i];
		if (b->expires_ns == 0 || b->expires_ns > now_ns)
			continue;
		b->expires_ns = 0;
		l->port[i / LLDP_EACH].counters.rx_aged++;
		aged++;
	}
	find_expiry(l);
	return aged;
}

/* --- public --- */

void lldp_init(struct lldp *l, struct lldp_neighbour *table, unsigned ports,
               const struct lldp_params *params, const struct lldp_ops *ops, void *ctx)
{
	assert(ports <= LLDP_PORTS_MAX && params->interval_s && params->ttl_s);
	memset(l, 0, sizeof *l);
	memset(table, 0, lldp_table_bytes(ports));
	l->params = *params;
	l->ops = ops;
	l->ctx = ctx;
	l->ports = ports;
	l->table = table;
	l->expires_ns = UINT64_MAX;
}

void lldp_set_params(struct lldp *l, const struct lldp_params *params, uint64_t now_ns)
{
	assert(params->interval_s && params->ttl_s);
	l->params = *params;
	const uint64_t latest = now_ns + params->interval_s * LLDP_SECOND_NS;
	for (unsigned n = 0; n < l->ports; n++)
		if (l->port[n].on && l->port[n].due_ns > latest)
			l->port[n].due_ns = latest;
}

void lldp_port_admin(struct lldp *l, unsigned port, bool transmit, bool receive, uint64_t now_ns)
{
	assert(port < l->ports);
	struct lldp_port *p = &l->port[port];
	if (p->receive && !receive)
		forget(l, port);
	p->receive = receive;
	p->transmit = transmit;
	if (transmit)
		begin(l, port, now_ns);
	else
		shut_down(l, port, now_ns);
}

void lldp_port_link(struct lldp *l, unsigned port, bool up, uint64_t now_ns)
{
	assert(port < l->ports);
	struct lldp_port *p = &l->port[port];
	if (p->link_up == up)
		return;
	p->link_up = up;
	if (!up) {
		transmit_off(p);
		return;
	}
	forget(l, port);
	begin(l, port, now_ns);
}

void lldp_port_changed(struct lldp *l, unsigned port, uint64_t now_ns)
{
	assert(port < l->ports);
	if (l->port[port].on)
		signal(l, port, now_ns);
}

enum counter lldp_input(struct lldp *l, unsigned port, const uint8_t *frame, unsigned len,
                        uint64_t now_ns)
{
	assert(port < l->ports && len >= ETH_HLEN);
	const enum counter fate = receive(l, port, frame, len, now_ns);
	l->port[port].counters.rx++;
	l->port[port].counters.rx_dropped += fate != CNT_delivered_lldp;
	return fate;
}

void lldp_tick(struct lldp *l, uint64_t now_ns, uint64_t *aged)
{
	if (now_ns >= l->expires_ns)
		*aged += expire(l, now_ns);
	for (unsigned n = 0; n < l->ports; n++) {
		struct lldp_port *p = &l->port[n];
		if (!p->on)
			begin(l, n, now_ns);
		else if (now_ns >= p->due_ns)
			timer_expires(l, n, now_ns);
		else
			send_pending(l, n, now_ns);
	}
}

static uint64_t port_deadline(const struct lldp_port *p)
{
	if (!p->on)
		return may_begin(p) ? p->idle_until_ns : UINT64_MAX;
	const uint64_t credit = p->pending ? p->credit_ns + LLDP_SECOND_NS : UINT64_MAX;
	return u64_min(credit, p->due_ns);
}

uint64_t lldp_deadline(const struct lldp *l)
{
	uint64_t first = l->expires_ns;
	for (unsigned n = 0; n < l->ports; n++)
		first = u64_min(first, port_deadline(&l->port[n]));
	return first;
}

const struct lldp_neighbour *lldp_neighbour(const struct lldp *l, unsigned port, unsigned i)
{
	assert(port < l->ports && i < LLDP_EACH);
	const struct lldp_neighbour *b = &places(l, port)[i];
	return b->expires_ns ? b : NULL;
}

unsigned lldp_neighbours(const struct lldp *l, unsigned port)
{
	unsigned count = 0;
	for (unsigned i = 0; i < LLDP_EACH; i++)
		count += lldp_neighbour(l, port, i) != NULL;
	return count;
}

void lldp_clear_neighbours(struct lldp *l)
{
	for (unsigned n = 0; n < l->ports; n++)
		forget(l, n);
}

void lldp_clear_counters(struct lldp *l)
{
	for (unsigned n = 0; n < l->ports; n++)
		l->port[n].counters = (struct lldp_port_counters){0};
}
