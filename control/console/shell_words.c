/* See shell_words.h. */
#include "control/console/shell_words.h"

#include "lib/assert.h"

unsigned shell_split(struct text text, struct text words[SHELL_WORDS_MAX])
{
	struct text word;
	unsigned n = 0;
	while (text_next_word(&text, &word)) {
		if (n == SHELL_WORDS_MAX)
			return n + 1;
		words[n++] = word;
	}
	return n;
}

/* True if c begins with the keywords of m. *next is the keyword after them, empty if c has none. */
static bool next_keyword(const struct shell_command *c, const struct shell_match *m,
                         struct text *next)
{
	struct text rest = text_of(c->words);
	for (unsigned i = 0; i < m->depth; i++) {
		if (!text_next_word(&rest, next) || !text_is_word(*next, m->keyword[i]))
			return false;
	}
	text_next_word(&rest, next);
	return true;
}

/* The command, or the help-only row, whose keywords are exactly those of m. */
static const struct shell_command *command_at(const struct shell *sh, const struct shell_match *m,
                                              bool runnable)
{
	struct text next;
	for (unsigned i = 0; i < sh->command_count; i++) {
		const struct shell_command *c = &sh->commands[i];
		if (next_keyword(c, m, &next) && next.len == 0 && (c->run != NULL || !runnable))
			return c;
	}
	return NULL;
}

static bool is_number_keyword(struct text keyword)
{
	return keyword.len == 1 && keyword.at[0] == '#';
}

/* True if the keyword can begin with `partial`. */
static bool may_be(struct text partial, struct text keyword)
{
	if (!is_number_keyword(keyword))
		return text_begins_word(partial, keyword);
	size_t i = 0;
	while (i < partial.len && partial.at[i] >= '0' && partial.at[i] <= '9')
		i++;
	return i == partial.len;
}

/* Finds the next keyword that may follow those of m and begins with `partial`, from row *i of the
 * table on. Skips keywords that an earlier row has. *i moves past the row found. */
static bool next_candidate(const struct shell *sh, const struct shell_match *m,
                           struct text partial, unsigned *i, struct text *keyword)
{
	while (*i < sh->command_count) {
		unsigned row = (*i)++;
		if (!next_keyword(&sh->commands[row], m, keyword) || keyword->len == 0 ||
		    !may_be(partial, *keyword))
			continue;
		bool seen = false;
		struct text earlier;
		for (unsigned k = 0; k < row && !seen; k++)
			seen = next_keyword(&sh->commands[k], m, &earlier) &&
			       text_is_word(earlier, *keyword);
		if (!seen)
			return true;
	}
	return false;
}

/* Appends the keyword that `word` stands for to m. FOUND, UNKNOWN or AMBIGUOUS. */
static enum shell_result descend(const struct shell *sh, struct shell_match *m, struct text word)
{
	struct text keyword, found = {NULL, 0};
	unsigned i = 0, fits = 0;
	while (next_candidate(sh, m, word, &i, &keyword)) {
		fits++;
		found = keyword;
		if (text_is_word(word, keyword)) {
			fits = 1;
			break;
		}
	}
	if (fits != 1)
		return fits == 0 ? SHELL_UNKNOWN : SHELL_AMBIGUOUS;
	assert(m->depth < SHELL_DEPTH_MAX);
	m->keyword[m->depth++] = found;
	if (is_number_keyword(found))
		m->number = word;
	return SHELL_FOUND;
}

/* Minimum and maximum number of arguments according to shell_command.args. */
static void count_args(const char *args, unsigned *min, unsigned *max)
{
	*min = *max = 0;
	if (args != NULL && args[0] == '~') {
		*max = SHELL_WORDS_MAX;
		return;
	}
	struct text rest = text_of(args != NULL ? args : ""), word;
	int depth = 0; /* of brackets */
	while (text_next_word(&rest, &word)) {
		for (size_t i = 0; i < word.len; i++)
			depth += word.at[i] == '[';
		if (text_is_word(word, text_of("...")))
			*max = SHELL_WORDS_MAX;
		else if (*max < SHELL_WORDS_MAX)
			*max += 1;
		*min += depth == 0;
		for (size_t i = 0; i < word.len; i++)
			depth -= word.at[i] == ']';
		if (word.len > 3 && memcmp(word.at + word.len - 3, "...", 3) == 0)
			*max = SHELL_WORDS_MAX;
	}
}

/* Matches keywords from the left. The words left are arguments of m->command. */
static enum shell_result follow(const struct shell *sh, const struct text *words, unsigned n,
                                struct shell_match *m)
{
	*m = (struct shell_match){.depth = 0};
	for (unsigned i = 0; i < n; i++) {
		enum shell_result r = descend(sh, m, words[i]);
		if (r == SHELL_FOUND)
			continue;
		m->bad = i;
		if (r == SHELL_AMBIGUOUS)
			return r;
		unsigned min, max = 0;
		m->command = command_at(sh, m, true);
		if (m->command != NULL)
			count_args(m->command->args, &min, &max);
		if (n - i <= max)
			return SHELL_FOUND;
		m->bad = i + max;
		return SHELL_UNKNOWN;
	}
	return SHELL_FOUND;
}

