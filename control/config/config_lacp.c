/*
 * Link aggregation: `channel-group` puts a port into a port channel, whose block, `interface port-channelN`,
 * has all that a port's would have: addresses, or switchport statements. See docs/link-aggregation.md.
 *
 * The number of the bundle is that of the first port of the port channel, whichever is in use (dataplane/
 * state.h, logical).
 */
#include "control/config/config_parse.h"

#define PRIORITY_MAX 65535

unsigned config_channel_of(const struct config *c, unsigned port)
{
	return port < CONFIG_PORTS_MAX ? c->member[port].channel : 0;
}

int config_channel_port(const struct config *c, unsigned channel)
{
	for (unsigned p = 0; channel && p < CONFIG_PORTS_MAX; p++)
		if (c->member[p].channel == channel)
			return (int)p;
	return -1;
}

unsigned config_logical(const struct config *c, unsigned port)
{
	const int first = config_channel_port(c, config_channel_of(c, port));
	return first < 0 ? port : (unsigned)first;
}

const struct config_interface *config_logical_interface(const struct config *c, unsigned port)
{
	const unsigned channel = config_channel_of(c, port);
	const int n = channel ? config_number(c, channel | CONFIG_KEY_CHANNEL) : (int)port;
	return n < 0 ? NULL : &c->interface[n];
}

bool config_logical_shut(const struct config *c, unsigned port)
{
	const struct config_interface *i = config_logical_interface(c, port);
	return i == NULL || i->shutdown;
}

/* --- statements --- */

/* The port of the open block; NULL: it is not of a port, which has been reported. */
static struct config_member *member_of(struct parser *p, unsigned i)
{
	if (p->interface->key >= CONFIG_PORTS_MAX) {
		(void)FAIL(p, i - 1, "this belongs into the block of a port, such as eth0");
		return NULL;
	}
	struct config_member *m = &p->out->member[p->interface->key];
	if (m->line == 0)
		m->line = p->w.line;
	return m;
}

int config_lacp_group(struct parser *p, unsigned i)
{
	static const char *const modes[] = {
		[LACP_PASSIVE] = "passive", [LACP_ACTIVE] = "active", [LACP_ON] = "on"};
	struct config_member *m = member_of(p, i);
	uint32_t channel;
	int error = E_INVAL;
	if (m == NULL || (error = words_u32(&p->w, i, "the port channel", 1, CONFIG_CHANNELS_MAX, &channel)) != 0)
		return error;
	if (!words_is(&p->w, i + 1, "mode"))
		return FAIL(p, i + 1, "expected mode and active, passive or on");
	if ((error = words_expect(&p->w, i + 2)) != 0)
		return error;
	for (unsigned k = 0; k < ARRAY_LEN(modes); k++)
		if (words_is(&p->w, i + 2, modes[k])) {
			m->channel = (uint8_t)channel;
			m->mode = (uint8_t)k;
			m->line = p->w.line;
			return words_end(&p->w, i + 3);
		}
	return FAIL(p, i + 2, "unknown mode; expected active or passive (LACP), or on (no protocol)");
}

int config_lacp_rate(struct parser *p, unsigned i)
{
	struct config_member *m = member_of(p, i);
	if (m == NULL)
		return E_INVAL;
	return words_choice(&p->w, i, "fast", "normal",
	                    "unknown rate; expected fast (a LACPDU a second) or normal (one in 30)", &m->fast);
}

int config_lacp_port_priority(struct parser *p, unsigned i)
{
	struct config_member *m = member_of(p, i);
	uint32_t priority;
	int error = E_INVAL;
	if (m == NULL || (error = words_u32(&p->w, i, "the priority", 0, PRIORITY_MAX, &priority)) != 0)
		return error;
	m->has_priority = priority != LACP_PRIORITY_DEFAULT;
	m->priority = (uint16_t)(m->has_priority ? priority : 0);
	return words_end(&p->w, i + 1);
}

int config_lacp_system_priority(struct parser *p, unsigned i)
{
	uint32_t priority;
	int error = words_u32(&p->w, i, "the priority", 0, PRIORITY_MAX, &priority);
	if (error != 0)
		return error;
	p->out->lacp_priority = priority;
	p->out->lacp_priority_line = p->w.line;
	return words_end(&p->w, i + 1);
}

