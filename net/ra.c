/* See ra.h. */
#include "net/ra.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "net/nd_wire.h"

#define SECOND 1000000000ull
#define MILLISECOND 1000000ull

/* RFC 4861 10 */
#define INITIAL_NUM 3                       /* MAX_INITIAL_RTR_ADVERTISEMENTS */
#define INITIAL_INTERVAL (16 * SECOND)      /* MAX_INITIAL_RTR_ADVERT_INTERVAL */
#define MIN_DELAY (3 * SECOND)              /* MIN_DELAY_BETWEEN_RAS */
#define ANSWER_MS 500                       /* MAX_RA_DELAY_TIME */

#define RDNSS_HEAD 8
#define FRAME_MAX \
	(ND_FRAME_ICMP + ND_RA_LEN + ND_MAC_OPT_LEN + ND_MTU_OPT_LEN + \
	 RA_PREFIXES_MAX * ND_PREFIX_OPT_LEN + RDNSS_HEAD + RA_SERVERS_MAX * 16)
_Static_assert(FRAME_MAX - ETH_HLEN <= IP6_MTU_MIN, "no fragments (RFC 6980)");

static uint64_t random_ms(struct ra *ra, uint32_t below_ms)
{
	return nd_random(ra->nd, below_ms + 1) * MILLISECOND;
}

void ra_init(struct ra *ra, struct nd *nd)
{
	memset(ra, 0, sizeof *ra);
	ra->nd = nd;
}

/* --- configuration --- */

static bool prefix_is_valid(const struct ra_prefix *p)
{
	/* RFC 4861 4.6.2: a router SHOULD NOT send the link-local prefix */
	return p->plen <= 128 && p->preferred_s <= p->valid_s && ip6_is_unicast(&p->addr) &&
	       !ip6_is_link_local(&p->addr);
}

bool ra_config_is_valid(const struct ra_config *c)
{
	bool ok = c->max_interval_s >= 4 && c->max_interval_s <= 1800 && c->min_interval_s >= 3 &&
	          c->min_interval_s * 4 <= c->max_interval_s * 3;
	ok &= c->lifetime_s == 0 || (c->lifetime_s >= c->max_interval_s && c->lifetime_s <= 9000);
	ok &= c->reachable_ms <= 3600000 && (c->mtu == 0 || c->mtu >= IP6_MTU_MIN);
	ok &= c->prefixes <= RA_PREFIXES_MAX && c->servers <= RA_SERVERS_MAX;
	for (unsigned i = 0; ok && i < c->prefixes; i++)
		ok = prefix_is_valid(&c->prefix[i]);
	return ok;
}

/* --- sent advertisements --- */

static uint8_t *prefix_put(uint8_t *p, const struct ra_prefix *prefix)
{
	const struct net_addr addr = ip6_prefix_of(&prefix->addr, prefix->plen);
	p[0] = ND_OPT_PREFIX;
	p[1] = ND_PREFIX_OPT_LEN / 8;
	p[2] = prefix->plen;
	p[3] = (uint8_t)((prefix->on_link ? ND_PREFIX_ON_LINK : 0) |
	                 (prefix->autonomous ? ND_PREFIX_AUTONOMOUS : 0));
	be32_store(p + 4, prefix->valid_s);
	be32_store(p + 8, prefix->preferred_s);
	be32_store(p + 12, 0);
	net_addr_store(p + 16, &addr);
	return p + ND_PREFIX_OPT_LEN;
}

/* RFC 8106 5.1 */
static uint8_t *servers_put(uint8_t *p, const struct ra_config *c)
{
	if (c->servers == 0)
		return p;
	p[0] = ND_OPT_RDNSS;
	p[1] = (uint8_t)(1 + 2 * c->servers);
	be16_store(p + 2, 0);
	be32_store(p + 4, c->server_s);
	for (unsigned i = 0; i < c->servers; i++)
		net_addr_store(p + RDNSS_HEAD + 16 * i, &c->server[i]);
	return p + RDNSS_HEAD + 16 * c->servers;
}

