/* See arp.h: neighbour states and received messages. arp_local.c has our own addresses and sent
 * messages, neigh_table.c the containers. */
#include "net/arp_inside.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "net/ip4.h"

#define RESTORE_STEP_NS 2000000u /* spacing of requests to restored neighbours (arp_restore) */

static bool is_up(const struct neigh *n)
{
	return n->state == ARP_REACHABLE || n->state == ARP_PROBE || n->state == ARP_STATIC;
}

/* --- neighbour states --- */

/* Updates the list of neighbours that a full table may evict (RFC 6583 6.2, used for IPv4 as well).
 * First come those that have not answered. Then come, by age and thus with equal time, those still
 * being asked, and those known only because they asked for us. Called after each change of state,
 * pins or `wanted`. */
static void relist(struct arp *a, uint32_t i)
{
	const struct neigh *n = &a->table.neigh[i];
	unsigned which = NEIGH_UNLISTED;
	if (n->pins == 0 && (n->state == ARP_FAILED || n->state == ARP_UNRESOLVED))
		which = 0;
	else if (n->pins == 0 && (n->state == ARP_INCOMPLETE ||
	                          (n->state == ARP_REACHABLE && !n->wanted)))
		which = 1;
	neigh_relist(&a->table, i, which);
}

static void enter_state(struct arp *a, uint32_t i, enum arp_state state)
{
	a->table.neigh[i].state = (uint8_t)state;
	a->table.neigh[i].requests = 0;
	a->table.neigh[i].idle = false;
	relist(a, i);
}

static void fail(struct arp *a, uint32_t i, uint64_t now_ns)
{
	enter_state(a, i, ARP_FAILED);
	neigh_timer_set(&a->table, i, now_ns + a->params.hold_down_ns);
	neigh_chain_end(&a->table, i, neigh_queue_detach(&a->table, i), a->ops->unreachable, a->ctx);
}

/* Sends the next request of INCOMPLETE or PROBE. */
static void ask(struct arp *a, uint32_t i, uint64_t now_ns)
{
	struct neigh *n = &a->table.neigh[i];
	n->requests++;
	neigh_timer_set(&a->table, i, now_ns + a->params.retransmit_ns);
	if (!arp_send_request(a, n) && n->state == ARP_INCOMPLETE)
		fail(a, i, now_ns);
}

static void probe(struct arp *a, uint32_t i, uint64_t now_ns)
{
	enter_state(a, i, ARP_PROBE);
	ask(a, i, now_ns);
}

/* Takes the neighbour out of use: UNRESOLVED if pinned, else FREE. Its queued frames go to `op`. */
static void reset(struct arp *a, uint32_t i, neigh_frame_op *op)
{
	struct neigh *n = &a->table.neigh[i];
	bool was_up = is_up(n);
	bool dies = n->pins == 0;
	uint32_t chain = neigh_queue_detach(&a->table, i);
	neigh_timer_clear(&a->table, i);
	if (dies)
		neigh_hash_remove(&a->table, i);
	enter_state(a, i, dies ? ARP_FREE : ARP_UNRESOLVED);
	if (was_up)
		a->ops->down(a->ctx, i);
	neigh_chain_end(&a->table, i, chain, op, a->ctx);
	if (!dies)
		return;
	/* only now, so that the index is not reused while an op runs */
	a->ops->removed(a->ctx, i);
	neigh_free(&a->table, i);
}

/* When to ask a neighbour last heard at `heard` again: early enough for all probes to finish before
 * its time ends. */
static uint64_t probe_time(const struct arp *a, uint64_t heard)
{
	uint64_t lead = a->params.retransmit_ns * a->params.max_probes;
	uint64_t whole = a->params.reachable_ns;
	return heard + (lead < whole ? whole - lead : whole / 2);
}

/* The state has become REACHABLE or STATIC with this MAC: reports it if new, and releases the
 * queue. */
static void resolved(struct arp *a, uint32_t i, const uint8_t *mac, bool was_up)
{
	struct neigh *n = &a->table.neigh[i];
	bool news = !was_up || !eth_equal(n->mac, mac);
	uint32_t chain = neigh_queue_detach(&a->table, i);
	eth_copy(n->mac, mac);
	if (news)
		a->ops->up(a->ctx, i, mac);
	neigh_chain_end(&a->table, i, chain, a->ops->release, a->ctx);
}

/* An acceptable message gave this MAC for the neighbour. */
static void heard(struct arp *a, uint32_t i, const uint8_t *mac, uint64_t now_ns)
{
	struct neigh *n = &a->table.neigh[i];
	bool was_up = is_up(n);
	if (n->state == ARP_STATIC)
		return;
	enter_state(a, i, ARP_REACHABLE);
	n->heard_ns = now_ns;
	n->used = false;
	neigh_timer_set(&a->table, i, probe_time(a, now_ns));
	resolved(a, i, mac, was_up);
}

