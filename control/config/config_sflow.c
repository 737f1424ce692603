/* The statements of sFlow; see config_parse.h and docs/sflow.md. */
#include "control/config/config_parse.h"

#include "net/sflow.h"

int config_sflow_collector(struct parser *p, unsigned i)
{
	struct config_sflow *s = &p->out->sflow;
	struct config_collector c = {.line = p->w.line};
	uint32_t port = SFLOW_PORT;
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (text_parse_addr(p->w.word[i], &c.addr) != 0 || !config_is_host(&c.addr))
		return FAIL(p, i, "expected the address of a collector, a unicast address that is not link-local");
	if (words_is(&p->w, i + 1, "port"))
		error = words_u32(&p->w, i + 2, "a UDP port", 1, 65535, &port);
	if (error != 0 || (error = words_end(&p->w, i + (words_is(&p->w, i + 1, "port") ? 3 : 1))) != 0)
		return error;
	c.port = (uint16_t)port;
	for (unsigned k = 0; k < s->collectors; k++)
		if (net_addr_equal(&s->collector[k].addr, &c.addr))
			return FAIL(p, i, "this collector stands already at line %u", s->collector[k].line);
	if (s->collectors == CONFIG_COLLECTORS_MAX)
		return FAIL(p, i, "too many collectors; at most %d", CONFIG_COLLECTORS_MAX);
	s->collector[s->collectors++] = c;
	return 0;
}

int config_sflow_rate(struct parser *p, unsigned i)
{
	int error = words_u32(&p->w, i, "the number of packets of which one is sampled", 1, CONFIG_SFLOW_RATE_MAX,
	                      &p->out->sflow.rate);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int config_sflow_interval(struct parser *p, unsigned i)
{
	int error = words_u32(&p->w, i, "the time between counter samples", 1, CONFIG_SFLOW_INTERVAL_MAX_S,
	                      &p->out->sflow.interval_s);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

static int set(struct parser *p, unsigned i, bool value)
{
	if (p->interface->key >= CONFIG_PORTS_MAX)
		return FAIL(p, i - 1, "ports are sampled: this belongs into the block of one, such as eth0");
	p->interface->sflow = value;
	return words_end(&p->w, i);
}

int config_sflow_enable(struct parser *p, unsigned i) { return set(p, i, true); }
int config_no_sflow_enable(struct parser *p, unsigned i) { return set(p, i, false); }
