/* The statement `vary` of a stream; see script_parse.h and docs/pktgen.md. */
#include "lib/divide.h"
#include "lib/fmt.h"
#include "tools/pktgen/script/script_parse.h"

/* How a script writes the values of a field. */
enum look { LOOK_NUMBER, LOOK_MAC, LOOK_ADDRESS };

struct target {
	struct plan_field field;
	enum look look;
	uint64_t max; /* LOOK_NUMBER */
};

/* --- which field --- */

/* Word *i is "source" or "destination", the next must be "mac", "address" or "port". *i moves
 * behind both. */
static int parse_end(struct script_parser *p, unsigned *i, struct target *t)
{
	const struct plan_stream *s = p->stream;
	const bool dst = words_is(&p->w, *i, "destination");
	const unsigned of = *i + 1;
	*i += 2;
	if (words_is(&p->w, of, "mac")) {
		t->field.where = dst ? PLAN_MAC_DST : PLAN_MAC_SRC;
		t->look = LOOK_MAC;
		return 0;
	}
	if (!words_is(&p->w, of, "address") && !words_is(&p->w, of, "port"))
		return FAIL(p, of, "expected mac, address or port");
	if (p->said->addresses == 0)
		return FAIL(p, of, "the line with the stream's addresses must stand before this one");
	if (words_is(&p->w, of, "address")) {
		t->field.where = dst ? PLAN_IP_DST : PLAN_IP_SRC;
		t->look = LOOK_ADDRESS;
		return 0;
	}
	if (s->proto != PLAN_UDP && s->proto != PLAN_TCP)
		return FAIL(p, of, "only UDP and TCP have ports");
	t->field.where = dst ? PLAN_PORT_DST : PLAN_PORT_SRC;
	t->max = 65535;
	return 0;
}

static int parse_echo(struct script_parser *p, unsigned *i, struct target *t)
{
	if (p->said->addresses == 0 || p->stream->proto != PLAN_ICMP)
		return FAIL(p, *i, "only icmp has this field; the icmp line must stand before "
		            "this one");
	t->field.where = words_is(&p->w, *i, "sequence") ? PLAN_PORT_DST : PLAN_PORT_SRC;
	t->max = 65535;
	(*i)++;
	return 0;
}

/* "payload offset N bytes N" from word *i on, which moves behind it. */
static int parse_payload(struct script_parser *p, unsigned *i, struct target *t)
{
	uint64_t offset = 0, bytes = 0;
	const unsigned at = *i;
	int error = script_expect(p, at + 1, "offset");
	if (error != 0 ||
	    (error = words_number(&p->w, at + 2, "the offset", 0, PLAN_FRAME_MAX, &offset)) != 0 ||
	    (error = script_expect(p, at + 3, "bytes")) != 0 ||
	    (error = words_number(&p->w, at + 4, "the width", 1, 8, &bytes)) != 0)
		return error;
	if (bytes & (bytes - 1))
		return FAIL(p, at + 4, "a field of the payload has 1, 2, 4 or 8 bytes");
	t->field.where = PLAN_PAYLOAD;
	t->field.offset = (uint16_t)offset;
	t->field.bytes = (uint8_t)bytes;
	t->max = bytes == 8 ? UINT64_MAX : (1ull << 8 * bytes) - 1;
	*i += 5;
	return 0;
}

static int parse_target(struct script_parser *p, unsigned *i, struct target *t)
{
	int error = words_expect(&p->w, *i);
	if (error != 0)
		return error;
	if (words_is(&p->w, *i, "source") || words_is(&p->w, *i, "destination"))
		return (error = words_expect(&p->w, *i + 1)) != 0 ? error : parse_end(p, i, t);
	if (words_is(&p->w, *i, "identifier") || words_is(&p->w, *i, "sequence"))
		return parse_echo(p, i, t);
	if (words_is(&p->w, *i, "payload"))
		return parse_payload(p, i, t);
	if (!words_is(&p->w, *i, "vlan"))
		return FAIL(p, *i, "expected source, destination, vlan, identifier, sequence or payload");
	if (p->stream->vlans == 0)
		return FAIL(p, *i, "a line \"vlan ID\" must stand before this one");
	t->field.where = PLAN_VLAN;
	t->max = 4094;
	(*i)++;
	return 0;
}

/* --- values --- */

static uint64_t low_half(const struct net_addr *a)
{
	return (uint64_t)be32_get((be32_t){a->w[2]}) << 32 | be32_get((be32_t){a->w[3]});
}

/* Only the lower 64 bits of an IPv6 address vary; the upper 64 must be those of the stream's. */
static int parse_address(struct script_parser *p, unsigned i, enum plan_where where, uint64_t *out)
{
	const struct plan_stream *s = p->stream;
	const struct net_addr *own = where == PLAN_IP_SRC ? &s->src : &s->dst;
	char text[FMT_IP6_MAX];
	struct net_addr a;
	if (text_parse_addr(p->w.word[i], &a) != 0 || net_addr_is_ip4(&a) == s->v6)
		return FAIL(p, i, "expected an IPv%d address, as is the stream's", s->v6 ? 6 : 4);
	if (s->v6 && (a.w[0] != own->w[0] || a.w[1] != own->w[1]))
		return FAIL(p, i, "the first 64 bits must be those of the stream's address, %s",
		            fmt_ip6(text, own));
	*out = s->v6 ? low_half(&a) : net_addr_to_ip4(&a);
	return 0;
}

