/* The switch's pages for programs, and for the page at /. */
#ifndef APPS_SWITCH_PAGES_H
#define APPS_SWITCH_PAGES_H

#include "control/management/page.h"

#define SWITCH_PAGES 2
extern const struct page switch_pages[SWITCH_PAGES];

#endif
