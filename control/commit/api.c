/*
 * The configuration over HTTP (docs/http.md): /api/v1/config and what lies below it.
 *
 * A change takes several turns of the control core, because other work must go on. http.c calls api_write again
 * until it returns a status. One client at a time changes something (http.h), so there is one struct change; consoles
 * are locked out meanwhile (commit_lock):
 *
 *     BEGIN   --the request is right, the hash is known and matches--> ENTER
 *     ENTER   --PUT: the whole text is parsed; PATCH: some lines a turn; POST: an earlier one--> CHECK
 *     CHECK   --differs--> HASH      --no difference--> (200)
 *     HASH    --dry run--> (200, its content is the difference; the lock ends behind it)
 *             --commit_apply--> (200)
 *     any     --an error, the client goes (api_stop)--> the lock ends, the candidate is the running configuration
 *
 * The content is converted and parsed in the memory that received it, which grows with the longest request up to
 * CONTENT_MAX and is never given back.
 */
#include "control/commit/api.h"

#include "control/commit/commit.h"
#include "control/commit/record.h"
#include "control/commit/startup.h"
#include "control/config/config_hash.h"
#include "control/config/config_parse.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/management/page.h"
#include "control/management/users.h"
#include "control/storage/storage.h"
#include "control/text/json_statements.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/http/text.h"
#include "runtime/runtime.h"

#define CONTENT_MAX (64u << 20) /* more than a million routes */
#define CONTENT_LEAST (64u << 10)
#define SLICE_NS 500000ull    /* of PATCH, in a turn */
#define CONFIRM_MAX_S 86400
#define ROLLBACK_MOST 99
#define ERRORS_ROOM 3000      /* bytes of the reply for an error and what follows it */
#define TEXT "text/plain; charset=utf-8"
#define JSON "application/json"
#define FIELDS "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nVary: Accept, Authorization\r\n"

typedef unsigned long long ull;

enum step { STEP_BEGIN, STEP_ENTER, STEP_CHECK, STEP_HASH };

static struct change {
	enum step step;
	bool dry;
	uint32_t confirm_s;
	uint32_t back;     /* POST rollback: how many commits */
	char comment[HISTORY_COMMENT_SIZE];
	struct text text;  /* the content as text */
	struct text rest;  /* PATCH: lines to enter */
	uint32_t line;     /* PATCH: lines entered */
	char block[CANDIDATE_LINE_MAX]; /* PATCH: line of the current block */
	enum commit_effect effect;
	struct config_hasher hasher;
} change;

static uint8_t *content;
static uint32_t content_max;

/* --- media types --- */

/* True if the value of Content-Type or an element of Accept names this type; *rest are its parameters. */
static bool is_type(struct http_text t, const char *type, struct http_text *rest)
{
	size_t n = 0;
	while (n < t.n && t.at[n] != ';' && t.at[n] != ' ' && t.at[n] != '\t')
		n++;
	*rest = (struct http_text){t.at + n, t.n - n};
	return http_text_is((struct http_text){t.at, n}, type);
}

/* True if the weight among these parameters is 0 (RFC 9110 12.4.2), whatever its decimals. */
static bool is_refused(struct http_text t)
{
	size_t i = 1; /* t begins with a blank or a semicolon, as does each parameter */
	while (i + 1 < t.n && !(text_lower(t.at[i]) == 'q' && t.at[i + 1] == '=' &&
	                        (t.at[i - 1] == ';' || t.at[i - 1] == ' ' || t.at[i - 1] == '\t')))
		i++;
	if (i + 2 >= t.n)
		return false;
	for (i += 2; i < t.n && (t.at[i] == '0' || t.at[i] == '.'); i++)
		;
	return i == t.n || !http_is_digit(t.at[i]);
}

struct accepted {
	bool text, json, json_named;
};

/* What is known of a type. */
struct wanted {
	unsigned by; /* the most specific range with it: 1 of all types, 2 of its kind, 3 itself; 0: none */
	bool ok;
};

