/*
 * The statements of DHCP: an interface that asks a server for its address, and the relay agents of both families. See
 * docs/dhcp.md.
 */
#include "control/config/config_parse.h"

#include "lib/fmt.h"
#include "net/ip4.h"
#include "net/ip6.h"

/* --- the client --- */

static int parse_option(struct parser *p, unsigned i, struct config_dhcp_client *d)
{
	uint32_t distance;
	if (words_is(&p->w, i, "hostname"))
		return config_parse_hostname(p, i + 1, d->hostname);
	if (!words_is(&p->w, i, "distance"))
		return words_end(&p->w, i);
	const int error = words_u32(&p->w, i + 1, "the distance of the default route", 1, CONFIG_DISTANCE_MAX,
	                            &distance);
	if (error == 0)
		d->distance = distance;
	return error;
}

int config_dhcp_address(struct parser *p, unsigned i)
{
	struct config_dhcp *dhcp = &p->out->dhcp;
	struct config_dhcp_client d = {
		.interface = p->interface->key, .line = p->w.line, .distance = CONFIG_DHCP_DISTANCE_DEFAULT};
	for (; i < p->w.n; i += 2) {
		const int error = parse_option(p, i, &d);
		if (error != 0)
			return error;
	}
	if (dhcp->clients == CONFIG_DHCP_CLIENTS_MAX)
		return FAIL(p, i - 1, "too many interfaces take their address from a server; at most %d",
		            CONFIG_DHCP_CLIENTS_MAX);
	p->interface->dhcp_line = p->w.line;
	unsigned at = dhcp->clients++;
	for (; at > 0 && dhcp->client[at - 1].interface > d.interface; at--)
		dhcp->client[at] = dhcp->client[at - 1];
	dhcp->client[at] = d;
	return 0;
}

const struct config_dhcp_client *config_dhcp_client(const struct config *c, uint32_t key)
{
	for (unsigned k = 0; k < c->dhcp.clients; k++)
		if (c->dhcp.client[k].interface == key)
			return &c->dhcp.client[k];
	return NULL;
}

/* --- the relay agents --- */

/* Adds a server to the open block. */
static int add_relay(struct parser *p, unsigned i, const struct net_addr *server, uint32_t link)
{
	struct config_dhcp *dhcp = &p->out->dhcp;
	const bool four = net_addr_is_ip4(server);
	unsigned n = 0;
	for (unsigned k = 0; k < dhcp->relays; k++) {
		const struct config_relay *r = &dhcp->relay[k];
		if (r->interface != p->interface->key || net_addr_is_ip4(&r->server) != four)
			continue;
		if (net_addr_equal(&r->server, server) && r->link == link)
			return FAIL(p, i, "this server stands already at line %u", r->line);
		n++;
	}
	if (n == CONFIG_RELAYS_EACH_MAX)
		return FAIL(p, i, "an interface has at most %d servers of a family", CONFIG_RELAYS_EACH_MAX);
	if (dhcp->relays == CONFIG_RELAYS_MAX)
		return FAIL(p, i, "too many DHCP servers; at most %d of all interfaces", CONFIG_RELAYS_MAX);
	unsigned at = dhcp->relays++;
	for (; at > 0 && dhcp->relay[at - 1].interface > p->interface->key; at--)
		dhcp->relay[at] = dhcp->relay[at - 1];
	dhcp->relay[at] = (struct config_relay){*server, p->interface->key, link, p->w.line};
	p->interface->relay_line[!four] = p->w.line;
	return 0;
}

int config_dhcp_helper(struct parser *p, unsigned i)
{
	uint32_t addr;
	int error = config_parse_ip4(p, i, &addr);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	if (ip4_src_is_martian(addr))
		return FAIL(p, i, "a DHCP server has the address of a host");
	const struct net_addr server = net_addr_ip4(addr);
	return add_relay(p, i, &server, CONFIG_INTERFACE_ANY);
}

int config_dhcp_relay6(struct parser *p, unsigned i)
{
	struct net_addr server;
	uint32_t link = CONFIG_INTERFACE_ANY;
	int error = config_parse_ip6(p, i, &server);
	if (error != 0)
		return error;
	if (!ip6_is_unicast(&server))
		return FAIL(p, i, "a DHCP server has a unicast address");
	const bool named = ip6_is_link_local(&server);
	if (named && (error = config_parse_interface(p, i + 1, &link)) != 0)
		return error;
	if ((error = words_end(&p->w, i + 1 + named)) != 0)
		return error;
	return add_relay(p, i, &server, link);
}

