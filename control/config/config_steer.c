/*
 * The statement `steer` of a port: packets that match go to a data core or a group of them. Rules stand in the order of
 * the text, and the first that matches counts. Whether the port's card can have a rule is not known here:
 * control/commit/load.c asks.
 */
#include "control/config/config_parse.h"

#include "lib/assert.h"
#include "lib/fmt.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "runtime/runtime.h"

static const struct proto_word {
	const char *word;
	uint8_t four, six; /* of packets of this version; 0: any */
	uint8_t family;    /* fixed by the word; NIC_RULE_ALL: the addresses tell */
} protos[] = {{"ip", 0, 0, NIC_RULE_IP4},
              {"ipv6", 0, 0, NIC_RULE_IP6},
              {"tcp", IP4_PROTO_TCP, IP4_PROTO_TCP, NIC_RULE_ALL},
              {"udp", IP4_PROTO_UDP, IP4_PROTO_UDP, NIC_RULE_ALL},
              {"sctp", 132, 132, NIC_RULE_ALL},
              {"icmp", IP4_PROTO_ICMP, IP6_ICMP6, NIC_RULE_ALL},
              {"esp", 50, 50, NIC_RULE_ALL},
              {"gre", 47, 47, NIC_RULE_ALL}};

static bool has_ports(uint8_t proto)
{
	return proto == IP4_PROTO_TCP || proto == IP4_PROTO_UDP || proto == 132;
}

/* A word of the table, or a number. */
static int parse_proto(struct parser *p, unsigned i, struct proto_word *out)
{
	uint32_t number;
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	for (unsigned n = 0; n < ARRAY_LEN(protos); n++)
		if (words_is(&p->w, i, protos[n].word)) {
			*out = protos[n];
			return 0;
		}
	if (text_parse_u32(p->w.word[i], 1, 255, &number) != 0)
		return FAIL(p, i,
		            "unknown protocol; expected ip, ipv6, tcp, udp, sctp, icmp, esp, gre or a number from "
		                  "1 to 255");
	*out = (struct proto_word){"", (uint8_t)number, (uint8_t)number, NIC_RULE_ALL};
	return 0;
}

/* Notes that word i is an address of this family. */
static int take_family(struct parser *p, unsigned i, uint8_t *family, bool six)
{
	if (*family == NIC_RULE_ALL)
		*family = six ? NIC_RULE_IP6 : NIC_RULE_IP4;
	if ((*family == NIC_RULE_IP6) == six)
		return 0;
	return FAIL(p, i, "the rule is of IPv%d: expected its addresses, or any", six ? 4 : 6);
}

/* "any", "host ADDRESS" or a prefix; *i moves past it. *family: of the rule as far as it is known. */
static int parse_addresses(struct parser *p, unsigned *i, uint8_t *family, uint32_t prefix[4], uint8_t *plen)
{
	unsigned bits = 0;
	int error = words_expect(&p->w, *i);
	if (error != 0)
		return error;
	if (words_is(&p->w, *i, "any")) {
		*i += 1;
		return 0;
	}
	const bool host = words_is(&p->w, *i, "host");
	const struct text w = words_at(&p->w, *i + host);
	const bool six = text_find(w, ':') < w.len;
	struct net_addr a = NET_ADDR_ANY;
	if ((error = take_family(p, *i + host, family, six)) != 0)
		return error;
	if (host && (six ? text_parse_ip6(w, &a) : text_parse_ip4(w, prefix)) != 0)
		return FAIL(p, *i + 1, "expected the address of a host");
	if (host) {
		*i += 2;
		bits = six ? 128 : 32;
	} else if ((error = six ? config_ip6_prefix(p, (*i)++, &a, &bits)
	                        : config_ip4_prefix(p, i, prefix, &bits)) != 0) {
		return error;
	}
	for (unsigned k = 0; six && k < 4; k++)
		prefix[k] = be32_get((be32_t){a.w[k]});
	*plen = (uint8_t)bits;
	return 0;
}