static void take_range(struct wanted *t, struct http_text e, const char *type, const char *kind)
{
	struct http_text rest;
	const unsigned by = is_type(e, type, &rest)    ? 3
	                    : is_type(e, kind, &rest)  ? 2
	                    : is_type(e, "*/*", &rest) ? 1
	                                               : 0;
	if (by && by >= t->by)
		*t = (struct wanted){by, !is_refused(rest)};
}

/* What Accept allows (RFC 9110 12.5.1: the most specific range counts). JSON is sent to clients that
 * name it, and do not name text. */
static struct accepted read_accept(const char *accept)
{
	struct http_text list = http_text_of(accept), e;
	struct wanted text = {0, !list.n}, json = {0, !list.n};
	while (http_text_element(&list, &e)) {
		take_range(&text, e, "text/plain", "text/*");
		take_range(&json, e, JSON, "application/*");
	}
	return (struct accepted){text.ok, json.ok, json.ok && json.by == 3 && !(text.ok && text.by == 3)};
}

/* --- GET: the text --- */

static void write_text(void *ctx, const char *text, size_t len)
{
	struct page_text *t = ctx;
	fmt_put_bytes(&t->out, text, len);
}

static bool part_text(struct page_walk *w, struct page_text *t)
{
	if (w->item == 0)
		w->cursor.config.number = running.number;
	t->broken = w->cursor.config.number != running.number;
	return !t->broken && config_print_next(&running.config, &w->cursor.config.at,
	                                       w->role >= ROLE_CONFIGURE ? write_text : page_write_public, t);
}

static const page_part parts_text[] = {part_text, NULL};

/* --- GET: JSON --- */

/* Between two items. Several lines of one config_print_next are several items. */
struct json_at {
	struct config_cursor at;
	uint32_t number; /* running.number at the beginning */
	uint32_t line;   /* lines of the next call that have been written */
	bool any;        /* a statement has been written in the list */
	bool in_block, any_in_block;
};
_Static_assert(sizeof(struct json_at) <= sizeof((struct page_walk){0}.cursor.own), "page_walk keeps it");

struct lines {
	char text[CONFIG_PRINT_NEXT_MAX];
	size_t len;
};

static void add_lines(void *ctx, const char *text, size_t len)
{
	struct lines *l = ctx;
	assert(len <= sizeof l->text - l->len);
	memcpy(l->text + l->len, text, len);
	l->len += len;
}

static void put_string(struct page_text *t, struct text s)
{
	char buf[CANDIDATE_LINE_MAX + 1];
	fmt_format(buf, sizeof buf, "%.*s", (int)s.len, s.at);
	page_json(t, buf);
}

/* Writes a line as a statement, or begins or ends a block. A comment is nothing. */
static void put_statement(struct page_text *t, struct json_at *j, struct text line, enum role role)
{
	const bool inner = line.len && line.at[0] == ' ';
	struct text public;
	if (line.len == 0 || line.at[0] == '!')
		return;
	if (!inner && j->in_block) {
		page_print(t, "]}");
		j->in_block = false;
	}
	if (text_is_word(line, text_of("end")))
		return;
	const struct statement *s = config_statement_of(line);
	bool *any = inner ? &j->any_in_block : &j->any;
	page_print(t, "%s%s", *any ? "," : "", inner ? "" : "\n");
	*any = true;
	if (role < ROLE_CONFIGURE && config_hides(line, &public)) {
		page_print(t, "{\"hidden\":");
		put_string(t, public);
		page_print(t, "}");
	} else if (s && (s->how & STATEMENT_OPENS)) {
		page_print(t, "{\"block\":");
		put_string(t, line);
		page_print(t, ",\"statements\":[");
		j->in_block = true;
		j->any_in_block = false;
	} else {
		put_string(t, text_trim(line));
	}
}

static void put_json_head(struct page_text *t)
{
	uint64_t hash;
	/* config_head has waited for it, unless a commit came since; that breaks the answer */
	(void)config_hash_now(&hash);
	page_print(t, "{\"hash\":\"%016llx\",\"script\":", (ull)hash);
	if (running.config.script.line)
		page_json(t, running.config.script.name);
	else
		page_print(t, "null");
	page_print(t, ",\"statements\":[");
}

