/* Arguments that `capture` and `trace` share: interfaces, numbers, a filter. */
#ifndef CONTROL_MONITOR_WATCH_WORDS_H
#define CONTROL_MONITOR_WATCH_WORDS_H

#include "control/console/shell.h"
#include "net/match.h"

/* Parses "ethN", "ethN.VLAN" or "all"; returns a bit for each port. 0: the word is none of these,
 * or there is no such interface. *vlan: for watch_filter. */
uint32_t watch_ports(const char *word, uint16_t *vlan);

/* Removes "NAME N" from the *n words and sets *value to N, 1 to max. Without NAME nothing changes.
 * False: N is missing or wrong, and an error was printed. */
bool watch_option(struct shell *sh, char **word, unsigned *n, const char *name, uint32_t max,
                  uint32_t *value);

/* Parses all n words as a filter (match_words.h) of frames of that VLAN; 0: of any. False: a word
 * is wrong, and an error was printed. */
bool watch_filter(struct shell *sh, struct match *m, uint16_t vlan, char **word, unsigned n);

#endif