/* Builds the message (4.2). Returns its length. */
static unsigned message_build(uint8_t *icmp, const struct ra_config *c, uint16_t lifetime_s,
                              const uint8_t *mac)
{
	uint8_t *p = icmp + ND_RA_LEN;
	/* RFC 4191 2.2: without a default-router lifetime the preference MUST be medium */
	unsigned preference = lifetime_s ? (unsigned)c->preference << 3 & ND_RA_PREFERENCE : 0;
	memset(icmp, 0, ND_RA_LEN);
	icmp[0] = ICMP6_ROUTER_ADVERT;
	icmp[4] = c->hop_limit;
	icmp[5] = (uint8_t)((c->managed ? ND_RA_MANAGED : 0) | (c->other ? ND_RA_OTHER : 0) |
	                    preference);
	be16_store(icmp + 6, lifetime_s);
	be32_store(icmp + 8, c->reachable_ms);
	be32_store(icmp + 12, c->retransmit_ms);
	p = nd_mac_option_put(p, ND_OPT_SOURCE_MAC, mac);
	if (c->mtu) {
		p[0] = ND_OPT_MTU;
		p[1] = ND_MTU_OPT_LEN / 8;
		be16_store(p + 2, 0);
		be32_store(p + 4, c->mtu);
		p += ND_MTU_OPT_LEN;
	}
	for (unsigned i = 0; i < c->prefixes; i++)
		p = prefix_put(p, &c->prefix[i]);
	p = servers_put(p, c);
	return (unsigned)(p - icmp);
}

/* Sends an advertisement. False: no source address yet. */
static bool advertise(struct ra *ra, unsigned interface, uint16_t lifetime_s)
{
	const struct nd *nd = ra->nd;
	uint8_t frame[FRAME_MAX], mac[ETH_ALEN];
	struct nd_envelope to = {.dst = IP6_ALL_NODES, .src_mac = mac};
	if (!nd_link_local(nd, interface, &to.src, mac))
		return false;
	unsigned len = message_build(frame + ND_FRAME_ICMP, &ra->interface[interface].config,
	                             lifetime_s, mac);
	len = nd_frame_finish(frame, &to, len);
	nd->ops->count(nd->ctx, CNT_nd_tx_router_advert, 1);
	nd->ops->tx(nd->ctx, interface, frame, len);
	return true;
}

/* Handles an interface that is due. */
static void step(struct ra *ra, unsigned interface, uint64_t now_ns)
{
	struct ra_interface *p = &ra->interface[interface];
	const struct ra_config *c = &p->config;
	uint32_t spread_ms = (c->max_interval_s - c->min_interval_s) * 1000;
	uint64_t wait = c->min_interval_s * SECOND + random_ms(ra, spread_ms);
	if (p->initial_left > 1 && wait > INITIAL_INTERVAL) /* RFC 4861 6.2.4 */
		wait = INITIAL_INTERVAL;
	/* the state changes before the op is called; a failed attempt is repeated */
	const struct ra_interface was = *p;
	p->at = now_ns + wait;
	p->last = now_ns;
	p->sent = true;
	if (p->initial_left)
		p->initial_left--;
	if (!advertise(ra, interface, c->lifetime_s)) {
		*p = was;
		p->at = now_ns + SECOND;
	}
}

/* --- public: setup --- */

static void begin(struct ra *ra, unsigned interface, uint64_t now_ns)
{
	struct ra_interface *p = &ra->interface[interface];
	uint64_t at = now_ns + random_ms(ra, ANSWER_MS);
	if (p->sent && at < p->last + MIN_DELAY)
		at = p->last + MIN_DELAY;
	p->initial_left = INITIAL_NUM;
	p->at = at;
}

int ra_start(struct ra *ra, unsigned interface, const struct ra_config *config, uint64_t now_ns)
{
	if (interface >= ND_INTERFACES_MAX || !ra_config_is_valid(config))
		return E_INVAL;
	struct ra_interface *p = &ra->interface[interface];
	int e = p->on ? E_OK : nd_join(ra->nd, interface, &IP6_ALL_ROUTERS, now_ns);
	if (e != E_OK)
		return e;
	p->config = *config;
	p->on = true;
	begin(ra, interface, now_ns);
	return E_OK;
}

void ra_stop(struct ra *ra, unsigned interface, uint64_t now_ns)
{
	assert(interface < ND_INTERFACES_MAX);
	if (!ra->interface[interface].on)
		return;
	ra->interface[interface].on = false;
	ra->interface[interface].last = now_ns;
	nd_leave(ra->nd, interface, &IP6_ALL_ROUTERS, now_ns);
	advertise(ra, interface, 0);
}

void ra_link_up(struct ra *ra, unsigned interface, uint64_t now_ns)
{
	assert(interface < ND_INTERFACES_MAX);
	if (ra->interface[interface].on)
		begin(ra, interface, now_ns);
}

/* --- received messages --- */

