/* The statements of IPv4; see config_parse.h and docs/configuration.md. */
#include "control/config/config_parse.h"

#include "lib/fmt.h"
#include "net/ip4.h"

#define IP4_WANTED \
	"an IPv4 address (four decimal numbers 0 to 255 without leading zeros, such as 192.0.2.1)"
#define SUBNET_WANTED "192.0.2.0/24 or 192.0.2.0 255.255.255.0"

static int parse_address(struct parser *p, unsigned i, uint32_t *out)
{
	int error = config_expect_word(p, i);
	if (error != 0)
		return error;
	if (text_parse_ip4(p->word[i], out) != 0)
		return FAIL(p, i, "expected " IP4_WANTED);
	return 0;
}

/* "A.B.C.D/LEN" in one word or "A.B.C.D MASK" in two, from word *i on; moves *i behind it. */
static int parse_subnet(struct parser *p, unsigned *i, uint32_t *addr, unsigned *plen)
{
	int error = config_expect_word(p, *i);
	if (error != 0)
		return error;
	struct text w = p->word[*i];
	size_t slash = text_find(w, '/');
	if (text_parse_ip4((struct text){w.at, slash}, addr) != 0)
		return FAIL(p, *i, "expected an address with its length, such as " SUBNET_WANTED);
	if (slash < w.len) {
		const struct text length = {w.at + slash + 1, w.len - slash - 1};
		if (text_parse_u32(length, 0, 32, plen) != 0)
			return FAIL(p, *i, "the prefix length after / must be a number from 0 to 32");
		*i += 1;
		return 0;
	}
	uint32_t mask;
	if (*i + 1 >= p->words)
		return FAIL(p, *i, "the prefix length or mask is missing; expected " SUBNET_WANTED);
	w = p->word[*i + 1];
	if (text_parse_ip4(w, &mask) != 0)
		return FAIL(p, *i + 1, "expected a mask such as 255.255.255.0");
	if (text_parse_mask(w, plen) != 0) {
		char buf[FMT_IP4_MAX];
		if ((mask & (mask + 1)) == 0)
			return FAIL(p, *i + 1, "this is a wildcard; did you mean the mask %s?",
			            fmt_ip4(buf, ~mask));
		return FAIL(p, *i + 1, "the one bits of a mask must stand together at its left");
	}
	*i += 2;
	return 0;
}

int config_ip4_address(struct parser *p, unsigned i)
{
	uint32_t addr;
	unsigned plen, at = i;
	int error = parse_subnet(p, &i, &addr, &plen);
	if (error != 0)
		return error;
	bool secondary = config_word_is(p, i, "secondary");
	if ((error = config_expect_end(p, i + secondary)) != 0)
		return error;
	if (plen == 0)
		return FAIL(p, at, "the prefix length of an interface address must be 1 to 32");
	if (ip4_src_is_martian(addr))
		return FAIL(p, at, "an interface needs a unicast address, not one of 0.0.0.0/8, "
		                   "127.0.0.0/8, or 224.0.0.0 and above");
	if (!ip4_is_subnet_host(addr, plen))
		return FAIL(p, at, "this is the %s address of its subnet; choose a host in it",
		            addr == ip4_subnet_broadcast(addr, plen) ? "broadcast" : "network");
	struct config_interface *interface = p->interface;
	if (!secondary && interface->address_count > 0)
		return FAIL(p, at, "the interface has its primary address at line %u; add the word "
		                   "secondary to have both", interface->address[0].line);
	if (secondary && interface->address_count == 0 && !p->unsure)
		return FAIL(p, i, "the primary address of the interface must come before");
	if (interface->address_count == CONFIG_ADDRESSES_MAX)
		return FAIL(p, at, "an interface has at most %d addresses", CONFIG_ADDRESSES_MAX);
	interface->address[interface->address_count++] =
		(struct config_address){addr, p->line, (uint8_t)plen};
	return 0;
}

int config_ip4_prefix(struct parser *p, unsigned *i, uint32_t *prefix, unsigned *plen)
{
	char given[FMT_PREFIX_MAX], meant[FMT_PREFIX_MAX];
	unsigned at = *i;
	int error = parse_subnet(p, i, prefix, plen);
	uint32_t network = error != 0 ? 0 : *prefix & ip4_prefix_mask(*plen);
	if (error != 0 || network == *prefix)
		return error;
	return FAIL(p, at, "prefix %s has host bits set; did you mean %s?",
	            fmt_prefix(given, *prefix, *plen), fmt_prefix(meant, network, *plen));
}

