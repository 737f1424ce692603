/* The configuration's access lists, compiled for data cores and shown: control/forwarding/filter.c. */
#ifndef CONTROL_FORWARDING_FILTER_H
#define CONTROL_FORWARDING_FILTER_H

#include "control/config/config.h"
#include "control/console/shell.h"
#include "dataplane/state.h"

/*
 * Compiles the lists of running.config into published memory at `at`, where data cores do not look
 * yet, and tells the data-plane state where they filter. Of the `room` bytes there it keeps *used,
 * which is half of them at most, for these lists and for others that take their place. E_INVAL:
 * they do not fit; *err says which, and no filter of the data-plane state has been touched.
 */
int filter_start(struct dp_state *v, uint8_t *at, size_t room, size_t *used, struct text_error *err);

/* What the filter of a port, of dp.filter_set[set], said (acl_classify), in words: the list's name
 * and the line. */
void filter_text(char *buf, size_t size, unsigned set, unsigned port, bool out, bool six,
                 uint32_t rule);

/*
 * Lists, and where they filter, that take the place of those in force while data cores judge
 * packets. First all that can fail: compiles the lists of `next` beside the others. E_INVAL: *err
 * says which list does not fit, and nothing has changed. May wait for data cores (core_quiesce).
 */
int filter_prepare(const struct config *next, struct text_error *err);

/* Then what the last filter_prepare has made comes into force; running.config is still the old one. A
 * rule that stays as it was, number and words, in a list of that name, keeps its count. */
void filter_switch(const struct config *next);

void show_access_lists(struct shell *sh);
void clear_access_lists(struct shell *sh);

#endif
