/*
 * Decides whether a request is for this machine (RFC 9110 7.2, 7.4). A browser lets a page read the
 * answers of the page's own host, and identifies hosts by name. After a page has been loaded, the
 * owner of its name can have the name resolve to this machine (DNS rebinding). The page can then
 * send requests here, from an address that the access list admits. Such a request has the owner's
 * name in Host; it gets 421 and no page.
 */
#ifndef CONTROL_MANAGEMENT_HTTP_HOST_H
#define CONTROL_MANAGEMENT_HTTP_HOST_H

#include "lib/types.h"

/*
 * True if `host`, from a struct http_request (net/http/http.h), is an address of this machine on
 * any interface, its hostname, or an address or name of a statement `http host`. Names compare
 * without case; one trailing dot is ignored.
 *
 * The port, which the parser has removed, is not compared: behind a forwarded port (QEMU's hostfwd,
 * address translation, a proxy) clients use another port. They also use another address, which
 * `http host` must name.
 */
bool http_host_is_ours(const char *host);

#endif
