/* The web application's pages of the HTTP server of management (docs/http.md): /access.log, and /api/v1/site,
 * of which GET describes the site that is served and PUT replaces it. */
#ifndef APPS_WEB_PAGES_H
#define APPS_WEB_PAGES_H

#include "control/management/page.h"

#define WEB_PAGES 2
extern const struct page web_pages[WEB_PAGES];

#endif
