/*
 * The interfaces of a configuration: names, keys and numbers; see config.h.
 *
 * control/text/interface_name.h defines names and keys. A number is an index of config.interface.
 * The interface of a port has the port's number. The others follow in the order of their keys,
 * whatever the order of the text. So two texts of the same meaning have the same numbers, and a
 * commit that changes no interface can leave the data-plane state unchanged.
 */
#include "control/config/config_parse.h"

char *config_name(char buf[CONFIG_IF_NAME_SIZE], const struct config *c, unsigned n)
{
	return config_key_name(buf, c->interface[n].key);
}

bool config_is_loopback(const struct config_interface *i) { return i->key & CONFIG_KEY_LOOPBACK; }
bool config_is_svi(const struct config_interface *i) { return i->key & CONFIG_KEY_SVI; }
bool config_is_channel(const struct config_interface *i) { return i->key & CONFIG_KEY_CHANNEL; }

unsigned config_if_port(const struct config *c, const struct config_interface *i)
{
	const unsigned n = i->key & 0xff;
	const int first = config_is_channel(i) ? config_channel_port(c, n) : (int)n;
	return first < 0 ? CONFIG_PORTS_MAX : (unsigned)first;
}

unsigned config_if_vid(const struct config_interface *i)
{
	if (config_is_svi(i))
		return i->key & 0xfff;
	return config_is_loopback(i) ? 0 : i->key >> 8 & 0xfff;
}

int config_number(const struct config *c, uint32_t key)
{
	if (key < CONFIG_PORTS_MAX)
		return (int)key;
	for (unsigned n = CONFIG_PORTS_MAX; n < c->interfaces; n++)
		if (c->interface[n].key == key)
			return (int)n;
	return -1;
}

int config_lender(const struct config *c, unsigned n)
{
	return c->interface[n].lender_line ? config_number(c, c->interface[n].lender) : -1;
}

int config_interface(struct parser *p, unsigned i)
{
	struct config *c = p->out;
	char name[CONFIG_IF_NAME_SIZE];
	uint32_t key;
	int error = config_parse_interface(p, i, &key);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	int n = config_number(c, key);
	if (n < 0 && c->interfaces == CONFIG_IFS_MAX)
		return FAIL(p, i, "too many interfaces; at most %d VLANs and loopbacks",
		            CONFIG_IFS_MAX - CONFIG_PORTS_MAX);
	struct config_interface *interface = &c->interface[n < 0 ? c->interfaces++ : (unsigned)n];
	if (interface->present)
		return FAIL(p, i, "%s already has a block, at line %u", config_key_name(name, key),
		            interface->line);
	interface->present = true;
	interface->key = key;
	interface->line = p->w.line;
	p->interface = interface;
	return 0;
}

void config_order(struct config *c)
{
	for (unsigned n = CONFIG_PORTS_MAX + 1; n < c->interfaces; n++) {
		const struct config_interface moved = c->interface[n];
		unsigned to = n;
		for (; to > CONFIG_PORTS_MAX && c->interface[to - 1].key > moved.key; to--)
			c->interface[to] = c->interface[to - 1];
		c->interface[to] = moved;
	}
}

/* Refuses statements that need a link, which a loopback does not have. */
static int check_loopback(const struct config_interface *i, struct text_error *err)
{
	char name[CONFIG_IF_NAME_SIZE];
	const char *what = NULL;
	uint32_t line = i->line;
	if (i->mtu)
		what = "an MTU", line = i->mtu_line;
	else if (i->lender_line)
		what = "packets that need a borrowed address", line = i->lender_line;
	else if (i->dhcp_line)
		what = "addresses of a DHCP server", line = i->dhcp_line;
	else if (i->relay_line[0] || i->relay_line[1])
		what = "clients of a DHCP relay agent", line = i->relay_line[!i->relay_line[0]];
	else if (i->autoconfig)
		what = "addresses of routers", line = i->autoconfig_line;
	else if (!net_addr_is_any(&i->link_local6))
		what = "a link-local address", line = i->link_local_line;
	else if (i->ra_suppress || i->ra_managed || i->ra_other || i->ra_interval_s ||
	         i->ra_lifetime_said || i->ra_server_count)
		what = "router advertisements";
	else if (i->redirects[0] || i->redirects[1])
		what = "redirects", line = i->redirects_line[!i->redirects[0]];
	else if (i->directed)
		what = "broadcasts", line = i->directed_line;
	for (unsigned direction = 0; !what && direction < CONFIG_FILTERS; direction++)
		if (i->filter[direction].name[0])
			what = "packets to filter", line = i->filter[direction].line;
	if (!what)
		return 0;
	return text_fail(err, line, text_of(config_key_name(name, i->key)),
	                 "a loopback is on no link and has no such thing as %s", what);
}

/* Refuses `ip unnumbered` beside an address, or of an interface without one. */
static int check_unnumbered(const struct config *c, const struct config_interface *i,
                            struct text_error *err)
{
	char name[CONFIG_IF_NAME_SIZE];
	const int n = config_number(c, i->lender);
	const struct text lender = text_of(config_key_name(name, i->lender));
	if (i->lender_line == 0)
		return 0;
	if (i->address_count)
		return text_fail(err, i->lender_line, lender,
		                 "the interface has an address of its own, at line %u",
		                 i->address[0].line);
	if (n < 0 || c->interface[n].address_count == 0)
		return text_fail(err, i->lender_line, lender,
		                 "this interface has no IPv4 address to lend");
	return 0;
}

int config_check_interfaces(const struct config *c, struct text_error *err)
{
	int error = 0;
	for (unsigned n = 0; error == 0 && n < c->interfaces; n++)
		error = check_unnumbered(c, &c->interface[n], err);
	for (unsigned n = CONFIG_PORTS_MAX; error == 0 && n < c->interfaces; n++)
		if (config_is_loopback(&c->interface[n]))
			error = check_loopback(&c->interface[n], err);
	return error;
}
