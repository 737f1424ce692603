/* The statements for redirects and directed broadcasts, which are off by default; see
 * config_parse.h and docs/configuration.md. */
#include "control/config/config_parse.h"

static int set_redirects(struct parser *p, unsigned i, bool six, bool on)
{
	p->interface->redirects[six] = on;
	p->interface->redirects_line[six] = on ? p->w.line : 0;
	return words_end(&p->w, i);
}

int config_ip4_redirects(struct parser *p, unsigned i) { return set_redirects(p, i, false, true); }
int config_ip6_redirects(struct parser *p, unsigned i) { return set_redirects(p, i, true, true); }

int config_no_ip4_redirects(struct parser *p, unsigned i)
{
	return set_redirects(p, i, false, false);
}

int config_no_ip6_redirects(struct parser *p, unsigned i)
{
	return set_redirects(p, i, true, false);
}

static int set_directed(struct parser *p, unsigned i, bool on)
{
	p->interface->directed = on;
	p->interface->directed_line = on ? p->w.line : 0;
	return words_end(&p->w, i);
}

int config_ip4_directed(struct parser *p, unsigned i) { return set_directed(p, i, true); }
int config_no_ip4_directed(struct parser *p, unsigned i) { return set_directed(p, i, false); }
