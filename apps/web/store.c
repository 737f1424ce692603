/* See store.h. */
#include "apps/web/store.h"

#include "control/commit/load.h"
#include "control/console/log.h"
#include "dataplane/state.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "runtime/sealed.h"

#define MODULE_FILE "site"       /* of the boot module */
#define COPY_PIECE (1u << 20)    /* bytes between two signs of life */
#define LOOK_NS (SECOND_NS / 20) /* between two looks whether a retired place is free */

typedef unsigned long long ull;

/* A place. index NULL: it is free. */
struct place {
	uint8_t *archive;
	uint64_t archive_bytes;
	struct site *index;
	uint64_t index_bytes;
	uint64_t seal; /* site_seal() of the index; 0: the index is damaged, and only its memory counts */
};

/* What outlives the program. */
static struct list {
	uint64_t current; /* as in struct web_published */
	uint64_t uploads;
	struct place place[WEB_PLACES];
} now = {.current = WEB_NO_PLACE};
static struct sealed list = SEALED(CORE_PERSIST_CONTENT, 2, struct list);
static struct web_published *published; /* NULL: there is no data-plane state */
static uint64_t replaced_ns; /* when the other place was retired */
static uint64_t look_ns;     /* the next look at it */
static char boot_problem[STORE_WHY_MAX];

static struct {
	enum { UPLOAD_NONE, UPLOAD_COMING, UPLOAD_COUNT, UPLOAD_BUILD } step;
	struct place place; /* of which there is no index before UPLOAD_BUILD */
	struct site_maker maker;
} upload;

/* --- memory --- */

static bool take_archive(struct place *p, uint64_t bytes)
{
	p->archive_bytes = bytes;
	p->archive = core_region_alloc(REGION_CONTENT, bytes);
	return p->archive;
}

static bool take_index(struct place *p, uint64_t bytes)
{
	p->index_bytes = bytes;
	p->index = core_region_alloc(REGION_CONTENT, bytes);
	return p->index;
}

static void free_place(struct place *p)
{
	if (p->archive)
		core_region_free(REGION_CONTENT, p->archive, p->archive_bytes);
	if (p->index)
		core_region_free(REGION_CONTENT, p->index, p->index_bytes);
	*p = (struct place){0};
}

static void no_room(char why[STORE_WHY_MAX], uint64_t bytes)
{
	fmt_format(why, STORE_WHY_MAX, "not enough memory: %llu KiB are needed, %llu KiB are left; give the machine more",
	           (ull)(bytes + 1023) >> 10, (ull)(core_region_bytes_free(REGION_CONTENT) + core_content_room()) >> 10);
}

/* --- the place that is not in force --- */

static unsigned other(void)
{
	return now.current == 0 ? 1 : 0;
}

/* Answers that are being sent from that place; `*held`: buffers that name its bytes. */
static uint64_t answers_from(unsigned place, uint64_t *held)
{
	uint64_t n = 0;
	*held = 0;
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const unsigned c = self.info->first_data_core + d;
		const struct web_core *o = dp_plugin_shared_of(c);
		if (self.info->status[c].state == CORE_DEAD)
			continue;
		n += shared_load(&o->answers[place]);
		*held += shared_load(&o->held[place]);
	}
	return n;
}

static bool is_used(unsigned place)
{
	uint64_t held;
	return answers_from(place, &held) || held;
}

static bool is_retired(void)
{
	return now.place[other()].index;
}

static void free_retired(void)
{
	const unsigned at = other();
	if (published) {
		published->site[at] = NULL;
		shared_store(&published->ended, WEB_NO_PLACE);
	}
	struct place gone = now.place[at];
	now.place[at] = (struct place){0};
	sealed_write(&list, &now);
	free_place(&gone);
}

uint64_t store_turn(void)
{
	if (!published || !is_retired() || !core_ports_running())
		return UINT64_MAX;
	if (core_now_ns() < look_ns)
		return look_ns;
	look_ns = core_now_ns() + LOOK_NS;
	if (is_used(other()) || !core_quiesce() || is_used(other()))
		return look_ns;
	free_retired();
	return UINT64_MAX;
}

