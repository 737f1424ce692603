/* See slaac.h. */
#include "net/slaac.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/nd_wire.h"

#define SECOND 1000000000ull
#define MILLISECOND 1000000ull
#define TWO_HOURS (7200 * SECOND)

/* RFC 7559 2: begins as RFC 4861 10, with growing intervals */
#define SOLICIT_DELAY_MS 1000            /* MAX_RTR_SOLICITATION_DELAY */
#define SOLICIT_FIRST (4 * SECOND)       /* IRT */
#define SOLICIT_SLOWEST (3600 * SECOND)  /* MRT */

/* Limits for times set by a router. */
#define REACHABLE_MIN_MS 1000u
#define REACHABLE_MAX_MS 3600000u /* RFC 4861 4.2, 6.2.1 */
#define RETRANSMIT_MIN_MS 100u
#define RETRANSMIT_MAX_MS 30000u

void slaac_init(struct slaac *s, struct nd *nd, const struct slaac_ops *ops, void *ctx)
{
	memset(s, 0, sizeof *s);
	s->nd = nd;
	s->ops = ops;
	s->ctx = ctx;
	s->changes_seen = nd_router_changes(nd);
}

/* Converts a lifetime in seconds into a time; all ones mean infinity (RFC 4861 4.6.2). */
static uint64_t until(uint64_t now_ns, uint32_t seconds)
{
	return seconds == UINT32_MAX ? SLAAC_FOREVER : now_ns + seconds * SECOND;
}

static void refused(struct slaac *s)
{
	s->nd->ops->count(s->nd->ctx, CNT_nd_router_refused, 1);
}

/* --- solicitations --- */

static void solicit_begin(struct slaac *s, unsigned interface, uint64_t now_ns)
{
	struct slaac_interface *p = &s->interface[interface];
	p->soliciting = true;
	p->interval_ns = SOLICIT_FIRST;
	p->solicit_at = now_ns + nd_random(s->nd, SOLICIT_DELAY_MS + 1) * MILLISECOND;
}

/* RFC 4861 6.3.7: from the link-local address or, while there is none, unspecified and without our
 * MAC (4.1). */
static void solicit_send(struct slaac *s, unsigned interface)
{
	const struct nd *nd = s->nd;
	uint8_t frame[ND_FRAME_ICMP + ND_RS_LEN + ND_MAC_OPT_LEN] = {0};
	uint8_t mac[ETH_ALEN];
	uint8_t *icmp = frame + ND_FRAME_ICMP, *p = icmp + ND_RS_LEN;
	struct nd_envelope to = {.dst = IP6_ALL_ROUTERS, .src_mac = mac};
	eth_copy(mac, s->interface[interface].mac);
	icmp[0] = ICMP6_ROUTER_SOLICIT;
	if (nd_link_local(nd, interface, &to.src, mac))
		p = nd_mac_option_put(p, ND_OPT_SOURCE_MAC, mac);
	else
		to.src = NET_ADDR_ANY;
	unsigned len = nd_frame_finish(frame, &to, (unsigned)(p - icmp));
	nd->ops->count(nd->ctx, CNT_nd_tx_router_solicit, 1);
	nd->ops->tx(nd->ctx, interface, frame, len);
}

/* RFC 7559 2.1, by RFC 8415 15: each interval is about twice the last, times 0.9 to 1.1. */
static void solicit_step(struct slaac *s, unsigned interface, uint64_t now_ns)
{
	struct slaac_interface *p = &s->interface[interface];
	uint64_t tenth = (p->interval_ns >> 10) * 102;
	uint64_t wait = p->interval_ns - tenth + (tenth >> 9) * nd_random(s->nd, 1024);
	p->solicit_at = now_ns + wait;
	p->interval_ns = p->interval_ns * 2 < SOLICIT_SLOWEST ? p->interval_ns * 2 : SOLICIT_SLOWEST;
	solicit_send(s, interface);
}

