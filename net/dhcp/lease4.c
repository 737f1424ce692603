/* A lease as a server's message states it; see client4.h. All of it is untrusted. */
#include "net/dhcp/client4.h"

#include "lib/bytes.h"
#include "lib/mem.h"
#include "net/ip4.h"

#define SECOND 1000000000ull
#define ROUTES_BYTES 255
#define T1_MIN_S 10 /* a server does not make us ask more often */

/* The length of the prefix that a mask describes; 0: it is no mask. */
static unsigned mask_len(uint32_t mask)
{
	unsigned n = 0;
	while (n < 32 && mask >> (31 - n) & 1)
		n++;
	return mask == ip4_prefix_mask(n) ? n : 0;
}

/* Without option 1: the network of the address's class (RFC 791 2.3). */
static unsigned class_len(uint32_t addr) { return addr >> 31 == 0 ? 8 : addr >> 30 == 2 ? 16 : 24; }

static bool read_subnet(const struct dhcp4_options *o, struct dhcp_lease *l)
{
	uint32_t mask;
	uint8_t unused[4];
	l->plen = class_len(l->addr);
	if (dhcp4_option_u32(o, DHCP4_OPT_MASK, &mask))
		l->plen = mask_len(mask);
	else if (dhcp4_option(o, DHCP4_OPT_MASK, unused, sizeof unused) != E_NOENT)
		return false;
	return l->plen > 0 && !ip4_src_is_martian(l->addr) && ip4_is_subnet_host(l->addr, l->plen);
}

/* RFC 2131 4.4.5: T1 and T2 are half and seven eighths of the lease unless the server says otherwise, in this order. */
static bool read_times(const struct dhcp4_options *o, struct dhcp_lease *l)
{
	uint32_t t1, t2;
	if (!dhcp4_option_u32(o, DHCP4_OPT_LEASE, &l->lease_s) || l->lease_s < DHCP_LEASE_MIN_S)
		return false;
	if (!dhcp4_option_u32(o, DHCP4_OPT_T1, &t1))
		t1 = l->lease_s / 2;
	if (!dhcp4_option_u32(o, DHCP4_OPT_T2, &t2))
		t2 = l->lease_s - l->lease_s / 8;
	if (l->lease_s == DHCP_LEASE_FOREVER)
		t1 = t2 = DHCP_LEASE_FOREVER;
	else if (t1 < T1_MIN_S || t1 >= t2 || t2 >= l->lease_s)
		t1 = l->lease_s / 2, t2 = l->lease_s - l->lease_s / 8;
	l->t1_s = t1;
	l->t2_s = t2;
	return true;
}

/* Adds a route by a router of the lease's subnet; others are left out. */
static void add_route(struct dhcp_lease *l, uint32_t prefix, uint32_t plen, uint32_t via)
{
	const bool usable = ip4_in_prefix(via, l->addr, l->plen) && via != l->addr && ip4_is_subnet_host(via, l->plen);
	const bool martian = plen && (ip4_is_martian(prefix) || ip4_is_multicast(prefix));
	for (unsigned i = 0; i < l->routes; i++)
		if (l->route[i].prefix == prefix && l->route[i].plen == plen)
			return;
	if (usable && !martian && l->routes < DHCP_LEASE_ROUTES)
		l->route[l->routes++] = (struct dhcp_lease_route){prefix, via, plen};
}

/* RFC 3442: the length of a prefix, so many octets of it as are significant, the router. */
static bool read_classless(const uint8_t *at, unsigned n, struct dhcp_lease *l)
{
	for (unsigned i = 0; i < n;) {
		const unsigned plen = at[i++], octets = (plen + 7) / 8;
		uint32_t prefix = 0;
		if (plen > 32 || n - i < octets + 4)
			return false;
		for (unsigned k = 0; k < octets; k++)
			prefix |= (uint32_t)at[i + k] << (24 - 8 * k);
		add_route(l, prefix & ip4_prefix_mask(plen), plen, be32_load(at + i + octets));
		i += octets + 4;
	}
	return true;
}

