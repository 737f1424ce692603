/* See reassembly.h. */
#include "net/reassembly.h"

#include "lib/assert.h"
#include "lib/bytes.h"
#include "lib/mem.h"
#include "net/ip.h"
#include "net/ip4.h"

#define NIL UINT32_MAX
#define UNIT 8 /* bytes per bit of the maps: fragments begin at multiples of it */

/* A fragment of either family. */
struct piece {
	struct reassembly_key key;
	const uint8_t *packet;
	const uint8_t *data;
	unsigned head_len; /* bytes of the packet in front of data */
	unsigned next_at;
	unsigned len;      /* bytes of data */
	unsigned offset;   /* of data in the datagram */
	unsigned interface;
	bool more;
	uint8_t ecn;
};

/* --- slots and maps --- */

static unsigned round_up(unsigned n, unsigned to) { return (n + to - 1) / to * to; }

static unsigned data_room(const struct reassembly_params *p) { return round_up(p->data_max, UNIT); }

static unsigned map_words(const struct reassembly_params *p)
{
	/* one more bit than units, since is_copy also tests for a fragment directly after the last
	 * unit */
	return data_room(p) / UNIT / 32 + 1;
}

static unsigned place_bytes(const struct reassembly_params *p)
{
	return round_up(REASSEMBLY_HEAD_MAX + data_room(p) + 2 * 4 * map_words(p), 8);
}

static unsigned hash_size(const struct reassembly_params *p)
{
	unsigned n = 1;
	while (n < p->datagrams)
		n *= 2;
	return n;
}

static uint8_t *place_data(const struct reassembly *r, uint32_t index)
{
	return r->places + (size_t)index * r->place_bytes + REASSEMBLY_HEAD_MAX;
}

/* Map of received units. */
static uint32_t *map_have(const struct reassembly *r, uint32_t index)
{
	return (uint32_t *)(void *)(place_data(r, index) + data_room(&r->params));
}

/* Map of units with which a fragment begins. */
static uint32_t *map_begins(const struct reassembly *r, uint32_t index)
{
	return map_have(r, index) + r->map_words;
}
/* all lengths in front of the maps are multiples of 4 */
_Static_assert(REASSEMBLY_HEAD_MAX % 4 == 0, "alignment of the maps");

static bool bit(const uint32_t *map, unsigned i) { return map[i / 32] >> i % 32 & 1; }

static void bit_set(uint32_t *map, unsigned i) { map[i / 32] |= 1u << i % 32; }

/* Mask of the bits of word i / 32 from i up to, but not including, end. */
static uint32_t range_mask(unsigned i, unsigned end)
{
	unsigned n = 32 - i % 32;
	if (n > end - i)
		n = end - i;
	return (n == 32 ? UINT32_MAX : (1u << n) - 1) << i % 32;
}

static unsigned next_word(unsigned i) { return (i / 32 + 1) * 32; }

static bool range_any(const uint32_t *map, unsigned from, unsigned end)
{
	uint32_t any = 0;
	for (unsigned i = from; i < end; i = next_word(i))
		any |= map[i / 32] & range_mask(i, end);
	return any != 0;
}

static void range_set(uint32_t *map, unsigned from, unsigned end)
{
	for (unsigned i = from; i < end; i = next_word(i))
		map[i / 32] |= range_mask(i, end);
}

/* --- memory --- */

size_t reassembly_memory_bytes(const struct reassembly_params *params)
{
	return (size_t)params->datagrams * (sizeof(struct reassembly_datagram) + place_bytes(params)) +
	       round_up(hash_size(params) * 4, 8);
}

int reassembly_init(struct reassembly *r, const struct reassembly_params *params, void *mem,
                    size_t bytes, const struct siphash_key *key, struct counters *cnt,
                    reassembly_timed_out *timed_out, void *ctx)
{
	const struct reassembly_params *p = params;
	if (p->timeout_ns == 0 || p->datagrams == 0 || p->datagrams > 1 << 20 || p->per_source == 0 ||
	    p->data_max == 0 || p->data_max > 65535 || p->fragments_max == 0 ||
	    p->fragments_max > 8192)
		return E_INVAL;
	if (bytes < reassembly_memory_bytes(p))
		return E_NOMEM;
	*r = (struct reassembly){
		.params = *p,
		.hash_key = *key,
		.cnt = cnt,
		.timed_out = timed_out,
		.ctx = ctx,
		.datagrams = mem,
		.place_bytes = place_bytes(p),
		.map_words = map_words(p),
		.hash_mask = hash_size(p) - 1,
		.free = 0,
		.oldest = NIL,
		.newest = NIL,
	};
	uint8_t *at = (uint8_t *)mem + p->datagrams * sizeof(struct reassembly_datagram);
	r->hash = (uint32_t *)(void *)at;
	r->places = at + round_up(hash_size(p) * 4, 8);
	for (uint32_t i = 0; i <= r->hash_mask; i++)
		r->hash[i] = NIL;
	for (uint32_t i = 0; i < p->datagrams; i++)
		r->datagrams[i].hash_next = i + 1 < p->datagrams ? i + 1 : NIL;
	return E_OK;
}

