/*
 * Reports by HTTP and on the console, captures by HTTP, and the generator's rows of /metrics.
 */
#ifndef PKTGEN_PAGES_H
#define PKTGEN_PAGES_H

#include "control/management/page.h"

#define PKTGEN_PAGES 5
enum report_form { REPORT_TEXT, REPORT_JSON, REPORT_HTML };

/* A piece of report `number` from byte `at` on, valid until the next call. Returns its length; 0:
 * the report ends here, or there is a newer one. */
size_t report_piece(enum report_form form, uint32_t number, uint64_t at, const char **text);

extern const struct page pktgen_pages[PKTGEN_PAGES];
bool pktgen_metrics(struct page_walk *w, struct page_text *t);

#endif
