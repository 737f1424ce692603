/* See arp.h: the protocol and the life of a neighbour. The containers are in arp_table.c. */
#include "net/arp.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "net/arp_table.h"
#include "net/ip4.h"

static bool is_up(const struct arp_neigh *n)
{
	return n->state == ARP_REACHABLE || n->state == ARP_PROBE || n->state == ARP_STATIC;
}

/* --- our own addresses --- */

static bool local_is(const struct arp_local *l, unsigned port, uint32_t ip)
{
	return l->port == port && l->ip == ip;
}

static struct arp_local *local_find(struct arp *a, unsigned port, uint32_t ip)
{
	for (uint32_t i = 0; i < a->locals; i++)
		if (local_is(&a->local[i], port, ip))
			return &a->local[i];
	return NULL;
}

static bool local_on_any_port(const struct arp *a, uint32_t ip)
{
	for (uint32_t i = 0; i < a->locals; i++)
		if (a->local[i].ip == ip)
			return true;
	return false;
}

/* Our address on the port whose subnet ip is in; NULL when ip is not on that link. */
static const struct arp_local *local_towards(const struct arp *a, unsigned port, uint32_t ip)
{
	for (uint32_t i = 0; i < a->locals; i++) {
		const struct arp_local *l = &a->local[i];
		if (l->port == port && ip4_in_prefix(ip, l->ip, l->plen))
			return l;
	}
	return NULL;
}

static const struct arp_local *local_first(const struct arp *a, unsigned port)
{
	for (uint32_t i = 0; i < a->locals; i++)
		if (a->local[i].port == port)
			return &a->local[i];
	return NULL;
}

/* --- messages out --- */

/* dst: where the frame goes; tha: what the message says of the target. */
static void send_message(struct arp *a, const struct arp_local *from, uint16_t op,
                         const uint8_t *dst, const uint8_t *tha, uint32_t tpa)
{
	uint8_t frame[ARP_FRAME_LEN];
	struct arp_message m = {
		.htype = BE16(ARP_HTYPE_ETHERNET),
		.ptype = BE16(ETH_TYPE_IP4),
		.hlen = ETH_ALEN,
		.plen = 4,
		.op = be16_make(op),
		.spa = be32_make(from->ip),
		.tpa = be32_make(tpa),
	};
	eth_copy(m.sha, from->mac);
	eth_copy(m.tha, tha);
	eth_header_build(frame, dst, from->mac, ETH_TYPE_ARP);
	memcpy(frame + ETH_HLEN, &m, sizeof m);
	a->ops->count(a->ctx, op == ARP_OP_REQUEST ? CNT_arp_tx_request : CNT_arp_tx_reply, 1);
	a->ops->tx(a->ctx, from->port, frame, sizeof frame);
}