static bool part_json(struct page_walk *w, struct page_text *t)
{
	struct json_at j;
	struct lines lines = {.len = 0};
	memcpy(&j, w->cursor.own, sizeof j);
	if (w->item == 0) {
		j.number = running.number;
		put_json_head(t);
	}
	t->broken = j.number != running.number;
	if (t->broken)
		return false;
	struct config_cursor next = j.at;
	const bool ends = j.at.part >= CONFIG_PART_SCRIPT ||
	                  !config_print_next(&running.config, &next, add_lines, &lines) ||
	                  next.part >= CONFIG_PART_SCRIPT;
	struct text rest = {lines.text, lines.len}, line = {lines.text, 0};
	bool there = false;
	for (uint32_t i = 0; i <= j.line; i++)
		there = text_next_line(&rest, &line);
	if (there)
		put_statement(t, &j, line, w->role);
	j.line++;
	const bool more = rest.len > 0;
	if (!more) {
		j.at = next;
		j.line = 0;
	}
	if (ends && !more)
		page_print(t, "%s\n]}\n", j.in_block ? "]}" : "");
	memcpy(w->cursor.own, &j, sizeof j);
	return !ends || more;
}

static const page_part parts_json[] = {part_json, NULL};

/* The field ETag. The same for both forms: it is the hash of the configuration that they state. */
static bool config_head(char fields[PAGE_FIELDS_MAX])
{
	uint64_t hash;
	if (!config_hash_now(&hash))
		return false;
	fmt_format(fields, PAGE_FIELDS_MAX, "ETag: \"%016llx\"\r\n", (ull)hash);
	return true;
}

static const struct page page_text_form = {
	.path = "/api/v1/config", .type = TEXT, .fields = FIELDS, .parts = parts_text, .head = config_head};
static const struct page page_json_form = {
	.path = "/api/v1/config", .type = JSON, .fields = FIELDS, .parts = parts_json, .head = config_head};

/* Finds `name=` in a query; false: it is not there. */
static bool find_parameter(const char *query, const char *name, struct text *value)
{
	struct text rest = text_of(query);
	const size_t n = strlen(name);
	while (rest.len) {
		const struct text pair = {rest.at, text_find(rest, '&')};
		const size_t skip = pair.len < rest.len ? pair.len + 1 : pair.len;
		if (pair.len > n && memcmp(pair.at, name, n) == 0 && pair.at[n] == '=') {
			*value = (struct text){pair.at + n + 1, pair.len - n - 1};
			return true;
		}
		rest = (struct text){rest.at + skip, rest.len - skip};
	}
	return false;
}

static const struct page *choose_form(const struct http_request *r)
{
	struct text format;
	const struct accepted a = read_accept(r->field[HTTP_ACCEPT]);
	if (find_parameter(r->query, "format", &format))
		return text_is_word(format, text_of("json"))   ? &page_json_form
		       : text_is_word(format, text_of("text")) ? &page_text_form
		                                               : NULL;
	if (a.json_named || (a.json && !a.text))
		return &page_json_form;
	return a.text ? &page_text_form : NULL;
}

/* --- answers to changes --- */

static void put_error(struct page_text *t, const char *reason, const char *word, uint32_t line, struct text text)
{
	page_print(t, "{\"line\":");
	if (line)
		page_print(t, "%u", line);
	else
		page_print(t, "null");
	page_print(t, ",\"reason\":");
	page_json(t, reason);
	page_print(t, ",\"word\":");
	page_json(t, word);
	page_print(t, ",\"text\":");
	put_string(t, text_trim(text));
	page_print(t, "}");
}

/* 422 with one wrong line. */
static unsigned refuse_line(struct page_write *w, const struct text_error *e, uint32_t line, struct text text)
{
	page_print(&w->reply, "{\"error\":");
	page_json(&w->reply, e->reason);
	page_print(&w->reply, ",\"errors\":[");
	put_error(&w->reply, e->reason, e->word, line, text);
	page_print(&w->reply, "]}\n");
	return 422;
}