/* --- the table of datagrams --- */

static uint64_t two_words(const uint32_t *w) { return (uint64_t)w[0] << 32 | w[1]; }

static uint32_t *bucket(const struct reassembly *r, const struct reassembly_key *k)
{
	const uint64_t words[5] = {two_words(k->src.w), two_words(k->src.w + 2), two_words(k->dst.w),
	                           two_words(k->dst.w + 2),
	                           (uint64_t)k->id << 32 | (uint32_t)k->zone << 16 | k->proto};
	return &r->hash[(uint32_t)siphash13_words(&r->hash_key, words, 5) & r->hash_mask];
}

static bool key_equal(const struct reassembly_key *a, const struct reassembly_key *b)
{
	return a->id == b->id && a->zone == b->zone && a->proto == b->proto &&
	       net_addr_equal(&a->src, &b->src) && net_addr_equal(&a->dst, &b->dst);
}

/* Removes a datagram from the table and counts the fragments it held. */
static void datagram_remove(struct reassembly *r, uint32_t index, enum counter fate)
{
	struct reassembly_datagram *d = &r->datagrams[index];
	uint32_t *link = bucket(r, &d->key);
	while (*link != index)
		link = &r->datagrams[*link].hash_next;
	*link = d->hash_next;
	*(d->older == NIL ? &r->oldest : &r->datagrams[d->older].newer) = d->newer;
	*(d->newer == NIL ? &r->newest : &r->datagrams[d->newer].older) = d->older;
	d->hash_next = r->free;
	r->free = index;
	r->cnt->v[fate] += d->fragments;
	r->held -= d->fragments;
}

/* Discards a datagram (invariant 2). It keeps its slot, to recognise further fragments. */
static enum counter datagram_refuse(struct reassembly *r, struct reassembly_datagram *d,
                                    enum counter fate)
{
	r->cnt->v[fate] += d->fragments;
	r->held -= d->fragments;
	d->fragments = 0;
	d->refused = (uint16_t)fate;
	return fate;
}
_Static_assert(CNT_MAX <= 65535, "fits `refused`");

/* Invariant 1: the datagram to evict for a new one of this source when all slots are in use. Walks
 * all of them, once for each datagram that begins then. */
static uint32_t victim(const struct reassembly *r, const struct net_addr *src)
{
	uint32_t count = 0, oldest_of_source = NIL;
	for (uint32_t i = r->oldest; i != NIL; i = r->datagrams[i].newer) {
		if (!net_addr_same_source(&r->datagrams[i].key.src, src))
			continue;
		if (count++ == 0)
			oldest_of_source = i;
	}
	return count >= r->params.per_source ? oldest_of_source : r->oldest;
}

/* The datagram of this key; made if necessary. */
static uint32_t datagram_get(struct reassembly *r, const struct reassembly_key *key,
                             uint64_t now_ns)
{
	for (uint32_t i = *bucket(r, key); i != NIL; i = r->datagrams[i].hash_next)
		if (key_equal(&r->datagrams[i].key, key))
			return i;
	if (r->free == NIL)
		datagram_remove(r, victim(r, &key->src), CNT_drop_frag_full);
	uint32_t index = r->free, *head = bucket(r, key);
	struct reassembly_datagram *d = &r->datagrams[index];
	r->free = d->hash_next;
	*d = (struct reassembly_datagram){
		.key = *key,
		.deadline_ns = now_ns + r->params.timeout_ns,
		.hash_next = *head,
		.older = r->newest,
		.newer = NIL,
		.refused = CNT_NONE,
	};
	*head = index;
	*(r->newest == NIL ? &r->oldest : &r->datagrams[r->newest].newer) = index;
	r->newest = index;
	memset(map_have(r, index), 0, 2 * 4 * r->map_words);
	return index;
}

/* --- storing a fragment --- */

/* True if an identical fragment, byte for byte, is already stored. */
static bool is_copy(const struct reassembly *r, uint32_t index, const struct piece *p)
{
	const struct reassembly_datagram *d = &r->datagrams[index];
	const uint32_t *have = map_have(r, index), *begins = map_begins(r, index);
	unsigned end = p->offset + p->len;
	unsigned from = p->offset / UNIT, to = round_up(end, UNIT) / UNIT;
	bool last = d->total != 0 && end == d->total;
	return bit(begins, from) && !range_any(begins, from + 1, to) &&
	       (bit(begins, to) || !bit(have, to)) && bit(have, to - 1) && p->more == !last &&
	       memcmp(place_data(r, index) + p->offset, p->data, p->len) == 0;
}

