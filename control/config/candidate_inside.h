/* Shared by candidate*.c; candidate.h is the public interface. */
#ifndef CONTROL_CONFIG_CANDIDATE_INSIDE_H
#define CONTROL_CONFIG_CANDIDATE_INSIDE_H

#include "control/config/candidate.h"

/* An output buffer. When it is full, `len` continues to count. */
struct sink {
	char *at;
	size_t len, size;
};

/* A config_write_fn; ctx is the sink. */
static inline void sink_put(void *ctx, const char *text, size_t len)
{
	struct sink *s = ctx;
	if (s->len + len <= s->size)
		memcpy(s->at + s->len, text, len);
	s->len += len;
}

/* Kinds of lines that config_print_statements writes. */
static inline bool candidate_is_inner(struct text line)
{
	return line.len > 0 && line.at[0] == ' ';
}

static inline bool candidate_is_comment(struct text line)
{
	return line.len == 0 || line.at[0] == '!';
}

/* The number at the beginning of a rule, and in *behind the words after it; 0: there is none. */
uint32_t candidate_number_of(struct text line, struct text *behind);

/* True if this line opens an access list. */
bool candidate_opens_list(struct text block);

/* --- candidate_routes.c --- */

uint32_t candidate_running_count(const struct candidate *c, enum candidate_family f);

/* True if the commit removes running route number i. */
bool candidate_is_gone(const struct candidate *c, enum candidate_family f, uint32_t i);

/* Route number i as text. The running routes come first, then the added ones. */
void candidate_print_route(const struct candidate *c, enum candidate_family f, uint32_t i,
                           config_write_fn write, void *ctx);
struct text candidate_route_line(const struct candidate *c, enum candidate_family f, uint32_t i,
                                 char buf[CANDIDATE_LINE_MAX]);

/* Makes the candidate's routes the running ones. E_NOMEM: they exceed gone_max. */
int candidate_reset_routes(struct candidate *c);

/* Adds the route of a canonical line; if no, removes all routes that begin with the line. E_INVAL
 * with *err. */
int candidate_enter_route(struct candidate *c, struct text line, bool no, struct text_error *err);

/* The routes of *next that candidate_match has not matched become the added ones. */
void candidate_take_routes(struct candidate *c, const struct config *next);

/* Copies the routes to a configuration that has none. Their line numbers follow `line`. */
void candidate_build_routes(const struct candidate *c, struct config *out, uint32_t line);

#endif