/* Line `number` of the content. */
static struct text line_at(uint32_t number)
{
	struct text rest = change.text, line = text_of("");
	while (number-- > 0)
		if (!text_next_line(&rest, &line))
			return text_of("");
	if (line.len && line.at[line.len - 1] == '\r')
		line.len--;
	return line;
}

/* 422 with all lines that are wrong in themselves, as far as there is room. */
static unsigned refuse_lines(struct page_write *w, const struct config_wrong *wrong)
{
	uint32_t i = 0;
	page_print(&w->reply, "{\"error\":\"%u lines are wrong\",\"errors\":[", wrong->count);
	for (; i < wrong->count && i < CONFIG_WRONG_MAX && w->reply.out.used + ERRORS_ROOM < PAGE_REPLY_MAX; i++) {
		page_print(&w->reply, "%s\n", i ? "," : "");
		put_error(&w->reply, wrong->row[i].reason, wrong->row[i].word, wrong->row[i].line,
		          line_at(wrong->row[i].line));
	}
	page_print(&w->reply, "],\"more\":%u}\n", wrong->count - i);
	return 422;
}

/* The field ETag of the answer, and "hash". */
static void put_hash(struct page_write *w, uint64_t hash)
{
	fmt_format(w->fields, sizeof w->fields, "ETag: \"%016llx\"\r\n", (ull)hash);
	page_print(&w->reply, "\"hash\":\"%016llx\"", (ull)hash);
}

static unsigned answer_unchanged(struct page_write *w)
{
	uint64_t hash;
	(void)config_hash_now(&hash); /* STEP_BEGIN has waited for it, and nothing has changed since */
	page_print(&w->reply, "{\"changed\":false,");
	put_hash(w, hash);
	page_print(&w->reply, "}\n");
	return 200;
}

/* --- a dry run: the difference as a list of lines --- */

struct diff_at {
	struct candidate_walk walk;
	bool any, done;
};
_Static_assert(sizeof(struct diff_at) <= sizeof((struct page_walk){0}.cursor.own), "page_walk keeps it");

struct diff_out {
	struct page_text *t;
	struct diff_at *at;
	bool restarts; /* only lines that restart the ports */
};

static void put_difference(void *ctx, char sign, struct text line)
{
	char buf[CANDIDATE_LINE_MAX + 2];
	struct diff_out *o = ctx;
	if (o->restarts && !commit_line_restarts(sign, line))
		return;
	fmt_format(buf, sizeof buf, "%c%.*s", sign, (int)line.len, line.at);
	page_print(o->t, "%s\n", o->at->any ? "," : "");
	page_json(o->t, buf);
	o->at->any = true;
}

static bool part_difference(struct page_walk *w, struct page_text *t, bool restarts)
{
	struct diff_at at;
	struct diff_out out = {t, &at, restarts};
	memcpy(&at, w->cursor.own, sizeof at);
	const bool more = candidate_compare_next(commit_locked(), &at.walk, put_difference, &out);
	memcpy(w->cursor.own, &at, sizeof at);
	return more;
}

static bool part_diff_head(struct page_walk *w, struct page_text *t)
{
	if (w->item)
		return false;
	page_print(t, "{\"changed\":true,\"effect\":\"%s\",\"diff\":[",
	           change.effect == COMMIT_RESTART ? "restart" : "live");
	return true;
}

static bool part_diff(struct page_walk *w, struct page_text *t)
{
	return part_difference(w, t, false);
}

static bool part_diff_middle(struct page_walk *w, struct page_text *t)
{
	if (w->item)
		return false;
	page_print(t, "],\"restarts\":[");
	return true;
}

static bool part_restarts(struct page_walk *w, struct page_text *t)
{
	return part_difference(w, t, true);
}

static bool part_diff_end(struct page_walk *w, struct page_text *t)
{
	if (w->item)
		return false;
	page_print(t, "]}\n");
	return true;
}

static const page_part parts_diff[] = {part_diff_head, part_diff, part_diff_middle, part_restarts, part_diff_end, NULL};

/* --- the request --- */

