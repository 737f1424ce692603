/* On which ports the servers of the management listen. */
#ifndef CONTROL_COMMIT_SERVERS_H
#define CONTROL_COMMIT_SERVERS_H

#include "control/config/config.h"
#include "dataplane/state.h"

/* At the start: memory for those of the configuration, and their ports in the data-plane state. */
void servers_prepare(struct dp_state *v);

/* The ports run: TCP begins, without connections, and they listen. */
void servers_start(void);

/* Is there each that the configuration wants? Between servers_prepare and the next change of it. */
bool servers_are_there(void);

/* Is there memory for the servers that a commit opens? It is taken then. */
bool servers_room(const struct config *next);

/* Opens, moves and closes them, as the configuration that is to run has them; servers_room has said
 * yes. */
void servers_change(const struct config *next);

#endif
