/* The configuration's access lists, compiled for data cores and shown: control/filter.c. */
#ifndef CONTROL_FILTER_H
#define CONTROL_FILTER_H

#include "control/shell.h"
#include "control/view.h"

/*
 * Compiles the lists of plane.config into `room` bytes of the snapshot at `at`, of which it takes
 * *used, and tells the view where they filter. E_INVAL: they do not fit; *err says which, and no
 * filter of the view has been touched.
 */
int filter_start(struct view *v, uint8_t *at, size_t room, size_t *used, struct text_error *err);

/* What the filter of a port said (acl_classify), in words: the list's name and the line. */
void filter_text(char *buf, size_t size, unsigned port, bool out, bool six, uint32_t rule);

void show_access_lists(struct shell *sh, int argc, char **argv);
void clear_access_lists(struct shell *sh, int argc, char **argv);

#endif