static const uint8_t mac_broadcast[ETH_ALEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t mac_zero[ETH_ALEN];

/* RFC 5227 2.3: a broadcast request whose sender and target address are ours. */
static void send_announcement(struct arp *a, const struct arp_local *l)
{
	send_message(a, l, ARP_OP_REQUEST, mac_broadcast, mac_zero, l->ip);
}

/* Asks for the neighbour; false when we have no address on the port to ask from. A next hop off
 * every subnet of the port is asked for from the port's first address. */
static bool send_request(struct arp *a, const struct arp_neigh *n)
{
	const struct arp_local *l = local_towards(a, n->port, n->ip);
	if (!l)
		l = local_first(a, n->port);
	if (!l)
		return false;
	/* RFC 1122 2.3.2.1 (2): what is known is polled unicast */
	bool unicast = n->state == ARP_PROBE;
	send_message(a, l, ARP_OP_REQUEST, unicast ? n->mac : mac_broadcast, mac_zero, n->ip);
	return true;
}

/* --- life of a neighbour --- */

/* Keeps the list of those that a full table may give up. After each change of state or pins. */
static void relist(struct arp *a, uint32_t i)
{
	struct arp_neigh *n = &a->neigh[i];
	bool evictable = n->pins == 0 && (n->state == ARP_FAILED || n->state == ARP_UNRESOLVED);
	if (evictable == n->listed)
		return;
	n->listed = evictable;
	if (evictable)
		arp_list_append(a, &a->evictable, i);
	else
		arp_list_remove(a, &a->evictable, i);
}

static void enter_state(struct arp *a, uint32_t i, enum arp_state state)
{
	a->neigh[i].state = (uint8_t)state;
	a->neigh[i].requests = 0;
	a->neigh[i].idle = false;
	relist(a, i);
}

/* Hands a detached chain to an op, frame by frame. The ops may do anything to the table, so
 * nothing of the neighbour is touched from here on. */
static void chain_end(struct arp *a, uint32_t i, uint32_t chain,
                      void (*op)(void *, unsigned, uint8_t *, unsigned))
{
	while (chain != ARP_NIL) {
		struct arp_slot *s = arp_slot_at(a, chain);
		uint32_t next = s->next;
		op(a->ctx, i, s->frame, s->len);
		arp_slot_free(a, chain);
		chain = next;
	}
}

static void fail(struct arp *a, uint32_t i, uint64_t now_ns)
{
	enter_state(a, i, ARP_FAILED);
	arp_timer_set(a, i, now_ns + a->params.hold_down_ns);
	chain_end(a, i, arp_queue_detach(a, i), a->ops->unreachable);
}

/* Sends the next request of INCOMPLETE or PROBE. */
static void ask(struct arp *a, uint32_t i, uint64_t now_ns)
{
	struct arp_neigh *n = &a->neigh[i];
	n->requests++;
	arp_timer_set(a, i, now_ns + a->params.retransmit_ns);
	if (!send_request(a, n) && n->state == ARP_INCOMPLETE)
		fail(a, i, now_ns);
}

static void probe(struct arp *a, uint32_t i, uint64_t now_ns)
{
	enter_state(a, i, ARP_PROBE);
	ask(a, i, now_ns);
}

/* Takes the neighbour out of use: UNRESOLVED when pinned, else FREE. Its queue is given up. */
static void reset(struct arp *a, uint32_t i)
{
	struct arp_neigh *n = &a->neigh[i];
	bool was_up = is_up(n);
	bool dies = n->pins == 0;
	uint32_t chain = arp_queue_detach(a, i);
	arp_timer_clear(a, i);
	if (dies)
		arp_hash_remove(a, i);
	enter_state(a, i, dies ? ARP_FREE : ARP_UNRESOLVED);
	if (was_up)
		a->ops->down(a->ctx, i);
	chain_end(a, i, chain, a->ops->unreachable);
	if (!dies)
		return;
	/* only now: while the op runs nobody can be given this index */
	a->ops->removed(a->ctx, i);
	arp_list_append(a, &a->free, i);
}

/* When a neighbour that was heard at `heard` is to be asked again, so early that its time does not
 * end while it has not answered. */
static uint64_t probe_time(const struct arp *a, uint64_t heard)
{
	uint64_t lead = a->params.retransmit_ns * a->params.max_probes;
	uint64_t whole = a->params.reachable_ns;
	return heard + (lead < whole ? whole - lead : whole / 2);
}

/* The state has become REACHABLE or STATIC with this MAC: says so when it is news, and lets go
 * what waits. */
static void resolved(struct arp *a, uint32_t i, const uint8_t *mac, bool was_up)
{
	struct arp_neigh *n = &a->neigh[i];
	bool news = !was_up || !eth_equal(n->mac, mac);
	uint32_t chain = arp_queue_detach(a, i);
	eth_copy(n->mac, mac);
	if (news)
		a->ops->up(a->ctx, i, mac);
	chain_end(a, i, chain, a->ops->release);
}

/* An acceptable message from this neighbour said that this is its MAC. */
static void heard(struct arp *a, uint32_t i, const uint8_t *mac, uint64_t now_ns)
{
	struct arp_neigh *n = &a->neigh[i];
	bool was_up = is_up(n);
	if (n->state == ARP_STATIC)
		return;
	enter_state(a, i, ARP_REACHABLE);
	n->heard_ns = now_ns;
	n->used = false;
	arp_timer_set(a, i, probe_time(a, now_ns));
	resolved(a, i, mac, was_up);
}

/* The neighbour's deadline has come. */
static void expire(struct arp *a, uint32_t i, uint64_t now_ns)
{
	struct arp_neigh *n = &a->neigh[i];
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
			arp_timer_set(a, i, n->heard_ns + a->params.reachable_ns);
		} else {
			reset(a, i);
		}
		break;
	case ARP_PROBE:
		if (n->requests < a->params.max_probes) {
			ask(a, i, now_ns);
		} else {
			/* the same tick sends the first broadcast request */
			enter_state(a, i, ARP_INCOMPLETE);
			arp_timer_set(a, i, now_ns);
			a->ops->down(a->ctx, i);
		}
		break;
	case ARP_FAILED:
		reset(a, i);
		break;
	case ARP_FREE:
	case ARP_UNRESOLVED:
	case ARP_STATIC:
		assert(false); /* these have no deadline */
	}
}

