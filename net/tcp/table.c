/*
 * An instance and its connections: memory, the hash table, ports, the pending list, the end of a
 * connection.
 */
#include "lib/divide.h"
#include "lib/mem.h"
#include "net/tcp/inside.h"

#define RCV_MSS_FIRST 536 /* before any segment, whatever the version: to acknowledge too early is
                             better than a peer of small segments that waits */
#define PORT_TRIES 4096 /* in looking for an ephemeral port */
#define RECYCLE_TRIES 16 /* in looking for a TIME-WAIT that has nothing to send */

static uint32_t bucket_count(uint32_t connections)
{
	uint32_t n = 64;
	while (n < connections && n < 1u << 30)
		n *= 2;
	return n;
}

size_t tcp_memory_bytes(const struct tcp_params *p)
{
	return align_up(sizeof(struct tcp), CACHE_LINE) +
	       align_up(p->connections * sizeof(struct tcp_conn), CACHE_LINE) +
	       align_up(bucket_count(p->connections) * sizeof(uint32_t), CACHE_LINE) +
	       align_up(p->listeners * sizeof(struct tcp_listen), CACHE_LINE);
}

/* The smallest scale with which the largest rcv_buf fits the window field (RFC 7323 2.2). */
static uint8_t window_scale(uint32_t rcv_buf)
{
	uint8_t shift = 0;
	while (shift < TCP_WSCALE_MAX && rcv_buf >> shift > 0xffff)
		shift++;
	return shift;
}

struct tcp *tcp_init(void *mem, const struct tcp_params *params, struct bufpool *pool,
                     struct counters *cnt, const struct siphash_key *key,
                     const struct tcp_ops *ops, void *ctx, uint64_t now_us)
{
	uint8_t *at = mem;
	struct tcp *t = mem;
	*t = (struct tcp){.p = *params, .ops = ops, .ctx = ctx, .pool = pool, .cnt = cnt, .key = *key};
	for (uint64_t i = 0; i < ARRAY_LEN(t->hash_key); i++)
		t->hash_key[i] = siphash24(key, &i, sizeof i);
	at += align_up(sizeof *t, CACHE_LINE);
	t->conns = (struct tcp_conn *)(void *)at;
	at += align_up(params->connections * sizeof(struct tcp_conn), CACHE_LINE);
	t->buckets = (uint32_t *)(void *)at;
	t->bucket_mask = bucket_count(params->connections) - 1;
	at += align_up((t->bucket_mask + 1) * sizeof(uint32_t), CACHE_LINE);
	t->listener = (struct tcp_listen *)(void *)at;
	/* tcp_conn_new writes a record on first use. A million records take half a gigabyte, and
	 * pages that no connection needs stay untouched. */
	memset(t->buckets, 0, (size_t)(t->bucket_mask + 1) * sizeof *t->buckets);
	memset(t->listener, 0, params->listeners * sizeof *t->listener);
	t->pending = (struct tcp_list){TCP_NONE, TCP_NONE};
	for (unsigned w = 0; w < TCP_WAYS; w++)
		t->waiting[w] = t->pending;
	t->age_first = t->age_last = TCP_NONE;
	t->rcv_wscale = window_scale(u32_max(tcp_rcv_buf_most(params), params->rcv_buf_given));
	/* The tick is the clock in ms, so instances with one clock have the same timestamps. */
	t->now_us = now_us;
	t->tick = divide(now_us, 1000);
	t->tick_us = t->tick * 1000;
	t->now_ms = (uint32_t)t->tick;
	t->moves = (uint32_t)siphash24(key, &now_us, sizeof now_us);
	wheel_init(&t->wheel, t->conns, sizeof(struct tcp_conn), offsetof(struct tcp_conn, wheel),
	           t->tick);
	return t;
}

void tcp_set_now(struct tcp *t, uint64_t now_us)
{
	uint64_t passed = now_us - t->tick_us;
	t->now_us = now_us;
	/* in steps that fit 32-bit division; nearly always one */
	while (passed >= 1000) {
		uint32_t step = passed > 0xfff00000u ? 0xfff00000u : (uint32_t)passed;
		uint32_t ms = step / 1000;
		t->tick += ms;
		t->tick_us += ms * 1000ull;
		passed = now_us - t->tick_us;
	}
	t->now_ms = (uint32_t)t->tick;
}