/* Has all data cores look at what is published. */
static void send_look(void)
{
	static const uint8_t frame[64];
	for (unsigned pair = 0; pair < core_data_count(); pair++)
		core_inject(pair, 0, frame, sizeof frame, INJECT_APP, WEB_MSG_LOOK);
}

/* --- start --- */

/* Counts the boot module's archive. False: it is damaged. */
static bool count_boot(const struct text *archive)
{
	enum site_step step;
	site_begin(&upload.maker, archive->at, archive->len);
	while ((step = site_count_step(&upload.maker)) == SITE_MORE)
		core_alive();
	if (step == SITE_ERROR)
		site_why(boot_problem, &upload.maker);
	return step == SITE_DONE;
}

static void copy(uint8_t *to, const char *from, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += COPY_PIECE) {
		memcpy(to + at, from + at, u64_min(bytes - at, COPY_PIECE));
		core_alive();
	}
}

/* The boot module's archive becomes the site. */
static void load_boot(void)
{
	struct text archive;
	struct place p = {0};
	const unsigned at = now.place[0].index ? 1 : 0;
	if (!module_file(&boot_module, text_of(MODULE_FILE), &archive) || !count_boot(&archive))
		return;
	const uint64_t index = upload.maker.count.bytes;
	if (now.place[at].index || !sealed_take(&list) || !take_archive(&p, archive.len) || !take_index(&p, index)) {
		free_place(&p);
		no_room(boot_problem, archive.len + index);
		return;
	}
	copy(p.archive, archive.at, archive.len);
	site_build(&upload.maker, p.index, p.archive);
	while (site_build_step(&upload.maker) == SITE_MORE)
		core_alive();
	p.seal = site_seal(p.index, core_alive);
	now.place[at] = p;
	now.current = at;
	sealed_write(&list, &now);
}

/* Goes on using the memory of a place that the previous program has left. If that is not possible, the place is
 * free, and data cores end their answers from it. */
static void claim(struct place *p)
{
	if (!p->index)
		return;
	if (!core_region_claim(REGION_CONTENT, p->archive, p->archive_bytes)) {
		*p = (struct place){0};
		return;
	}
	if (!core_region_claim(REGION_CONTENT, p->index, p->index_bytes)) {
		core_region_free(REGION_CONTENT, p->archive, p->archive_bytes);
		*p = (struct place){0};
		return;
	}
	if (p->index->used > p->index_bytes || p->seal != site_seal(p->index, core_alive))
		p->seal = 0;
}

/* The sites that the previous program has left. */
static void claim_left(void)
{
	const struct list *left = sealed_newest(&list);
	if (!left)
		return;
	now = *left;
	for (unsigned i = 0; i < WEB_PLACES; i++)
		claim(&now.place[i]);
	if (now.current != WEB_NO_PLACE && !now.place[now.current].seal) {
		log_event(LOG_ERR, "SITE", "site: what the previous control program has left is damaged");
		now.current = WEB_NO_PLACE;
	}
}

void store_open(void)
{
	static bool opened;
	published = NULL;
	store_upload_end();
	if (!opened) {
		claim_left();
		if (now.current == WEB_NO_PLACE)
			load_boot();
	}
	opened = true;
}

void store_publish(struct web_published *w)
{
	published = w;
	w->current = now.current;
	w->ended = WEB_NO_PLACE;
	for (unsigned i = 0; i < WEB_PLACES; i++)
		w->site[i] = now.place[i].seal ? now.place[i].index : NULL;
	look_ns = core_now_ns() + LOOK_NS;
}

const char *store_boot_problem(void)
{
	return boot_problem;
}

