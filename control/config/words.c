/* Parsers of words that several kinds of statements share; see config_parse.h and
 * docs/configuration.md. */
#include "control/config/config_parse.h"

#include "lib/fmt.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define SUBNET_WANTED "192.0.2.0/24 or 192.0.2.0 255.255.255.0"

int config_parse_interface(struct parser *p, unsigned i, uint32_t *key)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (config_key_parse(p->w.word[i], key) != 0)
		return FAIL(p, i, "unknown interface; expected " CONFIG_IF_NAMES);
	return 0;
}

int config_parse_mac(struct parser *p, unsigned i, uint8_t mac[6])
{
	static const uint8_t zero[6];
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (text_parse_mac(p->w.word[i], mac) != 0)
		return FAIL(p, i, "expected a MAC address such as 00:11:22:33:44:55 or 0011.2233.4455");
	if ((mac[0] & 1) != 0 || memcmp(mac, zero, sizeof zero) == 0)
		return FAIL(p, i, "the MAC address of a neighbour must be a unicast one");
	return 0;
}

int config_parse_ip4(struct parser *p, unsigned i, uint32_t *out)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (text_parse_ip4(p->w.word[i], out) != 0)
		return FAIL(p, i, "expected " IP4_WANTED);
	return 0;
}

bool config_is_host(const struct net_addr *a)
{
	if (net_addr_is_ip4(a))
		return !ip4_src_is_martian(net_addr_to_ip4(a));
	return !net_addr_is_any(a) && !ip6_is_multicast(a) && !ip6_is_link_local(a);
}

int config_parse_subnet(struct parser *p, unsigned *i, uint32_t *addr, unsigned *plen)
{
	int error = words_expect(&p->w, *i);
	if (error != 0)
		return error;
	struct text w = p->w.word[*i];
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
	if (*i + 1 >= p->w.n)
		return FAIL(p, *i, "the prefix length or mask is missing; expected " SUBNET_WANTED);
	w = p->w.word[*i + 1];
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

int config_ip4_prefix(struct parser *p, unsigned *i, uint32_t *prefix, unsigned *plen)
{
	char given[FMT_PREFIX_MAX], meant[FMT_PREFIX_MAX];
	unsigned at = *i;
	int error = config_parse_subnet(p, i, prefix, plen);
	uint32_t network = error != 0 ? 0 : *prefix & ip4_prefix_mask(*plen);
	if (error != 0 || network == *prefix)
		return error;
	return FAIL(p, at, "prefix %s has host bits set; did you mean %s?",
	            fmt_prefix(given, *prefix, *plen), fmt_prefix(meant, network, *plen));
}

int config_parse_ip6(struct parser *p, unsigned i, struct net_addr *out)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (text_parse_ip6(p->w.word[i], out) != 0)
		return FAIL(p, i, "expected " IP6_WANTED);
	return 0;
}

int config_parse_subnet6(struct parser *p, unsigned i, struct net_addr *addr, unsigned *plen)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	struct text w = p->w.word[i];
	size_t slash = text_find(w, '/');
	if (text_parse_ip6((struct text){w.at, slash}, addr) != 0)
		return FAIL(p, i, "expected an IPv6 address with its length, such as 2001:db8::1/64");
	if (slash == w.len)
		return FAIL(p, i, "the prefix length is missing; expected 2001:db8::1/64");
	if (text_parse_prefix6(w, addr, plen) != 0)
		return FAIL(p, i, "the prefix length after / must be a number from 0 to 128");
	return 0;
}

int config_ip6_prefix(struct parser *p, unsigned i, struct net_addr *prefix, unsigned *plen)
{
	char given[FMT_PREFIX6_MAX], meant[FMT_PREFIX6_MAX];
	int error = config_parse_subnet6(p, i, prefix, plen);
	if (error != 0)
		return error;
	const struct net_addr network = ip6_prefix_of(prefix, *plen);
	if (net_addr_equal(&network, prefix))
		return 0;
	return FAIL(p, i, "prefix %s has host bits set; did you mean %s?",
	            fmt_prefix6(given, prefix, *plen), fmt_prefix6(meant, &network, *plen));
}

int config_parse_verify(struct parser *p, unsigned i, bool six)
{
	int error = words_expect(&p->w, i);
	if (error == 0 && !words_is(&p->w, i++, "reachable-via"))
		return FAIL(p, i - 1, "expected reachable-via");
	if (error != 0 || (error = words_expect(&p->w, i)) != 0)
		return error;
	bool rx = words_is(&p->w, i, "rx");
	if (!rx && !words_is(&p->w, i, "any"))
		return FAIL(p, i, "expected rx (the reverse path leaves by this interface) or any "
		                  "(a reverse path exists)");
	if (!words_is(&p->w, i + 1, "allow-default"))
		return FAIL(p, i + 1, "expected allow-default: a default route counts as a reverse "
		                      "path");
	p->interface->verify[six] = rx ? VERIFY_RX : VERIFY_ANY;
	p->interface->verify_line[six] = p->w.line;
	return words_end(&p->w, i + 2);
}