/* --- default routers (RFC 4861 6.3.4, 6.3.6; RFC 4191) --- */

static struct slaac_router *router_find(struct slaac *s, unsigned interface,
                                        const struct net_addr *addr)
{
	for (uint32_t i = 0; i < s->routers; i++)
		if (s->router[i].interface == interface && net_addr_equal(&s->router[i].addr, addr))
			return &s->router[i];
	return NULL;
}

static bool router_is(const struct slaac_router *r, const struct slaac_router *other)
{
	return r->interface == other->interface && net_addr_equal(&r->addr, &other->addr);
}

/* False only if the router is known not to answer. */
static bool router_may_be_reachable(const struct slaac *s, const struct slaac_router *r)
{
	int i = nd_neigh_find(s->nd, r->interface, &r->addr);
	if (i < 0)
		return true;
	enum nd_state state = nd_neigh_state(s->nd, (unsigned)i);
	return state != ND_FAILED && state != ND_INCOMPLETE;
}

/* The best router that may be reachable; the present one wins among equals. If none may be, the one
 * after the present one, so that all are tried in turn (6.3.6 (2)). NULL: there are none. */
static const struct slaac_router *router_best(const struct slaac *s)
{
	const struct slaac_router *best = NULL, *next = s->routers ? &s->router[0] : NULL;
	unsigned best_score = 0;
	for (uint32_t i = 0; i < s->routers; i++) {
		const struct slaac_router *r = &s->router[i];
		bool chosen = s->has_default && router_is(r, &s->chosen);
		unsigned score = 1 + 2u * r->rank + chosen;
		if (chosen && i + 1 < s->routers)
			next = &s->router[i + 1];
		if (score > best_score && router_may_be_reachable(s, r)) {
			best_score = score;
			best = r;
		}
	}
	return best ? best : next;
}

static void router_choose(struct slaac *s)
{
	const struct slaac_router *best = router_best(s);
	s->changes_seen = nd_router_changes(s->nd);
	if (!best && s->has_default) {
		unsigned interface = s->chosen.interface;
		s->has_default = false;
		s->ops->default_router(s->ctx, interface, NULL);
	} else if (best && !(s->has_default && router_is(best, &s->chosen))) {
		const struct slaac_router chosen = *best;
		s->chosen = chosen;
		s->has_default = true;
		s->ops->default_router(s->ctx, chosen.interface, &chosen.addr);
	}
}

/* Removes a router; the caller then chooses again. A link without default routers is solicited
 * again. */
static void router_remove(struct slaac *s, struct slaac_router *r, uint64_t now_ns)
{
	unsigned interface = r->interface;
	s->routers--;
	memmove(r, r + 1, (size_t)(&s->router[s->routers] - r) * sizeof *r);
	for (uint32_t i = 0; i < s->routers; i++)
		if (s->router[i].interface == interface)
			return;
	if (s->interface[interface].on && !s->interface[interface].soliciting)
		solicit_begin(s, interface, now_ns);
}

static void router_heard(struct slaac *s, unsigned interface, const struct net_addr *addr,
                         const uint8_t *icmp, uint64_t now_ns)
{
	/* RFC 4191 2.2: 01 high, 00 medium, 11 low; the reserved 10 is medium */
	static const uint8_t ranks[4] = {1, 2, 1, 0};
	uint16_t lifetime_s = be16_load(icmp + 6);
	struct slaac_router *r = router_find(s, interface, addr);
	if (lifetime_s == 0) {
		if (r)
			router_remove(s, r, now_ns);
		return;
	}
	if (!r && s->routers == SLAAC_ROUTERS_MAX) {
		refused(s);
		return;
	}
	if (!r) {
		r = &s->router[s->routers++];
		*r = (struct slaac_router){.addr = *addr, .interface = (uint8_t)interface};
	}
	r->until_ns = now_ns + lifetime_s * SECOND;
	r->rank = ranks[(icmp[5] & ND_RA_PREFERENCE) >> 3];
	s->interface[interface].soliciting = false; /* RFC 7559 2.2 */
}

