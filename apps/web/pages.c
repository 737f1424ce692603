/* See pages.h. */
#include "apps/web/pages.h"

#include "apps/web/log_kept.h"
#include "apps/web/store.h"
#include "dataplane/state.h"
#include "lib/number.h"

#define UPLOAD_NS (3600 * SECOND_NS)

typedef unsigned long long ull;

static void put_site(struct page_text *t, const struct store_state *s)
{
	if (!s->site) {
		page_print(t, "null");
		return;
	}
	page_print(t, "{\"source\":\"%s\",\"files\":%u,\"left_out\":%u,\"archive_bytes\":%llu,\"index_bytes\":%llu}",
	           s->number ? "upload" : "boot module", s->site->served, s->site->left_out, (ull)s->site->archive_bytes,
	           (ull)s->site->bytes);
}

/* --- the state, in items of a page --- */

static bool part_state(struct page_walk *w, struct page_text *t)
{
	struct store_state s;
	(void)w;
	store_look(&s);
	page_print(t, "{\"uploads\":%llu,\"site\":", (ull)s.number);
	put_site(t, &s);
	page_print(t, ",\"answers_from_before\":%llu,\"loading\":%s,\"room_bytes\":%llu,\"left_out_entries\":[",
	           (ull)s.answers, s.loading ? "true" : "false", (ull)s.room);
	return false;
}

/* The entries that are left out, the first SITE_OMISSIONS_MAX of them. */
static bool part_left_out(struct page_walk *w, struct page_text *t)
{
	struct store_state s;
	store_look(&s);
	if (!s.site || w->item >= u32_min(s.site->left_out, SITE_OMISSIONS_MAX))
		return false;
	page_print(t, "%s{\"name\":", page_comma(w));
	page_json(t, s.site->omission[w->item].name);
	page_print(t, ",\"why\":");
	page_json(t, s.site->omission[w->item].why);
	page_print(t, "}");
	return true;
}

static bool part_end(struct page_walk *w, struct page_text *t)
{
	(void)w;
	page_print(t, "]}\n");
	return false;
}

static const page_part parts[] = {part_state, part_left_out, part_end, NULL};

/* All of it, for an answer. Escaped, a byte of a name takes up to six. */
_Static_assert(SITE_OMISSIONS_MAX * (6 * sizeof((struct site_omission){0}.name) + 160) + 512 < PAGE_REPLY_MAX,
               "the state fits into an answer");
static void put_state(struct page_text *t)
{
	for (struct page_walk w = {0}; parts[w.part]; w.part++)
		for (w.item = 0; parts[w.part](&w, t); w.item++)
			;
}

static uint8_t *site_take(struct page_write *w, unsigned *status)
{
	char why[STORE_WHY_MAX];
	uint8_t *at = store_upload(w->bytes, status, why);
	if (!at)
		page_refuse(w, *status, why);
	return at;
}

static unsigned site_write(struct page_write *w)
{
	char why[STORE_WHY_MAX];
	if (w->remove)
		return page_refuse(w, 405, "a site can be replaced, and not removed");
	if (w->bytes == 0)
		return page_refuse(w, 422, "the archive is empty");
	const unsigned status = store_upload_step(why);
	if (status >= 400)
		return page_refuse(w, status, why);
	if (status == 200)
		put_state(&w->reply);
	return status;
}

const struct page web_pages[WEB_PAGES] = {
	{.path = "/access.log", .type = "text/plain; charset=utf-8", .parts = log_page},
	{.path = "/api/v1/site", .type = "application/json",
	 .fields = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n", .parts = parts, .write = site_write,
	 .take = site_take, .stop = store_upload_end, .bulk = true, .answer_ns = UPLOAD_NS},
};
