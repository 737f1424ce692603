/* The routes of a candidate; see candidate.h. */
#include "control/config/candidate_inside.h"

#include "lib/assert.h"
#include "net/ip6.h"

uint32_t candidate_running_count(const struct candidate *c, enum candidate_family f)
{
	return f == CANDIDATE_IP4 ? c->running->route_count : c->running->route6_count;
}

bool candidate_is_gone(const struct candidate *c, enum candidate_family f, uint32_t i)
{
	return c->routes[f].gone[i / 8] >> i % 8 & 1;
}

static void set_gone(struct candidate *c, enum candidate_family f, uint32_t i, bool gone)
{
	struct candidate_routes *r = &c->routes[f];
	r->gone_count += gone - candidate_is_gone(c, f, i);
	r->gone[i / 8] = (uint8_t)((r->gone[i / 8] & ~(1u << i % 8)) | (unsigned)gone << i % 8);
}

void candidate_print_route(const struct candidate *c, enum candidate_family f, uint32_t i,
                           config_write_fn write, void *ctx)
{
	const uint32_t n = candidate_running_count(c, f);
	if (f == CANDIDATE_IP4)
		config_print_route(i < n ? &c->running->routes[i] : &c->added4[i - n], write, ctx);
	else
		config_print_route6(i < n ? &c->running->routes6[i] : &c->added6[i - n], write, ctx);
}

struct text candidate_route_line(const struct candidate *c, enum candidate_family f, uint32_t i,
                                 char buf[CANDIDATE_LINE_MAX])
{
	struct sink s = {buf, 0, CANDIDATE_LINE_MAX};
	candidate_print_route(c, f, i, sink_put, &s);
	assert(s.len > 0 && s.len <= s.size);
	return (struct text){buf, s.len - 1};
}

/* Key of a search for routes. */
struct route_key {
	enum candidate_family family;
	struct text line; /* canonical */
	bool whole;       /* the route equals `line`; else it begins with `line` */
	struct net_addr prefix; /* IPv4: only w[0], in host byte order */
	unsigned plen;
};

static bool has_prefix(const struct candidate *c, uint32_t i, const struct route_key *k)
{
	const uint32_t n = candidate_running_count(c, k->family);
	if (k->family == CANDIDATE_IP4) {
		const struct config_route *r = i < n ? &c->running->routes[i] : &c->added4[i - n];
		return r->prefix == k->prefix.w[0] && r->plen == k->plen;
	}
	const struct config_route6 *r = i < n ? &c->running->routes6[i] : &c->added6[i - n];
	return net_addr_equal(&r->prefix, &k->prefix) && r->plen == k->plen;
}

/* Number of the first route from number i on that matches the key; the number of routes if none
 * does. Only the few routes of the key's prefix are compared as text. */
static uint32_t find_route(const struct candidate *c, const struct route_key *k, uint32_t i)
{
	char buf[CANDIDATE_LINE_MAX];
	const uint32_t n = candidate_running_count(c, k->family) + c->routes[k->family].added_count;
	for (; i < n; i++) {
		if (!has_prefix(c, i, k))
			continue;
		struct text line = candidate_route_line(c, k->family, i, buf);
		if (k->whole ? text_equal(line, k->line) : text_begins_with(line, k->line))
			break;
	}
	return i;
}

static void drop_added(struct candidate *c, enum candidate_family f, uint32_t i)
{
	const uint32_t behind = --c->routes[f].added_count - i;
	if (f == CANDIDATE_IP4)
		memmove(&c->added4[i], &c->added4[i + 1], behind * sizeof *c->added4);
	else
		memmove(&c->added6[i], &c->added6[i + 1], behind * sizeof *c->added6);
}

static int remove_routes(struct candidate *c, const struct route_key *k, struct text_error *err)
{
	const uint32_t n = candidate_running_count(c, k->family);
	bool found = false;
	uint32_t i = 0;
	while ((i = find_route(c, k, i)) < n + c->routes[k->family].added_count) {
		found |= i >= n || !candidate_is_gone(c, k->family, i);
		if (i < n)
			set_gone(c, k->family, i++, true);
		else
			drop_added(c, k->family, i - n);
	}
	if (!found)
		(void)text_fail(err, 1, k->line, "there is no such route");
	return found ? E_OK : E_NOENT;
}