/* --- the hash table --- */

struct tcp_conn *tcp_conn_twin(const struct tcp *t, const struct tcp_conn *c)
{
	uint32_t hash = tcp_hash(t, &c->remote, c->remote_port, &c->local, c->local_port);
	return tcp_find_key(t, hash, &c->remote, c->remote_port, &c->local, c->local_port);
}

void tcp_conn_hash(struct tcp *t, struct tcp_conn *c)
{
	uint32_t hash = tcp_hash(t, &c->remote, c->remote_port, &c->local, c->local_port);
	uint32_t *bucket = &t->buckets[hash & t->bucket_mask];
	c->hash_next = *bucket;
	*bucket = conn_index(t, c) + 1;
}

void tcp_conn_unhash(struct tcp *t, struct tcp_conn *c)
{
	uint32_t hash = tcp_hash(t, &c->remote, c->remote_port, &c->local, c->local_port);
	uint32_t *at = &t->buckets[hash & t->bucket_mask];
	while (*at != conn_index(t, c) + 1)
		at = &t->conns[*at - 1].hash_next;
	*at = c->hash_next;
}

/* --- connections --- */

void tcp_set_state(struct tcp *t, struct tcp_conn *c, enum tcp_state state)
{
	t->states[c->state]--;
	t->states[state]++;
	c->state = (uint8_t)state;
}

/* Without a free record the oldest TIME-WAIT gives its own: it protects against old segments, and a
 * new connection is worth more than that. One on the pending list is passed over: it has its peer's
 * FIN to acknowledge, and its record would not be free before tcp_flush. */
static bool recycle_time_wait(struct tcp *t)
{
	uint32_t index = t->age_first;
	for (unsigned tries = 0; index != TCP_NONE && tries < RECYCLE_TRIES; tries++) {
		struct tcp_conn *c = &t->conns[index];
		if (!(c->flags & CONN_PENDING)) {
			tcp_conn_end(t, c, E_OK, true);
			tcp_count_event(t, CNT_tcp_time_wait_recycled);
			return true;
		}
		index = c->age_next;
	}
	return false;
}

/* Takes the most recently freed record, which is still in cache; else the first never used; else
 * that of a TIME-WAIT. Returns its index, or TCP_NONE. */
static uint32_t take_record(struct tcp *t)
{
	if (t->free == 0 && t->records < t->p.connections)
		return t->records++;
	if (t->free == 0 && !recycle_time_wait(t))
		return TCP_NONE;
	uint32_t index = t->free - 1;
	t->free = t->conns[index].hash_next;
	return index;
}

struct tcp_conn *tcp_conn_new(struct tcp *t, const struct net_addr *local, uint16_t local_port,
                              const struct net_addr *remote, uint16_t remote_port)
{
	uint32_t index = take_record(t);
	if (index == TCP_NONE)
		return NULL;
	struct tcp_conn *c = &t->conns[index];
	t->connections++;
	*c = (struct tcp_conn){
		.remote = *remote,
		.local = *local,
		.remote_port = remote_port,
		.local_port = local_port,
		.tcp = t,
		.pending_next = TCP_NONE,
		.age_next = TCP_NONE,
		.age_prev = TCP_NONE,
		.ip_hlen = (uint8_t)ip_header_bytes(remote),
		.pseudo = ip_pseudo_sum(local, remote, IP_PROTO_TCP),
		.rcv_buf = t->p.rcv_buf,
		.tune_rtt_ms = UINT32_MAX,
		.ooo = TCP_NONE,
		.q_first = TCP_NONE,
		.q_last = TCP_NONE,
		.q_unsent = TCP_NONE,
		.path_mtu = (uint16_t)tcp_link_mtu(t, remote),
		.peer_mss = tcp_mss_default(remote),
		.rcv_mss = RCV_MSS_FIRST,
		.rto_us = 1000000, /* RFC 6298 2.1 */
		.reo_mult = 1,
		.heard_ms = t->now_ms,
		.sent_ms = t->now_ms,
		.stuck_ms = t->now_ms,
		.user_timeout_ms = t->p.user_timeout_ms,
		.flags = t->p.keepalive_ms ? CONN_KEEPALIVE : 0,
	};
	tcp_conn_hash(t, c);
	t->states[TCP_CLOSED]++;
	return c;
}

