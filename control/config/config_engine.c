/* The statements of the routing engine (`routing engine ...`) and the checks of the whole for them;
 * see config_parse.h and docs/configuration.md. */
#include "control/config/config_parse.h"

#include "lib/fmt.h"
#include "net/ip6.h"

/* --- statements --- */

static bool is_address_of_one(const struct net_addr *a)
{
	if (net_addr_is_ip4(a)) {
		const uint32_t ip = net_addr_to_ip4(a);
		return ip >> 24 != 0 && ip >> 24 != 127 && ip < 0xe0000000u;
	}
	return !net_addr_is_any(a) && !ip6_is_multicast(a) && !ip6_is_link_local(a);
}

int config_engine_address(struct parser *p, unsigned i)
{
	struct config_engine *e = &p->out->engine;
	int error = words_expect(&p->w, i);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	if (text_parse_addr(p->w.word[i], &e->addr) != 0)
		return FAIL(p, i, "expected the address of the routing engine, or one of fpm, "
		                  "distance, hold-time, settle-time, maximum, acknowledge");
	if (!is_address_of_one(&e->addr))
		return FAIL(p, i, "the address of the routing engine must be a unicast address that is "
		                  "not link-local");
	e->line = p->w.line;
	return 0;
}

/* Notes the first statement that needs an engine. */
static int note(struct parser *p, int error)
{
	struct config_engine *e = &p->out->engine;
	if (error == 0 && e->other_line == 0)
		e->other_line = p->w.line;
	return error;
}

static int parse_number(struct parser *p, unsigned i, const char *what, uint32_t min, uint32_t max,
                        uint32_t *out)
{
	int error = words_u32(&p->w, i, what, min, max, out);
	return note(p, error != 0 ? error : words_end(&p->w, i + 1));
}

int config_engine_port(struct parser *p, unsigned i)
{
	uint32_t port = 0;
	int error = parse_number(p, i, "a TCP port", 1, 65535, &port);
	p->out->engine.port = (uint16_t)port;
	return error;
}

int config_engine_distance(struct parser *p, unsigned i)
{
	uint32_t distance = 0;
	int error = parse_number(p, i, "the distance", 1, CONFIG_DISTANCE_MAX, &distance);
	p->out->engine.distance = (uint8_t)distance;
	return error;
}

int config_engine_hold(struct parser *p, unsigned i)
{
	return parse_number(p, i, "the hold time", 0, CONFIG_ENGINE_TIME_MAX_S, &p->out->engine.hold_s);
}

int config_engine_settle(struct parser *p, unsigned i)
{
	return parse_number(p, i, "the settle time", 1, CONFIG_ENGINE_TIME_MAX_S,
	                    &p->out->engine.settle_s);
}

int config_engine_maximum(struct parser *p, unsigned i)
{
	return parse_number(p, i, "the number of routes", 1, CONFIG_ENGINE_ROUTES_MAX,
	                    &p->out->engine.routes_max);
}

int config_engine_acknowledge(struct parser *p, unsigned i)
{
	p->out->engine.acknowledge = true;
	return note(p, words_end(&p->w, i));
}

int config_engine_index(struct parser *p, unsigned i)
{
	int error = words_u32(&p->w, i, "the interface index", 1, CONFIG_ENGINE_INDEX_MAX,
	                      &p->interface->engine_index);
	p->interface->engine_line = p->w.line;
	return error != 0 ? error : words_end(&p->w, i + 1);
}

/* --- checks of the whole --- */

static int check_indices(const struct config *c, struct text_error *err)
{
	char word[16], name[CONFIG_IF_NAME_SIZE];
	for (unsigned n = 0; n < c->interfaces; n++) {
		const struct config_interface *a = &c->interface[n];
		for (unsigned k = 0; a->engine_index && k < n; k++) {
			const struct config_interface *b = &c->interface[k];
			const bool later = a->engine_line > b->engine_line;
			if (a->engine_index != b->engine_index)
				continue;
			fmt_format(word, sizeof word, "%u", a->engine_index);
			return text_fail(err, later ? a->engine_line : b->engine_line, text_of(word),
			                 "%s has this index already",
			                 config_key_name(name, later ? b->key : a->key));
		}
	}
	return 0;
}

/* The name of the management server on the engine's port; NULL: none. */
static const char *server_on(const struct config *c, uint16_t port)
{
	return port == c->http.port      ? "HTTP"
	       : port == c->console.port ? "console"
	       : port == c->capture.port ? "capture"
	                                 : NULL;
}

int config_check_engine(const struct config *c, struct text_error *err)
{
	const struct config_engine *e = &c->engine;
	char port[16];
	int error = check_indices(c, err);
	if (error != 0)
		return error;
	if (e->line == 0 && e->other_line != 0)
		return text_fail(err, e->other_line, text_of("routing"),
		                 "there is no routing engine; add the line \"routing engine ADDRESS\"");
	if (e->line == 0)
		return 0;
	fmt_format(port, sizeof port, "%u", e->port);
	if (server_on(c, e->port))
		return text_fail(err, e->line, text_of(port), "the %s server listens on this port",
		                 server_on(c, e->port));
	return config_check_server(c, "routing", e->port, e->line, err);
}
