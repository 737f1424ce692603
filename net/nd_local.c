/* See nd.h: our own addresses, duplicate address detection (RFC 4862 5.4, RFC 7527),
 * announcements. */
#include "net/nd_inside.h"

#include "lib/assert.h"
#include "lib/mem.h"

#define LOOPED_MORE 3 /* RFC 7527 4.2: MAX_MULTICAST_SOLICIT more probes after one came back */

/* --- random numbers --- */

static uint64_t draw(struct nd *nd)
{
	const uint64_t word = nd->drawn++;
	return siphash13_words(&nd->params.key, &word, 1);
}

uint32_t nd_random(struct nd *nd, uint32_t below)
{
	return (uint32_t)((draw(nd) >> 32) * below >> 32);
}

static uint32_t mld_random(void *ctx, uint32_t below) { return nd_random(ctx, below); }

/* --- address look-up --- */

struct nd_local *nd_local_find(struct nd *nd, unsigned interface, const struct net_addr *addr)
{
	for (uint32_t i = 0; i < nd->locals; i++)
		if (nd->local[i].interface == interface && net_addr_equal(&nd->local[i].addr, addr))
			return &nd->local[i];
	return NULL;
}

bool nd_is_local(const struct nd *nd, unsigned interface, const struct net_addr *addr)
{
	for (uint32_t i = 0; i < nd->locals; i++) {
		const struct nd_local *l = &nd->local[i];
		if (l->interface == interface && l->state == ND_VALID &&
		    net_addr_equal(&l->addr, addr))
			return true;
	}
	return false;
}

bool nd_is_on_link(const struct nd *nd, unsigned interface, const struct net_addr *addr)
{
	bool on_link = ip6_is_link_local(addr);
	if (!ip6_is_unicast(addr))
		return false;
	for (uint32_t i = 0; i < nd->locals; i++) {
		const struct nd_local *l = &nd->local[i];
		if (l->interface != interface)
			continue;
		if (net_addr_equal(&l->addr, addr) || ip6_is_subnet_router(addr, &l->addr, l->plen))
			return false;
		on_link |= l->plen < 128 && ip6_in_prefix(addr, &l->addr, l->plen);
	}
	return on_link;
}

bool nd_local_is_pending(const struct nd *nd, unsigned interface)
{
	for (uint32_t i = 0; i < nd->locals; i++)
		if (nd->local[i].interface == interface && nd->local[i].state == ND_TENTATIVE)
			return true;
	return false;
}

/* True if the address may be used as source. */
static bool is_source(const struct nd_local *l, unsigned interface)
{
	return l->interface == interface && l->state == ND_VALID && !l->anycast;
}

bool nd_link_local(const struct nd *nd, unsigned interface, struct net_addr *addr, uint8_t *mac)
{
	for (uint32_t i = 0; i < nd->locals; i++) {
		const struct nd_local *l = &nd->local[i];
		if (!is_source(l, interface) || !ip6_is_link_local(&l->addr))
			continue;
		if (addr)
			*addr = l->addr;
		if (mac)
			eth_copy(mac, l->mac);
		return true;
	}
	return false;
}

/* Score of our address as a source for dst. */
static unsigned suits(const struct nd_local *l, const struct net_addr *dst)
{
	bool wants_link = ip6_is_link_local(dst) ||
	                  (ip6_is_multicast(dst) && ip6_multicast_scope(dst) <= IP6_SCOPE_LINK);
	unsigned score = 1;
	if (ip6_is_link_local(&l->addr) == wants_link)
		score += 2;
	if (ip6_in_prefix(dst, &l->addr, l->plen))
		score += 4;
	return score;
}

bool nd_source(const struct nd *nd, unsigned interface, const struct net_addr *dst,
               struct net_addr *src)
{
	unsigned best = 0;
	for (uint32_t i = 0; i < nd->locals; i++) {
		const struct nd_local *l = &nd->local[i];
		unsigned score = is_source(l, interface) ? suits(l, dst) : 0;
		if (score > best) {
			best = score;
			*src = l->addr;
		}
	}
	return best > 0;
}