static void age_append(struct tcp *t, struct tcp_conn *c)
{
	c->age_prev = t->age_last;
	c->age_next = TCP_NONE;
	if (t->age_last != TCP_NONE)
		t->conns[t->age_last].age_next = conn_index(t, c);
	else
		t->age_first = conn_index(t, c);
	t->age_last = conn_index(t, c);
}

static void age_remove(struct tcp *t, struct tcp_conn *c)
{
	if (c->age_prev != TCP_NONE)
		t->conns[c->age_prev].age_next = c->age_next;
	else
		t->age_first = c->age_next;
	if (c->age_next != TCP_NONE)
		t->conns[c->age_next].age_prev = c->age_prev;
	else
		t->age_last = c->age_prev;
}

/* Releases all buffers and deadlines; keeps identity and sequence numbers. */
static void strip(struct tcp *t, struct tcp_conn *c)
{
	tcp_queue_free(t, c);
	tcp_ranges_free(t, c);
	c->armed = 0;
	wheel_remove(&t->wheel, conn_index(t, c));
}

static void free_record(struct tcp *t, struct tcp_conn *c)
{
	c->hash_next = t->free;
	t->free = conn_index(t, c) + 1;
	t->connections--;
	t->states[TCP_CLOSED]--;
}

/* Is it counted in tcp.fastopen? */
static bool is_fastopen(const struct tcp_conn *c)
{
	return c->flags & CONN_FASTOPEN && c->flags & CONN_PASSIVE && c->state == TCP_SYN_RECEIVED;
}

void tcp_conn_end(struct tcp *t, struct tcp_conn *c, int why, bool tell)
{
	if (c->state == TCP_CLOSED)
		return;
	if (c->state == TCP_TIME_WAIT)
		age_remove(t, c);
	t->fastopen -= is_fastopen(c);
	strip(t, c);
	tcp_conn_unhash(t, c);
	tcp_set_state(t, c, TCP_CLOSED);
	/* The application may still read the connection in closed(); the record is freed only
	 * afterwards. */
	bool pending = c->flags & CONN_PENDING;
	c->flags |= CONN_PENDING;
	if (tell && c->flags & CONN_ACCEPTED) {
		c->flags &= ~(uint32_t)CONN_ACCEPTED;
		if (c->app->closed)
			c->app->closed(c, why);
	}
	if (!pending)
		free_record(t, c);
}

void tcp_time_wait(struct tcp *t, struct tcp_conn *c)
{
	strip(t, c);
	age_append(t, c);
	tcp_set_state(t, c, TCP_TIME_WAIT);
	tcp_timer_set(t, c, TIMER_LIFE, t->p.time_wait_ms);
	tcp_count_event(t, CNT_tcp_closes);
	/* Both sides have closed: the application's connection ends, the record stays. */
	if (c->flags & CONN_ACCEPTED) {
		c->flags &= ~(uint32_t)CONN_ACCEPTED;
		if (c->app->closed)
			c->app->closed(c, E_OK);
	}
}

/* --- connections that move --- */

void tcp_conn_freeze(struct tcp *t, struct tcp_conn *c)
{
	if (c->state == TCP_TIME_WAIT)
		age_remove(t, c);
	t->fastopen -= is_fastopen(c);
	wheel_remove(&t->wheel, conn_index(t, c));
	tcp_conn_unhash(t, c);
	c->frozen = c->state;
	tcp_set_state(t, c, TCP_CLOSED);
}

void tcp_conn_thaw(struct tcp *t, struct tcp_conn *c)
{
	tcp_conn_hash(t, c);
	tcp_set_state(t, c, (enum tcp_state)c->frozen);
	c->frozen = 0;
	t->fastopen += is_fastopen(c);
	if (c->state == TCP_TIME_WAIT)
		age_append(t, c);
}

void tcp_conn_forget(struct tcp *t, struct tcp_conn *c)
{
	strip(t, c);
	c->frozen = 0;
	if (!(c->flags & CONN_PENDING)) /* else tcp_flush frees it */
		free_record(t, c);
}

/* --- ports --- */

/*
 * RFC 6056 3.3.3, simple hash-based selection: a secret offset per peer, so that an attacker cannot
 * guess the next port, and a counter, so that a port is not reused soon.
 */