int config_dhcp_information(struct parser *p, unsigned i)
{
	p->out->dhcp.insert = true;
	return words_end(&p->w, i);
}

static const char *const policies[DHCP_RELAY4_POLICIES] = {
	[DHCP_RELAY4_DROP] = "drop", [DHCP_RELAY4_KEEP] = "keep", [DHCP_RELAY4_REPLACE] = "replace"};

int config_dhcp_policy(struct parser *p, unsigned i)
{
	unsigned k = 0;
	while (k < DHCP_RELAY4_POLICIES && !words_is(&p->w, i, policies[k]))
		k++;
	if (k == DHCP_RELAY4_POLICIES)
		return FAIL(p, i, "expected drop, keep or replace");
	p->out->dhcp.policy = (enum dhcp_relay4_policy)k;
	return words_end(&p->w, i + 1);
}

int config_dhcp_hops(struct parser *p, unsigned i)
{
	uint32_t hops;
	const int error = words_u32(&p->w, i, "the number of relay agents", 1, DHCP_RELAY4_HOPS_MAX, &hops);
	if (error == 0)
		p->out->dhcp.hops = (uint8_t)(hops == DHCP_RELAY4_HOPS_MAX ? 0 : hops);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

/* --- the whole --- */

static int check_client(const struct config_interface *i, struct text_error *err)
{
	char name[CONFIG_IF_NAME_SIZE];
	const uint32_t other = i->address_count ? i->address[0].line : i->lender_line;
	if (i->dhcp_line == 0)
		return 0;
	if (other)
		return text_fail(err, i->dhcp_line, text_of(config_key_name(name, i->key)),
		                 "the interface has another address, at line %u", other);
	return 0;
}

static int check_relay(const struct config_interface *i, struct text_error *err)
{
	char name[CONFIG_IF_NAME_SIZE];
	const struct text word = text_of(config_key_name(name, i->key));
	if (i->relay_line[0] && !i->address_count && !i->dhcp_line)
		return text_fail(err, i->relay_line[0], word,
		                 "the relay agent needs an IPv4 address of the interface, which has none of its own");
	if (i->relay_line[1] && !i->ipv6)
		return text_fail(err, i->relay_line[1], word, "the interface takes no part in IPv6");
	return 0;
}

/* The interface of a link-local server exists, and has IPv6. */
static int check_server(const struct config *c, const struct config_relay *r, struct text_error *err)
{
	char name[CONFIG_IF_NAME_SIZE];
	const int n = r->link == CONFIG_INTERFACE_ANY ? 0 : config_number(c, r->link);
	if (r->link != CONFIG_INTERFACE_ANY && (n < 0 || !c->interface[n].ipv6))
		return text_fail(err, r->line, text_of(config_key_name(name, r->link)),
		                 "the interface of the server takes no part in IPv6");
	return 0;
}

int config_check_dhcp(const struct config *c, struct text_error *err)
{
	int error = 0;
	for (unsigned n = 0; error == 0 && n < c->interfaces; n++)
		if ((error = check_client(&c->interface[n], err)) == 0)
			error = check_relay(&c->interface[n], err);
	for (unsigned k = 0; error == 0 && k < c->dhcp.relays; k++)
		error = check_server(c, &c->dhcp.relay[k], err);
	return error;
}

/* --- back to text --- */

void config_dhcp_text(const struct config_dhcp_client *d, char buf[CONFIG_DHCP_TEXT])
{
	struct fmt_buf w = {.at = buf, .size = CONFIG_DHCP_TEXT};
	fmt_put(&w, "ip address dhcp");
	if (d->hostname[0])
		fmt_put(&w, " hostname %s", d->hostname);
	if (d->distance != CONFIG_DHCP_DISTANCE_DEFAULT)
		fmt_put(&w, " distance %u", d->distance);
}

const char *config_dhcp_policy_word(enum dhcp_relay4_policy policy) { return policies[policy]; }