bool nd_local_next(const struct nd *nd, unsigned *cursor, struct nd_address *out)
{
	if (*cursor >= nd->locals)
		return false;
	const struct nd_local *l = &nd->local[(*cursor)++];
	*out = (struct nd_address){
		.addr = l->addr,
		.interface = l->interface,
		.plen = l->plen,
		.state = (enum nd_address_state)l->state,
		.anycast = l->anycast,
	};
	return true;
}

const char *nd_address_state_name(enum nd_address_state state)
{
	static const char *const name[] = {
		[ND_TENTATIVE] = "tentative",
		[ND_VALID] = "valid",
		[ND_DUPLICATE] = "duplicate",
	};
	return state < ARRAY_LEN(name) ? name[state] : "?";
}

/* --- groups --- */

static bool mld_source(void *ctx, unsigned interface, struct net_addr *addr, uint8_t *mac)
{
	const struct nd *nd = ctx;
	if (nd_link_local(nd, interface, addr, mac))
		return true;
	/* RFC 3590 4: the unspecified address while there is no link-local one */
	*addr = NET_ADDR_ANY;
	for (uint32_t i = 0; i < nd->locals; i++)
		if (nd->local[i].interface == interface) {
			eth_copy(mac, nd->local[i].mac);
			return true;
		}
	return false;
}

static void mld_tx(void *ctx, unsigned interface, const uint8_t *frame, unsigned len)
{
	const struct nd *nd = ctx;
	nd->ops->tx(nd->ctx, interface, frame, len);
}

static void mld_count(void *ctx, enum counter counter, unsigned n)
{
	const struct nd *nd = ctx;
	nd->ops->count(nd->ctx, counter, n);
}

static const struct mld_ops mld_ops = {
	.tx = mld_tx,
	.source = mld_source,
	.random = mld_random,
	.count = mld_count,
};

bool nd_is_group_ours(const struct nd *nd, unsigned interface, const struct net_addr *group)
{
	const struct net_addr all_nodes = IP6_ALL_NODES;
	return net_addr_equal(group, &all_nodes) || mld_is_joined(&nd->mld, interface, group);
}

int nd_join(struct nd *nd, unsigned interface, const struct net_addr *group, uint64_t now_ns)
{
	return mld_join(&nd->mld, interface, group, now_ns);
}

void nd_leave(struct nd *nd, unsigned interface, const struct net_addr *group, uint64_t now_ns)
{
	mld_leave(&nd->mld, interface, group, now_ns);
}

/* --- address states --- */

void nd_local_init(struct nd *nd)
{
	mld_init(&nd->mld, &mld_ops, nd);
	for (unsigned p = 0; p < ND_INTERFACES_MAX; p++)
		nd_set_times(nd, p, nd->params.reachable_ns, nd->params.retransmit_ns);
}

/* (Re)starts DAD, with the first probe at at_ns; calls no op. */
static void dad_start(struct nd *nd, struct nd_local *l, uint64_t at_ns)
{
	l->state = ND_TENTATIVE;
	l->probes_left = l->anycast ? 0 : (uint8_t)nd->params.dad_transmits;
	l->looped = false;
	l->at = at_ns;
}

/* RFC 4862 5.4.2: the first message after a link came up, and the report of its group, are delayed
 * by a random time, so that stations that start together do not send together. */
static uint64_t start_time(struct nd *nd, uint64_t now_ns)
{
	uint64_t most = nd->params.start_delay_ns >> 10; /* in units of 1024 ns */
	return now_ns + ((uint64_t)nd_random(nd, (uint32_t)most + 1) << 10);
}

static bool interface_has_locals(const struct nd *nd, unsigned interface)
{
	for (uint32_t i = 0; i < nd->locals; i++)
		if (nd->local[i].interface == interface)
			return true;
	return false;
}

/* Adds a new address, checked by the caller. */
static int local_enter(struct nd *nd, const struct nd_local *what, uint64_t now_ns)
{
	struct net_addr group = ip6_solicited_node(&what->addr);
	uint64_t at = interface_has_locals(nd, what->interface) ? now_ns : start_time(nd, now_ns);
	if (nd->locals == ND_LOCALS_MAX)
		return E_NOMEM;
	int e = mld_join(&nd->mld, what->interface, &group, at);
	if (e != E_OK)
		return e;
	struct nd_local *l = &nd->local[nd->locals++];
	*l = *what;
	dad_start(nd, l, at);
	return E_OK;
}

