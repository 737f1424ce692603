/* The words that capture and trace have in common: which interfaces, how many, what filter. */
#ifndef CONTROL_MONITOR_WATCH_WORDS_H
#define CONTROL_MONITOR_WATCH_WORDS_H

#include "control/console/shell.h"
#include "net/match.h"

/* "ethN", "ethN.VLAN" or "all": a bit for each port; 0: none of them, or there is no such interface.
 * *vlan: for struct match. */
uint32_t watch_ports(const char *word, uint16_t *vlan);

/* "NAME N" among n words is taken out of them, N from 1 to max. False: it is missing or wrong, and
 * that was said. Where there is no NAME *value stays. */
bool watch_option(struct shell *sh, char **word, unsigned *n, const char *name, uint32_t max,
                  uint32_t *value);

/* All n words are a filter (match_words.h), of frames of that VLAN; 0: of any. False: one of them is
 * wrong, and that was said. */
bool watch_filter(struct shell *sh, struct match *m, uint16_t vlan, char **word, unsigned n);

#endif
