/* The text of a candidate; see candidate.h. */
#include "control/config/candidate_inside.h"

#include "control/config/config_parse.h"
#include "lib/assert.h"
#include "lib/fmt.h"

static const struct text nothing = {"", 0};

/* --- lines and words --- */

static void sink_line(struct sink *s, const char *before, struct text line)
{
	sink_put(s, before, strlen(before));
	sink_put(s, line.at, line.len);
	sink_put(s, "\n", 1);
}

static bool ends_in(struct text line, const char *last)
{
	return text_is_word(text_last_word(line), text_of(last));
}

uint32_t candidate_number_of(struct text line, struct text *behind)
{
	uint32_t n;
	struct text word;
	line = text_trim(line);
	*behind = line;
	if (!text_next_word(&line, &word) ||
	    text_parse_u32(word, 1, CONFIG_ACL_SEQUENCE_MAX, &n) != 0)
		return 0;
	*behind = text_trim(line);
	return n;
}

/* --- canonical form: that of config_print --- */

/* Writes an argument of a statement in its canonical form: addresses and interfaces have one. Cuts
 * a mask that follows an address off *rest. */
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

/* The same for a host, which may be a DNS name: in lower case, without a dot at its end. */
static size_t canonical_host(char *buf, size_t size, struct text word, struct text *rest)
{
	if (text_find(word, ':') < word.len)
		return canonical_word(buf, size, word, rest);

	size_t n = fmt_format(buf, size, " %.*s", (int)word.len, word.at);
	for (size_t i = 0; i < n && i < size; i++)
		buf[i] = text_lower(buf[i]);
	return n < size && buf[n - 1] == '.' ? n - 1 : n;
}

/* The line as config_print would write it, as far as comparisons of statements need it. Empty: the
 * line is too long. */
static struct text canonical(char buf[CANDIDATE_LINE_MAX], struct text line,
                             const struct statement *s)
{
	struct text rest = line, word;
	size_t n = fmt_format(buf, CANDIDATE_LINE_MAX, "%s", s->words);
	for (unsigned i = text_count_words(text_of(s->words)); i > 0; i--)
		text_next_word(&rest, &word);
	if (s->how & STATEMENT_ONCE) { /* a text or a number */
		rest = text_trim(rest);
		if (rest.len > 0)
			n += fmt_format(buf + n, CANDIDATE_LINE_MAX - n, " %.*s", (int)rest.len, rest.at);
	} else if (s->how & STATEMENT_NAMED) {
		if ((s->how & STATEMENT_LIST) && text_count_words(rest) > 1 &&
		    text_is_word(text_first_words(text_trim(rest), 1), text_of("extended")))
			text_next_word(&rest, &word);
		while (n < CANDIDATE_LINE_MAX && text_next_word(&rest, &word))
			n += fmt_format(buf + n, CANDIDATE_LINE_MAX - n, " %.*s", (int)word.len, word.at);
	} else {
		while (n < CANDIDATE_LINE_MAX && text_next_word(&rest, &word))
			n += (s->how & STATEMENT_HOST ? canonical_host : canonical_word)(
				buf + n, CANDIDATE_LINE_MAX - n, word, &rest);
	}
	return (struct text){buf, n < CANDIDATE_LINE_MAX ? n : 0};
}

/* True if statement `entered`, of kind s, replaces this line. Both are canonical. */
static bool replaces(const struct statement *s, struct text entered, struct text line)
{
	const unsigned own = text_count_words(text_of(s->words));
	if (!text_begins_with(line, text_of(s->words)) || config_statement_of(line) != s)
		return false;
	if (text_equal(line, entered) || (s->how & STATEMENT_ONCE))
		return true;
	if (s->how & STATEMENT_USER)
		return ends_in(text_first_words(entered, own + 2), "role") &&
		       text_begins_with(line, text_first_words(entered, own + 2));
	if (s->how & (STATEMENT_BY_1 | STATEMENT_BY_2))
		return text_begins_with(line, text_first_words(entered, s->how & STATEMENT_BY_2 ? own + 2
		                                                                                : own + 1));
	if (s->how & STATEMENT_UNLESS_LAST)
		return !ends_in(entered, "secondary") && !ends_in(line, "secondary");
	if (s->how & STATEMENT_BY_LAST)
		return text_is_word(text_last_word(entered), text_last_word(line));
	if (s->how & STATEMENT_IF_LAST)
		return ends_in(entered, "link-local") && ends_in(line, "link-local");
	return false;
}

