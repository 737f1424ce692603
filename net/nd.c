/* See nd.h: neighbour states and sent messages. nd_input.c has received messages, nd_local.c our
 * own addresses, neigh_table.c the containers. */
#include "net/nd.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "net/nd_inside.h"

static bool is_up(const struct neigh *n)
{
	return n->state == ND_REACHABLE || n->state == ND_DELAY || n->state == ND_PROBE ||
	       n->state == ND_STATIC;
}

bool nd_neigh_is_cached(const struct neigh *n)
{
	return is_up(n) || n->state == ND_STALE;
}

/* --- sent messages --- */

void nd_send_solicit(struct nd *nd, unsigned interface, const struct nd_solicit *s)
{
	uint8_t frame[ND_NEIGHBOUR_FRAME_MAX] = {0};
	uint8_t *icmp = frame + ND_FRAME_ICMP, *p = icmp + ND_NEIGHBOUR_LEN;
	icmp[0] = ICMP6_NEIGHBOUR_SOLICIT;
	net_addr_store(icmp + ND_TARGET, &s->target);
	/* RFC 4861 4.3: MUST NOT be included when the source is unspecified */
	if (!net_addr_is_any(&s->to.src))
		p = nd_mac_option_put(p, ND_OPT_SOURCE_MAC, s->to.src_mac);
	if (s->nonce) {
		p[0] = ND_OPT_NONCE;
		p[1] = ND_NONCE_OPT_LEN / 8;
		memcpy(p + 2, s->nonce, ND_NONCE_LEN);
		p += ND_NONCE_OPT_LEN;
	}
	unsigned len = nd_frame_finish(frame, &s->to, (unsigned)(p - icmp));
	nd->ops->count(nd->ctx, CNT_nd_tx_solicit, 1);
	nd->ops->tx(nd->ctx, interface, frame, len);
}

void nd_send_advert(struct nd *nd, const struct nd_local *l, const struct net_addr *dst,
                    const uint8_t *dst_mac, uint8_t flags)
{
	uint8_t frame[ND_NEIGHBOUR_FRAME_MAX] = {0};
	uint8_t *icmp = frame + ND_FRAME_ICMP;
	const struct nd_envelope to = {
		.src = l->addr,
		.dst = *dst,
		.src_mac = l->mac,
		.dst_mac = dst_mac,
	};
	icmp[0] = ICMP6_NEIGHBOUR_ADVERT;
	icmp[4] = flags | (nd->params.router ? ND_NA_ROUTER : 0);
	net_addr_store(icmp + ND_TARGET, &l->addr);
	/* RFC 4861 4.4: MUST be included in answers to multicast solicitations; always allowed */
	uint8_t *end = nd_mac_option_put(icmp + ND_NEIGHBOUR_LEN, ND_OPT_TARGET_MAC, l->mac);
	unsigned len = nd_frame_finish(frame, &to, (unsigned)(end - icmp));
	nd->ops->count(nd->ctx, CNT_nd_tx_advert, 1);
	nd->ops->tx(nd->ctx, l->interface, frame, len);
}

/* Sends a solicitation for the neighbour; false: no address of ours on the interface to ask from.
 */
static bool send_solicit(struct nd *nd, const struct neigh *n)
{
	struct nd_solicit s = {.target = n->addr};
	unsigned interface = n->interface;
	uint8_t mac[ETH_ALEN];
	if (!nd_source(nd, interface, &n->addr, &s.to.src))
		return nd_local_is_pending(nd, interface); /* a tentative address can send the next
		                                         solicitation */
	eth_copy(mac, nd_local_find(nd, interface, &s.to.src)->mac);
	s.to.src_mac = mac;
	/* RFC 4861 7.2.2, 7.3.3: to the group of an unknown neighbour, to the address of a known
	 * one */
	bool unicast = n->state == ND_PROBE;
	s.to.dst = unicast ? n->addr : ip6_solicited_node(&n->addr);
	s.to.dst_mac = unicast ? n->mac : NULL;
	nd_send_solicit(nd, interface, &s);
	return true;
}

/* --- neighbour states --- */

/* Updates the lists of neighbours that a full table may evict (RFC 6583 6.2). First come those that
 * have not answered. Then come, by age and thus with equal time, those still being asked and STALE
 * ones. A new neighbour thus has time to answer even during a scan. Called after each change of
 * state or pins. */