/* Adds the route that c->parsed holds; k is its key. */
static int add_route(struct candidate *c, const struct route_key *k, struct text_error *err)
{
	struct candidate_routes *r = &c->routes[k->family];
	const uint32_t n = candidate_running_count(c, k->family), i = find_route(c, k, 0);
	if (i < n)
		set_gone(c, k->family, i, false);
	if (i < n + r->added_count)
		return E_OK;
	if (r->added_count == r->added_max)
		return text_fail(err, 1, k->line, "a candidate adds at most %u routes of a family", r->added_max);
	if (k->family == CANDIDATE_IP4)
		c->added4[r->added_count++] = c->parsed->routes[0];
	else
		c->added6[r->added_count++] = c->parsed->routes6[0];
	return E_OK;
}

/* Sets the key's prefix: the third word of the canonical line. */
static int read_prefix(struct route_key *k)
{
	struct text rest = k->line, word = {k->line.at, 0};
	for (unsigned i = 0; i < 3; i++)
		if (!text_next_word(&rest, &word))
			return E_INVAL;
	return k->family == CANDIDATE_IP4 ? text_parse_prefix(word, &k->prefix.w[0], &k->plen)
	                                  : text_parse_prefix6(word, &k->prefix, &k->plen);
}

int candidate_enter_route(struct candidate *c, struct text line, bool no, struct text_error *err)
{
	struct config_route route;
	struct config_route6 route6;
	const struct config_memory mem = {.routes = &route, .route_max = 1, .routes6 = &route6,
	                                  .route6_max = 1};
	char buf[CANDIDATE_LINE_MAX];
	struct sink s = {buf, 0, sizeof buf};
	struct route_key k = {.line = line, .whole = !no};
	k.family = text_is_word(text_first_words(line, 1), text_of("ip")) ? CANDIDATE_IP4
	                                                                   : CANDIDATE_IP6;
	int error = config_read(line.at, line.len, &mem, c->parsed, err);
	if (error == E_OK) { /* a whole route: its canonical form is what config_print writes */
		if (k.family == CANDIDATE_IP4)
			config_print_route(&route, sink_put, &s);
		else
			config_print_route6(&route6, sink_put, &s);
		k.line = (struct text){buf, s.len - 1};
	}
	if ((error != E_OK && !no) || read_prefix(&k) != 0)
		return error;
	c->changes++;
	return no ? remove_routes(c, &k, err) : add_route(c, &k, err);
}

int candidate_reset_routes(struct candidate *c)
{
	for (enum candidate_family f = CANDIDATE_IP4; f < CANDIDATE_FAMILIES; f++) {
		struct candidate_routes *r = &c->routes[f];
		if (candidate_running_count(c, f) > r->gone_max)
			return E_NOMEM;
		memset(r->gone, 0, (candidate_running_count(c, f) + 7) / 8);
		r->gone_count = r->added_count = 0;
	}
	return E_OK;
}

/* --- a whole configuration --- */

/* The route of *next that says the same as r; NULL: there is none. */
static struct config_route *same4(struct config *next, const uint32_t *scratch, const struct config_route *r)
{
	uint32_t i = config_route_first(next, scratch, r->prefix, r->plen);
	for (; i != CONFIG_ROUTE_NONE; i = next->routes[i].more - 1) {
		struct config_route *n = &next->routes[i];
		if (n->kind == r->kind && n->next_hop == r->next_hop && n->distance == r->distance)
			return n;
	}
	return NULL;
}

/* The interface counts where it is written: with a link-local next hop. */
static struct config_route6 *same6(struct config *next, const uint32_t *scratch, const struct config_route6 *r)
{
	uint32_t i = config_route6_first(next, scratch, &r->prefix, r->plen);
	for (; i != CONFIG_ROUTE_NONE; i = next->routes6[i].more - 1) {
		struct config_route6 *n = &next->routes6[i];
		if (n->kind == r->kind && net_addr_equal(&n->next_hop, &r->next_hop) && n->distance == r->distance &&
		    (!ip6_is_link_local(&r->next_hop) || n->interface == r->interface))
			return n;
	}
	return NULL;
}