/* --- public: set-up --- */

static bool params_are_valid(const struct arp_params *p)
{
	return p->reachable_ns && p->retransmit_ns && p->hold_down_ns && p->max_probes &&
	       p->max_probes <= 100 && p->queue && p->queue <= 65535 && p->neighbours &&
	       p->neighbours <= 1u << 24 && p->pending && p->pending <= 1u << 24 &&
	       p->frame_max >= ETH_HLEN && p->frame_max <= 65535;
}

size_t arp_memory_bytes(const struct arp_params *params)
{
	struct arp a = {.params = *params};
	return arp_table_layout(&a, NULL);
}

int arp_init(struct arp *a, const struct arp_params *params, void *mem, size_t bytes,
             const struct arp_ops *ops, void *ctx)
{
	if (!params_are_valid(params))
		return E_INVAL;
	if (arp_memory_bytes(params) > bytes)
		return E_NOMEM;
	*a = (struct arp){.params = *params, .ops = ops, .ctx = ctx};
	arp_table_layout(a, mem);
	arp_table_clear(a);
	return E_OK;
}

static void announce_start(struct arp_local *l)
{
	l->announce_left = ARP_ANNOUNCE_NUM;
	l->announce_at = 0;
}

int arp_add_local(struct arp *a, unsigned port, uint32_t ip, unsigned plen, const uint8_t *mac)
{
	if (port > 255 || plen > 32 || ip4_src_is_martian(ip) || !eth_is_station(mac))
		return E_INVAL;
	struct arp_local *l = local_find(a, port, ip);
	if (!l) {
		if (a->locals == ARP_LOCALS_MAX)
			return E_NOMEM;
		l = &a->local[a->locals++];
		*l = (struct arp_local){.ip = ip, .port = (uint8_t)port};
	}
	l->plen = (uint8_t)plen;
	eth_copy(l->mac, mac);
	announce_start(l);
	return E_OK;
}

void arp_clear_local(struct arp *a, unsigned port)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < a->locals; i++)
		if (a->local[i].port != port)
			a->local[kept++] = a->local[i];
	a->locals = kept;
}

void arp_announce(struct arp *a, unsigned port)
{
	for (uint32_t i = 0; i < a->locals; i++)
		if (a->local[i].port == port)
			announce_start(&a->local[i]);
}

/* --- public: neighbours --- */

int arp_neigh_find(const struct arp *a, unsigned port, uint32_t ip)
{
	uint32_t i = arp_hash_find(a, port, ip);
	return i == ARP_NIL ? E_NOENT : (int)i;
}

int arp_neigh_get(struct arp *a, unsigned port, uint32_t ip)
{
	assert(port <= 255);
	uint32_t i = arp_hash_find(a, port, ip);
	if (i != ARP_NIL)
		return (int)i;
	if (a->free.head == ARP_NIL && a->evictable.head != ARP_NIL)
		reset(a, a->evictable.head);
	i = a->free.head;
	if (i == ARP_NIL)
		return E_NOMEM;
	arp_list_remove(a, &a->free, i);
	a->neigh[i] = (struct arp_neigh){.ip = ip, .port = (uint8_t)port, .heap_pos = ARP_NIL};
	arp_hash_add(a, i);
	enter_state(a, i, ARP_UNRESOLVED);
	return (int)i;
}