/* RFC 8200 4.5 and invariant 2: is the fragment consistent with those received? */
static enum counter check_piece(struct reassembly *r, uint32_t index, const struct piece *p)
{
	struct reassembly_datagram *d = &r->datagrams[index];
	unsigned end = p->offset + p->len;
	if (d->refused != CNT_NONE)
		return (enum counter)d->refused;
	if (d->total != 0 ? end > d->total || (!p->more && end != d->total) : !p->more && end < d->high)
		return datagram_refuse(r, d, CNT_drop_frag_overlap);
	if (range_any(map_have(r, index), p->offset / UNIT, round_up(end, UNIT) / UNIT)) {
		if (is_copy(r, index, p))
			return CNT_drop_frag_duplicate;
		return datagram_refuse(r, d, CNT_drop_frag_overlap);
	}
	if (d->fragments == r->params.fragments_max)
		return datagram_refuse(r, d, CNT_drop_frag_many);
	return CNT_NONE;
}

static void put_piece(struct reassembly *r, uint32_t index, const struct piece *p)
{
	struct reassembly_datagram *d = &r->datagrams[index];
	uint8_t *data = place_data(r, index);
	unsigned end = p->offset + p->len;
	memcpy(data + p->offset, p->data, p->len);
	if (p->offset == 0) {
		memcpy(data - p->head_len, p->packet, p->head_len);
		d->head_len = (uint16_t)p->head_len;
		d->next_at = (uint16_t)p->next_at;
		d->first_len = p->len;
		d->interface = (uint16_t)p->interface;
	}
	range_set(map_have(r, index), p->offset / UNIT, round_up(end, UNIT) / UNIT);
	bit_set(map_begins(r, index), p->offset / UNIT);
	d->have += p->len;
	if (end > d->high)
		d->high = end;
	if (!p->more)
		d->total = end;
	d->ecn_seen |= (uint8_t)(1 << p->ecn);
	d->fragments++;
	r->held++;
}

/* --- a complete packet --- */

/* Removes the fragment header, the last 8 of head_len bytes, from the headers. Returns the new
 * start of the headers. */
static uint8_t *fragment_header_remove(uint8_t *head, unsigned head_len, unsigned next_at)
{
	head[next_at] = head[head_len - IP6_FRAGMENT_HLEN];
	memmove(head + IP6_FRAGMENT_HLEN, head, head_len - IP6_FRAGMENT_HLEN);
	return head + IP6_FRAGMENT_HLEN;
}

/* Adapts the headers to the complete packet; ce: set the CE mark. False: the packet exceeds the IP
 * maximum, because the first fragment has more headers than the last. */
static bool mend(const struct reassembly_datagram *d, uint8_t *data, bool ce,
                 struct reassembly_result *out)
{
	uint8_t *head = data - d->head_len;
	if (net_addr_is_ip4(&d->key.src)) {
		out->len = d->head_len + d->total;
		if (out->len > 65535)
			return false;
		be16_store(head + 2, (uint16_t)out->len);
		be16_store(head + 6, 0);
		head[1] |= ce ? IP_ECN_CE : 0;
		ip4_checksum_set(head);
	} else {
		unsigned payload = d->head_len - IP6_HLEN - IP6_FRAGMENT_HLEN + d->total;
		if (payload > 65535)
			return false;
		out->len = IP6_HLEN + payload;
		head = fragment_header_remove(head, d->head_len, d->next_at);
		be16_store(head + 4, (uint16_t)payload);
		head[1] |= ce ? IP_ECN_CE << 4 : 0;
	}
	out->ip = head;
	return true;
}

static enum counter finish(struct reassembly *r, uint32_t index, struct reassembly_result *out)
{
	struct reassembly_datagram *d = &r->datagrams[index];
	bool ce = d->ecn_seen & 1 << IP_ECN_CE;
	enum counter fate = CNT_NONE;
	/* RFC 3168 5.3: a CE mark is kept; CE together with not-ECT fragments is invalid */
	if (ce && (d->ecn_seen & 1 << IP_ECN_NOT))
		fate = CNT_drop_frag_ecn;
	else if (!mend(d, place_data(r, index), ce, out))
		fate = CNT_drop_frag_too_long;
	else
		r->cnt->v[CNT_reassembled_packets]++;
	/* the caller counts the present fragment */
	d->fragments--;
	r->held--;
	datagram_remove(r, index, fate == CNT_NONE ? CNT_reassembled : fate);
	return fate;
}

static enum counter input(struct reassembly *r, const struct piece *p, uint64_t now_ns,
                          struct reassembly_result *out)
{
	reassembly_tick(r, now_ns);
	uint32_t index = datagram_get(r, &p->key, now_ns);
	enum counter fate = check_piece(r, index, p);
	if (fate != CNT_NONE)
		return fate;
	put_piece(r, index, p);
	if (r->datagrams[index].have == r->datagrams[index].total)
		return finish(r, index, out);
	return CNT_NONE;
}