void candidate_match(struct candidate *c, struct config *next, const uint32_t *scratch,
                     uint32_t added[CANDIDATE_FAMILIES])
{
	added[CANDIDATE_IP4] = next->route_count;
	added[CANDIDATE_IP6] = next->route6_count;
	for (uint32_t i = 0; i < c->running->route_count; i++) {
		struct config_route *n = same4(next, scratch, &c->running->routes[i]);
		set_gone(c, CANDIDATE_IP4, i, !n);
		if (n)
			n->line = 0;
		added[CANDIDATE_IP4] -= n != NULL;
	}
	for (uint32_t i = 0; i < c->running->route6_count; i++) {
		struct config_route6 *n = same6(next, scratch, &c->running->routes6[i]);
		set_gone(c, CANDIDATE_IP6, i, !n);
		if (n)
			n->line = 0;
		added[CANDIDATE_IP6] -= n != NULL;
	}
}

void candidate_take_routes(struct candidate *c, const struct config *next)
{
	uint32_t *four = &c->routes[CANDIDATE_IP4].added_count, *six = &c->routes[CANDIDATE_IP6].added_count;
	for (uint32_t i = 0; i < next->route_count; i++)
		if (next->routes[i].line)
			c->added4[(*four)++] = next->routes[i];
	for (uint32_t i = 0; i < next->route6_count; i++)
		if (next->routes6[i].line)
			c->added6[(*six)++] = next->routes6[i];
	assert(*four <= c->routes[CANDIDATE_IP4].added_max && *six <= c->routes[CANDIDATE_IP6].added_max);
}

uint32_t candidate_route_count(const struct candidate *c, enum candidate_family f)
{
	return candidate_running_count(c, f) - c->routes[f].gone_count + c->routes[f].added_count;
}

void candidate_each_route(const struct candidate *c, char sign, candidate_route_fn fn, void *ctx)
{
	const bool added = sign == '+';
	for (enum candidate_family f = CANDIDATE_IP4; f < CANDIDATE_FAMILIES; f++) {
		const struct candidate_routes *r = &c->routes[f];
		const uint32_t n = candidate_running_count(c, f), first = added ? n : 0;
		const uint32_t end = added ? n + r->added_count : r->gone_count > 0 ? n : 0;
		for (uint32_t i = first; i < end; i++) {
			if (!added && !candidate_is_gone(c, f, i))
				continue;
			if (f == CANDIDATE_IP4)
				fn(ctx, added ? &c->added4[i - n] : &c->running->routes[i], NULL);
			else
				fn(ctx, NULL, added ? &c->added6[i - n] : &c->running->routes6[i]);
		}
	}
}

void candidate_build_routes(const struct candidate *c, struct config *out, uint32_t line)
{
	for (uint32_t i = 0; i < c->running->route_count; i++)
		if (!candidate_is_gone(c, CANDIDATE_IP4, i))
			out->routes[out->route_count++] = c->running->routes[i];
	for (uint32_t i = 0; i < c->routes[CANDIDATE_IP4].added_count; i++)
		out->routes[out->route_count++] = c->added4[i];
	for (uint32_t i = 0; i < c->running->route6_count; i++)
		if (!candidate_is_gone(c, CANDIDATE_IP6, i))
			out->routes6[out->route6_count++] = c->running->routes6[i];
	for (uint32_t i = 0; i < c->routes[CANDIDATE_IP6].added_count; i++)
		out->routes6[out->route6_count++] = c->added6[i];
	for (uint32_t i = 0; i < out->route_count; i++)
		out->routes[i].line = ++line;
	for (uint32_t i = 0; i < out->route6_count; i++) {
		struct config_route6 *r = &out->routes6[i];
		r->line = ++line;
		if (!ip6_is_link_local(&r->next_hop)) /* config_finish finds the interface again */
			r->interface = CONFIG_INTERFACE_ANY;
	}
}
