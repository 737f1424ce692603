/* See client4.h. */
#include "net/dhcp/client4.h"

#include "lib/bytes.h"
#include "lib/divide.h"
#include "lib/mem.h"
#include "net/ip4.h"

#define SECOND 1000000000ull
#define RETRY_FIRST_S 4u /* RFC 2131 4.1 */
#define RETRY_MAX_S 64u
#define REQUESTS_MAX 4   /* in REQUESTING, */
#define REBOOTS_MAX 2    /* and in REBOOTING: another network may have no server that answers */
#define T1_FUZZ 16       /* T1 is up to this part of it earlier */
#define RENEW_RETRY_MIN_NS (60 * SECOND) /* RFC 2131 4.4.5 */
#define DECLINE_WAIT_NS (10 * SECOND)    /* RFC 2131 3.1, step 5: at least */
#define DECLINED_MAX 6                   /* from here on backoff() does not grow */
#define PROBES 3                         /* PROBE_NUM, RFC 5227 1.1; the others likewise */
#define PROBE_WAIT_NS SECOND
#define PROBE_MIN_NS SECOND
#define PROBE_MAX_NS (2 * SECOND)
#define ANNOUNCE_WAIT_NS (2 * SECOND)

/* --- messages --- */

static uint64_t random_below(struct dhcp_client *c, uint64_t ns)
{
	return (uint64_t)c->ops->random(c->ctx) * ns >> 32;
}

/* Begins a message with the options that all of ours have. ciaddr: 0 unless the address is installed. */
static void begin(struct dhcp_client *c, struct dhcp4_build *b, uint8_t *message, enum dhcp4_type type, uint32_t ciaddr,
                  uint64_t now_ns)
{
	uint8_t id[7] = {DHCP4_ETHERNET};
	const uint64_t secs = divide(now_ns - c->began_ns, SECOND);
	memcpy(id + 1, c->mac, 6);
	dhcp4_begin(b, message, DHCP4_REQUEST, type, c->xid, c->mac);
	if (c->state != DHCP_REQUESTING) /* RFC 2131 3.1, step 3: there it is that of the DISCOVER */
		c->secs = (uint16_t)(secs < 0xffff ? secs : 0xffff);
	be16_store(message + DHCP4_SECS, c->secs);
	be32_store(message + DHCP4_CIADDR, ciaddr);
	dhcp4_put(b, DHCP4_OPT_CLIENT, id, sizeof id); /* RFC 2132 9.14 */
}

static void put_wishes(struct dhcp_client *c, struct dhcp4_build *b)
{
	/* RFC 3442: classless routes stand before routers */
	static const uint8_t wanted[] = {DHCP4_OPT_MASK, DHCP4_OPT_ROUTES, DHCP4_OPT_ROUTER, DHCP4_OPT_DNS, DHCP4_OPT_DOMAIN,
	                                 DHCP4_OPT_NTP, DHCP4_OPT_LEASE, DHCP4_OPT_T1, DHCP4_OPT_T2};
	uint8_t size[2];
	unsigned n = 0;
	be16_store(size, DHCP4_BYTES_MAX);
	dhcp4_put(b, DHCP4_OPT_PARAMETERS, wanted, sizeof wanted);
	dhcp4_put(b, DHCP4_OPT_SIZE, size, sizeof size);
	while (c->hostname[n])
		n++;
	if (n)
		dhcp4_put(b, DHCP4_OPT_HOSTNAME, c->hostname, n);
}

/* A message that is answered. RFC 2131 4.1: without an address the client cannot receive what is sent to one. */
static void ask_broadcast(struct dhcp4_build *b) { be16_store(b->at + DHCP4_FLAGS, DHCP4_BROADCAST); }

static void finish(struct dhcp_client *c, struct dhcp4_build *b, uint32_t src, uint32_t dst)
{
	const unsigned n = dhcp4_end(b);
	c->counts.sent++;
	c->ops->send(c->ctx, src, dst, b->at, n);
}

static void send_discover(struct dhcp_client *c, uint64_t now_ns)
{
	uint8_t message[DHCP4_BYTES_MAX];
	struct dhcp4_build b;
	begin(c, &b, message, DHCP4_DISCOVER, 0, now_ns);
	if (c->lease.addr) /* RFC 2131 4.4.1: the address that it had */
		dhcp4_put_u32(&b, DHCP4_OPT_ADDRESS, c->lease.addr);
	put_wishes(c, &b);
	ask_broadcast(&b);
	finish(c, &b, 0, IP4_BROADCAST);
}