void store_look(struct store_state *s)
{
	uint64_t held;
	*s = (struct store_state){
		.site = now.current == WEB_NO_PLACE ? NULL : now.place[now.current].index,
		.retired = is_retired() ? now.place[other()].index : NULL,
		.answers = is_retired() ? answers_from(other(), &held) : 0,
		.number = now.uploads,
		.room = core_region_bytes_free(REGION_CONTENT) + core_content_room(),
		.loading = upload.step != UPLOAD_NONE,
	};
}

/* --- uploads --- */

void store_upload_end(void)
{
	free_place(&upload.place);
	upload.step = UPLOAD_NONE;
}

/* False: answers from the retired place are still being sent. */
static bool make_place(char why[STORE_WHY_MAX])
{
	if (!is_retired())
		return true;
	uint64_t held;
	const uint64_t ms = (core_now_ns() - replaced_ns) / 1000000, answers = answers_from(other(), &held);
	if (answers == 0 && held == 0 && core_quiesce() && !is_used(other())) {
		free_retired();
		return true;
	}
	if (ms >= STORE_GRACE_MS) {
		shared_store(&published->ended, other());
		send_look();
		fmt_format(why, STORE_WHY_MAX, "%llu answers from the site before are being ended, and others "
		           "whose rest is not acknowledged; try again", (ull)answers);
	} else {
		fmt_format(why, STORE_WHY_MAX, "%llu answers are still being sent from the site before, and the rest "
		           "of others is not acknowledged; in %llu s an upload ends them",
		           (ull)answers, (ull)(STORE_GRACE_MS - ms + 999) / 1000);
	}
	return false;
}

uint8_t *store_upload(uint64_t bytes, unsigned *status, char why[STORE_WHY_MAX])
{
	store_upload_end();
	*status = 503;
	if (!published || !core_ports_running()) {
		fmt_format(why, STORE_WHY_MAX, "the ports are being started; try again");
		return NULL;
	}
	if (!make_place(why))
		return NULL;
	if (!sealed_take(&list) || !take_archive(&upload.place, bytes)) {
		*status = 413;
		no_room(why, bytes);
		return NULL;
	}
	upload.step = UPLOAD_COMING;
	return upload.place.archive;
}

/* The upload is complete: it becomes the site. */
static void replace(void)
{
	const unsigned at = other();
	upload.place.seal = site_seal(upload.place.index, core_alive);
	now.place[at] = upload.place;
	now.current = at;
	now.uploads++;
	sealed_write(&list, &now);
	upload.place = (struct place){0};
	upload.step = UPLOAD_NONE;
	published->site[at] = now.place[at].index;
	shared_store(&published->current, at);
	send_look();
	replaced_ns = look_ns = core_now_ns();
}

static unsigned count_step(char why[STORE_WHY_MAX])
{
	const enum site_step step = site_count_step(&upload.maker);
	if (step == SITE_MORE)
		return 0;
	if (step == SITE_ERROR) {
		site_why(why, &upload.maker);
		return 422;
	}
	if (!take_index(&upload.place, upload.maker.count.bytes)) {
		no_room(why, upload.place.archive_bytes + upload.maker.count.bytes);
		return 413;
	}
	site_build(&upload.maker, upload.place.index, upload.place.archive);
	upload.step = UPLOAD_BUILD;
	return 0;
}

unsigned store_upload_step(char why[STORE_WHY_MAX])
{
	unsigned status = 0;
	switch (upload.step) {
	case UPLOAD_NONE: /* the ports have been restarted since */
		fmt_format(why, STORE_WHY_MAX, "the ports were restarted; try again");
		return 503;
	case UPLOAD_COMING:
		site_begin(&upload.maker, upload.place.archive, upload.place.archive_bytes);
		upload.step = UPLOAD_COUNT;
		break;
	case UPLOAD_COUNT:
		status = count_step(why);
		break;
	case UPLOAD_BUILD:
		if (site_build_step(&upload.maker) == SITE_DONE) {
			replace();
			return 200;
		}
		break;
	}
	if (status)
		store_upload_end();
	return status;
}