static bool read_routes(const struct dhcp4_options *o, struct dhcp_lease *l)
{
	uint8_t value[ROUTES_BYTES];
	const int n = dhcp4_option(o, DHCP4_OPT_ROUTES, value, sizeof value);
	if (n >= 0) /* then option 3 does not count (RFC 3442, "DHCP Client Behavior") */
		return read_classless(value, (unsigned)n, l);
	if (n == E_NOMEM)
		return false;
	const int routers = dhcp4_option(o, DHCP4_OPT_ROUTER, value, sizeof value);
	if (routers == E_NOENT)
		return true;
	if (routers < 4 || routers % 4)
		return false;
	add_route(l, 0, 0, be32_load(value));
	return true;
}

/* The hosts of an option; those that cannot be hosts are left out. */
static bool read_hosts(const struct dhcp4_options *o, enum dhcp4_option_code code, uint32_t *count, uint32_t *host)
{
	uint8_t value[ROUTES_BYTES];
	const int n = dhcp4_option(o, code, value, sizeof value);
	*count = 0;
	if (n == E_NOENT)
		return true;
	if (n < 4 || n % 4)
		return false;
	for (int i = 0; i < n && *count < DHCP_LEASE_SERVERS; i += 4)
		if (!ip4_src_is_martian(be32_load(value + i)))
			host[(*count)++] = be32_load(value + i);
	return true;
}

/* Labels of letters, digits and hyphens, with a dot between two (RFC 1123 2.1). */
bool dhcp_lease_has_domain(const struct dhcp_lease *l)
{
	unsigned n = 0, label = 0;
	for (; n < DHCP_DOMAIN_SIZE && l->domain[n]; n++) {
		const char c = l->domain[n];
		if (c == '.' ? label == 0 : !(c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')))
			return false;
		label = c == '.' ? 0 : label + 1;
		if (label > 63)
			return false;
	}
	return n < DHCP_DOMAIN_SIZE && label > 0;
}

/* RFC 2132 3.17. Some servers end it with a NUL, some with a dot. One that is no domain, or too long, is left
 * out: an address is of use without it. */
static void read_domain(const struct dhcp4_options *o, struct dhcp_lease *l)
{
	uint8_t value[DHCP_DOMAIN_SIZE + 1];
	int n = dhcp4_option(o, DHCP4_OPT_DOMAIN, value, sizeof value);
	if (n > 0 && value[n - 1] == 0)
		n--;
	if (n > 0 && value[n - 1] == '.')
		n--;
	for (int i = 0; i < n && i < DHCP_DOMAIN_SIZE; i++)
		l->domain[i] = (char)(value[i] >= 'A' && value[i] <= 'Z' ? value[i] | 0x20 : value[i]);
	if (!dhcp_lease_has_domain(l) || (int)strlen(l->domain) != n)
		memset(l->domain, 0, sizeof l->domain);
}

bool dhcp_lease_read(const uint8_t *message, const struct dhcp4_options *o, struct dhcp_lease *out)
{
	*out = (struct dhcp_lease){.addr = be32_load(message + DHCP4_YIADDR)};
	read_domain(o, out);
	return dhcp4_option_u32(o, DHCP4_OPT_SERVER, &out->server) && !ip4_src_is_martian(out->server) &&
	       read_subnet(o, out) && read_times(o, out) && read_routes(o, out) &&
	       read_hosts(o, DHCP4_OPT_DNS, &out->dns_count, out->dns) &&
	       read_hosts(o, DHCP4_OPT_NTP, &out->ntp_count, out->ntp);
}

uint64_t dhcp_lease_end_ns(const struct dhcp_lease *l)
{
	return l->lease_s == DHCP_LEASE_FOREVER ? UINT64_MAX : l->since_ns + l->lease_s * SECOND;
}
