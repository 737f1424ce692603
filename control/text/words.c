/* See words.h. */
#include "control/text/words.h"

int words_cut(struct words *w, const char *line)
{
	w->n = 0;
	for (size_t i = text_printable(w->body); i < w->body.len; i++) {
		char c = w->body.at[i];
		if (!text_is_printable(c) && c != '\t')
			return text_fail(w->err, w->line, (struct text){w->body.at + i, 1},
			                 "byte 0x%02x in column %u is not plain ASCII text; only "
			                 "comments may hold such bytes", (unsigned)(uint8_t)c,
			                 (unsigned)(w->body.at + i - line) + 1);
	}
	struct text rest = w->body;
	unsigned n = 0;
	while (n < WORDS_MAX && text_next_word(&rest, &w->word[n]))
		n++;
	w->n = n;
	return 0;
}

int words_expect(const struct words *w, unsigned i)
{
	if (i < w->n)
		return 0;
	return WORDS_FAIL(w, i, "the line ends too early; expected \"%s\"", w->syntax);
}

int words_end(const struct words *w, unsigned i)
{
	if (i >= w->n)
		return 0;
	return WORDS_FAIL(w, i, "unexpected word; expected \"%s\"", w->syntax);
}

int words_choice(const struct words *w, unsigned i, const char *yes, const char *no, const char *why, bool *is_yes)
{
	int error = words_expect(w, i);
	if (error != 0)
		return error;
	if (!words_is(w, i, yes) && !words_is(w, i, no))
		return WORDS_FAIL(w, i, "%s", why);
	*is_yes = words_is(w, i, yes);
	return words_end(w, i + 1);
}

int words_number(const struct words *w, unsigned i, const char *what, uint64_t min, uint64_t max,
                 uint64_t *out)
{
	int error = words_expect(w, i);
	if (error != 0)
		return error;
	if (text_parse_u64(w->word[i], min, max, out) != 0)
		return WORDS_FAIL(w, i, "%s must be a decimal number from %llu to %llu", what,
		                  (unsigned long long)min, (unsigned long long)max);
	return 0;
}

int words_u32(const struct words *w, unsigned i, const char *what, uint32_t min, uint32_t max,
              uint32_t *out)
{
	uint64_t value;
	int error = words_number(w, i, what, min, max, &value);
	if (error == 0)
		*out = (uint32_t)value;
	return error;
}
