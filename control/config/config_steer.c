/*
 * The statement `steer` of a port: packets that match go to a data core. Rules stand in the order of the text, and the
 * first that matches counts. Whether the port's card can have a rule is not known here: control/commit/load.c asks.
 */
#include "control/config/config_parse.h"

#include "lib/assert.h"
#include "lib/fmt.h"
#include "net/ip4.h"
#include "runtime/runtime.h"

static const struct proto_word {
	const char *word;
	uint8_t proto; /* 0: any */
} protos[] = {{"ip", 0}, {"tcp", IP4_PROTO_TCP}, {"udp", IP4_PROTO_UDP}, {"sctp", 132}, {"icmp", IP4_PROTO_ICMP},
              {"esp", 50}, {"gre", 47}};

static bool has_ports(uint8_t proto)
{
	return proto == IP4_PROTO_TCP || proto == IP4_PROTO_UDP || proto == 132;
}

static int parse_proto(struct parser *p, unsigned i, uint8_t *proto)
{
	uint32_t number;
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	for (unsigned n = 0; n < ARRAY_LEN(protos); n++)
		if (words_is(&p->w, i, protos[n].word)) {
			*proto = protos[n].proto;
			return 0;
		}
	if (text_parse_u32(p->w.word[i], 1, 255, &number) != 0)
		return FAIL(p, i, "unknown protocol; expected ip, tcp, udp, sctp, icmp, esp, gre or a number from 1 to 255");
	*proto = (uint8_t)number;
	return 0;
}

/* "any", "host ADDRESS" or a prefix; *i moves past it. */
static int parse_addresses(struct parser *p, unsigned *i, uint32_t *prefix, uint8_t *plen)
{
	unsigned bits = 0;
	int error = words_expect(&p->w, *i);
	if (error != 0)
		return error;
	*prefix = 0;
	if (words_is(&p->w, *i, "any")) {
		*i += 1;
	} else if (words_is(&p->w, *i, "host")) {
		if (text_parse_ip4(words_at(&p->w, *i + 1), prefix) != 0)
			return FAIL(p, *i + 1, "expected the address of a host, of IPv4");
		*i += 2;
		bits = 32;
	} else if ((error = config_ip4_prefix(p, i, prefix, &bits)) != 0) {
		return error;
	}
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

static bool same(const struct nic_rule *a, const struct nic_rule *b)
{
	return a->src == b->src && a->src_plen == b->src_plen && a->dst == b->dst && a->dst_plen == b->dst_plen &&
	       a->proto == b->proto && a->src_port == b->src_port && a->dst_port == b->dst_port;
}

/* Puts it behind the others of its interface. Interfaces are in the order in which they are printed. */
static void insert(struct config *c, const struct config_steer *s)
{
	unsigned k = c->steer_count++;
	for (; k > 0 && c->steer[k - 1].interface > s->interface; k--)
		c->steer[k] = c->steer[k - 1];
	c->steer[k] = *s;
}

int config_steer(struct parser *p, unsigned i)
{
	struct config *c = p->out;
	struct config_steer s = {.interface = p->interface->key, .line = p->w.line};
	struct nic_rule *r = &s.match;
	const unsigned begin = i;
	int error = parse_proto(p, i++, &r->proto);
	if (error == 0)
		error = parse_addresses(p, &i, &r->src, &r->src_plen);
	if (error == 0)
		error = parse_port(p, &i, r->proto, &r->src_port);
	if (error == 0)
		error = parse_addresses(p, &i, &r->dst, &r->dst_plen);
	if (error == 0)
		error = parse_port(p, &i, r->proto, &r->dst_port);
	if (error == 0 && !words_is(&p->w, i, "core"))
		return FAIL(p, i, "expected core N");
	if (error == 0)
		error = words_u32(&p->w, i + 1, "the number of a core", 0, CORES_MAX - 1, &s.core);
	if (error == 0)
		error = words_end(&p->w, i + 2);
	if (error != 0)
		return error;
	for (unsigned k = 0; k < c->steer_count; k++)
		if (c->steer[k].interface == s.interface && same(&c->steer[k].match, r))
			return FAIL(p, begin, "the interface has a rule for these packets already, at line %u",
			            c->steer[k].line);
	if (c->steer_count == CONFIG_STEER_MAX)
		return FAIL(p, begin, "the interfaces have at most %d rules together", CONFIG_STEER_MAX);
	insert(c, &s);
	return 0;
}

int config_check_steer(const struct config *c, struct text_error *err)
{
	for (unsigned i = 0; i < c->steer_count; i++) {
		const int n = config_number(c, c->steer[i].interface);
		if (n < 0 || n >= CONFIG_PORTS_MAX)
			return text_fail(err, c->steer[i].line, text_of("steer"),
			                 "cards steer what a port receives: give the rule to the port of this interface");
	}
	return 0;
}

/* --- back to text --- */

static void put_end(struct fmt_buf *w, uint32_t prefix, uint8_t plen, uint16_t port)
{
	char text[FMT_PREFIX_MAX];
	if (plen == 0)
		fmt_put(w, " any");
	else if (plen == 32)
		fmt_put(w, " host %s", fmt_ip4(text, prefix));
	else
		fmt_put(w, " %s", fmt_prefix(text, prefix, plen));
	if (port)
		fmt_put(w, " eq %u", port);
}

char *config_steer_text(char buf[CONFIG_STEER_TEXT], const struct config_steer *s)
{
	const struct nic_rule *r = &s->match;
	struct fmt_buf w = {.at = buf, .size = CONFIG_STEER_TEXT};
	unsigned n = 0;
	while (n < ARRAY_LEN(protos) && protos[n].proto != r->proto)
		n++;
	if (n < ARRAY_LEN(protos))
		fmt_put(&w, "%s", protos[n].word);
	else
		fmt_put(&w, "%u", r->proto);
	put_end(&w, r->src, r->src_plen, r->src_port);
	put_end(&w, r->dst, r->dst_plen, r->dst_port);
	fmt_put(&w, " core %u", s->core);
	assert(!w.full);
	return buf;
}
