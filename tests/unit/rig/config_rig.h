/* What the tests of the configuration share: a parser with memory, checks of valid and invalid
 * texts, the round trip, hostile text. */
#ifndef TESTS_UNIT_RIG_CONFIG_RIG_H
#define TESTS_UNIT_RIG_CONFIG_RIG_H

#include "tests/unit/rig/host.h"

#include "control/config/config.h"

#define ROUTES 120000u
#define SCRATCH (1u << 19) /* for 100,000 routes of each family */
#define ACL_RULES 400u

extern struct config_route routes[ROUTES];
extern struct config_route6 routes6[ROUTES];
extern uint32_t scratch[SCRATCH];

/* Progress reported by the parser since the counters were last set to 0. */
extern uint32_t progress_calls, progress_lines;

/* Results of the last text. */
extern struct config config;
extern struct text_error error;

/* Parses a copy of exactly len bytes, so that ASan detects a read beyond them. */
int parse_bytes(const char *text, size_t len);

/* The same, with all wrong lines requested. */
int parse_all(const char *text, size_t len, struct config_wrong *wrong);

void admit(const char *text);

/* The text must fail at this line and word, with a reason that begins like this; nothing stays
 * applied. */
void refuse(const char *text, uint32_t line, const char *word, const char *reason);

/* Prints `config`, parses the result, and compares everything but the line numbers. */
void round_trip(void);

/* Whatever the text, the result is either a valid configuration that survives the round trip, or an
 * error with a line of the text and printable words, after which nothing stays applied. */
void survive(const char *text, size_t len);

/* Makes texts from `full` by a few changes, with the n pieces inserted now and then, and texts from
 * nothing. Each must survive. */
void hostile(const char *full, const char *const *pieces, unsigned n);

#endif
