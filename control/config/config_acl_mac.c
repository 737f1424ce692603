/*
 * Rules of MAC access lists, as in IOS: `permit | deny SOURCE DESTINATION [ETHERTYPE] [vlan N]`. An address is
 * `any`, `host MAC`, or MAC and a wildcard mask, whose bits that are set are not compared. See net/acl/mac.h
 * and docs/switch.md.
 */
#include "control/config/config_parse.h"

#include "lib/fmt.h"
#include "lib/number.h"
#include "net/eth.h"

#define TYPE_LEAST 0x600 /* a smaller number is a length (802.3 3.2.6) */

static const struct {
	const char *word;
	uint16_t type;
} types[] = {{"ip", ETH_TYPE_IP4}, {"arp", ETH_TYPE_ARP}, {"ipv6", ETH_TYPE_IP6}};

static int parse_mac_word(struct parser *p, unsigned i, const char *what, uint8_t mac[6])
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	return text_parse_mac(p->w.word[i], mac) == 0
	               ? 0
	               : FAIL(p, i, "expected %s such as 00:11:22:33:44:55 or 0011.2233.4455", what);
}

/* An address; *i moves past it. */
static int parse_address(struct parser *p, unsigned *i, uint8_t mac[6], uint8_t any[6])
{
	const unsigned begin = *i;
	int error;
	if (words_is(&p->w, begin, "any")) {
		memset(any, 0xff, 6);
		*i += 1;
		return 0;
	}
	*i += 2;
	if (words_is(&p->w, begin, "host"))
		return parse_mac_word(p, begin + 1, "a MAC address", mac);
	error = parse_mac_word(p, begin, "any, host and a MAC address, or a MAC address and a mask", mac);
	if (error == 0)
		error = parse_mac_word(p, begin + 1, "a wildcard mask", any);
	for (unsigned k = 0; error == 0 && k < 6; k++)
		if (mac[k] & any[k])
			error = FAIL(p, begin + 1, "the address has bits where the mask has: bits of a wildcard mask "
			                           "are not compared, and are 0 in the address");
	return error;
}

/* A number in hexadecimal, 0x600 to 0xffff. */
static bool read_type(struct text w, uint16_t *type)
{
	uint32_t n = 0;
	if (w.len < 3 || w.len > 6 || w.at[0] != '0' || text_lower(w.at[1]) != 'x')
		return false;
	for (size_t k = 2; k < w.len; k++) {
		const int digit = hex_digit(w.at[k]);
		if (digit < 0)
			return false;
		n = n << 4 | (uint32_t)digit;
	}
	*type = (uint16_t)n;
	return n >= TYPE_LEAST;
}

static int parse_type(struct parser *p, unsigned i, uint16_t *type)
{
	for (unsigned n = 0; n < ARRAY_LEN(types); n++)
		if (words_is(&p->w, i, types[n].word)) {
			*type = types[n].type;
			return 0;
		}
	return read_type(p->w.word[i], type)
	               ? 0
	               : FAIL(p, i, "expected an EtherType (ip, arp, ipv6, or from 0x600 to 0xffff), or vlan");
}

int config_acl_mac_rule(struct parser *p, unsigned i, struct acl_mac_rule *r)
{
	uint32_t vid = 0;
	int error = parse_address(p, &i, r->src, r->src_any);
	if (error == 0)
		error = parse_address(p, &i, r->dst, r->dst_any);
	if (error == 0 && i < p->w.n && !words_is(&p->w, i, "vlan"))
		error = parse_type(p, i++, &r->type);
	if (error == 0 && words_is(&p->w, i, "vlan")) {
		error = words_u32(&p->w, i + 1, "the VLAN", 1, CONFIG_VID_MAX, &vid);
		r->vid = (uint16_t)vid;
		i += 2;
	}
	return error != 0 ? error : words_end(&p->w, i);
}

static void put_address(struct fmt_buf *w, const uint8_t mac[6], const uint8_t any[6])
{
	char text[FMT_MAC_MAX], mask[FMT_MAC_MAX];
	static const uint8_t none[6], all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	if (memcmp(any, all, 6) == 0)
		fmt_put(w, " any");
	else if (memcmp(any, none, 6) == 0)
		fmt_put(w, " host %s", fmt_mac(text, mac));
	else
		fmt_put(w, " %s %s", fmt_mac(text, mac), fmt_mac(mask, any));
}

void config_acl_mac_text(struct fmt_buf *w, const struct acl_mac_rule *r)
{
	unsigned n = 0;
	put_address(w, r->src, r->src_any);
	put_address(w, r->dst, r->dst_any);
	while (n < ARRAY_LEN(types) && types[n].type != r->type)
		n++;
	if (n < ARRAY_LEN(types))
		fmt_put(w, " %s", types[n].word);
	else if (r->type)
		fmt_put(w, " 0x%04x", r->type);
	if (r->vid)
		fmt_put(w, " vlan %u", r->vid);
}

bool config_acl_mac_same(const struct acl_mac_rule *a, const struct acl_mac_rule *b)
{
	return memcmp(a->src, b->src, 6) == 0 && memcmp(a->src_any, b->src_any, 6) == 0 &&
	       memcmp(a->dst, b->dst, 6) == 0 && memcmp(a->dst_any, b->dst_any, 6) == 0 && a->type == b->type &&
	       a->vid == b->vid && a->permit == b->permit;
}
