/*
 * Whether a request is for this machine (RFC 9110 7.2, 7.4). A browser lets a page read the answers
 * of the page's own host, and tells hosts apart by name. The owner of a name can have it resolve to
 * this machine after the page was loaded (DNS rebinding); then the page can ask here, from an
 * address that the access list admits. Such a request has the owner's name in Host. It gets 421 and
 * no page.
 */
#ifndef CONTROL_MANAGEMENT_HTTP_HOST_H
#define CONTROL_MANAGEMENT_HTTP_HOST_H

#include "lib/types.h"

/*
 * `host` is that of a struct http_request (net/http/http.h): an address of this machine on any
 * interface, its hostname, or what a statement `http host` says. Names compare without case; one
 * dot at the end is no other name.
 *
 * The port, which the parser has cut off, is not compared: behind a forwarded port (QEMU's hostfwd,
 * address translation, a proxy) clients know another one. They know another address too, which
 * `http host` has to name.
 */
bool http_host_is_ours(const char *host);

#endif