/* RFC 2131 4.3.6, table 4: what a REQUEST names depends on the state. */
static void send_request(struct dhcp_client *c, uint64_t now_ns)
{
	uint8_t message[DHCP4_BYTES_MAX];
	struct dhcp4_build b;
	const bool named = c->state == DHCP_REQUESTING || c->state == DHCP_REBOOTING;
	const uint32_t own = named ? 0 : c->lease.addr;
	begin(c, &b, message, DHCP4_DHCPREQUEST, own, now_ns);
	if (named)
		dhcp4_put_u32(&b, DHCP4_OPT_ADDRESS, c->lease.addr);
	if (c->state == DHCP_REQUESTING)
		dhcp4_put_u32(&b, DHCP4_OPT_SERVER, c->lease.server);
	put_wishes(c, &b);
	if (named)
		ask_broadcast(&b);
	c->sent_ns = now_ns;
	finish(c, &b, own, c->state == DHCP_RENEWING ? c->lease.server : IP4_BROADCAST);
}

/* A DECLINE or a RELEASE (RFC 2131 4.4.4, 4.4.6). */
static void send_refusal(struct dhcp_client *c, enum dhcp4_type type, uint64_t now_ns)
{
	uint8_t message[DHCP4_BYTES_MAX];
	struct dhcp4_build b;
	const uint32_t own = type == DHCP4_RELEASE ? c->lease.addr : 0;
	c->xid = c->ops->random(c->ctx);
	begin(c, &b, message, type, own, now_ns);
	be16_store(message + DHCP4_SECS, 0);
	if (type == DHCP4_DECLINE)
		dhcp4_put_u32(&b, DHCP4_OPT_ADDRESS, c->lease.addr);
	dhcp4_put_u32(&b, DHCP4_OPT_SERVER, c->lease.server);
	finish(c, &b, own, own ? c->lease.server : IP4_BROADCAST);
}

/* --- states --- */

/* The wait before the next message of an exchange: 4 s, 8 s, ... 64 s, each plus or minus up to 1 s (RFC 2131 4.1). */
static uint64_t backoff(struct dhcp_client *c, unsigned tries)
{
	uint64_t s = RETRY_FIRST_S;
	for (unsigned i = 1; i < tries && s < RETRY_MAX_S; i++)
		s *= 2;
	return (s - 1) * SECOND + random_below(c, 2 * SECOND);
}

static void enter(struct dhcp_client *c, enum dhcp_client_state state, uint64_t due_ns)
{
	c->state = state;
	c->tries = 0;
	c->due_ns = due_ns;
}

/* Begins an exchange of messages. */
static void exchange(struct dhcp_client *c, enum dhcp_client_state state, uint64_t now_ns)
{
	c->xid = c->ops->random(c->ctx);
	c->began_ns = now_ns;
	enter(c, state, now_ns);
}

/* The address is not ours any more. */
static void uninstall(struct dhcp_client *c, const char *why)
{
	if (c->installed)
		c->ops->unbound(c->ctx, why);
	c->installed = false;
}

/* Begins anew, with another address. The wait grows, so that a server that answers with NAK is not asked
 * without end. */
static void fail(struct dhcp_client *c, const char *why, uint64_t now_ns)
{
	const uint64_t wait = c->failures == 0 ? SECOND : backoff(c, c->failures);
	c->failures += c->failures < 8;
	uninstall(c, why);
	c->lease.addr = 0;
	enter(c, DHCP_INIT, now_ns + wait);
}

/* When to send the next request in RENEWING or REBINDING, whose time ends then: half of the time left, at least
 * 60 s. */
static uint64_t half_to(uint64_t end_ns, uint64_t now_ns)
{
	const uint64_t half = end_ns > now_ns ? (end_ns - now_ns) / 2 : 0;
	const uint64_t wait = half > RENEW_RETRY_MIN_NS ? half : RENEW_RETRY_MIN_NS;
	return end_ns < now_ns + wait ? end_ns : now_ns + wait;
}

