/*
 * /api/v1/image: which images the machine has, and PUT of a file of `hayate image --upgrade`, which becomes the image
 * that does not run (docs/install.md). The file is in memory until it is on the disk, or has been refused; if its
 * client goes meanwhile, it is written all the same.
 */
#include "control/console/log.h"
#include "control/management/image_fetch.h"
#include "control/management/page.h"
#include "control/management/users.h"
#include "control/storage/boot_disk.h"
#include "runtime/runtime.h"

static struct {
	enum { FREE, COMING, WRITING, ENDED } state;
	uint8_t *at;
	uint32_t bytes;
	const char *why; /* of ENDED */
	bool left;       /* the client has gone */
} upload;

static void forget(void)
{
	core_region_free(REGION_CONTROL, upload.at, upload.bytes);
	upload.state = FREE;
}

uint8_t *page_image_take(struct page_write *w, unsigned *status)
{
	const char *why = boot_disk_may_write();
	*status = 409;
	if (!why && upload.state != FREE)
		why = "another image is being written";
	if (!why && w->bytes > IMAGE_FILE_MAX) {
		*status = 413;
		why = "the file is longer than 64 MiB";
	}
	uint8_t *at = why ? NULL : core_region_alloc(REGION_CONTROL, w->bytes);
	if (!why && !at) {
		*status = 503;
		why = "not enough memory for the file";
	}
	if (why) {
		page_refuse(w, *status, why);
		return NULL;
	}
	upload.state = COMING;
	upload.at = at;
	upload.bytes = w->bytes;
	upload.left = false;
	return at;
}

static void written(void *arg, const char *why)
{
	(void)arg;
	upload.state = ENDED;
	upload.why = why;
	if (why)
		log_event(LOG_ERR, "IMAGE", "the other image has not been written: %s", why);
	else
		log_event(LOG_NOTICE, "IMAGE",
		          "the other image has been written: `upgrade activate` has the next boot start it");
	if (upload.left)
		forget();
}

unsigned page_image_write(struct page_write *w)
{
	if (w->remove)
		return page_refuse(w, 405, "an image can be replaced, and not removed");
	if (w->bytes == 0)
		return page_refuse(w, 422, "the file is empty");
	if (upload.state == COMING) {
		char who[USERS_WHO_SIZE];
		log_event(LOG_NOTICE, "IMAGE", "an image of %u bytes has come from %s", upload.bytes,
		          users_who(who, w->user, w->from));
		const char *why = boot_disk_write(upload.at, upload.bytes, written, NULL);
		if (why)
			return page_refuse(w, 422, why);
		upload.state = WRITING;
	}
	if (upload.state == WRITING)
		return 0;
	if (upload.why)
		return page_refuse(w, 422, upload.why);
	page_print(&w->reply, "{}\n");
	return 200;
}

void page_image_stop(void)
{
	if (upload.state == WRITING)
		upload.left = true;
	else if (upload.state != FREE)
		forget();
}

/* --- what there is, in items --- */

static void put_letter(struct page_text *t, const char *name, unsigned image)
{
	if (image < IMAGES)
		page_print(t, "\"%s\":\"%c\",", name, image_letter(image));
	else
		page_print(t, "\"%s\":null,", name);
}

static bool part_state(struct page_walk *w, struct page_text *t)
{
	struct boot_disk_status s;
	(void)w;
	boot_disk_status(&s);
	page_print(t, "{\"problem\":");
	if (s.why)
		page_json(t, s.why);
	else
		page_print(t, "null");
	page_print(t, ",\"writing\":%s,", s.doing ? "true" : "false");
	put_letter(t, "running", s.why ? IMAGE_NONE : s.running);
	put_letter(t, "active", s.why ? IMAGE_NONE : s.env.active);
	put_letter(t, "trying", s.why ? IMAGE_NONE : s.env.trying);
	page_print(t, "\"tried\":%s,", !s.why && s.env.tried ? "true" : "false");
	return false;
}

static bool part_download(struct page_walk *w, struct page_text *t)
{
	char text[200]; /* a longer one is cut: as JSON it fits into an item */
	(void)w;
	page_print(t, "\"download\":");
	if (image_fetch_text(text, sizeof text))
		page_json(t, text);
	else
		page_print(t, "null");
	page_print(t, ",\"images\":[");
	return false;
}

static bool part_images(struct page_walk *w, struct page_text *t)
{
	struct boot_disk_status s;
	boot_disk_status(&s);
	if (s.why || w->item >= IMAGES)
		return false;
	page_print(t, "%s{\"image\":\"%c\",", page_comma(w), image_letter(w->item));
	if (s.whole[w->item])
		page_print(t, "\"build\":\"%s\",\"bytes\":%llu}", s.image[w->item].build,
		           (unsigned long long)s.image[w->item].bytes);
	else
		page_print(t, "\"build\":null,\"bytes\":0}");
	return true;
}

static bool part_end(struct page_walk *w, struct page_text *t)
{
	(void)w;
	page_print(t, "]}\n");
	return false;
}

const page_part page_image[] = {part_state, part_download, part_images, part_end, NULL};
