/* The statements of a stream, except `vary` and those of a replay; see script_parse.h and
 * docs/pktgen.md. */
#include "lib/mem.h"
#include "net/eth.h"
#include "net/ip4.h"
#include "tools/pktgen/script/script_parse.h"

#define SPORT_DEFAULT 1024
#define DPORT_DEFAULT 9 /* RFC 863: discard */
#define TTL_DEFAULT 64  /* RFC 1700: IPDEFTTL */
#define TCP_FLAG_ACK 0x10
#define VLAN_ID_MAX 4094 /* IEEE 802.1Q: fff is reserved, 0 is a tag with a priority only */
#define VLAN_DEI 0x1000
#define VLAN_PRIORITY_SHIFT 13
#define BURST_MAX 65536

const char *const script_tcp_flags[8] = {"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"};

void script_stream_default(struct plan_stream *s)
{
	s->port = s->port_in = PLAN_PORT_NONE;
	s->resolve = true;
	s->sport = SPORT_DEFAULT;
	s->dport = DPORT_DEFAULT;
	s->ttl = TTL_DEFAULT;
	s->sizes = 1;
	s->size[0] = PLAN_FRAME_MIN;
	s->burst = 1;
	s->weight = 1;
}

int script_stream_port(struct script_parser *p, unsigned i)
{
	int error = script_port(p, i, &p->stream->port);
	if (error != 0 || i + 1 >= p->w.n)
		return error;
	if ((error = script_expect(p, i + 1, "to")) != 0 ||
	    (error = script_port(p, i + 2, &p->stream->port_in)) != 0)
		return error;
	return words_end(&p->w, i + 3);
}

int script_stream_cores(struct script_parser *p, unsigned i)
{
	uint64_t n = 0;
	int error = words_is(&p->w, i, "all") ? 0 :
	            words_number(&p->w, i, "the number of cores", 1, 255, &n);
	p->stream->cores = (uint8_t)n;
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int script_stream_stamp(struct script_parser *p, unsigned i)
{
	if (p->said->no_stamp != 0)
		return FAIL(p, i - 1, "\"no stamp\" stands already at line %u", p->said->no_stamp);
	p->said->stamp = true;
	return words_end(&p->w, i);
}

int script_stream_no_stamp(struct script_parser *p, unsigned i)
{
	if (p->said->stamp)
		return FAIL(p, i - 2, "the stream has a line \"stamp\" already");
	p->said->no_stamp = p->w.line;
	return words_end(&p->w, i);
}

static int parse_mac(struct script_parser *p, unsigned i, uint8_t mac[6])
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (text_parse_mac(p->w.word[i], mac) != 0)
		return FAIL(p, i, "expected a MAC address such as 00:11:22:33:44:55 or 0011.2233.4455");
	if (eth_is_zero(mac))
		return FAIL(p, i, "the MAC address is all zero");
	return words_end(&p->w, i + 1);
}

int script_stream_mac_source(struct script_parser *p, unsigned i)
{
	int error = parse_mac(p, i, p->stream->mac_src);
	if (error == 0 && eth_is_multicast(p->stream->mac_src))
		return FAIL(p, i, "a source is one station; this is a group address");
	return error;
}

int script_stream_mac_destination(struct script_parser *p, unsigned i)
{
	p->stream->resolve = false;
	return parse_mac(p, i, p->stream->mac_dst);
}

/* --- addresses --- */

/* "ADDRESS [port N]" from word *i on, which moves behind it. port NULL: the protocol has none. */
static int parse_end(struct script_parser *p, unsigned *i, struct net_addr *addr, uint16_t *port)
{
	uint64_t n;
	int error = words_expect(&p->w, *i);
	if (error != 0)
		return error;
	if (text_parse_addr(p->w.word[*i], addr) != 0)
		return FAIL(p, *i, "expected an IPv4 or IPv6 address");
	(*i)++;
	if (port == NULL || !words_is(&p->w, *i, "port"))
		return 0;
	if ((error = words_number(&p->w, *i + 1, "a port", 0, 65535, &n)) != 0)
		return error;
	*port = (uint16_t)n;
	*i += 2;
	return 0;
}