static uint64_t after(const struct dhcp_lease *l, uint32_t s)
{
	return s == DHCP_LEASE_FOREVER ? UINT64_MAX : l->since_ns + s * SECOND;
}

/* The address cannot be used: another station has it, or the machine refuses it. */
static void decline(struct dhcp_client *c, uint64_t now_ns)
{
	const uint64_t wait = backoff(c, ++c->declined);
	c->counts.declines++;
	c->declined -= c->declined == DECLINED_MAX;
	uninstall(c, "it cannot be used");
	send_refusal(c, DHCP4_DECLINE, now_ns);
	c->lease.addr = 0;
	enter(c, DHCP_INIT, now_ns + (wait > DECLINE_WAIT_NS ? wait : DECLINE_WAIT_NS));
}

/* The address may be used. */
static void bind(struct dhcp_client *c, uint64_t now_ns)
{
	if (!c->ops->bound(c->ctx, &c->lease)) {
		decline(c, now_ns);
		return;
	}
	c->installed = true;
	c->failures = c->declined = 0;
	enter(c, DHCP_BOUND, after(&c->lease, c->lease.t1_s));
}

static void expired(struct dhcp_client *c, uint64_t now_ns)
{
	c->counts.timeouts++;
	uninstall(c, "the lease has ended");
	enter(c, DHCP_INIT, now_ns);
}

/* --- replies --- */

/* RFC 6842 3: a client identifier in a reply is ours. */
static bool is_for_us(const struct dhcp_client *c, const uint8_t *message, const struct dhcp4_options *o)
{
	uint8_t id[8];
	const int n = dhcp4_option(o, DHCP4_OPT_CLIENT, id, sizeof id);
	if (n != E_NOENT && (n != 7 || id[0] != DHCP4_ETHERNET || memcmp(id + 1, c->mac, 6) != 0))
		return false;
	return be32_load(message + DHCP4_XID) == c->xid && memcmp(message + DHCP4_CHADDR, c->mac, 6) == 0;
}

static bool awaits_ack(const struct dhcp_client *c)
{
	return c->state == DHCP_REQUESTING || c->state == DHCP_REBOOTING || c->state == DHCP_RENEWING ||
	       c->state == DHCP_REBINDING;
}

static enum counter offered(struct dhcp_client *c, const struct dhcp_lease *l, uint64_t now_ns)
{
	if (c->state != DHCP_SELECTING)
		return CNT_drop_dhcp_unwanted;
	c->lease = *l;
	enter(c, DHCP_REQUESTING, now_ns);
	return CNT_delivered_dhcp;
}

static enum counter acknowledged(struct dhcp_client *c, const struct dhcp_lease *l, uint64_t now_ns)
{
	/* an extended lease is of the same address; so is that of a server that has offered it */
	if (!awaits_ack(c) || l->addr != c->lease.addr ||
	    (c->state == DHCP_REQUESTING && l->server != c->lease.server))
		return CNT_drop_dhcp_unwanted;
	const bool moved = c->installed && l->plen != c->lease.plen;
	if (moved)
		uninstall(c, "its subnet has changed");
	c->lease = *l;
	c->lease.since_ns = c->sent_ns;
	if (l->t1_s != DHCP_LEASE_FOREVER) /* RFC 2131 4.4.5: clients that start together do not renew together */
		c->lease.t1_s -= (uint32_t)random_below(c, l->t1_s / T1_FUZZ);
	if (c->installed)
		bind(c, now_ns);
	else
		enter(c, DHCP_PROBING, now_ns + random_below(c, PROBE_WAIT_NS));
	return CNT_delivered_dhcp;
}

static enum counter refused(struct dhcp_client *c, const struct dhcp4_options *o, uint64_t now_ns)
{
	uint32_t server;
	if (!awaits_ack(c) || (dhcp4_option_u32(o, DHCP4_OPT_SERVER, &server) && c->state == DHCP_REQUESTING &&
	                       server != c->lease.server))
		return CNT_drop_dhcp_unwanted;
	c->counts.naks++;
	fail(c, "a server has refused it", now_ns);
	return CNT_delivered_dhcp;
}