const char *config_route_word(enum config_route_kind kind)
{
	static const char *const word[CONFIG_ROUTE_KINDS] = {
		[CONFIG_ROUTE_NULL0] = "null0",
		[CONFIG_ROUTE_BLACKHOLE] = "blackhole",
		[CONFIG_ROUTE_UNREACHABLE] = "unreachable",
		[CONFIG_ROUTE_PROHIBIT] = "prohibit",
	};
	return word[kind];
}

enum config_route_kind config_parse_kind(const struct parser *p, unsigned i)
{
	unsigned kind = CONFIG_ROUTE_KINDS - 1;
	while (kind > CONFIG_ROUTE_VIA &&
	       !config_word_is(p, i, config_route_word((enum config_route_kind)kind)))
		kind--;
	return (enum config_route_kind)kind;
}

int config_parse_distance(struct parser *p, unsigned i, uint8_t *distance)
{
	uint32_t n = CONFIG_DISTANCE_DEFAULT;
	if (i < p->words && text_parse_u32(p->word[i], 1, CONFIG_DISTANCE_MAX, &n) != 0)
		return config_expect_end(p, i);
	*distance = (uint8_t)n;
	return config_expect_end(p, i + 1);
}

int config_ip4_route(struct parser *p, unsigned i)
{
	uint32_t prefix, next_hop = 0;
	uint8_t distance;
	unsigned plen, at = i;
	int error = config_ip4_prefix(p, &i, &prefix, &plen);
	if (error != 0 || (error = config_expect_word(p, i)) != 0)
		return error;
	const enum config_route_kind kind = config_parse_kind(p, i);
	if (kind == CONFIG_ROUTE_VIA && text_parse_ip4(p->word[i], &next_hop) != 0)
		return FAIL(p, i, "expected null0, blackhole, unreachable, prohibit or the next hop, "
		                  IP4_WANTED);
	if ((error = config_parse_distance(p, i + 1, &distance)) != 0)
		return error;
	if (p->out->route_count == p->mem->route_max)
		return FAIL(p, at, "too many routes; there is memory for %u", p->mem->route_max);
	p->out->routes[p->out->route_count++] =
		(struct config_route){prefix, next_hop, p->line, 0, (uint8_t)plen, (uint8_t)kind,
		                      distance, false};
	return 0;
}

int config_ip4_arp_timeout(struct parser *p, unsigned i)
{
	int error = config_parse_number(p, i, "the ARP timeout in seconds", 1,
	                                CONFIG_ARP_TIMEOUT_MAX_S, &p->out->arp_timeout_s);
	return error != 0 ? error : config_expect_end(p, i + 1);
}

int config_ip4_arp(struct parser *p, unsigned i)
{
	struct config_arp arp = {.line = p->line};
	int error = parse_address(p, i, &arp.addr);
	if (error != 0 || (error = config_parse_mac(p, i + 1, arp.mac)) != 0 ||
	    (error = config_expect_end(p, i + 2)) != 0)
		return error;
	if (p->out->arp_count == CONFIG_ARPS_MAX)
		return FAIL(p, i, "too many static ARP entries; at most %d", CONFIG_ARPS_MAX);
	p->out->arp[p->out->arp_count++] = arp;
	return 0;
}

int config_ip4_icmp(struct parser *p, unsigned i)
{
	struct config *c = p->out;
	int error = config_parse_number(p, i, "the rate in ICMP errors a second", 0,
	                                CONFIG_ICMP_RATE_MAX, &c->icmp_rate);
	if (error != 0)
		return error;
	if (!config_word_is(p, i + 1, "burst"))
		return config_expect_end(p, i + 1);
	error = config_parse_number(p, i + 2, "the burst", 1, CONFIG_ICMP_BURST_MAX, &c->icmp_burst);
	return error != 0 ? error : config_expect_end(p, i + 3);
}

int config_ip4_verify(struct parser *p, unsigned i) { return config_parse_verify(p, i, false); }