/* --- the families --- */

enum counter reassembly_input4(struct reassembly *r, unsigned interface, const uint8_t *ip,
                               uint64_t now_ns, struct reassembly_result *out)
{
	uint16_t word = be16_load(ip + 6);
	unsigned head_len = ip4_header_len(ip);
	const struct piece p = {
		.key = {.src = net_addr_ip4(ip4_src(ip)),
		        .dst = net_addr_ip4(ip4_dst(ip)),
		        .id = be16_load(ip + 4),
		        .proto = ip4_proto(ip)},
		.packet = ip,
		.data = ip + head_len,
		.head_len = head_len,
		.len = ip4_total_len(ip) - head_len,
		.offset = (word & IP4_OFFSET_MASK) * 8u,
		.interface = interface,
		.more = word & IP4_FLAG_MF,
		.ecn = ip[1] & 3,
	};
	*out = (struct reassembly_result){0};
	if (p.len == 0 || (p.more && p.len % UNIT != 0))
		return CNT_drop_frag_length;
	if (head_len + p.offset + p.len > 65535 || p.offset + p.len > r->params.data_max)
		return CNT_drop_frag_too_long;
	/* RFC 1858 3.2, RFC 3128 2: a TCP header split over fragments is an attack on filters */
	if (p.key.proto == IP4_PROTO_TCP && (p.offset ? p.offset : p.len) < 20)
		return CNT_drop_frag_tiny;
	return input(r, &p, now_ns, out);
}

enum counter reassembly_input6(struct reassembly *r, unsigned interface, uint8_t *ip,
                               const struct ip6_upper *u, uint64_t now_ns,
                               struct reassembly_result *out)
{
	assert(u->fragment && u->fragment_at + IP6_FRAGMENT_HLEN <= REASSEMBLY_HEAD_MAX);
	unsigned head_len = u->fragment_at + IP6_FRAGMENT_HLEN;
	*out = (struct reassembly_result){0};
	if (u->atomic) {
		/* RFC 6946 4 */
		out->len = ip6_total_len(ip) - IP6_FRAGMENT_HLEN;
		out->ip = fragment_header_remove(ip, head_len, u->fragment_next_at);
		be16_store(out->ip + 4, (uint16_t)(out->len - IP6_HLEN));
		r->cnt->v[CNT_reassembled_packets]++;
		return CNT_NONE;
	}
	const struct net_addr src = ip6_src(ip), dst = ip6_dst(ip);
	bool zoned = ip6_is_link_local(&src) || ip6_is_link_local(&dst) || ip6_is_multicast(&dst);
	const struct piece p = {
		.key = {.src = src,
		        .dst = dst,
		        .id = u->id,
		        .zone = (uint16_t)(zoned ? interface + 1 : 0)},
		.packet = ip,
		.data = ip + head_len,
		.head_len = head_len,
		.next_at = u->fragment_next_at,
		.len = ip6_total_len(ip) - head_len,
		.offset = u->offset,
		.interface = interface,
		.more = u->more,
		.ecn = ip6_traffic_class(ip) & 3,
	};
	/* RFC 8200 4.5: both errors are reported to the sender; it defines no report for an empty
	 * fragment */
	if (p.len == 0 || (p.more && p.len % UNIT != 0)) {
		out->problem = p.len != 0;
		out->problem_pointer = 4; /* payload length */
		return CNT_drop_frag_length;
	}
	if (u->fragment_at - IP6_HLEN + p.offset + p.len > 65535) {
		out->problem = true;
		out->problem_pointer = u->fragment_at + 2; /* fragment offset */
		return CNT_drop_frag_too_long;
	}
	if (p.offset + p.len > r->params.data_max)
		return CNT_drop_frag_too_long;
	return input(r, &p, now_ns, out);
}

/* --- time --- */

uint64_t reassembly_tick(struct reassembly *r, uint64_t now_ns)
{
	while (r->oldest != NIL && r->datagrams[r->oldest].deadline_ns <= now_ns) {
		uint32_t index = r->oldest;
		const struct reassembly_datagram *d = &r->datagrams[index];
		bool tell = d->refused == CNT_NONE && d->head_len != 0;
		datagram_remove(r, index, CNT_drop_frag_timeout);
		if (tell)
			r->timed_out(r->ctx, d->interface, place_data(r, index) - d->head_len,
			             d->head_len + d->first_len);
	}
	return reassembly_deadline(r);
}

uint64_t reassembly_deadline(const struct reassembly *r)
{
	return r->oldest == NIL ? UINT64_MAX : r->datagrams[r->oldest].deadline_ns;
}
