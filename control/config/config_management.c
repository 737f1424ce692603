/* The statements of the servers on the control core (HTTP, console, captures) and the checks of the
 * whole for them; see config_parse.h and docs/configuration.md. */
#include "control/config/config_parse.h"

#include "lib/fmt.h"
#include "net/ip6.h"

/* --- statements --- */

/* "[port N]" from word i on; `port` is the default. */
static int parse_port(struct parser *p, unsigned i, uint32_t port, uint16_t *out)
{
	int error = 0;
	if (words_is(&p->w, i, "port")) {
		error = words_u32(&p->w, i + 1, "a TCP port", 1, 65535, &port);
		i += 2;
	}
	if (error != 0 || (error = words_end(&p->w, i)) != 0)
		return error;
	*out = (uint16_t)port;
	return 0;
}

/* A prefix of either family; *i moves past it. *plen counts all 128 bits. */
static int parse_prefix(struct parser *p, unsigned *i, struct net_addr *prefix, unsigned *plen)
{
	uint32_t four = 0;
	struct text w = words_at(&p->w, *i);
	if (text_find(w, ':') < w.len)
		return config_ip6_prefix(p, (*i)++, prefix, plen);
	int error = config_ip4_prefix(p, i, &four, plen);
	*prefix = net_addr_ip4(four);
	*plen += 96;
	return error;
}

static int parse_access(struct parser *p, unsigned i, struct config_access_list *l)
{
	struct net_addr prefix;
	unsigned plen = 0, at = i;
	int error = parse_prefix(p, &i, &prefix, &plen);
	if (error != 0 || (error = words_end(&p->w, i)) != 0)
		return error;
	for (unsigned k = 0; k < l->count; k++)
		if (net_addr_equal(&l->row[k].prefix, &prefix) && l->row[k].plen == plen)
			return FAIL(p, at, "this prefix stands already at line %u", l->row[k].line);
	if (l->count == CONFIG_ACCESS_MAX)
		return FAIL(p, at, "too many prefixes; at most %d", CONFIG_ACCESS_MAX);
	struct config_access *row = &l->row[l->count++];
	row->prefix = prefix;
	row->plen = (uint8_t)plen;
	row->line = p->w.line;
	return 0;
}

int config_http_server(struct parser *p, unsigned i)
{
	p->out->http.line = p->w.line;
	return parse_port(p, i, CONFIG_HTTP_PORT_DEFAULT, &p->out->http.port);
}

int config_https_server(struct parser *p, unsigned i)
{
	p->out->http.tls_line = p->w.line;
	return parse_port(p, i, CONFIG_HTTPS_PORT_DEFAULT, &p->out->http.tls_port);
}

/* The name of a file of the boot module, the last word; *line is that of the statement. */
static int parse_file(struct parser *p, unsigned i, char name[CONFIG_CERTIFICATE_SIZE], uint32_t *line)
{
	int error = words_expect(&p->w, i);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	const struct text word = p->w.word[i];
	if (word.len >= CONFIG_CERTIFICATE_SIZE)
		return FAIL(p, i, "the name of a file has at most %d characters", CONFIG_CERTIFICATE_SIZE - 1);
	memcpy(name, word.at, word.len);
	name[word.len] = 0;
	*line = p->w.line;
	return 0;
}

int config_https_certificate(struct parser *p, unsigned i)
{
	return parse_file(p, i, p->out->http.certificate, &p->out->http.certificate_line);
}

int config_trust_certificate(struct parser *p, unsigned i)
{
	return parse_file(p, i, p->out->trust, &p->out->trust_line);
}

int config_http_access(struct parser *p, unsigned i)
{
	return parse_access(p, i, &p->out->http.access);
}

static bool is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Labels of 1 to 63 letters, digits, inner hyphens (RFC 1123 2.1), and underscores, which some
 * container networks use. The last label is not a number: RFC 1123 reserves that for addresses. */
static bool is_name(const char *name)
{
	bool number = false;
	size_t n = 0;
	for (const char *c = name;; c++) {
		if (is_label_char(*c)) {
			number = (n == 0 || number) && *c >= '0' && *c <= '9';
			if (++n == 1 && *c == '-')
				return false;
			continue;
		}
		if ((*c && *c != '.') || n == 0 || n > 63 || c[-1] == '-')
			return false;
		if (!*c)
			return !number;
		n = 0;
	}
}

bool config_read_host(struct text w, struct config_http_host *h)
{
	*h = (struct config_http_host){.line = 0};
	if (text_parse_addr(w, &h->addr) == 0)
		return true;
	if (w.len && w.at[w.len - 1] == '.')
		w.len--;
	if (w.len == 0 || w.len >= sizeof h->name)
		return false;
	for (size_t i = 0; i < w.len; i++)
		h->name[i] = text_lower(w.at[i]);
	return strlen(h->name) == w.len && is_name(h->name);
}