int config_lacp_min_links(struct parser *p, unsigned i)
{
	uint32_t links;
	int error;
	if (!config_is_channel(p->interface) || config_if_vid(p->interface))
		return FAIL(p, i - 1, "this belongs into the block of a port channel, such as port-channel1");
	if ((error = words_u32(&p->w, i, "the number of links", 1, CONFIG_PORTS_MAX, &links)) != 0)
		return error;
	p->out->min_links[p->interface->key & 0xff] = (uint8_t)(links > 1 ? links : 0);
	return words_end(&p->w, i + 1);
}

/* --- the whole --- */

/* The line of the first statement in a port's block that belongs to its port channel; 0: it has none. */
static uint32_t misplaced(const struct config *c, unsigned port, const char **what)
{
	const struct config_interface *i = &c->interface[port];
	*what = "addresses";
	if (i->address_count || i->lender_line)
		return i->address_count ? i->address[0].line : i->lender_line;
	if (i->dhcp_line)
		return i->dhcp_line;
	if (i->ipv6)
		return i->ipv6_line;
	*what = "the MTU";
	if (i->mtu)
		return i->mtu_line;
	*what = "switchport statements";
	if (c->switchport[port].line)
		return c->switchport[port].line;
	*what = "packet filters";
	for (unsigned k = 0; k < CONFIG_FILTERS; k++)
		if (i->filter[k].name[0])
			return i->filter[k].line;
	*what = "source verification";
	for (unsigned six = 0; six < 2; six++)
		if (i->verify[six])
			return i->verify_line[six];
	*what = "redirects and broadcasts";
	for (unsigned six = 0; six < 2; six++)
		if (i->redirects[six])
			return i->redirects_line[six];
	if (i->directed)
		return i->directed_line;
	*what = "statements of the routing engine";
	return i->engine_line ? i->engine_line : i->engine_vni_line ? i->engine_vni_line : i->engine_protocols_line;
}

static int check_member(const struct config *c, unsigned port, struct text_error *err)
{
	char name[CONFIG_IF_NAME_SIZE];
	const char *what;
	const struct config_member *m = &c->member[port];
	const uint32_t line = m->channel ? misplaced(c, port, &what) : 0;
	config_key_name(name, port);
	if (m->line && !m->channel)
		return text_fail(err, m->line, text_of(name), "the port is in no channel-group");
	if (!m->channel)
		return 0;
	if (line)
		return text_fail(err, line, text_of(name), "%s belong into the block of port-channel%u, in which "
		                 "the port is (line %u)", what, m->channel, m->line);
	if (config_number(c, m->channel | CONFIG_KEY_CHANNEL) < 0)
		return text_fail(err, m->line, text_of(name), "port-channel%u has no block", m->channel);
	const unsigned first = config_logical(c, port);
	if ((c->member[first].mode == LACP_ON) != (m->mode == LACP_ON))
		return text_fail(err, m->line, text_of(name), "mode on does not go with LACP in one port channel: "
		                 "see line %u", c->member[first].line);
	return 0;
}

/* VLANs are of the port channel. */
static int check_beside(const struct config *c, const struct config_interface *i, struct text_error *err)
{
	char name[CONFIG_IF_NAME_SIZE];
	const uint32_t n = i->key & 0xff;
	if (!i->present || config_is_loopback(i) || config_is_svi(i))
		return 0;
	if (!config_is_channel(i) && config_channel_of(c, n))
		return text_fail(err, i->line, text_of(config_key_name(name, i->key)), "eth%u is in "
		                 "port-channel%u: a VLAN is port-channel%u.%u", n, c->member[n].channel,
		                 c->member[n].channel, config_if_vid(i));
	if (config_is_channel(i) && config_channel_port(c, n) < 0)
		return text_fail(err, i->line, text_of(config_key_name(name, i->key)),
		                 "no port has the statement channel-group %u", n);
	return 0;
}

int config_check_lacp(const struct config *c, struct text_error *err)
{
	int error = 0;
	for (unsigned p = 0; error == 0 && p < CONFIG_PORTS_MAX; p++)
		error = check_member(c, p, err);
	for (unsigned n = CONFIG_PORTS_MAX; error == 0 && n < c->interfaces; n++)
		error = check_beside(c, &c->interface[n], err);
	return error;
}
