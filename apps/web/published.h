/* What the control core tells the data cores of the web application: its part of published memory, dp->plugin_data. Besides
 * log_sample and `taken`, what data cores read of it does not change while the ports run. */
#ifndef APPS_WEB_PUBLISHED_H
#define APPS_WEB_PUBLISHED_H

#include "apps/web/site.h"
#include "dataplane/state.h"
#include "net/http/http.h"

/* A request in the access log (log.h). A text has no NUL at its end if it fills its place. */
#define LOG_FIELD_MAX 128
struct log_entry {
	uint64_t us;    /* since boot */
	uint64_t bytes; /* of content */
	struct net_addr peer;
	uint32_t status;
	uint32_t reserved;
	char line[HTTP_LINE_KEPT];
	char referer[LOG_FIELD_MAX], agent[LOG_FIELD_MAX];
};

#define LOG_KEPT 256

struct web_published {
	const struct site *site; /* NULL: there is none */
	uint16_t port;           /* of TCP, host order */
	uint32_t log_sample;     /* one of so many requests is noted; 0: none */
	uint64_t taken[CORES_MAX]; /* entries taken, by core: the tail of its ring */
	/* the control core's own: */
	uint64_t logged;         /* entries so far: the next one goes to kept[logged % LOG_KEPT] */
	struct log_entry kept[LOG_KEPT];
};

#endif
