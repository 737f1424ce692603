#include "tests/unit/rig/fpm_contract.h"

#include <stdlib.h>

#include "lib/assert.h"
#include "lib/bytes.h"
#include "lib/mem.h"
#include "net/ip6.h"

static void hop_holds(const struct fpm_hop *h)
{
	assert(h->weight >= 1 && h->weight <= 0x10000);
}

static void route_holds(const struct fpm_message *m)
{
	const struct fpm_route *r = &m->route;
	const struct net_addr masked = ip6_prefix_of(&r->addr, r->six ? r->plen : 96u + r->plen);
	assert(net_addr_equal(&masked, &r->addr));
	assert(r->plen <= (r->six ? 128 : 32));
	assert(r->six || net_addr_is_ip4(&r->addr));
	assert(fpm_protocol_name(r->protocol)[0] && fpm_protocol_letter(r->protocol));
	if (m->kind == FPM_ROUTE_DELETE)
		return;
	assert(r->hops <= FPM_HOPS_MAX && r->type <= FPM_PROHIBIT);
	assert(r->hops == 0 || (r->type == FPM_UNICAST && !r->nexthop_id));
	for (unsigned i = 0; i < r->hops; i++) {
		hop_holds(&r->hop[i]);
		assert(r->hop[i].weight <= 256);
	}
}

static void nexthop_holds(const struct fpm_message *m)
{
	const struct fpm_nexthop *nh = &m->nexthop;
	assert(nh->id);
	if (m->kind != FPM_NEXTHOP_SET)
		return;
	assert(nh->members <= FPM_HOPS_MAX && !(nh->members && nh->blackhole));
	hop_holds(&nh->hop);
	for (unsigned i = 0; i < nh->members; i++)
		assert(nh->member[i].id && nh->member[i].weight >= 1 && nh->member[i].weight <= 0x10000);
	const bool hop = nh->hop.ifindex || !net_addr_is_any(&nh->hop.gateway);
	assert(hop == (!nh->members && !nh->blackhole));
}

/* An acknowledgement is a frame with the same route. */
static void ack_holds(const uint8_t *frame, const struct fpm_message *m)
{
	static uint8_t ack[FPM_ACK_MAX];
	struct fpm_message again;
	const size_t n = fpm_ack_put(ack, sizeof ack, frame + m->offset, m->length, m->length & 1);
	uint32_t length;
	assert((n == 0) == (m->length > FPM_ACK_MAX - FPM_HEADER_LEN));
	if (n == 0)
		return;
	assert(n % 4 == 0 && fpm_frame(ack, n, &length) == FPM_OK && length == n);
	assert(fpm_check(ack, length, NULL) == FPM_OK);
	struct fpm_cursor c = fpm_begin(ack, length);
	assert(fpm_next(&c, &again) && again.kind == m->kind && again.skip == m->skip);
	assert(again.length == m->length && !fpm_next(&c, &again));
}

static void table_holds(struct fpm_nexthops *t, const struct fpm_message *m)
{
	struct fpm_nexthop nh;
	struct fpm_hops hops;
	uint32_t cursor = 0, groups = 0;
	if (m->kind == FPM_NEXTHOP_SET) {
		if (fpm_nexthops_set(t, &m->nexthop) == E_OK) {
			assert(fpm_nexthops_find(t, m->nexthop.id, &nh));
			assert(nh.members == m->nexthop.members && nh.blackhole == m->nexthop.blackhole);
		}
	} else {
		fpm_nexthops_remove(t, m->nexthop.id);
		assert(!fpm_nexthops_find(t, m->nexthop.id, &nh));
	}
	assert(t->objects <= t->size.objects && t->members <= t->size.members);
	if (fpm_nexthops_resolve(t, m->nexthop.id, &hops))
		assert(hops.hops + hops.blackholes + hops.missing + hops.nested <= FPM_HOPS_MAX);
	while (fpm_nexthops_next_group(t, m->nexthop.id, &cursor))
		assert(++groups <= t->objects);
}

static void message_holds(const uint8_t *frame, const struct fpm_message *m, struct fpm_nexthops *t)
{
	assert(m->type == (frame[m->offset + 4] | frame[m->offset + 5] << 8));
	switch (m->kind) {
	case FPM_ROUTE_SET:
	case FPM_ROUTE_DELETE:
		assert(m->skip == FPM_SKIP_NONE);
		route_holds(m);
		break;
	case FPM_ROUTE_REFUSED:
		assert(m->skip != FPM_SKIP_NONE);
		route_holds(m);
		break;
	case FPM_NEXTHOP_REFUSED:
		assert(m->skip != FPM_SKIP_NONE);
		break;
	default:
		assert((m->skip == FPM_SKIP_NONE) == (m->kind != FPM_SKIPPED));
	}
	assert(fpm_skip_name(m->skip)[0]);
	if (m->type == 24)
		ack_holds(frame, m);
	if (m->kind != FPM_NEXTHOP_SET && m->kind != FPM_NEXTHOP_DELETE && m->kind != FPM_NEXTHOP_REFUSED)
		return;
	nexthop_holds(m);
	if (t)
		table_holds(t, m);
}

/* Decodes the messages of a frame that fpm_check has accepted. */
static void messages_hold(const uint8_t *frame, uint32_t n, struct fpm_nexthops *t)
{
	static struct fpm_message m;
	uint32_t end = FPM_HEADER_LEN, messages = 0;
	for (struct fpm_cursor c = fpm_begin(frame, n); fpm_next(&c, &m); messages++) {
		assert(m.offset == end && m.length >= 16 && m.length <= n - m.offset);
		end = m.offset + (m.length + 3) / 4 * 4;
		message_holds(frame, &m, t);
	}
	assert(messages && end >= n && end < n + 4);
}

enum fpm_error fpm_contract(const uint8_t *data, uint32_t n, struct fpm_nexthops *t, uint32_t *length)
{
	uint8_t *copy = malloc(n ? n : 1);
	memcpy(copy, data, n);
	enum fpm_error error = fpm_frame(copy, n, length);
	assert(*length <= n && (!error || !*length));
	if (*length) {
		/* nothing behind the frame may be read */
		uint8_t *frame = malloc(*length);
		uint32_t at;
		memcpy(frame, copy, *length);
		error = fpm_check(frame, *length, &at);
		assert(at >= FPM_HEADER_LEN && at < *length + 4);
		if (error)
			assert(at < *length && fpm_error_text(error)[0]);
		else
			messages_hold(frame, *length, t);
		if (error)
			*length = 0;
		free(frame);
	}
	free(copy);
	return error;
}
