/* See startup.h. */
#include "control/commit/startup.h"

#include "control/commit/print.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/storage/storage.h"
#include "lib/mem.h"
#include "lib/siphash.h"
#include "runtime/runtime.h"

/* What the machine has booted with, in memory of its own (CORE_PERSIST_STARTUP). */
struct booted {
	uint64_t seal; /* of all that follows */
	uint64_t any;
	uint64_t bytes;
	char text[];
};

static const struct siphash_key seal_key = {0x6879617465207374, 0x6172747570206366};

static uint64_t seal_of(const struct booted *b)
{
	return siphash24(&seal_key, &b->any, sizeof *b - offsetof(struct booted, any) + b->bytes) | 1;
}

/* What an earlier program of this boot has begun with; NULL: there was none, or its memory is damaged. */
static const struct booted *find(void)
{
	size_t bytes;
	const struct booted *b = core_persist_find(CORE_PERSIST_STARTUP, &bytes);
	return b && bytes >= sizeof *b && b->bytes <= bytes - sizeof *b && b->seal == seal_of(b) ? b : NULL;
}

static bool is_wanted(void)
{
	char word[8];
	return !core_option("startup", word, sizeof word) || !text_equal(text_of(word), text_of("ignore"));
}

/* At the boot. */
static const struct booted *choose(void)
{
	const uint8_t *data = (const uint8_t *)"";
	size_t n = 0;
	const bool any = storage_get(STARTUP_NAME, &data, &n) == E_OK;
	if (any && !is_wanted())
		log_event(LOG_NOTICE, "CONFIG",
		          "configuration: the startup configuration is left aside, as the command line says");
	if (!any || !is_wanted())
		n = 0;
	struct booted *b = core_persist_alloc(CORE_PERSIST_STARTUP, sizeof *b + n);
	if (!b) {
		log_event(LOG_ERR, "CONFIG", "configuration: there is not enough memory for the startup configuration");
		return NULL;
	}
	b->any = any && is_wanted();
	b->bytes = n;
	memcpy(b->text, data, n);
	b->seal = seal_of(b);
	return b;
}

bool startup_take(struct text *text)
{
	const struct booted *b = find();
	if (!b && disks_count())
		b = choose();
	*text = b && b->any ? (struct text){b->text, b->bytes} : (struct text){"", 0};
	return b && b->any;
}

int startup_write(void (*done)(void *arg, int error), void *arg)
{
	size_t room;
	uint8_t *at = storage_behind(&room);
	if (!at)
		return E_NOENT;
	const size_t n = print_running((char *)at, room);
	return n ? storage_put(STARTUP_NAME, at, n, done, arg) : E_NOMEM;
}
