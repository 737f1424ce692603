/* The statements of IPv4; see config_parse.h and docs/configuration.md. */
#include "control/config/config_parse.h"

#include "lib/bytes.h"
#include "net/ip4.h"

int config_ip4_address(struct parser *p, unsigned i)
{
	uint32_t addr;
	unsigned plen, at = i;
	int error = config_parse_subnet(p, &i, &addr, &plen);
	if (error != 0)
		return error;
	bool secondary = words_is(&p->w, i, "secondary");
	if ((error = words_end(&p->w, i + secondary)) != 0)
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
		(struct config_address){addr, p->w.line, (uint8_t)plen};
	return 0;
}

int config_ip4_unnumbered(struct parser *p, unsigned i)
{
	int error = config_parse_interface(p, i, &p->interface->lender);
	p->interface->lender_line = p->w.line;
	return error != 0 ? error : words_end(&p->w, i + 1);
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
	       !words_is(&p->w, i, config_route_word((enum config_route_kind)kind)))
		kind--;
	return (enum config_route_kind)kind;
}

int config_parse_distance(struct parser *p, unsigned i, uint8_t *distance)
{
	uint32_t n = CONFIG_DISTANCE_DEFAULT;
	if (i < p->w.n && text_parse_u32(p->w.word[i], 1, CONFIG_DISTANCE_MAX, &n) != 0)
		return words_end(&p->w, i);
	*distance = (uint8_t)n;
	return words_end(&p->w, i + 1);
}

int config_ip4_route(struct parser *p, unsigned i)
{
	uint32_t prefix, next_hop = 0;
	uint8_t distance;
	unsigned plen, at = i;
	int error = config_ip4_prefix(p, &i, &prefix, &plen);
	if (error != 0 || (error = words_expect(&p->w, i)) != 0)
		return error;
	const enum config_route_kind kind = config_parse_kind(p, i);
	if (kind == CONFIG_ROUTE_VIA && text_parse_ip4(p->w.word[i], &next_hop) != 0)
		return FAIL(p, i, "expected null0, blackhole, unreachable, prohibit or the next hop, "
		                  IP4_WANTED);
	if ((error = config_parse_distance(p, i + 1, &distance)) != 0)
		return error;
	if (p->out->route_count == p->mem->route_max)
		return FAIL(p, at, "too many routes; there is memory for %u", p->mem->route_max);
	p->out->routes[p->out->route_count++] =
		(struct config_route){prefix, next_hop, p->w.line, 0, (uint8_t)plen, (uint8_t)kind,
		                      distance, false};
	return 0;
}

/* --- a line as nearly all of a million are --- */

#define USUAL_WORDS "ip route "
#define USUAL_NUMBERS 9u /* of the two addresses and the length */
#define USUAL_BYTES 48u  /* the longest such line has 44 bytes and its end */

typedef uint8_t bytes16 __attribute__((vector_size(16), aligned(1), may_alias));

/* Bit i: byte i of the line is no digit. From bit USUAL_BYTES on all are set. */
static uint64_t non_digits(const char *line)
{
	uint64_t digits = 0;
	for (unsigned i = 0; i < USUAL_BYTES; i += 16) {
		const bytes16 v = *(const bytes16 *)(const void *)(line + i);
		digits |= (uint64_t)__builtin_ia32_pmovmskb128((v - (uint8_t)'0' <= (uint8_t)9)) << i;
	}
	return ~digits;
}

/* The number that the digits before byte `end` make, and a bit in *bad unless they are 1 to 3 without a zero in front.
 * There are four bytes before. */
static uint32_t number_before(const char *end, size_t digits, uint32_t *bad)
{
	static const uint8_t least[4] = {0, 0, 10, 100};
	const uint32_t all = raw32_load(end - 4) ^ 0x30303030, own = all & ~(UINT32_MAX >> (8 * digits & 31));
	const uint32_t value = (own >> 24) + 10 * (own >> 16 & 0xff) + 100 * (own >> 8 & 0xff);
	*bad |= (digits - 1 > 2) | (value < least[digits & 3]);
	return value;
}

/*
 * Such a line has no word but the statement's, a prefix and a next hop, one blank between them and nothing else: one
 * pass finds the ends of the numbers, and computes each without a branch that depends on it. About 550 instructions
 * instead of 2,200 by words.
 */
size_t config_ip4_usual_route(struct parser *p, struct text text)
{
	static const char ends[USUAL_NUMBERS + 1] = ".../ ...\n";
	const size_t words = sizeof USUAL_WORDS - 1;
	const char *const line = text.at;
	uint32_t n[USUAL_NUMBERS], bad = 0;
	struct config *const c = p->out;
	if (text.len < 64 || memcmp(line, USUAL_WORDS, words) != 0 || c->route_count == p->mem->route_max)
		return 0;
	size_t at = words;
	uint64_t rest = non_digits(line) >> words << words;
	for (unsigned i = 0; i < USUAL_NUMBERS; i++, rest &= rest - 1) {
		const size_t end = (size_t)__builtin_ctzll(rest);
		n[i] = number_before(line + end, end - at, &bad);
		bad |= (uint32_t)(line[end] ^ ends[i]);
		at = end + 1;
	}
	const uint32_t prefix = n[0] << 24 | n[1] << 16 | n[2] << 8 | n[3], plen = n[4];
	const uint32_t next_hop = n[5] << 24 | n[6] << 16 | n[7] << 8 | n[8];
	bad |= (n[0] | n[1] | n[2] | n[3] | n[5] | n[6] | n[7] | n[8]) >> 8;
	if (bad || plen > 32 || (prefix & ~ip4_prefix_mask(plen)))
		return 0;
	c->routes[c->route_count++] = (struct config_route){prefix, next_hop, p->w.line, 0, (uint8_t)plen,
	                                                    CONFIG_ROUTE_VIA, CONFIG_DISTANCE_DEFAULT, false};
	return at;
}

int config_ip4_arp_timeout(struct parser *p, unsigned i)
{
	int error = words_u32(&p->w, i, "the ARP timeout in seconds", 1,
	                      CONFIG_ARP_TIMEOUT_MAX_S, &p->out->arp_timeout_s);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int config_ip4_arp(struct parser *p, unsigned i)
{
	struct config_arp arp = {.line = p->w.line};
	int error = config_parse_ip4(p, i, &arp.addr);
	if (error != 0 || (error = config_parse_mac(p, i + 1, arp.mac)) != 0 ||
	    (error = words_end(&p->w, i + 2)) != 0)
		return error;
	if (p->out->arp_count == CONFIG_ARPS_MAX)
		return FAIL(p, i, "too many static ARP entries; at most %d", CONFIG_ARPS_MAX);
	p->out->arp[p->out->arp_count++] = arp;
	return 0;
}

int config_ip4_icmp(struct parser *p, unsigned i)
{
	struct config *c = p->out;
	int error = words_u32(&p->w, i, "the rate in ICMP errors a second", 0,
	                      CONFIG_ICMP_RATE_MAX, &c->icmp_rate);
	if (error != 0)
		return error;
	if (!words_is(&p->w, i + 1, "burst"))
		return words_end(&p->w, i + 1);
	error = words_u32(&p->w, i + 2, "the burst", 1, CONFIG_ICMP_BURST_MAX, &c->icmp_burst);
	return error != 0 ? error : words_end(&p->w, i + 3);
}

int config_ip4_verify(struct parser *p, unsigned i) { return config_parse_verify(p, i, false); }