static void relist(struct nd *nd, uint32_t i)
{
	const struct neigh *n = &nd->table.neigh[i];
	unsigned which = NEIGH_UNLISTED;
	if (n->pins == 0 && (n->state == ND_FAILED || n->state == ND_UNRESOLVED))
		which = 0;
	else if (n->pins == 0 && (n->state == ND_INCOMPLETE || n->state == ND_STALE))
		which = 1;
	neigh_relist(&nd->table, i, which);
}

static void enter_state(struct nd *nd, uint32_t i, enum nd_state state)
{
	struct neigh *n = &nd->table.neigh[i];
	if (n->role == ND_ROLE_ROUTER && n->state != state)
		nd->router_changes++;
	n->state = (uint8_t)state;
	n->requests = 0;
	relist(nd, i);
}

static void fail(struct nd *nd, uint32_t i, uint64_t now_ns)
{
	enter_state(nd, i, ND_FAILED);
	neigh_timer_set(&nd->table, i, now_ns + nd->params.hold_down_ns);
	neigh_chain_end(&nd->table, i, neigh_queue_detach(&nd->table, i), nd->ops->unreachable, nd->ctx);
}

/* Sends the next solicitation of INCOMPLETE or PROBE. */
static void ask(struct nd *nd, uint32_t i, uint64_t now_ns)
{
	struct neigh *n = &nd->table.neigh[i];
	n->requests++;
	neigh_timer_set(&nd->table, i, now_ns + nd->interface[n->interface].retransmit_ns);
	if (!send_solicit(nd, n) && n->state == ND_INCOMPLETE)
		fail(nd, i, now_ns);
}

/* Takes the neighbour out of use: UNRESOLVED if pinned, else FREE. Its queued frames go to `op`. */
static void reset(struct nd *nd, uint32_t i, neigh_frame_op *op)
{
	struct neigh *n = &nd->table.neigh[i];
	bool was_up = is_up(n);
	bool dies = n->pins == 0;
	uint32_t chain = neigh_queue_detach(&nd->table, i);
	neigh_timer_clear(&nd->table, i);
	if (dies)
		neigh_hash_remove(&nd->table, i);
	enter_state(nd, i, dies ? ND_FREE : ND_UNRESOLVED);
	if (was_up)
		nd->ops->down(nd->ctx, i);
	neigh_chain_end(&nd->table, i, chain, op, nd->ctx);
	if (!dies)
		return;
	/* only now, so that the index is not reused while the ops run */
	nd->ops->removed(nd->ctx, i);
	neigh_free(&nd->table, i);
}

/* RFC 4861 6.3.2: uniform in 0.5 to 1.5 of BaseReachableTime. */
static uint64_t reachable_time(struct nd *nd, unsigned interface)
{
	uint64_t base = nd->interface[interface].reachable_ns;
	return base / 2 + (base >> 16) * nd_random(nd, 1u << 16);
}

/* Enters a state with a fixed duration, and sets its deadline. */
static void rest(struct nd *nd, uint32_t i, enum nd_state state, uint64_t now_ns)
{
	uint64_t time = state == ND_STALE ? nd->params.stale_ns : nd->params.delay_ns;
	enter_state(nd, i, state);
	neigh_timer_set(&nd->table, i, now_ns + time);
}

/* The state is now one that is up, with this MAC: reports it if new, and releases the queue. */
static void resolved(struct nd *nd, uint32_t i, const uint8_t *mac, bool was_up)
{
	struct neigh *n = &nd->table.neigh[i];
	bool news = !was_up || !eth_equal(n->mac, mac);
	uint32_t chain = neigh_queue_detach(&nd->table, i);
	eth_copy(n->mac, mac);
	if (news)
		nd->ops->up(nd->ctx, i, mac);
	neigh_chain_end(&nd->table, i, chain, nd->ops->release, nd->ctx);
}

void nd_neigh_confirmed(struct nd *nd, uint32_t i, const uint8_t *mac, uint64_t now_ns)
{
	struct neigh *n = &nd->table.neigh[i];
	bool was_up = is_up(n);
	enter_state(nd, i, ND_REACHABLE);
	n->heard_ns = now_ns;
	n->used = false;
	neigh_timer_set(&nd->table, i, now_ns + reachable_time(nd, n->interface));
	resolved(nd, i, mac, was_up);
}