/* Optional "eq PORT"; *i moves past it. */
static int parse_port(struct parser *p, unsigned *i, uint8_t proto, uint16_t *port)
{
	uint32_t n = 0;
	if (!words_is(&p->w, *i, "eq"))
		return 0;
	if (!has_ports(proto))
		return FAIL(p, *i, "only TCP, UDP and SCTP have ports");
	int error = words_u32(&p->w, *i + 1, "a port", 1, 65535, &n);
	*i += 2;
	*port = (uint16_t)n;
	return error;
}

/* Puts it behind the others of its interface. Interfaces are in the order in which they are printed. */
static void insert(struct config *c, const struct config_steer *s)
{
	unsigned k = c->steer_count++;
	for (; k > 0 && c->steer[k - 1].interface > s->interface; k--)
		c->steer[k] = c->steer[k - 1];
	c->steer[k] = *s;
}

/* The packets of the rule, from the protocol on; *i moves past them. */
static int parse_packets(struct parser *p, unsigned *i, struct nic_rule *r)
{
	struct proto_word proto = {0};
	int error = parse_proto(p, (*i)++, &proto);
	if (error != 0)
		return error;
	r->family = proto.family;
	if ((error = parse_addresses(p, i, &r->family, r->src, &r->src_plen)) != 0 ||
	    (error = parse_port(p, i, proto.four, &r->src_port)) != 0 ||
	    (error = parse_addresses(p, i, &r->family, r->dst, &r->dst_plen)) != 0 ||
	    (error = parse_port(p, i, proto.four, &r->dst_port)) != 0)
		return error;
	if (r->family == NIC_RULE_ALL) /* any to any */
		r->family = NIC_RULE_IP4;
	r->proto = r->family == NIC_RULE_IP6 ? proto.six : proto.four;
	return 0;
}

/* "core N" or "cores N-M", the end of the line. */
static int parse_cores(struct parser *p, unsigned i, struct config_steer *s)
{
	if (words_is(&p->w, i, "core")) {
		int error = words_u32(&p->w, i + 1, "the number of a core", 0, CORES_MAX - 1, &s->core);
		s->last = s->core;
		return error == 0 ? words_end(&p->w, i + 2) : error;
	}
	if (!words_is(&p->w, i, "cores"))
		return FAIL(p, i, "expected core N, or cores N-M");
	int error = words_expect(&p->w, i + 1);
	if (error != 0)
		return error;
	const struct text w = words_at(&p->w, i + 1);
	const size_t dash = text_find(w, '-');
	if (dash == w.len || text_parse_u32((struct text){w.at, dash}, 0, CORES_MAX - 1, &s->core) != 0 ||
	    text_parse_u32((struct text){w.at + dash + 1, w.len - dash - 1}, s->core + 1, CORES_MAX - 1, &s->last) != 0)
		return FAIL(p, i + 1, "expected the first and the last core of a group, such as 1-3");
	return words_end(&p->w, i + 2);
}

int config_steer(struct parser *p, unsigned i)
{
	struct config *c = p->out;
	struct config_steer s = {.interface = p->interface->key, .line = p->w.line};
	uint32_t vlan = 0;
	const unsigned begin = i;
	int error = 0;
	if (words_is(&p->w, i, "vlan")) {
		error = words_u32(&p->w, i + 1, "a VLAN", 1, CONFIG_VID_MAX, &vlan);
		s.match.vlan = (uint16_t)vlan;
		i += 2;
	}
	if (vlan == 0 && words_is(&p->w, i, "management")) {
		s.management = true;
		i++;
	} else if (error == 0 && !(vlan && (words_is(&p->w, i, "core") || words_is(&p->w, i, "cores"))))
		error = parse_packets(p, &i, &s.match);
	if (error == 0)
		error = parse_cores(p, i, &s);
	if (error != 0)
		return error;
	for (unsigned k = 0; k < c->steer_count; k++)
		if (c->steer[k].interface == s.interface && c->steer[k].management == s.management &&
		    nic_rule_same(&c->steer[k].match, &s.match))
			return FAIL(p, begin, "the interface has a rule for these packets already, at line %u",
			            c->steer[k].line);
	if (c->steer_count == CONFIG_STEER_MAX)
		return FAIL(p, begin, "the interfaces have at most %d rules together", CONFIG_STEER_MAX);
	insert(c, &s);
	return 0;
}

