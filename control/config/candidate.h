/*
 * The candidate configuration, which the next commit will put into force. It begins as a copy of
 * the running configuration. Statements change it one by one, without effect before the commit.
 *
 * A candidate depends neither on the machine nor on a console. It has two parts, because a
 * configuration may have a million routes but only a few dozen other statements:
 *     text     all statements except routes, in the form of config_print_statements. Each change
 *              inserts, replaces or removes lines and parses the whole text again. So a candidate
 *              accepts what a file may contain, and reports the same errors
 *     routes   those of the running configuration, with a bit for each to be removed, and those
 *              to be added
 *
 * The table of statements defines which line a statement replaces (enum statement_how,
 * control/config/config_parse.h). `no` with the beginning of a statement, at least its own words,
 * removes all statements of the current block that begin so. A removed block loses all its lines.
 *
 * A rule of an access list is placed by its number and replaces the rule of that number. Without a
 * number it becomes the last rule, unless the list already has a rule of these words. `no` removes
 * the rule of a number, or the rule of exactly these words: their beginning may be another rule.
 *
 * Invariants
 * 1. After an error nothing has changed.
 * 2. Parsing and printing text (config_print_statements) yields text again. So two texts of the
 *    same meaning are equal byte by byte, and are compared as bytes.
 * 3. All memory belongs to the caller and is bounded: text_max bytes for each of three texts,
 *    added_max added routes of each family, a bit for each running route, and
 *    acl_rule_max rules of access lists.
 * The work for a statement is linear in the text, that for a route in the number of routes.
 */
#ifndef CONTROL_CONFIG_CANDIDATE_H
#define CONTROL_CONFIG_CANDIDATE_H

#include "control/config/config.h"

#define CANDIDATE_TEXT_LEAST (128u << 10)
#define CANDIDATE_ROUTES_MAX 8192 /* added routes of each family, unless a text brings more */
#define CANDIDATE_LINE_MAX 256     /* bytes of a statement, with its end */

enum candidate_family { CANDIDATE_IP4, CANDIDATE_IP6, CANDIDATE_FAMILIES };

struct candidate_routes {
	uint8_t *gone;      /* a bit for each running route; set: to be removed */
	uint32_t gone_max;  /* room of `gone`, in bits */
	uint32_t gone_count;
	uint32_t added_count;
	uint32_t added_max; /* room of added4 or added6, set by the caller */
};

/* Memory and state. The caller sets the pointers and their sizes before candidate_reset; the rest
 * is private. */
struct candidate {
	char *text, *draft, *running_text; /* text_max bytes each */
	uint32_t text_max;
	struct config *parsed;             /* the parsed draft */
	struct config_acl_rule *acl_rules; /* acl_rule_max, for parsed; */
	uint32_t acl_rule_max;             /* the caller may use this memory between calls */
	struct config_route *added4;       /* routes[].added_max of them; at least CANDIDATE_ROUTES_MAX */
	struct config_route6 *added6;
	struct candidate_routes routes[CANDIDATE_FAMILIES];

	const struct config *running;
	size_t len, running_len;
	uint32_t changes; /* changes whenever the candidate may have changed */
	char fault[CANDIDATE_LINE_MAX]; /* the line of the last error */
};

/* Makes the candidate equal to the running configuration, which must not change until the next
 * reset. E_NOMEM: the statements exceed text_max bytes, or the routes exceed gone_max. */
int candidate_reset(struct candidate *c, const struct config *running);

/* Bytes of the statements of a configuration, the minimum for text_max. */
size_t candidate_text_bytes(const struct config *running);

bool candidate_changed(const struct candidate *c);

/*
 * Enters a statement, or `no` with the beginning of statements. `block` is the line that opened the
 * current block; empty: none. E_INVAL with *err: c->fault is the line of the error; err->line
 * counts the lines of an internal text. E_NOENT with *err: `no` removes nothing, because there is no such statement.
 */
int candidate_enter(struct candidate *c, struct text block, struct text line,
                    struct text_error *err);

/* Adds or removes the route of a line that candidate_write_change has written; the line excludes
 * its '\n'. E_INVAL as candidate_enter, also for a line that has no route. */
int candidate_enter_change(struct candidate *c, struct text line, struct text_error *err);

/* Renumbers the rules of an access list, from `start` by `step`. E_INVAL as candidate_enter. */
int candidate_resequence(struct candidate *c, struct text list, uint32_t start, uint32_t step,
                         struct text_error *err);

