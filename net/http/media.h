/* Media types, RFC 9110 8.3.1, by the extension of a file's name. */
#ifndef NET_HTTP_MEDIA_H
#define NET_HTTP_MEDIA_H

#include "lib/types.h"

#define HTTP_MEDIA_TYPE_MAX 80 /* bytes of the longest, and NUL */

/* The value of Content-Type for a file: by what follows the last '.' of the last part of the path, in either
 * case, "text/html; charset=utf-8" for "/a/INDEX.HTML". Text is taken for UTF-8. Unknown, or no extension:
 * "application/octet-stream". A name that only begins with a '.' has no extension. */
const char *http_media_type(const char *path);

#endif
