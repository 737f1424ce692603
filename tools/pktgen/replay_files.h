/*
 * The replays of a script: one for each of its streams that replays a file of the boot module
 * (control/text/module.h). The control core lays them out in published memory when the
 * configuration is put into force, before any data core reads them; from then on they do not
 * change.
 */
#ifndef PKTGEN_REPLAY_FILES_H
#define PKTGEN_REPLAY_FILES_H

#include "control/text/module.h"
#include "tools/pktgen/plan.h"
#include "tools/pktgen/frames/replay.h"

/* Finds and reads the files. E_INVAL, *err filled: one is not there, or is no capture that can be
 * sent. */
int replay_files_measure(const struct plan *plan, const struct module *m, struct text_error *err);

/* Memory that they want; 0: none is replayed, or replay_files_measure failed. */
size_t replay_files_bytes(void);

/* Lays them out, in memory for replay_files_bytes(), and says on the console what they are. */
void replay_files_lay(const struct plan *plan, const struct module *m, uint8_t *memory);

/* That of a stream; its `frame` is NULL when the stream's frames are made. */
const struct replay *replay_files_of(unsigned stream);

#endif