int config_http_host(struct parser *p, unsigned i)
{
	struct config_http *http = &p->out->http;
	struct config_http_host host;
	int error = words_expect(&p->w, i);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	if (!config_read_host(p->w.word[i], &host))
		return FAIL(p, i, "a name or an address is expected: no port, no prefix length, at most "
		                  "%d characters", CONFIG_HTTP_HOST_SIZE - 1);
	host.line = p->w.line;
	for (unsigned k = 0; k < http->hosts; k++)
		if (strcmp(http->host[k].name, host.name) == 0 &&
		    net_addr_equal(&http->host[k].addr, &host.addr))
			return FAIL(p, i, "this name stands already at line %u", http->host[k].line);
	if (http->hosts == CONFIG_HTTP_HOSTS_MAX)
		return FAIL(p, i, "too many names; at most %d", CONFIG_HTTP_HOSTS_MAX);
	http->host[http->hosts++] = host;
	return 0;
}

int config_console_server(struct parser *p, unsigned i)
{
	p->out->console.line = p->w.line;
	return parse_port(p, i, CONFIG_CONSOLE_PORT_DEFAULT, &p->out->console.port);
}

int config_console_access(struct parser *p, unsigned i)
{
	return parse_access(p, i, &p->out->console.access);
}

int config_console_password(struct parser *p, unsigned i)
{
	const char *why;
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (password_parse(p->w.word[i], &p->out->console.password, &why) != E_OK)
		return FAIL(p, i, "%s", why);
	p->out->console.password_line = p->w.line;
	return words_end(&p->w, i + 1);
}

int config_ssh_server(struct parser *p, unsigned i)
{
	p->out->ssh.line = p->w.line;
	return parse_port(p, i, CONFIG_SSH_PORT_DEFAULT, &p->out->ssh.port);
}

int config_ssh_access(struct parser *p, unsigned i)
{
	return parse_access(p, i, &p->out->ssh.access);
}

int config_capture_server(struct parser *p, unsigned i)
{
	p->out->capture.line = p->w.line;
	return parse_port(p, i, CONFIG_CAPTURE_PORT_DEFAULT, &p->out->capture.port);
}

int config_capture_access(struct parser *p, unsigned i)
{
	return parse_access(p, i, &p->out->capture.access);
}

/* --- checks of the whole --- */

/* The service that listens on a TCP port; SERVICES: none. */
static enum service taken_by(const struct config *c, uint16_t port)
{
	bool none = !services_any(&c->services, SERVICE_UDP) && !services_any(&c->services, SERVICE_TCP);
	if (c->application == CORE_APP_echo && none && port == service_port_default(SERVICE_ECHO))
		return SERVICE_ECHO; /* config_finish adds it */
	return service_of(&c->services, SERVICE_TCP, port);
}

int config_check_server(const struct config *c, const char *name, uint16_t port, uint32_t line,
                        struct text_error *err)
{
	char word[16];
	enum service taken = taken_by(c, port);
	if (c->application == CORE_APP_discard)
		return text_fail(err, line, text_of(name),
		                 "the discard application drops all packets, including those to "
		                 "this server");
	fmt_format(word, sizeof word, "%u", port);
	if (c->application == CORE_APP_web && port == (c->web_port ? c->web_port : CONFIG_WEB_PORT))
		return text_fail(err, line, text_of(word), "the web application listens on this port");
	if (taken != SERVICES)
		return text_fail(err, line, text_of(word), "%s listens on this port",
		                 service_word(taken));
	return 0;
}

static int check_http(const struct config *c, struct text_error *err)
{
	const struct config_http *http = &c->http;
	const bool any = http->port != 0 || http->tls_port != 0;
	char port[16];
	int error = 0;
	if (!any && http->access.count)
		return text_fail(err, http->access.row[0].line, text_of("http"),
		                 "an access list without a server; add the line \"https server\" or \"http server\"");
	if (!any && http->hosts)
		return text_fail(err, http->host[0].line, text_of("http"),
		                 "a name without a server; add the line \"https server\" or \"http server\"");
	if (http->tls_port == 0 && http->certificate_line)
		return text_fail(err, http->certificate_line, text_of("https"),
		                 "a certificate without a server; add the line \"https server\"");
	if (!any)
		return 0;
	if (http->access.count == 0)
		return text_fail(err, http->port ? http->line : http->tls_line, text_of(http->port ? "http" : "https"),
		                 "the server needs an access list; say who may connect by lines "
		                 "\"http access PREFIX\"");
	fmt_format(port, sizeof port, "%u", http->tls_port);
	if (http->port == http->tls_port)
		return text_fail(err, http->tls_line, text_of(port), "the HTTP server listens on this port");
	if (http->port)
		error = config_check_server(c, "http", http->port, http->line, err);
	if (error != 0 || !http->tls_port)
		return error;
	return config_check_server(c, "https", http->tls_port, http->tls_line, err);
}

