/* See subnets.h. */
#include "control/forwarding/subnets.h"

#include "control/config/config.h"
#include "control/config/running.h"
#include "lib/mem.h"
#include "net/ip6.h"

/* An address of an interface of running.config, by number. */
struct subnet {
	uint8_t interface, address;
	bool six;
};

/* In ascending order of prefixes. No two overlap, except equal ones of one interface
 * (config_check.c, config_check6.c). */
static struct subnet subnets[CONFIG_IFS_MAX * 2 * CONFIG_ADDRESSES_MAX];
static unsigned subnet_count;

/* The first address of a subnet; *plen counts the bits of an IPv6 address. */
static struct net_addr subnet_prefix(const struct subnet *s, unsigned *plen)
{
	const struct config_interface *i = &running.config.interface[s->interface];
	struct net_addr addr;
	if (s->six) {
		addr = i->address6[s->address].addr;
		*plen = i->address6[s->address].plen;
	} else {
		addr = net_addr_ip4(i->address[s->address].addr);
		*plen = 96u + i->address[s->address].plen;
	}
	return ip6_prefix_of(&addr, *plen);
}

/* The number of subnets that begin at the address or before it. */
static unsigned subnets_to(const struct net_addr *addr)
{
	unsigned from = 0, to = subnet_count, plen;
	while (from < to) {
		const unsigned middle = (from + to) / 2;
		const struct net_addr prefix = subnet_prefix(&subnets[middle], &plen);
		if (memcmp(prefix.w, addr->w, sizeof prefix.w) <= 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void note_subnet(unsigned interface, unsigned address, bool six)
{
	const struct subnet s = {(uint8_t)interface, (uint8_t)address, six};
	unsigned plen;
	const struct net_addr prefix = subnet_prefix(&s, &plen);
	const unsigned at = subnets_to(&prefix);
	memmove(&subnets[at + 1], &subnets[at], (subnet_count - at) * sizeof s);
	subnets[at] = s;
	subnet_count++;
}

void subnets_start(void)
{
	const struct config *c = &running.config;
	subnet_count = 0;
	for (unsigned n = 0; n < c->interfaces; n++) {
		for (unsigned a = 0; a < c->interface[n].address_count; a++)
			note_subnet(n, a, false);
		for (unsigned a = 0; a < c->interface[n].address6_count; a++)
			note_subnet(n, a, true);
	}
}

int subnet_interface(const struct net_addr *addr)
{
	unsigned plen;
	const unsigned n = subnets_to(addr);
	if (n == 0)
		return E_NOENT;
	const struct net_addr prefix = subnet_prefix(&subnets[n - 1], &plen);
	return ip6_in_prefix(addr, &prefix, plen) ? subnets[n - 1].interface : E_NOENT;
}
