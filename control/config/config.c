/*
 * Lines and blocks of the configuration; see config.h and docs/configuration.md.
 *
 * Each line is cut into words. The statement whose leading words match (config_statements.c) parses
 * the rest. A parser sees a line only after a check that it is printable ASCII of bounded length.
 *
 * The state between lines is the open block, none at the start: of an interface, as below, or of an
 * access list, in which lines may begin with a number:
 *     in a block | interface statement -> stays    outside | interface statement -> error
 *                | `interface`         -> next                | `interface`      -> in a block
 *                | other, `exit`       -> outside             | other            -> outside
 *                                                             | `exit`           -> error
 * If the caller wants all wrong lines (config_memory.wrong), parsing continues after an error
 * (read_on). When the open block is then unknown, possible lines of a block are skipped up to a
 * statement that belongs to no block (is_lost).
 */
#include "control/config/config_parse.h"

#include "lib/assert.h"

#define LINE_MAX 255

static int parse_statement(struct parser *p)
{
	unsigned best, count;
	const struct statement *const all = config_statements(&count);
	const struct statement *const found = config_statement_find(p, &best);
	if (found == NULL)
		return config_statement_unknown(p, best);
	if (p->ended && found->parse != config_script)
		return FAIL(p, 0, "nothing but comments may follow the line \"end\"");
	p->statement = found;
	p->w.syntax = found->syntax;
	p->known = true;
	if (found->in_interface && p->interface == NULL)
		return FAIL(p, 0, "\"%s\" belongs into an interface block; write \"interface ethN\" "
		                  "before it", found->words);
	if (!found->in_interface && found->parse != config_exit)
		p->interface = NULL;
	if (found->parse != config_acl_rule && found->parse != config_exit)
		p->acl = NULL;
	uint32_t *seen = &p->seen[found - all];
	if ((found->how & STATEMENT_ONCE) != 0 && *seen != 0)
		return FAIL(p, 0, "\"%s\" stands already at line %u", found->words, *seen);
	*seen = p->w.line;
	if (found->how & STATEMENT_OPENS)
		p->unsure = false;
	int error = found->parse(p, best);
	if (found->parse == config_interface)
		for (unsigned s = 0; s < count; s++)
			if (all[s].in_interface)
				p->seen[s] = 0;
	return error;
}

/* True for an empty line or a comment; otherwise *word is its first word. */
static bool says_nothing(struct text line, struct text *word)
{
	return !text_next_word(&line, word) || word->at[0] == '!' || word->at[0] == '#';
}

/* Parses one line, without its end. */
static int parse_line(struct parser *p, struct text line)
{
	struct text word;
	p->w.body = (struct text){line.at, 0};
	p->w.n = 0;
	p->known = false;
	if (says_nothing(line, &word))
		return 0;
	p->w.body = text_trim_end((struct text){word.at, (size_t)(line.at + line.len - word.at)});
	if (line.len > LINE_MAX)
		return text_fail(p->w.err, p->w.line, word, "the line has %u characters; at most %d",
		                 (unsigned)line.len, LINE_MAX);
	int error = words_cut(&p->w, line.at);
	if (error != 0 || (error = config_acl_sequence(p)) != 0)
		return error;
	return parse_statement(p);
}

void config_default(struct config *out)
{
	*out = (struct config){
		.hostname = "hayate",
		.application = CORE_APP_router,
		.idle = CONFIG_IDLE_AUTO,
		.arp_timeout_s = CONFIG_ARP_TIMEOUT_DEFAULT_S,
		.icmp_rate = CONFIG_ICMP_RATE_DEFAULT,
		.icmp_burst = CONFIG_ICMP_BURST_DEFAULT,
		.engine = {.port = CONFIG_ENGINE_PORT_DEFAULT,
		           .hold_s = CONFIG_ENGINE_HOLD_DEFAULT_S,
		           .settle_s = CONFIG_ENGINE_SETTLE_DEFAULT_S},
		.aging_s = CONFIG_AGING_DEFAULT_S,
		.stp = {.bridge = STP_PARAMS_DEFAULT, .recovery_s = CONFIG_RECOVERY_DEFAULT_S},
		.interfaces = CONFIG_PORTS_MAX,
	};
	for (unsigned n = 0; n < CONFIG_PORTS_MAX; n++)
		out->interface[n].key = n;
	for (unsigned n = 0; n < CONFIG_SWITCHPORTS; n++)
		out->switchport[n].stp.priority = CONFIG_STP_PORT_PRIORITY;
}

static bool is_inner(struct text line)
{
	return line.len > 0 && text_is_blank(line.at[0]);
}

/*
 * Called after an error in this line. True: parsing continues with the next line. Then the block
 * that the line should have opened is missing. A line without blanks before an unknown statement
 * may also have been meant to open a block.
 */
static bool read_on(struct parser *p, struct text line)
{
	struct config_wrong *w = p->mem->wrong;
	if (w == NULL)
		return false;
	w->count++;
	p->w.err = w->count < CONFIG_WRONG_MAX ? &w->row[w->count] : NULL;
	if (p->ended || (p->known && p->statement->parse == config_script))
		return false; /* after `end` all lines are wrong; a script is not parsed here */
	const struct statement *s = p->statement;
	if (p->known)
		p->lost = s->how & STATEMENT_OPENS || (s->in_interface && p->interface == NULL) ||
		          (s->how & STATEMENT_RULE && p->acl == NULL);
	else
		p->lost = !is_inner(line);
	p->unsure = true;
	if (p->lost) {
		p->interface = NULL;
		p->acl = NULL;
	}
	return true;
}