/* --- prefixes and addresses --- */

/* Index of the prefix, or E_NOENT. */
static int prefix_find(const struct slaac *s, unsigned interface, const struct net_addr *prefix,
                       unsigned plen)
{
	for (uint32_t i = 0; i < s->prefixes; i++) {
		const struct slaac_prefix *p = &s->prefix[i];
		if (p->interface == interface && p->plen == plen &&
		    net_addr_equal(&p->prefix, prefix))
			return (int)i;
	}
	return E_NOENT;
}

static struct slaac_prefix *prefix_new(struct slaac *s, unsigned interface,
                                       const struct net_addr *prefix, unsigned plen)
{
	unsigned on_interface = 0;
	for (uint32_t i = 0; i < s->prefixes; i++)
		on_interface += s->prefix[i].interface == interface;
	if (s->prefixes == SLAAC_PREFIXES_MAX || on_interface == SLAAC_INTERFACE_PREFIXES_MAX) {
		refused(s);
		return NULL;
	}
	struct slaac_prefix *p = &s->prefix[s->prefixes++];
	*p = (struct slaac_prefix){
	        .prefix = *prefix, .interface = (uint8_t)interface, .plen = (uint8_t)plen};
	return p;
}

/* The contents of a prefix information option. */
struct info {
	struct net_addr prefix;
	uint32_t valid_s, preferred_s;
	unsigned plen;
	bool on_link, autonomous;
};

/* Adds the address to nd, or updates whether its prefix is on-link. */
static int address_enter(struct slaac *s, const struct slaac_prefix *p, uint64_t now_ns)
{
	unsigned plen = p->on_link ? p->plen : 128;
	return nd_add_local(s->nd, p->interface, &p->addr, plen, s->interface[p->interface].mac,
	                    now_ns);
}

/* RFC 4862 5.5.3 (e): the preferred lifetime is taken over. The valid lifetime is not shortened
 * below two hours, so that a forged advertisement cannot end an address at once. */
static void address_update(struct slaac_prefix *p, const struct info *info, uint64_t now_ns)
{
	uint64_t told = until(now_ns, info->valid_s), floor = now_ns + TWO_HOURS;
	p->preferred_until_ns = until(now_ns, info->preferred_s);
	if (told > floor || told > p->valid_until_ns)
		p->valid_until_ns = told;
	else if (p->valid_until_ns > floor)
		p->valid_until_ns = floor;
}

/* True if the interface already has this address, in any state, from the configuration. */
static bool is_entered(const struct slaac *s, unsigned interface, const struct net_addr *addr)
{
	struct nd_address a;
	unsigned cursor = 0;
	while (nd_local_next(s->nd, &cursor, &a))
		if (a.interface == interface && net_addr_equal(&a.addr, addr))
			return true;
	return false;
}

/* RFC 4862 5.5.3 (d): forms an address from the prefix and our identifier. */
static void address_new(struct slaac *s, struct slaac_prefix *p, const struct info *info,
                        uint64_t now_ns)
{
	p->addr = ip6_eui64(&p->prefix, s->interface[p->interface].mac);
	if (is_entered(s, p->interface, &p->addr) || address_enter(s, p, now_ns) != E_OK) {
		refused(s);
		return;
	}
	p->has_addr = true;
	p->valid_until_ns = until(now_ns, info->valid_s);
	p->preferred_until_ns = until(now_ns, info->preferred_s);
}

/* True if the prefix is neither on-link nor has an address, so its entry can go. */
static bool prefix_is_done(const struct slaac_prefix *p) { return !p->on_link && !p->has_addr; }

static void prefix_drop(struct slaac *s, struct slaac_prefix *p)
{
	s->prefixes--;
	memmove(p, p + 1, (size_t)(&s->prefix[s->prefixes] - p) * sizeof *p);
}

