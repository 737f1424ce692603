/* The management servers and their TCP ports. */
#ifndef CONTROL_COMMIT_SERVERS_H
#define CONTROL_COMMIT_SERVERS_H

#include "control/config/config.h"
#include "dataplane/state.h"

/* At the start: allocates memory for the configured servers, and sets their TCP ports in the
 * data-plane state. */
void servers_prepare(struct dp_state *v);

/* Called when the NIC ports run: starts TCP without connections, and the servers listen. */
void servers_start(void);

/* True if every configured server exists. For use between servers_prepare and the next change of
 * the configuration. */
bool servers_are_there(void);

/* Allocates memory for the servers that a commit opens. False: there is not enough. */
bool servers_room(const struct config *next);

/* Can the certificate of HTTPS and those of trusted authorities be used that a configuration names? False: why not, in
 * *err. */
bool servers_certificates(const struct config *next, struct text_error *err);

/* Opens, moves and closes servers as `next` configures them. servers_room(next) was true. */
void servers_change(const struct config *next);

#endif
