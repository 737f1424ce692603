/* A candidate, and its differences from the running configuration, as text in pieces; see
 * candidate.h. */
#include "control/config/candidate_inside.h"

/* --- printing --- */

enum print_part { PRINT_TEXT, PRINT_ROUTES, PRINT_ROUTES6, PRINT_END, PRINT_DONE };
#define ROUTES_AT_ONCE 1000 /* routes examined by one call */

static bool next_of_text(const struct candidate *c, struct candidate_walk *w, config_write_fn write,
                         void *ctx)
{
	struct text rest = {c->text + w->n, c->len - w->n}, line;
	if (!text_next_line(&rest, &line))
		return false;
	write(ctx, line.at, line.len + 1);
	w->n += (uint32_t)line.len + 1;
	return true;
}

/* Prints the next route of a family that is not to be removed. False: there are no more. */
static bool next_of_routes(const struct candidate *c, struct candidate_walk *w,
                           enum candidate_family f, config_write_fn write, void *ctx)
{
	const uint32_t n = candidate_running_count(c, f), all = n + c->routes[f].added_count;
	for (uint32_t looked = 0; w->n < all && looked < ROUTES_AT_ONCE; looked++) {
		const uint32_t i = w->n++;
		if (i < n && candidate_is_gone(c, f, i))
			continue;
		candidate_print_route(c, f, i, write, ctx);
		break;
	}
	return w->n < all;
}

/* Moves to the beginning of the next part. */
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

/* Cuts the inner lines of a block off *rest, which begins after the line that opens it. */
static struct text body_of(struct text *rest)
{
	struct text line, all = {rest->at, 0}, behind = *rest;
	while (text_next_line(&behind, &line) && candidate_is_inner(line))
		*rest = behind;
	all.len = (size_t)(rest->at - all.at);
	return all;
}

/* Finds the inner lines of the block that `head` opens; false: the text has no such line. */
static bool find_block(struct text text, struct text head, struct text *body)
{
	struct text line;
	while (text_next_line(&text, &line)) {
		*body = body_of(&text);
		if (text_equal(line, head))
			return true;
	}
	return false;
}

static bool has_line(struct text text, struct text line)
{
	struct text other;
	while (text_next_line(&text, &other))
		if (text_equal(other, line))
			return true;
	return false;
}

/* The same for rules of an access list, which are in the order of their numbers. Cuts the rules of
 * lower numbers off *others, because there may be thousands. */
static bool has_rule_line(struct text *others, struct text line)
{
	struct text words, other, rest = *others;
	const uint32_t number = candidate_number_of(line, &words);
	while (text_next_line(&rest, &other)) {
		if (candidate_number_of(other, &words) >= number)
			return text_equal(other, line);
		*others = rest;
	}
	return false;
}

enum compare_part {
	COMPARE_OLD, /* the blocks of the running configuration */
	COMPARE_NEW, /* the blocks that only the candidate has */
	COMPARE_GONE4,
	COMPARE_GONE6,
	COMPARE_ADDED4,
	COMPARE_ADDED6,
	COMPARE_DONE,
};
#define LINES_AT_ONCE 1000 /* lines examined by one call */

/* Shows the next line of w->lines that is not in w->others. False: there are no more. */
static bool next_missing(struct candidate_walk *w, candidate_line_fn show, void *ctx)
{
	struct text line;
	for (uint32_t looked = 0; looked < LINES_AT_ONCE; looked++) {
		if (!text_next_line(&w->lines, &line))
			return false;
		if (w->list ? has_rule_line(&w->others, line) : has_line(w->others, line))
			continue;
		show(ctx, w->sign, line);
		break;
	}
	return true;
}

/* Begins the comparison of a block. both: the other text has it too, with the body `other`. */
static void begin_block(struct candidate_walk *w, struct text head, struct text body, bool both,
                        struct text other, candidate_line_fn show, void *ctx)
{
	const char sign = w->part == COMPARE_OLD ? '-' : '+';
	show(ctx, both ? ' ' : sign, head);
	w->sign = sign;
	w->list = candidate_opens_list(head);
	w->lines = body;
	w->others = both ? other : (struct text){"", 0};
}

/* Shows the next difference in the block at byte w->n of its text, or moves to the next block.
 * False: the text has no more blocks. */
static bool next_of_blocks(const struct candidate *c, struct candidate_walk *w,
                           candidate_line_fn show, void *ctx)
{
	const bool is_old = w->part == COMPARE_OLD;
	const struct text old = {c->running_text, c->running_len}, new = {c->text, c->len};
	const struct text text = is_old ? old : new;
	struct text rest = {text.at + w->n, text.len - w->n}, head, body, other;
	if (w->sign && next_missing(w, show, ctx))
		return true;
	if (!text_next_line(&rest, &head))
		return false;
	body = body_of(&rest);
	const bool both = !candidate_is_comment(head) && find_block(is_old ? new : old, head, &other);
	if (!w->sign && !candidate_is_comment(head) && (!both || (is_old && !text_equal(body, other)))) {
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

/* Shows the next route of a family to be removed or added. False: there are no more. */
static bool next_of_changes(const struct candidate *c, struct candidate_walk *w,
                            candidate_line_fn show, void *ctx)
{
	const bool added = w->part >= COMPARE_ADDED4;
	const bool six = w->part == COMPARE_GONE6 || w->part == COMPARE_ADDED6;
	const enum candidate_family f = six ? CANDIDATE_IP6 : CANDIDATE_IP4;
	const struct candidate_routes *r = &c->routes[f];
	const uint32_t n = candidate_running_count(c, f);
	const uint32_t all = added ? r->added_count : r->gone_count > 0 ? n : 0;
	char buf[CANDIDATE_LINE_MAX];
	for (uint32_t looked = 0; w->n < all && looked < ROUTES_AT_ONCE; looked++) {
		const uint32_t i = w->n++;
		if (!added && !candidate_is_gone(c, f, i))
			continue;
		show(ctx, added ? '+' : '-', candidate_route_line(c, f, added ? n + i : i, buf));
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
