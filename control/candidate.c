/* See candidate.h. */
#include "control/candidate.h"

#include "control/config_parse.h"
#include "lib/assert.h"
#include "lib/fmt.h"
#include "net/ip6.h"

static const struct text NOTHING = {"", 0};

/* --- lines and words --- */

/* A buffer that is filled; `len` goes on counting when it is full. */
struct sink {
	char *at;
	size_t len, size;
};

static void put(void *ctx, const char *text, size_t len)
{
	struct sink *s = ctx;
	if (s->len + len <= s->size)
		memcpy(s->at + s->len, text, len);
	s->len += len;
}

static void put_line(struct sink *s, const char *before, struct text line)
{
	put(s, before, strlen(before));
	put(s, line.at, line.len);
	put(s, "\n", 1);
}

/* Cuts the next line off *rest, without its end. */
static bool next_line(struct text *rest, struct text *line)
{
	if (rest->len == 0)
		return false;
	size_t n = text_find(*rest, '\n'), used = n < rest->len ? n + 1 : n;
	*line = (struct text){rest->at, n};
	*rest = (struct text){rest->at + used, rest->len - used};
	return true;
}

static uint32_t count_lines(struct text text)
{
	struct text line;
	uint32_t n = 0;
	while (next_line(&text, &line))
		n++;
	return n;
}