uint16_t tcp_port_choose(struct tcp *t, const struct net_addr *local, const struct net_addr *remote,
                         uint16_t remote_port)
{
	uint32_t span = (uint32_t)t->p.port_last - t->p.port_first + 1;
	const uint64_t peer[] = {
		(uint64_t)remote->w[0] << 32 | remote->w[1], (uint64_t)remote->w[2] << 32 | remote->w[3],
		(uint64_t)local->w[0] << 32 | local->w[1], (uint64_t)local->w[2] << 32 | local->w[3],
		remote_port};
	uint32_t offset = (uint32_t)siphash13_words(&t->key, peer, ARRAY_LEN(peer));
	for (uint32_t i = 0; i < span && i < PORT_TRIES; i++) {
		uint16_t port = (uint16_t)(t->p.port_first + (offset + t->port_next++) % span);
		if (t->ops->ours && !t->ops->ours(t->ctx, local, port, remote, remote_port))
			continue;
		uint32_t hash = tcp_hash(t, remote, remote_port, local, port);
		struct tcp_conn *c = tcp_find_key(t, hash, remote, remote_port, local, port);
		if (!c)
			return port;
	}
	return 0;
}

/* --- the pending list --- */

static void append(struct tcp *t, struct tcp_list *l, struct tcp_conn *c)
{
	c->pending_next = TCP_NONE;
	if (l->first == TCP_NONE)
		l->first = conn_index(t, c);
	else
		t->conns[l->last].pending_next = conn_index(t, c);
	l->last = conn_index(t, c);
}

static struct tcp_conn *take_first(struct tcp *t, struct tcp_list *l)
{
	struct tcp_conn *c = &t->conns[l->first];
	l->first = c->pending_next;
	return c;
}

void tcp_touch_first(struct tcp *t, struct tcp_conn *c)
{
	c->flags |= CONN_PENDING;
	append(t, &t->pending, c);
}

/* Keeps CONN_PENDING, so tcp_touch does not queue the connection a second time. */
static void wait_for(struct tcp *t, struct tcp_conn *c, unsigned way)
{
	assert(way <= TCP_WAYS);
	append(t, &t->waiting[way - 1], c);
	t->ways |= 1u << (way - 1);
}

void tcp_flush(struct tcp *t)
{
	while (t->pending.first != TCP_NONE) {
		struct tcp_conn *c = take_first(t, &t->pending);
		unsigned way;
		if (c->state == TCP_CLOSED) {
			c->flags &= ~(uint32_t)CONN_PENDING;
			if (!c->frozen)
				free_record(t, c);
		} else if (unlikely((way = tcp_way_full(t, c)) != 0)) {
			wait_for(t, c, way);
		} else {
			c->flags &= ~(uint32_t)CONN_PENDING;
			tcp_output(t, c);
		}
	}
}

/* Lets the connections waiting for a way send, until there is no room for the first of them. A
 * connection with more to send goes to the end of the list. */
static void wake(struct tcp *t, unsigned way)
{
	struct tcp_list *l = &t->waiting[way - 1];
	while (l->first != TCP_NONE) {
		const struct tcp_conn *c = &t->conns[l->first];
		if (c->state != TCP_CLOSED && tcp_way_full(t, c) == way)
			return;
		append(t, &t->pending, take_first(t, l));
		tcp_flush(t);
	}
	t->ways &= ~(1u << (way - 1));
}

void tcp_room(struct tcp *t, uint64_t now_us)
{
	if (likely(t->ways == 0))
		return;
	tcp_set_now(t, now_us);
	t->busy = true;
	for (unsigned way = 1; way <= TCP_WAYS; way++)
		if (t->ways >> (way - 1) & 1)
			wake(t, way);
	t->busy = false;
}

uint32_t tcp_count(const struct tcp *t, enum tcp_state state)
{
	return t->states[state];
}

uint32_t tcp_connections(const struct tcp *t)
{
	return t->connections - t->states[TCP_CLOSED];
}

struct tcp_conn *tcp_next(const struct tcp *t, uint32_t *cursor, uint32_t looks)
{
	uint32_t left = t->records - *cursor, end = *cursor + u32_min(looks, left);
	while (*cursor < end) {
		struct tcp_conn *c = &t->conns[(*cursor)++];
		if (c->state != TCP_CLOSED)
			return c;
	}
	return NULL;
}
