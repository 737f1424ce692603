/*
 * See apply.h. Deletions wait until the end of their frame, and are dropped if the frame states the
 * prefix again: FRR before 9.1 changes a route by a deletion and a new route in one frame.
 */
#include "control/engine/apply.h"

#include "control/config/running.h"
#include "control/engine/hops.h"
#include "control/engine/tags.h"
#include "control/forwarding/routes.h"
#include "net/fpm/nexthops.h"
#include "runtime/runtime.h"

#define TABLE_MAIN 254 /* RT_TABLE_MAIN of Linux */
#define MESSAGE_LEAST 28 /* octets of a route's message */
#define DELETIONS_MAX (FPM_FRAME_MAX / MESSAGE_LEAST)

static struct {
	struct fpm_nexthops objects;
	void *memory; /* of the objects */
	struct tags *tags;
	struct rib_prefix *deleted; /* DELETIONS_MAX; by this frame so far */
	unsigned deletions;
} apply;

bool engine_apply_prepare(void)
{
	static const struct fpm_nexthops_size size = {ENGINE_OBJECTS, ENGINE_MEMBERS};
	struct siphash_key key;
	if (apply.memory)
		return true;
	apply.tags = apply.tags ? apply.tags : core_private_alloc(sizeof *apply.tags);
	apply.deleted = apply.deleted ? apply.deleted
	                              : core_private_alloc(DELETIONS_MAX * sizeof *apply.deleted);
	if (!apply.tags || !apply.deleted)
		return false;
	apply.memory = core_private_alloc(fpm_nexthops_bytes(&size));
	if (!apply.memory)
		return false;
	core_random(&key, sizeof key);
	fpm_nexthops_init(&apply.objects, apply.memory, &size, &key);
	core_random(&key, sizeof key);
	tags_init(apply.tags, &key);
	return true;
}

void engine_apply_begin(void)
{
	fpm_nexthops_clear(&apply.objects);
	tags_clear(apply.tags);
}

static struct rib_prefix prefix_of(const struct fpm_route *r)
{
	return (struct rib_prefix){r->addr, r->plen, r->six};
}

static bool is_same_prefix(const struct rib_prefix *a, const struct rib_prefix *b)
{
	return a->plen == b->plen && a->six == b->six && net_addr_equal(&a->addr, &b->addr);
}

/* --- routes --- */

/* The hops of a route. */
static enum engine_refusal hops_of(const struct fpm_route *r, struct engine_hops *out)
{
	static struct fpm_hops object;
	out->hops = 0;
	if (r->type != FPM_UNICAST) {
		engine_nowhere(out, r->type, r->protocol);
		return ENGINE_REFUSED_NOT;
	}
	if (!r->nexthop_id)
		return engine_hops(out, r->hop, r->hops, r->protocol, r->six);
	if (!fpm_nexthops_resolve(&apply.objects, r->nexthop_id, &object))
		return ENGINE_REFUSED_OBJECT;
	if (object.hops == 0 && object.blackholes) {
		engine_nowhere(out, FPM_BLACKHOLE, r->protocol);
		return ENGINE_REFUSED_NOT;
	}
	return engine_hops(out, object.hop, object.hops, r->protocol, r->six);
}

/* A route that is refused replaces the former one of its prefix, which is obsolete. */
static enum engine_refusal state(const struct fpm_route *r)
{
	static struct engine_hops hops;
	const struct rib_prefix p = prefix_of(r);
	enum engine_refusal why = ENGINE_REFUSED_NOT;
	uint16_t tag = TAG_NONE;
	if (r->protocol == FPM_KERNEL) { /* ours already: the interface has the subnet */
		routes_engine_set(&p, TAG_NONE, NULL, 0);
		return ENGINE_REFUSED_NOT;
	}
	why = engine_is_destination(&p) ? hops_of(r, &hops) : ENGINE_REFUSED_DESTINATION;
	const uint32_t most = running.config.engine.routes_max;
	if (why == ENGINE_REFUSED_NOT && most && rib_stated(routes_rib()) >= most &&
	    !routes_engine_has(&p))
		return ENGINE_REFUSED_MAXIMUM;
	if (why == ENGINE_REFUSED_NOT && r->nexthop_id && r->type == FPM_UNICAST) {
		tag = tags_take(apply.tags, r->nexthop_id, r->protocol, r->six);
		why = tag == TAG_NONE ? ENGINE_REFUSED_OBJECTS_FULL : why;
	}
	if (why != ENGINE_REFUSED_NOT)
		hops.hops = 0;
	if (routes_engine_set(&p, tag, hops.hop, hops.hops) != E_OK && why == ENGINE_REFUSED_NOT)
		why = ENGINE_REFUSED_FULL;
	return why;
}

/* The frame states this prefix, so earlier deletions in it have no effect. */
static void restate(const struct rib_prefix *p)
{
	unsigned n = 0;
	for (unsigned i = 0; i < apply.deletions; i++)
		if (!is_same_prefix(&apply.deleted[i], p))
			apply.deleted[n++] = apply.deleted[i];
	apply.deletions = n;
}

