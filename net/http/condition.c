/* Conditional requests; see condition.h. */
#include "net/http/condition.h"

#include "net/http/date.h"
#include "net/http/text.h"

/* etagc, RFC 9110 8.8.3 */
static bool is_tag_char(char c)
{
	return c == '!' || ((uint8_t)c >= 0x23 && (uint8_t)c != 0x7f);
}

/* Takes an entity-tag off the front. `tag` is with its quotes, without "W/". */
static bool take_tag(struct http_text *t, struct http_text *tag, bool *weak)
{
	size_t n = 1;
	*weak = t->n >= 2 && t->at[0] == 'W' && t->at[1] == '/'; /* case counts, 8.8.3 */
	if (*weak)
		http_text_skip(t, 2);
	while (n < t->n && is_tag_char(t->at[n]))
		n++;
	if (n >= t->n || t->at[0] != '"' || t->at[n] != '"')
		return false;
	*tag = (struct http_text){t->at, n + 1};
	http_text_skip(t, n + 1);
	return true;
}

/* The comparisons of 8.8.3.2. Ours is strong. */
static bool is_ours(const struct http_validators *v, struct http_text tag, bool weak, bool strongly)
{
	return v->etag && !(weak && strongly) && text_is(tag.at, tag.n, v->etag);
}

/* Is our tag in the list of an If-Match or If-None-Match? "*" is any representation (13.1.1, 13.1.2). A tag
 * may have commas in it. */
static bool has_tag(const char *field, const struct http_validators *v, bool strongly)
{
	struct http_text list = http_text_of(field), tag;
	bool weak;
	if (text_is(list.at, list.n, "*"))
		return true;
	for (;;) {
		while (list.n && (http_is_blank(list.at[0]) || list.at[0] == ','))
			http_text_skip(&list, 1);
		if (list.n == 0 || !take_tag(&list, &tag, &weak))
			return false;
		http_text_trim(&list);
		if (list.n && list.at[0] != ',')
			return false;
		if (is_ours(v, tag, weak, strongly))
			return true;
	}
}

/* 13.1.4; false only if the condition is. Without a date on either side it MUST be ignored. */
static bool is_unmodified_since(const char *field, const struct http_validators *v, int64_t now)
{
	int64_t date;
	return v->modified == HTTP_TIME_UNKNOWN || !http_date_read(field, now, &date) || v->modified <= date;
}

/* 13.1.3, likewise. */
static bool is_modified_since(const char *field, const struct http_validators *v, int64_t now)
{
	int64_t date;
	return v->modified == HTTP_TIME_UNKNOWN || !http_date_read(field, now, &date) || v->modified > date;
}

/* 13.1.5: a tag by strong comparison, or the date itself. A tag has a quote among its first three bytes. */
static bool is_same(const char *field, const struct http_validators *v, int64_t now)
{
	struct http_text t = http_text_of(field), tag;
	bool weak;
	int64_t date;
	if (take_tag(&t, &tag, &weak))
		return t.n == 0 && is_ours(v, tag, weak, true);
	return v->modified != HTTP_TIME_UNKNOWN && http_date_read(field, now, &date) && v->modified == date;
}

/* The steps of 13.2.2. */
struct http_verdict http_condition(const struct http_request *r, const struct http_validators *v, int64_t now)
{
	const char *const *field = r->field;
	/* 1, 2 */
	if (field[HTTP_IF_MATCH][0]) {
		if (!has_tag(field[HTTP_IF_MATCH], v, true))
			return (struct http_verdict){.status = 412};
	} else if (field[HTTP_IF_UNMODIFIED_SINCE][0]) {
		if (!is_unmodified_since(field[HTTP_IF_UNMODIFIED_SINCE], v, now))
			return (struct http_verdict){.status = 412};
	}
	/* 3, 4 */
	if (field[HTTP_IF_NONE_MATCH][0]) {
		if (has_tag(field[HTTP_IF_NONE_MATCH], v, false))
			return (struct http_verdict){.status = 304};
	} else if (field[HTTP_IF_MODIFIED_SINCE][0]) {
		if (!is_modified_since(field[HTTP_IF_MODIFIED_SINCE], v, now))
			return (struct http_verdict){.status = 304};
	}
	/* 5, 6; Range is for GET only (14.2) */
	const bool ranges = r->method == HTTP_GET && field[HTTP_RANGE][0] &&
	                    (!field[HTTP_IF_RANGE][0] || is_same(field[HTTP_IF_RANGE], v, now));
	return (struct http_verdict){.status = 200, .ranges = ranges};
}