/* The neighbour's deadline has expired. */
static void expire(struct arp *a, uint32_t i, uint64_t now_ns)
{
	struct neigh *n = &a->table.neigh[i];
	switch ((enum arp_state)n->state) {
	case ARP_INCOMPLETE:
		if (n->requests < a->params.max_probes)
			ask(a, i, now_ns);
		else
			fail(a, i, now_ns);
		break;
	case ARP_REACHABLE:
		if (n->used || n->pins) {
			probe(a, i, now_ns);
		} else if (!n->idle) {
			n->idle = true;
			neigh_timer_set(&a->table, i, n->heard_ns + a->params.reachable_ns);
		} else {
			reset(a, i, a->ops->unreachable);
		}
		break;
	case ARP_PROBE:
		if (n->requests < a->params.max_probes) {
			ask(a, i, now_ns);
		} else {
			/* the same tick sends the first broadcast request */
			enter_state(a, i, ARP_INCOMPLETE);
			neigh_timer_set(&a->table, i, now_ns);
			a->ops->down(a->ctx, i);
		}
		break;
	case ARP_FAILED:
		reset(a, i, a->ops->unreachable);
		break;
	case ARP_FREE:
	case ARP_UNRESOLVED:
	case ARP_STATIC:
		assert(false); /* these states have no deadline */
	}
}

/* --- public: setup --- */

static struct neigh_sizes sizes_of(const struct arp_params *p)
{
	return (struct neigh_sizes){p->neighbours, p->queue, p->pending, p->frame_max};
}

static bool params_are_valid(const struct arp_params *p)
{
	const struct neigh_sizes sizes = sizes_of(p);
	return p->reachable_ns && p->retransmit_ns && p->hold_down_ns && p->max_probes && p->ask_rate &&
	       p->max_probes <= 100 && neigh_sizes_are_valid(&sizes);
}

size_t arp_memory_bytes(const struct arp_params *params)
{
	const struct neigh_sizes sizes = sizes_of(params);
	return neigh_table_bytes(&sizes);
}

int arp_init(struct arp *a, const struct arp_params *params, void *mem, size_t bytes,
             const struct arp_ops *ops, void *ctx)
{
	if (!params_are_valid(params))
		return E_INVAL;
	if (arp_memory_bytes(params) > bytes)
		return E_NOMEM;
	*a = (struct arp){.params = *params, .ops = ops, .ctx = ctx};
	/* the subnet bounds the neighbours on a link, so no secret is needed against collisions */
	const struct siphash_key key = {0, 0};
	const struct neigh_sizes sizes = sizes_of(params);
	neigh_table_init(&a->table, &sizes, &key, mem);
	icmp_limit_init(&a->asks, params->ask_rate, params->ask_burst);
	icmp_limit_init(&a->swaps, params->ask_rate, params->ask_burst);
	return E_OK;
}

/* --- public: neighbours --- */

static uint32_t find(const struct arp *a, unsigned interface, uint32_t ip)
{
	const struct net_addr addr = net_addr_ip4(ip);
	return neigh_hash_find(&a->table, interface, &addr);
}

int arp_neigh_find(const struct arp *a, unsigned interface, uint32_t ip)
{
	uint32_t i = find(a, interface, ip);
	return i == NEIGH_NIL ? E_NOENT : (int)i;
}

/* The neighbour to evict from a full table; NEIGH_NIL: none. Those found in use are kept. */
static uint32_t victim_of(struct arp *a)
{
	for (;;) {
		uint32_t i = neigh_evictable(&a->table);
		if (i == NEIGH_NIL || a->table.neigh[i].state != ARP_REACHABLE || !a->ops->in_use ||
		    !a->ops->in_use(a->ctx, i))
			return i;
		a->table.neigh[i].wanted = true;
		relist(a, i);
	}
}

int arp_neigh_get(struct arp *a, unsigned interface, uint32_t ip)
{
	const struct net_addr addr = net_addr_ip4(ip);
	uint32_t i = neigh_hash_find(&a->table, interface, &addr);
	if (i != NEIGH_NIL)
		return (int)i;
	uint32_t victim = a->table.free.head == NEIGH_NIL ? victim_of(a) : NEIGH_NIL;
	if (victim != NEIGH_NIL) {
		/* lost, not unreachable: a sender that fills the table must not trigger ICMP errors
		 * as well */
		reset(a, victim, a->ops->lost);
		i = neigh_hash_find(&a->table, interface, &addr); /* the ops may have added it */
		if (i != NEIGH_NIL)
			return (int)i;
	}
	i = neigh_take(&a->table, interface, &addr);
	if (i == NEIGH_NIL)
		return E_NOMEM;
	enter_state(a, i, ARP_UNRESOLVED);
	return (int)i;
}