/* Decodes a value of the query (percent-encoding and '+', as forms send it) to printable text; false: it is none, or
 * too long. */
static bool decode(char *buf, size_t size, struct text t)
{
	size_t n = 0;
	for (size_t i = 0; i < t.len; i++) {
		int c = t.at[i] == '+' ? ' ' : t.at[i];
		if (c == '%') {
			const int high = i + 2 < t.len ? hex_digit(t.at[i + 1]) : -1;
			const int low = i + 2 < t.len ? hex_digit(t.at[i + 2]) : -1;
			c = high < 0 || low < 0 ? -1 : high << 4 | low;
			i += 2;
		}
		if (c < 0 || c > 0x7f || !text_is_printable((char)c) || n + 1 >= size)
			return false;
		buf[n++] = (char)c;
	}
	buf[n] = 0;
	return true;
}

static const char *read_parameter(struct text name, struct text value, bool rollback)
{
	uint32_t n;
	if (text_equal(name, text_of("dry-run"))) {
		if (text_parse_u32(value, 0, 1, &n) != E_OK)
			return "dry-run is 0 or 1";
		change.dry = n;
	} else if (text_equal(name, text_of("confirm"))) {
		if (text_parse_u32(value, 1, CONFIRM_MAX_S, &change.confirm_s) != E_OK)
			return "confirm is a number of seconds, 1 to 86400";
	} else if (text_equal(name, text_of("comment"))) {
		if (!decode(change.comment, sizeof change.comment, value))
			return "comment is up to 79 printable ASCII characters, percent-encoded";
	} else if (rollback && text_equal(name, text_of("n"))) {
		if (text_parse_u32(value, 1, ROLLBACK_MOST, &change.back) != E_OK)
			return "n is a number of commits, 1 to 99";
	} else {
		return "expected the parameters dry-run, confirm, comment, and n of a rollback";
	}
	return NULL;
}

/* NULL, or what is wrong. An unknown parameter is refused, because a misspelt dry run would be none. */
static const char *read_query(const char *query, bool rollback)
{
	struct text rest = text_of(query);
	const char *why = NULL;
	change.back = rollback;
	while (rest.len && !why) {
		const struct text pair = {rest.at, text_find(rest, '&')};
		const size_t skip = pair.len < rest.len ? pair.len + 1 : pair.len, equals = text_find(pair, '=');
		const size_t value = equals < pair.len ? equals + 1 : pair.len;
		why = read_parameter((struct text){pair.at, equals}, (struct text){pair.at + value, pair.len - value},
		                     rollback);
		rest = (struct text){rest.at + skip, rest.len - skip};
	}
	return why;
}

/* RFC 9110 13.1.1: true if the list has this entity-tag, or is "*". */
static bool matches(const char *field, uint64_t hash)
{
	char tag[20];
	struct http_text list = http_text_of(field), e;
	fmt_format(tag, sizeof tag, "\"%016llx\"", (ull)hash);
	while (http_text_element(&list, &e))
		if (http_text_is(e, "*") || (e.n == strlen(tag) && memcmp(e.at, tag, e.n) == 0))
			return true;
	return false;
}

/* The type of the content: 200, or an error, whose reply has been written. */
static unsigned read_type(struct page_write *w, bool *json)
{
	const struct http_text type = http_text_of(w->request->field[HTTP_CONTENT_TYPE]);
	struct http_text rest;
	*json = type.n && is_type(type, JSON, &rest);
	if (!type.n || *json || is_type(type, "text/plain", &rest))
		return 200;
	fmt_format(w->fields, sizeof w->fields,
	           "Accept: text/plain, application/json\r\nAccept-Patch: text/plain, application/json\r\n");
	return page_refuse(w, 415, "the content is text/plain or application/json");
}

/* Makes change.text of the content; 200 or an error, whose reply has been written. */
static unsigned read_content(struct page_write *w, bool json)
{
	const char *why;
	size_t where;
	change.text = (struct text){(const char *)w->content, w->bytes};
	if (!json)
		return 200;
	const int64_t n = json_statements((char *)w->content, w->bytes, &why, &where);
	if (n < 0) {
		page_print(&w->reply, "{\"error\":");
		page_json(&w->reply, why);
		page_print(&w->reply, ",\"offset\":%llu}\n", (ull)where);
		return 400;
	}
	change.text.len = (size_t)n;
	return 200;
}

