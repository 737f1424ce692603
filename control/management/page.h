/*
 * Pages that are generated while they are sent (/metrics, JSON), of any length, without a buffer
 * for the whole. A page is a list of parts. A part writes one item after another: a line, or an
 * array's element. A struct page_walk holds the position between two items, where generation pauses
 * until the reader has taken more.
 *
 * A page is not a snapshot: each item shows the state at the time it is written (a port's counters
 * in metrics.c: at most a millisecond earlier). Counters only grow, so a later line of a page is
 * never older than an earlier one.
 *
 * A page with `keeps` is kept instead, as one text (struct page_kept). The next reader gets the same text
 * with the values that have changed written over the old ones. Only where the lines themselves are others
 * is the text made anew. A reader gets values that were all read after its request came. Requests that
 * came before a text was brought up to date share that text.
 */
#ifndef CONTROL_MANAGEMENT_PAGE_H
#define CONTROL_MANAGEMENT_PAGE_H

#include "control/config/config.h"
#include "lib/fmt.h"
#include "lib/types.h"
#include "net/fib/fib.h"
#include "net/http/http.h"

/* The output of items. */
struct page_text {
	struct fmt_buf out; /* full: the item did not fit, and will be written again */
	bool later;  /* the item takes more work than a turn allows: it is written in a later one */
	bool broken; /* the rest of the page is gone: its reader must see that it is incomplete */
	uint32_t empty; /* set by a part of samples: so many of the next ones have nothing to write */
	/* A kept page. Patching: `out` is the text that is there, and out.used how far it has been compared. */
	struct page_kept *kept; /* NULL: none */
	uint32_t row;           /* number of the next one */
	bool patching;
};

struct page_walk {
	uint32_t part, item;
	union {
		uint64_t n;
		uint64_t own[9]; /* anything else */
		struct fib_cursor fib;
		struct {
			struct config_cursor at;
			uint32_t number; /* running.number when the part began */
		} config;
	} cursor; /* private to the part; all zero at its item 0 */
	const char *query; /* of the request, not validated: a part checks what it uses */
	const char *below; /* the path behind page->path, likewise */
	enum role role; /* of the reader; ROLE_READ at most while there are no users */
};

/* The separator in front of an element of a JSON array; none before the first. */
static inline const char *page_comma(const struct page_walk *w) { return w->item ? "," : ""; }

/* Writes item w->item, at most PAGE_ITEM_MAX bytes with a NUL. False: it was the end of the part,
 * which has no more items. Has no side effects, because it may be called twice for an item. */
#define PAGE_ITEM_MAX 1280
typedef bool (*page_part)(struct page_walk *w, struct page_text *t);

#define PAGE_FIELDS_MAX 160

/* What a page that can be written does with PUT and DELETE, or the methods that it states. */
struct page_write {
	bool remove;       /* DELETE */
	const struct http_request *request;
	const char *user;  /* empty: there are no users */
	const struct net_addr *from;
	bool again;        /* not the first call for this request */
	const char *below; /* the path behind page->path */
	const char *query;
	uint8_t *content; /* of a PUT, POST or PATCH; the page may overwrite it */
	uint32_t bytes;
	struct page_text reply; /* the content of the answer: JSON; or: */
	const page_part *parts; /* set by the page: its content is made while it is sent, and `stop` comes behind it */
	char fields[PAGE_FIELDS_MAX]; /* set by the page: further fields of the answer, each with CR LF */
};
#define PAGE_REPLY_MAX 16384

struct page {
	const char *path; /* if it ends in '/': of all paths that begin with it; page_walk.below is the rest */
	const char *type;    /* Content-Type */
	const char *fields;  /* further fields of its answer, or NULL */
	const page_part *parts; /* the last is NULL; or: */
	const char *fixed, *fixed_end; /* the whole content */
	unsigned (*status)(void); /* NULL: 200 */
	bool (*exists)(const char *below); /* NULL: always; false: 404 */
	unsigned methods; /* that `write` does, a bit for each enum http_method; 0: PUT and DELETE */
	bool open;        /* it needs no log-in. All others need the role read, and configure to be changed */
	/* Another page of the same path, by what the request asks for; NULL: 406. */
	const struct page *(*choose)(const struct http_request *r);
	/* Writes further fields of the answer to a GET, each with CR LF. False: they are not known yet. */
	bool (*head)(char fields[PAGE_FIELDS_MAX]);
	unsigned (*write)(struct page_write *w); /* returns the status, or 0: to be called again, in the next turn.
	                                          * NULL: the page cannot be written */
	/* Memory for a PUT's content of w->bytes, which is about to come. NULL: it is refused with *status; w->reply
	 * may say why. Used until `stop`. */
	uint8_t *(*take)(struct page_write *w, unsigned *status);
	void (*stop)(void); /* the PUT or DELETE has been answered, or its client has gone */
	bool keeps;         /* its text is kept. It depends on neither query nor role, and no item is ever `later` */
	bool bulk;          /* a PUT may be long: it gets a large window, and its connection ends behind it */
	/* time limit of an answer, or of the content of a PUT, that progresses; 0: HTTP_ANSWER_NS */
	uint64_t answer_ns;
};

