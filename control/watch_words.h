/* The words that capture and trace have in common: which ports, how many, what filter. */
#ifndef CONTROL_WATCH_WORDS_H
#define CONTROL_WATCH_WORDS_H

#include "control/shell.h"
#include "net/match.h"

/* "ethN" or "all": a bit for each port; 0: neither, or there is none of that number. */
uint32_t watch_ports(const char *word);

/* "NAME N" among n words is taken out of them, N from 1 to max. False: it is missing or wrong, and
 * that was said. Where there is no NAME *value stays. */
bool watch_option(struct shell *sh, char **word, unsigned *n, const char *name, uint32_t max,
                  uint32_t *value);

/* All n words are a filter (match_words.h). False: one of them is wrong, and that was said. */
bool watch_filter(struct shell *sh, struct match *m, char **word, unsigned n);

#endif
