/* The statements of IPv6; see config_parse.h and docs/configuration.md. */
#include "control/config/config_parse.h"

#include "net/ip6.h"

static void take_part(struct parser *p)
{
	if (!p->interface->ipv6)
		p->interface->ipv6_line = p->w.line;
	p->interface->ipv6 = true;
}

int config_ip6_enable(struct parser *p, unsigned i)
{
	take_part(p);
	return words_end(&p->w, i);
}

/* "FE80::X link-local": replaces the address derived from the MAC address. */
static int parse_link_local(struct parser *p, unsigned i)
{
	struct config_interface *interface = p->interface;
	struct net_addr addr;
	int error = config_parse_ip6(p, i, &addr);
	if (error != 0 || (error = words_end(&p->w, i + 2)) != 0)
		return error;
	/* RFC 4291 2.5.6: 54 zero bits follow fe80::/10; 2.6.1: fe80:: is Subnet-Router anycast */
	const struct net_addr prefix = IP6(0xfe800000, 0, 0, 0);
	if (!ip6_in_prefix(&addr, &prefix, 64) || net_addr_equal(&addr, &prefix))
		return FAIL(p, i, "a link-local address lies in fe80::/64, such as fe80::1");
	if (!net_addr_is_any(&interface->link_local6))
		return FAIL(p, i, "the interface has its link-local address at line %u",
		            interface->link_local_line);
	interface->link_local6 = addr;
	interface->link_local_line = p->w.line;
	take_part(p);
	return 0;
}

int config_ip6_address(struct parser *p, unsigned i)
{
	struct net_addr addr;
	unsigned plen;
	if (words_is(&p->w, i + 1, "link-local"))
		return parse_link_local(p, i);
	int error = config_parse_subnet6(p, i, &addr, &plen);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	if (plen == 0)
		return FAIL(p, i, "the prefix length of an interface address must be 1 to 128");
	if (ip6_is_link_local(&addr))
		return FAIL(p, i, "a link-local address is written without a length and with the word "
		                  "link-local behind it");
	if (!ip6_is_unicast(&addr))
		return FAIL(p, i, "an interface needs a unicast address, not ::, ::1 or a group");
	if (ip6_is_subnet_router(&addr, &addr, plen))
		return FAIL(p, i, "this is the Subnet-Router anycast address of its subnet "
		                  "(RFC 4291 2.6.1); choose a host in it");
	struct config_interface *interface = p->interface;
	if (interface->address6_count == CONFIG_ADDRESSES_MAX)
		return FAIL(p, i, "an interface has at most %d IPv6 addresses beside its link-local one",
		            CONFIG_ADDRESSES_MAX);
	interface->address6[interface->address6_count++] =
		(struct config_address6){addr, p->w.line, (uint8_t)plen};
	take_part(p);
	return 0;
}

int config_ip6_autoconfig(struct parser *p, unsigned i)
{
	p->interface->autoconfig = true;
	p->interface->autoconfig_line = p->w.line;
	take_part(p);
	return words_end(&p->w, i);
}

/* --- router advertisements (RFC 4861 6.2.1) --- */

int config_ip6_ra_suppress(struct parser *p, unsigned i)
{
	p->interface->ra_suppress = true;
	return words_end(&p->w, i);
}