enum counter dhcp_client_input(struct dhcp_client *c, const uint8_t *message, unsigned len, uint64_t now_ns)
{
	struct dhcp4_options o;
	struct dhcp_lease lease;
	const enum counter bad = dhcp4_options(message, len, &o);
	enum counter fate;
	if (bad != CNT_NONE)
		return bad;
	if (message[DHCP4_OP] != DHCP4_REPLY || !is_for_us(c, message, &o))
		return CNT_drop_dhcp_unwanted;
	const enum dhcp4_type type = dhcp4_type(&o);
	if (type == DHCP4_NAK) {
		fate = refused(c, &o, now_ns);
	} else {
		if (type != DHCP4_OFFER && type != DHCP4_ACK)
			return CNT_drop_dhcp_unwanted;
		if (!dhcp_lease_read(message, &o, &lease))
			return CNT_drop_dhcp_malformed;
		fate = type == DHCP4_OFFER ? offered(c, &lease, now_ns) : acknowledged(c, &lease, now_ns);
	}
	c->counts.received += fate == CNT_delivered_dhcp;
	return fate;
}

/* RFC 5227 2.1.1: somebody has the address, or probes for it too. While it is in use ARP defends it (net/arp.h). */
void dhcp_client_arp(struct dhcp_client *c, uint32_t sender, uint32_t target, const uint8_t *mac, uint64_t now_ns)
{
	const bool other = memcmp(mac, c->mac, 6) != 0;
	if (c->state == DHCP_PROBING && other &&
	    (sender == c->lease.addr || (sender == 0 && target == c->lease.addr)))
		decline(c, now_ns);
}

/* --- deadlines --- */

static void tick_requesting(struct dhcp_client *c, uint64_t now_ns)
{
	const bool kept = c->state == DHCP_REBOOTING && c->installed && dhcp_lease_end_ns(&c->lease) > now_ns;
	if (c->tries < (c->state == DHCP_REBOOTING ? REBOOTS_MAX : REQUESTS_MAX)) {
		send_request(c, now_ns);
		c->due_ns = now_ns + backoff(c, ++c->tries);
	} else if (kept) { /* RFC 2131 3.2: nobody has objected */
		const uint64_t t1 = after(&c->lease, c->lease.t1_s);
		enter(c, DHCP_BOUND, t1 > now_ns ? t1 : now_ns);
	} else if (c->state == DHCP_REBOOTING) { /* a server may start later than we: it is told the address */
		uninstall(c, "the lease has ended");
		enter(c, DHCP_INIT, now_ns);
	} else {
		fail(c, "no server answers", now_ns);
	}
}

static void tick_probing(struct dhcp_client *c, uint64_t now_ns)
{
	if (c->tries == PROBES) {
		bind(c, now_ns);
		return;
	}
	c->ops->probe(c->ctx, c->lease.addr);
	c->tries++;
	c->due_ns = now_ns + (c->tries == PROBES ? ANNOUNCE_WAIT_NS
	                                         : PROBE_MIN_NS + random_below(c, PROBE_MAX_NS - PROBE_MIN_NS));
}

/* In RENEWING and REBINDING. */
static void tick_extending(struct dhcp_client *c, uint64_t now_ns)
{
	const uint64_t t2 = after(&c->lease, c->lease.t2_s), end = dhcp_lease_end_ns(&c->lease);
	if (now_ns >= end) {
		expired(c, now_ns);
		return;
	}
	if (c->state == DHCP_RENEWING && now_ns >= t2)
		enter(c, DHCP_REBINDING, now_ns);
	send_request(c, now_ns);
	c->due_ns = half_to(c->state == DHCP_RENEWING ? t2 : end, now_ns);
}

static void due(struct dhcp_client *c, uint64_t now_ns)
{
	switch (c->state) {
	case DHCP_INIT:
		exchange(c, DHCP_SELECTING, now_ns);
		break;
	case DHCP_SELECTING:
		send_discover(c, now_ns);
		c->due_ns = now_ns + backoff(c, ++c->tries);
		break;
	case DHCP_REQUESTING:
	case DHCP_REBOOTING:
		tick_requesting(c, now_ns);
		break;
	case DHCP_PROBING:
		tick_probing(c, now_ns);
		break;
	case DHCP_BOUND:
		exchange(c, DHCP_RENEWING, now_ns);
		break;
	case DHCP_RENEWING:
	case DHCP_REBINDING:
		tick_extending(c, now_ns);
		break;
	case DHCP_OFF:
	case DHCP_CLIENT_STATES:
	default:
		c->due_ns = UINT64_MAX;
		break;
	}
}

