/* See history.h. In history.bytes a version is its text, then the changes of routes that restore it
 * from the next version. */
#include "control/config/history.h"

#include "lib/assert.h"
#include "lib/fmt.h"

static void forget_oldest(struct history *h)
{
	const size_t n = h->version[0].text_len + h->version[0].routes_len;
	memmove(h->bytes, h->bytes + n, h->len - n);
	h->len -= n;
	h->count--;
	memmove(&h->version[0], &h->version[1], h->count * sizeof h->version[0]);
	for (unsigned i = 0; i < h->count; i++)
		h->version[i].at -= n;
}

bool history_keep(struct history *h, const struct candidate *c, uint64_t now_ns, const char *by)
{
	struct candidate_changes w = {.back = true};
	candidate_compare_routes(c, candidate_write_change, &w);
	const size_t bytes = c->running_len + w.len;
	while (h->count > 0 &&
	       (h->count == HISTORY_VERSIONS || h->len + bytes > HISTORY_BYTES))
		forget_oldest(h);
	if (bytes > HISTORY_BYTES)
		return false;
	struct history_version *v = &h->version[h->count++];
	*v = (struct history_version){.at = h->len, .text_len = c->running_len,
	                              .routes_len = w.len, .until_ns = now_ns};
	fmt_format(v->by, sizeof v->by, "%s", by);
	memcpy(h->bytes + h->len, c->running_text, c->running_len);
	w = (struct candidate_changes){.at = h->bytes + h->len + c->running_len, .back = true};
	candidate_compare_routes(c, candidate_write_change, &w);
	h->len += bytes;
	return true;
}

void history_comment(struct history *h, const char *comment)
{
	struct history_version *v = &h->version[h->count - 1];
	fmt_format(v->comment, sizeof v->comment, "%s", comment);
}

const struct history_version *history_version(const struct history *h, unsigned n)
{
	return n >= 1 && n <= h->count ? &h->version[h->count - n] : NULL;
}

/* Changes the candidate's routes from the version after v to those of v. */
static int back(const struct history *h, const struct history_version *v, struct candidate *c)
{
	struct text_error err;
	struct text rest = {h->bytes + v->at + v->text_len, v->routes_len}, line;
	int e = E_OK;
	while (e == E_OK && text_next_line(&rest, &line))
		e = candidate_enter_change(c, line, &err);
	return e;
}

int history_restore(const struct history *h, unsigned n, struct candidate *c)
{
	const struct history_version *v = history_version(h, n);
	struct text_error err;
	if (n > 0 && v == NULL)
		return E_NOENT;
	int e = candidate_reset(c, c->running);
	for (unsigned i = 1; e == E_OK && i <= n; i++)
		e = back(h, history_version(h, i), c);
	if (e == E_OK && n > 0)
		e = candidate_set_text(c, (struct text){h->bytes + v->at, v->text_len}, &err);
	/* an error, such as more routes than a candidate may add, leaves the running one */
	if (e != E_OK && n > 0)
		(void)candidate_reset(c, c->running);
	return e;
}