/* control/management/web.c: the page of that path, or NULL. */
const struct page *page_find(const char *path);

/* Adds pages of a room that this one must not include. They must stay valid. */
void page_add(const struct page *pages, unsigned count);

/* Continues the page. False: it has ended, or is broken. True: there is no room for more, or the
 * next item must wait for another turn. */
bool page_fill(const struct page *page, struct page_walk *w, struct page_text *t);

void page_print(struct page_text *t, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * A sample of a metric: `name value`, or `name{labels} value`. `name` is a constant. Of the labels' format %s, %u,
 * %lu and %llu are allowed. While a kept page is patched, the labels are compared by a hash of the arguments, strings
 * included, and neither label nor an equal value is written.
 */
void page_value(struct page_text *t, const char *name, uint64_t value);
void page_sample(struct page_text *t, const char *name, uint64_t value, const char *labels, ...) PRINTF_LIKE(4, 5);

/* HELP and TYPE of a metric family, all constants. */
void page_family(struct page_text *t, const char *name, const char *help, const char *type);

/* What one of the functions above wrote. */
struct page_row {
	uint64_t label;  /* hash of name and labels; of page_print 0 */
	uint64_t value;
	uint32_t len;    /* bytes of text */
	uint32_t digits; /* of the value, before the newline that ends the text */
};

#define PAGE_KEPT 2             /* texts at once. Readers that need another get the page generated */
#define PAGE_KEPT_BYTES 262144u /* a longer page is not kept */
#define PAGE_KEPT_ROWS 5120u
#define PAGE_KEPT_HEAD 2048u    /* room before the text, used by its reader within a call */
struct page_kept {
	const struct page *page; /* NULL: none yet */
	uint64_t number;         /* page_kept_number() when its values were read */
	uint32_t readers;        /* that have got a part of it: it must not change */
	uint32_t len, rows;
	uint32_t made, patched;  /* how often */
	struct page_row row[PAGE_KEPT_ROWS];
	char room[PAGE_KEPT_HEAD];
	char text[PAGE_KEPT_BYTES];
};

/* Takes the memory, once; before any other call but page_kept_start. False: there is none. */
bool page_kept_prepare(void);

/* When the ports start: there are no readers. */
void page_kept_start(void);

/* For a request, when it has come. */
uint64_t page_kept_number(void);

/* The text of a page with `keeps`, whose values were all read after page_kept_number() returned `since`. NULL: it
 * cannot be kept, or all texts have readers. Not to be used after the caller returns unless `readers` counts it. */
struct page_kept *page_kept(const struct page *page, uint64_t since);

/* A JSON string with its quotation marks (RFC 8259 7). Other bytes than ASCII become '?'. */
void page_json(struct page_text *t, const char *s);

/* The number after `name=` in a query; fallback if it is missing or not a number. */
uint32_t page_number(const char *query, const char *name, uint32_t fallback);

/* metrics.c, api.c, lldp_page.c, crash.c: the parts of the pages that web.c lists. */
extern const page_part page_metrics[], page_health[], page_status[], page_ports[], page_counters[],
	page_cores[], page_hardware[], page_routes[], page_neighbours[], page_tcp[], page_drops[], page_config[],
	page_crash[], page_interfaces[], page_engine[], page_lldp[], page_dhcp[], page_ntp[], page_image[],
	page_certificate[], page_programs[], page_program[], page_maps[], page_map[];

/* The answer to a PUT or DELETE that was refused, as JSON; returns its status. */
unsigned page_refuse(struct page_write *w, unsigned status, const char *why);

/* xdp.c, xdp_entries.c: PUT and DELETE of programs and of entries of maps. */
uint8_t *page_program_take(struct page_write *w, unsigned *status);
unsigned page_program_write(struct page_write *w);
unsigned page_map_write(struct page_write *w);
/* image_page.c: PUT of an image. */
uint8_t *page_image_take(struct page_write *w, unsigned *status);
unsigned page_image_write(struct page_write *w);
void page_image_stop(void);
/* certificate_page.c: PUT and DELETE of the certificate of HTTPS. */
uint8_t *page_certificate_take(struct page_write *w, unsigned *status);
unsigned page_certificate_write(struct page_write *w);
void page_certificate_stop(void);
unsigned page_request_write(struct page_write *w);

bool page_program_exists(const char *below);
bool page_map_exists(const char *below);

/* api.c: a writer of config_print_next into the struct page_text ctx. It leaves out hashes, so that a reader of the
 * page cannot try passwords offline (control/config/password.h). */
void page_write_public(void *ctx, const char *text, size_t len);

/* api.c: 200, or 503 if there is a fault that page_health lists. */
unsigned page_health_status(void);

#endif