/* 200: the candidate is locked; 0: the hash is not known yet; else an error. The condition comes
 * behind what the head of the request is refused for (RFC 9110 13.2.1). */
static unsigned begin(struct page_write *w, bool rollback)
{
	uint64_t hash;
	bool json = false;
	const struct http_request *r = w->request;
	const char *why, *match = r->field[HTTP_IF_MATCH];
	change = (struct change){.step = STEP_BEGIN};
	why = read_query(w->query, rollback);
	if (!w->user[0])
		return page_refuse(w, 403, "the configuration states no users: state one with the role configure");
	if (why)
		return page_refuse(w, 400, why);
	if (r->method == HTTP_PUT && !match[0])
		return page_refuse(w, 428,
		                   "a PUT replaces the whole configuration: send If-Match with the ETag of what it was "
		                           "made from, or with * for whatever runs");
	if (!rollback && w->bytes == 0)
		return page_refuse(w, 400, "there is no content");
	if (!rollback && read_type(w, &json) != 200)
		return 415;
	if (!config_hash_now(&hash))
		return 0;
	if (match[0] && !matches(match, hash)) {
		page_print(&w->reply, "{\"error\":\"the configuration is another one\",");
		put_hash(w, hash);
		page_print(&w->reply, "}\n");
		return 412;
	}
	const unsigned status = rollback ? 200 : read_content(w, json);
	if (status == 200 && !commit_lock(&why)) {
		fmt_format(w->fields, sizeof w->fields, "Retry-After: 1\r\n");
		return page_refuse(w, 409, why);
	}
	return status;
}

/* --- entering --- */

static unsigned enter_whole(struct page_write *w)
{
	static struct config_wrong wrong;
	struct text_error err;
	if (commit_replace(change.text, &wrong, &err) == E_OK)
		return 200;
	return wrong.count ? refuse_lines(w, &wrong) : refuse_line(w, &err, err.line, line_at(err.line));
}

/* A line of a PATCH: a statement, `no` with the beginning of statements, or the end of a block. */
static int enter_line(struct candidate *c, struct text line, struct text_error *err)
{
	if (text_is_word(line, text_of("exit")) || text_is_word(line, text_of("end"))) {
		change.block[0] = 0;
		return E_OK;
	}
	const int e = candidate_enter(c, text_of(change.block), line, err);
	if (e != E_OK && e != E_NOENT)
		return e;
	candidate_follow(line, change.block);
	return E_OK; /* what is to be removed may be gone already: a script may run twice */
}

/* Some lines; 0: there are more. */
static unsigned enter_some(struct page_write *w)
{
	struct candidate *c = commit_locked();
	const uint64_t end = clock_tsc() + clock_ticks(&self.clock, SLICE_NS);
	struct text_error err;
	struct text line;
	if (change.line == 0) {
		const struct config_lines n = config_count_lines(change.text.at, change.text.len);
		change.rest = change.text;
		if (!commit_room(n.ip, n.ipv6, n.rules))
			return page_refuse(w, 503, "there is not enough memory to change the configuration");
	}
	while (text_next_line(&change.rest, &line)) {
		change.line++;
		line = text_trim(line);
		if (line.len && line.at[line.len - 1] == '\r')
			line = text_trim((struct text){line.at, line.len - 1});
		if (line.len && line.at[0] != '!' && line.at[0] != '#' && enter_line(c, line, &err) != E_OK)
			return refuse_line(w, &err, change.line, line);
		if (clock_tsc() > end && change.rest.len)
			return 0;
	}
	return 200;
}

