/* The statement `probe`; see script_parse.h and docs/pktgen.md. */
#include "tools/pktgen/script/script_parse.h"

#define PROBE_EVERY_DEFAULT_NS 10000000
#define PROBE_EVERY_MIN_NS 1000000

/* Two addresses of one version of IP from word i on. */
static int parse_addresses(struct script_parser *p, unsigned i, struct plan_probe *q)
{
	for (unsigned k = 0; k < 2; k++) {
		int error = words_expect(&p->w, i + k);
		if (error != 0)
			return error;
		if (text_parse_addr(p->w.word[i + k], k ? &q->dst : &q->src) != 0)
			return FAIL(p, i + k, "expected an IPv4 or IPv6 address");
	}
	if (net_addr_is_ip4(&q->src) != net_addr_is_ip4(&q->dst))
		return FAIL(p, i + 1, "both addresses must be of one version of IP");
	q->ip = true;
	return 0;
}

int script_probe(struct script_parser *p, unsigned i)
{
	struct plan_probe *q = &p->out->probe;
	*q = (struct plan_probe){.line = p->w.line, .every_ns = PROBE_EVERY_DEFAULT_NS};
	int error = script_port(p, i, &q->port);
	if (error != 0 || (error = script_expect(p, i + 1, "to")) != 0 ||
	    (error = script_port(p, i + 2, &q->port_in)) != 0)
		return error;
	i += 3;
	if (i < p->w.n && !words_is(&p->w, i, "every")) {
		if ((error = parse_addresses(p, i, q)) != 0)
			return error;
		i += 2;
	}
	if (words_is(&p->w, i, "every")) {
		if ((error = script_time(p, i + 1, "the time between probes", false, &q->every_ns)) != 0)
			return error;
		if (q->every_ns < PROBE_EVERY_MIN_NS)
			return FAIL(p, i + 1, "a probe is sent every 1ms at most");
		i += 2;
	}
	return words_end(&p->w, i);
}
