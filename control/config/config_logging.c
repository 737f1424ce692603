/* The statements of the event log and of syslog hosts, and their check; see config_parse.h and docs/logging.md. */
#include "control/config/config_parse.h"

#include "lib/log_level.h"
#include "net/syslog.h"

#define PINNED_NAME_MAX 100 /* characters; config_print writes lines of up to 254 */

/* Word i: a level, by word or number. */
static int parse_level(struct parser *p, unsigned i, uint8_t *level)
{
	char word[16];
	const struct text w = words_at(&p->w, i);
	enum log_level found = LOG_LEVELS;
	if (w.len && w.len < sizeof word) {
		for (size_t k = 0; k < w.len; k++)
			word[k] = text_lower(w.at[k]);
		word[w.len] = 0;
		found = log_level_of(word);
	}
	if (found == LOG_LEVELS)
		return FAIL(p, i, "expected a level: emergencies, alerts, critical, errors, warnings, notifications, "
		                  "informational, debugging, or its number, 0 to 7");
	*level = (uint8_t)found;
	return 0;
}

/* The rest of the line: a level or `off`. */
static int parse_own(struct parser *p, unsigned i, struct config_log_level *out)
{
	const bool off = words_is(&p->w, i, "off");
	const int error = off ? 0 : parse_level(p, i, &out->level);
	if (error != 0)
		return error;
	out->off = off;
	out->line = p->w.line;
	return words_end(&p->w, i + 1);
}

int config_logging_console(struct parser *p, unsigned i) { return parse_own(p, i, &p->out->logging.console); }
int config_logging_buffered(struct parser *p, unsigned i) { return parse_own(p, i, &p->out->logging.buffered); }

/* Word i: local0 to local7. */
static int parse_facility(struct parser *p, unsigned i, uint8_t *facility)
{
	char word[] = "local0";
	for (unsigned n = 0; n < SYSLOG_LOCALS; n++, word[5]++) {
		if (!words_is(&p->w, i, word))
			continue;
		*facility = (uint8_t)n;
		return 0;
	}
	return FAIL(p, i, "expected a facility: local0 to local7");
}

/* Word i: a SHA-256 fingerprint, with colons between its bytes or without. */
static int parse_fingerprint(struct parser *p, unsigned i, struct config_log_host *h)
{
	char digits[2 * SHA256_BYTES + 1];
	const struct text w = words_at(&p->w, i);
	size_t n = 0;
	for (size_t k = 0; k < w.len && n < sizeof digits; k++)
		if (w.len != 3 * SHA256_BYTES - 1 || k % 3 != 2 || w.at[k] != ':')
			digits[n++] = w.at[k];
	if (text_parse_hex((struct text){digits, n}, h->fingerprint, SHA256_BYTES) != E_OK)
		return FAIL(p, i, "expected the SHA-256 fingerprint of a certificate, 64 hexadecimal digits");
	h->pinned = true;
	return 0;
}

/* The options behind the host, in any order. */
static int parse_options(struct parser *p, unsigned i, struct config_log_host *h)
{
	int error = 0;
	for (uint32_t port; error == 0 && i < p->w.n; i += 2) {
		if (words_is(&p->w, i, "udp")) {
			i--; /* a word alone */
		} else if (words_is(&p->w, i, "transport")) {
			h->tls = words_is(&p->w, i + 1, "tls");
			if (!h->tls && !words_is(&p->w, i + 1, "udp"))
				return FAIL(p, i + 1, "expected udp or tls");
		} else if (words_is(&p->w, i, "port")) {
			if ((error = words_u32(&p->w, i + 1, "a port", 1, 65535, &port)) == 0)
				h->port = (uint16_t)port;
		} else if (words_is(&p->w, i, "level")) {
			error = parse_level(p, i + 1, &h->level);
		} else if (words_is(&p->w, i, "facility")) {
			error = parse_facility(p, i + 1, &h->facility);
		} else if (words_is(&p->w, i, "fingerprint")) {
			error = parse_fingerprint(p, i + 1, h);
		} else {
			return FAIL(p, i, "expected transport, port, udp, level, facility or fingerprint");
		}
	}
	if (error == 0 && h->port == 0)
		h->port = h->tls ? SYSLOG_TLS_PORT : SYSLOG_PORT;
	return error;
}

int config_logging_host(struct parser *p, unsigned i)
{
	struct config_logging *l = &p->out->logging;
	struct config_log_host h = {.level = LOG_INFO, .facility = CONFIG_LOG_FACILITY_DEFAULT};
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (!config_read_host(p->w.word[i], &h.host) || (!h.host.name[0] && !config_is_host(&h.host.addr)))
		return FAIL(p, i, "expected a syslog host: a name, or a unicast address that is not link-local");
	if ((error = parse_options(p, i + 1, &h)) != 0)
		return error;
	if (h.pinned && !h.tls)
		return FAIL(p, i, "a fingerprint is for \"transport tls\" only");
	if (h.pinned && strlen(h.host.name) > PINNED_NAME_MAX) /* with all its options the line would be too long */
		return FAIL(p, i, "beside a fingerprint the name of a host has at most %d characters", PINNED_NAME_MAX);
	for (unsigned k = 0; k < l->hosts; k++)
		if (strcmp(l->host[k].host.name, h.host.name) == 0 &&
		    net_addr_equal(&l->host[k].host.addr, &h.host.addr))
			return FAIL(p, i, "this host stands already at line %u", l->host[k].host.line);
	if (l->hosts == CONFIG_LOG_HOSTS_MAX)
		return FAIL(p, i, "too many syslog hosts; at most %d", CONFIG_LOG_HOSTS_MAX);
	h.host.line = p->w.line;
	l->host[l->hosts++] = h;
	return 0;
}

int config_logging_source(struct parser *p, unsigned i)
{
	int error = config_parse_interface(p, i, &p->out->logging.source);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	p->out->logging.source_line = p->w.line;
	return 0;
}

int config_check_logging(const struct config *c, struct text_error *err)
{
	char name[CONFIG_IF_NAME_SIZE];
	const struct config_logging *l = &c->logging;
	const int n = l->source_line ? config_number(c, l->source) : -1;
	if (l->source_line && (n < 0 || !c->interface[n].present))
		return text_fail(err, l->source_line, text_of(config_key_name(name, l->source)),
		                 "the interface of the source address has no block");
	for (unsigned k = 0; k < l->hosts; k++)
		if (l->host[k].tls && !l->host[k].pinned && !c->trust[0])
			return text_fail(err, l->host[k].host.line, text_of("tls"),
			                 "nothing is trusted; add the line \"trust certificate FILE\", or a "
			                 "fingerprint here");
	return 0;
}