static bool same(struct text a, struct text b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

static bool is_inner(struct text line)
{
	return line.len > 0 && line.at[0] == ' ';
}

static bool is_comment(struct text line)
{
	return line.len == 0 || line.at[0] == '!';
}

static struct text trim(struct text line)
{
	while (line.len > 0 && text_is_blank(line.at[0]))
		line = (struct text){line.at + 1, line.len - 1};
	return text_trim_end(line);
}

/* Is every one of these words the line's at its place? */
static bool begins_with(struct text line, struct text words)
{
	struct text a, b;
	while (text_next_word(&words, &b))
		if (!text_next_word(&line, &a) || !same(a, b))
			return false;
	return true;
}

/* The first n words. */
static struct text first_words(struct text line, unsigned n)
{
	struct text rest = line, word = {line.at, 0};
	while (n-- > 0 && text_next_word(&rest, &word))
		;
	return (struct text){line.at, (size_t)(word.at + word.len - line.at)};
}

static unsigned count_words(struct text line)
{
	struct text word;
	unsigned n = 0;
	while (text_next_word(&line, &word))
		n++;
	return n;
}

static struct text last_word(struct text line)
{
	struct text word = NOTHING, next;
	while (text_next_word(&line, &next))
		word = next;
	return word;
}

static bool ends_in(struct text line, const char *last)
{
	return text_is_word(last_word(line), text_of(last));
}

/* The number that a line begins with, and the words behind it; 0: it begins with none. */
static uint32_t number_of(struct text line, struct text *behind)
{
	uint32_t n;
	struct text word;
	line = trim(line);
	*behind = line;
	if (!text_next_word(&line, &word) ||
	    text_parse_u32(word, 1, CONFIG_ACL_SEQUENCE_MAX, &n) != 0)
		return 0;
	*behind = trim(line);
	return n;
}

/* --- how config_print would write it --- */

/* A word behind those of a statement: addresses and interfaces have one form. A mask that follows
 * an address is cut off *rest. */
static size_t canonical_word(char *buf, size_t size, struct text word, struct text *rest)
{
	char text[FMT_PREFIX6_MAX];
	struct text behind = *rest, next;
	struct net_addr addr6;
	uint32_t addr, key;
	unsigned plen;
	if (text_parse_prefix6(word, &addr6, &plen) == 0)
		return fmt_format(buf, size, " %s", fmt_prefix6(text, &addr6, plen));
	if (text_parse_ip6(word, &addr6) == 0)
		return fmt_format(buf, size, " %s", fmt_ip6(text, &addr6));
	if (text_parse_ip4(word, &addr) == 0 && text_next_word(&behind, &next) &&
	    text_parse_mask(next, &plen) == 0) {
		*rest = behind;
		return fmt_format(buf, size, " %s", fmt_prefix(text, addr, plen));
	}
	if (config_key_parse(word, &key) == 0)
		return fmt_format(buf, size, " %s", config_key_name(text, key));
	return fmt_format(buf, size, " %.*s", (int)word.len, word.at);
}

/* The line as config_print would have it, as far as what it is told apart by goes. Empty: it is too
 * long. */
static struct text canonical(char buf[CANDIDATE_LINE_MAX], struct text line,
                             const struct statement *s)
{
	struct text rest = line, word;
	size_t n = fmt_format(buf, CANDIDATE_LINE_MAX, "%s", s->words);
	for (unsigned i = count_words(text_of(s->words)); i > 0; i--)
		text_next_word(&rest, &word);
	if (s->how & STATEMENT_ONCE) { /* a text, or a number */
		rest = trim(rest);
		if (rest.len > 0)
			n += fmt_format(buf + n, CANDIDATE_LINE_MAX - n, " %.*s", (int)rest.len, rest.at);
	} else if (s->how & STATEMENT_NAMED) {
		if ((s->how & STATEMENT_LIST) && count_words(rest) > 1 &&
		    text_is_word(first_words(trim(rest), 1), text_of("extended")))
			text_next_word(&rest, &word);
		while (n < CANDIDATE_LINE_MAX && text_next_word(&rest, &word))
			n += fmt_format(buf + n, CANDIDATE_LINE_MAX - n, " %.*s", (int)word.len, word.at);
	} else {
		while (n < CANDIDATE_LINE_MAX && text_next_word(&rest, &word))
			n += canonical_word(buf + n, CANDIDATE_LINE_MAX - n, word, &rest);
	}
	return (struct text){buf, n < CANDIDATE_LINE_MAX ? n : 0};
}

/* Does statement `entered`, of kind s, take the place of this line? Both are canonical. */
static bool replaces(const struct statement *s, struct text entered, struct text line)
{
	const unsigned own = count_words(text_of(s->words));
	if (!begins_with(line, text_of(s->words)) || config_statement_of(line) != s)
		return false;
	if (same(line, entered) || (s->how & STATEMENT_ONCE))
		return true;
	if (s->how & (STATEMENT_BY_1 | STATEMENT_BY_2))
		return begins_with(line, first_words(entered, own + (s->how & STATEMENT_BY_2 ? 2 : 1)));
	if (s->how & STATEMENT_UNLESS_LAST)
		return !ends_in(entered, "secondary") && !ends_in(line, "secondary");
	if (s->how & STATEMENT_BY_LAST)
		return text_is_word(last_word(entered), last_word(line));
	if (s->how & STATEMENT_IF_LAST)
		return ends_in(entered, "link-local") && ends_in(line, "link-local");
	return false;
}

/* --- errors --- */

static void keep_fault(struct candidate *c, struct text line)
{
	line = trim(line);
	size_t n = line.len < sizeof c->fault ? line.len : sizeof c->fault - 1;
	memcpy(c->fault, line.at, n);
	c->fault[n] = 0;
}

/* Line `number` of the text is at fault. */
static void find_fault(struct candidate *c, struct text text, uint32_t number)
{
	struct text line = NOTHING;
	while (number-- > 0)
		if (!next_line(&text, &line))
			line = NOTHING;
	keep_fault(c, line);
}

void candidate_fault(struct candidate *c, uint32_t line)
{
	find_fault(c, (struct text){c->text, c->len}, line);
}

/* --- the text --- */

/* Reads a text that may become the candidate's, in c->parsed. Routes have no place in it. */
static int read_text(struct candidate *c, struct text text, struct text_error *err)
{
	struct config_route route;
	struct config_route6 route6;
	const struct config_memory mem = {.routes = &route, .route_max = 1, .routes6 = &route6,
	                                  .route6_max = 1, .acl_rules = c->acl_rules,
	                                  .acl_rule_max = c->acl_rule_max};
	int e = config_read(text.at, text.len, &mem, c->parsed, err);
	if (e != E_OK)
		find_fault(c, text, err->line);
	return e;
}

/* Takes the text of c->parsed, which read_text has made. */
static int take_parsed(struct candidate *c, struct text_error *err)
{
	struct sink s = {c->draft, 0, c->text_max};
	config_print_statements(c->parsed, put, &s);
	if (s.len > s.size)
		return text_fail(err, 1, NOTHING, "the candidate would have %llu bytes without its "
		                 "routes; at most %u", (unsigned long long)s.len, c->text_max);
	char *old = c->text;
	c->text = c->draft;
	c->len = s.len;
	c->draft = old;
	c->changes++;
	return E_OK;
}

int candidate_set_text(struct candidate *c, struct text text, struct text_error *err)
{
	int e = read_text(c, text, err);
	return e == E_OK ? take_parsed(c, err) : e;
}

/* What becomes of the candidate's text by one statement. */
struct edit {
	const struct statement *statement;
	struct text block;   /* the line that opens it; empty: none */
	struct text entered; /* canonical; of a rule with its number, if one was said */
	uint32_t number;     /* of a rule; 0: it is told apart by its words */
	bool no;             /* all that begins so goes */
	bool found;          /* it did take something's place */
	bool placed;
	struct sink out;
};

static void place(struct edit *e)
{
	if (!e->placed && !e->no)
		put_line(&e->out, e->block.len > 0 ? " " : "", e->entered);
	e->placed = true;
}

/* Whether the line, of the block that the edit is about, makes way. */
static bool makes_way(const struct edit *e, struct text line)
{
	line = trim(line);
	if (e->statement->how & STATEMENT_RULE) {
		struct text words;
		uint32_t number = number_of(line, &words);
		return e->number > 0 ? number == e->number : same(words, e->entered);
	}
	return e->no ? begins_with(line, e->entered) : replaces(e->statement, e->entered, line);
}

/* Rules stand in the order of their numbers. */
static bool stands_behind(const struct edit *e, struct text line)
{
	struct text words;
	return e->number > 0 && number_of(line, &words) > e->number;
}

static void edit_text(struct edit *e, struct text text)
{
	struct text line;
	const bool inner = e->block.len > 0;
	bool here = !inner, dropping = false;
	while (next_line(&text, &line)) {
		if (!is_inner(line)) {
			dropping = false;
			if (inner && here)
				place(e);
			here = !inner || same(line, e->block);
		} else if (dropping) {
			continue;
		}
		if (here && inner && is_inner(line) && stands_behind(e, line))
			place(e);
		if (!here || is_inner(line) != inner || is_comment(line) || !makes_way(e, line)) {
			put_line(&e->out, "", line);
			continue;
		}
		e->found = true;
		dropping = e->no && !inner;
		place(e);
	}
	if (inner && !here && !e->placed && !e->no)
		put_line(&e->out, "", e->block);
	place(e);
}

static int enter_text(struct candidate *c, struct edit *e, struct text_error *err)
{
	e->out = (struct sink){c->draft, 0, c->text_max};
	edit_text(e, (struct text){c->text, c->len});
	if (e->no && !e->found)
		return text_fail(err, 1, e->entered, "there is no such statement%s",
		                 e->block.len > 0 ? " in this block" : "");
	if (e->out.len > e->out.size)
		return text_fail(err, 1, NOTHING, "the candidate is full: at most %u bytes without its "
		                 "routes", c->text_max);
	int error = read_text(c, (struct text){e->out.at, e->out.len}, err);
	return error != E_OK ? error : take_parsed(c, err);
}

/* --- routes --- */

static uint32_t running_count(const struct candidate *c, enum candidate_family f)
{
	return f == CANDIDATE_IP4 ? c->running->route_count : c->running->route6_count;
}

static bool is_gone(const struct candidate *c, enum candidate_family f, uint32_t i)
{
	return c->routes[f].gone[i / 8] >> i % 8 & 1;
}

static void set_gone(struct candidate *c, enum candidate_family f, uint32_t i, bool gone)
{
	struct candidate_routes *r = &c->routes[f];
	r->gone_count += gone - is_gone(c, f, i);
	r->gone[i / 8] = (uint8_t)((r->gone[i / 8] & ~(1u << i % 8)) | (unsigned)gone << i % 8);
}

/* Route number i: of those that run, and behind them those that are added. */
static void print_route(const struct candidate *c, enum candidate_family f, uint32_t i,
                        config_write_fn write, void *ctx)
{
	const uint32_t n = running_count(c, f);
	if (f == CANDIDATE_IP4)
		config_print_route(i < n ? &c->running->routes[i] : &c->added4[i - n], write, ctx);
	else
		config_print_route6(i < n ? &c->running->routes6[i] : &c->added6[i - n], write, ctx);
}

static struct text route_line(const struct candidate *c, enum candidate_family f, uint32_t i,
                              char buf[CANDIDATE_LINE_MAX])
{
	struct sink s = {buf, 0, CANDIDATE_LINE_MAX};
	print_route(c, f, i, put, &s);
	assert(s.len > 0 && s.len <= s.size);
	return (struct text){buf, s.len - 1};
}

/* What a route is looked for by. */
struct route_key {
	enum candidate_family family;
	struct text line; /* canonical: */
	bool whole;       /* all of it, or its beginning */
	struct net_addr prefix; /* of IPv4: w[0], host order, alone */
	unsigned plen;
};

static bool has_prefix(const struct candidate *c, uint32_t i, const struct route_key *k)
{
	const uint32_t n = running_count(c, k->family);
	if (k->family == CANDIDATE_IP4) {
		const struct config_route *r = i < n ? &c->running->routes[i] : &c->added4[i - n];
		return r->prefix == k->prefix.w[0] && r->plen == k->plen;
	}
	const struct config_route6 *r = i < n ? &c->running->routes6[i] : &c->added6[i - n];
	return net_addr_equal(&r->prefix, &k->prefix) && r->plen == k->plen;
}

/* The first route from number i on that the key finds; how many there are: none. Only the few with
 * its prefix are looked at as text. */
static uint32_t find_route(const struct candidate *c, const struct route_key *k, uint32_t i)
{
	char buf[CANDIDATE_LINE_MAX];
	const uint32_t n = running_count(c, k->family) + c->routes[k->family].added_count;
	for (; i < n; i++) {
		if (!has_prefix(c, i, k))
			continue;
		struct text line = route_line(c, k->family, i, buf);
		if (k->whole ? same(line, k->line) : begins_with(line, k->line))
			break;
	}
	return i;
}

static void drop_added(struct candidate *c, enum candidate_family f, uint32_t i)
{
	const uint32_t behind = --c->routes[f].added_count - i;
	if (f == CANDIDATE_IP4)
		memmove(&c->added4[i], &c->added4[i + 1], behind * sizeof *c->added4);
	else
		memmove(&c->added6[i], &c->added6[i + 1], behind * sizeof *c->added6);
}

static int remove_routes(struct candidate *c, const struct route_key *k, struct text_error *err)
{
	const uint32_t n = running_count(c, k->family);
	bool found = false;
	uint32_t i = 0;
	while ((i = find_route(c, k, i)) < n + c->routes[k->family].added_count) {
		found |= i >= n || !is_gone(c, k->family, i);
		if (i < n)
			set_gone(c, k->family, i++, true);
		else
			drop_added(c, k->family, i - n);
	}
	return found ? E_OK : text_fail(err, 1, k->line, "there is no such route");
}

/* The route is the one in c->parsed. */
static int add_route(struct candidate *c, const struct route_key *k, struct text_error *err)
{
	struct candidate_routes *r = &c->routes[k->family];
	const uint32_t n = running_count(c, k->family), i = find_route(c, k, 0);
	if (i < n)
		set_gone(c, k->family, i, false);
	if (i < n + r->added_count)
		return E_OK;
	if (r->added_count == CANDIDATE_ROUTES_MAX)
		return text_fail(err, 1, k->line, "a candidate adds at most %d routes of a family",
		                 CANDIDATE_ROUTES_MAX);
	if (k->family == CANDIDATE_IP4)
		c->added4[r->added_count++] = c->parsed->routes[0];
	else
		c->added6[r->added_count++] = c->parsed->routes6[0];
	return E_OK;
}

/* The prefix that the canonical line begins with, behind the statement's own two words. */
static int read_prefix(struct route_key *k)
{
	struct text rest = k->line, word = NOTHING;
	for (unsigned i = 0; i < 3; i++)
		if (!text_next_word(&rest, &word))
			return E_INVAL;
	return k->family == CANDIDATE_IP4 ? text_parse_prefix(word, &k->prefix.w[0], &k->plen)
	                                  : text_parse_prefix6(word, &k->prefix, &k->plen);
}

static int enter_route(struct candidate *c, struct edit *e, struct text_error *err)
{
	struct config_route route;
	struct config_route6 route6;
	const struct config_memory mem = {.routes = &route, .route_max = 1, .routes6 = &route6,
	                                  .route6_max = 1};
	char buf[CANDIDATE_LINE_MAX];
	struct sink s = {buf, 0, sizeof buf};
	struct route_key k = {.line = e->entered, .whole = !e->no};
	k.family = text_is_word(first_words(e->entered, 1), text_of("ip")) ? CANDIDATE_IP4
	                                                                   : CANDIDATE_IP6;
	int error = config_read(e->entered.at, e->entered.len, &mem, c->parsed, err);
	if (error == E_OK) { /* a whole route has a form of its own */
		if (k.family == CANDIDATE_IP4)
			config_print_route(&route, put, &s);
		else
			config_print_route6(&route6, put, &s);
		k.line = (struct text){buf, s.len - 1};
	}
	if ((error != E_OK && !e->no) || read_prefix(&k) != 0)
		return error;
	c->changes++;
	return e->no ? remove_routes(c, &k, err) : add_route(c, &k, err);
}

/* --- rules of access lists --- */

/* A block is told by its line. */
static bool opens_list(struct text block)
{
	const struct statement *s = config_statement_of(block);
	return s != NULL && (s->how & STATEMENT_LIST);
}

/* The line is a whole rule: it, in the list's block, as config_print would have it, without its
 * number. */
static int read_rule(struct candidate *c, struct text block, struct text line,
                     char words[CONFIG_ACL_RULE_TEXT], struct text_error *err)
{
	char text[2 * CANDIDATE_LINE_MAX], printed[CONFIG_ACL_RULE_TEXT];
	struct config_acl_rule rule;
	struct text rest;
	const struct config_memory mem = {.acl_rules = &rule, .acl_rule_max = 1};
	size_t n = fmt_format(text, sizeof text, "%.*s\n%.*s\n", (int)block.len, block.at,
	                      (int)line.len, line.at);
	if (n >= sizeof text)
		return text_fail(err, 1, line, "the line is too long");
	int e = config_read(text, n, &mem, c->parsed, err);
	if (e != E_OK) {
		err->line = 1; /* there is but one for who types */
		return e;
	}
	config_acl_rule_text(printed, &rule, c->parsed->acl[0].six);
	(void)number_of(text_of(printed), &rest);
	memcpy(words, rest.at, rest.len);
	words[rest.len] = 0;
	return E_OK;
}

/* Is there a rule of these words in the block? */
static bool has_rule(const struct candidate *c, struct text block, struct text words)
{
	struct text rest = {c->text, c->len}, line, other;
	bool here = false;
	while (next_line(&rest, &line)) {
		if (!is_inner(line))
			here = same(line, block);
		else if (here && number_of(line, &other) > 0 && same(other, words))
			return true;
	}
	return false;
}

/* "[N] permit ...", "no N", "no [N] permit ...", in the block of a list. */
static int enter_rule(struct candidate *c, struct edit *e, struct text line, struct text_error *err)
{
	char words[CONFIG_ACL_RULE_TEXT], numbered[CONFIG_ACL_RULE_TEXT];
	struct text behind;
	e->number = number_of(line, &behind);
	if (e->no && behind.len == 0) {
		e->entered = line;
		return enter_text(c, e, err);
	}
	int error = read_rule(c, e->block, line, words, err);
	if (error != E_OK)
		return error;
	e->entered = text_of(words);
	if (e->number == 0)
		return !e->no && has_rule(c, e->block, e->entered) ? E_OK : enter_text(c, e, err);
	fmt_format(numbered, sizeof numbered, "%u %s", e->number, words);
	e->entered = text_of(numbered);
	return enter_text(c, e, err);
}

int candidate_resequence(struct candidate *c, struct text list, uint32_t start, uint32_t step,
                         struct text_error *err)
{
	char name[CONFIG_ACL_NAME_SIZE];
	const struct text text = {c->text, c->len};
	fmt_format(name, sizeof name, "%.*s", (int)list.len, list.at);
	c->fault[0] = 0;
	int e = read_text(c, text, err);
	assert(e == E_OK); /* it was read when it was made */
	const struct config_acl *l = list.len < sizeof name ? config_acl_find(c->parsed, name) : NULL;
	if (l == NULL)
		return text_fail(err, 1, list, "there is no access list of this name");
	if (config_acl_resequence(c->parsed, l, start, step) != E_OK)
		return text_fail(err, 1, list, "the last of its %u rules would have a number above %u",
		                 l->rules, CONFIG_ACL_SEQUENCE_MAX);
	return take_parsed(c, err);
}

/* --- entering --- */

/* Does a statement of that kind stand in a block that this line opens? */
static bool fits_block(const struct statement *s, struct text block)
{
	if (s->how & STATEMENT_RULE)
		return opens_list(block);
	return !s->in_interface || (block.len > 0 && !opens_list(block));
}

int candidate_enter(struct candidate *c, struct text block, struct text line,
                    struct text_error *err)
{
	char buf[CANDIDATE_LINE_MAX];
	struct edit e = {.statement = config_statement_of(line)};
	struct text behind;
	line = trim(line);
	keep_fault(c, line);
	if (e.statement == NULL && begins_with(line, text_of("no"))) {
		e.no = true;
		line = trim((struct text){line.at + 2, line.len - 2});
		e.statement = config_statement_of(line);
		if (e.statement == NULL && opens_list(block) && number_of(line, &behind) && !behind.len)
			e.statement = config_statement_of(text_of("permit")); /* whatever rule it is */
	}
	/* config_read says what may stand there, and where */
	if (e.statement == NULL || !fits_block(e.statement, block)) {
		int error = config_read(line.at, line.len, &(struct config_memory){0}, c->parsed, err);
		return error != E_OK ? error : text_fail(err, 1, line, "expected a statement");
	}
	if (e.statement->how & STATEMENT_NOT_TYPED)
		return text_fail(err, 1, line, "this belongs into a file");
	if (e.statement->how & STATEMENT_RULE) {
		e.block = block;
		return enter_rule(c, &e, line, err);
	}
	e.entered = canonical(buf, line, e.statement);
	if (e.entered.len == 0)
		return text_fail(err, 1, line, "the line is too long");
	if (e.statement->in_interface)
		e.block = block;
	return e.statement->how & STATEMENT_ROUTE ? enter_route(c, &e, err) : enter_text(c, &e, err);
}

bool candidate_opens(struct text line, char block[CANDIDATE_LINE_MAX])
{
	const struct statement *s = config_statement_of(line);
	bool opens = s != NULL && (s->how & STATEMENT_OPENS);
	size_t n = opens ? canonical(block, trim(line), s).len : 0;
	block[n] = 0;
	return n > 0;
}

size_t candidate_text_bytes(const struct config *running)
{
	struct sink s = {NULL, 0, 0};
	config_print_statements(running, put, &s);
	return s.len;
}

int candidate_reset(struct candidate *c, const struct config *running)
{
	struct sink s = {c->running_text, 0, c->text_max};
	c->running = running;
	c->changes++;
	config_print_statements(running, put, &s);
	if (s.len > s.size)
		return E_NOMEM;
	for (enum candidate_family f = CANDIDATE_IP4; f < CANDIDATE_FAMILIES; f++) {
		struct candidate_routes *r = &c->routes[f];
		if (running_count(c, f) > r->gone_max)
			return E_NOMEM;
		memset(r->gone, 0, (running_count(c, f) + 7) / 8);
		r->gone_count = r->added_count = 0;
	}
	c->running_len = c->len = s.len;
	memcpy(c->text, c->running_text, s.len);
	return E_OK;
}

/* --- what it says --- */

bool candidate_changed(const struct candidate *c)
{
	bool routes = false;
	for (enum candidate_family f = CANDIDATE_IP4; f < CANDIDATE_FAMILIES; f++)
		routes |= c->routes[f].gone_count > 0 || c->routes[f].added_count > 0;
	return routes || !same((struct text){c->text, c->len},
	                       (struct text){c->running_text, c->running_len});
}

uint32_t candidate_route_count(const struct candidate *c, enum candidate_family f)
{
	return running_count(c, f) - c->routes[f].gone_count + c->routes[f].added_count;
}

enum print_part { PRINT_TEXT, PRINT_ROUTES, PRINT_ROUTES6, PRINT_END, PRINT_DONE };
#define ROUTES_AT_ONCE 1000 /* that are looked at */

static bool next_of_text(const struct candidate *c, struct candidate_walk *w, config_write_fn write,
                         void *ctx)
{
	struct text rest = {c->text + w->n, c->len - w->n}, line;
	if (!next_line(&rest, &line))
		return false;
	write(ctx, line.at, line.len + 1);
	w->n += (uint32_t)line.len + 1;
	return true;
}

/* The next route of a family that is there. */
static bool next_of_routes(const struct candidate *c, struct candidate_walk *w,
                           enum candidate_family f, config_write_fn write, void *ctx)
{
	const uint32_t n = running_count(c, f), all = n + c->routes[f].added_count;
	for (uint32_t looked = 0; w->n < all && looked < ROUTES_AT_ONCE; looked++) {
		const uint32_t i = w->n++;
		if (i < n && is_gone(c, f, i))
			continue;
		print_route(c, f, i, write, ctx);
		break;
	}
	return w->n < all;
}

/* Where the next part begins. */
static void next_part(struct candidate_walk *w)
{
	*w = (struct candidate_walk){.part = w->part + 1};
}

bool candidate_print_next(const struct candidate *c, struct candidate_walk *w, config_write_fn write,
                          void *ctx)
{
	bool more = false;
	if (w->part == PRINT_TEXT)
		more = next_of_text(c, w, write, ctx);
	else if (w->part < PRINT_END)
		more = next_of_routes(c, w, w->part == PRINT_ROUTES ? CANDIDATE_IP4 : CANDIDATE_IP6,
		                      write, ctx);
	else if (w->part == PRINT_END)
		write(ctx, "end\n", 4);
	if (!more)
		next_part(w);
	return w->part < PRINT_DONE;
}

void candidate_print(const struct candidate *c, config_write_fn write, void *ctx)
{
	struct candidate_walk w = {.part = PRINT_TEXT};
	while (candidate_print_next(c, &w, write, ctx))
		;
}

/* --- comparing --- */

/* The lines of the block behind the one that opens it, cut off *rest. */
static struct text body_of(struct text *rest)
{
	struct text line, all = {rest->at, 0}, behind = *rest;
	while (next_line(&behind, &line) && is_inner(line))
		*rest = behind;
	all.len = (size_t)(rest->at - all.at);
	return all;
}

/* The body of the block that `head` opens in a text; false: the text has no such line. */
static bool find_block(struct text text, struct text head, struct text *body)
{
	struct text line;
	while (next_line(&text, &line)) {
		*body = body_of(&text);
		if (same(line, head))
			return true;
	}
	return false;
}

static bool has_line(struct text text, struct text line)
{
	struct text other;
	while (next_line(&text, &other))
		if (same(other, line))
			return true;
	return false;
}

/* The same of the rules of an access list, which stand in the order of their numbers: *others
 * loses those before the line's, for there may be thousands. */
static bool has_rule_line(struct text *others, struct text line)
{
	struct text words, other, rest = *others;
	const uint32_t number = number_of(line, &words);
	while (next_line(&rest, &other)) {
		if (number_of(other, &words) >= number)
			return same(other, line);
		*others = rest;
	}
	return false;
}

enum compare_part {
	COMPARE_OLD, /* the blocks of what runs */
	COMPARE_NEW, /* those that the candidate alone has */
	COMPARE_GONE4,
	COMPARE_GONE6,
	COMPARE_ADDED4,
	COMPARE_ADDED6,
	COMPARE_DONE,
};
#define LINES_AT_ONCE 1000 /* that are looked at */

/* The next line of w->lines that w->others has not. False: there is none. */
static bool next_missing(struct candidate_walk *w, candidate_line_fn show, void *ctx)
{
	struct text line;
	for (uint32_t looked = 0; looked < LINES_AT_ONCE; looked++) {
		if (!next_line(&w->lines, &line))
			return false;
		if (w->list ? has_rule_line(&w->others, line) : has_line(w->others, line))
			continue;
		show(ctx, w->sign, line);
		break;
	}
	return true;
}

/* A block begins, of which something is to be told: both texts have it, or one. */
static void begin_block(struct candidate_walk *w, struct text head, struct text body, bool both,
                        struct text other, candidate_line_fn show, void *ctx)
{
	const char sign = w->part == COMPARE_OLD ? '-' : '+';
	show(ctx, both ? ' ' : sign, head);
	w->sign = sign;
	w->list = opens_list(head);
	w->lines = body;
	w->others = both ? other : NOTHING;
}

/* A line of the block at byte w->n of its text, or what follows that. */
static bool next_of_blocks(const struct candidate *c, struct candidate_walk *w,
                           candidate_line_fn show, void *ctx)
{
	const bool is_old = w->part == COMPARE_OLD;
	const struct text old = {c->running_text, c->running_len}, new = {c->text, c->len};
	const struct text text = is_old ? old : new;
	struct text rest = {text.at + w->n, text.len - w->n}, head, body, other;
	if (w->sign && next_missing(w, show, ctx))
		return true;
	if (!next_line(&rest, &head))
		return false;
	body = body_of(&rest);
	const bool both = !is_comment(head) && find_block(is_old ? new : old, head, &other);
	if (!w->sign && !is_comment(head) && (!both || (is_old && !same(body, other)))) {
		begin_block(w, head, body, both, other, show, ctx);
	} else if (w->sign == '-' && both) {
		w->sign = '+';
		w->lines = other;
		w->others = body;
	} else {
		w->sign = 0;
		w->n = (uint32_t)(rest.at - text.at);
	}
	return true;
}

void candidate_each_route(const struct candidate *c, char sign, candidate_route_fn fn, void *ctx)
{
	const bool added = sign == '+';
	for (enum candidate_family f = CANDIDATE_IP4; f < CANDIDATE_FAMILIES; f++) {
		const struct candidate_routes *r = &c->routes[f];
		const uint32_t n = running_count(c, f), first = added ? n : 0;
		const uint32_t end = added ? n + r->added_count : r->gone_count > 0 ? n : 0;
		for (uint32_t i = first; i < end; i++) {
			if (!added && !is_gone(c, f, i))
				continue;
			if (f == CANDIDATE_IP4)
				fn(ctx, added ? &c->added4[i - n] : &c->running->routes[i], NULL);
			else
				fn(ctx, NULL, added ? &c->added6[i - n] : &c->running->routes6[i]);
		}
	}
}

/* The next route of a family that is to go, or is added. */
static bool next_of_changes(const struct candidate *c, struct candidate_walk *w,
                            candidate_line_fn show, void *ctx)
{
	const bool added = w->part >= COMPARE_ADDED4;
	const bool six = w->part == COMPARE_GONE6 || w->part == COMPARE_ADDED6;
	const enum candidate_family f = six ? CANDIDATE_IP6 : CANDIDATE_IP4;
	const struct candidate_routes *r = &c->routes[f];
	const uint32_t n = running_count(c, f);
	const uint32_t all = added ? r->added_count : r->gone_count > 0 ? n : 0;
	char buf[CANDIDATE_LINE_MAX];
	for (uint32_t looked = 0; w->n < all && looked < ROUTES_AT_ONCE; looked++) {
		const uint32_t i = w->n++;
		if (!added && !is_gone(c, f, i))
			continue;
		show(ctx, added ? '+' : '-', route_line(c, f, added ? n + i : i, buf));
		break;
	}
	return w->n < all;
}

bool candidate_compare_next(const struct candidate *c, struct candidate_walk *w,
                            candidate_line_fn show, void *ctx)
{
	const bool more = w->part < COMPARE_GONE4 ? next_of_blocks(c, w, show, ctx)
	                                          : next_of_changes(c, w, show, ctx);
	if (!more)
		next_part(w);
	return w->part < COMPARE_DONE;
}

void candidate_compare_routes(const struct candidate *c, candidate_line_fn show, void *ctx)
{
	struct candidate_walk w = {.part = COMPARE_GONE4};
	while (candidate_compare_next(c, &w, show, ctx))
		;
}

void candidate_compare(const struct candidate *c, candidate_line_fn show, void *ctx)
{
	struct candidate_walk w = {.part = COMPARE_OLD};
	while (candidate_compare_next(c, &w, show, ctx))
		;
}

/* --- the whole --- */

static void build_routes(const struct candidate *c, struct config *out, uint32_t line)
{
	for (uint32_t i = 0; i < c->running->route_count; i++)
		if (!is_gone(c, CANDIDATE_IP4, i))
			out->routes[out->route_count++] = c->running->routes[i];
	for (uint32_t i = 0; i < c->routes[CANDIDATE_IP4].added_count; i++)
		out->routes[out->route_count++] = c->added4[i];
	for (uint32_t i = 0; i < c->running->route6_count; i++)
		if (!is_gone(c, CANDIDATE_IP6, i))
			out->routes6[out->route6_count++] = c->running->routes6[i];
	for (uint32_t i = 0; i < c->routes[CANDIDATE_IP6].added_count; i++)
		out->routes6[out->route6_count++] = c->added6[i];
	for (uint32_t i = 0; i < out->route_count; i++)
		out->routes[i].line = ++line;
	for (uint32_t i = 0; i < out->route6_count; i++) {
		struct config_route6 *r = &out->routes6[i];
		r->line = ++line;
		if (!ip6_is_link_local(&r->next_hop)) /* as config_print has it: where it lies now */
			r->port = CONFIG_PORT_ANY;
	}
}

/* The line that config_finish complains of. */
static void find_built_fault(struct candidate *c, const struct config *out, uint32_t number)
{
	const struct text text = {c->text, c->len};
	char buf[CANDIDATE_LINE_MAX];
	struct sink s = {buf, 0, sizeof buf};
	for (uint32_t i = 0; i < out->route_count; i++)
		if (out->routes[i].line == number)
			config_print_route(&out->routes[i], put, &s);
	for (uint32_t i = 0; i < out->route6_count; i++)
		if (out->routes6[i].line == number)
			config_print_route6(&out->routes6[i], put, &s);
	if (s.len > 0)
		keep_fault(c, (struct text){buf, s.len - 1});
	else
		find_fault(c, text, number);
}

int candidate_build(struct candidate *c, const struct config_memory *mem, struct config *out,
                    struct text_error *err)
{
	const struct text text = {c->text, c->len};
	int e = config_read(text.at, text.len, mem, out, err);
	assert(e == E_OK); /* it was read when it was made */
	assert(candidate_route_count(c, CANDIDATE_IP4) <= mem->route_max &&
	       candidate_route_count(c, CANDIDATE_IP6) <= mem->route6_max);
	out->script = c->running->script;
	build_routes(c, out, count_lines(text));
	e = config_finish(out, mem, err);
	if (e != E_OK)
		find_built_fault(c, out, err->line);
	return e;
}
