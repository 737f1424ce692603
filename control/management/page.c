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

/* --- rows of kept pages --- */

/* Before a row of a kept page is made: where its text begins. */
static size_t row_begins(const struct page_text *t)
{
	return t->out.used;
}

/* Behind it. */
static void row_ends(struct page_text *t, size_t at, uint64_t label, uint64_t value, uint32_t digits)
{
	struct page_kept *k = t->kept;
	if (!k)
		return;
	t->broken |= t->row == PAGE_KEPT_ROWS;
	if (!t->broken)
		k->row[t->row++] = (struct page_row){label, value, (uint32_t)(t->out.used - at), digits};
}

/* The row that is compared next. NULL: the text has no more of them, or it has another label. */
static struct page_row *row_of(struct page_text *t, uint64_t label)
{
	struct page_row *r = &t->kept->row[t->row];
	if (t->broken || t->row == t->kept->rows || r->label != label) {
		t->broken = true;
		return NULL;
	}
	t->row++;
	return r;
}

/* The last `was` bytes of the row, but for `behind` bytes, become the n bytes at `text`. */
static void row_patch(struct page_text *t, struct page_row *r, const char *text, uint32_t n, uint32_t was,
                      uint32_t behind)
{
	struct page_kept *k = t->kept;
	char *at = t->out.at + t->out.used + r->len - behind - was;
	if (n != was) {
		if (k->len - was + n >= PAGE_KEPT_BYTES) {
			t->broken = true;
			return;
		}
		memmove(at + n, at + was, (size_t)(t->out.at + k->len - at) - was);
		k->len += n - was;
		r->len += n - was;
	}
	memcpy(at, text, n);
}

static void print_over(struct page_text *t, const char *format, fmt_va_list args)
{
	char text[PAGE_ITEM_MAX];
	struct page_row *r = row_of(t, 0);
	const size_t n = fmt_vformat(text, sizeof text, format, args);
	t->broken |= n >= sizeof text;
	if (t->broken)
		return;
	row_patch(t, r, text, (uint32_t)n, r->len, 0);
	t->out.used += r->len;
}

void page_print(struct page_text *t, const char *format, ...)
{
	fmt_va_list args;
	__builtin_va_start(args, format);
	if (t->patching) {
		print_over(t, format, args);
	} else {
		const size_t at = row_begins(t);
		fmt_vput(&t->out, format, args);
		row_ends(t, at, 0, 0, 0);
	}
	__builtin_va_end(args);
}

static uint64_t mix(uint64_t hash, uint64_t v)
{
	hash = (hash ^ v) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/* Seven bytes at once, and the number of the last ones, so that two strings are not one. */
static uint64_t mix_text(uint64_t hash, const char *s)
{
	uint64_t some = 0;
	unsigned n = 0;
	for (; *s; s++) {
		some = some << 8 | (uint8_t)*s;
		if (++n % 7 == 0) {
			hash = mix(hash, some << 8 | 7);
			some = 0;
		}
	}
	return mix(hash, some << 8 | n % 7);
}

/* A hash of the name, of the labels' format and of its arguments; never 0. */
static uint64_t label_of(const char *name, const char *labels, fmt_va_list args)
{
	uint64_t hash = mix(mix(1, (uintptr_t)name), (uintptr_t)labels);
	for (const char *f = labels; *f; f++) {
		unsigned longs = 0;
		if (*f != '%')
			continue;
		for (f++; *f == 'l'; f++)
			longs++;
		assert(*f == 'u' || (*f == 's' && longs == 0));
		if (*f == 's')
			hash = mix_text(hash, __builtin_va_arg(args, const char *));
		else
			hash = mix(hash, longs ? __builtin_va_arg(args, unsigned long long)
			                       : __builtin_va_arg(args, unsigned));
	}
	return hash | 1;
}

#define DIGITS_MAX 20

/* Writes the value into the end of the array; returns how many digits it has. */
static uint32_t put_digits(char digits[DIGITS_MAX], uint64_t value)
{
	uint32_t n = 0;
	do {
		digits[DIGITS_MAX - ++n] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return n;
}

/* The next row has this label; its value becomes `value`. */
static void value_over(struct page_text *t, uint64_t label, uint64_t value)
{
	char digits[DIGITS_MAX];
	struct page_row *r = row_of(t, label);
	if (!r)
		return;
	if (r->value != value) {
		const uint32_t n = put_digits(digits, value);
		row_patch(t, r, digits + DIGITS_MAX - n, n, r->digits, 1);
		if (t->broken)
			return;
		r->value = value;
		r->digits = n;
	}
	t->out.used += r->len;
}

/* Ends a new row, which began at `at`, with the value. */
static void put_value(struct page_text *t, size_t at, uint64_t label, uint64_t value)
{
	char digits[DIGITS_MAX];
	const uint32_t n = put_digits(digits, value);
	fmt_put_bytes(&t->out, " ", 1);
	fmt_put_bytes(&t->out, digits + DIGITS_MAX - n, n);
	fmt_put_bytes(&t->out, "\n", 1);
	row_ends(t, at, label, value, n);
}

void page_value(struct page_text *t, const char *name, uint64_t value)
{
	const uint64_t label = mix(2, (uintptr_t)name) | 1;
	const size_t at = row_begins(t);
	if (t->patching) {
		value_over(t, label, value);
		return;
	}
	fmt_put(&t->out, "%s", name);
	put_value(t, at, label, value);
}

void page_sample(struct page_text *t, const char *name, uint64_t value, const char *labels, ...)
{
	fmt_va_list args;
	uint64_t label = 0;
	const size_t at = row_begins(t);
	if (t->kept) {
		__builtin_va_start(args, labels);
		label = label_of(name, labels, args);
		__builtin_va_end(args);
	}
	if (t->patching) {
		value_over(t, label, value);
		return;
	}
	fmt_put(&t->out, "%s{", name);
	__builtin_va_start(args, labels);
	fmt_vput(&t->out, labels, args);
	__builtin_va_end(args);
	fmt_put_bytes(&t->out, "}", 1);
	put_value(t, at, label, value);
}

void page_family(struct page_text *t, const char *name, const char *help, const char *type)
{
	const uint64_t label = mix(mix(3, (uintptr_t)name), (uintptr_t)help) | 1;
	const size_t at = row_begins(t);
	if (t->patching) {
		const struct page_row *r = row_of(t, label);
		t->out.used += r ? r->len : 0;
		return;
	}
	fmt_put(&t->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
	row_ends(t, at, label, 0, 0);
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