uint64_t dhcp_client_tick(struct dhcp_client *c, uint64_t now_ns)
{
	while (c->due_ns <= now_ns)
		due(c, now_ns);
	return c->due_ns;
}

uint64_t dhcp_client_tick_down(struct dhcp_client *c, uint64_t now_ns)
{
	if (c->installed && dhcp_lease_end_ns(&c->lease) <= now_ns)
		expired(c, now_ns);
	return c->installed ? dhcp_lease_end_ns(&c->lease) : UINT64_MAX;
}

/* --- the caller's events --- */

void dhcp_client_init(struct dhcp_client *c, const struct dhcp_client_ops *ops, void *ctx, const uint8_t *mac,
                      const char *hostname)
{
	*c = (struct dhcp_client){.ops = ops, .ctx = ctx, .due_ns = UINT64_MAX};
	memcpy(c->mac, mac, 6);
	for (unsigned i = 0; hostname && hostname[i] && i < DHCP_HOSTNAME_SIZE - 1; i++)
		c->hostname[i] = hostname[i];
}

void dhcp_client_start(struct dhcp_client *c, uint32_t address, uint64_t now_ns)
{
	c->lease = (struct dhcp_lease){.addr = address};
	c->failures = 0;
	if (address)
		exchange(c, DHCP_REBOOTING, now_ns);
	else
		enter(c, DHCP_INIT, now_ns);
}

/* Values that another program wrote: those that dhcp_lease_read could have made. */
static bool is_possible(const struct dhcp_lease *l, uint64_t now_ns)
{
	for (unsigned i = 0; i < l->routes && i < DHCP_LEASE_ROUTES; i++)
		if (l->route[i].plen > 32 || l->route[i].prefix & ~ip4_prefix_mask(l->route[i].plen) ||
		    !ip4_in_prefix(l->route[i].via, l->addr, l->plen))
			return false;
	if (l->domain[0] && !dhcp_lease_has_domain(l))
		return false;
	return l->plen > 0 && l->plen <= 32 && !ip4_src_is_martian(l->addr) && ip4_is_subnet_host(l->addr, l->plen) &&
	       l->routes <= DHCP_LEASE_ROUTES && l->dns_count <= DHCP_LEASE_SERVERS && l->ntp_count <= DHCP_LEASE_SERVERS &&
	       l->since_ns <= now_ns && dhcp_lease_end_ns(l) > now_ns;
}

bool dhcp_client_resume(struct dhcp_client *c, const struct dhcp_lease *lease, uint64_t now_ns)
{
	if (!is_possible(lease, now_ns)) {
		dhcp_client_start(c, 0, now_ns);
		return false;
	}
	c->lease = *lease;
	bind(c, now_ns);
	return c->installed;
}

void dhcp_client_release(struct dhcp_client *c, uint64_t now_ns)
{
	if (c->installed)
		send_refusal(c, DHCP4_RELEASE, now_ns);
	uninstall(c, "it was given back");
	enter(c, DHCP_OFF, UINT64_MAX);
}

void dhcp_client_renew(struct dhcp_client *c, uint64_t now_ns)
{
	if (c->state == DHCP_OFF)
		return;
	if (c->installed)
		exchange(c, DHCP_RENEWING, now_ns);
	else
		enter(c, DHCP_INIT, now_ns);
}

void dhcp_client_link_up(struct dhcp_client *c, uint64_t now_ns)
{
	(void)dhcp_client_tick_down(c, now_ns);
	if (c->installed)
		exchange(c, DHCP_REBOOTING, now_ns);
	else if (c->state != DHCP_OFF && c->state != DHCP_REBOOTING)
		enter(c, DHCP_INIT, now_ns);
}

const char *dhcp_client_state_name(enum dhcp_client_state state)
{
	static const char *const name[DHCP_CLIENT_STATES] = {
		[DHCP_OFF] = "off", [DHCP_INIT] = "init", [DHCP_SELECTING] = "selecting", [DHCP_REQUESTING] = "requesting",
		[DHCP_PROBING] = "probing", [DHCP_REBOOTING] = "rebooting", [DHCP_BOUND] = "bound",
		[DHCP_RENEWING] = "renewing", [DHCP_REBINDING] = "rebinding"};
	return name[state];
}
