/* The statements of the routing engine (`routing engine ...`) and the checks of the whole for them;
 * see config_parse.h and docs/configuration.md. */
#include "control/config/config_parse.h"

#include "lib/fmt.h"
#include "net/ip4.h"
#include "net/routing.h"
#include "net/vxlan.h"

/* --- statements --- */

int config_engine_address(struct parser *p, unsigned i)
{
	struct config_engine *e = &p->out->engine;
	int error = words_expect(&p->w, i);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	if (text_parse_addr(p->w.word[i], &e->addr) != 0)
		return FAIL(p, i, "expected the address of the routing engine, or one of fpm, "
		                  "distance, hold-time, settle-time, maximum, acknowledge, source, bfd");
	if (!config_is_host(&e->addr))
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

int config_engine_bfd(struct parser *p, unsigned i)
{
	uint32_t port = CONFIG_ENGINE_BFD_PORT_DEFAULT;
	int error = 0;
	p->out->engine.bfd_connect = i < p->w.n && words_is(&p->w, i, "connect");
	i += p->out->engine.bfd_connect;
	if (i < p->w.n && words_is(&p->w, i, "port")) {
		error = words_u32(&p->w, i + 1, "a TCP port", 1, 65535, &port);
		i += 2;
	}
	p->out->engine.bfd_port = (uint16_t)port;
	return note(p, error != 0 ? error : words_end(&p->w, i));
}

int config_engine_index(struct parser *p, unsigned i)
{
	int error = words_u32(&p->w, i, "the interface index", 1, CONFIG_ENGINE_INDEX_MAX,
	                      &p->interface->engine_index);
	p->interface->engine_line = p->w.line;
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int config_engine_source(struct parser *p, unsigned i)
{
	struct config_engine *e = &p->out->engine;
	int error = config_parse_ip4(p, i, &e->source);
	e->source_line = p->w.line;
	return note(p, error != 0 ? error : words_end(&p->w, i + 1));
}

int config_engine_vni(struct parser *p, unsigned i)
{
	int error = words_u32(&p->w, i, "the VXLAN network identifier", 1, VXLAN_VNI_MAX,
	                      &p->interface->engine_vni);
	p->interface->engine_vni_line = p->w.line;
	return error != 0 ? error : words_end(&p->w, i + 1);
}

static enum routing_protocol protocol_of(const struct parser *p, unsigned i)
{
	unsigned r = 0;
	while (r < ROUTING_PROTOCOLS_END && !words_is(&p->w, i, routing_desc[r].word))
		r++;
	return (enum routing_protocol)r;
}

int config_engine_protocols(struct parser *p, unsigned i)
{
	unsigned set = 0;
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	for (; i < p->w.n; i++) {
		const enum routing_protocol r = protocol_of(p, i);
		if (r == ROUTING_NONE)
			return FAIL(p, i, "unknown protocol; expected bgp, bfd, rip, ldp, ospf, pim, igmp, "
			                  "isis, lldp or discovery");
		if (set >> r & 1)
			return FAIL(p, i, "this protocol stands here twice");
		set |= 1u << r;
	}
	p->interface->engine_protocols = (uint16_t)set;
	p->interface->engine_protocols_line = p->w.line;
	return 0;
}

/* --- what the statements mean --- */

uint32_t config_engine_index_of(const struct config_interface *i)
{
	return i->engine_index ? i->engine_index : i->engine_vni;
}

unsigned config_engine_protocols_of(const struct config_interface *i)
{
	if (i->engine_vni == 0)
		return 0;
	return i->engine_protocols ? i->engine_protocols : ROUTING_USUAL;
}

uint32_t config_engine_remote(const struct config *c)
{
	const struct config_engine *e = &c->engine;
	return e->line && net_addr_is_ip4(&e->addr) ? net_addr_to_ip4(&e->addr) : 0;
}

/* Our address in the subnet of `addr`, or, if own, addr itself; 0: none. */
static uint32_t address_beside(const struct config *c, uint32_t addr, bool own)
{
	for (unsigned n = 0; n < c->interfaces; n++)
		for (unsigned k = 0; k < c->interface[n].address_count; k++) {
			const struct config_address *a = &c->interface[n].address[k];
			if (own ? a->addr == addr : ip4_in_prefix(addr, a->addr, a->plen))
				return a->addr;
		}
	return 0;
}

uint32_t config_engine_source_of(const struct config *c)
{
	const uint32_t remote = config_engine_remote(c);
	if (!remote)
		return 0;
	return c->engine.source ? c->engine.source : address_beside(c, remote, false);
}

/* --- checks of the whole --- */

/* The line that gives the interface its index. */
static uint32_t index_line(const struct config_interface *i)
{
	return i->engine_index ? i->engine_line : i->engine_vni_line;
}

static uint32_t vni_of(const struct config_interface *i) { return i->engine_vni; }
static uint32_t vni_line(const struct config_interface *i) { return i->engine_vni_line; }

/* No two interfaces have the same value, 0 aside; `line` is where an interface gets its own. */
static int check_unique(const struct config *c, uint32_t (*value)(const struct config_interface *),
                        uint32_t (*line)(const struct config_interface *), const char *what,
                        struct text_error *err)
{
	char word[16], name[CONFIG_IF_NAME_SIZE];
	for (unsigned n = 0; n < c->interfaces; n++)
		for (unsigned k = 0; value(&c->interface[n]) && k < n; k++) {
			const struct config_interface *first = &c->interface[k], *later = &c->interface[n];
			if (value(first) != value(later))
				continue;
			if (line(first) > line(later)) {
				first = &c->interface[n];
				later = &c->interface[k];
			}
			fmt_format(word, sizeof word, "%u", value(later));
			return text_fail(err, line(later), text_of(word), "%s has this %s already",
			                 config_key_name(name, first->key), what);
		}
	return 0;
}

/* The first interface with a VNI; NULL: none. */
static const struct config_interface *first_vni(const struct config *c)
{
	for (unsigned n = 0; n < c->interfaces; n++)
		if (c->interface[n].engine_vni)
			return &c->interface[n];
	return NULL;
}

/* VXLAN has an address at both ends. */
static int check_vxlan(const struct config *c, struct text_error *err)
{
	const struct config_engine *e = &c->engine;
	const struct config_interface *i = first_vni(c);
	char word[FMT_ADDR_MAX];
	if (e->source_line && !address_beside(c, e->source, true))
		return text_fail(err, e->source_line, text_of(fmt_ip4(word, e->source)),
		                 "the source must be an address of this machine");
	if (!i)
		return 0;
	fmt_format(word, sizeof word, "%u", i->engine_vni);
	if (!config_engine_remote(c))
		return text_fail(err, i->engine_vni_line, text_of(word),
		                 "a VNI needs a routing engine with an IPv4 address");
	if (!config_engine_source_of(c))
		return text_fail(err, i->engine_vni_line, text_of(word),
		                 "no subnet of ours has the routing engine; add the line "
		                 "\"routing engine source ADDRESS\"");
	return 0;
}

/* Statements of interfaces, with or without an engine. */
static int check_interfaces(const struct config *c, struct text_error *err)
{
	char word[16];
	for (unsigned n = 0; n < c->interfaces; n++) {
		const struct config_interface *i = &c->interface[n];
		if (i->engine_protocols && !i->engine_vni)
			return text_fail(err, i->engine_protocols_line, text_of("protocols"),
			                 "only an interface with \"routing engine vni N\" hands over "
			                 "protocols");
		fmt_format(word, sizeof word, "%u", i->engine_vni);
		if (i->engine_vni && config_is_loopback(i))
			return text_fail(err, i->engine_vni_line, text_of(word),
			                 "a loopback has no link, and so no VNI");
	}
	int error = check_unique(c, vni_of, vni_line, "VNI", err);
	return error != 0 ? error : check_unique(c, config_engine_index_of, index_line, "index", err);
}

/* The name of the management server on the engine's port; NULL: none. */
static const char *server_on(const struct config *c, uint16_t port)
{
	return port == c->http.port      ? "HTTP"
	       : port == c->http.tls_port ? "HTTPS"
	       : port == c->console.port ? "console"
	       : port == c->capture.port ? "capture"
	       : port == c->ssh.port     ? "SSH"
	                                 : NULL;
}

int config_check_engine(const struct config *c, struct text_error *err)
{
	const struct config_engine *e = &c->engine;
	char port[16];
	int error = check_interfaces(c, err);
	if (error != 0)
		return error;
	if (e->line == 0 && e->other_line != 0)
		return text_fail(err, e->other_line, text_of("routing"),
		                 "there is no routing engine; add the line \"routing engine ADDRESS\"");
	if (e->line == 0)
		return 0;
	error = check_vxlan(c, err);
	const uint16_t ports[] = {e->port, e->bfd_port};
	for (unsigned i = 0; i < ARRAY_LEN(ports) && ports[i] && error == 0; i++) {
		const char *name = i && e->bfd_port == e->port ? "FPM" : server_on(c, ports[i]);
		fmt_format(port, sizeof port, "%u", ports[i]);
		error = name ? text_fail(err, e->line, text_of(port), "the %s server listens on this port",
		                         name)
		             : config_check_server(c, "routing", ports[i], e->line, err);
	}
	return error;
}