/* RFC 4861 6.2.6 */
static enum counter solicit_input(struct ra *ra, unsigned interface, const struct net_addr *src,
                                  const struct nd_options *options, uint64_t now_ns)
{
	struct ra_interface *p = &ra->interface[interface];
	if (net_addr_is_any(src) && options->source_mac) /* 6.1.1 */
		return CNT_drop_nd_malformed;
	if (!p->on)
		return CNT_drop_nd_router;
	if (!net_addr_is_any(src))
		nd_learn(ra->nd, interface, src, options->source_mac, false, now_ns);
	uint64_t delay = random_ms(ra, ANSWER_MS), at = now_ns + delay;
	if (p->sent && at < p->last + MIN_DELAY)
		at = p->last + MIN_DELAY + delay;
	if (at < p->at)
		p->at = at;
	return CNT_delivered_nd;
}

static bool differ(uint32_t ours, uint32_t theirs)
{
	return ours && theirs && ours != theirs;
}

/* True if the option has one of our prefixes with other lifetimes. */
static bool prefix_differs(const struct ra_config *c, const uint8_t *option)
{
	struct net_addr addr = net_addr_load(option + 16);
	for (unsigned i = 0; i < c->prefixes; i++) {
		const struct ra_prefix *p = &c->prefix[i];
		if (p->plen == option[2] && ip6_in_prefix(&addr, &p->addr, p->plen))
			return p->valid_s != be32_load(option + 4) ||
			       p->preferred_s != be32_load(option + 8);
	}
	return false;
}

/* RFC 4861 6.2.7: values that routers of a link should agree on. 0 is unspecified. */
static bool contradicts(const struct ra_config *c, const uint8_t *icmp,
                        const struct nd_options *options)
{
	uint8_t ours = (uint8_t)((c->managed ? ND_RA_MANAGED : 0) | (c->other ? ND_RA_OTHER : 0));
	bool odd = ours != (icmp[5] & (ND_RA_MANAGED | ND_RA_OTHER));
	odd |= differ(c->hop_limit, icmp[4]);
	odd |= differ(c->reachable_ms, be32_load(icmp + 8));
	odd |= differ(c->retransmit_ms, be32_load(icmp + 12));
	if (options->mtu)
		odd |= differ(c->mtu, be32_load(options->mtu + 4));
	for (unsigned i = 0; i < options->prefixes; i++)
		odd |= prefix_differs(c, options->prefix[i]);
	return odd;
}

static enum counter advert_input(struct ra *ra, unsigned interface, const struct net_addr *src,
                                 const struct icmp6_msg *m, const struct nd_options *options,
                                 uint64_t now_ns)
{
	const struct ra_interface *p = &ra->interface[interface];
	const struct nd *nd = ra->nd;
	if (!ip6_is_link_local(src)) /* 6.1.2 */
		return CNT_drop_nd_malformed;
	if (p->on && contradicts(&p->config, m->icmp, options))
		nd->ops->count(nd->ctx, CNT_nd_router_inconsistent, 1);
	nd_learn(ra->nd, interface, src, options->source_mac, true, now_ns);
	return CNT_delivered_nd;
}

enum counter ra_input(struct ra *ra, unsigned interface, const uint8_t *frame,
                      const struct ip6_upper *up, const struct icmp6_msg *m, uint64_t now_ns)
{
	assert(interface < ND_INTERFACES_MAX);
	const uint8_t *ip = frame + ETH_HLEN;
	bool solicit = m->type == ICMP6_ROUTER_SOLICIT;
	struct nd_options options;
	struct net_addr src = ip6_src(ip);
	enum counter bad = nd_check(ip, up, m, solicit ? ND_RS_LEN : ND_RA_LEN, &options);
	if (bad != CNT_NONE)
		return bad;
	if (nd_is_local(ra->nd, interface, &src) ||
	    (options.source_mac && !eth_is_station(options.source_mac)))
		return CNT_drop_nd_bad_sender;
	if (solicit)
		return solicit_input(ra, interface, &src, &options, now_ns);
	if (m->type == ICMP6_ROUTER_ADVERT)
		return advert_input(ra, interface, &src, m, &options, now_ns);
	return CNT_drop_icmp6_type;
}

/* --- time --- */

uint64_t ra_tick(struct ra *ra, uint64_t now_ns)
{
	for (unsigned interface = 0; interface < ND_INTERFACES_MAX; interface++)
		if (ra->interface[interface].on && ra->interface[interface].at <= now_ns)
			step(ra, interface, now_ns);
	return ra_deadline(ra);
}

uint64_t ra_deadline(const struct ra *ra)
{
	uint64_t next = UINT64_MAX;
	for (unsigned interface = 0; interface < ND_INTERFACES_MAX; interface++)
		if (ra->interface[interface].on && ra->interface[interface].at < next)
			next = ra->interface[interface].at;
	return next;
}