static void announce_start(struct nd_local *l, uint64_t now_ns)
{
	l->announce_left = l->anycast ? 0 : ND_ANNOUNCE_NUM;
	l->at = now_ns;
}

int nd_add_local(struct nd *nd, unsigned interface, const struct net_addr *addr, unsigned plen,
                 const uint8_t *mac, uint64_t now_ns)
{
	if (interface >= ND_INTERFACES_MAX || plen > 128 || !ip6_is_unicast(addr) ||
	    !eth_is_station(mac))
		return E_INVAL;
	struct nd_local *l = nd_local_find(nd, interface, addr);
	if (!l) {
		struct nd_local new = {
		        .addr = *addr, .interface = (uint8_t)interface, .plen = (uint8_t)plen};
		eth_copy(new.mac, mac);
		return local_enter(nd, &new, now_ns);
	}
	bool other = !eth_equal(l->mac, mac);
	l->plen = (uint8_t)plen;
	eth_copy(l->mac, mac);
	if (other && l->state == ND_VALID)
		announce_start(l, now_ns);
	return E_OK;
}

int nd_add_anycast(struct nd *nd, unsigned interface, const struct net_addr *addr,
                   const uint8_t *mac, uint64_t now_ns)
{
	struct nd_local new = {
	        .addr = *addr, .interface = (uint8_t)interface, .plen = 128, .anycast = true};
	if (interface >= ND_INTERFACES_MAX || !ip6_is_unicast(addr) || !eth_is_station(mac))
		return E_INVAL;
	eth_copy(new.mac, mac);
	return nd_local_find(nd, interface, addr) ? E_INVAL : local_enter(nd, &new, now_ns);
}

static void local_remove(struct nd *nd, struct nd_local *l, uint64_t now_ns)
{
	const struct nd_local gone = *l;
	struct net_addr group = ip6_solicited_node(&gone.addr);
	mld_leave(&nd->mld, gone.interface, &group, now_ns);
	nd->locals--;
	memmove(l, l + 1, (size_t)(&nd->local[nd->locals] - l) * sizeof *l);
	if (gone.state == ND_VALID)
		nd->ops->address_down(nd->ctx, gone.interface, &gone.addr);
}

int nd_remove_local(struct nd *nd, unsigned interface, const struct net_addr *addr, uint64_t now_ns)
{
	struct nd_local *l = nd_local_find(nd, interface, addr);
	if (!l)
		return E_NOENT;
	local_remove(nd, l, now_ns);
	return E_OK;
}

void nd_clear_local(struct nd *nd, unsigned interface, uint64_t now_ns)
{
	for (uint32_t i = nd->locals; i-- > 0;)
		if (i < nd->locals && nd->local[i].interface == interface)
			local_remove(nd, &nd->local[i], now_ns);
}

void nd_link_up(struct nd *nd, unsigned interface, uint64_t now_ns)
{
	uint64_t at = start_time(nd, now_ns);
	assert(interface < ND_INTERFACES_MAX);
	mld_link_up(&nd->mld, interface, at);
	for (uint32_t i = 0; i < nd->locals; i++) {
		struct nd_local *l = &nd->local[i];
		bool was_valid = l->state == ND_VALID;
		struct net_addr addr = l->addr;
		if (l->interface != interface)
			continue;
		dad_start(nd, l, at);
		if (was_valid)
			nd->ops->address_down(nd->ctx, interface, &addr);
	}
}

void nd_set_times(struct nd *nd, unsigned interface, uint64_t reachable_ns, uint64_t retransmit_ns)
{
	assert(interface < ND_INTERFACES_MAX);
	if (reachable_ns)
		nd->interface[interface].reachable_ns = reachable_ns;
	if (retransmit_ns)
		nd->interface[interface].retransmit_ns = retransmit_ns;
}