/* --- errors --- */

static void keep_fault(struct candidate *c, struct text line)
{
	line = text_trim(line);
	size_t n = line.len < sizeof c->fault ? line.len : sizeof c->fault - 1;
	memcpy(c->fault, line.at, n);
	c->fault[n] = 0;
}

/* Sets c->fault to line `number` of the text. */
static void find_fault(struct candidate *c, struct text text, uint32_t number)
{
	struct text line = nothing;
	while (number-- > 0)
		if (!text_next_line(&text, &line))
			line = nothing;
	keep_fault(c, line);
}

void candidate_fault(struct candidate *c, uint32_t line)
{
	find_fault(c, (struct text){c->text, c->len}, line);
}

/* --- the text --- */

/* Parses a text that may become the candidate's into c->parsed. The text has no routes. */
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

/* Prints c->parsed, which read_text has filled, as the candidate's new text. */
static int take_parsed(struct candidate *c, struct text_error *err)
{
	struct sink s = {c->draft, 0, c->text_max};
	config_print_statements(c->parsed, sink_put, &s);
	if (s.len > s.size)
		return text_fail(err, 1, nothing, "the candidate would have %llu bytes without its "
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

void candidate_take(struct candidate *c, const struct config *next)
{
	struct text_error err;
	candidate_take_routes(c, next);
	*c->parsed = *next;
	int e = take_parsed(c, &err);
	assert(e == E_OK);
}

/* The change of the candidate's text by one statement. */
struct edit {
	const struct statement *statement;
	struct text block;   /* line that opens the block; empty: outside blocks */
	struct text entered; /* canonical; a rule with its number, if one was given */
	uint32_t number;     /* of a rule; 0: the rule is identified by its words */
	bool no;             /* removes all lines that begin with `entered` */
	bool found;          /* a line was replaced or removed */
	bool placed;         /* `entered` is in `out`, unless `no` */
	struct sink out;
};

static void place(struct edit *e)
{
	if (!e->placed && !e->no)
		sink_line(&e->out, e->block.len > 0 ? " " : "", e->entered);
	e->placed = true;
}

/* True if the edit replaces or removes this line of its block. */
static bool makes_way(const struct edit *e, struct text line)
{
	line = text_trim(line);
	if (e->statement->how & STATEMENT_RULE) {
		struct text words;
		uint32_t number = candidate_number_of(line, &words);
		return e->number > 0 ? number == e->number : text_equal(words, e->entered);
	}
	return e->no ? text_begins_with(line, e->entered) : replaces(e->statement, e->entered, line);
}

/* True if the edit's rule comes before this line: rules are in the order of their numbers. */
static bool stands_behind(const struct edit *e, struct text line)
{
	struct text words;
	return e->number > 0 && candidate_number_of(line, &words) > e->number;
}

static void edit_text(struct edit *e, struct text text)
{
	struct text line;
	const bool inner = e->block.len > 0;
	bool here = !inner, dropping = false;
	while (text_next_line(&text, &line)) {
		if (!candidate_is_inner(line)) {
			dropping = false;
			if (inner && here)
				place(e);
			here = !inner || text_equal(line, e->block);
		} else if (dropping) {
			continue;
		}
		if (here && inner && candidate_is_inner(line) && stands_behind(e, line))
			place(e);
		if (!here || candidate_is_inner(line) != inner || candidate_is_comment(line) ||
		    !makes_way(e, line)) {
			sink_line(&e->out, "", line);
			continue;
		}
		e->found = true;
		dropping = e->no && !inner;
		place(e);
	}
	if (inner && !here && !e->placed && !e->no)
		sink_line(&e->out, "", e->block);
	place(e);
}

static int enter_text(struct candidate *c, struct edit *e, struct text_error *err)
{
	e->out = (struct sink){c->draft, 0, c->text_max};
	edit_text(e, (struct text){c->text, c->len});
	if (e->no && !e->found) {
		(void)text_fail(err, 1, e->entered, "there is no such statement%s",
		                e->block.len > 0 ? " in this block" : "");
		return E_NOENT;
	}
	if (e->out.len > e->out.size)
		return text_fail(err, 1, nothing, "the candidate is full: at most %u bytes without its "
		                 "routes", c->text_max);
	int error = read_text(c, (struct text){e->out.at, e->out.len}, err);
	return error != E_OK ? error : take_parsed(c, err);
}

/* --- rules of access lists --- */

bool candidate_opens_list(struct text block)
{
	const struct statement *s = config_statement_of(block);
	return s != NULL && (s->how & STATEMENT_LIST);
}

/* Parses the line as a whole rule of the list that `block` opens. Writes it to `words` in canonical
 * form, without its number. */
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
		err->line = 1; /* the user entered one line */
		return e;
	}
	config_acl_rule_text(printed, &rule, c->parsed->acl[0].kind);
	(void)candidate_number_of(text_of(printed), &rest);
	memcpy(words, rest.at, rest.len);
	words[rest.len] = 0;
	return E_OK;
}

