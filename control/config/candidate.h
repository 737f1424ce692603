/*
 * The candidate configuration: what the next commit will put into force. It begins as the running
 * one and is changed statement by statement; nothing of it counts before.
 *
 * It knows neither machine nor console. It is kept in two parts, for a configuration may have a
 * million routes and a few dozen other statements:
 *     text     all statements but the routes, as config_print_statements has them. A statement that
 *              is entered is put where it belongs in this text, or taken out, and the whole is read
 *              anew: a candidate is a text that a file might hold, and what is wrong in a line is
 *              found as it is there
 *     routes   those of the running configuration, with a bit for each that is to go, and those
 *              that are added
 *
 * What a statement takes the place of says its row in the table of statements (enum statement_how,
 * control/config/config_parse.h). `no` and the beginning of statements, their own words at least, takes
 * away all that begin so, in the block it is said in; of a block with all its lines.
 *
 * A rule of an access list goes where its number belongs, in place of the one that has it; without
 * a number it becomes the last, unless the list has such a rule. `no` takes away the rule of a
 * number, or the one with these words, all of them: its beginning may be another rule.
 *
 * Invariants
 * 1. After an error nothing has changed.
 * 2. text is what config_print_statements makes of itself: two texts that mean the same are equal,
 *    byte by byte, and are compared so.
 * 3. All memory is the caller's and bounded: text_max bytes for each of three texts,
 *    CANDIDATE_ROUTES_MAX routes of each family added, a bit for each that runs, and as many rules
 *    of access lists as the caller has room for.
 * The work for a statement is linear in the text, that for a route in the number of routes.
 */
#ifndef CONTROL_CONFIG_CANDIDATE_H
#define CONTROL_CONFIG_CANDIDATE_H

#include "control/config/config.h"

#define CANDIDATE_TEXT_LEAST (128u << 10)
#define CANDIDATE_ROUTES_MAX 8192 /* of each family, beyond those that run */
#define CANDIDATE_LINE_MAX 256     /* of a statement, with its end */

enum candidate_family { CANDIDATE_IP4, CANDIDATE_IP6, CANDIDATE_FAMILIES };

struct candidate_routes {
	uint8_t *gone;      /* a bit for each route of the running configuration */
	uint32_t gone_max;  /* that it has room for */
	uint32_t gone_count;
	uint32_t added_count;
};

/* Memory and state: the pointers are the caller's to set before candidate_reset, the rest is
 * private. */
struct candidate {
	char *text, *draft, *running_text; /* text_max bytes each */
	uint32_t text_max;
	struct config *parsed;             /* what a draft says */
	struct config_acl_rule *acl_rules; /* acl_rule_max, of parsed; between two calls they are the */
	uint32_t acl_rule_max;             /* caller's to use */
	struct config_route *added4;       /* CANDIDATE_ROUTES_MAX */
	struct config_route6 *added6;
	struct candidate_routes routes[CANDIDATE_FAMILIES];

	const struct config *running;
	size_t len, running_len;
	uint32_t changes; /* another number whenever what it says may have changed */
	char fault[CANDIDATE_LINE_MAX]; /* of the last error: the line that it is about */
};

/* Begins anew as the running configuration, which must stay as it is until the next call. E_NOMEM:
 * its statements are longer than a candidate's may be, or its routes are more than there are bits
 * for. */
int candidate_reset(struct candidate *c, const struct config *running);

/* The bytes of its statements: text_max must be no less. */
size_t candidate_text_bytes(const struct config *running);

bool candidate_changed(const struct candidate *c);

/*
 * A statement, or `no` and the beginning of some, as a line of the open block; `block` is the line
 * that opened it, empty: none. E_INVAL with *err, whose line counts in a text of its own: c->fault
 * is that line.
 */
int candidate_enter(struct candidate *c, struct text block, struct text line,
                    struct text_error *err);

/* A line that candidate_write_change has written, without its end: the route is added, or goes.
 * E_INVAL as candidate_enter, and of a line that is none. */
int candidate_enter_change(struct candidate *c, struct text line, struct text_error *err);

/* Numbers the rules of an access list anew, from `start` by `step`. E_INVAL as candidate_enter. */
int candidate_resequence(struct candidate *c, struct text list, uint32_t start, uint32_t step,
                         struct text_error *err);

/* After an error that somebody else has found in a line of what candidate_build made: c->fault is
 * that line. */
void candidate_fault(struct candidate *c, uint32_t line);

/* Does a statement open a block? Then `block` is the line for those that follow, with its NUL. */
bool candidate_opens(struct text line, char block[CANDIDATE_LINE_MAX]);

/* Takes these statements, no route among them, in place of all others. */
int candidate_set_text(struct candidate *c, struct text text, struct text_error *err);

/* As config_print, without a script: what candidate_build would make of it. */
void candidate_print(const struct candidate *c, config_write_fn write, void *ctx);

/* Where one is that takes a candidate as text a piece at a time; all zero is the beginning. Good
 * until c->changes is another number. */
struct candidate_walk {
	uint32_t part, n; /* which text or routes; bytes or routes of it that are done */
	char sign;        /* of the lines that are compared; 0: between blocks */
	bool list;        /* they are of an access list */
	struct text lines, others; /* they, and those they are looked for among: what is left */
};

/* The next piece of what candidate_print writes: a line, or nothing, so that a call does not look at
 * too much. False: that was the last. */
bool candidate_print_next(const struct candidate *c, struct candidate_walk *w, config_write_fn write,
                          void *ctx);

/* What differs from the running configuration, line by line, without line ends: '-' is there alone,
 * '+' in the candidate alone, ' ' opens the block of the lines that follow. */
typedef void (*candidate_line_fn)(void *ctx, char sign, struct text line);
void candidate_compare(const struct candidate *c, candidate_line_fn line, void *ctx);

/* As candidate_print_next. A call takes the time of a pass over both texts at most. */
bool candidate_compare_next(const struct candidate *c, struct candidate_walk *w,
                            candidate_line_fn line, void *ctx);

/* The part of it that is about routes. */
void candidate_compare_routes(const struct candidate *c, candidate_line_fn line, void *ctx);

/* Changes of routes as text: a line each, "+ROUTE" or "-ROUTE". */
struct candidate_changes {
	char *at; /* NULL: counts only */
	size_t len;
	bool back; /* those that undo them: the other sign */
};

/* For candidate_compare_routes; ctx is a struct candidate_changes. */
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

/* Calls fn with each route that is to go ('-') or is added ('+'): one of r and r6 is not NULL. The
 * port of an IPv6 next hop may be CONFIG_PORT_ANY. */
typedef void (*candidate_route_fn)(void *ctx, const struct config_route *r,
                                   const struct config_route6 *r6);
void candidate_each_route(const struct candidate *c, char sign, candidate_route_fn fn, void *ctx);

/* How many routes of a family the whole has. */
uint32_t candidate_route_count(const struct candidate *c, enum candidate_family f);

/* The whole, with its routes in mem, checked as a file is. E_INVAL as candidate_enter; lines count
 * as candidate_print has them. */
int candidate_build(struct candidate *c, const struct config_memory *mem, struct config *out,
                    struct text_error *err);

#endif
