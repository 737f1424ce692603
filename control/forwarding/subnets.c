/* See subnets.h. */
#include "control/forwarding/subnets.h"

#include "control/config/config.h"
#include "control/config/running.h"
#include "lib/mem.h"
#include "net/ip6.h"

/* The subnet of an address of an interface. */
struct subnet {
	struct net_addr prefix;
	uint8_t plen; /* counts the bits of an IPv6 address */
	uint8_t interface;
};

/* In ascending order of prefixes. No two overlap, except equal ones of one interface
 * (config_check.c, config_check6.c, leased.c). */
static struct subnet subnets[CONFIG_IFS_MAX * 2 * CONFIG_ADDRESSES_MAX + CONFIG_DHCP_CLIENTS_MAX];
static unsigned subnet_count;

/* The number of subnets that begin at the address or before it. */
static unsigned subnets_to(const struct net_addr *addr)
{
	unsigned from = 0, to = subnet_count;
	while (from < to) {
		const unsigned middle = (from + to) / 2;
		if (memcmp(subnets[middle].prefix.w, addr->w, sizeof addr->w) <= 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

void subnets_add(unsigned interface, const struct net_addr *addr, unsigned plen)
{
	const struct subnet s = {ip6_prefix_of(addr, plen), (uint8_t)plen, (uint8_t)interface};
	const unsigned at = subnets_to(&s.prefix);
	memmove(&subnets[at + 1], &subnets[at], (subnet_count - at) * sizeof s);
	subnets[at] = s;
	subnet_count++;
}

void subnets_remove(unsigned interface, const struct net_addr *addr, unsigned plen)
{
	const struct net_addr prefix = ip6_prefix_of(addr, plen);
	const unsigned at = subnets_to(&prefix) - 1;
	if (at >= subnet_count || subnets[at].interface != interface || subnets[at].plen != plen)
		return;
	subnet_count--;
	memmove(&subnets[at], &subnets[at + 1], (subnet_count - at) * sizeof subnets[0]);
}

void subnets_start(void)
{
	const struct config *c = &running.config;
	subnet_count = 0;
	for (unsigned n = 0; n < c->interfaces; n++) {
		const struct config_interface *i = &c->interface[n];
		for (unsigned a = 0; a < i->address_count; a++) {
			const struct net_addr addr = net_addr_ip4(i->address[a].addr);
			subnets_add(n, &addr, 96u + i->address[a].plen);
		}
		for (unsigned a = 0; a < i->address6_count; a++)
			subnets_add(n, &i->address6[a].addr, i->address6[a].plen);
	}
}

int subnet_interface(const struct net_addr *addr)
{
	const unsigned n = subnets_to(addr);
	if (n == 0)
		return E_NOENT;
	const struct subnet *s = &subnets[n - 1];
	return ip6_in_prefix(addr, &s->prefix, s->plen) ? s->interface : E_NOENT;
}