static int check_console(const struct config *c, struct text_error *err)
{
	const struct config_console *console = &c->console;
	const struct text word = text_of("console");
	char port[16];
	if (console->port == 0 && console->access.count)
		return text_fail(err, console->access.row[0].line, word,
		                 "an access list without a server; add the line \"console server\"");
	if (console->port == 0 && c->ssh.port == 0 && console->password_line != 0)
		return text_fail(err, console->password_line, word,
		                 "a password without a server; add the line \"console server\" or \"ssh server\"");
	if (console->port == 0)
		return 0;
	if (console->password_line == 0 && c->users.count == 0)
		return text_fail(err, console->line, word, "the server needs a password; add the line "
		                 "that \"tools/hayate password\" prints, or users");
	if (console->access.count == 0)
		return text_fail(err, console->line, word, "the server needs an access list; say who "
		                 "may connect by lines \"console access PREFIX\"");
	fmt_format(port, sizeof port, "%u", console->port);
	if (console->port == c->http.port || console->port == c->http.tls_port)
		return text_fail(err, console->line, text_of(port), "the %s server listens on this "
		                 "port", console->port == c->http.port ? "HTTP" : "HTTPS");
	return config_check_server(c, "console", console->port, console->line, err);
}

static int check_ssh(const struct config *c, struct text_error *err)
{
	const struct config_ssh *ssh = &c->ssh;
	const struct text word = text_of("ssh");
	char port[16];
	if (ssh->port == 0 && ssh->access.count)
		return text_fail(err, ssh->access.row[0].line, word,
		                 "an access list without a server; add the line \"ssh server\"");
	if (ssh->port == 0)
		return 0;
	if (c->console.password_line == 0 && c->users.count == 0)
		return text_fail(err, ssh->line, word, "the server needs users (\"username\"), or the line that "
		                 "\"tools/hayate password\" prints");
	if (ssh->access.count == 0)
		return text_fail(err, ssh->line, word, "the server needs an access list; say who may connect by "
		                 "lines \"ssh access PREFIX\"");
	fmt_format(port, sizeof port, "%u", ssh->port);
	if (ssh->port == c->http.port || ssh->port == c->http.tls_port || ssh->port == c->console.port)
		return text_fail(err, ssh->line, text_of(port), "the %s server listens on this port",
		                 ssh->port == c->http.port       ? "HTTP"
		                 : ssh->port == c->http.tls_port ? "HTTPS"
		                                                 : "console");
	return config_check_server(c, "ssh", ssh->port, ssh->line, err);
}

static int check_capture(const struct config *c, struct text_error *err)
{
	const struct config_capture *capture = &c->capture;
	const struct text word = text_of("capture");
	char port[16];
	if (capture->port == 0 && capture->access.count)
		return text_fail(err, capture->access.row[0].line, word,
		                 "an access list without a server; add the line \"capture server\"");
	if (capture->port == 0)
		return 0;
	if (capture->access.count == 0)
		return text_fail(err, capture->line, word, "the server needs an access list; say who "
		                 "may connect by lines \"capture access PREFIX\"");
	fmt_format(port, sizeof port, "%u", capture->port);
	if (capture->port == c->http.port || capture->port == c->http.tls_port || capture->port == c->console.port ||
	    capture->port == c->ssh.port)
		return text_fail(err, capture->line, text_of(port), "the %s server listens on this "
		                 "port", capture->port == c->http.port       ? "HTTP"
		                         : capture->port == c->http.tls_port ? "HTTPS"
		                         : capture->port == c->ssh.port      ? "SSH"
		                                                             : "console");
	return config_check_server(c, "capture", capture->port, capture->line, err);
}

int config_check_management(const struct config *c, struct text_error *err)
{
	int error = config_check_users(c, err);
	error = error != 0 ? error : check_http(c, err);
	error = error != 0 ? error : check_console(c, err);
	error = error != 0 ? error : check_ssh(c, err);
	error = error != 0 ? error : check_capture(c, err);
	return error != 0 ? error : config_check_engine(c, err);
}

/* --- use --- */

bool config_admits(const struct config_access_list *l, const struct net_addr *addr)
{
	for (unsigned i = 0; i < l->count; i++) {
		const struct config_access *a = &l->row[i];
		/* struct net_addr maps IPv4 into ::/0, which must not admit IPv4 */
		if (net_addr_is_ip4(addr) == net_addr_is_ip4(&a->prefix) &&
		    ip6_in_prefix(addr, &a->prefix, a->plen))
			return true;
	}
	return false;
}