/* RFC 4861 6.3.4: the prefix list. Lifetime 0 ends an entry at once. True: the flag has changed. */
static bool on_link_update(struct slaac_prefix *p, const struct info *info, uint64_t now_ns)
{
	bool was = p->on_link;
	if (!info->on_link) /* no statement about on-link or not */
		return false;
	p->on_link = info->valid_s > 0;
	p->on_link_until_ns = until(now_ns, info->valid_s);
	return p->on_link != was;
}

/* RFC 4862 5.5.3 (a) to (d): may the option make or renew an address? */
static bool is_for_addresses(const struct info *info)
{
	return info->autonomous && info->preferred_s <= info->valid_s && info->plen == 64;
}

static void prefix_heard(struct slaac *s, unsigned interface, const struct info *info,
                         uint64_t now_ns)
{
	int found = prefix_find(s, interface, &info->prefix, info->plen);
	struct slaac_prefix *p = found < 0 ? NULL : &s->prefix[found];
	bool wanted = info->valid_s && (info->on_link || is_for_addresses(info));
	if (!p && wanted)
		p = prefix_new(s, interface, &info->prefix, info->plen);
	if (!p)
		return;
	bool changed = on_link_update(p, info, now_ns);
	if (p->has_addr && changed)
		address_enter(s, p, now_ns);
	if (is_for_addresses(info) && p->has_addr)
		address_update(p, info, now_ns);
	else if (is_for_addresses(info) && info->valid_s)
		address_new(s, p, info, now_ns);
	const struct slaac_prefix copy = *p;
	if (prefix_is_done(p))
		prefix_drop(s, p);
	if (changed)
		s->ops->prefix(s->ctx, interface, &copy.prefix, copy.plen, copy.on_link);
}

static void prefix_option(struct slaac *s, unsigned interface, const uint8_t *option,
                          uint64_t now_ns)
{
	struct net_addr prefix = net_addr_load(option + 16);
	struct info info = {
		.valid_s = be32_load(option + 4),
		.preferred_s = be32_load(option + 8),
		.plen = option[2],
		.on_link = option[3] & ND_PREFIX_ON_LINK,
		.autonomous = option[3] & ND_PREFIX_AUTONOMOUS,
	};
	/* RFC 4861 6.3.4, RFC 4862 5.5.3 (b): the link-local prefix is ignored. An on-link prefix
	 * of length 0 would be a default route. */
	bool sane = info.plen > 0 && info.plen <= 128 && ip6_is_unicast(&prefix) &&
	            !ip6_is_link_local(&prefix);
	if (!sane) {
		refused(s);
		return;
	}
	info.prefix = ip6_prefix_of(&prefix, info.plen);
	prefix_heard(s, interface, &info, now_ns);
}

/* Ends the lifetimes of a prefix that have expired; the prefix may be removed. */
static void prefix_expire(struct slaac *s, struct slaac_prefix *p, uint64_t now_ns)
{
	bool off = p->on_link && p->on_link_until_ns <= now_ns;
	bool gone = p->has_addr && p->valid_until_ns <= now_ns;
	p->on_link &= !off;
	p->has_addr &= !gone;
	const struct slaac_prefix copy = *p;
	if (prefix_is_done(p))
		prefix_drop(s, p);
	if (gone)
		nd_remove_local(s->nd, copy.interface, &copy.addr, now_ns);
	else if (off && copy.has_addr)
		address_enter(s, &copy, now_ns);
	if (off)
		s->ops->prefix(s->ctx, copy.interface, &copy.prefix, copy.plen, false);
}

/* --- public: setup --- */

/* Adds the link-local address of the MAC, unless the interface has another one from the
 * configuration. */
static int link_local_enter(struct slaac *s, unsigned interface, const uint8_t *mac,
                            uint64_t now_ns)
{
	struct net_addr link_local = ip6_link_local_of(mac);
	struct nd_address a;
	for (unsigned cursor = 0; nd_local_next(s->nd, &cursor, &a);)
		if (a.interface == interface && ip6_is_link_local(&a.addr))
			return E_OK;
	return nd_add_local(s->nd, interface, &link_local, 64, mac, now_ns);
}