void arp_pin(struct arp *a, unsigned index)
{
	assert(index < a->params.neighbours && a->neigh[index].state != ARP_FREE);
	a->neigh[index].pins++;
	relist(a, index);
}

void arp_unpin(struct arp *a, unsigned index)
{
	struct arp_neigh *n = &a->neigh[index];
	assert(index < a->params.neighbours && n->pins > 0);
	if (--n->pins == 0 && n->state == ARP_UNRESOLVED)
		reset(a, index);
	else
		relist(a, index);
}

/* The frame waits; when the queue or the memory is full the neighbour's oldest goes for it, and if
 * there is none, or the frame is too long to wait, the frame itself is lost. */
static void enqueue(struct arp *a, unsigned index, uint8_t *frame, unsigned len)
{
	struct arp_neigh *n = &a->neigh[index];
	bool fits = len <= a->params.frame_max;
	if (fits && !arp_queue_has_room(a, index) && n->queued) {
		uint32_t slot = arp_queue_pop(a, index);
		struct arp_slot *s = arp_slot_at(a, slot);
		a->ops->lost(a->ctx, index, s->frame, s->len);
		arp_slot_free(a, slot);
	}
	/* the state is looked at again because the op may have called back in */
	if (fits && n->state == ARP_INCOMPLETE && arp_queue_has_room(a, index))
		arp_queue_push(a, index, frame, len);
	else
		a->ops->lost(a->ctx, index, frame, len);
}

void arp_output(struct arp *a, unsigned index, uint8_t *frame, unsigned len, uint64_t now_ns)
{
	assert(index < a->params.neighbours);
	struct arp_neigh *n = &a->neigh[index];
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
	if (start)
		enter_state(a, index, ARP_INCOMPLETE);
	enqueue(a, index, frame, len);
	if (start && n->state == ARP_INCOMPLETE)
		ask(a, index, now_ns);
}

void arp_used(struct arp *a, unsigned index, uint64_t now_ns)
{
	assert(index < a->params.neighbours);
	struct arp_neigh *n = &a->neigh[index];
	n->used = true;
	/* it would be gone in seconds, and is wanted after all */
	if (n->state == ARP_REACHABLE && n->idle)
		probe(a, index, now_ns);
}

void arp_flush_port(struct arp *a, unsigned port)
{
	for (uint32_t i = 0; i < a->params.neighbours; i++) {
		const struct arp_neigh *n = &a->neigh[i];
		if (n->port == port && n->state != ARP_FREE && n->state != ARP_STATIC)
			reset(a, i);
	}
}

int arp_set_static(struct arp *a, unsigned port, uint32_t ip, const uint8_t *mac)
{
	if (port > 255 || !eth_is_station(mac) || ip4_src_is_martian(ip))
		return E_INVAL;
	int i = arp_neigh_get(a, port, ip);
	if (i < 0)
		return i;
	bool was_up = is_up(&a->neigh[i]);
	enter_state(a, (uint32_t)i, ARP_STATIC);
	arp_timer_clear(a, (uint32_t)i);
	resolved(a, (uint32_t)i, mac, was_up);
	return i;
}

int arp_forget(struct arp *a, unsigned port, uint32_t ip)
{
	uint32_t i = arp_hash_find(a, port, ip);
	if (i == ARP_NIL)
		return E_NOENT;
	reset(a, i);
	return E_OK;
}

/* --- public: messages in --- */

/* May ip be a neighbour on this port: on a subnet of it, and no broadcast address of it. */
static bool is_on_link(const struct arp *a, unsigned port, uint32_t ip)
{
	const struct arp_local *l = local_towards(a, port, ip);
	return l && !ip4_src_is_martian(ip) && ip4_is_subnet_host(ip, l->plen);
}

static bool message_is_valid(const struct arp_message *m)
{
	uint16_t op = be16_get(m->op);
	return be16_get(m->htype) == ARP_HTYPE_ETHERNET && be16_get(m->ptype) == ETH_TYPE_IP4 &&
	       m->hlen == ETH_ALEN && m->plen == 4 && (op == ARP_OP_REQUEST || op == ARP_OP_REPLY);
}