enum shell_result shell_resolve(const struct shell *sh, const struct text *words, unsigned n,
                                struct shell_match *m)
{
	enum shell_result r = follow(sh, words, n, m);
	if (r != SHELL_FOUND)
		return r;
	if (m->command == NULL)
		m->command = command_at(sh, m, true);
	if (m->command == NULL)
		return SHELL_INCOMPLETE;
	unsigned min, max;
	count_args(m->command->args, &min, &max);
	return n - m->depth < min ? SHELL_INCOMPLETE : SHELL_FOUND;
}

static void list_item(struct shell *sh, struct text item, const char *help)
{
	shell_print(sh, "  %-20.*s %s\n", (int)item.len, item.at, help);
}

void shell_list_keywords(struct shell *sh, const struct shell_match *m, struct text partial)
{
	struct text keyword;
	for (unsigned i = 0; next_candidate(sh, m, partial, &i, &keyword);) {
		struct shell_match below = *m;
		assert(below.depth < SHELL_DEPTH_MAX);
		below.keyword[below.depth++] = keyword;
		const struct shell_command *c = command_at(sh, &below, false);
		list_item(sh, keyword, c != NULL ? c->help : "");
	}
}

/* Splits `before` into whole words and *partial, the last word; it is empty after a blank. */
static unsigned split_partial(struct text before, struct text words[SHELL_WORDS_MAX],
                              struct text *partial)
{
	size_t start = before.len;
	while (start > 0 && !text_is_blank(before.at[start - 1]))
		start--;
	*partial = (struct text){before.at + start, before.len - start};
	return shell_split((struct text){before.at, start}, words);
}

/* Lists the arguments of c after the first `given`. */
static void list_args(struct shell *sh, const struct shell_command *c, unsigned given)
{
	struct text rest = text_of(c->args != NULL ? c->args : ""), word;
	if (rest.len > 0 && rest.at[0] == '~') { /* only the command knows which one comes next */
		rest = (struct text){rest.at + 1, rest.len - 1};
		given = 0;
	}
	for (unsigned i = 0; i < given; i++)
		if (!text_next_word(&rest, &word))
			break;
	if (text_next_word(&rest, &word)) {
		struct text all = {word.at, (size_t)(rest.at + rest.len - word.at)};
		list_item(sh, all, c->help);
	}
}

void shell_list_next(struct shell *sh, struct text before)
{
	struct text words[SHELL_WORDS_MAX], partial, keyword;
	struct shell_match m;
	unsigned n = split_partial(before, words, &partial), i = 0, min, max;
	enum shell_result r = n > SHELL_WORDS_MAX ? SHELL_UNKNOWN : follow(sh, words, n, &m);
	if (r == SHELL_AMBIGUOUS) {
		shell_print(sh, "%% ambiguous word \"%.*s\"\n", (int)words[m.bad].len,
		            words[m.bad].at);
		return;
	}
	const struct shell_command *c = NULL;
	bool any = false;
	if (r == SHELL_FOUND) {
		c = m.command != NULL ? m.command : command_at(sh, &m, true);
		any = m.command == NULL && next_candidate(sh, &m, partial, &i, &keyword);
		if (any)
			shell_list_keywords(sh, &m, partial);
	}
	if (c != NULL) {
		count_args(c->args, &min, &max);
		unsigned given = n - m.depth;
		if (given < max && (partial.len == 0 || !any)) {
			list_args(sh, c, given);
			any = true;
		}
		if (given >= min && partial.len == 0) {
			list_item(sh, text_of("<cr>"), given == 0 ? c->help : "");
			any = true;
		}
	}
	if (!any)
		shell_print(sh, "%% nothing fits here\n");
}

unsigned shell_complete(const struct shell *sh, struct text before, struct text *add, bool *whole)
{
	struct text words[SHELL_WORDS_MAX], partial, keyword, first = {NULL, 0};
	struct shell_match m;
	unsigned n = split_partial(before, words, &partial), fits = 0, i = 0;
	*add = (struct text){before.at + before.len, 0};
	*whole = false;
	if (n > SHELL_WORDS_MAX || follow(sh, words, n, &m) != SHELL_FOUND || m.command != NULL)
		return 0;
	while (next_candidate(sh, &m, partial, &i, &keyword)) {
		if (is_number_keyword(keyword))
			continue; /* a number cannot be completed */
		if (fits++ == 0)
			first = keyword;
		size_t common = 0;
		while (common < first.len && common < keyword.len &&
		       text_lower(first.at[common]) == text_lower(keyword.at[common]))
			common++;
		first.len = common;
	}
	if (fits > 0) {
		*add = (struct text){first.at + partial.len, first.len - partial.len};
		*whole = fits == 1;
	}
	return fits;
}
