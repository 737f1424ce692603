/*
 * The statements of the spanning tree (apps/switch, net/stp): of the bridge, of a port, and of the recovery from BPDU
 * guard and from storm control. See docs/switch.md, "Spanning tree". net/stp/stp.h has ranges, steps and defaults
 * (IEEE 802.1D-2004, tables 17-1 to 17-3).
 */
#include "control/config/config_parse.h"

/* --- of the bridge --- */

static struct config_stp *bridge_of(struct parser *p)
{
	struct config_stp *s = &p->out->stp;
	if (s->line == 0)
		s->line = p->w.line;
	return s;
}

int config_stp_mode(struct parser *p, unsigned i)
{
	struct config_stp *s = bridge_of(p);
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	s->off = words_is(&p->w, i, "none");
	if (!s->off && !words_is(&p->w, i, "rstp") && !words_is(&p->w, i, "stp"))
		return FAIL(p, i, "unknown mode; expected rstp, stp or none");
	s->bridge.version = words_is(&p->w, i, "stp") ? STP_VERSION_STP : STP_VERSION_RSTP;
	return words_end(&p->w, i + 1);
}

/* A number in steps. */
static int parse_steps(struct parser *p, unsigned i, const char *what, uint32_t max, uint32_t step, uint32_t *n)
{
	int error = words_u32(&p->w, i, what, 0, max, n);
	if (error == 0 && *n % step != 0)
		return FAIL(p, i, "%s must be a multiple of %u", what, step);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int config_stp_priority(struct parser *p, unsigned i)
{
	uint32_t n;
	int error = parse_steps(p, i, "the bridge priority", 61440, 4096, &n);
	if (error == 0)
		bridge_of(p)->bridge.priority = (uint16_t)n;
	return error;
}

/* A time in seconds, or the hold count. */
static int parse_small(struct parser *p, unsigned i, const char *what, uint32_t min, uint32_t max, uint8_t *out)
{
	uint32_t n;
	int error = words_u32(&p->w, i, what, min, max, &n);
	if (error == 0)
		*out = (uint8_t)n;
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int config_stp_hello(struct parser *p, unsigned i)
{
	struct config_stp *s = bridge_of(p);
	s->times_line = p->w.line;
	return parse_small(p, i, "the hello time in seconds", 1, 2, &s->bridge.hello_s);
}

int config_stp_max_age(struct parser *p, unsigned i)
{
	struct config_stp *s = bridge_of(p);
	s->times_line = p->w.line;
	return parse_small(p, i, "the max age in seconds", 6, 40, &s->bridge.max_age_s);
}

int config_stp_forward(struct parser *p, unsigned i)
{
	struct config_stp *s = bridge_of(p);
	s->times_line = p->w.line;
	return parse_small(p, i, "the forward delay in seconds", 4, 30, &s->bridge.forward_delay_s);
}

int config_stp_hold(struct parser *p, unsigned i)
{
	return parse_small(p, i, "the transmit hold count", 1, 10, &bridge_of(p)->bridge.tx_hold);
}

/* --- of a port --- */

/* The port of the open block; NULL: it is not of a port, which has been reported. */
static struct config_stp_port *port_of(struct parser *p, unsigned i)
{
	struct config_switchport *s = config_switchport_of(p, i);
	return s != NULL ? &s->stp : NULL;
}

int config_stp_cost(struct parser *p, unsigned i)
{
	struct config_stp_port *s = port_of(p, i);
	int error = E_INVAL;
	if (s == NULL || (error = words_u32(&p->w, i, "the path cost", 1, STP_COST_MAX, &s->cost)) != 0)
		return error;
	return words_end(&p->w, i + 1);
}

int config_stp_port_priority(struct parser *p, unsigned i)
{
	struct config_stp_port *s = port_of(p, i);
	uint32_t n;
	int error = E_INVAL;
	if (s == NULL || (error = parse_steps(p, i, "the port priority", 240, 16, &n)) != 0)
		return error;
	s->priority = (uint8_t)n;
	return 0;
}

int config_stp_link_type(struct parser *p, unsigned i)
{
	struct config_stp_port *s = port_of(p, i);
	int error = E_INVAL;
	if (s == NULL || (error = words_expect(&p->w, i)) != 0)
		return error;
	if (words_is(&p->w, i, "auto"))
		s->link_type = STP_LINK_AUTO;
	else if (words_is(&p->w, i, "point-to-point"))
		s->link_type = STP_LINK_POINT_TO_POINT;
	else if (words_is(&p->w, i, "shared"))
		s->link_type = STP_LINK_SHARED;
	else
		return FAIL(p, i, "unknown link type; expected auto, point-to-point or shared");
	return words_end(&p->w, i + 1);
}

int config_stp_portfast(struct parser *p, unsigned i)
{
	struct config_stp_port *s = port_of(p, i);
	if (s == NULL)
		return E_INVAL;
	s->portfast = CONFIG_PORTFAST_EDGE;
	if (i >= p->w.n)
		return 0;
	if (words_is(&p->w, i, "auto"))
		s->portfast = CONFIG_PORTFAST_AUTO;
	else if (words_is(&p->w, i, "disable"))
		s->portfast = CONFIG_PORTFAST_OFF;
	else
		return FAIL(p, i, "expected auto (an edge if no bridge is heard), disable or nothing");
	return words_end(&p->w, i + 1);
}

int config_stp_guard(struct parser *p, unsigned i)
{
	struct config_stp_port *s = port_of(p, i);
	if (s == NULL)
		return E_INVAL;
	return words_choice(&p->w, i, "enable", "disable", "expected enable or disable", &s->guard);
}

/* --- recovery --- */

int config_stp_recovery(struct parser *p, unsigned i)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (words_is(&p->w, i, "bpduguard"))
		bridge_of(p)->recovers = true;
	else if (words_is(&p->w, i, "storm-control"))
		bridge_of(p)->storm_recovers = true;
	else
		return FAIL(p, i, "unknown cause; expected bpduguard or storm-control");
	return words_end(&p->w, i + 1);
}

int config_stp_interval(struct parser *p, unsigned i)
{
	int error = words_u32(&p->w, i, "the recovery interval in seconds", CONFIG_RECOVERY_MIN_S,
	                      CONFIG_RECOVERY_MAX_S, &bridge_of(p)->recovery_s);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int config_check_stp(const struct config *c, struct text_error *err)
{
	const char *wrong = stp_params_wrong(&c->stp.bridge);
	if (wrong == NULL)
		return 0;
	return text_fail(err, c->stp.times_line, text_of("spanning-tree"), "%s (802.1D 17.14)", wrong);
}