/*
 * Somebody sent from our address. RFC 5227 2.4 (c) fits a router: it cannot give the address up, so
 * it defends it with an announcement, at most once in DEFEND_INTERVAL.
 */
static void conflict(struct arp *a, struct arp_local *l, uint64_t now_ns)
{
	a->ops->count(a->ctx, CNT_arp_conflict, 1);
	if (l->defended && now_ns - l->defended_at < ARP_DEFEND_INTERVAL_NS)
		return;
	l->defended = true;
	l->defended_at = now_ns;
	send_announcement(a, l);
}

enum counter arp_input(struct arp *a, unsigned port, const uint8_t *frame, unsigned len,
                       uint64_t now_ns)
{
	struct arp_message m;
	if (len < ARP_FRAME_LEN)
		return CNT_drop_arp_malformed;
	memcpy(&m, frame + ETH_HLEN, sizeof m);
	if (!message_is_valid(&m))
		return CNT_drop_arp_malformed;
	if (!local_first(a, port))
		return CNT_drop_port_down;

	uint32_t spa = be32_get(m.spa), tpa = be32_get(m.tpa);
	bool request = be16_get(m.op) == ARP_OP_REQUEST;
	struct arp_local *ours = local_find(a, port, spa);
	if (!eth_is_station(m.sha))
		return CNT_drop_arp_bad_sender;
	if (ours && !eth_equal(m.sha, ours->mac))
		conflict(a, ours, now_ns);
	/* RFC 5227 2.1.1: a request from 0.0.0.0 is a probe, answered but not learned from */
	bool is_probe = request && spa == 0;
	if (!is_probe && (local_on_any_port(a, spa) || !is_on_link(a, port, spa)))
		return CNT_drop_arp_bad_sender;

	/* RFC 826 "Packet Reception": first the merge, then, only if it is to us, the creation */
	int known = is_probe ? E_NOENT : arp_neigh_find(a, port, spa);
	const struct arp_local *target = local_find(a, port, tpa);
	if (known < 0 && target && request && !is_probe)
		known = arp_neigh_get(a, port, spa);
	if (known >= 0)
		heard(a, (uint32_t)known, m.sha, now_ns);
	if (!target) {
		bool news = known >= 0 && (!request || spa == tpa);
		return news ? CNT_delivered_arp : CNT_drop_arp_not_ours;
	}
	/* looked up again: the ops called by heard() may have changed our addresses */
	target = local_find(a, port, tpa);
	if (request && target)
		send_message(a, target, ARP_OP_REPLY, m.sha, m.sha, spa);
	return CNT_delivered_arp;
}

/* --- public: time and display --- */

static bool announcement_is_due(const struct arp_local *l, uint64_t now_ns)
{
	return l->announce_left && l->announce_at <= now_ns;
}

uint64_t arp_tick(struct arp *a, uint64_t now_ns)
{
	for (uint32_t i = 0; i < a->locals; i++) {
		struct arp_local *l = &a->local[i];
		if (!announcement_is_due(l, now_ns))
			continue;
		l->announce_left--;
		l->announce_at = now_ns + ARP_ANNOUNCE_INTERVAL_NS;
		send_announcement(a, l);
	}
	while (a->heap_len && a->neigh[a->heap[0]].deadline <= now_ns)
		expire(a, a->heap[0], now_ns);
	return arp_deadline(a);
}

uint64_t arp_deadline(const struct arp *a)
{
	uint64_t next = a->heap_len ? a->neigh[a->heap[0]].deadline : UINT64_MAX;
	for (uint32_t i = 0; i < a->locals; i++)
		if (a->local[i].announce_left && a->local[i].announce_at < next)
			next = a->local[i].announce_at;
	return next;
}

bool arp_next(const struct arp *a, unsigned *cursor, uint64_t now_ns, struct arp_entry *out)
{
	while (*cursor < a->params.neighbours) {
		unsigned i = (*cursor)++;
		const struct arp_neigh *n = &a->neigh[i];
		if (n->state == ARP_FREE)
			continue;
		bool known = !eth_is_zero(n->mac) && n->state != ARP_STATIC;
		*out = (struct arp_entry){
			.ip = n->ip,
			.index = i,
			.port = n->port,
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