/* Word i is a value of the field. */
static int parse_word(struct script_parser *p, unsigned i, const struct target *t, uint64_t *out)
{
	uint8_t mac[6];
	if (t->look == LOOK_ADDRESS)
		return parse_address(p, i, t->field.where, out);
	if (t->look == LOOK_NUMBER)
		return words_number(&p->w, i, "a value", 0, t->max, out);
	if (text_parse_mac(p->w.word[i], mac) != 0)
		return FAIL(p, i, "expected a MAC address such as 00:11:22:33:44:55");
	*out = (uint64_t)be16_load(mac) << 32 | be32_load(mac + 2);
	return 0;
}

/* Parses w, which is word i or a part of it, as a value of the field. */
static int parse_value(struct script_parser *p, unsigned i, struct text w, const struct target *t,
                       uint64_t *out)
{
	const struct text whole = p->w.word[i];
	if (w.len == 0)
		return FAIL(p, i, "a value of the list is empty");
	p->w.word[i] = w;
	int error = parse_word(p, i, t, out);
	p->w.word[i] = whole;
	return error;
}

/* "FIRST LAST" at word i. A range of all 2^64 values is an error, as their count has no room. */
static int parse_range(struct script_parser *p, unsigned i, struct target *t, uint64_t *last)
{
	for (unsigned k = 0; k < 2; k++) {
		int error = words_expect(&p->w, i + k);
		if (error != 0 || (error = parse_value(p, i + k, p->w.word[i + k], t,
		                                       k == 0 ? &t->field.first : last)) != 0)
			return error;
	}
	if (*last < t->field.first)
		return FAIL(p, i + 1, "the last value is below the first");
	if (*last - t->field.first == UINT64_MAX)
		return FAIL(p, i + 1, "the range is too large; a field has fewer than 2^64 values");
	return 0;
}

static int parse_increment(struct script_parser *p, unsigned i, struct target *t)
{
	uint64_t last = 0, step = 1;
	int error = parse_range(p, i, t, &last);
	if (error != 0)
		return error;
	i += 2;
	if (words_is(&p->w, i, "step")) {
		if ((error = words_number(&p->w, i + 1, "a step", 1, UINT32_MAX, &step)) != 0)
			return error;
		i += 2;
	}
	t->field.mode = PLAN_INCREMENT;
	t->field.step = step;
	t->field.count = divide(last - t->field.first, (uint32_t)step) + 1;
	return words_end(&p->w, i);
}

static int parse_random(struct script_parser *p, unsigned i, struct target *t)
{
	uint64_t last = 0;
	int error = parse_range(p, i, t, &last);
	if (error != 0)
		return error;
	i += 2;
	t->field.mode = PLAN_RANDOM;
	t->field.count = last - t->field.first + 1;
	/* fields with one seed would take the same random numbers */
	t->field.seed = p->stream->fields + 1u;
	if (words_is(&p->w, i, "seed")) {
		if ((error = words_number(&p->w, i + 1, "a seed", 0, UINT64_MAX, &t->field.seed)) != 0)
			return error;
		i += 2;
	}
	return words_end(&p->w, i);
}

static int parse_list(struct script_parser *p, unsigned i, struct target *t)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	struct text rest = p->w.word[i];
	t->field.mode = PLAN_LIST;
	for (bool more = true; more;) {
		size_t end = text_find(rest, '/');
		if (t->field.count == PLAN_LIST_MAX)
			return FAIL(p, i, "too many values; at most %d", PLAN_LIST_MAX);
		error = parse_value(p, i, (struct text){rest.at, end}, t,
		                    &t->field.list[t->field.count]);
		if (error != 0)
			return error;
		t->field.count++;
		more = end < rest.len;
		if (more)
			rest = (struct text){rest.at + end + 1, rest.len - end - 1};
	}
	return words_end(&p->w, i + 1);
}

static int parse_mode(struct script_parser *p, unsigned i, struct target *t)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (words_is(&p->w, i, "increment"))
		return parse_increment(p, i + 1, t);
	if (words_is(&p->w, i, "random"))
		return parse_random(p, i + 1, t);
	if (words_is(&p->w, i, "list"))
		return parse_list(p, i + 1, t);
	return FAIL(p, i, "expected increment, random or list");
}

int script_stream_vary(struct script_parser *p, unsigned i)
{
	struct plan_stream *s = p->stream;
	struct target t = {.field = {.count = 0}};
	const unsigned first = i;
	int error = parse_target(p, &i, &t);
	if (error != 0)
		return error;
	for (unsigned k = 0; k < s->fields; k++) {
		const struct plan_field *f = &s->field[k];
		const uint32_t line = p->vary_line[k];
		if (f->where != t.field.where)
			continue;
		if (f->where != PLAN_PAYLOAD)
			return FAIL(p, first, "this varies already, by line %u", line);
		if (f->offset < t.field.offset + t.field.bytes && t.field.offset < f->offset + f->bytes)
			return FAIL(p, first, "these bytes overlap those of line %u", line);
	}
	if (s->fields == PLAN_FIELDS_MAX)
		return FAIL(p, first, "too many fields; a stream has at most %d", PLAN_FIELDS_MAX);
	if ((error = parse_mode(p, i, &t)) != 0)
		return error;
	p->vary_line[s->fields] = p->w.line;
	s->field[s->fields++] = t.field;
	return 0;
}
