/* URLs of http and https (RFC 9110 4.2), as people type them. */
#ifndef NET_HTTP_URL_H
#define NET_HTTP_URL_H

#include "lib/types.h"

#define HTTP_URL_HOST 128 /* with NUL */

struct http_url {
	bool tls;                 /* https */
	char host[HTTP_URL_HOST]; /* a name, or an address; an IPv6 address without its brackets */
	bool brackets;            /* it had them */
	uint16_t port;            /* 80 or 443 if none is stated */
	const char *target;       /* path and query, within the text; "" stands for "/" */
};

/* NULL: *to is that URL; else why it is none. A user name and a fragment are refused: nothing would use them. */
const char *http_url_read(const char *text, struct http_url *to);

#endif
