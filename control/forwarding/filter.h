/* The configuration's access lists, compiled for data cores and shown. */
#ifndef CONTROL_FORWARDING_FILTER_H
#define CONTROL_FORWARDING_FILTER_H

#include "control/config/config.h"
#include "control/console/shell.h"
#include "dataplane/state.h"

/*
 * Compiles the lists of running.config into published memory at `at`, which no data core reads yet,
 * and sets the filters of the data-plane state. Of the `room` bytes there it keeps *used, at most
 * half, for these lists and for those that replace them. E_INVAL: they do not fit; *err says which,
 * and no filter of the data-plane state has been changed.
 */
int filter_start(struct dp_state *v, uint8_t *at, size_t room, size_t *used, struct text_error *err);

/* Writes as text the result `rule` (acl_classify, acl_mac_first) of an interface's filter in
 * dp_state.filter_set[set]: the list's name and the line. */
void filter_text(char *buf, size_t size, unsigned set, unsigned interface, enum config_filter_direction direction,
                 uint32_t rule);

/*
 * The first step of replacing the lists and filters in force while data cores classify packets: all
 * that can fail. Compiles the lists of `next` beside those in force. E_INVAL: *err says which list
 * does not fit, and nothing in force has changed. May wait for data cores (core_quiesce).
 */
int filter_prepare(const struct config *next, struct text_error *err);

/* The second step: puts into force what the last filter_prepare made, while running.config is still
 * the old configuration. A rule that keeps its number and its text, in a list of the same name,
 * keeps its count. */
void filter_switch(const struct config *next);

void show_access_lists(struct shell *sh);
void clear_access_lists(struct shell *sh);

#endif