/* --- DAD --- */

void nd_local_duplicate(struct nd *nd, struct nd_local *l, const uint8_t *mac)
{
	struct net_addr addr = l->addr;
	unsigned interface = l->interface;
	assert(l->state == ND_TENTATIVE);
	l->state = ND_DUPLICATE;
	nd->ops->count(nd->ctx, CNT_nd_duplicate, 1);
	nd->ops->address_duplicate(nd->ctx, interface, &addr, mac);
}

void nd_local_probed(struct nd *nd, struct nd_local *l, const uint8_t *nonce, const uint8_t *mac)
{
	if (!nonce || memcmp(nonce, l->nonce, ND_NONCE_LEN) != 0) {
		nd_local_duplicate(nd, l, mac);
		return;
	}
	/* RFC 7527 4.2: the link loops; another station may still be on it */
	nd->ops->count(nd->ctx, CNT_nd_looped, 1);
	if (!l->looped)
		l->probes_left = (uint8_t)(l->probes_left + LOOPED_MORE);
	l->looped = true;
}

static void probe_send(struct nd *nd, struct nd_local *l, uint64_t now_ns)
{
	uint64_t nonce = draw(nd);
	memcpy(l->nonce, &nonce, ND_NONCE_LEN);
	l->probes_left--;
	l->at = now_ns + nd->interface[l->interface].retransmit_ns;
	const struct nd_local copy = *l;
	nd_send_solicit(nd, copy.interface, &(struct nd_solicit){
		.to = {.src = NET_ADDR_ANY,
		       .dst = ip6_solicited_node(&copy.addr),
		       .src_mac = copy.mac},
		.target = copy.addr,
		.nonce = copy.nonce,
	});
}

/*
 * RFC 4861 7.2.6: tells neighbours and routers unasked. With override: DAD has passed, so their
 * information about the address is outdated.
 */
static void announce(struct nd *nd, struct nd_local *l, uint64_t now_ns)
{
	l->announce_left--;
	l->at = now_ns + nd->interface[l->interface].retransmit_ns;
	const struct nd_local copy = *l;
	nd_send_advert(nd, &copy, &IP6_ALL_NODES, NULL, ND_NA_OVERRIDE);
}

static bool local_is_due(const struct nd_local *l, uint64_t now_ns)
{
	bool wants = l->state == ND_TENTATIVE || (l->state == ND_VALID && l->announce_left);
	return wants && l->at <= now_ns;
}

static void make_valid(struct nd *nd, struct nd_local *l, uint64_t now_ns)
{
	const struct net_addr addr = l->addr;
	unsigned interface = l->interface;
	l->state = ND_VALID;
	announce_start(l, now_ns);
	nd->ops->address_up(nd->ctx, interface, &addr);
}

/* Handles an address that is due. */
static void local_step(struct nd *nd, struct nd_local *l, uint64_t now_ns)
{
	if (l->state == ND_VALID)
		announce(nd, l, now_ns);
	else if (l->probes_left)
		probe_send(nd, l, now_ns);
	else
		make_valid(nd, l, now_ns);
}

int nd_keep_local(struct nd *nd, unsigned interface, const struct net_addr *addr, uint64_t now_ns)
{
	struct nd_local *l = nd_local_find(nd, interface, addr);
	if (!l)
		return E_NOENT;
	if (l->state == ND_TENTATIVE)
		make_valid(nd, l, now_ns);
	return E_OK;
}

void nd_local_tick(struct nd *nd, uint64_t now_ns)
{
	/* twice, so that an address that has become VALID is announced at once */
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t i = 0; i < nd->locals; i++)
			if (local_is_due(&nd->local[i], now_ns))
				local_step(nd, &nd->local[i], now_ns);
	mld_tick(&nd->mld, now_ns);
}

uint64_t nd_local_deadline(const struct nd *nd)
{
	uint64_t next = mld_deadline(&nd->mld);
	for (uint32_t i = 0; i < nd->locals; i++)
		if (local_is_due(&nd->local[i], UINT64_MAX) && nd->local[i].at < next)
			next = nd->local[i].at;
	return next;
}