void nd_neigh_unconfirmed(struct nd *nd, uint32_t i, const uint8_t *mac, uint64_t now_ns)
{
	struct neigh *n = &nd->table.neigh[i];
	bool was_up = is_up(n);
	if (n->queued) {
		rest(nd, i, ND_DELAY, now_ns);
		resolved(nd, i, mac, false);
		return;
	}
	rest(nd, i, ND_STALE, now_ns);
	eth_copy(n->mac, mac);
	if (was_up)
		nd->ops->down(nd->ctx, i);
}

static void reachable_ends(struct nd *nd, uint32_t i, uint64_t now_ns)
{
	if (nd->table.neigh[i].used) {
		rest(nd, i, ND_DELAY, now_ns);
		return;
	}
	rest(nd, i, ND_STALE, now_ns);
	nd->ops->down(nd->ctx, i);
}

static void probe_unanswered(struct nd *nd, uint32_t i, uint64_t now_ns)
{
	/* the same tick sends the first solicitation to the group */
	enter_state(nd, i, ND_INCOMPLETE);
	neigh_timer_set(&nd->table, i, now_ns);
	nd->ops->down(nd->ctx, i);
}

/* The neighbour's deadline has expired. */
static void expire(struct nd *nd, uint32_t i, uint64_t now_ns)
{
	struct neigh *n = &nd->table.neigh[i];
	bool more = n->requests < nd->params.max_solicits;
	switch ((enum nd_state)n->state) {
	case ND_INCOMPLETE:
		if (more)
			ask(nd, i, now_ns);
		else
			fail(nd, i, now_ns);
		break;
	case ND_REACHABLE:
		reachable_ends(nd, i, now_ns);
		break;
	case ND_STALE:
		if (n->pins)
			rest(nd, i, ND_STALE, now_ns);
		else
			reset(nd, i, nd->ops->unreachable);
		break;
	case ND_DELAY:
		enter_state(nd, i, ND_PROBE);
		ask(nd, i, now_ns);
		break;
	case ND_PROBE:
		if (more)
			ask(nd, i, now_ns);
		else
			probe_unanswered(nd, i, now_ns);
		break;
	case ND_FAILED:
		reset(nd, i, nd->ops->unreachable);
		break;
	case ND_FREE:
	case ND_UNRESOLVED:
	case ND_STATIC:
		assert(false); /* these states have no deadline */
	}
}

void nd_neigh_set_router(struct nd *nd, uint32_t i, bool router)
{
	struct neigh *n = &nd->table.neigh[i];
	uint8_t role = router ? ND_ROLE_ROUTER : ND_ROLE_HOST;
	nd->router_changes += n->role != role;
	n->role = role;
}

/* --- public: setup --- */

static struct neigh_sizes sizes_of(const struct nd_params *p)
{
	return (struct neigh_sizes){p->neighbours, p->queue, p->pending, p->frame_max};
}

static bool params_are_valid(const struct nd_params *p)
{
	const struct neigh_sizes sizes = sizes_of(p);
	return p->reachable_ns && p->retransmit_ns && p->delay_ns && p->stale_ns &&
	       p->hold_down_ns && p->start_delay_ns <= 60000000000ull && p->max_solicits &&
	       p->max_solicits <= 100 && p->dad_transmits <= 100 && p->solicit_rate &&
	       neigh_sizes_are_valid(&sizes);
}

size_t nd_memory_bytes(const struct nd_params *params)
{
	const struct neigh_sizes sizes = sizes_of(params);
	return neigh_table_bytes(&sizes);
}

int nd_init(struct nd *nd, const struct nd_params *params, void *mem, size_t bytes,
            const struct nd_ops *ops, void *ctx)
{
	const struct neigh_sizes sizes = sizes_of(params);
	if (!params_are_valid(params))
		return E_INVAL;
	if (neigh_table_bytes(&sizes) > bytes)
		return E_NOMEM;
	/* no compound literal: it has kilobytes and would lie on the stack */
	memset(nd, 0, sizeof *nd);
	nd->params = *params;
	nd->ops = ops;
	nd->ctx = ctx;
	neigh_table_init(&nd->table, &sizes, &params->key, mem);
	icmp_limit_init(&nd->solicits, params->solicit_rate, params->solicit_burst);
	icmp_limit_init(&nd->swaps, params->solicit_rate, params->solicit_burst);
	icmp_limit_init(&nd->adverts, params->solicit_rate, params->solicit_burst);
	nd_local_init(nd);
	return E_OK;
}