int slaac_start(struct slaac *s, unsigned interface, const uint8_t *mac, unsigned link_mtu,
                uint64_t now_ns)
{
	if (interface >= ND_INTERFACES_MAX || !eth_is_station(mac) || link_mtu < IP6_MTU_MIN)
		return E_INVAL;
	int e = link_local_enter(s, interface, mac, now_ns);
	if (e != E_OK)
		return e;
	struct slaac_interface *p = &s->interface[interface];
	*p = (struct slaac_interface){.link_mtu = link_mtu, .on = true};
	eth_copy(p->mac, mac);
	solicit_begin(s, interface, now_ns);
	return E_OK;
}

void slaac_stop(struct slaac *s, unsigned interface, uint64_t now_ns)
{
	assert(interface < ND_INTERFACES_MAX);
	struct slaac_interface *p = &s->interface[interface];
	if (!p->on)
		return;
	struct net_addr link_local = ip6_link_local_of(p->mac);
	p->on = p->soliciting = false;
	for (uint32_t i = s->routers; i-- > 0;)
		if (i < s->routers && s->router[i].interface == interface)
			router_remove(s, &s->router[i], now_ns);
	for (uint32_t i = s->prefixes; i-- > 0;)
		if (i < s->prefixes && s->prefix[i].interface == interface) {
			s->prefix[i].on_link_until_ns = s->prefix[i].valid_until_ns = 0;
			prefix_expire(s, &s->prefix[i], now_ns);
		}
	nd_remove_local(s->nd, interface, &link_local, now_ns);
	router_choose(s);
}

void slaac_link_up(struct slaac *s, unsigned interface, uint64_t now_ns)
{
	assert(interface < ND_INTERFACES_MAX);
	if (s->interface[interface].on)
		solicit_begin(s, interface, now_ns);
}

/* --- received messages --- */

/* RFC 4861 6.3.4: the link's values, within limits. 0 leaves a value unchanged. */
static void link_values(struct slaac *s, unsigned interface, const uint8_t *icmp,
                        const struct nd_options *options)
{
	uint32_t reachable_ms = be32_load(icmp + 8), retransmit_ms = be32_load(icmp + 12);
	uint32_t mtu = options->mtu ? be32_load(options->mtu + 4) : 0;
	unsigned hop_limit = icmp[4];
	if (reachable_ms && (reachable_ms < REACHABLE_MIN_MS || reachable_ms > REACHABLE_MAX_MS)) {
		reachable_ms = 0;
		refused(s);
	}
	if (retransmit_ms &&
	    (retransmit_ms < RETRANSMIT_MIN_MS || retransmit_ms > RETRANSMIT_MAX_MS)) {
		retransmit_ms = 0;
		refused(s);
	}
	if (options->mtu && (mtu < IP6_MTU_MIN || mtu > s->interface[interface].link_mtu)) {
		mtu = 0;
		refused(s);
	}
	if (hop_limit && hop_limit < SLAAC_HOP_LIMIT_MIN) {
		hop_limit = 0;
		refused(s);
	}
	nd_set_times(s->nd, interface, reachable_ms * MILLISECOND, retransmit_ms * MILLISECOND);
	if (mtu || hop_limit)
		s->ops->link(s->ctx, interface, mtu, hop_limit);
}