/* True if the block has a rule of these words. */
static bool has_rule(const struct candidate *c, struct text block, struct text words)
{
	struct text rest = {c->text, c->len}, line, other;
	bool here = false;
	while (text_next_line(&rest, &line)) {
		if (!candidate_is_inner(line))
			here = text_equal(line, block);
		else if (here && candidate_number_of(line, &other) > 0 && text_equal(other, words))
			return true;
	}
	return false;
}

/* Enters "[N] permit ...", "no N" or "no [N] permit ..." in the block of a list. */
static int enter_rule(struct candidate *c, struct edit *e, struct text line, struct text_error *err)
{
	char words[CONFIG_ACL_RULE_TEXT], numbered[CONFIG_ACL_RULE_TEXT];
	struct text behind;
	e->number = candidate_number_of(line, &behind);
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
	assert(e == E_OK); /* every text of a candidate has been parsed before */
	const struct config_acl *l = list.len < sizeof name ? config_acl_find(c->parsed, name) : NULL;
	if (l == NULL)
		return text_fail(err, 1, list, "there is no access list of this name");
	if (config_acl_resequence(c->parsed, l, start, step) != E_OK)
		return text_fail(err, 1, list, "the last of its %u rules would have a number above %u",
		                 l->rules, CONFIG_ACL_SEQUENCE_MAX);
	return take_parsed(c, err);
}

/* --- entering --- */

/* True if a statement of that kind may stand in the block that this line opens. */
static bool fits_block(const struct statement *s, struct text block)
{
	if (s->how & STATEMENT_RULE)
		return candidate_opens_list(block);
	return !s->in_interface || (block.len > 0 && !candidate_opens_list(block));
}

int candidate_enter(struct candidate *c, struct text block, struct text line,
                    struct text_error *err)
{
	char buf[CANDIDATE_LINE_MAX];
	struct edit e = {.statement = config_statement_of(line)};
	struct text behind;
	line = text_trim(line);
	keep_fault(c, line);
	if (e.statement == NULL && text_begins_with(line, text_of("no"))) {
		e.no = true;
		line = text_trim((struct text){line.at + 2, line.len - 2});
		e.statement = config_statement_of(line);
		if (e.statement == NULL && candidate_opens_list(block) &&
		    candidate_number_of(line, &behind) && behind.len == 0)
			e.statement = config_statement_of(text_of("permit")); /* any rule */
	}
	/* config_read reports what is allowed here */
	if (e.statement == NULL || !fits_block(e.statement, block)) {
		int error = config_read(line.at, line.len, &(struct config_memory){0}, c->parsed, err);
		return error != E_OK ? error : text_fail(err, 1, line, "expected a statement");
	}
	if (e.statement->how & STATEMENT_NOT_TYPED)
		return text_fail(err, 1, line, "this statement is allowed only in a file");
	if (e.statement->how & STATEMENT_RULE) {
		e.block = block;
		return enter_rule(c, &e, line, err);
	}
	e.entered = canonical(buf, line, e.statement);
	if (e.entered.len == 0)
		return text_fail(err, 1, line, "the line is too long");
	if (e.statement->in_interface)
		e.block = block;
	return e.statement->how & STATEMENT_ROUTE ? candidate_enter_route(c, e.entered, e.no, err)
	                                          : enter_text(c, &e, err);
}

