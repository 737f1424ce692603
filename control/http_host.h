/*
 * Whom a request is for (RFC 9110 7.2, 7.4). A browser lets a page read what its own host says, and
 * tells hosts apart by name. Whoever owns a name can let it lead to this machine after the page was
 * loaded (DNS rebinding), and then has the page ask here, from inside of the access list. Such a
 * request carries that name in Host. It is answered by 421, and nothing is told.
 */
#ifndef CONTROL_HTTP_HOST_H
#define CONTROL_HTTP_HOST_H

#include "lib/types.h"

/*
 * `host` is that of a struct http_request (net/http/http.h): an address of this machine on any
 * interface, its hostname, or what a statement `http host` says. Names compare without case; one
 * dot at the end is no other name.
 *
 * The port, which the parser has cut off, is not compared: who comes by a forwarded port (QEMU's
 * hostfwd, address translation, a proxy) says the port that it knows. The same holds of the
 * address that it knows, so that is a case for `http host`.
 */
bool http_host_is_ours(const char *host);

#endif
