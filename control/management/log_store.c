/* See log_store.h. */
#include "control/management/log_store.h"

#include "control/console/log.h"
#include "control/storage/storage.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "runtime/sealed.h"

#define BOOT_LINE "--- boot ---\n"

/* The number of the next message to be stored. It outlives the program, so that the next one stores none twice. */
static struct sealed kept = SEALED(CORE_PERSIST_LOG_STORE, 2, uint64_t);

static struct {
	bool begun;
	uint64_t next;   /* as kept; 0: nothing of this boot has been stored */
	uint64_t seen;   /* messages below have been looked at for their level */
	uint64_t due_ns; /* of the next write; UINT64_MAX: there is nothing new */
	uint64_t not_before_ns;
	uint8_t *text;   /* 2 * LOG_STORE_MAX bytes */
} store = {.due_ns = UINT64_MAX};

static void begin(void)
{
	const uint64_t *left = sealed_newest(&kept);
	store.begun = true;
	store.next = store.seen = left ? *left : 0;
	store.text = core_private_alloc(2 * LOG_STORE_MAX);
	if (!store.text)
		log_event(LOG_WARNING, "LOGGING-STORE", "the event log is not stored: no memory");
}

/* Looks at new messages: when are they to be stored? */
static void look(uint64_t now)
{
	const struct log_record *r;
	while ((r = log_next(&store.seen))) {
		const uint64_t due = now + (r->level <= LOG_ERR ? LOG_STORE_SOON_NS : LOG_STORE_NS);
		store.due_ns = u64_min(store.due_ns, u64_max(due, store.not_before_ns));
	}
}

static size_t append(size_t n, const char *line)
{
	const size_t len = strlen(line);
	if (len + 1 > 2 * LOG_STORE_MAX - n)
		return n;
	memcpy(store.text + n, line, len);
	return n + len;
}

/* The text with the new messages; the size of what is too old is *skip. */
static size_t compose(uint64_t *next, size_t *skip)
{
	char line[LOG_LINE];
	const uint8_t *was;
	const struct log_record *r;
	size_t n = 0;
	if (storage_get(LOG_STORE_NAME, &was, &n) == E_OK)
		memcpy(store.text, was, n = u64_min(n, LOG_STORE_MAX));
	else
		n = 0;
	if (*next == 0)
		n = append(n, BOOT_LINE);
	while (n + LOG_LINE + 1 <= 2 * LOG_STORE_MAX && (r = log_next(next)))
		n = append(append(n, log_record_line(line, r)), "\n");
	*skip = n > LOG_STORE_MAX ? n - LOG_STORE_MAX : 0;
	while (*skip && *skip < n && store.text[*skip - 1] != '\n')
		++*skip;
	return n;
}

static void write(uint64_t now)
{
	uint64_t next = store.next;
	size_t skip, n = compose(&next, &skip);
	store.not_before_ns = now + LOG_STORE_SOON_NS;
	store.due_ns = UINT64_MAX;
	if (storage_put(LOG_STORE_NAME, store.text + skip, n - skip, NULL, NULL) != E_OK) {
		store.due_ns = now + LOG_STORE_NS;
		return;
	}
	store.next = next;
	if (next != log_head()) /* more than fit at once */
		store.due_ns = store.not_before_ns;
	if (sealed_take(&kept))
		sealed_write(&kept, &store.next);
}

uint64_t log_store_timer(void)
{
	const uint64_t now = core_now_ns();
	if (!storage_present())
		return UINT64_MAX;
	if (!store.begun)
		begin();
	if (!store.text)
		return UINT64_MAX;
	look(now);
	if (now >= store.due_ns)
		write(now);
	return store.due_ns;
}