int candidate_enter_change(struct candidate *c, struct text line, struct text_error *err)
{
	char statement[CANDIDATE_LINE_MAX + 4];
	if (line.len < 2)
		return text_fail(err, 1, line, "expected a route");
	fmt_format(statement, sizeof statement, "%s%.*s", line.at[0] == '-' ? "no " : "",
	           (int)line.len - 1, line.at + 1);
	return candidate_enter(c, nothing, text_of(statement), err);
}

bool candidate_opens(struct text line, char block[CANDIDATE_LINE_MAX])
{
	const struct statement *s = config_statement_of(line);
	bool opens = s != NULL && (s->how & STATEMENT_OPENS);
	size_t n = opens ? canonical(block, text_trim(line), s).len : 0;
	block[n] = 0;
	return n > 0;
}

void candidate_follow(struct text line, char block[CANDIDATE_LINE_MAX])
{
	char opened[CANDIDATE_LINE_MAX];
	const struct statement *s = config_statement_of(line);
	line = text_trim(line);
	const bool removes = s == NULL && text_begins_with(line, text_of("no"));
	if (removes)
		s = config_statement_of((struct text){line.at + 2, line.len - 2});
	if (!removes && candidate_opens(line, opened))
		memcpy(block, opened, strlen(opened) + 1);
	else if (s && !s->in_interface && !(s->how & STATEMENT_RULE))
		block[0] = 0;
}

size_t candidate_text_bytes(const struct config *running)
{
	struct sink s = {NULL, 0, 0};
	config_print_statements(running, sink_put, &s);
	return s.len;
}

int candidate_reset(struct candidate *c, const struct config *running)
{
	struct sink s = {c->running_text, 0, c->text_max};
	c->running = running;
	c->changes++;
	config_print_statements(running, sink_put, &s);
	if (s.len > s.size)
		return E_NOMEM;
	int e = candidate_reset_routes(c);
	if (e != E_OK)
		return e;
	c->running_len = c->len = s.len;
	memcpy(c->text, c->running_text, s.len);
	return E_OK;
}

/* --- the whole --- */

bool candidate_changed(const struct candidate *c)
{
	bool routes = false;
	for (enum candidate_family f = CANDIDATE_IP4; f < CANDIDATE_FAMILIES; f++)
		routes |= c->routes[f].gone_count > 0 || c->routes[f].added_count > 0;
	return routes || !text_equal((struct text){c->text, c->len},
	                       (struct text){c->running_text, c->running_len});
}

/* Sets c->fault to the line `number`, in which config_finish has found an error. */
static void find_built_fault(struct candidate *c, const struct config *out, uint32_t number)
{
	const struct text text = {c->text, c->len};
	char buf[CANDIDATE_LINE_MAX];
	struct sink s = {buf, 0, sizeof buf};
	for (uint32_t i = 0; i < out->route_count; i++)
		if (out->routes[i].line == number)
			config_print_route(&out->routes[i], sink_put, &s);
	for (uint32_t i = 0; i < out->route6_count; i++)
		if (out->routes6[i].line == number)
			config_print_route6(&out->routes6[i], sink_put, &s);
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
	assert(e == E_OK); /* every text of a candidate has been parsed before */
	assert(candidate_route_count(c, CANDIDATE_IP4) <= mem->route_max &&
	       candidate_route_count(c, CANDIDATE_IP6) <= mem->route6_max);
	out->script = c->running->script;
	candidate_build_routes(c, out, text_count_lines(text));
	e = config_finish(out, mem, err);
	if (e != E_OK)
		find_built_fault(c, out, err->line);
	return e;
}