/* The first rule of its interface with this group of several cores. */
static bool begins_group(const struct config *c, unsigned i)
{
	const struct config_steer *s = &c->steer[i];
	for (unsigned k = 0; k < i; k++)
		if (c->steer[k].interface == s->interface && c->steer[k].core == s->core && c->steer[k].last == s->last)
			return false;
	return s->core != s->last;
}

int config_check_steer(const struct config *c, struct text_error *err)
{
	unsigned groups = 0;
	for (unsigned i = 0; i < c->steer_count; i++) {
		const struct config_steer *s = &c->steer[i];
		const int n = config_number(c, s->interface);
		if (n < 0 || n >= CONFIG_PORTS_MAX)
			return text_fail(err, s->line, text_of("steer"),
			                 "cards steer what a port receives: give the rule to the port of this "
			                 "interface");
		if (i == 0 || s->interface != c->steer[i - 1].interface)
			groups = 0;
		groups += begins_group(c, i);
		if (groups > CORE_RULE_GROUPS_MAX)
			return text_fail(err, s->line, text_of("cores"),
			                 "the rules of a port name at most %d groups of cores", CORE_RULE_GROUPS_MAX);
	}
	return 0;
}

/* --- back to text --- */

/* any: stands for no address. Otherwise that of IPv6 is written out, and tells the family. */
static void put_end(struct fmt_buf *w, bool six, bool any, const uint32_t prefix[4], uint8_t plen, uint16_t port)
{
	char text[FMT_PREFIX6_MAX];
	uint8_t bytes[16];
	for (unsigned i = 0; i < 4; i++)
		be32_store(bytes + 4 * i, prefix[i]);
	if (plen == 0 && any)
		fmt_put(w, " any");
	else if (plen == (six ? 128 : 32))
		fmt_put(w, " host %s", six ? fmt_ip6(text, bytes) : fmt_ip4(text, prefix[0]));
	else
		fmt_put(w, " %s", six ? fmt_prefix6(text, bytes, plen) : fmt_prefix(text, prefix[0], plen));
	if (port)
		fmt_put(w, " eq %u", port);
}

static void put_packets(struct fmt_buf *w, const struct nic_rule *r)
{
	const bool six = r->family == NIC_RULE_IP6;
	const struct proto_word *word = NULL;
	for (unsigned n = 0; n < ARRAY_LEN(protos) && !word; n++)
		if ((six ? protos[n].six : protos[n].four) == r->proto &&
		    (protos[n].family == NIC_RULE_ALL || protos[n].family == r->family))
			word = &protos[n];
	if (word)
		fmt_put(w, "%s", word->word);
	else
		fmt_put(w, "%u", r->proto);
	const bool told = !six || r->proto == 0 || r->dst_plen; /* the family, elsewhere */
	put_end(w, six, told, r->src, r->src_plen, r->src_port);
	put_end(w, six, true, r->dst, r->dst_plen, r->dst_port);
}

char *config_steer_text(char buf[CONFIG_STEER_TEXT], const struct config_steer *s)
{
	struct fmt_buf w = {.at = buf, .size = CONFIG_STEER_TEXT};
	if (s->management)
		fmt_put(&w, "management ");
	if (s->match.vlan)
		fmt_put(&w, "vlan %u ", s->match.vlan);
	if (s->match.family != NIC_RULE_ALL) {
		put_packets(&w, &s->match);
		fmt_put(&w, " ");
	}
	if (s->core == s->last)
		fmt_put(&w, "core %u", s->core);
	else
		fmt_put(&w, "cores %u-%u", s->core, s->last);
	assert(!w.full);
	return buf;
}