/* Source and destination from word *i on, which moves behind them. */
static int parse_ends(struct script_parser *p, unsigned *i, enum plan_proto proto, bool ports)
{
	struct plan_stream *s = p->stream;
	if (p->said->addresses != 0)
		return FAIL(p, 0, "the stream has its addresses already, at line %u", p->said->addresses);
	int error = parse_end(p, i, &s->src, ports ? &s->sport : NULL);
	if (error != 0)
		return error;
	unsigned dst = *i;
	if ((error = parse_end(p, i, &s->dst, ports ? &s->dport : NULL)) != 0)
		return error;
	s->v6 = !net_addr_is_ip4(&s->src);
	if (s->v6 == net_addr_is_ip4(&s->dst))
		return FAIL(p, dst, "both addresses must be of one version of IP");
	s->proto = proto;
	p->said->addresses = p->w.line;
	return 0;
}

int script_stream_udp(struct script_parser *p, unsigned i)
{
	int error = parse_ends(p, &i, PLAN_UDP, true);
	return error != 0 ? error : words_end(&p->w, i);
}

/* "syn/ack" or "none" */
static int parse_flags(struct script_parser *p, unsigned i, uint8_t *flags)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	struct text rest = p->w.word[i];
	*flags = 0;
	if (text_is_word(rest, text_of("none")))
		return 0;
	for (bool more = true; more;) {
		size_t end = text_find(rest, '/');
		unsigned bit = 0;
		const struct text flag = {rest.at, end};
		while (bit < 8 && !text_is_word(flag, text_of(script_tcp_flags[bit])))
			bit++;
		if (bit == 8 || *flags & 1u << bit)
			return FAIL(p, i, "flags are fin, syn, rst, psh, ack, urg, ece, cwr, each once, with / "
			            "between them, or none");
		*flags = (uint8_t)(*flags | 1u << bit);
		more = end < rest.len;
		if (more)
			rest = (struct text){rest.at + end + 1, rest.len - end - 1};
	}
	return 0;
}

int script_stream_tcp(struct script_parser *p, unsigned i)
{
	int error = parse_ends(p, &i, PLAN_TCP, true);
	p->stream->tcp_flags = TCP_FLAG_ACK;
	if (error == 0 && words_is(&p->w, i, "flags")) {
		error = parse_flags(p, i + 1, &p->stream->tcp_flags);
		i += 2;
	}
	return error != 0 ? error : words_end(&p->w, i);
}

int script_stream_icmp(struct script_parser *p, unsigned i)
{
	struct plan_stream *s = p->stream;
	uint64_t id = 0, sequence = 0;
	int error = parse_ends(p, &i, PLAN_ICMP, false);
	if (error == 0 && words_is(&p->w, i, "identifier")) {
		error = words_number(&p->w, i + 1, "the identifier", 0, 65535, &id);
		i += 2;
	}
	if (error == 0 && words_is(&p->w, i, "sequence")) {
		error = words_number(&p->w, i + 1, "the sequence number", 0, 65535, &sequence);
		i += 2;
	}
	s->sport = (uint16_t)id;
	s->dport = (uint16_t)sequence;
	return error != 0 ? error : words_end(&p->w, i);
}

int script_stream_ip(struct script_parser *p, unsigned i)
{
	int error = parse_ends(p, &i, PLAN_IP_ONLY, false);
	p->stream->sport = p->stream->dport = 0;
	return error != 0 ? error : words_end(&p->w, i);
}

