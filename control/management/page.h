/*
 * Pages that are made while they are sent: /metrics, JSON, of any length, without a buffer for all
 * of it. A page is a row of parts; a part makes one item after another: a line, an array's element.
 * Its place between two items is a struct page_walk, so a page goes on wherever its reader let it
 * stop.
 *
 * A page is no snapshot: each item tells how things are when it is made (a port's counters in
 * metrics.c: how they were at most a millisecond before). Counters only grow, so a later line of a
 * page is never older than one before it.
 */
#ifndef CONTROL_MANAGEMENT_PAGE_H
#define CONTROL_MANAGEMENT_PAGE_H

#include "control/config/config.h"
#include "lib/fmt.h"
#include "lib/types.h"
#include "net/fib/fib.h"

/* Where an item is written. */
struct page_text {
	struct fmt_buf out; /* full: the item did not fit, and will be made again */
	bool later;  /* it takes more work than a turn may have: it will be made again in another one */
	bool broken; /* what is left of the page is gone, and its reader has to notice */
};

struct page_walk {
	uint32_t part, item;
	union {
		uint64_t n;
		uint64_t own[4]; /* anything */
		struct fib_cursor fib;
		struct {
			struct config_cursor at;
			uint32_t number; /* of the configuration that it began with: running.number */
		} config;
	} cursor; /* the part's own; all zero with its item 0 */
	const char *query; /* of the request; what it holds is checked by who looks */
};

/* Writes item w->item, PAGE_ITEM_MAX bytes at most with a NUL. False: there are no more (and the end of
 * the part is what was written). Acts on nothing, because it may be called twice for an item. */
#define PAGE_ITEM_MAX 1280
typedef bool (*page_part)(struct page_walk *w, struct page_text *t);

struct page {
	const char *path;
	const char *type;    /* Content-Type */
	const char *fields;  /* further ones of its answer, or NULL */
	const page_part *parts; /* the last is NULL; or: */
	const char *fixed, *fixed_end; /* all of it lies ready */
	unsigned (*status)(void); /* NULL: 200 */
	uint64_t answer_ns; /* that an answer may take as long as it gets on; 0: HTTP_ANSWER_NS */
};

/* control/management/web.c: the page of that path, or NULL. */
const struct page *page_find(const char *path);

/* Goes on writing the page. False: that was the end, or it is broken; true: there is no room for
 * more, or it is to be later. */
bool page_fill(const struct page *page, struct page_walk *w, struct page_text *t);

void page_print(struct page_text *t, const char *format, ...) PRINTF_LIKE(2, 3);

/* A JSON string with its quotation marks (RFC 8259 7). Other bytes than ASCII become '?'. */
void page_json(struct page_text *t, const char *s);

/* The number behind `name=` in a query, or fallback when there is none, or none that is one. */
uint32_t page_number(const char *query, const char *name, uint32_t fallback);

/* metrics.c, api.c, crash.c: the parts of the pages that web.c lists. */
extern const page_part page_metrics[], page_health[], page_status[], page_ports[], page_counters[],
	page_cores[], page_routes[], page_neighbours[], page_tcp[], page_drops[], page_config[],
	page_crash[], page_interfaces[];

/* api.c: 200, or 503 when something is wrong that page_health names. */
unsigned page_health_status(void);

#endif
