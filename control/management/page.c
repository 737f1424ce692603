/* See page.h. */
#include "control/management/page.h"

#include "control/text/text.h"
#include "lib/assert.h"
#include "lib/fmt.h"
#include "lib/mem.h"

bool page_fill(const struct page *page, struct page_walk *w, struct page_text *t)
{
	while (page->parts[w->part]) {
		struct page_walk before = *w;
		size_t used = t->out.used;
		bool there = page->parts[w->part](w, t);
		if (t->broken)
			return false;
		if (t->out.full || t->later) {
			assert(used > 0 || t->later); /* an item fits into an empty text */
			*w = before;
			t->out.used = used;
			t->out.full = false;
			return true;
		}
		w->item++;
		if (!there) {
			w->part++;
			w->item = 0;
			memset(&w->cursor, 0, sizeof w->cursor);
		}
	}
	return false;
}

void page_print(struct page_text *t, const char *format, ...)
{
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vput(&t->out, format, args);
	__builtin_va_end(args);
}

void page_json(struct page_text *t, const char *s)
{
	char escape[FMT_JSON_MAX];
	page_print(t, "\"");
	for (; *s; s++)
		page_print(t, "%s", text_is_printable(*s) ? fmt_json(escape, *s) : "?");
	page_print(t, "\"");
}

unsigned page_refuse(struct page_write *w, unsigned status, const char *why)
{
	page_print(&w->reply, "{\"error\":");
	page_json(&w->reply, why);
	page_print(&w->reply, "}\n");
	return status;
}

uint32_t page_number(const char *query, const char *name, uint32_t fallback)
{
	struct text rest = text_of(query);
	size_t n = strlen(name);
	while (rest.len) {
		struct text pair = {rest.at, text_find(rest, '&')};
		size_t skip = pair.len < rest.len ? pair.len + 1 : pair.len;
		uint32_t value;
		if (pair.len > n && memcmp(pair.at, name, n) == 0 && pair.at[n] == '=' &&
		    text_parse_u32((struct text){pair.at + n + 1, pair.len - n - 1}, 0, UINT32_MAX,
		                   &value) == E_OK)
			return value;
		rest = (struct text){rest.at + skip, rest.len - skip};
	}
	return fallback;
}
