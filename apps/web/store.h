/*
 * The sites that the machine has, on the control core: the archive of the boot module, and those that come by PUT.
 *
 *     place       one of the two of published.h: an archive and its index, or free. One place is in force;
 *                 the other is free, or retired: data cores still send answers from it
 *     upload      an archive that is coming, or whose index is being made. It gets the free place when it is complete
 *
 * Invariants
 * 1. An archive is published as a whole or not at all: a damaged one, or one for which there is no memory,
 *    changes nothing.
 * 2. Memory is a region of content (core_region_alloc): it and the list of places (CORE_PERSIST_CONTENT)
 *    survive a restart of the control program, and data cores send from it meanwhile. An upload that had not
 *    ended is lost.
 * 3. Memory is freed only when no data core uses it (published.h).
 *
 * The boot module's archive is copied once, at the first start. After a restart of the machine it is the site again.
 */
#ifndef APPS_WEB_STORE_H
#define APPS_WEB_STORE_H

#include "apps/web/published.h"
#include "apps/web/site.h"

/* After a replacement so long answers go on from the site before, whatever is asked. After that they go on
 * until another upload needs the place. */
#define STORE_GRACE_MS 60000

#define STORE_WHY_MAX (SITE_WHY_MAX + 64)

/* At every start of the control plane, before the tables take memory: at the first one claims what the previous
 * program has left, or loads the boot module's archive. */
void store_open(void);

/* Publishes the places in *w, when no data core reads it. */
void store_publish(struct web_published *w);

struct store_state {
	const struct site *site;    /* in force; NULL: none */
	const struct site *retired; /* NULL: none */
	uint64_t answers;           /* that are being sent from it */
	uint64_t number;            /* of uploads since boot; 0: `site` is the boot module's */
	uint64_t room;              /* bytes that another archive with its index may take */
	bool loading;               /* an upload has begun */
};
void store_look(struct store_state *s);

/* Why the boot module's archive is not served, for a person to read; "": there is none, or nothing is wrong with it. */
const char *store_boot_problem(void);

/* Memory for an archive of so many bytes that is coming. NULL with *status of HTTP and why. */
uint8_t *store_upload(uint64_t bytes, unsigned *status, char why[STORE_WHY_MAX]);

/* Goes on with the archive that has come. 0: call it again in a later turn; 200: it is in force; else the
 * status of HTTP of a refusal, with why. */
unsigned store_upload_step(char why[STORE_WHY_MAX]);

/* Gives up an upload, if there is one. */
void store_upload_end(void);

/* Frees what is no longer used. Returns core_now_ns() of the next look; UINT64_MAX: there is nothing to wait for. */
uint64_t store_turn(void);

#endif
