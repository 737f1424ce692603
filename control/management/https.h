/*
 * HTTPS: the HTTP server over TLS (`https server`). Its key and certificate: https_identity.h.
 */
#ifndef CONTROL_MANAGEMENT_HTTPS_H
#define CONTROL_MANAGEMENT_HTTPS_H

#include "lib/types.h"

/* Called in control_plane_start, or for a commit: takes memory and starts the libraries, once. False: not possible;
 * the event log says why, unless memory is missing. */
bool https_prepare(void);

/* Listens on a TCP port. */
void https_listen(uint16_t port);

#endif