bool arp_may_ask(struct arp *a, uint64_t now_ns)
{
	if (icmp_limit_take(&a->asks, now_ns))
		return true;
	a->ops->count(a->ctx, CNT_arp_limited, 1);
	return false;
}

void arp_pin(struct arp *a, unsigned index)
{
	assert(index < a->params.neighbours && a->table.neigh[index].state != ARP_FREE);
	a->table.neigh[index].pins++;
	relist(a, index);
}

void arp_unpin(struct arp *a, unsigned index)
{
	struct neigh *n = &a->table.neigh[index];
	assert(index < a->params.neighbours && n->pins > 0);
	if (--n->pins == 0 && n->state == ARP_UNRESOLVED)
		reset(a, index, a->ops->unreachable);
	else
		relist(a, index);
}

void arp_output(struct arp *a, unsigned index, uint8_t *frame, unsigned len, uint64_t now_ns)
{
	assert(index < a->params.neighbours);
	struct neigh *n = &a->table.neigh[index];
	if (is_up(n)) {
		arp_used(a, index, now_ns);
		a->ops->release(a->ctx, index, frame, len);
		return;
	}
	if (n->state == ARP_FAILED || n->state == ARP_FREE) {
		a->ops->unreachable(a->ctx, index, frame, len);
		return;
	}
	bool start = n->state == ARP_UNRESOLVED;
	n->wanted = true;
	if (start)
		enter_state(a, index, ARP_INCOMPLETE);
	neigh_queue_add(&a->table, index, ARP_INCOMPLETE, frame, len, a->ops->lost, a->ctx);
	if (start && n->state == ARP_INCOMPLETE)
		ask(a, index, now_ns);
}

void arp_resolve(struct arp *a, unsigned index, uint64_t now_ns)
{
	assert(index < a->params.neighbours);
	if (a->table.neigh[index].state != ARP_UNRESOLVED)
		return;
	enter_state(a, index, ARP_INCOMPLETE);
	ask(a, index, now_ns);
}

void arp_used(struct arp *a, unsigned index, uint64_t now_ns)
{
	assert(index < a->params.neighbours);
	struct neigh *n = &a->table.neigh[index];
	n->used = true;
	n->wanted = true;
	relist(a, index);
	/* it was about to be removed */
	if (n->state == ARP_REACHABLE && n->idle)
		probe(a, index, now_ns);
}

void arp_flush_interface(struct arp *a, unsigned interface)
{
	for (uint32_t i = 0; i < a->params.neighbours; i++) {
		const struct neigh *n = &a->table.neigh[i];
		if (n->interface == interface && n->state != ARP_FREE && n->state != ARP_STATIC)
			reset(a, i, a->ops->unreachable);
	}
}

int arp_set_static(struct arp *a, unsigned interface, uint32_t ip, const uint8_t *mac)
{
	if (interface > 255 || !eth_is_station(mac) || ip4_src_is_martian(ip))
		return E_INVAL;
	int i = arp_neigh_get(a, interface, ip);
	if (i < 0)
		return i;
	bool was_up = is_up(&a->table.neigh[i]);
	enter_state(a, (uint32_t)i, ARP_STATIC);
	neigh_timer_clear(&a->table, (uint32_t)i);
	resolved(a, (uint32_t)i, mac, was_up);
	return i;
}

int arp_restore(struct arp *a, unsigned interface, uint32_t ip, const uint8_t *mac, uint64_t now_ns)
{
	if (!eth_is_station(mac))
		return E_INVAL;
	const int i = arp_neigh_get(a, interface, ip);
	if (i < 0 || a->table.neigh[i].state == ARP_STATIC)
		return i;
	heard(a, (uint32_t)i, mac, now_ns);
	struct neigh *n = &a->table.neigh[i];
	if (n->state != ARP_REACHABLE) /* an op has changed the state */
		return i;
	n->used = true;
	n->wanted = true;
	relist(a, (uint32_t)i);
	neigh_timer_set(&a->table, (uint32_t)i,
	                now_ns + a->params.retransmit_ns + (unsigned)i * RESTORE_STEP_NS);
	return i;
}

int arp_forget(struct arp *a, unsigned interface, uint32_t ip)
{
	uint32_t i = find(a, interface, ip);
	if (i == NEIGH_NIL)
		return E_NOENT;
	reset(a, i, a->ops->unreachable);
	return E_OK;
}

/* --- public: messages in --- */