/* Sets c->fault after the caller has found an error in a line that candidate_build has numbered. */
void candidate_fault(struct candidate *c, uint32_t line);

/* True if a statement opens a block. Then `block` is its line in canonical form, with a NUL, for
 * the statements of the block. */
bool candidate_opens(struct text line, char block[CANDIDATE_LINE_MAX]);

/* Follows a line that was entered, as in a file: `block`, the line that opened the current block, becomes that of
 * the line's block if it opens one, and empty if it stands outside blocks. Removing a line opens no block. */
void candidate_follow(struct text line, char block[CANDIDATE_LINE_MAX]);

/*
 * Makes the candidate, which must equal the running configuration, equal to *next: a whole configuration, as
 * config_finish has left it with `scratch`, whose statements fit into text_max bytes. First candidate_match
 * finds the routes that stay, sets their lines in *next to 0, and counts the others: there must be room for
 * so many. Then candidate_take, which does not fail.
 */
void candidate_match(struct candidate *c, struct config *next, const uint32_t *scratch,
                     uint32_t added[CANDIDATE_FAMILIES]);
void candidate_take(struct candidate *c, const struct config *next);

/* Replaces all statements except routes by those of `text`, which has no routes. */
int candidate_set_text(struct candidate *c, struct text text, struct text_error *err);

/* Prints the result of candidate_build as config_print would, without the script. */
void candidate_print(const struct candidate *c, config_write_fn write, void *ctx);

/* Position of a caller that reads a candidate as text in pieces; all zero is the beginning. Valid
 * until c->changes changes. */
struct candidate_walk {
	uint32_t part, n; /* which text or routes; bytes or routes of it that are done */
	char sign;        /* of the lines being compared; 0: between blocks */
	bool list;        /* the lines are rules of an access list */
	struct text lines, others; /* lines left to compare; lines left to find them among */
};

/* Writes the next piece of what candidate_print writes: a line, or nothing, because the work of one
 * call is bounded. False: that was the last. */
bool candidate_print_next(const struct candidate *c, struct candidate_walk *w, config_write_fn write,
                          void *ctx);

/* Calls `line` for each difference from the running configuration, without line ends. '-': only the
 * running configuration has the line; '+': only the candidate has it; ' ': it opens the block of
 * the lines that follow. */
typedef void (*candidate_line_fn)(void *ctx, char sign, struct text line);
void candidate_compare(const struct candidate *c, candidate_line_fn line, void *ctx);

/* The next piece of candidate_compare, as candidate_print_next. A call takes at most the time of
 * one pass over both texts. */
bool candidate_compare_next(const struct candidate *c, struct candidate_walk *w,
                            candidate_line_fn line, void *ctx);

/* candidate_compare for routes only. */
void candidate_compare_routes(const struct candidate *c, candidate_line_fn line, void *ctx);

/* Changes of routes as text: one line each, "+ROUTE" or "-ROUTE". */
struct candidate_changes {
	char *at; /* NULL: only count the bytes */
	size_t len;
	bool back; /* write the changes that undo them: the other sign */
};

/* A candidate_line_fn for candidate_compare_routes; ctx is a struct candidate_changes. */
static inline void candidate_write_change(void *ctx, char sign, struct text line)
{
	struct candidate_changes *w = ctx;
	if (w->at) {
		w->at[w->len] = (sign == '+') == w->back ? '-' : '+';
		memcpy(w->at + w->len + 1, line.at, line.len);
		w->at[w->len + 1 + line.len] = '\n';
	}
	w->len += line.len + 2;
}

/* Calls fn with each route to be removed ('-') or added ('+'): one of r and r6 is not NULL. The
 * interface of an IPv6 next hop may be CONFIG_INTERFACE_ANY. */
typedef void (*candidate_route_fn)(void *ctx, const struct config_route *r,
                                   const struct config_route6 *r6);
void candidate_each_route(const struct candidate *c, char sign, candidate_route_fn fn, void *ctx);

/* Number of routes of a family after a commit of the candidate. */
uint32_t candidate_route_count(const struct candidate *c, enum candidate_family f);

/* Builds the whole configuration, with its routes in mem, and checks it as a file is checked.
 * E_INVAL as candidate_enter. Line numbers are those of candidate_print. */
int candidate_build(struct candidate *c, const struct config_memory *mem, struct config *out,
                    struct text_error *err);

#endif