/* True: skip the line, which may belong to a block that a wrong line should have opened. Clears
 * p->lost when that block ends. */
static bool is_lost(struct parser *p, struct text line)
{
	struct text word;
	if (!p->lost || is_inner(line) || says_nothing(line, &word))
		return p->lost;
	const struct statement *s = config_statement_of(line);
	bool leaves = s != NULL && s->parse == config_exit;
	p->lost = s != NULL && (s->in_interface || s->how & STATEMENT_RULE);
	return p->lost || leaves;
}

/* Cuts the first line off the text; returns it without its end. */
static struct text cut_line(struct text *text)
{
	struct text line = {text->at, 0};
	(void)text_next_line(text, &line);
	if (line.len > 0 && line.at[line.len - 1] == '\r')
		line.len--;
	return line;
}

/* The line before was a route, right or wrong: the state between lines is what the next one would leave. */
static bool is_behind_route(const struct parser *p)
{
	return p->known && p->statement->parse == config_ip4_route;
}

static int parse_lines(struct parser *p, struct text text)
{
	/* Editors on Windows put a byte-order mark in front of UTF-8. */
	if (text.len >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0)
		text = (struct text){text.at + 3, text.len - 3};
	while (text.len > 0) {
		p->w.line++;
		const size_t usual = is_behind_route(p) ? config_ip4_usual_route(p, text) : 0;
		if (usual != 0) {
			text = (struct text){text.at + usual, text.len - usual};
		} else {
			struct text line = cut_line(&text);
			int error = is_lost(p, line) ? 0 : parse_line(p, line);
			if (error != 0 && !read_on(p, line))
				return error;
		}
		if (p->mem->progress != NULL && p->w.line % CONFIG_PROGRESS_LINES == 0)
			p->mem->progress(p->w.line);
		if (p->script) {
			p->out->script.text = text;
			break;
		}
	}
	return 0;
}

/* Finds the interface of IPv6 next hops that name none: that whose subnet contains the next hop. */
static void find_interfaces(struct config *c)
{
	const struct config_route6 *last = NULL; /* most routes share a few next hops */
	for (uint32_t i = 0; i < c->route6_count; i++) {
		struct config_route6 *r = &c->routes6[i];
		if (r->kind != CONFIG_ROUTE_VIA || r->interface != CONFIG_INTERFACE_ANY)
			continue;
		if (last == NULL || !net_addr_equal(&last->next_hop, &r->next_hop)) {
			int n = config_connected6(c, &r->next_hop);
			if (n < 0)
				continue; /* off all subnets: another route leads to it */
			r->interface = c->interface[n].key;
		} else {
			r->interface = last->interface;
		}
		last = r;
	}
}

struct config_lines config_count_lines(const char *text, size_t len)
{
	const struct text ip = text_of("ip"), ipv6 = text_of("ipv6");
	struct config_lines n = {0, 0, 0};
	for (size_t i = 0; i < len; i += text_find((struct text){text + i, len - i}, '\n') + 1) {
		while (i < len && text_is_blank(text[i]))
			i++;
		const char c = i < len ? text_lower(text[i]) : 0;
		if (c == 'i') {
			const size_t left = len - i;
			n.ip += left > ip.len && text_is_word((struct text){text + i, ip.len}, ip) &&
			        text_is_blank(text[i + ip.len]);
			n.ipv6 += left >= ipv6.len && text_is_word((struct text){text + i, ipv6.len}, ipv6);
		}
		n.rules += c == 'p' || c == 'd' || (c >= '0' && c <= '9');
	}
	return n;
}

int config_read(const char *text, size_t len, const struct config_memory *mem, struct config *out,
                struct text_error *err)
{
	config_default(out);
	out->routes = mem->routes;
	out->routes6 = mem->routes6;
	out->acl_rules = mem->acl_rules;
	struct config_wrong *w = mem->wrong;
	struct parser p = {.w.err = w != NULL ? &w->row[0] : err, .out = out, .mem = mem};
	if (w != NULL)
		w->count = 0;
	int error = parse_lines(&p, (struct text){text, len});
	if (w != NULL && w->count > 0) {
		*err = w->row[0];
		error = E_INVAL;
	}
	config_order(out);
	return error;
}

int config_finish(struct config *c, const struct config_memory *mem, struct text_error *err)
{
	assert(mem->scratch_words >= config_scratch_words(c->route_count) +
	                                     config_scratch_words(c->route6_count));
	find_interfaces(c);
	int error = config_check(c, mem->scratch, mem->scratch_words, err);
	if (error == 0 && c->application == CORE_APP_echo &&
	    !services_any(&c->services, SERVICE_UDP) && !services_any(&c->services, SERVICE_TCP))
		services_default(&c->services);
	return error;
}

int config_parse(const char *text, size_t len, const struct config_memory *mem, struct config *out,
                 struct text_error *err)
{
	int error = config_read(text, len, mem, out, err);
	if (error == 0)
		error = config_finish(out, mem, err);
	if (error != 0)
		config_default(out);
	return error;
}
