/* Texts of kept pages: see page.h. Their rows are page.c's. */
#include "control/management/page.h"

#include "runtime/runtime.h"

#define LONG_NS (10 * SECOND_NS) /* a page that was too long is tried again after so long */

static struct page_kept *keeps;            /* PAGE_KEPT */
static uint64_t number;                    /* of the last time that values were read */
static uint64_t long_until_ns;             /* no page is kept until then */

bool page_kept_prepare(void)
{
	if (keeps)
		return true;
	keeps = core_private_alloc(PAGE_KEPT * sizeof *keeps);
	for (unsigned i = 0; keeps && i < PAGE_KEPT; i++) {
		keeps[i].page = NULL;
		keeps[i].number = 0;
		keeps[i].made = keeps[i].patched = 0;
	}
	return keeps != NULL;
}

void page_kept_start(void)
{
	long_until_ns = 0;
	for (unsigned i = 0; keeps && i < PAGE_KEPT; i++)
		keeps[i].readers = 0;
}

uint64_t page_kept_number(void) { return number; }

/* Goes through the page once, and makes its text or patches the one that is there. False: it could not. */
static bool go_through(struct page_kept *k, bool patching)
{
	struct page_walk w = {.query = "", .below = "", .role = ROLE_READ};
	struct page_text t = {.out = {.at = k->text, .size = sizeof k->text}, .kept = k, .patching = patching};
	if (page_fill(k->page, &w, &t) || t.broken || (patching && t.row != k->rows))
		return false;
	k->len = (uint32_t)t.out.used;
	k->rows = t.row;
	return true;
}

/* The text that this page's next reader gets, or that becomes it. NULL: none is free. */
static struct page_kept *free_text(const struct page *page)
{
	struct page_kept *free = NULL;
	for (unsigned i = 0; i < PAGE_KEPT; i++) {
		struct page_kept *k = &keeps[i];
		if (k->readers)
			continue;
		if (k->page == page)
			return k;
		free = free ? free : k;
	}
	return free;
}

struct page_kept *page_kept(const struct page *page, uint64_t since)
{
	for (unsigned i = 0; i < PAGE_KEPT; i++)
		if (keeps[i].page == page && keeps[i].number > since)
			return &keeps[i];
	struct page_kept *k = core_now_ns() < long_until_ns ? NULL : free_text(page);
	if (!k)
		return NULL;
	const bool patched = k->page == page && go_through(k, true);
	k->page = page;
	k->number = ++number;
	if (patched) {
		k->patched++;
	} else if (go_through(k, false)) {
		k->made++;
	} else {
		long_until_ns = core_now_ns() + LONG_NS;
		k->page = NULL;
		k = NULL;
	}
	return k;
}
