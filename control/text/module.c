/* See module.h. */
#include "control/text/module.h"

static const char word[] = "file ";

static bool begins_file(struct text t)
{
	return t.len >= sizeof word - 1 && memcmp(t.at, word, sizeof word - 1) == 0;
}

static struct text from(struct text t, size_t at)
{
	at = at < t.len ? at : t.len;
	return (struct text){t.at + at, t.len - at};
}

/* Cuts the next file off *rest; `line` is the line number for errors. */
static int next_file(struct text *rest, struct text *name, struct text *data,
                     struct text_error *err, uint32_t line)
{
	struct text head = {rest->at, text_find(*rest, '\n')}, bytes;
	struct text words = from(head, sizeof word - 1);
	struct text behind = from(*rest, head.len + 1);
	uint32_t n;
	if (!begins_file(head) || !text_next_word(&words, name) || !text_next_word(&words, &bytes) ||
	    words.len != 0 || name->len > MODULE_NAME_MAX || text_parse_u32(bytes, 0, UINT32_MAX, &n) != 0)
		return text_fail(err, line, (struct text){head.at, head.len < 40 ? head.len : 40},
		                 "expected \"file NAME BYTES\", NAME of up to %d characters",
		                 MODULE_NAME_MAX);
	if (n > behind.len)
		return text_fail(err, line, *name, "the file has %u bytes by this line; %llu follow", n,
		                 (unsigned long long)behind.len);
	*data = (struct text){behind.at, n};
	*rest = from(behind, n);
	return E_OK;
}

int module_open(struct module *m, struct text whole, struct text_error *err)
{
	struct text rest = whole, name, data, before;
	uint32_t line = 1;
	while (rest.len > 0 && !begins_file(rest)) {
		text_next_line(&rest, &before);
		line++;
	}
	*m = (struct module){.text = {whole.at, whole.len - rest.len}};
	const struct text files = rest;
	while (rest.len > 0)
		if (next_file(&rest, &name, &data, err, line) != E_OK)
			return E_INVAL;
	m->files = files;
	return E_OK;
}

bool module_file(const struct module *m, struct text name, struct text *data)
{
	struct text_error none;
	struct text rest = m->files, other;
	while (rest.len > 0 && next_file(&rest, &other, data, &none, 0) == E_OK)
		if (text_equal(other, name))
			return true;
	return false;
}

bool module_next(const struct module *m, size_t *at, struct text *name, struct text *data)
{
	struct text_error none;
	struct text rest = from(m->files, *at);
	if (rest.len == 0 || next_file(&rest, name, data, &none, 0) != E_OK)
		return false;
	*at = m->files.len - rest.len;
	return true;
}
