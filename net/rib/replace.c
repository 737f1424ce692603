/*
 * rib_replace (rib.h): other hops of all routes with a tag, in place.
 *
 * First all that may fail is done, and undone if any of it fails: the new hops' gateways are taken for
 * each family that has such routes, groups are made for sets that will need one, and lists counted. Then
 * each set gets its routes.
 */
#include "lib/assert.h"
#include "net/rib/sets.h"
#include "net/rib/table.h"

static bool carries(const struct rib *r, unsigned set, enum rib_source source, uint16_t tag)
{
	struct rib_set *s = &r->set[set];
	const struct rib_member *m = set_members(r, s);
	if (s->users == 0 || !(s->sources & 1u << source))
		return false;
	while (m->source != source)
		m++;
	return m->tag == tag; /* all of a source have the same */
}

static void release(struct rib *r, uint16_t *gateway, unsigned n)
{
	while (n)
		gateway_release(r, gateway[--n]);
}

/* Takes the gateways of all hops. False: there are too many, and none is taken. */
static bool take(struct rib *r, const struct routes *new, uint16_t *gateway)
{
	for (unsigned i = 0; i < new->n; i++) {
		const unsigned g = gateway_take(r, &new->hop[i], new->six);
		if (g == RIB_NO_NUMBER) {
			release(r, gateway, i);
			return false;
		}
		gateway[i] = (uint16_t)g;
	}
	return true;
}

/* The sets of one family that carry the tag may have the new routes. */
static bool prepare(struct rib *r, const struct routes *new, uint32_t *lists)
{
	struct rib_member member[RIB_ROUTES_MAX];
	for (uint32_t set = 0; set < r->numbers; set++) {
		if (r->set[set].six != new->six || !carries(r, set, new->source, new->tag))
			continue;
		const int n = routes_compose(r, set, new, member);
		if (n < 0 || !set_prepare(r, set, member, (unsigned)n, lists)) {
			members_release(r, member, n < 0 ? 0 : (unsigned)n);
			return false;
		}
		members_release(r, member, (unsigned)n);
	}
	return true;
}

/* Returns whether any set has changed. */
static bool become(struct rib *r, const struct routes *new)
{
	struct rib_member member[RIB_ROUTES_MAX];
	const unsigned stage = sweep_stage(r);
	bool any = false;
	for (uint32_t set = 0; set < r->numbers; set++) {
		if (r->set[set].six != new->six || !carries(r, set, new->source, new->tag))
			continue;
		const int n = routes_compose(r, set, new, member);
		assert(n >= 0);
		any |= set_become(r, set, member, (unsigned)n, stage);
	}
	if (any)
		sweep_begin(r, stage);
	return any;
}

int rib_replace(struct rib *r, enum rib_source source, uint16_t tag, const struct rib_hop *hop,
                unsigned n)
{
	const struct routes new[2] = {{source, tag, false, hop, n}, {source, tag, true, hop, n}};
	uint16_t gateway[2][RIB_ROUTES_MAX];
	bool there[2] = {false, false}, took[2] = {false, false}, fits = true;
	uint32_t lists = 0;
	assert(source != RIB_HOST && tag != 0 && n <= RIB_ROUTES_MAX);
	for (uint32_t set = 0; set < r->numbers; set++)
		if (carries(r, set, source, tag))
			there[r->set[set].six] = true;
	for (unsigned six = 0; six < 2; six++) {
		took[six] = there[six] && fits && take(r, &new[six], gateway[six]);
		fits = fits && (!there[six] || (took[six] && prepare(r, &new[six], &lists)));
	}
	fits = fits && lists_left(r, lists);
	for (uint32_t set = 0; !fits && set < r->numbers; set++)
		set_unprepare(r, set);
	for (unsigned six = 0; six < 2; six++) {
		if (took[six] && fits && become(r, &new[six]))
			r->resolve |= r->recursive != 0;
		if (took[six])
			release(r, gateway[six], n);
	}
	return fits ? E_OK : E_NOMEM;
}
