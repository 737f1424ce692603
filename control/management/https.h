/*
 * HTTPS: the HTTP server over TLS (`https server`), and its identity. The private key is made when it is first
 * needed. It is kept over restarts of the control program (runtime/sealed.h), and on the disk as "keys/https" if there
 * is a store (control/storage). Nothing shows it; no crash report holds it, because it lies in neither arena nor
 * shared memory.
 */
#ifndef CONTROL_MANAGEMENT_HTTPS_H
#define CONTROL_MANAGEMENT_HTTPS_H

#include "control/text/text.h"

/* Called in control_plane_start, or for a commit: takes memory and starts the libraries, once. False: not possible;
 * the event log says why, unless memory is missing. */
bool https_prepare(void);

/* Chooses the identity of connections that begin from now on: that of a PEM text (tls_use_pem), or, if it is empty, the
 * machine's own. https_prepare() has returned true. False: not possible, the event log says why. */
bool https_choose(struct text pem);

/* Called after stream_start(). */
void https_start(void);

/* Listens on a TCP port. */
void https_listen(uint16_t port);

/* `crypto key generate https`: another key, for connections that begin from now on. False: not possible. */
bool https_new_key(void);

#endif
