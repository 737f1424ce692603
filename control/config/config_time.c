/*
 * The statements of NTP and DNS: `ntp server`, `ip name-server`, `ip domain`; see config_parse.h and docs/time.md.
 */
#include "control/config/config_parse.h"

#include "net/ip4.h"
#include "net/ip6.h"

/* "minpoll 6" or "maxpoll 10" at word *i, which moves past it. */
static int parse_poll(struct parser *p, unsigned *i, uint8_t *poll)
{
	uint32_t n;
	int error = words_u32(&p->w, *i + 1, "the poll interval, a power of 2 seconds,", CONFIG_NTP_POLL_MIN,
	                      CONFIG_NTP_POLL_MAX, &n);
	if (error == 0)
		*poll = (uint8_t)n;
	*i += 2;
	return error;
}

static int parse_options(struct parser *p, unsigned i, struct config_ntp_server *s)
{
	int error = 0;
	while (error == 0) {
		bool *flag = words_is(&p->w, i, "prefer")   ? &s->prefer
		             : words_is(&p->w, i, "iburst") ? &s->iburst
		                                            : NULL;
		if (flag && !*flag) {
			*flag = true;
			i++;
		} else if (words_is(&p->w, i, "minpoll")) {
			error = parse_poll(p, &i, &s->poll_min);
		} else if (words_is(&p->w, i, "maxpoll")) {
			error = parse_poll(p, &i, &s->poll_max);
		} else {
			break;
		}
	}
	if (error == 0 && s->poll_min > s->poll_max)
		return FAIL(p, i - 1, "the least poll interval, %u, is longer than the longest, %u", s->poll_min,
		            s->poll_max);
	return error != 0 ? error : words_end(&p->w, i);
}

static bool is_unicast(const struct net_addr *a)
{
	if (!net_addr_is_ip4(a))
		return ip6_is_unicast(a);
	return !ip4_dst_is_martian(net_addr_to_ip4(a)) && !ip4_is_multicast(net_addr_to_ip4(a));
}

/* Word i: an address to which packets can be sent. */
static int check_unicast(struct parser *p, unsigned i, const struct net_addr *a)
{
	if (!is_unicast(a))
		return FAIL(p, i, "a server has a unicast address");
	if (ip6_is_link_local(a))
		return FAIL(p, i,
		            "a server with a link-local address cannot be found: which link it is on is not said");
	return 0;
}

int config_ntp_server(struct parser *p, unsigned i)
{
	struct config_time *t = &p->out->time;
	struct config_ntp_server s = {.poll_min = CONFIG_NTP_POLL_MIN_DEFAULT, .poll_max = CONFIG_NTP_POLL_MAX_DEFAULT};
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (!config_read_host(p->w.word[i], &s.host))
		return FAIL(p, i, "a name or an address is expected, at most %d characters", CONFIG_HTTP_HOST_SIZE - 1);
	if (!s.host.name[0] && (error = check_unicast(p, i, &s.host.addr)) != 0)
		return error;
	if ((error = parse_options(p, i + 1, &s)) != 0)
		return error;
	for (unsigned k = 0; k < t->servers; k++)
		if (strcmp(t->server[k].host.name, s.host.name) == 0 &&
		    net_addr_equal(&t->server[k].host.addr, &s.host.addr))
			return FAIL(p, i, "this server stands already at line %u", t->server[k].host.line);
	if (t->servers == CONFIG_NTP_SERVERS_MAX)
		return FAIL(p, i, "too many servers; at most %d", CONFIG_NTP_SERVERS_MAX);
	s.host.line = p->w.line;
	t->server[t->servers++] = s;
	return 0;
}

int config_name_server(struct parser *p, unsigned i)
{
	struct config_time *t = &p->out->time;
	int error = words_expect(&p->w, i);
	for (; error == 0 && i < p->w.n; i++) {
		struct net_addr a;
		if (text_parse_addr(p->w.word[i], &a) != 0)
			return FAIL(p, i, "the address of a name server is expected");
		if ((error = check_unicast(p, i, &a)) != 0)
			return error;
		for (unsigned k = 0; k < t->name_servers; k++)
			if (net_addr_equal(&t->name_server[k], &a))
				return FAIL(p, i, "this server stands already at line %u", t->name_server_line[k]);
		if (t->name_servers == CONFIG_NAME_SERVERS_MAX)
			return FAIL(p, i, "too many name servers; at most %d", CONFIG_NAME_SERVERS_MAX);
		t->name_server[t->name_servers] = a;
		t->name_server_line[t->name_servers++] = p->w.line;
	}
	return error;
}

int config_domain(struct parser *p, unsigned i)
{
	struct config_http_host h;
	int error = words_expect(&p->w, i);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	if (!config_read_host(p->w.word[i], &h) || !h.name[0])
		return FAIL(p, i, "the name of a domain is expected, at most %d characters", CONFIG_HTTP_HOST_SIZE - 1);
	memcpy(p->out->time.domain, h.name, sizeof h.name);
	return 0;
}

/* A name needs a server that knows it; a DHCP server may name one. */
int config_check_time(const struct config *c, struct text_error *err)
{
	for (unsigned i = 0; i < c->time.servers; i++) {
		const struct config_http_host *h = &c->time.server[i].host;
		if (h->name[0] && c->time.name_servers == 0 && c->dhcp.clients == 0)
			return text_fail(err, h->line, text_of(h->name),
			                 "a name needs a name server; add a line \"ip name-server "
			                 "ADDRESS\"");
	}
	return 0;
}
