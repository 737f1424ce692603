/* What the control core tells the data cores of the web application: its part of published memory, dp->plugin_data. Does not
 * change while the ports run. */
#ifndef APPS_WEB_PUBLISHED_H
#define APPS_WEB_PUBLISHED_H

#include "apps/web/site.h"

struct web_published {
	const struct site *site; /* NULL: there is none */
	uint16_t port;           /* of TCP, host order */
};

#endif