/* --- public: neighbours --- */

int nd_neigh_find(const struct nd *nd, unsigned interface, const struct net_addr *addr)
{
	uint32_t i = neigh_hash_find(&nd->table, interface, addr);
	return i == NEIGH_NIL ? E_NOENT : (int)i;
}

int nd_neigh_get(struct nd *nd, unsigned interface, const struct net_addr *addr)
{
	assert(interface < ND_INTERFACES_MAX);
	int known = nd_neigh_find(nd, interface, addr);
	uint32_t victim = neigh_evictable(&nd->table);
	if (known >= 0)
		return known;
	if (nd->table.free.head == NEIGH_NIL && victim != NEIGH_NIL) {
		/* lost, not unreachable: a sender that fills the table must not trigger ICMP errors
		 * as well */
		reset(nd, victim, nd->ops->lost);
		known = nd_neigh_find(nd, interface, addr); /* the ops may have added it */
		if (known >= 0)
			return known;
	}
	uint32_t i = neigh_take(&nd->table, interface, addr);
	if (i == NEIGH_NIL)
		return E_NOMEM;
	enter_state(nd, i, ND_UNRESOLVED);
	return (int)i;
}

bool nd_may_ask(struct nd *nd, uint64_t now_ns)
{
	if (icmp_limit_take(&nd->solicits, now_ns))
		return true;
	nd->ops->count(nd->ctx, CNT_nd_limited, 1);
	return false;
}

void nd_pin(struct nd *nd, unsigned index)
{
	assert(index < nd->params.neighbours && nd->table.neigh[index].state != ND_FREE);
	nd->table.neigh[index].pins++;
	relist(nd, index);
}

void nd_unpin(struct nd *nd, unsigned index)
{
	struct neigh *n = &nd->table.neigh[index];
	assert(index < nd->params.neighbours && n->pins > 0);
	if (--n->pins == 0 && n->state == ND_UNRESOLVED)
		reset(nd, index, nd->ops->unreachable);
	else
		relist(nd, index);
}

/* Handles a frame for a neighbour that is not resolved. */
static void output_waits(struct nd *nd, unsigned index, uint8_t *frame, unsigned len,
                         uint64_t now_ns)
{
	struct neigh *n = &nd->table.neigh[index];
	bool start = n->state == ND_UNRESOLVED;
	if (start)
		enter_state(nd, index, ND_INCOMPLETE);
	neigh_queue_add(&nd->table, index, ND_INCOMPLETE, frame, len, nd->ops->lost, nd->ctx);
	if (start && n->state == ND_INCOMPLETE)
		ask(nd, index, now_ns);
}

/* RFC 4861 7.3.3: the first packet starts DELAY. */
static void use_stale(struct nd *nd, unsigned index, uint64_t now_ns)
{
	rest(nd, index, ND_DELAY, now_ns);
	nd->ops->up(nd->ctx, index, nd->table.neigh[index].mac);
}

void nd_resolve(struct nd *nd, unsigned index, uint64_t now_ns)
{
	assert(index < nd->params.neighbours);
	const enum nd_state state = (enum nd_state)nd->table.neigh[index].state;
	if (state == ND_STALE) {
		use_stale(nd, index, now_ns);
	} else if (state == ND_UNRESOLVED) {
		enter_state(nd, index, ND_INCOMPLETE);
		ask(nd, index, now_ns);
	}
}

void nd_output(struct nd *nd, unsigned index, uint8_t *frame, unsigned len, uint64_t now_ns)
{
	assert(index < nd->params.neighbours);
	struct neigh *n = &nd->table.neigh[index];
	if (n->state == ND_STALE)
		use_stale(nd, index, now_ns);
	if (is_up(n)) {
		n->used = true;
		nd->ops->release(nd->ctx, index, frame, len);
	} else if (n->state == ND_UNRESOLVED || n->state == ND_INCOMPLETE) {
		output_waits(nd, index, frame, len, now_ns);
	} else {
		nd->ops->unreachable(nd->ctx, index, frame, len);
	}
}

void nd_used(struct nd *nd, unsigned index)
{
	assert(index < nd->params.neighbours);
	nd->table.neigh[index].used = true;
}