/* True: the route is installed. */
static bool take_route(const struct fpm_message *m)
{
	const struct fpm_route *r = &m->route;
	const struct rib_prefix p = prefix_of(r);
	enum engine_refusal why = ENGINE_REFUSED_NOT;
	if (r->table != TABLE_MAIN) {
		engine_stats.refused[ENGINE_REFUSED_TABLE]++;
		return false;
	}
	restate(&p);
	if (m->kind == FPM_ROUTE_REFUSED) {
		routes_engine_set(&p, TAG_NONE, NULL, 0);
		return false;
	}
	engine_stats.set[r->protocol]++;
	why = state(r);
	if (why != ENGINE_REFUSED_NOT)
		engine_stats.refused[why]++;
	return why == ENGINE_REFUSED_NOT;
}

static void delete_route(const struct fpm_route *r)
{
	const struct rib_prefix p = prefix_of(r);
	if (r->table != TABLE_MAIN) {
		engine_stats.refused[ENGINE_REFUSED_TABLE]++;
		return;
	}
	if (apply.deletions < DELETIONS_MAX) /* a frame has no more messages */
		apply.deleted[apply.deletions++] = p;
}

/* --- next-hop objects --- */

/* The routes of an object have its present hops. */
static void follow(uint32_t id, bool exists)
{
	static struct fpm_hops object;
	static struct engine_hops hops;
	(void)fpm_nexthops_resolve(&apply.objects, id, &object);
	for (unsigned k = 0; k < 2 * FPM_PROTOCOLS_END; k++) {
		const enum fpm_protocol protocol = (enum fpm_protocol)(k / 2);
		const uint16_t tag = tags_find(apply.tags, id, protocol, k & 1);
		if (tag == TAG_NONE)
			continue;
		if (object.hops == 0 && object.blackholes)
			engine_nowhere(&hops, FPM_BLACKHOLE, protocol);
		else
			engine_hops(&hops, object.hop, object.hops, protocol, k & 1);
		if (routes_engine_replace(tag, hops.hop, hops.hops) != E_OK) {
			engine_stats.refused[ENGINE_REFUSED_FULL]++;
			routes_engine_replace(tag, NULL, 0);
		}
		if (!exists)
			tags_forget(apply.tags, id, protocol, k & 1);
	}
}

static void follow_all(uint32_t id, bool exists)
{
	uint32_t cursor = 0, group;
	follow(id, exists);
	while ((group = fpm_nexthops_next_group(&apply.objects, id, &cursor)) != 0)
		follow(group, true);
}

static bool is_same_hop(const struct fpm_hop *a, const struct fpm_hop *b)
{
	return a->ifindex == b->ifindex && net_addr_equal(&a->gateway, &b->gateway);
}

/* Is the object already this one? zebra states objects again without need. */
static bool is_known(const struct fpm_nexthop *nh)
{
	static struct fpm_nexthop was; /* 600 octets */
	if (!fpm_nexthops_find(&apply.objects, nh->id, &was) || was.members != nh->members ||
	    was.blackhole != nh->blackhole)
		return false;
	for (unsigned i = 0; i < nh->members; i++)
		if (was.member[i].id != nh->member[i].id || was.member[i].weight != nh->member[i].weight)
			return false;
	return nh->members || nh->blackhole || is_same_hop(&was.hop, &nh->hop);
}

static void take_object(const struct fpm_nexthop *nh)
{
	if (is_known(nh))
		return;
	const bool fits = fpm_nexthops_set(&apply.objects, nh) == E_OK;
	if (!fits) {
		engine_stats.refused[ENGINE_REFUSED_OBJECTS_FULL]++;
		fpm_nexthops_remove(&apply.objects, nh->id);
	}
	follow_all(nh->id, fits);
}

/* --- frames --- */

static void acknowledge(const uint8_t *frame, const struct fpm_message *m, bool installed,
                        uint8_t *out, size_t room, size_t *n)
{
	if (!running.config.engine.acknowledge || !fpm_ack_wanted(m))
		return;
	const size_t bytes = fpm_ack_put(out + *n, room - *n, frame + m->offset, m->length, installed);
	*n += bytes;
	engine_stats.acks += bytes && installed;
	engine_stats.acks_failed += bytes && !installed;
	engine_stats.acks_lost += bytes == 0;
}

unsigned engine_apply(const uint8_t *frame, uint32_t length, uint8_t *out, size_t room, size_t *n)
{
	static struct fpm_message m; /* 2 KiB */
	struct fpm_cursor c = fpm_begin(frame, length);
	unsigned messages = 0;
	apply.deletions = 0;
	for (; fpm_next(&c, &m); messages++) {
		engine_stats.kind[m.kind]++;
		engine_stats.skip[m.skip]++;
		switch (m.kind) {
		case FPM_ROUTE_SET:
		case FPM_ROUTE_REFUSED:
			acknowledge(frame, &m, take_route(&m), out, room, n);
			break;
		case FPM_ROUTE_DELETE:
			delete_route(&m.route);
			break;
		case FPM_NEXTHOP_SET:
			take_object(&m.nexthop);
			break;
		case FPM_NEXTHOP_DELETE:
		case FPM_NEXTHOP_REFUSED:
			fpm_nexthops_remove(&apply.objects, m.nexthop.id);
			follow_all(m.nexthop.id, false);
			break;
		case FPM_SKIPPED:
			break;
		}
	}
	for (unsigned i = 0; i < apply.deletions; i++)
		routes_engine_set(&apply.deleted[i], TAG_NONE, NULL, 0);
	return messages;
}