static int parse_octet(struct script_parser *p, unsigned i, const char *what, uint8_t *out)
{
	uint64_t n = 0;
	int error = words_number(&p->w, i, what, 0, 255, &n);
	*out = (uint8_t)n;
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int script_stream_ttl(struct script_parser *p, unsigned i)
{
	return parse_octet(p, i, "the TTL or hop limit", &p->stream->ttl);
}

int script_stream_tos(struct script_parser *p, unsigned i)
{
	return parse_octet(p, i, "the type of service or traffic class", &p->stream->tos);
}

int script_stream_vlan(struct script_parser *p, unsigned i)
{
	struct plan_stream *s = p->stream;
	uint64_t id = 0, priority = 0;
	if (s->vlans == PLAN_VLANS_MAX)
		return FAIL(p, i - 1, "a frame has at most %d tags", PLAN_VLANS_MAX);
	int error = words_number(&p->w, i, "a VLAN's ID", 0, VLAN_ID_MAX, &id);
	if (error != 0)
		return error;
	i++;
	if (words_is(&p->w, i, "priority")) {
		if ((error = words_number(&p->w, i + 1, "the priority", 0, 7, &priority)) != 0)
			return error;
		i += 2;
	}
	bool dei = words_is(&p->w, i, "dei");
	s->vlan[s->vlans++] = (uint16_t)(id | priority << VLAN_PRIORITY_SHIFT | (dei ? VLAN_DEI : 0));
	return words_end(&p->w, dei ? i + 1 : i);
}

/* --- sizes --- */

static int parse_random_sizes(struct script_parser *p, unsigned i)
{
	struct plan_stream *s = p->stream;
	uint16_t list[PLAN_SIZES_MAX];
	for (unsigned k = 0; k < 2; k++) {
		uint8_t n;
		int error = script_sizes(p, i + k, list, &n);
		if (error != 0)
			return error;
		if (n != 1)
			return FAIL(p, i + k, "expected one size, not a list");
		s->size[k] = list[0];
	}
	if (s->size[1] < s->size[0])
		return FAIL(p, i + 1, "the largest size is below the least");
	s->size_mode = PLAN_SIZES_RANDOM;
	s->sizes = 2;
	if (!words_is(&p->w, i + 2, "seed"))
		return words_end(&p->w, i + 2);
	int error = words_number(&p->w, i + 3, "a seed", 0, UINT64_MAX, &s->size_seed);
	return error != 0 ? error : words_end(&p->w, i + 4);
}

int script_stream_size(struct script_parser *p, unsigned i)
{
	struct plan_stream *s = p->stream;
	p->said->size = p->w.line;
	if (words_is(&p->w, i, "random"))
		return parse_random_sizes(p, i + 1);
	if (words_is(&p->w, i, "imix"))
		p->w.word[i] = text_of(SCRIPT_IMIX);
	int error = script_sizes(p, i, s->size, &s->sizes);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

/* --- rates --- */

int script_stream_rate(struct script_parser *p, unsigned i)
{
	if (p->said->rate != 0)
		return FAIL(p, 0, "the stream has a rate already, at line %u", p->said->rate);
	p->said->rate = p->w.line;
	if (words_is(&p->w, i, "flat"))
		return words_end(&p->w, i + 1);
	unsigned rate = i;
	int error = script_rate(p, &i, &p->stream->rate);
	if (error != 0)
		return error;
	p->stream->card_rate = words_is(&p->w, i, "hardware");
	if (p->stream->card_rate && p->stream->rate.unit != PLAN_L2_BPS)
		return FAIL(p, rate, "a card limits bits of frames and FCS; write such a rate, as "
		            "in \"5Gbps l2 hardware\"");
	return words_end(&p->w, p->stream->card_rate ? i + 1 : i);
}

int script_stream_ramp(struct script_parser *p, unsigned i)
{
	struct plan_stream *s = p->stream;
	if (p->said->rate != 0)
		return FAIL(p, 0, "the stream has a rate already, at line %u", p->said->rate);
	p->said->rate = p->w.line;
	int error = script_rate(p, &i, &s->rate);
	if (error != 0 || (error = script_expect(p, i, "to")) != 0)
		return error;
	unsigned end = ++i;
	if ((error = script_rate(p, &i, &s->rate_end)) != 0)
		return error;
	if (s->rate_end.unit != s->rate.unit)
		return FAIL(p, end, "both rates of a ramp must be of one unit");
	if ((error = script_expect(p, i, "over")) != 0 ||
	    (error = script_time(p, i + 1, "a ramp", false, &s->ramp_ns)) != 0)
		return error;
	return words_end(&p->w, i + 2);
}

int script_stream_burst(struct script_parser *p, unsigned i)
{
	uint64_t n = 0;
	int error = words_number(&p->w, i, "a burst", 1, BURST_MAX, &n);
	p->stream->burst = (uint32_t)n;
	p->said->burst = p->w.line;
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int script_stream_weight(struct script_parser *p, unsigned i)
{
	uint64_t n = 0;
	int error = words_number(&p->w, i, "a weight", 1, 65535, &n);
	p->stream->weight = (uint16_t)n;
	p->said->weight = p->w.line;
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int script_stream_limit(struct script_parser *p, unsigned i)
{
	p->said->limit = p->w.line;
	return script_limit(p, i, &p->stream->limit);
}
