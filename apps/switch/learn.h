/* What a data core notes about the sources of frames: uses and reports (shared.h). */
#ifndef APPS_SWITCH_LEARN_H
#define APPS_SWITCH_LEARN_H

#include "apps/switch/shared.h"

/* Memory of the marks. */
size_t learn_bytes(size_t room);

/* To be called in data_start and data_tables. fresh: the marks begin anew. */
void learn_start(const struct switch_shared *s, const struct fdb *fdb, bool fresh);

/* The mark of this turn. */
uint16_t learn_mark(void);

/* The marks; NULL: there is no memory for them, and stations age by their reports alone. */
extern uint16_t *learn_marks;

/* Frames of the station have come by that port, where the database does not have it. Cold. */
void learn_report(uint64_t station, unsigned port);

#endif
