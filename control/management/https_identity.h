/*
 * The identity of HTTPS, the first of these that there is:
 *
 *     CONFIGURED   certificate and key of a file of the boot module (`https certificate`)
 *     IMPORTED     a certificate for the machine's own key, or a certificate with a key of its own
 *     OWN          the machine's own key, with a certificate that is signed by itself
 *
 * The machine's own key is made when it is first needed. It and what was imported are kept over restarts of the
 * control program (runtime/sealed.h), and on the disk as "keys/https" and "keys/https-certificate" if there is a
 * store (control/storage). Nothing shows a key; no crash report holds one, because they lie in neither arena nor
 * shared memory.
 */
#ifndef CONTROL_MANAGEMENT_HTTPS_IDENTITY_H
#define CONTROL_MANAGEMENT_HTTPS_IDENTITY_H

#include "control/text/text.h"

/* Chooses the identity of connections that begin from now on: that of a PEM text (tls_use_pem), or, if it is empty, the
 * imported one or the machine's own. https_prepare() has returned true. False: not possible, the event log says why. */
bool https_choose(struct text pem);

/* `crypto key generate https`: another key of the machine, for connections that begin from now on. NULL: it is in
 * use; else why not. */
const char *https_new_key(void);

enum https_source { HTTPS_OWN, HTTPS_IMPORTED, HTTPS_CONFIGURED };

/* Of the identity in use, if there is one (tls_identity). */
enum https_source https_source(void);

/*
 * Memory for an import of a certificate, or a request for one: HTTPS_PEM_MAX bytes. NULL: it is taken already, or
 * there is no memory. https_leave() erases it.
 */
#define HTTPS_PEM_MAX 16384
uint8_t *https_take(void);
void https_leave(void);

/* Writes a request for a certificate of the machine's own key, with its name and addresses, to `pem`, HTTPS_PEM_MAX
 * bytes. NULL: it is there, with a NUL, and *more names did not fit; else why not. */
const char *https_request(char *pem, unsigned *more);

/*
 * Imports a PEM text: certificates, the machine's first, then those of its issuers, and an unencrypted private key if
 * it is not for the machine's own one. NULL: it is in use for connections that begin from now on, and `done` is
 * called once, perhaps before this function returns, when it is on the disk (why: NULL), or cannot be. Else why it is
 * refused: nothing has changed.
 */
const char *https_import(const uint8_t *pem, size_t n, void (*done)(void *arg, const char *why), void *arg);

/* Forgets what was imported, likewise. */
const char *https_reset(void (*done)(void *arg, const char *why), void *arg);

#endif