static unsigned enter_earlier(struct page_write *w)
{
	static struct config_wrong wrong;
	struct text_error err;
	struct record r;
	const int e = commit_rollback(change.back);
	/* from before the start, on the disk */
	if (e == E_NOENT && commit_record_find(change.back, &r) && r.config.len)
		return commit_replace(r.config, &wrong, &err) == E_OK
		               ? 200
		               : refuse_line(w, &err, err.line, text_of(""));
	if (e == E_NOENT)
		return page_refuse(w, 422, "there is no configuration so many commits ago");
	return e == E_OK ? 200 : page_refuse(w, 422, "the changes since then are more than a candidate holds");
}

/* --- the outcome --- */

static unsigned check(struct page_write *w)
{
	struct text_error err;
	change.effect = commit_check(&err);
	if (change.effect == COMMIT_REFUSED)
		return refuse_line(w, &err, 0, text_of(commit_locked()->fault));
	if (change.effect == COMMIT_NOTHING)
		return answer_unchanged(w);
	config_hash_begin(&change.hasher);
	change.step = STEP_HASH;
	return 0;
}

static unsigned apply(struct page_write *w, uint64_t hash)
{
	char who[USERS_WHO_SIZE], by[HISTORY_BY_SIZE];
	fmt_format(by, sizeof by, "%s", users_who(who, w->user, w->from));
	commit_comment(change.comment);
	if (!commit_apply(change.effect, by, change.confirm_s * SECOND_NS))
		return page_refuse(w, 409, "too much changes to be rolled back: commit it without confirm");
	page_print(&w->reply, "{\"changed\":true,\"effect\":\"%s\",",
	           change.effect == COMMIT_RESTART ? "restart" : "live");
	if (change.confirm_s)
		page_print(&w->reply, "\"confirm_within_s\":%u,", change.confirm_s);
	put_hash(w, hash);
	page_print(&w->reply, "}\n");
	return 200;
}

/* Does the next part of the change; 0: there is more to do. */
static unsigned go_on(struct page_write *w, bool rollback)
{
	unsigned status;
	uint64_t hash;
	switch (change.step) {
	case STEP_BEGIN:
		status = begin(w, rollback);
		break;
	case STEP_ENTER:
		status = rollback ? enter_earlier(w) : w->request->method == HTTP_PUT ? enter_whole(w) : enter_some(w);
		break;
	case STEP_CHECK:
		return check(w);
	default:
		if (!config_hash_step(&change.hasher, commit_next(), &hash))
			return 0;
		if (!change.dry)
			return apply(w, hash);
		w->parts = parts_diff;
		return 200;
	}
	if (status == 200)
		change.step++;
	return status == 200 ? 0 : status;
}

static void api_stop(void)
{
	commit_unlock();
	change.step = STEP_BEGIN;
}

static unsigned api_write(struct page_write *w)
{
	if (!w->again)
		change.step = STEP_BEGIN;
	return go_on(w, false);
}

static unsigned api_rollback(struct page_write *w)
{
	if (!w->again)
		change.step = STEP_BEGIN;
	return go_on(w, true);
}

static unsigned api_confirm(struct page_write *w)
{
	char who[USERS_WHO_SIZE];
	const bool waits = commit_unconfirmed_s() > 0;
	if (!w->user[0])
		return page_refuse(w, 403, "the configuration states no users: state one with the role configure");
	if (waits)
		commit_confirm(users_who(who, w->user, w->from));
	page_print(&w->reply, "{\"changed\":%s}\n", waits ? "true" : "false");
	return 200;
}

/* DELETE of the candidate: discards the changes of consoles. */
static unsigned api_discard(struct page_write *w)
{
	const char *why;
	struct candidate *c = commit_candidate(&why);
	if (!w->user[0])
		return page_refuse(w, 403, "the configuration states no users: state one with the role configure");
	if (!c)
		return page_refuse(w, 409, why);
	const bool changed = candidate_changed(c);
	(void)commit_rollback(0);
	page_print(&w->reply, "{\"changed\":%s}\n", changed ? "true" : "false");
	return 200;
}

/* --- the startup configuration --- */

static struct {
	bool under_way; /* storage_put has not called `saved` yet, perhaps for a client that has gone */
	int error;
} saving;

static void saved(void *arg, int error)
{
	(void)arg;
	saving.under_way = false;
	saving.error = error;
}