static bool message_is_valid(const struct arp_message *m)
{
	uint16_t op = be16_get(m->op);
	return be16_get(m->htype) == ARP_HTYPE_ETHERNET && be16_get(m->ptype) == ETH_TYPE_IP4 &&
	       m->hlen == ETH_ALEN && m->plen == 4 && (op == ARP_OP_REQUEST || op == ARP_OP_REPLY);
}

/* May an unknown sender of a request be added? Eviction of another neighbour for it is
 * rate-limited, so that forged senders cannot churn the table. */
static bool may_learn(struct arp *a, uint64_t now_ns)
{
	if (a->table.free.head != NEIGH_NIL || icmp_limit_take(&a->swaps, now_ns))
		return true;
	a->ops->count(a->ctx, CNT_arp_limited, 1);
	return false;
}

enum counter arp_input(struct arp *a, unsigned interface, const uint8_t *frame, unsigned len,
                       uint64_t now_ns)
{
	struct arp_message m;
	if (len < ARP_FRAME_LEN)
		return CNT_drop_arp_malformed;
	memcpy(&m, frame + ETH_HLEN, sizeof m);
	if (!message_is_valid(&m))
		return CNT_drop_arp_malformed;
	if (!arp_local_first(a, interface))
		return CNT_drop_port_down;

	uint32_t spa = be32_get(m.spa), tpa = be32_get(m.tpa);
	bool request = be16_get(m.op) == ARP_OP_REQUEST;
	struct arp_local *ours = arp_local_find(a, interface, spa);
	if (!eth_is_station(m.sha))
		return CNT_drop_arp_bad_sender;
	if (ours && !eth_equal(m.sha, ours->mac))
		arp_local_conflict(a, ours, m.sha, now_ns);
	/* RFC 5227 2.1.1: a request from 0.0.0.0 is a probe, answered but not learned from */
	bool is_probe = request && spa == 0;
	if (!is_probe && (arp_local_on_any_interface(a, spa) || !arp_is_on_link(a, interface, spa)))
		return CNT_drop_arp_bad_sender;

	/* RFC 826 "Packet Reception": first update; add only if the message is for us */
	int known = is_probe ? E_NOENT : arp_neigh_find(a, interface, spa);
	const struct arp_local *target = arp_local_find(a, interface, tpa);
	if (known < 0 && target && request && !is_probe && may_learn(a, now_ns))
		known = arp_neigh_get(a, interface, spa);
	if (known >= 0)
		heard(a, (uint32_t)known, m.sha, now_ns);
	if (!target) {
		bool news = known >= 0 && (!request || spa == tpa);
		return news ? CNT_delivered_arp : CNT_drop_arp_not_ours;
	}
	/* looked up again: ops called by heard() may have changed our addresses */
	target = arp_local_find(a, interface, tpa);
	if (request && target)
		arp_send(a, target, ARP_OP_REPLY, m.sha, m.sha, spa);
	return CNT_delivered_arp;
}

/* --- public: time and display --- */

uint64_t arp_tick(struct arp *a, uint64_t now_ns)
{
	arp_local_tick(a, now_ns);
	while (neigh_deadline(&a->table) <= now_ns)
		expire(a, a->table.heap[0], now_ns);
	return arp_deadline(a);
}

uint64_t arp_deadline(const struct arp *a)
{
	uint64_t local = arp_local_deadline(a), neigh = neigh_deadline(&a->table);
	return local < neigh ? local : neigh;
}

bool arp_next(const struct arp *a, unsigned *cursor, uint64_t now_ns, struct arp_entry *out)
{
	while (*cursor < a->params.neighbours) {
		unsigned i = (*cursor)++;
		const struct neigh *n = &a->table.neigh[i];
		if (n->state == ARP_FREE)
			continue;
		bool known = !eth_is_zero(n->mac) && n->state != ARP_STATIC;
		*out = (struct arp_entry){
			.ip = net_addr_to_ip4(&n->addr),
			.index = i,
			.interface = n->interface,
			.state = (enum arp_state)n->state,
			.pinned = n->pins > 0,
			.pending = n->queued,
			.age_ns = known ? now_ns - n->heard_ns : 0,
		};
		eth_copy(out->mac, n->mac);
		return true;
	}
	return false;
}

const char *arp_state_name(enum arp_state state)
{
	static const char *const name[] = {
		[ARP_FREE] = "free",
		[ARP_UNRESOLVED] = "unresolved",
		[ARP_INCOMPLETE] = "incomplete",
		[ARP_REACHABLE] = "reachable",
		[ARP_PROBE] = "probe",
		[ARP_FAILED] = "failed",
		[ARP_STATIC] = "static",
	};
	return state < ARRAY_LEN(name) ? name[state] : "?";
}