enum counter slaac_input(struct slaac *s, unsigned interface, const uint8_t *frame,
                         const struct ip6_upper *up, const struct icmp6_msg *m, uint64_t now_ns)
{
	assert(interface < ND_INTERFACES_MAX);
	const uint8_t *ip = frame + ETH_HLEN;
	struct net_addr src = ip6_src(ip);
	struct nd_options options;
	/* RFC 4861 6.2.6: hosts MUST silently discard solicitations */
	if (m->type != ICMP6_ROUTER_ADVERT)
		return m->type == ICMP6_ROUTER_SOLICIT ? CNT_drop_nd_router : CNT_drop_icmp6_type;
	enum counter bad = nd_check(ip, up, m, ND_RA_LEN, &options);
	if (bad != CNT_NONE)
		return bad;
	if (!ip6_is_link_local(&src)) /* 6.1.2 */
		return CNT_drop_nd_malformed;
	if (nd_is_local(s->nd, interface, &src) ||
	    (options.source_mac && !eth_is_station(options.source_mac)))
		return CNT_drop_nd_bad_sender;
	if (!s->interface[interface].on)
		return CNT_drop_nd_router;
	nd_learn(s->nd, interface, &src, options.source_mac, true, now_ns);
	link_values(s, interface, m->icmp, &options);
	router_heard(s, interface, &src, m->icmp, now_ns);
	for (unsigned i = 0; i < options.prefixes; i++)
		prefix_option(s, interface, options.prefix[i], now_ns);
	router_choose(s);
	return CNT_delivered_nd;
}

/* --- time --- */

/* RFC 4861 7.2.5, 6.3.6: a neighbour that is not, or no longer, a router is not a default
 * router. */
static void routers_look(struct slaac *s, uint64_t now_ns)
{
	for (uint32_t i = s->routers; i-- > 0;) {
		struct slaac_router *r = &s->router[i];
		int n = nd_neigh_find(s->nd, r->interface, &r->addr);
		if (n >= 0 && nd_neigh_role(s->nd, (unsigned)n) == ND_ROLE_HOST)
			router_remove(s, r, now_ns);
	}
}

uint64_t slaac_tick(struct slaac *s, uint64_t now_ns)
{
	for (unsigned interface = 0; interface < ND_INTERFACES_MAX; interface++)
		if (s->interface[interface].soliciting &&
		    s->interface[interface].solicit_at <= now_ns)
			solicit_step(s, interface, now_ns);
	for (uint32_t i = s->prefixes; i-- > 0;)
		if (i < s->prefixes)
			prefix_expire(s, &s->prefix[i], now_ns);
	bool look = s->changes_seen != nd_router_changes(s->nd);
	if (look)
		routers_look(s, now_ns);
	for (uint32_t i = s->routers; i-- > 0;)
		if (s->router[i].until_ns <= now_ns) {
			router_remove(s, &s->router[i], now_ns);
			look = true;
		}
	if (look)
		router_choose(s);
	return slaac_deadline(s);
}

uint64_t slaac_deadline(const struct slaac *s)
{
	uint64_t next = s->changes_seen != nd_router_changes(s->nd) ? 0 : UINT64_MAX;
	for (unsigned interface = 0; interface < ND_INTERFACES_MAX; interface++)
		if (s->interface[interface].soliciting)
			next = u64_min(next, s->interface[interface].solicit_at);
	for (uint32_t i = 0; i < s->routers; i++)
		next = u64_min(next, s->router[i].until_ns);
	for (uint32_t i = 0; i < s->prefixes; i++) {
		const struct slaac_prefix *p = &s->prefix[i];
		if (p->on_link)
			next = u64_min(next, p->on_link_until_ns);
		if (p->has_addr)
			next = u64_min(next, p->valid_until_ns);
	}
	return next;
}

bool slaac_is_on_link(const struct slaac *s, unsigned interface, const struct net_addr *prefix,
                      unsigned plen)
{
	int i = prefix_find(s, interface, prefix, plen);
	return i >= 0 && s->prefix[i].on_link;
}

bool slaac_next(const struct slaac *s, unsigned *cursor, struct slaac_address *out)
{
	while (*cursor < s->prefixes) {
		const struct slaac_prefix *p = &s->prefix[(*cursor)++];
		if (!p->has_addr)
			continue;
		*out = (struct slaac_address){
			.addr = p->addr,
			.interface = p->interface,
			.valid_until_ns = p->valid_until_ns,
			.preferred_until_ns = p->preferred_until_ns,
		};
		return true;
	}
	return false;
}
