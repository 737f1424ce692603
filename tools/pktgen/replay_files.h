/*
 * The replays of a script: one for each stream that replays a file of the boot module
 * (control/text/module.h). The control core lays them out in published memory when the
 * configuration is applied, before a data core reads them. After that they do not change.
 */
#ifndef PKTGEN_REPLAY_FILES_H
#define PKTGEN_REPLAY_FILES_H

#include "control/text/module.h"
#include "tools/pktgen/plan.h"
#include "tools/pktgen/frames/replay.h"

/* Finds and reads the files. E_INVAL with *err filled: a file is missing, or is not a capture that
 * can be sent. */
int replay_files_measure(const struct plan *plan, const struct module *m, struct text_error *err);

/* Bytes of memory that the replays need; 0: there are none, or replay_files_measure failed. */
size_t replay_files_bytes(void);

/* Lays out the replays in `memory` of replay_files_bytes(), and describes them on the console. */
void replay_files_lay(const struct plan *plan, const struct module *m, uint8_t *memory);

/* The replay of a stream. Its `frame` is NULL if the stream has none. */
const struct replay *replay_files_of(unsigned stream);

#endif