int config_ip6_ra_interval(struct parser *p, unsigned i)
{
	int error = words_u32(&p->w, i, "the interval of router advertisements in seconds",
	                      CONFIG_RA_INTERVAL_MIN_S, CONFIG_RA_INTERVAL_MAX_S,
	                      &p->interface->ra_interval_s);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int config_ip6_ra_lifetime(struct parser *p, unsigned i)
{
	p->interface->ra_lifetime_said = true;
	p->interface->ra_lifetime_line = p->w.line;
	int error = words_u32(&p->w, i, "the lifetime of the default router in seconds", 0,
	                      CONFIG_RA_LIFETIME_MAX_S, &p->interface->ra_lifetime_s);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int config_ip6_ra_managed(struct parser *p, unsigned i)
{
	p->interface->ra_managed = true;
	return words_end(&p->w, i);
}

int config_ip6_ra_other(struct parser *p, unsigned i)
{
	p->interface->ra_other = true;
	return words_end(&p->w, i);
}

int config_ip6_ra_dns(struct parser *p, unsigned i)
{
	struct config_interface *interface = p->interface;
	struct net_addr addr;
	int error = config_parse_ip6(p, i, &addr);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	if (!ip6_is_unicast(&addr))
		return FAIL(p, i, "a name server has a unicast address");
	for (unsigned k = 0; k < interface->ra_server_count; k++)
		if (net_addr_equal(&interface->ra_server[k], &addr))
			return FAIL(p, i, "this interface already advertises this name server");
	if (interface->ra_server_count == CONFIG_RA_SERVERS_MAX)
		return FAIL(p, i, "an interface advertises at most %d name servers",
		            CONFIG_RA_SERVERS_MAX);
	interface->ra_server[interface->ra_server_count++] = addr;
	return 0;
}

/* --- routes and neighbours --- */

static int parse_route_prefix(struct parser *p, unsigned i, struct config_route6 *r)
{
	static const struct net_addr loopback = IP6_LOOPBACK;
	unsigned plen;
	int error = config_ip6_prefix(p, i, &r->prefix, &plen);
	if (error != 0)
		return error;
	r->plen = (uint8_t)plen;
	const struct net_addr network = r->prefix;
	/* no router forwards to these (RFC 4291 2.5.2, 2.5.3, 2.5.6; groups: net/ip6.h) */
	if (ip6_is_multicast(&network) || (plen >= 10 && ip6_is_link_local(&network)) ||
	    (plen == 128 && (net_addr_is_any(&network) || net_addr_equal(&network, &loopback))))
		return FAIL(p, i, "packets to groups, link-local addresses, :: and ::1 are never routed");
	return 0;
}

int config_ip6_route(struct parser *p, unsigned i)
{
	struct config_route6 r = {.line = p->w.line};
	uint32_t key = CONFIG_INTERFACE_ANY;
	int error = parse_route_prefix(p, i, &r);
	if (error != 0 || (error = words_expect(&p->w, i + 1)) != 0)
		return error;
	r.kind = (uint8_t)config_parse_kind(p, i + 1);
	const bool via = r.kind == CONFIG_ROUTE_VIA;
	if (via && text_parse_ip6(p->w.word[i + 1], &r.next_hop) != 0)
		return FAIL(p, i + 1, "expected null0, blackhole, unreachable, prohibit or the next hop, "
		                      IP6_WANTED);
	unsigned end = i + 2;
	uint32_t number; /* a number is a distance; another word names the interface */
	if (via && end < p->w.n && text_parse_u32(p->w.word[end], 0, UINT32_MAX, &number) != 0 &&
	    (error = config_parse_interface(p, end++, &key)) != 0)
		return error;
	if ((error = config_parse_distance(p, end, &r.distance)) != 0)
		return error;
	if (via && !ip6_is_unicast(&r.next_hop))
		return FAIL(p, i + 1, "the next hop must be the unicast address of a neighbour");
	if (ip6_is_link_local(&r.next_hop) && key == CONFIG_INTERFACE_ANY)
		return FAIL(p, i + 1, "a link-local next hop needs its interface; name it after "
		                      "the address, such as eth0");
	if (p->out->route6_count == p->mem->route6_max)
		return FAIL(p, i, "too many IPv6 routes; there is memory for %u", p->mem->route6_max);
	r.interface = key;
	p->out->routes6[p->out->route6_count++] = r;
	return 0;
}

int config_ip6_neighbour(struct parser *p, unsigned i)
{
	struct config_neighbour6 n = {.line = p->w.line};
	uint32_t key;
	int error = config_parse_ip6(p, i, &n.addr);
	if (error != 0 || (error = config_parse_interface(p, i + 1, &key)) != 0 ||
	    (error = config_parse_mac(p, i + 2, n.mac)) != 0 ||
	    (error = words_end(&p->w, i + 3)) != 0)
		return error;
	if (!ip6_is_unicast(&n.addr))
		return FAIL(p, i, "a neighbour has a unicast address");
	if (p->out->neighbour6_count == CONFIG_NEIGHBOURS6_MAX)
		return FAIL(p, i, "too many static neighbours; at most %d", CONFIG_NEIGHBOURS6_MAX);
	n.interface = key;
	p->out->neighbour6[p->out->neighbour6_count++] = n;
	return 0;
}

int config_ip6_verify(struct parser *p, unsigned i) { return config_parse_verify(p, i, true); }