void nd_confirm(struct nd *nd, unsigned index, uint64_t now_ns)
{
	assert(index < nd->params.neighbours);
	struct neigh *n = &nd->table.neigh[index];
	uint8_t mac[ETH_ALEN];
	eth_copy(mac, n->mac);
	if (nd_neigh_is_cached(n) && n->state != ND_STATIC)
		nd_neigh_confirmed(nd, index, mac, now_ns);
}

void nd_flush_interface(struct nd *nd, unsigned interface)
{
	for (uint32_t i = 0; i < nd->params.neighbours; i++) {
		const struct neigh *n = &nd->table.neigh[i];
		if (n->interface == interface && n->state != ND_FREE && n->state != ND_STATIC)
			reset(nd, i, nd->ops->unreachable);
	}
}

int nd_set_static(struct nd *nd, unsigned interface, const struct net_addr *addr,
                  const uint8_t *mac)
{
	if (interface >= ND_INTERFACES_MAX || !eth_is_station(mac) || !ip6_is_unicast(addr))
		return E_INVAL;
	int i = nd_neigh_get(nd, interface, addr);
	if (i < 0)
		return i;
	bool was_up = is_up(&nd->table.neigh[i]);
	enter_state(nd, (uint32_t)i, ND_STATIC);
	neigh_timer_clear(&nd->table, (uint32_t)i);
	resolved(nd, (uint32_t)i, mac, was_up);
	return i;
}

int nd_restore(struct nd *nd, unsigned interface, const struct net_addr *addr, const uint8_t *mac,
               uint64_t now_ns)
{
	if (interface >= ND_INTERFACES_MAX || !eth_is_station(mac) ||
	    !nd_is_on_link(nd, interface, addr))
		return E_INVAL;
	const int i = nd_neigh_get(nd, interface, addr);
	if (i < 0 || nd->table.neigh[i].state == ND_STATIC)
		return i;
	const bool was_up = is_up(&nd->table.neigh[i]);
	rest(nd, (uint32_t)i, ND_DELAY, now_ns);
	resolved(nd, (uint32_t)i, mac, was_up);
	return i;
}

int nd_forget(struct nd *nd, unsigned interface, const struct net_addr *addr)
{
	uint32_t i = neigh_hash_find(&nd->table, interface, addr);
	if (i == NEIGH_NIL)
		return E_NOENT;
	reset(nd, i, nd->ops->unreachable);
	return E_OK;
}

/* --- public: time and display --- */

uint64_t nd_tick(struct nd *nd, uint64_t now_ns)
{
	nd_local_tick(nd, now_ns);
	while (neigh_deadline(&nd->table) <= now_ns)
		expire(nd, nd->table.heap[0], now_ns);
	return nd_deadline(nd);
}

uint64_t nd_deadline(const struct nd *nd)
{
	uint64_t local = nd_local_deadline(nd), neigh = neigh_deadline(&nd->table);
	return local < neigh ? local : neigh;
}

bool nd_next(const struct nd *nd, unsigned *cursor, uint64_t now_ns, struct nd_entry *out)
{
	while (*cursor < nd->params.neighbours) {
		unsigned i = (*cursor)++;
		const struct neigh *n = &nd->table.neigh[i];
		if (n->state == ND_FREE)
			continue;
		bool heard = n->heard_ns && n->state != ND_STATIC;
		*out = (struct nd_entry){
			.addr = n->addr,
			.index = i,
			.interface = n->interface,
			.state = (enum nd_state)n->state,
			.pinned = n->pins > 0,
			.role = (enum nd_role)n->role,
			.pending = n->queued,
			.age_ns = heard ? now_ns - n->heard_ns : 0,
		};
		eth_copy(out->mac, n->mac);
		return true;
	}
	return false;
}

const char *nd_state_name(enum nd_state state)
{
	static const char *const name[] = {
		[ND_FREE] = "free",
		[ND_UNRESOLVED] = "unresolved",
		[ND_INCOMPLETE] = "incomplete",
		[ND_REACHABLE] = "reachable",
		[ND_STALE] = "stale",
		[ND_DELAY] = "delay",
		[ND_PROBE] = "probe",
		[ND_FAILED] = "failed",
		[ND_STATIC] = "static",
	};
	return state < ARRAY_LEN(name) ? name[state] : "?";
}
