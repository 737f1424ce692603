/* What candidate*.c have in common; the public side is candidate.h. */
#ifndef CONTROL_CONFIG_CANDIDATE_INSIDE_H
#define CONTROL_CONFIG_CANDIDATE_INSIDE_H

#include "control/config/candidate.h"

/* A buffer that is filled; `len` goes on counting when it is full. */
struct sink {
	char *at;
	size_t len, size;
};

/* A config_write_fn: ctx is the sink. */
static inline void sink_put(void *ctx, const char *text, size_t len)
{
	struct sink *s = ctx;
	if (s->len + len <= s->size)
		memcpy(s->at + s->len, text, len);
	s->len += len;
}

/* Lines as config_print_statements has them. */
static inline bool candidate_is_inner(struct text line)
{
	return line.len > 0 && line.at[0] == ' ';
}

static inline bool candidate_is_comment(struct text line)
{
	return line.len == 0 || line.at[0] == '!';
}

/* The number that a line begins with, and the words behind it; 0: it begins with none. */
uint32_t candidate_number_of(struct text line, struct text *behind);

/* Is this the line that opens an access list? */
bool candidate_opens_list(struct text block);

/* --- candidate_routes.c --- */

uint32_t candidate_running_count(const struct candidate *c, enum candidate_family f);

/* Is number i, of those that run, to go? */
bool candidate_is_gone(const struct candidate *c, enum candidate_family f, uint32_t i);

/* Route number i: of those that run, and behind them those that are added. */
void candidate_print_route(const struct candidate *c, enum candidate_family f, uint32_t i,
                           config_write_fn write, void *ctx);
struct text candidate_route_line(const struct candidate *c, enum candidate_family f, uint32_t i,
                                 char buf[CANDIDATE_LINE_MAX]);

/* The candidate's routes are those that run. E_NOMEM: there are more of them than bits. */
int candidate_reset_routes(struct candidate *c);

/* Adds the route of a canonical line, or takes away all that begin so. E_INVAL with *err. */
int candidate_enter_route(struct candidate *c, struct text line, bool no, struct text_error *err);

/* Puts the routes into a configuration that has none, and lines behind number `line`. */
void candidate_build_routes(const struct candidate *c, struct config *out, uint32_t line);

#endif