static unsigned answer_saved(struct page_write *w)
{
	struct storage_status s;
	char who[USERS_WHO_SIZE];
	storage_status(&s);
	if (saving.error != E_OK)
		return page_refuse(w, 503, saving.error == E_NOMEM ? "it is longer than the store has room for"
		                           : s.why                ? s.why
		                                                  : "the disk could not be written");
	log_event(LOG_NOTICE, "CONFIG-STARTUP",
	          "configuration: the startup configuration is written by %s, generation %llu",
	          users_who(who, w->user, w->from), (ull)s.generation);
	page_print(&w->reply, "{\"written\":true,\"generation\":%llu}\n", (ull)s.generation);
	return 200;
}

/* POST of save: as `write memory`. */
static unsigned api_save(struct page_write *w)
{
	if (w->again)
		return saving.under_way ? 0 : answer_saved(w);
	if (!w->user[0])
		return page_refuse(w, 403, "the configuration states no users: state one with the role configure");
	if (commit_unconfirmed_s())
		return page_refuse(w, 409, "the last commit waits to be confirmed");
	if (!storage_present())
		return page_refuse(w, 503, "there is no store");
	if (saving.under_way)
		return page_refuse(w, 503, "the startup configuration is being written already");
	saving.under_way = true;
	saving.error = startup_write(saved, NULL);
	if (saving.error == E_OK)
		return 0;
	saving.under_way = false;
	return answer_saved(w);
}

static uint8_t *api_take(struct page_write *w, unsigned *status)
{
	*status = w->bytes > CONTENT_MAX ? 413 : 503;
	if (w->bytes > CONTENT_MAX)
		return NULL;
	if (w->bytes > content_max) {
		const uint32_t bytes = u32_max(CONTENT_LEAST, u32_min(CONTENT_MAX, w->bytes + w->bytes / 4));
		uint8_t *at = core_private_alloc(bytes);
		if (!at)
			return NULL;
		content = at;
		content_max = bytes;
	}
	return content;
}

/* --- history --- */

static bool part_history(struct page_walk *w, struct page_text *t)
{
	const struct history_version *v = commit_version(w->item + 1);
	if (w->item == 0)
		page_print(t, "{\"unconfirmed_s\":%llu,\"history\":[", (ull)commit_unconfirmed_s());
	if (!v) {
		page_print(t, "]}\n");
		return false;
	}
	page_print(t, "%s\n{\"n\":%u,\"age_s\":%llu,\"replaced_by\":", page_comma(w), w->item + 1,
	           (ull)((core_now_ns() - v->until_ns) / SECOND_NS));
	page_json(t, v->by);
	page_print(t, ",\"comment\":");
	page_json(t, v->comment);
	page_print(t, "}");
	return true;
}

static const page_part parts_history[] = {part_history, NULL};

/* --- pages --- */

#define BIT(method) (1u << (method))

static const struct page pages[] = {
	{.path = "/api/v1/config", .type = JSON, .fields = FIELDS, .choose = choose_form,
	 .methods = BIT(HTTP_PUT) | BIT(HTTP_PATCH), .write = api_write, .take = api_take, .stop = api_stop,
	 .bulk = true},
	{.path = "/api/v1/config/rollback", .type = JSON, .fields = FIELDS, .methods = BIT(HTTP_POST),
	 .write = api_rollback, .stop = api_stop},
	{.path = "/api/v1/config/confirm", .type = JSON, .fields = FIELDS, .methods = BIT(HTTP_POST),
	 .write = api_confirm},
	{.path = "/api/v1/config/save", .type = JSON, .fields = FIELDS, .methods = BIT(HTTP_POST), .write = api_save},
	{.path = "/api/v1/config/candidate", .type = JSON, .fields = FIELDS, .methods = BIT(HTTP_DELETE),
	 .write = api_discard},
	{.path = "/api/v1/config/history", .type = JSON, .fields = FIELDS, .parts = parts_history},
};

void api_pages_add(void)
{
	page_add(pages, ARRAY_LEN(pages));
}
