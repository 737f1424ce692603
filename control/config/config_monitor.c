/*
 * Port mirroring of the switch: `monitor session N source interface ethX [rx | tx | both]` and
 * `monitor session N destination interface ethY`. See docs/switch.md, "Port mirroring".
 */
#include "control/config/config_parse.h"

/* Words i and i + 1: "interface ethN". */
static int parse_port(struct parser *p, unsigned i, uint32_t *port)
{
	int error = words_is(&p->w, i, "interface")
	                    ? config_parse_interface(p, i + 1, port)
	                    : FAIL(p, i, "expected interface and the name of a port");
	if (error == 0 && *port >= CONFIG_PORTS_MAX)
		error = FAIL(p, i + 1, "only a port can be mirrored, or send mirrored frames");
	return error;
}

static int add_source(struct parser *p, unsigned i, struct config_monitor *m)
{
	uint32_t port;
	int error = parse_port(p, i, &port);
	if (error != 0)
		return error;
	const bool rx = words_is(&p->w, i + 2, "rx"), tx = words_is(&p->w, i + 2, "tx");
	const bool said = rx || tx || words_is(&p->w, i + 2, "both");
	if (p->w.n > i + 2 && !said)
		return FAIL(p, i + 2, "expected rx, tx or both");
	if ((error = words_end(&p->w, i + 2 + said)) != 0)
		return error;
	for (unsigned n = 0; n < CONFIG_MONITORS; n++)
		if ((p->out->monitor[n].rx | p->out->monitor[n].tx) >> port & 1)
			return FAIL(p, i + 1, "this port is a source of session %u already", n + 1);
	m->rx |= (uint16_t)(!tx << port);
	m->tx |= (uint16_t)(!rx << port);
	return 0;
}

static int add_destination(struct parser *p, unsigned i, struct config_monitor *m)
{
	uint32_t port;
	int error = parse_port(p, i, &port);
	if (error != 0 || (error = words_end(&p->w, i + 2)) != 0)
		return error;
	if (m->has_destination)
		return FAIL(p, i + 1, "this session has a destination already");
	m->has_destination = true;
	m->destination = (uint8_t)port;
	return 0;
}

int config_monitor(struct parser *p, unsigned i)
{
	uint32_t n;
	int error = words_u32(&p->w, i, "the session", 1, CONFIG_MONITORS, &n);
	if (error != 0 || (error = words_expect(&p->w, i + 1)) != 0)
		return error;
	struct config_monitor *m = &p->out->monitor[n - 1];
	const bool source = words_is(&p->w, i + 1, "source");
	if (!source && !words_is(&p->w, i + 1, "destination"))
		return FAIL(p, i + 1, "expected source or destination");
	error = source ? add_source(p, i + 2, m) : add_destination(p, i + 2, m);
	if (error == 0 && m->line == 0)
		m->line = p->w.line;
	return error;
}

bool config_monitor_sends(const struct config *c, unsigned port)
{
	for (unsigned n = 0; n < CONFIG_MONITORS; n++)
		if (c->monitor[n].has_destination && c->monitor[n].destination == port)
			return true;
	return false;
}

int config_check_monitor(const struct config *c, struct text_error *err)
{
	char name[CONFIG_IF_NAME_SIZE];
	uint32_t destinations = 0;
	for (unsigned n = 0; n < CONFIG_MONITORS; n++) {
		const struct config_monitor *m = &c->monitor[n];
		if (m->has_destination && destinations >> m->destination & 1)
			return text_fail(err, m->line, text_of(config_key_name(name, m->destination)),
			                 "the port is the destination of two sessions");
		destinations |= (uint32_t)m->has_destination << m->destination;
	}
	for (unsigned n = 0; n < CONFIG_MONITORS; n++) {
		const struct config_monitor *m = &c->monitor[n];
		const uint32_t both = (uint32_t)(m->rx | m->tx) & destinations;
		if (both)
			return text_fail(err, m->line, text_of(config_key_name(name, (uint32_t)__builtin_ctz(both))),
			                 "the destination of a session can be no source");
	}
	return 0;
}
